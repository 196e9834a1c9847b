//! The Deployment and ReplicaSet controllers (`pkg/controller/deployment`, `pkg/controller/replicaset`): as many pods of each revision as
//! are wanted. One that is terminating is none any more, so its replacement is made at once, wherever the old one still runs. (The two
//! are one here: a write between them less. Where a roll-out is under way, another number of replicas is not shared out in proportion.)

use crate::controller::availability::{Availability, is_available};
use crate::controller::owner::{concerned, keys};
use crate::controller::{Controller, Due, State};
use crate::store::Change;
use std::collections::BTreeMap;

use crate::ctx::ClusterCtx;
use crate::name::{PodName, PodTag, draw_suffix};
use crate::revision::{Revision, template};
use crate::rule::rollout::{Candidate, ReplicaSet, RollingUpdate};
use crate::spec::{Component, Kind, KubeClusterSpec, Rollout};
use crate::store::{Pod, Store};
use zonefall_kernel::rng::Purpose;
use zonefall_kernel::time::Time;
use zonefall_scenario::Scenario;
use zonefall_scenario::ids::{NodeKey, PodId, TiVec, WorkloadId};

/// The controller: names drawn so far, per workload.
#[derive(Clone, Debug)]
pub struct ReplicaSets {
    names: TiVec<WorkloadId, u64>,
    available: Availability,
}

impl ReplicaSets {
    /// No pod was made yet.
    fn new(workloads: usize) -> Self {
        Self { names: vec![0; workloads].into(), available: Availability::default() }
    }

    /// Makes the pods that are missing, or ends those that are too many.
    fn sync(&mut self, id: WorkloadId, store: &mut Store, ctx: &mut ClusterCtx<'_>) {
        let sizes = sizes(id, store, ctx);
        for (revision, size) in store.revisions(id).all().to_vec().into_iter().zip(&sizes) {
            self.reconcile_set(id, Revision { desired: *size, ..revision }, store, ctx);
        }
        store.scale_revisions(id, &sizes);
        self.available.wait(id, store, ctx);
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

/// Pods that each revision is to have now: the current one as far as it may grow, then those before it as far as they may shrink. While the
/// rollout is paused, see [`paused_sizes`].
fn sizes(id: WorkloadId, store: &Store, ctx: &ClusterCtx<'_>) -> Vec<u32> {
    let revisions = store.revisions(id);
    let Rollout { max_surge, max_unavailable } = store.template(id, ctx.spec).rollout;
    let update = RollingUpdate::new(store.desired(id), max_surge, max_unavailable);
    let min_ready = ctx.spec.workloads[id].update.min_ready;
    let is_available = |pod: &Pod, revision: &Revision| pod.revision == revision.number && is_available(pod, min_ready, ctx.now);
    let set = |revision: &Revision| {
        let available = store.pods_of(id).filter(|(_, pod)| is_available(pod, revision)).count() as u32;
        ReplicaSet { desired: revision.desired, available }
    };
    let mut sets: Vec<ReplicaSet> = revisions.all().iter().map(set).collect();
    if revisions.is_paused() {
        return paused_sizes(store.desired(id), &sets);
    }
    let current = sets.pop().expect("there is one always");
    update.sizes(current, &sets)
}

/// Pods that the revisions of a paused Deployment are to have (`scale` in `pkg/controller/deployment/sync.go`): where one alone has any, it has
/// those wanted, and where none has, the current one; once the current one has all and they are available, the others have none. Otherwise
/// they keep theirs. (There another number of replicas is shared out in proportion.)
fn paused_sizes(wanted: u32, sets: &[ReplicaSet]) -> Vec<u32> {
    let (last, current) = (sets.len() - 1, sets[sets.len() - 1]);
    let mut active = sets.iter().enumerate().filter(|(_, set)| set.desired > 0).map(|(k, _)| k);
    let alone = match (active.next(), active.next()) {
        (None, _) => Some(last),
        (Some(one), None) => Some(one),
        (Some(_), Some(_)) => (current.desired == wanted && current.available == wanted).then_some(last),
    };
    let size = |(k, set): (usize, &ReplicaSet)| match alone {
        Some(one) if k == one => wanted,
        Some(_) => 0,
        None => set.desired,
    };
    sets.iter().enumerate().map(size).collect()
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

/// Key of its work queue: a workload. Of its timers: a workload whose next pod becomes available.
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
        "the ReplicaSet controller observes changes of pods"
    }

    fn describe_due(&self, due: &Due, spec: &KubeClusterSpec, _scenario: &Scenario) -> String {
        Availability::describe(due, spec)
    }

    fn boxed(&self) -> Box<dyn Controller> {
        Box::new(self.clone())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn paused_deployments_are_scaled_where_one_revision_has_pods() {
        let sets = |pods: &[(u32, u32)]| {
            pods.iter().map(|(desired, available)| ReplicaSet { desired: *desired, available: *available }).collect::<Vec<_>>()
        };
        for (wanted, pods, sizes) in [
            (5, &[(3, 3), (0, 0)][..], &[5, 0][..]),
            (0, &[(3, 3), (0, 0)], &[0, 0]),
            (3, &[(0, 0), (0, 0)], &[0, 3]),
            (3, &[(2, 2), (2, 1)], &[2, 2]),
            (3, &[(3, 3), (3, 2)], &[3, 3]),
            (3, &[(3, 3), (3, 3)], &[0, 3]),
        ] {
            assert_eq!(paused_sizes(wanted, &sets(pods)), sizes, "{wanted} of {pods:?}");
        }
    }
}
