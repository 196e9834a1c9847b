//! What reports say of rollouts that other things happen to.

use std::collections::BTreeSet;

use serde_json::{Value, json};

use super::zone_aware::{cluster, cluster_in, report};
use zonefall_core::report::{Report, RolloutReport};

fn roll(at: &str, workload: &str) -> Value {
    json!({"at": at, "roll_component": {"cluster": "c", "component": workload}})
}

fn scale(at: &str, workload: &str, replicas: u32) -> Value {
    json!({"at": at, "scale_workload": {"cluster": "c", "workload": workload, "replicas": replicas}})
}

/// A workload of these pods, with these of its fields; each needs 20 s to start.
fn workload(name: &str, kind: &str, replicas: u32, fields: &Value) -> Value {
    let mut workload = json!({"name": name, "kind": kind, "replicas": replicas, "cpu": 1, "memory": "1GiB", "start": "20s"});
    let all = workload.as_object_mut().expect("an object");
    all.extend(fields.as_object().expect("fields are an object").clone());
    workload
}

fn only(report: &Report) -> &RolloutReport {
    let [rollout] = &report.rollouts[..] else { panic!("one rollout: {:?}", report.rollouts) };
    rollout
}

/// The second pod waits until the first is ready again, in another zone.
#[test]
fn pods_of_one_zone_that_come_back_in_another_are_a_disruption_of_one_zone() {
    let filler = |name: &str, cpu: f64, zone: &str| {
        let zone = json!({"cpu": cpu, "node_affinity": [format!("topology.kubernetes.io/zone in ({zone})")]});
        workload(name, "deployment", 1, &zone)
    };
    let db = workload("db", "stateful_set", 2, &json!({"update": {"on_delete": true}}));
    let update = json!({"workload": "db", "max_unavailable": 2, "exponential_factor": 0});
    let workloads = json!([filler("in-za", 1.5, "za"), filler("in-zb", 3.9, "zb"), db]);
    let mut cluster = cluster_in(&["za", "zb"], 1, json!({"workloads": workloads, "zone_aware_updates": [update]}));
    cluster["pools"][0]["machine"] = json!({"cpu": 4, "memory": "16GiB"});
    let report = report(cluster, json!([scale("4m", "in-zb", 0), roll("5m", "db")]), json!([]), 1);
    let rollout = only(&report);
    assert_eq!(rollout.batches.len(), 1, "{:?}", rollout.batches);
    assert_eq!(rollout.batches[0].zones, ["za"]);
    let zones = report.pods.iter().filter(|pod| pod.owner == "db").map(|pod| pod.zone.as_deref());
    assert!(zones.into_iter().any(|zone| zone == Some("zb")), "a pod has moved");
    assert_eq!((rollout.most_unavailable, rollout.zones_disrupted, rollout.several_zones_s), (2, 1, 0.0));
}

#[test]
fn pods_that_are_not_there_yet_since_more_are_wanted_are_not_unavailable() {
    for (name, kind) in [("db", "stateful_set"), ("web", "deployment")] {
        let fields = if kind == "deployment" { json!({"min_ready": "10s"}) } else { json!({"update": {"max_unavailable": 2}}) };
        let cluster = cluster(1, json!({"workloads": [workload(name, kind, 3, &fields)]}));
        let report = report(cluster, json!([roll("5m", name), scale("5m10s", name, 9)]), json!([]), 1);
        let rollout = only(&report);
        let expected = if kind == "deployment" { 0 } else { 2 };
        assert!(rollout.completed && rollout.most_unavailable == expected, "{name}: {rollout:?}");
    }
}

/// A node crashes 15 min after the rollout.
#[test]
fn requests_that_fail_after_a_rollout_are_not_its_own() {
    let db = workload("db", "stateful_set", 1, &json!({"quorum": true}));
    let web = workload("web", "deployment", 1, &json!({"min_ready": "10s", "rollout": {"max_surge": 0, "max_unavailable": 1}}));
    let cluster = cluster_in(&["za"], 1, json!({"workloads": [db, web]}));
    let crash = json!([{"at": "20m", "for": "5m", "kind": "node_crash", "node": "za-1"}]);
    let report = report(cluster, json!([roll("5m", "db"), roll("6m", "web")]), crash, 1);
    assert_eq!(report.rollouts.len(), 2);
    for rollout in &report.rollouts {
        assert!(rollout.completed && rollout.failed_s > 20.0 && rollout.failed_s < 25.0, "{rollout:?}");
    }
}

/// From when its pod is asked to end until the next is ready.
#[test]
fn an_outage_of_a_rollout_is_as_long_in_every_table() {
    let db = workload("db", "stateful_set", 1, &json!({"quorum": true}));
    let cluster = cluster_in(&["za"], 1, json!({"workloads": [db]}));
    let report = report(cluster, json!([roll("5m", "db")]), json!([]), 1);
    let [component] = &report.components[..] else { panic!("{:?}", report.components) };
    let (failed, lost) = (only(&report).failed_s, report.quorum_losses[0].duration_s);
    assert!((component.unavailable_s - failed).abs() < 1e-6 && (lost - failed).abs() < 1e-6, "{component:?}, {failed}, {lost}");
}

/// Each has a successor that is ready before it goes, and none that the rollout makes later.
#[test]
fn pods_that_a_rollout_replaced_first_were_not_lost() {
    let web = workload("web", "deployment", 3, &json!({"rollout": {"max_surge": 1, "max_unavailable": 0}}));
    let cluster = cluster(1, json!({"workloads": [web]}));
    let report = report(cluster, json!([roll("5m", "web")]), json!([]), 1);
    assert!(report.recovery.is_empty(), "{:?}", report.recovery);
}

/// One of four pods goes at once, and each of the others as soon as one more is ready: the next that is not ready yet takes its place.
#[test]
fn a_pod_that_goes_before_its_successor_is_ready_is_followed_by_that_one() {
    let web = workload("web", "deployment", 4, &json!({"rollout": {"max_surge": 1, "max_unavailable": 1}}));
    let cluster = cluster(2, json!({"workloads": [web]}));
    let report = report(cluster, json!([roll("5m", "web")]), json!([]), 1);
    let successors: BTreeSet<_> = report.recovery.iter().map(|row| row.replacement.as_deref().expect("each has one")).collect();
    assert_eq!((report.recovery.len(), successors.len()), (4, 4), "{:?}", report.recovery);
    let second = &report.recovery[1];
    assert!(second.created_s == Some(second.lost_s) && second.duration_s < 1.0, "it had been starting for as long: {second:?}");
}

/// Each node takes one pod, and the rollout makes a fourth one first.
#[test]
fn pods_of_a_rollout_beyond_those_that_are_wanted_are_told_apart() {
    let web = workload("web", "deployment", 3, &json!({"cpu": 6, "rollout": {"max_surge": 1, "max_unavailable": 0}}));
    let cluster = cluster(1, json!({"workloads": [web]}));
    let report = report(cluster, json!([roll("5m", "web")]), json!([]), 1);
    let pending = report.pending.as_ref().expect("the new pod finds no node");
    let [row] = &pending.workloads[..] else { panic!("{:?}", pending.workloads) };
    assert_eq!((row.pods, row.placed, row.all), (1, 3, 3));
    let told = &pending.sentences()[0];
    assert!(told.starts_with("1 pod of default/web in c has no node, 3 others have one, and 3 are wanted: "), "{told}");
}

/// The update had told that it was done with the revision before.
#[test]
fn a_revision_that_is_superseded_before_anybody_has_looked_waits_for_nothing() {
    let db =
        workload("db", "stateful_set", 3, &json!({"update": {"on_delete": true}, "spread": [{"over": "zone", "max_skew": 1}]}));
    let update = json!({"workload": "db", "max_unavailable": 2});
    let cluster = cluster(1, json!({"workloads": [db], "zone_aware_updates": [update]}));
    let rolls = ["5m", "5m", "15m", "15m1ms", "15m12s"].map(|at| roll(at, "db"));
    let report = report(cluster, json!(rolls), json!([]), 1);
    let told: Vec<_> = report.rollouts.iter().map(|rollout| rollout.waits_for.as_deref()).collect();
    assert_eq!(told, [None, None, None, Some("waits for pods of the new revision to be ready"), None]);
}
