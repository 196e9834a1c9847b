//! Which load balancer a client is configured with (the original host of its requests), and which way it has beside it.

use zonefall_kube::ctx::ApiClient;
use zonefall_scenario::Scenario;
use zonefall_scenario::access::{Alternatives, ApiAccess, ApiClientSpec};
use zonefall_scenario::ids::{BalancerId, NodeId};
use zonefall_scenario::kube::KubeClusterSpec;

/// The node of the scenario that a client runs on, if it is one.
pub fn node(client: ApiClient, cluster: &KubeClusterSpec) -> Option<NodeId> {
    match client {
        ApiClient::Kubelet(key) => cluster.nodes.get(key).map(|node| node.node),
        ApiClient::Candidate(_, key) => cluster.control_plane.get(key as usize).copied(),
        ApiClient::Further(_, node) => Some(node),
    }
}

/// The load balancer that a client is configured with: its own; that on its node; that of the cluster.
pub fn origin(client: ApiClient, access: &ApiAccess, cluster: &KubeClusterSpec, scenario: &Scenario) -> BalancerId {
    let own = if let ApiClient::Further(id, _) = client { cluster.api_clients[id].balancer } else { None };
    let node = node(client, cluster);
    let runs = |local: &BalancerId| node.is_some_and(|node| scenario.load_balancers[*local].machines.contains(&node));
    own.or_else(|| access.on_each_node.filter(runs)).unwrap_or(access.balancer)
}

/// Way of a client to API servers beside its load balancer; `None`: it has none.
pub fn way(id: ApiClient, access: &ApiAccess, further: Option<&ApiClientSpec>) -> Option<Alternatives> {
    match (id, further) {
        (ApiClient::Kubelet(_), _) => access.alternatives_of_kubelets,
        (_, Some(spec)) => spec.alternatives,
        (_, None) => access.alternatives,
    }
}
