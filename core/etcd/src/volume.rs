//! A volume's bandwidth: log and database share it evenly while both are written.
//!
//! ```text
//!  log       ======|~~        = transfer, at half the speed while both are      ~ sync, which takes no bandwidth
//!  database     =========|~~~~
//! ```
//!
//! One's end moves only when the other begins. So no event is needed but one for each end.

use zonefall_kernel::time::{Duration, Time};

/// What writes to a volume.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Lane {
    /// The log.
    Log,
    /// The database.
    Database,
}

impl Lane {
    /// The other.
    #[must_use]
    pub const fn other(self) -> Self {
        match self {
            Self::Log => Self::Database,
            Self::Database => Self::Log,
        }
    }
}

/// What is being written, as of `since`.
#[derive(Clone, Copy, Debug, Default)]
pub struct Writes {
    since: Time,
    /// Transfers of log and database: half nanoseconds of the whole bandwidth that they still need.
    left: [u64; 2],
    /// Their syncs.
    then: [Duration; 2],
}

impl Writes {
    /// Begins a write of a lane whose last one is over: its transfer takes so long alone.
    pub fn begin(&mut self, now: Time, lane: Lane, transfer: Duration, sync: Duration) {
        self.advance(now);
        self.left[lane as usize] = transfer.as_nanos() * 2;
        self.then[lane as usize] = sync;
    }

    /// Whether a lane's transfer goes on.
    pub fn transfers(&self, lane: Lane) -> bool {
        self.left[lane as usize] > 0
    }

    /// When a lane's write, just begun or still transferred, is synced if the other does not begin one.
    pub fn end(&self, lane: Lane) -> Time {
        let (own, other) = (self.left[lane as usize], self.left[lane.other() as usize]);
        let shared = own.min(other);
        self.since + Duration::from_nanos(shared + (own - shared).div_ceil(2)) + self.then[lane as usize]
    }

    fn advance(&mut self, now: Time) {
        let passed = now.since(std::mem::replace(&mut self.since, now)).as_nanos();
        let shared = self.left[0].min(self.left[1]).min(passed);
        for left in &mut self.left {
            *left = left.saturating_sub(shared + 2 * (passed - shared));
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const fn ms(ms: u64) -> Duration {
        Duration::from_millis(ms)
    }

    fn at(time: u64) -> Time {
        Time::ZERO + ms(time)
    }

    #[test]
    fn alone_a_write_has_the_whole_volume() {
        let mut writes = Writes::default();
        writes.begin(at(5), Lane::Log, ms(10), ms(1));
        assert_eq!((writes.end(Lane::Log), writes.transfers(Lane::Database)), (at(16), false));
        // The next begins long after.
        writes.begin(at(100), Lane::Database, ms(4), ms(2));
        assert_eq!((writes.end(Lane::Database), writes.transfers(Lane::Log)), (at(106), false));
    }

    #[test]
    fn two_writes_have_half_of_it_each_until_one_is_through() {
        let mut writes = Writes::default();
        writes.begin(at(0), Lane::Log, ms(10), ms(1));
        // 6 ms of the log are left: they take 12, and after them the database has 10 - 6 left.
        writes.begin(at(4), Lane::Database, ms(10), ms(3));
        assert_eq!((writes.end(Lane::Log), writes.end(Lane::Database)), (at(17), at(4 + 12 + 4 + 3)));
        // The same if the first ends while the second goes on, and another begins: 2 ms of the database are left.
        writes.begin(at(18), Lane::Log, ms(1), ms(1));
        assert_eq!((writes.end(Lane::Log), writes.end(Lane::Database)), (at(21), at(18 + 2 + 1 + 3)));
    }

    #[test]
    fn a_sync_takes_no_bandwidth() {
        let mut writes = Writes::default();
        writes.begin(at(0), Lane::Log, ms(2), ms(50));
        writes.begin(at(10), Lane::Database, ms(8), Duration::ZERO);
        assert_eq!(writes.end(Lane::Database), at(18));
        assert!(!writes.transfers(Lane::Log));
    }
}
