//! Clusters over zones: volumes that are bound early, late or before there is a cluster, zones that are added, runs of the descheduler, and
//! the zones that fail meanwhile.

use std::sync::Arc;

use proptest::prelude::*;
use serde_json::{Value, json};
use zonefall_core::scenario::Scenario;
use zonefall_tests::effort;

use super::worlds::judge;

const ZONES: [&str; 4] = ["za", "zb", "zc", "zd"];

/// A StatefulSet with volumes of its own, or a single pod with a disk that is there already.
fn workload() -> impl Strategy<Value = Value> {
    let volumes = (1_u32..6, any::<bool>(), any::<bool>()).prop_map(|(replicas, at_once, parallel)| {
        let binding = if at_once { "immediate" } else { "wait_for_first_consumer" };
        json!({"replicas": replicas, "volume": "zonal", "volume_binding": binding, "parallel": parallel})
    });
    let disk = (0_usize..2, any::<bool>(), prop::option::of(0_usize..3)).prop_map(|(name, claim, zone)| {
        let (name, zone) = (["one", "two"][name], zone.map(|zone| ZONES[zone]));
        json!({"replicas": 1, "disk": {"name": name, "claim": claim, "zone": zone}})
    });
    let common = |mut fields: Value| {
        fields["kind"] = json!("stateful_set");
        fields["cpu"] = json!(3);
        fields
    };
    prop_oneof![volumes, disk].prop_map(common)
}

/// What happens, second by second.
fn operation() -> impl Strategy<Value = Value> {
    let what = prop_oneof![
        (1_u32..4).prop_map(|nodes| json!({"add_zone": {"cluster": "c", "zone": "zd", "pool": "worker", "nodes": nodes}})),
        any::<bool>().prop_map(|soft| json!({"deschedule": {"cluster": "c", "schedule_anyway": soft}})),
        (0_u32..9).prop_map(|replicas| json!({"scale_workload": {"cluster": "c", "workload": "web", "replicas": replicas}})),
        (0_usize..3).prop_map(|node| json!({"drain_node": {"cluster": "c", "node": format!("node-{}", ZONES[node])}})),
        (0_usize..3, 60_u64..4_000).prop_map(|(zone, lasts)| {
            json!({"shift_zone": {"cluster": "c", "zone": ZONES[zone], "for": format!("{lasts}s")}})
        }),
    ];
    (1_u64..6_000_000, what).prop_map(|(at, mut operation)| {
        operation["at"] = json!(format!("{at}ms"));
        operation
    })
}

fn fault() -> impl Strategy<Value = Value> {
    let kind = prop_oneof![Just("zone_power"), Just("zone_partition")];
    (1_u64..5_000_000, 1_000_u64..2_000_000, kind, 0_usize..4).prop_map(|(at, lasts, kind, zone)| {
        json!({"at": format!("{at}ms"), "for": format!("{lasts}ms"), "kind": kind, "zone": ZONES[zone]})
    })
}

fn cluster() -> impl Strategy<Value = Value> {
    let lookup = prop_oneof![Just("one_zone"), Just("each_zone")];
    let workloads = prop::collection::vec(workload(), 1..4);
    let operations = prop::collection::vec(operation(), 0..5);
    let faults = prop::collection::vec(fault(), 0..3);
    (workloads, operations, faults, lookup, any::<bool>(), 1_u32..4, 1_u64..1_000_000).prop_map(
        |(mut workloads, mut operations, faults, lookup, labels, masters, seed)| {
            // Each disk has one user.
            let mut disks = Vec::new();
            workloads.retain(|workload| {
                let name = workload["disk"]["name"].as_str().map(str::to_owned);
                let is_new = name.as_ref().is_none_or(|name| !disks.contains(name));
                disks.extend(name);
                is_new
            });
            for (k, workload) in workloads.iter_mut().enumerate() {
                workload["name"] = json!(format!("db{k}"));
            }
            let spread = json!([{"over": "zone", "max_skew": 1, "hard": false}]);
            workloads.push(json!({"name": "web", "kind": "deployment", "replicas": 4, "cpu": 1, "spread": spread}));
            // A zone is added once.
            let mut added = false;
            operations.retain(|operation| operation.get("add_zone").is_none() || !std::mem::replace(&mut added, true));
            let node = |zone: &&str| json!({"name": format!("node-{zone}"), "pool": "worker", "zone": zone});
            json!({
                "name": "over-zones", "seed": seed, "duration": "2h", "topology": {"regions": [{"name": "r", "zones": ZONES}]},
                "clusters": [{
                    "name": "c", "zones": &ZONES[..3], "control_plane": {"replicas": masters}, "control_plane_nodes": false,
                    "pools": [{"name": "worker", "minimum": 3, "maximum": 3}], "nodes": ZONES[..3].iter().map(node).collect::<Vec<_>>(),
                    "workloads": workloads, "services": [{"name": "web", "pods": "app=web"}],
                    "disks": [{"name": "one", "zone": "zb"}, {"name": "two", "zone": "za"}, {"name": "two", "zone": "zc"}],
                    "disk_lookup": lookup, "persistent_volume_label": labels,
                }],
                "operations": operations, "faults": faults,
            })
        },
    )
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(effort(60, 2_000) as u32))]

    /// No invariant breaks (a zonal volume is attached in its zone alone), every outage has a cause, and fast-forward changes nothing.
    #[test]
    fn fast_forward_changes_nothing_and_volumes_stay_in_their_zones(file in cluster()) {
        let scenario = Scenario::from_json(&file.to_string()).unwrap_or_else(|errors| panic!("{errors}\n{file}"));
        if let Err(why) = judge(&Arc::new(scenario)) {
            return Err(TestCaseError::fail(format!("{why}\n{file}")));
        }
    }
}

/// No node is needed for that: the volumes say where nodes are.
#[test]
fn volumes_are_bound_at_once_though_there_is_no_node() {
    let zones_of = |binding: &str| {
        let file = json!({
            "name": "empty", "duration": "30m",
            "topology": {"regions": [{"name": "r", "zones": ["za", "zb", "zc"]}]},
            "clusters": [{
                "name": "c", "zones": ["za", "zb", "zc"],
                "control_plane": {"zones": ["za"], "replicas": 1}, "control_plane_nodes": false,
                "components": ["kube_controller_manager", "kube_scheduler", "machine_controller_manager", "cluster_autoscaler"],
                "pools": [{"name": "worker", "minimum": 0, "maximum": 9, "start": 0}],
                "workloads": [{
                    "name": "db", "kind": "stateful_set", "replicas": 3, "parallel": true, "cpu": 6, "memory": "1GiB",
                    "volume": "zonal", "volume_binding": binding,
                }],
            }],
        });
        let scenario = Scenario::from_json(&file.to_string()).unwrap_or_else(|errors| panic!("{errors}"));
        let report = zonefall_core::simulate(scenario, 1).to_json();
        let pods = report["pods"].as_array().expect("the report lists pods").iter();
        let ready = pods.filter(|pod| pod["ready"] == true).map(|pod| pod["zone"].as_str().expect("it has a zone").to_owned());
        let mut zones: Vec<String> = ready.collect();
        zones.sort();
        zones
    };
    assert_eq!(zones_of("immediate"), ["za", "zb", "zc"]);
    let late = zones_of("wait_for_first_consumer");
    assert!(late.len() == 3 && late.iter().all(|zone| *zone == late[0]), "one group is chosen for all: {late:?}");
}
