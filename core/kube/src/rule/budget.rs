//! Pod disruption budgets: how many pods may be evicted, and whether this one may (`pkg/controller/disruption/disruption.go`,
//! `pkg/registry/core/pod/storage/eviction.go`).

use crate::spec::int_or_percent::IntOrPercent;
use crate::spec::{BudgetLimit, UnhealthyPods};

/// What the controller knows of a budget.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Status {
    /// Healthy pods there should be (`desiredHealthy`).
    pub desired: u32,
    /// Pods that are ready, stay, and were not evicted a moment ago (`currentHealthy`).
    pub healthy: u32,
    /// Pods that may be evicted (`disruptionsAllowed`).
    pub allowed: u32,
}

impl Status {
    /// The status of a budget that allows so many to be unavailable.
    pub fn new(max_unavailable: IntOrPercent, expected: u32, healthy: u32) -> Self {
        Self::of(BudgetLimit::MaxUnavailable(max_unavailable), expected, healthy)
    }

    /// The status with `expected` pods wanted by those who own them, `healthy` of them healthy. (A percentage is rounded up, as that of
    /// a Deployment is not.)
    pub fn of(limit: BudgetLimit, expected: u32, healthy: u32) -> Self {
        let desired = match limit {
            BudgetLimit::MaxUnavailable(share) => expected.saturating_sub(share.of_rounded_up(expected)),
            BudgetLimit::MinAvailable(share) => share.of_rounded_up(expected),
        };
        let allowed = if expected == 0 { 0 } else { healthy.saturating_sub(desired) };
        Self { desired, healthy, allowed }
    }
}

/// What a pod does for its budget.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Health {
    /// It does not run, or is on its way out already.
    Gone,
    /// It runs and is not ready.
    NotReady,
    /// It is ready.
    Ready,
}

/// The answer to an eviction.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Eviction {
    /// It goes, at no cost.
    Free,
    /// It goes, and the budget allows one fewer.
    Spends,
    /// Too many requests: try again later.
    Refused,
}

/// Whether a pod of the budget may be evicted.
pub fn may_evict(pod: Health, policy: UnhealthyPods, status: &Status) -> Eviction {
    let is_healthy = status.desired > 0 && status.healthy >= status.desired;
    match pod {
        Health::Gone => Eviction::Free,
        Health::NotReady if policy == UnhealthyPods::AlwaysAllow || is_healthy => Eviction::Free,
        Health::NotReady | Health::Ready if status.allowed > 0 => Eviction::Spends,
        Health::NotReady | Health::Ready => Eviction::Refused,
    }
}

#[cfg(test)]
mod tests {
    use super::IntOrPercent::{Int, Percent};
    use super::*;

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
            let status = Status::new(max_unavailable, expected, healthy);
            assert_eq!(status, Status { desired, healthy, allowed }, "{max_unavailable} of {expected}, {healthy} healthy");
        }
    }

    #[test]
    fn evictions() {
        use UnhealthyPods::{AlwaysAllow, IfHealthyBudget};
        let (whole, short) = (Status::new(Int(1), 3, 3), Status::new(Int(1), 3, 1));
        let (barely, for_nothing) = (Status::new(Int(1), 3, 2), Status::new(Int(1), 1, 0));
        for (pod, policy, status, answer) in [
            (Health::Ready, AlwaysAllow, whole, Eviction::Spends),
            (Health::Ready, AlwaysAllow, barely, Eviction::Refused),
            (Health::Gone, IfHealthyBudget, short, Eviction::Free),
            (Health::NotReady, AlwaysAllow, short, Eviction::Free),
            (Health::NotReady, IfHealthyBudget, short, Eviction::Refused),
            (Health::NotReady, IfHealthyBudget, barely, Eviction::Free),
            (Health::NotReady, IfHealthyBudget, for_nothing, Eviction::Refused),
        ] {
            assert_eq!(may_evict(pod, policy, &status), answer, "{pod:?} under {policy:?}: {status:?}");
        }
    }
}
