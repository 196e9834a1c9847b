//! The health of a target, from the results of its checks: states change after several equal results in a row (AWS Network Load Balancer,
//! target group health checks; HAProxy configuration manual, `rise` and `fall`; the kubelet's `prober/worker.go`).
//!
//! ```text
//!  initial --first_rise successes--> healthy --fall failures--> unhealthy
//!     |                                 ^                           | ^
//!     |                                 '------rise successes-------' |
//!     '-------------------------fall failures-------------------------'
//! ```

use serde::{Deserialize, Serialize};

/// Consecutive results that change the state of a target, each at least 1.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Thresholds {
    /// Successes after which an unhealthy target is healthy.
    pub rise: u32,
    /// Failures after which a target is unhealthy.
    pub fall: u32,
    /// Successes after which a new target is healthy.
    pub first_rise: u32,
}

/// What a load balancer thinks of a target.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum Health {
    /// Registered, and not yet checked often enough to tell.
    Initial,
    /// Clients are sent to it.
    Healthy,
    /// Its checks fail.
    Unhealthy,
}

/// A target, and how many of its last checks contradict its state.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct TargetHealth {
    health: Health,
    /// Last successes in a row, unless it is healthy.
    successes: u32,
    /// Last failures in a row, unless it is unhealthy.
    failures: u32,
}

impl TargetHealth {
    /// A target in a state, of whose checks none is known.
    pub const fn new(health: Health) -> Self {
        Self { health, successes: 0, failures: 0 }
    }

    /// Its state after the checks so far.
    pub const fn health(self) -> Health {
        self.health
    }

    /// A check has succeeded or failed. A result ends the row of opposite ones; results that confirm the state change nothing.
    pub fn check(&mut self, success: bool, thresholds: Thresholds) {
        let Thresholds { rise, fall, first_rise } = thresholds;
        let (successes, failures) = if success { (self.successes + 1, 0) } else { (0, self.failures + 1) };
        let (rises, falls) = match self.health {
            Health::Initial => (successes >= first_rise, failures >= fall),
            Health::Healthy => (success, failures >= fall),
            Health::Unhealthy => (successes >= rise, !success),
        };
        *self = match (rises, falls) {
            (true, _) => Self::new(Health::Healthy),
            (false, true) => Self::new(Health::Unhealthy),
            (false, false) => Self { successes, failures, ..*self },
        };
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn new_target_that_fails_often_enough_is_unhealthy() {
        let thresholds = Thresholds { rise: 3, fall: 2, first_rise: 1 };
        let mut target = TargetHealth::new(Health::Initial);
        target.check(false, thresholds);
        assert_eq!(target.health(), Health::Initial);
        target.check(false, thresholds);
        assert_eq!(target.health(), Health::Unhealthy);
        target.check(true, thresholds);
        assert_eq!(target.health(), Health::Unhealthy, "it is not new any more: it needs three");
    }

    proptest! {
        #[test]
        fn state_changes_only_after_enough_equal_results_in_a_row(
            rise in 1_u32..5, fall in 1_u32..5, checks in proptest::collection::vec(any::<bool>(), 0..60),
        ) {
            let thresholds = Thresholds { rise, fall, first_rise: 1 };
            let mut target = TargetHealth::new(Health::Healthy);
            for (k, success) in checks.iter().enumerate() {
                let before = target.health();
                target.check(*success, thresholds);
                let row = checks[..=k].iter().rev().take_while(|other| *other == success).count() as u32;
                let (other, needed) = if *success { (Health::Unhealthy, rise) } else { (Health::Healthy, fall) };
                prop_assert_eq!(before != target.health(), before == other && row >= needed);
            }
        }
    }
}
