//! Workloads whose pods count for each other's places, as they like or dislike each other.

use std::sync::Arc;

use super::Store;
use crate::rule::affinity::Pod;
use crate::spec::{KubeClusterSpec, Workload};
use zonefall_scenario::ids::{TiVec, WorkloadId};

/// Those of its namespace that a workload likes or dislikes, or who like or dislike it, in their order.
pub(super) type Minding = TiVec<WorkloadId, Vec<WorkloadId>>;

/// A workload's pods, as far as their likes and dislikes go.
pub(crate) fn pod(workload: &Workload) -> Pod<'_> {
    let Workload { namespace, labels, pod_affinity, .. } = workload;
    Pod { namespace: *namespace, labels, affinity: pod_affinity }
}

impl Store {
    /// Workloads of its namespace that a workload likes or dislikes, or who like or dislike it: the others do not count for where its pods
    /// may go.
    pub(crate) fn minding(&self, workload: WorkloadId) -> &[WorkloadId] {
        &self.minding[workload]
    }

    /// Finds that anew for the workloads of a namespace.
    pub(super) fn find_minding(&mut self, of: WorkloadId, spec: &KubeClusterSpec) {
        let namespace = self.template(of, spec).namespace;
        let all: Vec<WorkloadId> = self.templates_in(namespace, spec).map(|(id, _)| id).collect();
        let found: Vec<Vec<WorkloadId>> = all.iter().map(|own| minded(self.template(*own, spec), self, spec)).collect();
        let minding = Arc::make_mut(&mut self.minding);
        for (own, others) in all.into_iter().zip(found) {
            minding[own] = others;
        }
    }
}

fn minded(workload: &Workload, store: &Store, spec: &KubeClusterSpec) -> Vec<WorkloadId> {
    let own = pod(workload);
    let counts = |other: &Pod<'_>| own.minds(other) || other.minds(&own);
    store.templates_in(workload.namespace, spec).filter(|(_, other)| counts(&pod(other))).map(|(id, _)| id).collect()
}
