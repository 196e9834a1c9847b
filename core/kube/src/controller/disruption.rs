//! The disruption controller (`pkg/controller/disruption`), and evictions as the API grants them (`pods/eviction`).
//!
//! What the API has granted since the controller last looked is spent already. (An eviction that is granted here is never lost: the
//! pod is terminating from then on, so that no list of disrupted pods, which are forgotten after 2 min, is needed.)

use crate::controller::{Controller, State};
use crate::ctx::ClusterCtx;
use crate::record::{KubeRecord, PodFact};
use crate::rule::budget::{Eviction, Health, Status, may_evict};
use crate::spec::int_or_percent::IntOrPercent;
use crate::spec::{BudgetLimit, Component, Kind, UnhealthyPods};
use crate::store::Change;
use crate::store::{BudgetId, Pod, Store};
use zonefall_scenario::ids::{PodId, WorkloadId};

/// Why an eviction was refused.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum EvictionError {
    /// The budget allows none now: to be tried again later (429).
    TooManyRequests,
    /// Several budgets select the pod, which the API does not support (500).
    SeveralBudgets,
}

fn health(pod: &Pod) -> Health {
    match (pod.terminating || !pod.started, pod.ready) {
        (true, _) => Health::Gone,
        (false, true) => Health::Ready,
        (false, false) => Health::NotReady,
    }
}

/// The controller.
#[derive(Clone, Debug)]
pub struct Budgets;

/// Brings the budget of a workload up to date.
fn sync(id: WorkloadId, store: &mut Store, ctx: &ClusterCtx<'_>) {
    if let Some(max_unavailable) = store.template(id, ctx.spec).max_unavailable {
        let status = Status::new(IntOrPercent::Int(max_unavailable), store.desired(id), healthy(id, store));
        store.set_budget(BudgetId::Workload(id), status);
    }
}

/// Updates a budget that selects pods of any workload: it expects as many as their owners want (`getExpectedScale`).
fn sync_named(k: u32, store: &mut Store, ctx: &ClusterCtx<'_>) {
    let budget = &ctx.spec.budgets[k as usize];
    let all = ctx.spec.workloads.keys().filter(|id| budget.pods.selects(store.template(*id, ctx.spec)));
    let (mut expected, mut healthy_pods, mut has_no_scale) = (0, 0, false);
    for id in all {
        has_no_scale |= ctx.spec.workloads[id].kind == Kind::DaemonSet && store.pods_of(id).next().is_some();
        expected += store.desired(id);
        healthy_pods += healthy(id, store);
    }
    let mut status = Status::of(budget.limit, expected, healthy_pods);
    // A DaemonSet does not say how many it wants (it has no scale): only a number that must be available can be told (`failSafe`).
    match budget.limit {
        BudgetLimit::MinAvailable(IntOrPercent::Int(least)) => status.allowed = healthy_pods.saturating_sub(least),
        _ if has_no_scale => status.allowed = 0,
        _ => {}
    }
    store.set_budget(BudgetId::Named(k), status);
}

fn healthy(id: WorkloadId, store: &Store) -> u32 {
    store.pods_of(id).filter(|(_, pod)| health(pod) == Health::Ready).count() as u32
}

/// The budgets of a workload's pods.
fn budgets_of(id: WorkloadId, store: &Store, ctx: &ClusterCtx<'_>) -> Vec<(BudgetId, UnhealthyPods)> {
    // Gardener has pods that are not ready evicted always.
    let usual =
        if ctx.spec.components.contains(&Component::Gardenlet) { UnhealthyPods::AlwaysAllow } else { UnhealthyPods::default() };
    let own = store.budget(BudgetId::Workload(id)).map(|_| (BudgetId::Workload(id), usual));
    let named = (0..).zip(&ctx.spec.budgets).filter(|(_, budget)| budget.pods.selects(store.template(id, ctx.spec)));
    own.into_iter().chain(named.map(|(k, budget)| (BudgetId::Named(k), budget.unhealthy_pods))).collect()
}

/// Ends a pod if its budget allows it; nothing if it is ending.
///
/// # Errors
/// The budget is spent, or there are several.
pub fn evict(id: PodId, store: &mut Store, ctx: &mut ClusterCtx<'_>) -> Result<(), EvictionError> {
    let pod = store.pod(id).expect("who evicts a pod has it");
    if pod.terminating {
        return Ok(());
    }
    let (name, health) = (pod.name, health(pod));
    let budgets = budgets_of(name.workload, store, ctx);
    if let ([_, _, ..], Health::Ready | Health::NotReady) = (&budgets[..], health) {
        ctx.record(KubeRecord::Pod(name, PodFact::SeveralBudgets));
        return Err(EvictionError::SeveralBudgets);
    }
    let budget = budgets.first().and_then(|(budget, policy)| Some((*budget, *policy, *store.budget(*budget)?)));
    let answer = budget.map_or(Eviction::Free, |(_, policy, status)| may_evict(health, policy, &status));
    ctx.record(KubeRecord::Pod(name, PodFact::Evicted(answer != Eviction::Refused)));
    match (answer, budget) {
        (Eviction::Refused, _) => return Err(EvictionError::TooManyRequests),
        (Eviction::Spends, Some((budget, _, status))) => {
            store.set_budget(budget, Status { allowed: status.allowed - 1, ..status });
        }
        (Eviction::Spends | Eviction::Free, _) => {}
    }
    store.terminate(id, ctx);
    Ok(())
}

impl Budgets {
    /// Every cluster has it.
    pub fn factory(_state: &State, _ctx: &mut ClusterCtx<'_>) -> Option<Box<dyn Controller>> {
        Some(Box::new(Self))
    }
}

/// Keys of its work queues: 0 a workload with a budget of its own; 1 another budget.
impl Controller for Budgets {
    fn component(&self) -> Option<Component> {
        Some(Component::ControllerManager)
    }

    fn watch(&mut self, change: &Change, state: &mut State, ctx: &mut ClusterCtx<'_>) {
        let concerned = match *change {
            Change::Terminating(_, id, _) | Change::Desired(id) | Change::Template(id) | Change::Readiness(id) => id,
            Change::Removed(_, name, _) => name.workload,
            _ => return,
        };
        if state.store.template(concerned, ctx.spec).max_unavailable.is_some() {
            ctx.enqueue(0, concerned.0);
        }
        for (k, budget) in (0..).zip(&ctx.spec.budgets) {
            if budget.pods.selects(state.store.template(concerned, ctx.spec)) {
                ctx.enqueue(1, k);
            }
        }
    }

    fn reconcile(&mut self, queue: u8, key: u32, state: &mut State, ctx: &mut ClusterCtx<'_>) {
        if queue == 0 {
            sync(WorkloadId(key), &mut state.store, ctx);
        } else {
            sync_named(key, &mut state.store, ctx);
        }
    }

    fn list(&self, state: &State, ctx: &ClusterCtx<'_>) -> Vec<(u8, u32)> {
        let has = |id: &u32| state.store.template(WorkloadId(*id), ctx.spec).max_unavailable.is_some();
        let own = (0..ctx.spec.workloads.len() as u32).filter(has).map(|id| (0, id));
        own.chain((0..ctx.spec.budgets.len() as u32).map(|k| (1, k))).collect()
    }

    fn describe_work(&self, _queue: u8) -> &'static str {
        "the disruption controller observes changes of pods"
    }

    fn boxed(&self) -> Box<dyn Controller> {
        Box::new(self.clone())
    }
}
