//! What a server that rejects requests says in the header `Retry-After` (kubernetes/apiserver@24a394e5
//! `pkg/util/flowcontrol/dropped_requests_tracker.go`; before Kubernetes 1.28 it was always 1 s).
//!
//! ```text
//!  at the first rejection of a second: of the last `value` seconds
//!     at least 3 * value rejections, and no doubling for as long --> twice the value, at most 32
//!     fewer than value rejections                                --> one less, at least 1
//! ```

use std::collections::VecDeque;

use zonefall_kernel::time::{Duration, Time};

/// Rejections of one priority level.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RetryAfter {
    /// The header's value.
    seconds: u64,
    /// The second of the last rejection, and how many it had so far.
    current: (u64, u64),
    /// Earlier seconds with rejections, and how many each had.
    history: VecDeque<(u64, u64)>,
    /// The second in which the value was last doubled.
    doubled: u64,
}

/// The header's value is never higher: seconds.
const MOST: u64 = 32;

/// The header's value is never higher.
pub const LONGEST_RETRY_AFTER: Duration = Duration::from_secs(MOST);

impl Default for RetryAfter {
    fn default() -> Self {
        Self { seconds: 1, current: (0, 0), history: VecDeque::new(), doubled: 0 }
    }
}

impl RetryAfter {
    /// The header's value at present: whole seconds.
    pub const fn value(&self) -> Duration {
        Duration::from_secs(self.seconds)
    }

    /// A request is rejected now, not before the last one. Returns the header of its answer.
    pub fn reject(&mut self, now: Time) -> Duration {
        let second = now.as_nanos() / Duration::from_secs(1).as_nanos();
        if second == self.current.0 {
            self.current.1 += 1;
            return self.value();
        }
        self.history.push_back(self.current);
        let kept = (2 * self.seconds).min(MOST);
        let latest = self.current.0;
        while self.history.front().is_some_and(|(earlier, _)| latest - earlier > kept) {
            self.history.pop_front();
        }
        self.current = (second, 1);
        self.change(second);
        self.value()
    }

    fn change(&mut self, second: u64) {
        let recent = self.history.iter().filter(|(earlier, _)| second - earlier <= self.seconds);
        let rejected: u64 = recent.map(|(_, rejected)| rejected).sum();
        if rejected >= 3 * self.seconds && second - self.doubled >= self.seconds {
            self.seconds = (2 * self.seconds).min(MOST);
            self.doubled = second;
        } else if rejected < self.seconds && self.seconds > 1 {
            self.seconds -= 1;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The steps of apiserver `dropped_requests_tracker_test.go` (`TestDroppedRequestsTracker`).
    #[test]
    fn retry_after_doubles_under_rejections_and_falls_without() {
        let mut retry_after = RetryAfter::default();
        for (second, rejections, expected) in [
            (0, 5, 1),
            (1, 11, 2),
            (2, 1, 2), // not doubled again so soon
            (3, 11, 4),
            (4, 1, 4),
            (7, 1, 8),
            (11, 1, 8),
            (15, 1, 7),
            (17, 1, 6),
            (21, 14, 5),
            (22, 1, 10),
        ] {
            for _ in 0..rejections {
                retry_after.reject(Time::ZERO + Duration::from_secs(second));
            }
            assert_eq!(retry_after.value(), Duration::from_secs(expected), "at {second} s");
        }
    }

    #[test]
    fn retry_after_doubles_at_three_rejections_a_second_and_not_at_two() {
        for (rejections, expected) in [(2, 1), (3, 2)] {
            let mut retry_after = RetryAfter::default();
            (0..rejections).for_each(|_| _ = retry_after.reject(Time::ZERO));
            assert_eq!(retry_after.reject(Time::ZERO + Duration::from_secs(1)), Duration::from_secs(expected), "{rejections}");
        }
    }

    #[test]
    fn retry_after_stays_between_one_and_thirty_two_seconds() {
        let mut retry_after = RetryAfter::default();
        let mut most = Duration::ZERO;
        for second in 0..200 {
            (0..100).for_each(|_| most = most.max(retry_after.reject(Time::ZERO + Duration::from_secs(second))));
        }
        assert_eq!(most, Duration::from_secs(32));
        (0..100).for_each(|k| _ = retry_after.reject(Time::ZERO + Duration::from_secs(300 + 40 * k)));
        assert_eq!(retry_after.value(), Duration::from_secs(1));
    }
}
