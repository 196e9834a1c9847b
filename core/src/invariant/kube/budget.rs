//! No eviction is granted where a budget allows none (Kubernetes, "API-initiated Eviction", section "How API-initiated eviction works";
//! "Disruptions", section "Pod disruption budgets"). The allowance is counted anew: healthy pods, less those there should be.
//!
//! The API grants by what the disruption controller last told it, less what was granted since. The controller may not have heard yet of
//! pods that have become unready, and hears of none while it does not act. So an eviction breaks the budget only where it was spent
//! by every count that the controller may have been at.

use std::collections::{BTreeMap, VecDeque};

use super::{Property, View};
use crate::ids::WorkloadId;
use crate::kernel::time::Time;
use crate::kube::record::{KubeRecord, PodFact};
use crate::kube::spec::Component;

/// What each budget has lately allowed.
#[derive(Clone, Debug, Default)]
pub(super) struct Budget {
    /// Counts that were true until some time, less what was granted since.
    before: BTreeMap<WorkloadId, VecDeque<(Time, i64)>>,
    /// The controller acts since then, or not until then.
    controller: ControllerActive,
}

#[derive(Clone, Copy, Debug)]
struct ControllerActive {
    now: bool,
    since: Time,
}

impl Default for ControllerActive {
    fn default() -> Self {
        Self { now: true, since: Time::ZERO }
    }
}

/// Pods that may be evicted, by a count of now; `None`: there is no budget.
fn allowance(workload: WorkloadId, view: &View<'_>) -> Option<i64> {
    let spec = &view.spec().workloads[workload];
    let desired = spec.replicas.saturating_sub(spec.max_unavailable?);
    let healthy = view.objects().pods_of(workload).filter(|(_, pod)| pod.is_healthy()).count();
    Some(healthy as i64 - i64::from(desired))
}

impl Budget {
    /// What was true until now may be true no more.
    fn note(&mut self, workload: WorkloadId, count: i64, view: &View<'_>) {
        // A leader writes faster than this, or is none: so fast is the controller told.
        let heard = view.spec().timers.renew_deadline;
        let before = self.before.entry(workload).or_default();
        if self.controller.now && self.controller.since + heard <= view.at {
            while before.front().is_some_and(|(until, _)| *until + heard < view.at) {
                before.pop_front();
            }
        }
        match before.back_mut().filter(|(_, last)| *last == count) {
            Some((until, _)) => *until = view.at,
            None => before.push_back((view.at, count)),
        }
    }
}

impl Property for Budget {
    const NAME: &'static str = "no eviction without allowance";

    fn check(&mut self, fact: &KubeRecord, view: &View<'_>) -> Result<(), String> {
        if let KubeRecord::ControllerActive(Component::ControllerManager, controller) = *fact {
            self.controller = ControllerActive { now: controller, since: view.at };
        }
        let KubeRecord::Pod(name, fact) = *fact else { return Ok(()) };
        let Some(count) = allowance(name.workload, view) else { return Ok(()) };
        match fact {
            PodFact::Evicted(true) if view.objects().pods.get(&name).is_some_and(super::objects::Pod::is_healthy) => {
                self.note(name.workload, count, view);
                let before = self.before.entry(name.workload).or_default();
                let most = before.iter().map(|(_, count)| *count).max().unwrap_or(count);
                for (_, count) in before.iter_mut() {
                    *count -= 1;
                }
                if most > 0 {
                    return Ok(());
                }
                Err(format!("{} is evicted although its PodDisruptionBudget allows no disruption", view.pod(name)))
            }
            PodFact::Started { .. } | PodFact::Ready(_) | PodFact::Terminating | PodFact::Removed => {
                self.note(name.workload, count, view);
                Ok(())
            }
            _ => Ok(()),
        }
    }
}
