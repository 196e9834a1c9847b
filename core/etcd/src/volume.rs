//! A volume's bandwidth: log and database share it evenly while both are written.
//!
//! ```text
//!  log       ======|~~        = transfer, at half the speed while both are      ~ sync, which takes no bandwidth
//!  database     =========|~~~~
//! ```
//!
//! One's end moves when the other begins, and when a fault makes the volume slower or ends: what is left of a write then takes as much of its
//! time at the new speed as it would have at the old. So a write that a stalled volume held up ends soon after the volume is healthy.

use zonefall_kernel::dist::scale;
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

/// A write as a healthy volume does it, alone.
#[derive(Clone, Copy, Debug, Default)]
pub struct Work {
    /// Time to transfer its bytes.
    pub transfer: Duration,
    /// Time to sync them.
    pub sync: Duration,
    /// In so many syncs.
    pub syncs: u8,
}

/// How much slower than usual a volume is.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Slowdown {
    /// Transfers and syncs take this many times as long, at least 1.
    pub factor: f64,
    /// Added to every sync.
    pub add: Duration,
}

impl Slowdown {
    /// A transfer and a sync, or both together, that usually take so long.
    pub fn of(self, usual: Duration) -> Duration {
        scale(usual, self.factor) + self.add
    }

    fn transfer(self, work: Work) -> Duration {
        scale(work.transfer, self.factor)
    }

    fn sync(self, work: Work) -> Duration {
        scale(work.transfer + work.sync, self.factor) - self.transfer(work) + self.add * u64::from(work.syncs)
    }
}

/// What is being written, as of `since`.
#[derive(Clone, Copy, Debug, Default)]
pub struct Writes {
    since: Time,
    /// Writes of log and database, or the last ones.
    work: [Work; 2],
    /// What is left of their transfers: half nanoseconds of the whole bandwidth.
    left: [u64; 2],
    /// What is left of their syncs, which begin when all is transferred.
    then: [Duration; 2],
}

impl Writes {
    /// Begins a write of a lane whose last one is over.
    pub fn begin(&mut self, now: Time, lane: Lane, work: Work, slowdown: Slowdown) {
        self.advance(now);
        self.work[lane as usize] = work;
        self.left[lane as usize] = slowdown.transfer(work).as_nanos().saturating_mul(2);
        self.then[lane as usize] = slowdown.sync(work);
    }

    /// Whether a lane's transfer goes on.
    pub fn transfers(&self, lane: Lane) -> bool {
        self.left[lane as usize] > 0
    }

    /// When a lane's write, which is not over yet, is synced if the other does not begin one and the volume's speed stays as it is.
    pub fn end(&self, lane: Lane) -> Time {
        self.since + self.transfer(lane) + self.then[lane as usize]
    }

    /// The volume has become slower or faster.
    pub fn change_speed(&mut self, now: Time, from: Slowdown, to: Slowdown) {
        self.advance(now);
        let part = |left: u64, was: Duration, is: Duration| {
            let left = u128::from(left) * u128::from(is.as_nanos()) / u128::from(was.as_nanos().max(1));
            u64::try_from(left).unwrap_or(u64::MAX)
        };
        for ((work, left), then) in self.work.iter().zip(&mut self.left).zip(&mut self.then) {
            let (was, is) = (from.sync(*work), to.sync(*work));
            *then = if *left > 0 { is } else { Duration::from_nanos(part(then.as_nanos(), was, is)) };
            *left = part(*left, from.transfer(*work), to.transfer(*work));
        }
    }

    /// Time that a lane's transfer still takes.
    fn transfer(&self, lane: Lane) -> Duration {
        let (own, other) = (self.left[lane as usize], self.left[lane.other() as usize]);
        let shared = own.min(other);
        Duration::from_nanos(shared + (own - shared).div_ceil(2))
    }

    fn advance(&mut self, now: Time) {
        let passed = now.since(std::mem::replace(&mut self.since, now));
        let transfers = [Lane::Log, Lane::Database].map(|lane| self.transfer(lane));
        let shared = self.left[0].min(self.left[1]).min(passed.as_nanos());
        for ((left, then), transfer) in self.left.iter_mut().zip(&mut self.then).zip(transfers) {
            *left = left.saturating_sub(shared + 2 * (passed.as_nanos() - shared));
            // Differences of durations end at zero.
            *then = *then - (passed - transfer);
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

    const HEALTHY: Slowdown = Slowdown { factor: 1.0, add: Duration::ZERO };

    /// Writes to a healthy volume.
    fn begin(writes: &mut Writes, now: Time, lane: Lane, transfer: Duration, sync: Duration) {
        writes.begin(now, lane, Work { transfer, sync, syncs: 1 }, HEALTHY);
    }

    #[test]
    fn alone_a_write_has_the_whole_volume() {
        let mut writes = Writes::default();
        begin(&mut writes, at(5), Lane::Log, ms(10), ms(1));
        assert_eq!((writes.end(Lane::Log), writes.transfers(Lane::Database)), (at(16), false));
        // The next begins long after.
        begin(&mut writes, at(100), Lane::Database, ms(4), ms(2));
        assert_eq!((writes.end(Lane::Database), writes.transfers(Lane::Log)), (at(106), false));
    }

    #[test]
    fn two_writes_have_half_of_it_each_until_one_is_through() {
        let mut writes = Writes::default();
        begin(&mut writes, at(0), Lane::Log, ms(10), ms(1));
        // 6 ms of the log are left: they take 12, and after them the database has 10 - 6 left.
        begin(&mut writes, at(4), Lane::Database, ms(10), ms(3));
        assert_eq!((writes.end(Lane::Log), writes.end(Lane::Database)), (at(17), at(4 + 12 + 4 + 3)));
        // The same if the first ends while the second goes on, and another begins: 2 ms of the database are left.
        begin(&mut writes, at(18), Lane::Log, ms(1), ms(1));
        assert_eq!((writes.end(Lane::Log), writes.end(Lane::Database)), (at(21), at(18 + 2 + 1 + 3)));
    }

    #[test]
    fn a_sync_takes_no_bandwidth() {
        let mut writes = Writes::default();
        begin(&mut writes, at(0), Lane::Log, ms(2), ms(50));
        begin(&mut writes, at(10), Lane::Database, ms(8), Duration::ZERO);
        assert_eq!(writes.end(Lane::Database), at(18));
        assert!(!writes.transfers(Lane::Log));
    }

    #[test]
    fn each_sync_of_a_write_waits_for_a_slow_volume() {
        let mut writes = Writes::default();
        let slow = Slowdown { factor: 1.0, add: ms(100) };
        writes.begin(at(0), Lane::Database, Work { transfer: ms(1), sync: ms(4), syncs: 2 }, slow);
        assert_eq!(writes.end(Lane::Database), at(205));
    }

    #[test]
    fn what_is_left_of_a_write_goes_at_the_new_speed() {
        let stalled = Slowdown { factor: 2.0, add: ms(1_000) };
        let check = |changes: &[(u64, Slowdown)], expected: u64| {
            let (mut writes, mut slowdown) = (Writes::default(), HEALTHY);
            begin(&mut writes, at(0), Lane::Log, ms(10), ms(4));
            for &(when, next) in changes {
                writes.change_speed(at(when), std::mem::replace(&mut slowdown, next), next);
            }
            assert_eq!(writes.end(Lane::Log), at(expected), "{changes:?}");
        };
        check(&[], 14);
        // During the transfer: 5 ms of it are left, and the whole sync.
        check(&[(5, stalled)], 5 + 10 + 1_008);
        check(&[(5, stalled), (9, HEALTHY)], 9 + 3 + 4);
        // During the sync: half of it is left, then a quarter.
        check(&[(12, stalled)], 12 + 504);
        check(&[(12, stalled), (12 + 252, HEALTHY)], 12 + 252 + 1);
        // When it is over nothing is left.
        check(&[(14, stalled)], 14);
        check(&[(14, stalled), (20, HEALTHY)], 20);
    }
}
