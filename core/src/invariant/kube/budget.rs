//! No eviction is granted where a budget allows none (Kubernetes, "API-initiated Eviction", section "How API-initiated eviction works";
//! "Disruptions", section "Pod disruption budgets"). The allowance is counted anew: healthy pods, less those there should be.
//!
//! The API grants by what the disruption controller last told it, less what was granted since. The controller may not have heard yet of
//! pods that have become unready, and hears of none while it does not act. So an eviction breaks the budget only where it was spent
//! by every count that the controller may have been at. A pod that several budgets select is never evicted while it runs.

use std::collections::{BTreeMap, VecDeque};

use super::{Property, View};
use crate::ids::WorkloadId;
use crate::kernel::time::Time;
use crate::kube::record::{KubeRecord, PodFact};
use crate::kube::spec::int_or_percent::IntOrPercent;
use crate::kube::spec::{BudgetLimit, Component, Kind, Task};

/// A budget.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
enum Id {
    /// Of one workload.
    Workload(WorkloadId),
    /// Of any pods, by its place in the cluster.
    Named(usize),
}

/// What each budget has lately allowed.
#[derive(Clone, Debug, Default)]
pub(super) struct Budget {
    /// Counts that were true until some time, less what was granted since.
    before: BTreeMap<Id, VecDeque<(Time, i64)>>,
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

/// The budgets of a workload's pods.
fn budgets_of(workload: WorkloadId, view: &View<'_>) -> Vec<Id> {
    let (cluster, now) = (view.spec(), view.objects().templates.get(workload, view.spec()));
    let own = cluster.workloads[workload].max_unavailable.map(|_| Id::Workload(workload));
    let named = cluster.budgets.iter().enumerate().filter(|(_, budget)| budget.pods.selects(now));
    own.into_iter().chain(named.map(|(k, _)| Id::Named(k))).collect()
}

/// Pods that may be evicted, by a count of now.
fn allowance(id: Id, view: &View<'_>) -> i64 {
    let pods_of = |workload| view.objects().pods_of(workload).map(|(_, pod)| pod);
    let healthy = |workload| pods_of(workload).filter(|pod| pod.is_healthy()).count() as i64;
    match id {
        Id::Workload(workload) => {
            let spec = &view.spec().workloads[workload];
            healthy(workload) - i64::from(view.wanted(workload, spec).saturating_sub(spec.max_unavailable.unwrap_or(0)))
        }
        Id::Named(k) => {
            let budget = &view.spec().budgets[k];
            let selected: Vec<_> = view.workloads().filter(|(_, workload)| budget.pods.selects(workload)).collect();
            let healthy = selected.iter().map(|(id, _)| healthy(*id)).sum::<i64>();
            // Owners are found by their pods.
            let has_pods = |id: WorkloadId| pods_of(id).next().is_some();
            let wanted =
                selected.iter().filter(|(id, _)| has_pods(*id)).map(|(id, workload)| view.wanted(*id, workload)).sum::<u32>();
            // How many pods a DaemonSet wants, no budget knows.
            let has_agents = selected.iter().any(|(id, of)| of.kind == Kind::DaemonSet && pods_of(*id).next().is_some());
            match budget.limit {
                BudgetLimit::MinAvailable(IntOrPercent::Int(least)) => healthy - i64::from(least),
                _ if has_agents || wanted == 0 => 0,
                BudgetLimit::MinAvailable(share) => healthy - i64::from(share.of_rounded_up(wanted)),
                BudgetLimit::MaxUnavailable(share) => healthy - i64::from(wanted.saturating_sub(share.of_rounded_up(wanted))),
            }
        }
    }
}

/// A budget's name, for messages.
fn name_of(id: Id, view: &View<'_>) -> String {
    match id {
        Id::Workload(_) => "its PodDisruptionBudget".to_owned(),
        Id::Named(k) => format!("PodDisruptionBudget {}", view.spec().budgets[k].name),
    }
}

impl Budget {
    /// What was true until now may be true no more.
    fn note(&mut self, id: Id, count: i64, view: &View<'_>) {
        // A leader writes faster than this, or is none: so fast is the controller told.
        let timers = &view.spec().timers;
        let heard = timers.retry_period + timers.renew_deadline;
        let before = self.before.entry(id).or_default();
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

    /// One eviction more: how many a budget allowed before it, by the count that allowed most.
    fn spend(&mut self, id: Id) -> i64 {
        let counts = self.before.entry(id).or_default();
        let most = counts.iter().map(|(_, count)| *count).max().unwrap_or(0);
        for (_, count) in counts {
            *count -= 1;
        }
        most
    }
}

impl Property for Budget {
    const NAME: &'static str = "no eviction without allowance";

    fn check(&mut self, fact: &KubeRecord, view: &View<'_>) -> Result<(), String> {
        if let KubeRecord::ControllerActive(Component::ControllerManager, controller) = *fact {
            self.controller = ControllerActive { now: controller, since: view.at };
        }
        if let KubeRecord::Operation(Task::ScaleWorkload(scale)) = *fact {
            for id in budgets_of(scale.workload, view) {
                self.note(id, allowance(id, view), view);
            }
        }
        let KubeRecord::Pod(name, fact) = *fact else { return Ok(()) };
        let budgets = budgets_of(name.workload, view);
        let changes = match fact {
            PodFact::Evicted(granted) => granted,
            PodFact::Created | PodFact::Started { .. } | PodFact::Ready(_) | PodFact::Terminating | PodFact::Removed => true,
            _ => false,
        };
        if budgets.is_empty() || !changes {
            return Ok(());
        }
        let counts: Vec<_> = budgets.into_iter().map(|id| (id, allowance(id, view))).collect();
        for (id, count) in &counts {
            self.note(*id, *count, view);
        }
        let pod = view.objects().pods.get(&name).filter(|pod| pod.started && !pod.terminating);
        match (pod.filter(|_| fact == PodFact::Evicted(true)), &counts[..]) {
            (None, _) => Ok(()),
            (Some(pod), [(id, _)]) if pod.is_healthy() && self.spend(*id) <= 0 => {
                Err(format!("{} is evicted although {} allows no disruption", view.pod(name), name_of(*id, view)))
            }
            (Some(_), [_]) => Ok(()),
            (Some(_), _) => Err(format!("{} is evicted although several PodDisruptionBudgets select it", view.pod(name))),
        }
    }
}
