//! When a load balancer notices that a target has changed: arithmetic on its checks, for a target that stays as it is now (the documents
//! of [`health`](super::health)).
//!
//! ```text
//!  change ... first check ... one interval ... last check needed --time-out, if nobody answers--> noticed
//! ```

use super::health::Thresholds;
use zonefall_kernel::time::Duration;

/// How a load balancer checks its targets.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct HealthCheck {
    /// Between the starts of two checks of a target.
    pub interval: Duration,
    /// A check without an answer fails after this time.
    pub timeout: Duration,
    /// Results in a row that change the state of a target.
    pub thresholds: Thresholds,
}

/// How a target changes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum TargetChange {
    /// It refuses connections: checks fail at once.
    Refuses,
    /// It does not answer: checks fail after their time-out.
    FallsSilent,
    /// It answers: checks succeed at once.
    Answers,
}

impl HealthCheck {
    /// Time from a change of a target to the new state, given the time from the change to the next check. The target is healthy before it
    /// stops answering, and unhealthy before it answers again.
    pub fn detection_time(&self, to_next_check: Duration, change: TargetChange) -> Duration {
        let Thresholds { rise, fall, .. } = self.thresholds;
        let (needed, last_takes) = match change {
            TargetChange::Refuses => (fall, Duration::ZERO),
            TargetChange::FallsSilent => (fall, self.timeout),
            TargetChange::Answers => (rise, Duration::ZERO),
        };
        to_next_check + self.interval * u64::from(needed.saturating_sub(1)) + last_takes
    }
}

#[cfg(test)]
mod tests {
    use super::super::health::{Health, TargetHealth};
    use super::*;
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn detection_time_is_that_of_checks_made_one_by_one(
            (interval, timeout, to_next) in (1_u64..60, 1_u64..60, 0_u64..60),
            (rise, fall) in (1_u32..8, 1_u32..8),
            change in proptest::sample::select(vec![TargetChange::Refuses, TargetChange::FallsSilent, TargetChange::Answers]),
        ) {
            let thresholds = Thresholds { rise, fall, first_rise: 1 };
            let check = HealthCheck { interval: Duration::from_secs(interval), timeout: Duration::from_secs(timeout), thresholds };
            let answers = change == TargetChange::Answers;
            let (before, after) = if answers { (Health::Unhealthy, Health::Healthy) } else { (Health::Healthy, Health::Unhealthy) };
            let (mut target, mut at) = (TargetHealth::new(before), to_next);
            let seen = loop {
                target.check(answers, thresholds);
                if target.health() == after {
                    break at + if change == TargetChange::FallsSilent { timeout } else { 0 };
                }
                at += interval;
            };
            prop_assert_eq!(check.detection_time(Duration::from_secs(to_next), change), Duration::from_secs(seen));
        }
    }
}
