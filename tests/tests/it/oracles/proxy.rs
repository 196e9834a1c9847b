//! `kube_proxy_endpoints_cases.json`: endpoints that the kube-proxy of a node uses (`pkg/proxy/topology_test.go`).

use std::collections::BTreeSet;

use serde::Deserialize;
use zonefall_core::kube::rule::proxy::{self, Conditions, ProxyNode, TrafficPolicy, categorize};

use super::Outcome;
use super::form::{run_cases, same};

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Case {
    node: Node,
    prefer_same_enabled: bool,
    internal_local: bool,
    external_local: bool,
    externally_accessible: bool,
    endpoints: Vec<Endpoint>,
    want: Want,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Node {
    name: String,
    zone: Option<String>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Endpoint {
    address: String,
    ready: bool,
    serving: bool,
    terminating: bool,
    local: bool,
    zone_hints: Vec<String>,
    node_hints: Vec<String>,
}

#[derive(Debug, Deserialize, PartialEq)]
#[serde(deny_unknown_fields)]
struct Want {
    cluster: Option<BTreeSet<String>>,
    local: Option<BTreeSet<String>>,
    all: BTreeSet<String>,
    has_any: bool,
}

pub(super) fn run(text: &str) -> Outcome {
    run_cases(text, |case: &Case| {
        let policy = |local| if local { TrafficPolicy::Local } else { TrafficPolicy::Cluster };
        let service = proxy::Service {
            internal: policy(case.internal_local),
            external: case.externally_accessible.then(|| policy(case.external_local)),
        };
        let node = ProxyNode {
            node: case.node.name.clone(),
            zone: case.node.zone.clone().filter(|zone| !zone.is_empty()),
            prefers_same_node: case.prefer_same_enabled,
        };
        let endpoint = |raw: &Endpoint| {
            let conditions = Conditions { ready: raw.ready, serving: raw.serving, terminating: raw.terminating };
            let (zone_hints, node_hints) = (raw.zone_hints.clone(), raw.node_hints.clone());
            proxy::Endpoint { conditions, local: raw.local, zone_hints, node_hints }
        };
        let endpoints: Vec<_> = case.endpoints.iter().map(endpoint).collect();
        let found = categorize(&node, service, &endpoints);
        let addresses = |places: Vec<usize>| places.into_iter().map(|place| case.endpoints[place].address.clone()).collect();
        let found = Want {
            cluster: found.cluster.map(addresses),
            local: found.local.map(addresses),
            all: addresses(found.all),
            has_any: found.has_any,
        };
        same(&found, &case.want)
    })
}
