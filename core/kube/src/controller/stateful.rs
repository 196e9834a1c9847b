//! The StatefulSet controller (`pkg/controller/statefulset`): each pod is itself. While one of that name is there, and be it on a node that is
//! gone, there is no other. What a pass over the pods does is decided by the rule ([`crate::rule::stateful_set`]).

use std::collections::BTreeMap;

use crate::controller::owner::{concerned, keys};
use crate::controller::{Controller, Due, State};
use crate::ctx::ClusterCtx;
use crate::name::{PodName, PodTag};
use crate::rule::stateful_set::{Pod, PodState, Revision, StatefulSet, is_complete};
use crate::spec::update::UpdateStrategy;
use crate::spec::{Component, Kind, KubeClusterSpec};
use crate::store::{self, Change, Store};
use zonefall_kernel::time::{Duration, Time};
use zonefall_kernel::timer::Timer;
use zonefall_scenario::Scenario;
use zonefall_scenario::ids::WorkloadId;

/// The controller.
#[derive(Clone, Debug, Default)]
pub struct StatefulSets {
    /// When a pod that is ready becomes available, of workloads with [`min_ready`](crate::spec::update::Update::min_ready).
    available: BTreeMap<WorkloadId, Timer>,
}

impl StatefulSets {
    /// One pass over the pods of a StatefulSet.
    fn sync(&mut self, workload: WorkloadId, store: &mut Store, ctx: &mut ClusterCtx<'_>) {
        let (spec, replicas) = (&ctx.spec.workloads[workload], store.desired(workload));
        let parallel = spec.kind == Kind::StatefulSet { parallel: true };
        let set = StatefulSet { replicas, parallel, strategy: spec.update.strategy, min_ready: spec.update.min_ready };
        let (current, settled) = (store.revisions(workload).current(), store.revisions(workload).settled());
        let pods: Vec<Pod> = store.pods_of(workload).filter_map(|(_, pod)| view(pod, current, ctx.now)).collect();
        let pass = set.pass(&pods);
        let name = |ordinal| PodName { workload, tag: PodTag::Ordinal(ordinal) };
        for created in &pass.created {
            let revision = if created.revision == Revision::Update { current } else { settled };
            store.create_pod(name(created.ordinal), revision, ctx);
        }
        // Surplus ones go side by side, if not in order.
        let (mut surplus, outdated): (Vec<u32>, Vec<u32>) = pass.deleted.iter().partition(|ordinal| **ordinal >= replicas);
        surplus.sort_unstable();
        for ordinal in surplus.into_iter().chain(outdated) {
            let id = store.id_of(name(ordinal)).expect("what the pass deletes is there");
            store.terminate(id, ctx);
        }
        if matches!(set.strategy, UpdateStrategy::RollingUpdate(_)) && pass.created.is_empty() && is_complete(&pods) {
            store.settle_revision(workload);
        }
        if set.min_ready > Duration::ZERO {
            self.wait(workload, &set, store, ctx);
        }
    }

    /// Comes back when the next pod becomes available.
    fn wait(&mut self, workload: WorkloadId, set: &StatefulSet, store: &Store, ctx: &mut ClusterCtx<'_>) {
        let ready = store.pods_of(workload).filter(|(_, pod)| pod.ready && !pod.terminating);
        let next = ready.map(|(_, pod)| pod.ready_since + set.min_ready).filter(|at| *at > ctx.now).min();
        let timer = self.available.entry(workload).or_default();
        if let Some((at, generation)) = timer.rearm(next) {
            ctx.timer(at, Due { key: (workload.0, 0), generation });
        }
    }
}

/// A pod as the rule sees it. One that was there at the start has been ready for long.
fn view(pod: &store::Pod, current: u32, now: Time) -> Option<Pod> {
    let PodTag::Ordinal(ordinal) = pod.name.tag else { return None };
    let state = match (pod.terminating, pod.ready) {
        (true, _) => PodState::Terminating,
        (false, true) if pod.ready_since == Time::ZERO => PodState::Ready(Duration::MAX),
        (false, true) => PodState::Ready(now.since(pod.ready_since)),
        (false, false) => PodState::Unready,
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
        self.available.values_mut().for_each(Timer::cancel);
    }

    fn due(&mut self, due: Due, state: &mut State, ctx: &mut ClusterCtx<'_>) {
        let workload = WorkloadId(due.key.0);
        if self.available.get_mut(&workload).is_some_and(|timer| timer.fires(due.generation)) {
            self.sync(workload, &mut state.store, ctx);
        }
    }

    fn describe_work(&self, _queue: u8) -> &'static str {
        "the StatefulSet controller observes changes of pods"
    }

    fn describe_due(&self, due: &Due, spec: &KubeClusterSpec, _scenario: &Scenario) -> String {
        format!("a pod of {} has been ready for long enough", spec.workloads[WorkloadId(due.key.0)].name)
    }

    fn boxed(&self) -> Box<dyn Controller> {
        Box::new(self.clone())
    }
}
