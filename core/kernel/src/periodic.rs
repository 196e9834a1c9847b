//! Work that repeats, as arithmetic: a first time and a period instead of an event for each repetition.

use super::time::{Duration, Time};

/// How heartbeats and other periodic work are simulated.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Stepping {
    /// Message by message, always.
    EveryEvent,
    /// Quiescent groups queue nothing; their traffic is accounted for on demand. Same records, same bytes, fewer events.
    #[default]
    FastForward,
}

/// Times that lie a period apart, for ever.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Periodic {
    first: Time,
    period: Duration,
}

impl Periodic {
    /// At `first` and every `period` (more than zero) from then on.
    pub const fn new(first: Time, period: Duration) -> Self {
        Self { first, period }
    }

    /// The first time not before `at`.
    pub fn at_or_after(self, at: Time) -> Time {
        let periods = at.since(self.first).as_nanos().div_ceil(self.period.as_nanos());
        self.first + self.period * periods
    }

    /// The first time after `at`.
    pub fn after(self, at: Time) -> Time {
        self.at_or_after(at + Duration::from_nanos(1))
    }

    /// The last time not after `at`.
    pub fn at_or_before(self, at: Time) -> Option<Time> {
        let periods = at.since(self.first).as_nanos() / self.period.as_nanos();
        (at >= self.first).then(|| self.first + self.period * periods)
    }

    /// The last time before `at`.
    pub fn before(self, at: Time) -> Option<Time> {
        (at > self.first).then(|| self.at_or_before(at - Duration::from_nanos(1)))?
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn times_around_a_moment() {
        let every = Periodic::new(Time::from_nanos(3), Duration::from_nanos(10));
        for (at, before, at_or_before, at_or_after, after) in [
            (0, None, None, 3, 3),
            (3, None, Some(3), 3, 13),
            (4, Some(3), Some(3), 13, 13),
            (13, Some(3), Some(13), 13, 23),
            (14, Some(13), Some(13), 23, 23),
        ] {
            let moment = Time::from_nanos(at);
            assert_eq!(every.before(moment).map(Time::as_nanos), before, "before {at}");
            assert_eq!(every.at_or_before(moment).map(Time::as_nanos), at_or_before, "at or before {at}");
            assert_eq!(every.at_or_after(moment).as_nanos(), at_or_after, "at or after {at}");
            assert_eq!(every.after(moment).as_nanos(), after, "after {at}");
        }
    }
}
