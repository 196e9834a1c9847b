//! Which endpoints of a Service the kube-proxy of a node sends connections to (`pkg/proxy/topology.go`, `CategorizeEndpoints`).
//!
//! ```text
//!  Cluster  ready endpoints: those for this node, else those for this zone, else all --none--> those that serve while they terminate
//!  Local    ready endpoints on this node                                            --none--> likewise, on this node
//! ```

pub use zonefall_scenario::kube::routing::TrafficPolicy;

/// A Service as kube-proxy sees it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Service {
    /// Policy for clients in the cluster.
    pub internal: TrafficPolicy,
    /// Policy for clients from outside; `None`: those cannot reach it.
    pub external: Option<TrafficPolicy>,
}

impl Service {
    /// Even if external traffic stays on its node, clients in the cluster reach the external address without leaving it.
    fn uses_cluster_endpoints(self) -> bool {
        self.internal == TrafficPolicy::Cluster || self.external.is_some()
    }

    fn uses_local_endpoints(self) -> bool {
        self.internal == TrafficPolicy::Local || self.external == Some(TrafficPolicy::Local)
    }
}

/// State of an endpoint.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Conditions {
    /// Accepts connections, and is not terminating.
    pub ready: bool,
    /// Accepts connections.
    pub serving: bool,
    /// Its pod is terminating.
    pub terminating: bool,
}

impl Conditions {
    /// It is used where no endpoint is ready.
    const fn serves_while_it_terminates(self) -> bool {
        self.serving && self.terminating
    }
}

/// An endpoint of a Service. `Z` names a zone, `N` a node.
#[derive(Clone, Debug)]
pub struct Endpoint<Z, N> {
    /// Its state.
    pub conditions: Conditions,
    /// It is on the node of the kube-proxy.
    pub local: bool,
    /// Zones whose clients it is for.
    pub zone_hints: Vec<Z>,
    /// Nodes whose clients it is for.
    pub node_hints: Vec<N>,
}

/// A node that runs kube-proxy.
#[derive(Clone, Copy, Debug)]
pub struct ProxyNode<Z, N> {
    /// Its name.
    pub node: N,
    /// Its zone, if it has one.
    pub zone: Option<Z>,
    /// It minds the hints for nodes (feature `PreferSameTrafficDistribution`).
    pub prefers_same_node: bool,
}

/// Endpoints that a kube-proxy uses, as places in the list of all.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Categories {
    /// For traffic with policy Cluster; `None`: the Service has none.
    pub cluster: Option<Vec<usize>>,
    /// For traffic with policy Local; `None`: the Service has none.
    pub local: Option<Vec<usize>>,
    /// Both together.
    pub all: Vec<usize>,
    /// The Service has an endpoint anywhere that could be used.
    pub has_any: bool,
}

/// Sorts the endpoints of a Service.
pub fn categorize<Z: PartialEq, N: PartialEq>(
    proxy: &ProxyNode<Z, N>,
    service: Service,
    endpoints: &[Endpoint<Z, N>],
) -> Categories {
    let cluster = service.uses_cluster_endpoints().then(|| cluster_endpoints(proxy, endpoints));
    let on_node = |endpoint: &Endpoint<Z, N>| endpoint.local;
    let local = service.uses_local_endpoints().then(|| first_choice(endpoints, on_node, on_node));
    let usable = |endpoint: &Endpoint<Z, N>| endpoint.conditions.ready || endpoint.conditions.serves_while_it_terminates();
    // Local endpoints may all be elsewhere; of cluster endpoints there is one where any could be used.
    let has_any = cluster.as_ref().is_some_and(|cluster| !cluster.is_empty()) || local.is_some() && endpoints.iter().any(usable);
    let is_used = |place: &usize| [&cluster, &local].into_iter().flatten().any(|list| list.contains(place));
    let all = (0..endpoints.len()).filter(is_used).collect();
    Categories { cluster, local, all, has_any }
}

/// Endpoints for traffic that may leave the node.
pub fn cluster_endpoints<Z: PartialEq, N: PartialEq>(proxy: &ProxyNode<Z, N>, endpoints: &[Endpoint<Z, N>]) -> Vec<usize> {
    let ready = || endpoints.iter().filter(|endpoint| endpoint.conditions.ready);
    let for_node = |endpoint: &Endpoint<Z, N>| endpoint.node_hints.contains(&proxy.node);
    let for_zone = |endpoint: &Endpoint<Z, N>| proxy.zone.as_ref().is_some_and(|zone| endpoint.zone_hints.contains(zone));
    let by_node = proxy.prefers_same_node && ready().all(|endpoint| !endpoint.node_hints.is_empty()) && ready().any(for_node);
    let by_zone = ready().all(|endpoint| !endpoint.zone_hints.is_empty()) && ready().any(for_zone);
    let suits = |endpoint: &Endpoint<Z, N>| match (by_node, by_zone) {
        (true, _) => for_node(endpoint),
        (false, true) => for_zone(endpoint),
        (false, false) => true,
    };
    first_choice(endpoints, suits, |_| true)
}

/// Ready endpoints that suit; where there are none, endpoints that serve while they terminate and are near enough.
fn first_choice<Z, N>(
    endpoints: &[Endpoint<Z, N>],
    suits: impl Fn(&Endpoint<Z, N>) -> bool,
    is_near_enough: impl Fn(&Endpoint<Z, N>) -> bool,
) -> Vec<usize> {
    let places = |used: &dyn Fn(&Endpoint<Z, N>) -> bool| {
        endpoints.iter().enumerate().filter(|(_, endpoint)| used(endpoint)).map(|(place, _)| place).collect::<Vec<_>>()
    };
    let ready = places(&|endpoint| endpoint.conditions.ready && suits(endpoint));
    if ready.is_empty() {
        places(&|endpoint| endpoint.conditions.serves_while_it_terminates() && is_near_enough(endpoint))
    } else {
        ready
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    const READY: Conditions = Conditions { ready: true, serving: true, terminating: false };
    const LEAVING: Conditions = Conditions { ready: false, serving: true, terminating: true };
    const INTERNAL: Service = Service { internal: TrafficPolicy::Cluster, external: None };

    fn endpoint(conditions: Conditions, zone: u8, node: u8) -> Endpoint<u8, u8> {
        Endpoint { conditions, local: false, zone_hints: vec![zone], node_hints: vec![node] }
    }

    fn proxy(zone: u8, node: u8) -> ProxyNode<u8, u8> {
        ProxyNode { node, zone: Some(zone), prefers_same_node: true }
    }

    #[test]
    fn a_node_without_endpoints_of_its_own_uses_those_of_its_zone_and_then_all() {
        let endpoints = [endpoint(READY, 0, 0), endpoint(READY, 0, 1), endpoint(READY, 1, 2)];
        for (zone, node, expected) in [(0, 0, vec![0]), (0, 9, vec![0, 1]), (2, 9, vec![0, 1, 2])] {
            assert_eq!(categorize(&proxy(zone, node), INTERNAL, &endpoints).all, expected);
        }
    }

    #[test]
    fn an_endpoint_that_terminates_is_used_only_where_none_is_ready() {
        let endpoints = [endpoint(LEAVING, 0, 0), endpoint(READY, 1, 1)];
        assert_eq!(categorize(&proxy(0, 0), INTERNAL, &endpoints).all, [1]);
        assert_eq!(categorize(&proxy(0, 0), INTERNAL, &endpoints[..1]).all, [0]);
    }

    fn any_endpoint() -> impl Strategy<Value = Endpoint<u8, u8>> {
        let hints = || prop::collection::vec(0..3_u8, 0..2);
        (any::<[bool; 3]>(), any::<bool>(), hints(), hints()).prop_map(|([ready, serving, terminating], local, zones, nodes)| {
            let conditions = Conditions { ready: ready && !terminating, serving: serving || ready && !terminating, terminating };
            Endpoint { conditions, local, zone_hints: zones, node_hints: nodes }
        })
    }

    proptest! {
        #[test]
        fn a_service_with_a_ready_endpoint_is_never_without_one_unless_its_traffic_stays_on_the_node(
            endpoints in prop::collection::vec(any_endpoint(), 0..6),
            node in (0..3_u8, prop::option::of(0..3_u8), any::<bool>()),
            policies in any::<[bool; 3]>(),
        ) {
            let policy = |local: bool| if local { TrafficPolicy::Local } else { TrafficPolicy::Cluster };
            let service = Service { internal: policy(policies[0]), external: policies[1].then(|| policy(policies[2])) };
            let proxy = ProxyNode { node: node.0, zone: node.1, prefers_same_node: node.2 };
            let found = categorize(&proxy, service, &endpoints);
            let ready = |place: &usize| endpoints[*place].conditions.ready;
            let some_ready = endpoints.iter().any(|endpoint| endpoint.conditions.ready);
            if let Some(cluster) = &found.cluster {
                prop_assert!(cluster.iter().all(|place| ready(place) == some_ready));
                prop_assert_eq!(cluster.is_empty(), !found.has_any);
                // Whether hints count is the same for all ready endpoints: all are used, or all for this node, or all for this zone.
                let unused = (0..endpoints.len()).filter(|place| ready(place) && !cluster.contains(place));
                for place in unused {
                    let for_node = |place: usize| endpoints[place].node_hints.contains(&proxy.node);
                    let for_zone = |place: usize| endpoints[place].zone_hints.iter().any(|zone| Some(*zone) == proxy.zone);
                    prop_assert!(cluster.iter().all(|used| for_node(*used) && !for_node(place))
                        || cluster.iter().all(|used| for_zone(*used) && !for_zone(place)));
                }
            }
            if let Some(local) = &found.local {
                prop_assert!(local.iter().all(|place| endpoints[*place].local));
                let near = endpoints.iter().any(|endpoint| endpoint.local && endpoint.conditions.ready);
                prop_assert!(!local.is_empty() || !near);
            }
            prop_assert!(found.cluster.is_some() || found.local.is_some());
            let together = (0..endpoints.len()).filter(|place| {
                found.cluster.iter().chain(&found.local).any(|list| list.contains(place))
            });
            prop_assert_eq!(found.all.clone(), together.collect::<Vec<_>>());
        }
    }
}
