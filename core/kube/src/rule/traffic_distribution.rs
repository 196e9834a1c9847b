//! Hints for `spec.trafficDistribution` of a Service (kubernetes/endpointslice `trafficdist/trafficdist.go`, KEP-3015): each ready
//! endpoint is for clients of its own zone, or of its own node first.

pub use zonefall_scenario::kube::routing::TrafficDistribution;

/// An endpoint, and where it is. `Z` names a zone, `N` a node.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Endpoint<Z, N> {
    /// Its node, if it has one.
    pub node: Option<N>,
    /// The zone of its node, if that has one.
    pub zone: Option<Z>,
    /// Its condition `Ready` is true.
    pub ready: bool,
    /// What it is for at present.
    pub hints: Hints<Z, N>,
}

/// Whose clients an endpoint is for.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Hints<Z, N> {
    /// Those in these zones.
    pub zones: Vec<Z>,
    /// Those on these nodes.
    pub nodes: Vec<N>,
}

/// Hints of an endpoint from now on; `None` of `distribution`: the Service asks for nothing. An endpoint that is not ready keeps what it
/// has, unless the Service asks for nothing.
pub fn hints<Z: Clone, N: Clone>(distribution: Option<TrafficDistribution>, endpoint: &Endpoint<Z, N>) -> Hints<Z, N> {
    let zones = || endpoint.zone.iter().cloned().collect();
    match distribution {
        None => Hints { zones: Vec::new(), nodes: Vec::new() },
        Some(_) if !endpoint.ready => endpoint.hints.clone(),
        Some(TrafficDistribution::SameZone) => Hints { zones: zones(), nodes: Vec::new() },
        Some(TrafficDistribution::SameNode) => Hints { zones: zones(), nodes: endpoint.node.iter().cloned().collect() },
    }
}

/// What the controller does with an `EndpointSlice`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum SliceAction {
    /// It is created.
    Create,
    /// It is updated.
    Update,
    /// It stays as it is.
    Unchanged,
}

/// Sets the hints of a slice's endpoints. A slice that would have stayed as it is becomes an update where a hint has changed.
pub fn reconcile<Z: Clone + PartialEq, N: Clone + PartialEq>(
    distribution: Option<TrafficDistribution>,
    action: SliceAction,
    endpoints: &mut [Endpoint<Z, N>],
) -> SliceAction {
    let mut changed = false;
    for endpoint in endpoints {
        let hints = hints(distribution, endpoint);
        changed |= hints != endpoint.hints;
        endpoint.hints = hints;
    }
    if changed && action == SliceAction::Unchanged { SliceAction::Update } else { action }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::rule::proxy::{self, Conditions, ProxyNode};
    use proptest::prelude::*;

    fn any_endpoint() -> impl Strategy<Value = Endpoint<u8, u8>> {
        let hints = (prop::collection::vec(0..3_u8, 0..2), prop::collection::vec(0..3_u8, 0..2));
        (prop::option::of(0..3_u8), 0..4_u8, any::<bool>(), hints).prop_map(|(zone, node, ready, (zones, nodes))| Endpoint {
            node: Some(node),
            zone,
            ready,
            hints: Hints { zones, nodes },
        })
    }

    proptest! {
        #[test]
        fn reconciling_twice_changes_nothing_more(
            mut endpoints in prop::collection::vec(any_endpoint(), 0..6),
            distribution in prop::option::of(prop::bool::ANY),
        ) {
            let distribution = distribution.map(|node| if node { TrafficDistribution::SameNode } else { TrafficDistribution::SameZone });
            let before = endpoints.clone();
            let action = reconcile(distribution, SliceAction::Unchanged, &mut endpoints);
            prop_assert_eq!(action == SliceAction::Update, before != endpoints);
            prop_assert_eq!(reconcile(distribution, SliceAction::Unchanged, &mut endpoints), SliceAction::Unchanged);
            for (before, after) in before.iter().zip(&endpoints) {
                prop_assert!(before.ready || distribution.is_none() || before.hints == after.hints);
            }
        }

        /// The controller writes what kube-proxy reads: where every zone has an endpoint, no connection leaves its zone.
        #[test]
        fn no_connection_leaves_a_zone_that_has_a_ready_endpoint(zones in prop::collection::vec(0..3_u8, 1..9), from in 0..3_u8) {
            let mut endpoints: Vec<Endpoint<u8, u8>> = (0..)
                .zip(&zones)
                .map(|(node, zone)| Endpoint {
                    node: Some(node),
                    zone: Some(*zone),
                    ready: true,
                    hints: Hints { zones: Vec::new(), nodes: Vec::new() },
                })
                .collect();
            reconcile(Some(TrafficDistribution::SameZone), SliceAction::Create, &mut endpoints);
            let seen = |endpoint: &Endpoint<u8, u8>| proxy::Endpoint {
                conditions: Conditions { ready: true, serving: true, terminating: false },
                local: false,
                zone_hints: endpoint.hints.zones.clone(),
                node_hints: endpoint.hints.nodes.clone(),
            };
            let seen: Vec<_> = endpoints.iter().map(seen).collect();
            let node = ProxyNode { node: 99, zone: Some(from), prefers_same_node: true };
            let used = proxy::cluster_endpoints(&node, &seen);
            let own = (0..zones.len()).filter(|k| zones[*k] == from).collect::<Vec<_>>();
            prop_assert_eq!(used, if own.is_empty() { (0..zones.len()).collect() } else { own });
        }
    }
}
