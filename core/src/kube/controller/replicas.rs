//! The ReplicaSet controller (`pkg/controller/replicaset`): as many pods as are wanted. One that is terminating is none any more, so
//! its replacement is made at once, wherever the old one still runs.

use std::collections::BTreeMap;

use crate::ids::{NodeKey, PodId, WorkloadId};
use crate::kernel::rng::Purpose;
use crate::kernel::time::Time;
use crate::kube::context::Cx;
use crate::kube::name::{PodName, PodTag, draw_suffix};
use crate::kube::rule::rollout::Candidate;
use crate::kube::spec::Workload;
use crate::kube::store::{Pod, Store};

/// The controller: names drawn so far, per workload.
#[derive(Clone, Debug)]
pub struct ReplicaSets {
    names: Vec<u64>,
}

impl ReplicaSets {
    /// No pod was made yet.
    pub fn new(workloads: usize) -> Self {
        Self { names: vec![0; workloads] }
    }

    /// Makes the pods that are missing, or ends those that are too many.
    pub fn reconcile(&mut self, id: WorkloadId, store: &mut Store, cx: &mut Cx<'_>) {
        let active: Vec<(PodId, &Pod)> = store.pods_of(id).filter(|(_, pod)| !pod.terminating).collect();
        let desired = store.desired(id) as usize;
        if active.len() <= desired {
            for _ in active.len()..desired {
                let name = self.name(id, store, cx);
                store.create_pod(name, cx);
            }
        } else {
            let surplus = active.len() - desired;
            for id in by_rank(active, cx.now).into_iter().take(surplus) {
                store.terminate(id, cx);
            }
        }
    }

    /// A name that no pod has. (Draw 0 is the hash of the template, unless the scenario's own pods have one.)
    fn name(&mut self, id: WorkloadId, store: &Store, cx: &Cx<'_>) -> PodName {
        let draws = cx.draws(Purpose::Suffix, id.0);
        let given = given_template(&cx.spec.workloads[id.0 as usize]);
        let template = given.unwrap_or_else(|| draws.draw(0).word() as u32);
        let drawn = &mut self.names[id.0 as usize];
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

fn given_template(workload: &Workload) -> Option<u32> {
    workload.placed.iter().find_map(|(tag, _)| match tag {
        PodTag::Replica { template, .. } => Some(*template),
        PodTag::Ordinal(_) | PodTag::Agent(_) => None,
    })
}

/// Pods in the order in which they would go. The part of the UID, which decides in the end, is played by the drawn part of the name.
fn by_rank(pods: Vec<(PodId, &Pod)>, now: Time) -> Vec<PodId> {
    let mut on_node: BTreeMap<Option<NodeKey>, u32> = BTreeMap::new();
    for (_, pod) in &pods {
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
