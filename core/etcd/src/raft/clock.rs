//! The election clock: ticks counted by arithmetic, so that a healthy follower queues no event per tick.

use zonefall_kernel::time::{Duration, Time};

/// Ticks of one process, at `phase + k * tick`, and how many have passed since the election state was reset.
#[derive(Clone, Copy, Debug)]
pub struct Clock {
    tick: u64,
    phase: u64,
    elapsed: u64,
    since: Time,
}

impl Clock {
    /// A clock that ticks every `tick`, first at `phase` (below `tick`).
    pub fn new(tick: Duration, phase: Duration, now: Time) -> Self {
        Self { tick: tick.as_nanos(), phase: phase.as_nanos(), elapsed: 0, since: now }
    }

    /// Ticks at or before `at`.
    fn count(&self, at: Time) -> u64 {
        (at.as_nanos() + self.tick - self.phase) / self.tick
    }

    /// Ticks since the last reset.
    pub fn elapsed(&self, now: Time) -> u64 {
        self.elapsed + self.count(now) - self.count(self.since)
    }

    /// Nothing has elapsed.
    pub fn reset(&mut self, now: Time) {
        self.elapsed = 0;
        self.since = now;
    }

    /// Counts `ticks` that have not passed.
    pub fn advance(&mut self, ticks: u64) {
        self.elapsed += ticks;
    }

    /// When `ticks` will have elapsed.
    pub fn deadline(&self, ticks: u64) -> Time {
        let missing = ticks.saturating_sub(self.elapsed);
        if missing == 0 { self.since } else { Time::from_nanos((self.count(self.since) + missing - 1) * self.tick + self.phase) }
    }

    /// The process was busy from `from` to `to` and saw at most one of the ticks between (a Go ticker keeps one and drops the rest).
    pub fn lose_ticks(&mut self, from: Time, to: Time) {
        let passed = self.count(to) - self.count(from.max(self.since));
        self.elapsed = self.elapsed(to) - passed.saturating_sub(1);
        self.since = to;
    }

    /// Whether it ticks at this moment.
    pub fn ticks_at(&self, at: Time) -> bool {
        at.as_nanos() % self.tick == self.phase
    }

    /// The first tick after `now`.
    pub fn next_tick(&self, now: Time) -> Time {
        Time::from_nanos(self.count(now) * self.tick + self.phase)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ticks_are_where_they_should_be() {
        let ms = |ms: u64| Time::ZERO + Duration::from_millis(ms);
        let mut clock = Clock::new(Duration::from_millis(100), Duration::from_millis(30), ms(0));
        assert_eq!(clock.elapsed(ms(29)), 0);
        assert_eq!(clock.elapsed(ms(30)), 1);
        assert_eq!(clock.deadline(10), ms(930));
        clock.reset(ms(930));
        assert_eq!(clock.deadline(10), ms(1930));
        assert_eq!(clock.elapsed(ms(1929)), 9);
        assert_eq!(clock.next_tick(ms(930)), ms(1030));
        assert_eq!(clock.next_tick(ms(929)), ms(930));
        clock.lose_ticks(ms(930), ms(1500));
        assert_eq!(clock.elapsed(ms(1500)), 1, "four of the five ticks were lost");
    }
}
