//! Zonal shift: what it takes out of use, and what is as before when it has expired.

use std::collections::BTreeSet;

use serde_json::{Value, json};
use zonefall_core::scenario::Scenario;

/// Report of a cluster over three zones, with six pods behind a Service.
fn report(changes: &[(&str, Value)], operations: Value) -> Value {
    let node = |zone: &str| json!({"name": format!("node-{zone}"), "pool": "worker", "zone": zone});
    let mut file = json!({
        "name": "shift", "duration": "2h", "topology": {"regions": [{"name": "r", "zones": ["za", "zb", "zc"]}]},
        "clusters": [{
            "name": "c", "zones": ["za", "zb", "zc"], "control_plane_nodes": false,
            "pools": [{"name": "worker", "minimum": 3, "maximum": 3}],
            "nodes": [node("za"), node("zb"), node("zc")],
            "workloads": [{"name": "web", "kind": "deployment", "replicas": 6, "cpu": 0.1}],
            "services": [{"name": "web", "pods": "app=web", "traffic": {"clients": "app=web", "connections": "1/s", "bytes": "1KiB"}}],
        }],
        "operations": operations, "observe_at": ["30m", "90m"],
    });
    for (pointer, value) in changes {
        let (parent, field) = pointer.rsplit_once('/').expect("a pointer");
        file.pointer_mut(parent).expect("it is there")[field] = value.clone();
    }
    let scenario = Scenario::from_json(&file.to_string()).unwrap_or_else(|errors| panic!("{errors}\n{file}"));
    zonefall_core::simulate(scenario, 1).to_json()
}

fn shift(at: &str, zone: &str, lasts: &str) -> Value {
    json!({"at": at, "shift_zone": {"cluster": "c", "zone": zone, "for": lasts}})
}

/// Zones of the pods made between two moments, which the second look finds and the first does not.
fn zones_of_new_pods(report: &Value) -> Vec<Option<String>> {
    let pods = |k: usize| report["observed"][k]["pods"].as_array().expect("pods were observed").clone();
    let before: BTreeSet<String> = pods(0).iter().map(|pod| pod["name"].to_string()).collect();
    let new = pods(1).into_iter().filter(|pod| !before.contains(&pod["name"].to_string()));
    new.map(|pod| pod["zone"].as_str().map(str::to_owned)).collect()
}

/// Connections that endpoints of a zone served.
fn served(report: &Value, zone: &str) -> f64 {
    let zones = report["service_traffic"][0]["zones"].as_array().expect("a list");
    zones.iter().filter(|flow| flow["to"] == zone).map(|flow| flow["connections"].as_f64().expect("a number")).sum()
}

#[test]
fn a_zone_serves_nobody_and_takes_no_pod_until_the_shift_expires() {
    let scale = |at: &str| json!({"at": at, "scale_workload": {"cluster": "c", "workload": "web", "replicas": 12}});
    let hours = 2.0 * 3_600.0;
    let none = report(&[], json!([]));
    assert!((served(&none, "za") - 2.0 * hours).abs() < 1.0, "a third of 6/s");
    let one = report(&[], json!([shift("20m", "za", "1h")]));
    assert!((served(&one, "za") - hours).abs() < 20.0, "{}", served(&one, "za"));
    assert_eq!(one["service_traffic"][0]["failed"], 0.0);
    // No pod ends, and pods are placed there again afterwards.
    let meanwhile = report(&[], json!([shift("20m", "za", "75m"), scale("40m")]));
    let zones = zones_of_new_pods(&meanwhile);
    assert!(zones.len() == 6 && zones.iter().all(|zone| zone.as_ref().is_some_and(|zone| zone != "za")), "{zones:?}");
    let afterwards = report(&[], json!([shift("20m", "za", "1h"), scale("85m")]));
    let zones = zones_of_new_pods(&afterwards);
    assert!(zones.contains(&Some("za".to_owned())), "{zones:?}");
}

#[test]
fn there_is_one_shift_at_a_time() {
    let again = report(&[], json!([shift("20m", "za", "30m"), shift("40m", "zb", "30m"), shift("50m1s", "zb", "30m")]));
    let refused = again["refused"].as_array().expect("a list");
    assert_eq!(refused.len(), 1, "{refused:?}");
    assert_eq!(
        (&refused[0]["at_s"], &refused[0]["reason"]),
        (&json!(2_400.0), &json!("traffic is shifted away from a zone already"))
    );
    assert!((served(&again, "zb") - served(&again, "za")).abs() < 20.0, "each was out of use for half an hour");
}

/// The operator's cordon outlives the shift.
#[test]
fn a_node_that_is_drained_meanwhile_takes_no_pod_afterwards() {
    let drain = json!({"at": "25m", "drain_node": {"cluster": "c", "node": "node-za"}});
    let scale = json!({"at": "85m", "scale_workload": {"cluster": "c", "workload": "web", "replicas": 12}});
    let report = report(&[], json!([shift("20m", "za", "1h"), drain, scale]));
    let zones = zones_of_new_pods(&report);
    assert!(zones.len() == 6 && !zones.contains(&Some("za".to_owned())), "{zones:?}");
}

/// Pods that find no node get new ones in the other zones alone.
#[test]
fn the_autoscaler_adds_no_node_in_a_zone_without_traffic() {
    let components = json!(["kube_controller_manager", "kube_scheduler", "machine_controller_manager", "cluster_autoscaler"]);
    let pool = json!([{"name": "worker", "minimum": 3, "maximum": 9, "start": 3}]);
    let autoscaler = json!({"cluster_autoscaler": {"sizing": "static"}});
    let changes = [
        ("/clusters/0/components", components),
        ("/clusters/0/pools", pool),
        ("/clusters/0/controllers", autoscaler),
        ("/clusters/0/nodes", json!([])),
        ("/clusters/0/workloads/0/cpu", json!(3)),
    ];
    let scale = json!({"at": "31m", "scale_workload": {"cluster": "c", "workload": "web", "replicas": 10}});
    let report = report(&changes, json!([shift("20m", "za", "90m"), scale]));
    let zones = zones_of_new_pods(&report);
    assert!(zones.len() == 4 && zones.iter().all(|zone| zone.as_ref().is_some_and(|zone| zone != "za")), "{zones:?}");
    let found = report["node_pools"].to_string();
    assert!(found.contains("traffic is shifted away from its zone"), "{found}");
}
