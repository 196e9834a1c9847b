//! The ReplicaSet controller (`pkg/controller/replicaset`): as many pods as are wanted. One that is terminating is none any more, so
//! its replacement is made at once, wherever the old one still runs.

use crate::ids::WorkloadId;
use crate::kernel::rng::Purpose;
use crate::kube::context::Cx;
use crate::kube::name::{PodName, PodTag, draw_suffix};
use crate::kube::store::Store;

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

    /// Makes the pods that are missing.
    pub fn reconcile(&mut self, id: WorkloadId, store: &mut Store, cx: &mut Cx<'_>) {
        let active = store.pods_of(id).filter(|(_, pod)| !pod.terminating).count();
        for _ in active..cx.spec.workloads[id.0 as usize].replicas as usize {
            let name = self.name(id, store, cx);
            store.create_pod(name, cx);
        }
    }

    /// A name that no pod has. (Draw 0 is the hash of the template.)
    fn name(&mut self, id: WorkloadId, store: &Store, cx: &Cx<'_>) -> PodName {
        let draws = cx.draws(Purpose::Suffix, id.0);
        let template = draws.draw(0).word() as u32;
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
