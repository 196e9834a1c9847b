//! The Deployment and ReplicaSet controllers (`pkg/controller/deployment`, `pkg/controller/replicaset`): as many pods of each revision as
//! are wanted. One that is terminating is none any more, so its replacement is made at once, wherever the old one still runs. (The two
//! are one here: a write between them less. Where a roll-out is under way, another number of replicas is not shared out in proportion.)

use crate::controller::owner::{concerned, keys};
use crate::controller::{Controller, State};
use crate::store::Change;
use std::collections::BTreeMap;

use crate::ctx::ClusterCtx;
use crate::name::{PodName, PodTag, draw_suffix};
use crate::revision::{Revision, template};
use crate::rule::rollout::{Candidate, ReplicaSet, RollingUpdate};
use crate::spec::{Component, Kind, Rollout};
use crate::store::{Pod, Store};
use zonefall_kernel::rng::Purpose;
use zonefall_kernel::time::Time;
use zonefall_scenario::ids::{NodeKey, PodId, TiVec, WorkloadId};

/// The controller: names drawn so far, per workload.
#[derive(Clone, Debug)]
pub struct ReplicaSets {
    names: TiVec<WorkloadId, u64>,
}

impl ReplicaSets {
    /// No pod was made yet.
    fn new(workloads: usize) -> Self {
        Self { names: vec![0; workloads].into() }
    }

    /// Makes the pods that are missing, or ends those that are too many.
    fn sync(&mut self, id: WorkloadId, store: &mut Store, ctx: &mut ClusterCtx<'_>) {
        let sizes = sizes(id, store, ctx);
        for (revision, size) in store.revisions(id).all().to_vec().into_iter().zip(&sizes) {
            self.reconcile_set(id, Revision { desired: *size, ..revision }, store, ctx);
        }
        store.scale_revisions(id, &sizes);
    }

    fn reconcile_set(&mut self, id: WorkloadId, set: Revision, store: &mut Store, ctx: &mut ClusterCtx<'_>) {
        let all: Vec<(PodId, &Pod)> = store.pods_of(id).filter(|(_, pod)| !pod.terminating).collect();
        let active = all.iter().filter(|(_, pod)| pod.revision == set.number).count();
        let desired = set.desired as usize;
        if active > desired {
            let surplus =
                by_rank(&all, ctx.now).into_iter().filter(|pod| store.pod(*pod).is_some_and(|pod| pod.revision == set.number));
            for id in surplus.take(active - desired).collect::<Vec<_>>() {
                store.terminate(id, ctx);
            }
        }
        for _ in active..desired {
            let name = self.name(id, set.number, store, ctx);
            store.create_pod(name, set.number, ctx);
        }
    }

    /// A name that no pod has.
    fn name(&mut self, id: WorkloadId, revision: u32, store: &Store, ctx: &ClusterCtx<'_>) -> PodName {
        let (draws, template) = (ctx.draws(Purpose::Suffix, id.0), template(id, revision, ctx));
        let drawn = &mut self.names[id];
        loop {
            *drawn += 1;
            let suffix = draw_suffix(&mut draws.draw(*drawn));
            let name = PodName { workload: id, tag: PodTag::Replica { template, suffix } };
            if store.pods_of(id).all(|(_, pod)| pod.name != name) {
                return name;
            }
        }
    }
}

/// Pods that each revision is to have now: the current one as far as it may grow, then those before it as far as they may shrink.
fn sizes(id: WorkloadId, store: &Store, ctx: &ClusterCtx<'_>) -> Vec<u32> {
    let Rollout { max_surge, max_unavailable } = store.template(id, ctx.spec).rollout;
    let update = RollingUpdate::new(store.desired(id), max_surge, max_unavailable);
    let is_available = |pod: &Pod, revision: &Revision| pod.revision == revision.number && pod.ready && !pod.terminating;
    let set = |revision: &Revision| {
        let available = store.pods_of(id).filter(|(_, pod)| is_available(pod, revision)).count() as u32;
        ReplicaSet { desired: revision.desired, available }
    };
    let mut sets: Vec<ReplicaSet> = store.revisions(id).all().iter().map(set).collect();
    let current = sets.pop().expect("there is one always");
    update.sizes(current, &sets)
}

/// Pods in the order in which they would go. The part of the UID, which decides in the end, is played by the drawn part of the name.
fn by_rank(pods: &[(PodId, &Pod)], now: Time) -> Vec<PodId> {
    let mut on_node: BTreeMap<Option<NodeKey>, u32> = BTreeMap::new();
    for (_, pod) in pods {
        *on_node.entry(pod.node).or_default() += 1;
    }
    let candidate = |pod: &Pod| Candidate {
        assigned: pod.node.is_some(),
        running: pod.started,
        ready: pod.ready.then(|| now.since(pod.ready_since)),
        siblings: on_node[&pod.node],
        restarts: pod.restarts,
        age: now.since(pod.created),
        uid: match pod.name.tag {
            PodTag::Replica { suffix: number, .. } | PodTag::Ordinal(number) | PodTag::Agent(number) => number.into(),
        },
    };
    let mut ranked: Vec<_> = pods.iter().map(|(id, pod)| (candidate(pod).rank(), *id)).collect();
    ranked.sort_unstable();
    ranked.into_iter().map(|(_, id)| id).collect()
}

impl ReplicaSets {
    /// Every cluster has it.
    pub fn factory(_state: &State, ctx: &mut ClusterCtx<'_>) -> Option<Box<dyn Controller>> {
        Some(Box::new(Self::new(ctx.spec.workloads.len())))
    }
}

/// Key of its work queue: a workload.
impl Controller for ReplicaSets {
    fn component(&self) -> Option<Component> {
        Some(Component::ControllerManager)
    }

    fn watch(&mut self, change: &Change, state: &mut State, ctx: &mut ClusterCtx<'_>) {
        if let Some((id, Kind::Deployment)) = concerned(change, &state.store, ctx) {
            ctx.enqueue(0, id.0);
        }
    }

    fn reconcile(&mut self, _queue: u8, key: u32, state: &mut State, ctx: &mut ClusterCtx<'_>) {
        self.sync(WorkloadId(key), &mut state.store, ctx);
    }

    fn list(&self, _state: &State, ctx: &ClusterCtx<'_>) -> Vec<(u8, u32)> {
        keys(ctx, |workload| matches!(workload.kind, Kind::Deployment))
    }

    fn describe_work(&self, _queue: u8) -> &'static str {
        "the ReplicaSet controller observes changes of pods"
    }

    fn boxed(&self) -> Box<dyn Controller> {
        Box::new(self.clone())
    }
}
