//! Load balancers in front of the API servers of a cluster.

use super::KubeClusterSpec;
use crate::ids::{BalancerId, NodeId};

/// The load balancers that clients of a cluster are configured with, each once: first that of the cluster.
pub fn balancers(cluster: &KubeClusterSpec) -> Vec<BalancerId> {
    let of_nodes = cluster.access.iter().flat_map(|access| [Some(access.balancer), access.on_each_node]).flatten();
    let mut all = Vec::new();
    for balancer in of_nodes.chain(cluster.api_clients.iter().filter_map(|client| client.balancer)) {
        if !all.contains(&balancer) {
            all.push(balancer);
        }
    }
    all
}

/// Whether requests of `api_clients` may go through a load balancer of the cluster, so that responses queue there.
pub fn has_clients(cluster: &KubeClusterSpec, balancer: BalancerId) -> bool {
    let Some(access) = cluster.access else { return false };
    cluster.api_clients.iter().any(|client| match (client.balancer, access.on_each_node) {
        (Some(own), _) => own == balancer,
        (None, None) => access.balancer == balancer,
        // Those on nodes of the cluster go through the one there, others through that of the cluster.
        (None, Some(local)) => {
            let is_outside =
                |node: &NodeId| !cluster.control_plane.contains(node) && cluster.nodes.iter().all(|own| own.node != *node);
            let (outside, inside): (Vec<NodeId>, Vec<NodeId>) = client.nodes.iter().partition(|node| is_outside(node));
            balancer == local && !inside.is_empty() || balancer == access.balancer && !outside.is_empty()
        }
    })
}
