//! An operator drains a node (`kubectl drain`, `k8s.io/kubectl/pkg/drain`).

use crate::controller::disruption::{EvictionError, evict};
use crate::ctx::ClusterCtx;
use crate::event::KubeEvent;
use crate::spec::Kind;
use crate::store::Store;
use zonefall_kernel::time::Duration;
use zonefall_scenario::ids::{NodeKey, PodId};

/// An eviction that was refused is tried again after so long.
const RETRY: Duration = Duration::from_secs(5);

/// The node takes no more pods, and those that are to leave it are evicted: again, as long as the budget of one of them is spent, a
/// webhook denies one, or the API does not answer. Any other error ends the attempt: the pod stays.
pub fn drain(node: NodeKey, answers: bool, store: &mut Store, ctx: &mut ClusterCtx<'_>) {
    if store.get_node(node).is_none() {
        return;
    }
    let mut refused = !answers;
    if answers {
        store.cordon(node, ctx);
        for id in leaving(node, store, ctx).collect::<Vec<PodId>>() {
            refused |= matches!(evict(id, store, ctx), Err(EvictionError::TooManyRequests | EvictionError::Denied));
        }
    }
    if refused {
        ctx.schedule(ctx.now + RETRY, KubeEvent::Drain(node));
    }
}

/// The pods that are to leave a node: all but those that belong to it.
pub fn leaving(node: NodeKey, store: &Store, ctx: &ClusterCtx<'_>) -> impl Iterator<Item = PodId> {
    let belongs = |id: &PodId| {
        let workload = store.pod(*id).expect("a node's pods are there").name.workload;
        ctx.spec.workloads[workload].kind == Kind::DaemonSet
    };
    store.get_node(node).into_iter().flat_map(|node| &node.pods).copied().filter(move |id| !belongs(id))
}
