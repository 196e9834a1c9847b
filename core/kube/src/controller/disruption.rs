//! The disruption controller (`pkg/controller/disruption`), and evictions as the API grants them (`pods/eviction`).
//!
//! What the API has granted since the controller last looked is spent already. (An eviction that is granted here is never lost: the
//! pod is terminating from then on, so that no list of disrupted pods, which are forgotten after 2 min, is needed.)

use crate::controller::{Controller, State};
use crate::ctx::ClusterCtx;
use crate::record::{KubeRecord, PodFact};
use crate::rule::budget::{Eviction, Health, Status, UnhealthyPods, may_evict};
use crate::spec::Component;
use crate::spec::int_or_percent::IntOrPercent;
use crate::store::Change;
use crate::store::{Pod, Store};
use zonefall_scenario::ids::{PodId, WorkloadId};

/// An eviction was refused: to be tried again later.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct TooManyRequests;

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
        let healthy = store.pods_of(id).filter(|(_, pod)| health(pod) == Health::Ready).count();
        store.set_budget(id, Status::new(IntOrPercent::Int(max_unavailable), store.desired(id), healthy as u32));
    }
}

/// Ends a pod if its budget allows it; nothing if it is ending. (Gardener has pods that are not ready evicted always, `AlwaysAllow`.)
///
/// # Errors
/// The budget is spent.
pub fn evict(id: PodId, store: &mut Store, ctx: &mut ClusterCtx<'_>) -> Result<(), TooManyRequests> {
    let pod = store.pod(id).expect("who evicts a pod has it");
    if pod.terminating {
        return Ok(());
    }
    let workload = pod.name.workload;
    let status = store.budget(workload).copied();
    let answer = status.map_or(Eviction::Free, |status| may_evict(health(pod), UnhealthyPods::AlwaysAllow, &status));
    ctx.record(KubeRecord::Pod(pod.name, PodFact::Evicted(answer != Eviction::Refused)));
    match (answer, status) {
        (Eviction::Refused, _) => return Err(TooManyRequests),
        (Eviction::Spends, Some(status)) => store.set_budget(workload, Status { allowed: status.allowed - 1, ..status }),
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

/// Key of its work queue: a workload.
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
    }

    fn reconcile(&mut self, _queue: u8, key: u32, state: &mut State, ctx: &mut ClusterCtx<'_>) {
        sync(WorkloadId(key), &mut state.store, ctx);
    }

    fn list(&self, state: &State, ctx: &ClusterCtx<'_>) -> Vec<(u8, u32)> {
        let has = |id: &u32| state.store.template(WorkloadId(*id), ctx.spec).max_unavailable.is_some();
        (0..ctx.spec.workloads.len() as u32).filter(has).map(|id| (0, id)).collect()
    }

    fn describe_work(&self, _queue: u8) -> &'static str {
        "the disruption controller is notified of pods"
    }

    fn boxed(&self) -> Box<dyn Controller> {
        Box::new(self.clone())
    }
}
