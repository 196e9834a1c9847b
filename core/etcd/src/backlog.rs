//! Work that waits: told where it takes long, so that observers can say what a cluster was busy with.
//!
//! It is worked out when work is given to a part (a disk, the cores, a link), which is when its end is known. To tell it each time would
//! say little and cost much: what goes on is told again when it has become longer by a quarter, and now and then.

use zonefall_kernel::time::{Duration, Time};

/// etcd warns of what takes longer (`DefaultWarningApplyDuration` in `server/embed/config.go`).
pub(super) const LONG: Duration = Duration::from_millis(100);

/// What is told of where requests have to be answered within `deadline`: a write waits for several parts, and not all its time is left for
/// that.
pub fn least(deadline: Duration) -> Duration {
    LONG.min(deadline / 8)
}

/// What goes on is told again after this.
const AGAIN: Duration = Duration::from_secs(5);

/// What was told last of one part.
#[derive(Clone, Copy, Debug, Default)]
pub struct Told {
    at: Time,
    wait: Duration,
}

impl Told {
    /// Whether to tell that what is given to the part at `now` is done only after `wait`; less than `least` never is.
    pub fn tells(&mut self, now: Time, wait: Duration, least: Duration) -> bool {
        let is_longer = wait > self.wait + self.wait / 4;
        if wait < least || !(is_longer || now >= self.at + AGAIN) {
            return false;
        }
        *self = Self { at: now, wait };
        true
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_wait_is_told_when_it_is_long_has_grown_or_goes_on() {
        let ms = Duration::from_millis;
        let mut told = Told::default();
        let rows = [(0, 99, false), (1, 100, true), (2, 125, false), (3, 126, true), (5_002, 126, false), (5_003, 110, true)];
        for (at, wait, expected) in rows {
            assert_eq!(told.tells(Time::ZERO + ms(at), ms(wait), LONG), expected, "{wait} ms at {at} ms");
        }
    }
}
