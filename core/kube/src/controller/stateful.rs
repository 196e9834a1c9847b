//! The StatefulSet controller (`pkg/controller/statefulset`): each pod is itself. While one of that name is there, and be it on a node that is
//! gone, there is no other. What a pass over the pods does is decided by the rule ([`crate::rule::stateful_set`]).

use crate::controller::availability::{Availability, ready_for};
use crate::controller::owner::{concerned, keys};
use crate::controller::{Controller, Due, State};
use crate::ctx::ClusterCtx;
use crate::name::{PodName, PodTag};
use crate::rule::stateful_set::{Pod, PodState, Revision, StatefulSet, is_complete};
use crate::spec::update::UpdateStrategy;
use crate::spec::{Component, Kind, KubeClusterSpec};
use crate::store::{self, Change, Store};
use zonefall_kernel::time::Time;
use zonefall_scenario::Scenario;
use zonefall_scenario::ids::WorkloadId;

/// The controller.
#[derive(Clone, Debug, Default)]
pub struct StatefulSets {
    available: Availability,
}

impl StatefulSets {
    /// One pass over the pods of a StatefulSet.
    fn sync(&mut self, workload: WorkloadId, store: &mut Store, ctx: &mut ClusterCtx<'_>) {
        let (set, pods) = look(workload, store, ctx);
        let pass = set.pass(&pods);
        let (current, settled) = (store.revisions(workload).current(), store.revisions(workload).settled());
        let name = |ordinal| PodName { workload, tag: PodTag::Ordinal(ordinal) };
        for created in &pass.created {
            let revision = if created.revision == Revision::Update { current } else { settled };
            store.create_pod(name(created.ordinal), revision, ctx);
        }
        // Surplus ones go side by side, if not in order.
        let (mut surplus, outdated): (Vec<u32>, Vec<u32>) = pass.deleted.iter().partition(|ordinal| **ordinal >= set.replicas);
        surplus.sort_unstable();
        for ordinal in surplus.into_iter().chain(outdated) {
            let id = store.id_of(name(ordinal)).expect("what the pass deletes is there");
            store.terminate(id, ctx);
        }
        if matches!(set.strategy, UpdateStrategy::RollingUpdate(_)) && pass.created.is_empty() && is_complete(&pods) {
            store.settle_revision(workload);
        }
        self.available.wait(workload, store, ctx);
    }
}

/// A StatefulSet and its pods as the rule sees them.
fn look(workload: WorkloadId, store: &Store, ctx: &ClusterCtx<'_>) -> (StatefulSet, Vec<Pod>) {
    let (spec, current) = (&ctx.spec.workloads[workload], store.revisions(workload).current());
    let (replicas, parallel) = (store.desired(workload), spec.kind == Kind::StatefulSet { parallel: true });
    let set = StatefulSet { replicas, parallel, strategy: spec.update.strategy, min_ready: spec.update.min_ready };
    (set, store.pods_of(workload).filter_map(|(_, pod)| view(pod, current, ctx.now)).collect())
}

/// Pods that the status of a StatefulSet counts (`status.replicas`): those that there are, and those that its controller is about to
/// create. It writes the status after that, so that a reader never finds all of fewer pods ready while one is missing.
pub fn status_replicas(workload: WorkloadId, store: &Store, ctx: &ClusterCtx<'_>) -> u32 {
    let (set, pods) = look(workload, store, ctx);
    (pods.len() + set.pass(&pods).created.len()) as u32
}

/// A pod as the rule sees it.
fn view(pod: &store::Pod, current: u32, now: Time) -> Option<Pod> {
    let PodTag::Ordinal(ordinal) = pod.name.tag else { return None };
    let state = match ready_for(pod, now) {
        Some(time) => PodState::Ready(time),
        None if pod.terminating => PodState::Terminating,
        None => PodState::Unready,
    };
    let revision = if pod.revision == current { Revision::Update } else { Revision::Other };
    Some(Pod { ordinal, revision, state })
}

impl StatefulSets {
    /// Every cluster has it.
    pub fn factory(_state: &State, _ctx: &mut ClusterCtx<'_>) -> Option<Box<dyn Controller>> {
        Some(Box::<Self>::default())
    }
}

/// Key of its work queue: a workload. Of its timers: a workload whose next pod becomes available.
impl Controller for StatefulSets {
    fn component(&self) -> Option<Component> {
        Some(Component::ControllerManager)
    }

    fn watch(&mut self, change: &Change, state: &mut State, ctx: &mut ClusterCtx<'_>) {
        if let Some((id, Kind::StatefulSet { .. })) = concerned(change, &state.store, ctx) {
            ctx.enqueue(0, id.0);
        }
    }

    fn reconcile(&mut self, _queue: u8, key: u32, state: &mut State, ctx: &mut ClusterCtx<'_>) {
        self.sync(WorkloadId(key), &mut state.store, ctx);
    }

    fn list(&self, _state: &State, ctx: &ClusterCtx<'_>) -> Vec<(u8, u32)> {
        keys(ctx, |workload| matches!(workload.kind, Kind::StatefulSet { .. }))
    }

    fn forget(&mut self, _state: &mut State, _ctx: &mut ClusterCtx<'_>) {
        self.available.forget();
    }

    fn defers(&self) -> bool {
        true
    }

    fn due(&mut self, due: Due, state: &mut State, ctx: &mut ClusterCtx<'_>) {
        if let Some(workload) = self.available.fires(&due) {
            self.sync(workload, &mut state.store, ctx);
        }
    }

    fn describe_work(&self, _queue: u8) -> &'static str {
        "the StatefulSet controller observes changes of pods"
    }

    fn describe_due(&self, due: &Due, spec: &KubeClusterSpec, _scenario: &Scenario) -> String {
        Availability::describe(due, spec)
    }

    fn boxed(&self) -> Box<dyn Controller> {
        Box::new(self.clone())
    }
}
