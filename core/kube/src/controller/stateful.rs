//! The StatefulSet controller (`pkg/controller/statefulset/stateful_set_control.go`): each pod is itself. While one of that name is there,
//! and be it on a node that is gone, there is no other.

use crate::controller::owner::{concerned, keys};
use crate::controller::{Controller, State};
use crate::ctx::ClusterCtx;
use crate::name::{PodName, PodTag};
use crate::spec::{Component, Kind};
use crate::store::Change;
use crate::store::Store;
use zonefall_scenario::ids::{PodId, WorkloadId};

/// The controller.
#[derive(Clone, Debug)]
pub struct StatefulSets;

/// Makes the pods that are missing and ends those that are too many. In order: one that is not ready, or ending, holds up the ones
/// after it; and only when all that are wanted are ready do surplus ones go, from the top, one after the other. Then pods of older revisions.
fn sync(workload: WorkloadId, store: &mut Store, ctx: &mut ClusterCtx<'_>) {
    let parallel = ctx.spec.workloads[workload].kind == Kind::StatefulSet { parallel: true };
    let desired = store.desired(workload);
    for ordinal in 0..desired {
        let name = PodName { workload, tag: PodTag::Ordinal(ordinal) };
        let is_ready = store.pods_of(workload).find(|(_, pod)| pod.name == name).map(|(_, pod)| pod.ready && !pod.terminating);
        if is_ready.is_none() {
            store.create_pod(name, store.revisions(workload).current(), ctx);
        }
        if !parallel && is_ready != Some(true) {
            return;
        }
    }
    let surplus = |name: PodName| matches!(name.tag, PodTag::Ordinal(ordinal) if ordinal >= desired);
    let mut condemned: Vec<(PodName, PodId)> =
        store.pods_of(workload).filter(|(_, pod)| surplus(pod.name)).map(|(id, pod)| (pod.name, id)).collect();
    condemned.sort_unstable();
    if !parallel {
        condemned.drain(..condemned.len().saturating_sub(1));
    }
    for (_, id) in condemned {
        store.terminate(id, ctx);
    }
    if store.is_rolling(workload) {
        roll(workload, store, ctx);
    }
}

/// The highest pod that is of an older revision goes; one above it that is not ready, or ending, holds it up. (What is made anew is of
/// the current revision, whoever has ended it.)
fn roll(workload: WorkloadId, store: &mut Store, ctx: &mut ClusterCtx<'_>) {
    let current = store.revisions(workload).current();
    let mut pods: Vec<(PodName, PodId)> = store.pods_of(workload).map(|(id, pod)| (pod.name, id)).collect();
    pods.sort_unstable();
    for (_, id) in pods.into_iter().rev() {
        let pod = store.pod(id).expect("it is there");
        if pod.revision != current && !pod.terminating {
            store.terminate(id, ctx);
            return;
        }
        if pod.terminating || !pod.ready {
            return;
        }
    }
}

impl StatefulSets {
    /// Every cluster has it.
    pub fn factory(_state: &State, _ctx: &mut ClusterCtx<'_>) -> Option<Box<dyn Controller>> {
        Some(Box::new(Self))
    }
}

/// Key of its work queue: a workload.
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
        sync(WorkloadId(key), &mut state.store, ctx);
    }

    fn list(&self, _state: &State, ctx: &ClusterCtx<'_>) -> Vec<(u8, u32)> {
        keys(ctx, |workload| matches!(workload.kind, Kind::StatefulSet { .. }))
    }

    fn describe_work(&self, _queue: u8) -> &'static str {
        "the StatefulSet controller observes changes of pods"
    }

    fn boxed(&self) -> Box<dyn Controller> {
        Box::new(self.clone())
    }
}
