//! Pod disruption budgets: how many pods may be evicted, and whether this one may (`pkg/controller/disruption/disruption.go`,
//! `pkg/registry/core/pod/storage/eviction.go`).

use crate::spec::int_or_percent::IntOrPercent;
use crate::spec::{BudgetLimit, UnhealthyPods};

/// What the controller knows of a budget.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Status {
    /// Pods that are counted on (`expectedPods`).
    pub expected: u32,
    /// Healthy pods there should be (`desiredHealthy`).
    pub desired: u32,
    /// Pods that are ready, stay, and were not evicted a moment ago (`currentHealthy`).
    pub healthy: u32,
    /// Pods that may be evicted (`disruptionsAllowed`).
    pub allowed: u32,
}

/// Pods that a budget selects.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Selected {
    /// Pods that exist.
    pub pods: u32,
    /// Pods that are wanted by the controllers that own some of these (`getExpectedScale`); `None`: one of them does not say.
    pub wanted: Option<u32>,
    /// Pods that are ready, stay, and were not evicted a moment ago.
    pub healthy: u32,
}

impl Status {
    /// The status of a budget with `expected` pods, `healthy` of them healthy. (A percentage is rounded up, as that of a Deployment is
    /// not.)
    pub fn of(limit: BudgetLimit, expected: u32, healthy: u32) -> Self {
        let desired = match limit {
            BudgetLimit::MaxUnavailable(share) => expected.saturating_sub(share.of_rounded_up(expected)),
            BudgetLimit::MinAvailable(share) => share.of_rounded_up(expected),
        };
        let allowed = if expected == 0 { 0 } else { healthy.saturating_sub(desired) };
        Self { expected, desired, healthy, allowed }
    }

    /// The status of a budget after it was `self` (`trySync`). A number of pods that must stay needs no owner's word: the pods that exist
    /// are expected. Otherwise those that are wanted are; where that is unknown, nothing is allowed, and all else stays as it was
    /// (`failSafe`).
    #[must_use]
    pub fn renewed(self, limit: BudgetLimit, selected: Selected) -> Self {
        let expected = match limit {
            BudgetLimit::MinAvailable(IntOrPercent::Int(_)) => Some(selected.pods),
            _ => selected.wanted,
        };
        expected.map_or(Self { allowed: 0, ..self }, |expected| Self::of(limit, expected, selected.healthy))
    }
}

/// What a pod does for its budget.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Health {
    /// It does not run, or is terminating already.
    Gone,
    /// It runs and is not ready.
    NotReady,
    /// It is ready.
    Ready,
}

/// A budget as the API server finds it when a pod is to be evicted.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Budget {
    /// Pods that may be evicted (`disruptionsAllowed`), a signed number as in the API.
    pub allowed: i64,
    /// Healthy pods.
    pub healthy: u32,
    /// Healthy pods there should be.
    pub desired: u32,
    /// When pods that run but are not ready may be evicted.
    pub unhealthy_pods: UnhealthyPods,
    /// The controller has seen the budget as it is now (`observedGeneration`).
    pub is_current: bool,
    /// Recorded evictions (`disruptedPods`).
    pub records: usize,
}

impl Budget {
    /// The budget that has this status.
    pub fn new(status: &Status, unhealthy_pods: UnhealthyPods) -> Self {
        let Status { desired, healthy, allowed, .. } = *status;
        Self { allowed: allowed.into(), healthy, desired, unhealthy_pods, is_current: true, records: 0 }
    }
}

/// The answer to an eviction.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Eviction {
    /// It goes, at no cost.
    Free,
    /// It goes, and the budget allows one fewer.
    Spends,
    /// Too many requests: try again later (429).
    TooManyRequests,
    /// The status of the budget makes no sense (403).
    Forbidden,
    /// Several budgets select the pod, which is not supported (500).
    SeveralBudgets,
}

impl Eviction {
    /// Whether the pod goes.
    pub const fn is_granted(self) -> bool {
        matches!(self, Self::Free | Self::Spends)
    }
}

/// Recorded evictions of a budget beyond which no more are granted (`MaxDisruptedPodSize`).
pub const MAX_RECORDS: usize = 2_000;

/// Whether a pod may be evicted that these budgets select.
pub fn evict(pod: Health, budgets: &[Budget]) -> Eviction {
    if pod == Health::Gone {
        return Eviction::Free;
    }
    let budget = match budgets {
        [] => return Eviction::Free,
        [budget] => budget,
        _ => return Eviction::SeveralBudgets,
    };
    let is_healthy = budget.desired > 0 && budget.healthy >= budget.desired;
    if pod == Health::NotReady && (budget.unhealthy_pods == UnhealthyPods::AlwaysAllow || is_healthy) {
        Eviction::Free
    } else if !budget.is_current {
        Eviction::TooManyRequests
    } else if budget.allowed < 0 || budget.records > MAX_RECORDS {
        Eviction::Forbidden
    } else if budget.allowed == 0 {
        Eviction::TooManyRequests
    } else {
        Eviction::Spends
    }
}

#[cfg(test)]
mod tests {
    use super::IntOrPercent::{Int, Percent};
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn disruptions_allowed() {
        // Budget, pods expected, healthy; healthy ones desired, disruptions allowed.
        for (max_unavailable, expected, healthy, desired, allowed) in [
            (Int(1), 3, 3, 2, 1),
            (Int(1), 3, 2, 2, 0),
            (Int(1), 3, 1, 2, 0),
            (Int(1), 1, 1, 0, 1),
            (Int(5), 3, 3, 0, 3),
            (Int(0), 3, 3, 3, 0),
            (Int(1), 0, 1, 0, 0),
            (Percent(30), 10, 7, 7, 0),
            (Percent(30), 10, 8, 7, 1),
            (Percent(28), 7, 6, 5, 1),
        ] {
            let status = Status::of(BudgetLimit::MaxUnavailable(max_unavailable), expected, healthy);
            let wanted = Status { expected, desired, healthy, allowed };
            assert_eq!(status, wanted, "{max_unavailable} of {expected}, {healthy} healthy");
        }
    }

    #[test]
    fn an_owner_that_does_not_say_how_many_pods_it_wants_stops_evictions() {
        let before = Status { expected: 4, desired: 3, healthy: 4, allowed: 1 };
        let selected = Selected { pods: 5, wanted: None, healthy: 5 };
        let limit = BudgetLimit::MaxUnavailable(Int(2));
        assert_eq!(before.renewed(limit, selected), Status { allowed: 0, ..before });
        let limit = BudgetLimit::MinAvailable(Int(2));
        assert_eq!(before.renewed(limit, selected), Status { expected: 5, desired: 2, healthy: 5, allowed: 3 });
    }

    #[test]
    fn evictions() {
        use UnhealthyPods::{AlwaysAllow, IfHealthyBudget};
        let status = |expected, healthy| Status::of(BudgetLimit::MaxUnavailable(Int(1)), expected, healthy);
        let (whole, short, barely, for_nothing) = (status(3, 3), status(3, 1), status(3, 2), status(1, 0));
        for (pod, policy, status, answer) in [
            (Health::Ready, AlwaysAllow, whole, Eviction::Spends),
            (Health::Ready, AlwaysAllow, barely, Eviction::TooManyRequests),
            (Health::Gone, IfHealthyBudget, short, Eviction::Free),
            (Health::NotReady, AlwaysAllow, short, Eviction::Free),
            (Health::NotReady, IfHealthyBudget, short, Eviction::TooManyRequests),
            (Health::NotReady, IfHealthyBudget, barely, Eviction::Free),
            (Health::NotReady, IfHealthyBudget, for_nothing, Eviction::TooManyRequests),
        ] {
            assert_eq!(evict(pod, &[Budget::new(&status, policy)]), answer, "{pod:?} under {policy:?}: {status:?}");
        }
    }

    proptest! {
        /// Pods are evicted one after the other from a budget whose controller looks after each of them, and none comes back.
        #[test]
        fn evictions_never_leave_fewer_healthy_pods_than_desired(
            pods in 1..30_u32,
            number in 0..40_u32,
            percent in any::<bool>(),
            at_least in any::<bool>(),
        ) {
            let share = if percent { Percent(number) } else { Int(number) };
            let limit = if at_least { BudgetLimit::MinAvailable(share) } else { BudgetLimit::MaxUnavailable(share) };
            let (mut healthy, mut status) = (pods, Status::default());
            loop {
                // As in the API, the number of pods that exist falls with each eviction, the number of those wanted does not.
                status = status.renewed(limit, Selected { pods: healthy, wanted: Some(pods), healthy });
                if evict(Health::Ready, &[Budget::new(&status, UnhealthyPods::default())]) != Eviction::Spends {
                    break;
                }
                healthy -= 1;
            }
            let least = match limit {
                BudgetLimit::MaxUnavailable(share) => pods.saturating_sub(share.of_rounded_up(pods)),
                BudgetLimit::MinAvailable(share) => share.of_rounded_up(pods).min(pods),
            };
            prop_assert_eq!(healthy, least);
        }
    }
}
