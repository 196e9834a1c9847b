//! Zone-aware rollouts and budgets in whole clusters: under random faults, and where arithmetic knows how long a drain takes.

use serde_json::{Value, json};

use zonefall_core::report::{DrainEnd, Report};
use zonefall_core::scenario::Scenario;
use zonefall_core::simulate;

pub(super) const ZONES: [&str; 3] = ["za", "zb", "zc"];

/// A cluster with so many nodes in each of three zones, named `za-1` and so on, and these of its fields.
pub(super) fn cluster(nodes: usize, fields: Value) -> Value {
    cluster_in(&ZONES, nodes, fields)
}

/// The same in any zones.
pub(super) fn cluster_in(zones: &[&str], nodes: usize, fields: Value) -> Value {
    let names = zones.iter().flat_map(|zone| (1..=nodes).map(move |k| (zone, format!("{zone}-{k}"))));
    let nodes: Vec<Value> = names.map(|(zone, name)| json!({"name": name, "pool": "worker", "zone": zone})).collect();
    let mut cluster = json!({
        "name": "c", "zones": zones, "pools": [{"name": "worker", "minimum": nodes.len(), "maximum": nodes.len()}], "nodes": nodes,
    });
    let Value::Object(fields) = fields else { panic!("fields are an object") };
    cluster.as_object_mut().expect("an object").extend(fields);
    cluster
}

pub(super) fn report(cluster: Value, operations: Value, faults: Value, seed: u64) -> Report {
    simulate(scenario(cluster, operations, faults), seed)
}

/// 40 min of a cluster and its zones.
pub(super) fn scenario(cluster: Value, operations: Value, faults: Value) -> Scenario {
    let topology = json!({"regions": [{"name": "r", "zones": cluster["zones"]}]});
    let file = json!({
        "name": "zone-aware", "duration": "40m", "topology": topology, "clusters": [cluster], "operations": operations, "faults": faults,
    });
    Scenario::from_json(&file.to_string()).unwrap_or_else(|errors| panic!("{errors}"))
}

/// The digits of a number, each below a bound of its own.
fn digits<const N: usize>(mut number: u64, bounds: [u64; N]) -> [u64; N] {
    bounds.map(|bound| {
        let digit = number % bound;
        number /= bound;
        digit
    })
}

#[test]
fn zone_aware_updates_delete_pods_of_one_zone_and_strict_budgets_let_evictions_disrupt_one_under_random_faults() {
    let mut steps = 0;
    for number in 0..24_u64 {
        let drawn = number.wrapping_mul(0x9E37_79B9_7F4A_7C15) >> 8;
        let [most, factor, parallel, readme, bad, back, drain, other, crash, cut] =
            digits(drawn, [4, 3, 2, 2, 4, 300, 240, 240, 300, 2]);
        let most = most + 1;
        let revision = [json!({}), json!({"never_ready": true}), json!({"crashes_after": "45s"}), json!({"error_rate": "5%"})];
        let db = json!({
            "name": "db", "kind": "stateful_set", "replicas": 9, "parallel": parallel == 1, "volume": "zonal", "cpu": 0.1,
            "spread": [{"over": "zone", "max_skew": 1}], "update": {"on_delete": true}, "revisions": [revision[bad as usize]],
        });
        let update = json!({
            "workload": "db", "max_unavailable": most, "exponential_factor": factor, "rollback": if readme == 1 { "readme" } else { "code" },
        });
        let budget = json!({"name": "db", "pods": "app=db", "max_unavailable": 2, "zdb": "strict"});
        let cluster = cluster(2, json!({"workloads": [db], "zone_aware_updates": [update], "zone_disruption_budgets": [budget]}));
        let at = |second: u64| format!("{}s", 60 + second);
        let operations = json!([
            {"at": "1m", "roll_component": {"cluster": "c", "component": "db"}},
            {"at": at(back), "roll_back_component": {"cluster": "c", "component": "db"}},
            {"at": at(drain), "drain_node": {"cluster": "c", "node": "za-1"}},
            {"at": at(other), "drain_node": {"cluster": "c", "node": "zb-2"}},
        ]);
        let kind = if cut == 1 { "node_partition" } else { "node_crash" };
        let faults = json!([{"at": at(crash), "for": "5m", "kind": kind, "node": ZONES[crash as usize % 3].to_owned() + "-2"}]);
        let report = report(cluster, operations, faults, number);
        assert_eq!(report.violations, [], "case {number}");
        for batch in report.rollouts.iter().flat_map(|rollout| &rollout.batches).filter(|batch| batch.by == "ZoneAwareUpdate") {
            assert!(batch.zones.len() <= 1 && batch.pods.len() as u64 <= most, "case {number}: {batch:?}, {most} at most");
            steps += 1;
        }
        assert!(report.budgets[0].zones_disrupted <= 1, "case {number}: {:?}", report.budgets);
    }
    assert!(steps > 100, "{steps} steps of updates");
}

#[test]
fn a_rollout_that_replaces_another_never_acts_on_the_gap_between_a_deleted_pod_and_the_next_of_its_name() {
    let pods: Vec<Value> =
        (0..9).map(|ordinal| json!({"name": format!("db-{ordinal}"), "node": format!("{}-1", ZONES[ordinal % 3])})).collect();
    for (most, kind) in [(1, "roll_back_component"), (2, "roll_component")] {
        // Pods are ready about 15 s after they were deleted: some of these find one that is on its way, its zone updated in part.
        for second in (5..=100).step_by(5) {
            let db = json!({
                "name": "db", "kind": "stateful_set", "replicas": 9, "parallel": true, "cpu": 0.05, "memory": "64MiB", "start": "5s",
                "volume": "zonal", "volume_size": "1GiB", "pods": pods, "update": {"on_delete": true},
            });
            let update = json!({"workload": "db", "max_unavailable": most, "exponential_factor": 0});
            let of_db = |second: u32, kind: &str| json!({"at": format!("{second}s"), kind: {"cluster": "c", "component": "db"}});
            let operations = json!([of_db(60, "roll_component"), of_db(60 + second, kind)]);
            let cluster = cluster(1, json!({"workloads": [db], "zone_aware_updates": [update]}));
            let report = report(cluster, operations, json!([]), 1);
            let worst = report.rollouts.iter().map(|rollout| rollout.most_unavailable).max();
            assert_eq!(worst, Some(most), "{kind} after {second} s: {:?}", report.rollouts);
        }
    }
}

/// Six pods on the node that is drained, and room for them on the other one of its zone.
fn drained(budget: &str, more: Value) -> Report {
    let pods: Vec<Value> =
        (0..18).map(|ordinal| json!({"name": format!("db-{ordinal}"), "node": format!("{}-1", ZONES[ordinal % 3])})).collect();
    let db = json!({
        "name": "db", "kind": "stateful_set", "replicas": 18, "parallel": true, "cpu": 0.1, "memory": "64MiB", "image": "1MiB",
        "start": "8s", "stop": "2s", "pods": pods, "node_affinity": ["topology.kubernetes.io/zone in (za, zb, zc)"],
        "spread": [{"over": "zone", "max_skew": 1}],
    });
    let cluster = cluster(2, json!({"workloads": [db], budget: [more]}));
    report(cluster, json!([{"at": "5m", "drain_node": {"cluster": "c", "node": "za-1"}}]), json!([]), 1)
}

#[test]
fn a_drain_takes_as_many_steps_as_its_budget_says_and_an_equally_safe_pod_budget_takes_a_step_for_each_pod() {
    let zone = |most: u32, zdb: &str| {
        drained("zone_disruption_budgets", json!({"name": "db", "pods": "app=db", "max_unavailable": most, "zdb": zdb}))
    };
    let pod = |most: u32| drained("budgets", json!({"name": "db", "pods": "app=db", "max_unavailable": most}));
    // An evicted pod has ended after 2 s, and its successor is ready 8 s later; the drain asks every 5 s.
    for (what, report, steps) in [
        ("2 of one zone", zone(2, "code"), 3),
        ("2 of one zone, strictly", zone(2, "strict"), 3),
        ("3 of one zone", zone(3, "code"), 2),
        ("4 of one zone", zone(4, "strict"), 2),
        ("1 pod", pod(1), 6),
    ] {
        let drain = &report.drains[0];
        assert_eq!(drain.end, DrainEnd::Drained, "{what}");
        let (least, most) = (f64::from(steps - 1) * 10.0, f64::from(steps - 1) * 15.1 + 2.1);
        assert!((least..=most).contains(&drain.duration_s), "{what}: {} s, expected {least} to {most} s", drain.duration_s);
    }
}

#[test]
fn a_drain_stops_after_as_many_pods_as_the_budget_allows_where_pods_find_no_other_node() {
    let db = json!({
        "name": "db", "kind": "stateful_set", "replicas": 9, "parallel": true, "cpu": 0.1, "volume": "zonal",
        "spread": [{"over": "zone", "max_skew": 1}],
    });
    let budget = json!({"name": "db", "pods": "app=db", "max_unavailable": 2, "zdb": "strict"});
    let cluster = cluster(1, json!({"workloads": [db], "zone_disruption_budgets": [budget]}));
    let report = report(cluster, json!([{"at": "5m", "drain_node": {"cluster": "c", "node": "zb-1"}}]), json!([]), 1);
    let drain = &report.drains[0];
    assert_eq!((drain.end, drain.remaining.len(), report.budgets[0].granted), (DrainEnd::Unfinished, 1, 2));
    assert!(drain.remaining[0].reason.contains("ZoneDisruptionBudget db"), "{}", drain.remaining[0].reason);
}

#[test]
fn a_pod_that_moves_disrupts_the_zone_that_it_left_for_strict_budgets_until_it_is_ready_again() {
    let db = json!({
        "name": "db", "kind": "stateful_set", "replicas": 2, "parallel": true, "cpu": 0.1, "start": "30s",
        "pods": [{"name": "db-0", "node": "za-1"}, {"name": "db-1", "node": "zb-1"}],
        "node_affinity": ["kubernetes.io/hostname in (za-1, zb-1, zb-2)"],
    });
    let budget = json!({"name": "db", "pods": "app=db", "max_unavailable": 2, "zdb": "strict"});
    let cluster = cluster(2, json!({"workloads": [db], "zone_disruption_budgets": [budget]}));
    // The pod of za goes to zb-2.
    let drains = json!([
        {"at": "5m", "drain_node": {"cluster": "c", "node": "za-1"}},
        {"at": "5m", "drain_node": {"cluster": "c", "node": "zb-1"}},
    ]);
    let report = report(cluster, drains, json!([]), 1);
    assert!(report.drains.iter().all(|drain| drain.end == DrainEnd::Drained), "{:?}", report.drains);
    assert_eq!(report.budgets[0].zones_disrupted, 1, "{:?}", report.budgets);
}

#[test]
fn every_strict_budget_of_a_pod_is_asked() {
    let set = |name: &str, node: &str| {
        json!({
            "name": name, "kind": "stateful_set", "replicas": 1, "cpu": 0.1, "start": "60s", "volume": "zonal",
            "pods": [{"name": format!("{name}-0"), "node": node}],
        })
    };
    let budget = |name: &str, pods: &str| json!({"name": name, "pods": pods, "max_unavailable": 2, "zdb": "strict"});
    let budgets = [budget("x", "app=x"), budget("both", "app in (x, y)")];
    let sets = [set("x", "zb-1"), set("y", "za-1")];
    let cluster = cluster(2, json!({"workloads": sets, "zone_disruption_budgets": budgets}));
    let drains = json!([
        {"at": "5m", "drain_node": {"cluster": "c", "node": "za-1"}},
        {"at": "310s", "drain_node": {"cluster": "c", "node": "zb-1"}},
    ]);
    let report = report(cluster, drains, json!([]), 1);
    assert!(report.drains.iter().all(|drain| drain.end == DrainEnd::Drained), "{:?}", report.drains);
    assert!(report.budgets.iter().all(|budget| budget.zones_disrupted == 1), "{:?}", report.budgets);
}

/// Twelve pods, four in each zone, are rolled out at 5 min; the cache of pods is stale from just before then, or never.
fn rolled_with_cache(stale_for: Option<&str>, max_unavailable: u32) -> Report {
    let pods: Vec<Value> = (0..12).map(|k| json!({"name": format!("db-{k}"), "node": format!("{}-1", ZONES[k % 3])})).collect();
    let db = json!({
        "name": "db", "kind": "stateful_set", "replicas": 12, "parallel": true, "cpu": 0.1, "memory": "64MiB", "image": "1MiB",
        "start": "8s", "volume": "zonal", "pods": pods, "update": {"on_delete": true},
    });
    let update = json!({"workload": "db", "max_unavailable": max_unavailable});
    let cluster = cluster(2, json!({"workloads": [db], "zone_aware_updates": [update]}));
    let stale = stale_for.map(|lasts| json!({"at": "299s", "for": lasts, "kind": "stale_cache", "cluster": "c"}));
    let roll = json!([{"at": "5m", "roll_component": {"cluster": "c", "component": "db"}}]);
    report(cluster, roll, json!(stale.as_slice()), 1)
}

#[test]
fn an_update_with_a_stale_cache_takes_steps_without_waiting_and_deletes_pods_of_the_new_revision_again() {
    let report = rolled_with_cache(None, 4);
    let rollout = &report.rollouts[0];
    assert_eq!((rollout.stale_deletions, rollout.most_unavailable), (0, 4));
    assert_eq!(rollout.sequence, "[[9], [6, 3], [0]], [[10, 7, 4, 1]], [[11, 8, 5, 2]]");
    // Steps of 1, 2 and 4 within milliseconds: the next ones count the pods before them.
    let report = rolled_with_cache(Some("150s"), 3);
    let rollout = &report.rollouts[0];
    let at_once: Vec<_> = rollout.batches.iter().filter(|batch| batch.at_s < 301.0).collect();
    let pods: Vec<&str> = at_once.iter().flat_map(|batch| &batch.pods).map(String::as_str).collect();
    assert_eq!(pods, ["db-9", "db-6", "db-3"], "{at_once:?}");
    assert!(at_once.last().expect("batches").at_s - at_once[0].at_s < 0.1, "{at_once:?}");
    // The same three are deleted each time all pods are ready, which takes half a minute with their volumes.
    let stale = rollout.batches.iter().filter(|batch| batch.at_s < 449.0);
    let again = stale.flat_map(|batch| &batch.pods).filter(|pod| *pod == "db-9").count();
    assert!((4..=6).contains(&again), "{again} times: {:?}", rollout.batches);
    assert_eq!(rollout.stale_deletions as usize, 2 + 3 * (again - 1), "{:?}", rollout.batches);
    assert_eq!(rollout.zones_disrupted, 1, "the guard of unready pods holds: the StatefulSet's status is not stale");
    // It goes on when the cache is up to date.
    assert!(rollout.completed && rollout.sequence.ends_with("[[11, 8, 5], [2]]"), "{}", rollout.sequence);
}
