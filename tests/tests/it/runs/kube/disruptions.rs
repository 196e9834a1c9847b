//! What the report says of pods that are disrupted: until when they are, who did it, and whether a replicated store had its quorum.

use serde_json::{Value, json};

use zonefall_core::report::{Report, StoreLossReport};
use zonefall_core::scenario::Scenario;
use zonefall_core::simulate;

use super::zone_aware::{ZONES, cluster, report};

fn merged(mut value: Value, more: Value) -> Value {
    let Value::Object(more) = more else { panic!("fields are an object") };
    value.as_object_mut().expect("an object").extend(more);
    value
}

/// A StatefulSet of small pods on these nodes, one each, that are ready 20 s after they start, with these fields more.
fn set(nodes: &[&str], fields: Value) -> Value {
    let pods = (0..).zip(nodes).map(|(k, node)| json!({"name": format!("kv-{k}"), "node": node})).collect::<Vec<Value>>();
    let usual = json!({
        "name": "kv", "kind": "stateful_set", "replicas": nodes.len(), "cpu": 0.05, "memory": "16MiB", "image": "1MiB", "start": "20s",
        "stop": "1s", "parallel": true, "volume": "zonal", "volume_size": "1GiB", "pods": pods,
    });
    merged(usual, fields)
}

/// A store of three members, one in each zone.
fn store(operations: Value, faults: Value) -> Vec<StoreLossReport> {
    let store = set(&["za-1", "zb-1", "zc-1"], json!({"quorum": true, "update": {"max_unavailable": 1}}));
    report(cluster(2, json!({"workloads": [store]})), operations, faults, 1).quorum_losses
}

fn scaled(at: &str, replicas: u32) -> Value {
    json!({"at": at, "scale_workload": {"cluster": "c", "workload": "kv", "replicas": replicas}})
}

fn drain(at: &str, node: &str) -> Value {
    json!({"at": at, "drain_node": {"cluster": "c", "node": node}})
}

#[test]
fn a_store_loses_its_quorum_with_the_pods_that_run_and_not_when_its_api_notices() {
    let crash = json!([{"kind": "node_crash", "node": "za-1", "at": "301s", "for": "3m"}]);
    let [loss] = &store(json!([drain("5m", "zb-1")]), crash)[..] else { panic!("one of three is left") };
    assert_eq!(loss.cause, "za-1 in za lost power with kv-0 while kv-1 was not ready");
    // Until the evicted one is ready elsewhere: its end takes a second, its volume some 20 s, its start as long.
    assert!((loss.from_s - 301.0).abs() < 1e-9 && (35.0..50.0).contains(&loss.duration_s), "{loss:?}");
    // Nodes boot for a minute before their pods start.
    let crashes = json!([
        {"kind": "node_crash", "node": "za-1", "at": "5m", "for": "20s"}, {"kind": "zone_power", "zone": "zb", "at": "5m", "for": "40s"},
    ]);
    let [loss] = &store(json!([]), crashes)[..] else { panic!("one of three is left") };
    assert_eq!(loss.cause, "zb-1 in zb lost power with kv-1 while kv-0 was without power on za-1 in za");
    assert!((loss.from_s - 300.0).abs() < 1e-9 && (100.0..105.0).contains(&loss.duration_s), "{loss:?}");
    let cut = json!([{"kind": "zone_partition", "zone": "zb", "at": "299s", "for": "10m"}]);
    let [loss] = &store(json!([drain("5m", "zc-1")]), cut)[..] else { panic!("one of three is left") };
    assert_eq!(loss.cause, "the drain of zc-1 evicted kv-2 while kv-1 was cut off on zb-1 in zb");
}

#[test]
fn a_store_of_which_no_pod_is_wanted_loses_no_quorum() {
    assert_eq!(store(json!([scaled("5m", 0), scaled("10m", 3)]), json!([])), []);
    let crash = json!([{"kind": "node_crash", "node": "za-1", "at": "4m", "for": "30m"}]);
    let [loss] = &store(json!([scaled("5m", 2)]), crash)[..] else { panic!("one of two is left") };
    // Two of three were a majority.
    assert_eq!(loss.cause, "the scaling to 2 pods deleted kv-2 while kv-0 was without power on za-1 in za");
}

/// Pods with a budget of two, on three nodes in each zone.
fn budgeted(workload: Value, operations: Value) -> Report {
    let budget = json!({"name": "b", "pods": "app=kv", "max_unavailable": 2});
    report(cluster(3, json!({"workloads": [workload], "budgets": [budget]})), operations, json!([]), 1)
}

#[test]
fn a_pod_is_disrupted_no_longer_than_until_another_has_its_place_or_it_is_not_wanted() {
    // Pods that cannot leave their zone wait for a node; then they are not wanted any more.
    let nodes = ["za-1", "zb-1", "zc-1", "za-1", "zb-1", "zc-1"];
    let only = ["zc-1", "zc-2", "zc-3"].map(|node| drain("3m", node));
    let operations: Vec<Value> = only.into_iter().chain([scaled("6m", 2), drain("10m", "zb-1")]).collect();
    let second = |operations: &[Value]| budgeted(set(&nodes, json!({})), Value::from(operations)).budgets[0].clone();
    let found = second(&operations);
    assert_eq!((found.zones_disrupted, found.second_zone), (1, None));
    assert!(found.granted >= 3, "{}", found.granted);
    // New pods of a rollout that are never ready take nobody's place; the next one of the same ReplicaSet does.
    let deployment = json!({
        "name": "kv", "kind": "deployment", "replicas": 9, "cpu": 0.05, "memory": "16MiB", "start": "5s", "revisions": [{"never_ready": true}],
        "rollout": {"max_surge": 0, "max_unavailable": 1}, "spread": [{"over": "zone", "max_skew": 1}],
    });
    let roll = json!({"at": "2m", "roll_component": {"cluster": "c", "component": "kv"}});
    let drains = [drain("5m", "za-1"), drain("16m", "zc-3")];
    let report = budgeted(deployment, [roll].into_iter().chain(drains).collect());
    assert_eq!((report.budgets[0].zones_disrupted, &report.budgets[0].second_zone), (1, &None));
    assert!(report.budgets[0].granted >= 2, "{}", report.budgets[0].granted);
}

#[test]
fn the_verdict_does_not_blame_a_budget_for_what_drains_delete_by_force() {
    let zones = ZONES.map(|zone| json!({"name": zone, "machines": 2}));
    let set = json!({
        "name": "db", "kind": "stateful_set", "replicas": 6, "cpu": 0.05, "memory": "16MiB", "start": "5s", "parallel": true,
        "spread": [{"over": "zone", "max_skew": 1}],
    });
    for (kind, word) in [("budgets", "PodDisruptionBudget"), ("zone_disruption_budgets", "ZoneDisruptionBudget")] {
        let cluster = json!({
            "name": "c", "zones": ZONES, "control_plane": {"zones": ["za"], "replicas": 1}, "control_plane_nodes": false,
            "components": ["kube_controller_manager", "kube_scheduler", "machine_controller_manager"], "workloads": [set],
            "pools": [{"name": "p", "minimum": zones.len(), "maximum": zones.len()}], "timers": {"machine_drain": "10m"},
            kind: [{"name": "b", "pods": "app=db", "max_unavailable": 0}],
        });
        let roll = json!([{"at": "5m", "roll_pool": {"cluster": "c", "pool": "p"}}]);
        let report = report(cluster, roll, json!([]), 1);
        let [budget] = &report.budgets[..] else { panic!("{:?}", report.budgets) };
        assert!(budget.granted == 0 && budget.second_zone_by_force, "{budget:?}");
        let verdict = report.verdict();
        let start = format!("Several zones were disrupted at once against {word} b, which allowed no eviction: at 0:15:00.");
        assert!(verdict.starts_with(&start) && verdict.contains(" had timed out and deleted db-"), "{verdict}");
        assert!(!verdict.contains("let evictions"), "{verdict}");
    }
}

#[test]
fn the_verdict_says_in_which_cluster_a_budget_is_and_when_to_the_second() {
    let budget = json!({"name": "b", "pods": "app=kv", "max_unavailable": 3});
    let kv = set(&["za-1", "zb-1", "zc-1"], json!({}));
    let two = merged(cluster(1, json!({"workloads": [kv], "budgets": [budget]})), json!({"name": "two"}));
    let one = json!({"name": "one", "zones": ZONES, "pools": [{"name": "p", "minimum": 1, "maximum": 1}]});
    let drain = |node: &str| json!({"at": "302s", "drain_node": {"cluster": "two", "node": node}});
    let file = json!({
        "name": "two", "duration": "10m", "topology": {"regions": [{"name": "r", "zones": ZONES}]}, "clusters": [one, two],
        "operations": [drain("za-1"), drain("zb-1")],
    });
    let report = simulate(Scenario::from_json(&file.to_string()).unwrap_or_else(|errors| panic!("{errors}")), 1);
    let expected = "PodDisruptionBudget b of two let evictions disrupt several zones at once: at 0:05:02.";
    assert!(report.verdict().contains(expected), "{}", report.verdict());
}
