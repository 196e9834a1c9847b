//! The StatefulSet controller (`pkg/controller/statefulset/stateful_set_control.go`): each pod is itself. While one of that name is there,
//! and be it on a node that is gone, there is no other.

use crate::ids::{PodId, WorkloadId};
use crate::kube::context::Cx;
use crate::kube::name::{PodName, PodTag};
use crate::kube::spec::Kind;
use crate::kube::store::Store;

/// Makes the pods that are missing and ends those that are too many. In order: one that is not ready, or ending, holds up the ones
/// after it; and only when all that are wanted are ready do surplus ones go, from the top, one after the other.
pub fn reconcile(workload: WorkloadId, store: &mut Store, cx: &mut Cx<'_>) {
    let parallel = cx.spec.workloads[workload.0 as usize].kind == Kind::StatefulSet { parallel: true };
    let desired = store.desired(workload);
    for ordinal in 0..desired {
        let name = PodName { workload, tag: PodTag::Ordinal(ordinal) };
        let is_ready = store.pods_of(workload).find(|(_, pod)| pod.name == name).map(|(_, pod)| pod.ready && !pod.terminating);
        if is_ready.is_none() {
            store.create_pod(name, cx);
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
        store.terminate(id, cx);
    }
}
