//! Load balancers in front of the API servers of a cluster.

use super::KubeClusterSpec;
use crate::ids::BalancerId;

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
