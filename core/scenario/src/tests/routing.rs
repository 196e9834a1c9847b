//! Where Services of a seed send their clients.

use serde_json::json;

use super::kube::landscape;
use super::*;
use crate::ids::KubeClusterId;
use crate::kube::routing::{ApiToEtcd, Routing};

fn with(seed: &Value, tolerance: &str) -> Result<Scenario, String> {
    let mut raw = landscape(json!([{"name": "s", "seed": "seed", "failure_tolerance": tolerance}]));
    raw["seeds"][0].as_object_mut().expect("a seed").extend(seed.as_object().expect("fields").clone());
    Scenario::from_json(&raw.to_string()).map_err(|errors| errors.to_string())
}

/// Names of those whose Services ask for hints.
fn hinted(scenario: &Scenario) -> Vec<&str> {
    let workloads = scenario.kube.clusters[KubeClusterId(0)].workloads.iter();
    workloads.filter(|workload| workload.hinted).map(|workload| workload.name.as_str()).collect()
}

#[test]
fn services_of_control_planes_that_survive_a_zone_ask_for_hints_where_the_seed_says_so() {
    let usual = with(&json!({}), "zone").unwrap();
    assert_eq!(usual.kube.clusters[KubeClusterId(0)].routing, Routing { hints: false, api_to_etcd: ApiToEtcd::Any });
    assert!(hinted(&usual).is_empty());
    let asks = json!({"topology_aware_routing": true});
    assert_eq!(hinted(&with(&asks, "zone").unwrap()), ["etcd-main", "etcd-events", "kube-apiserver"]);
    assert!(hinted(&with(&asks, "node").unwrap()).is_empty());
    let leader = with(&json!({"api_to_etcd": "leader"}), "zone").unwrap();
    assert_eq!(leader.kube.clusters[KubeClusterId(0)].routing.api_to_etcd, ApiToEtcd::Leader);
}

#[test]
fn hints_need_zones_and_clients_that_go_anywhere() {
    let error = |seed: Value| with(&seed, "none").unwrap_err();
    let one = json!({"topology_aware_routing": true, "zones": ["za"], "pools": [{"name": "p", "minimum": 1, "maximum": 9}], "nodes": []});
    assert_eq!(error(one), "seeds[0].topology_aware_routing: expected false, or at least two zones; found true, in one zone");
    assert_eq!(
        error(json!({"topology_aware_routing": true, "api_to_etcd": "zone"})),
        "seeds[0].topology_aware_routing: expected only one of the two: hints have no effect with `api_to_etcd`; found true, and `api_to_etcd`"
    );
}
