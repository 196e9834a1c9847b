//! Scale-down while pods and groups change.

use std::collections::BTreeSet;

use serde_json::{Value, json};

use super::autoscaling::scaled;
use super::world::{Seen, run};
use zonefall_core::kube::name::NodeName;
use zonefall_core::kube::record::{KubeRecord, NodeFact, PodFact, ScaleDownVerdict};
use zonefall_core::scenario::Scenario;

/// A pool over these zones, whose nodes of 8 CPUs are not needed after 5 min.
fn unneeded(zones: &[&str], start: u32, workloads: &Value, operations: &Value) -> Scenario {
    let file = json!({
        "name": "unneeded", "duration": "1h",
        "topology": {"regions": [{"name": "r", "zones": zones}]},
        "clusters": [{
            "name": "c", "zones": zones, "control_plane": {"zones": [zones[0]], "replicas": 1}, "control_plane_nodes": false,
            "components": ["kube_controller_manager", "kube_scheduler", "machine_controller_manager", "cluster_autoscaler"],
            "pools": [{"name": "w", "zones": zones, "minimum": 0, "maximum": 8, "start": start}],
            "workloads": workloads,
            "controllers": {"cluster_autoscaler": {
                "sizing": "static", "scale_down": {"unneeded_time": "5m", "delay_after_add": "5m"}
            }}
        }],
        "operations": operations
    });
    Scenario::from_json(&file.to_string()).unwrap_or_else(|errors| panic!("{errors}"))
}

/// Two nodes with a pod each, one of which is not needed, and large pods that are wanted while it is drained.
fn with_large_pods(pods: u32) -> Scenario {
    let workloads = json!([
        {
            "name": "web", "kind": "deployment", "replicas": 2, "cpu": 1, "memory": "1GiB",
            "spread": [{"over": "host", "max_skew": 1, "hard": false}]
        },
        {"name": "big", "kind": "deployment", "replicas": 0, "cpu": 7.5, "memory": "1GiB"}
    ]);
    let scale = json!([{"at": "5m12s", "scale_workload": {"cluster": "c", "workload": "big", "replicas": pods}}]);
    unneeded(&["za"], 2, &workloads, &scale)
}

/// Nodes that are tainted as to be deleted at the end, and are there.
fn tainted(seen: &Seen) -> BTreeSet<NodeName> {
    let mut tainted = BTreeSet::new();
    for (_, record) in &seen.0 {
        match record {
            KubeRecord::Node(node, NodeFact::ToBeDeleted) => drop(tainted.insert(*node)),
            KubeRecord::Node(node, NodeFact::Kept(_) | NodeFact::Removed) => drop(tainted.remove(node)),
            _ => {}
        }
    }
    tainted
}

/// Its group grows at the moment at which its machine is given up: as many machines are wanted as there are.
#[test]
fn a_node_whose_machine_stays_as_its_group_grows_is_no_longer_being_deleted() {
    let seen = run(&with_large_pods(2), 1);
    let why = |record: &KubeRecord| matches!(record, KubeRecord::Node(_, NodeFact::Kept(ScaleDownVerdict::NoneTooMany)));
    assert_eq!(seen.0.iter().filter(|(_, record)| why(record)).count(), 1);
    assert!(tainted(&seen).is_empty(), "{:?}", tainted(&seen));
}

/// Pods of a workload one at a time in each of these zones.
fn spread_over_zones(zones: &[&str], replicas: u32) -> Scenario {
    let workloads = json!([{
        "name": "web", "kind": "deployment", "replicas": replicas, "cpu": 1, "memory": "1GiB", "spread": [{"over": "zone", "max_skew": 1}]
    }]);
    unneeded(zones, replicas, &workloads, &json!([]))
}

fn count(seen: &Seen, which: NodeFact) -> usize {
    seen.0.iter().filter(|(_, record)| matches!(record, KubeRecord::Node(_, fact) if *fact == which)).count()
}

/// The zone of a node that is drained counts on as one without pods: its pod fits in no other.
#[test]
fn a_node_that_a_hard_spread_constraint_needs_is_not_drained() {
    let seen = run(&spread_over_zones(&["za", "zb", "zc"], 3), 1);
    assert_eq!(count(&seen, NodeFact::ToBeDeleted), 0);
    assert_eq!(count(&seen, NodeFact::ScaleDown(ScaleDownVerdict::NoPlace)), 3);
}

/// Two of three pods are in the first zone: the one that moves no longer counts on its old node.
#[test]
fn a_pod_that_moves_within_its_zone_counts_once() {
    let seen = run(&spread_over_zones(&["za", "zb"], 3), 1);
    assert_eq!(count(&seen, NodeFact::ToBeDeleted), 1);
    assert_eq!(seen.pods(|fact| fact == PodFact::Evicted(true)).len(), 1);
}

/// While its only node is drained, its group has its size: the pod fits on the node that is taken for one on its way, and the group grows
/// by one once the machine is given up.
#[test]
fn one_node_is_asked_for_by_a_pod_while_another_is_deleted() {
    let seen = run(&with_large_pods(1), 1);
    let scaled: Vec<u32> = scaled(&seen).iter().map(|(.., desired)| *desired).collect();
    assert_eq!(scaled, [1, 2]);
    assert!(tainted(&seen).is_empty(), "{:?}", tainted(&seen));
}
