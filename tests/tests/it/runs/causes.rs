//! Causes of outages in whole runs.

use std::sync::Arc;

use serde_json::{Value, json};

use zonefall_core::report::Report;
use zonefall_core::run;
use zonefall_core::scenario::{Scenario, bundled};
use zonefall_core::sim::Options;

fn ran(name: &str) -> Report {
    let story = bundled().iter().find(|story| story.name == name).unwrap_or_else(|| panic!("{name} is bundled"));
    let scenario = Scenario::from_json(story.json).unwrap_or_else(|errors| panic!("{errors}"));
    run::run(&Arc::new(scenario), 1, Options::default(), &mut |_, _| {}, &mut |_| {})
}

/// All causes of outages of etcd, then of APIs.
fn causes(report: &Report) -> Vec<&str> {
    let etcd = report.etcd.values().flat_map(|etcd| &etcd.outages).map(|outage| &*outage.root_cause);
    let apis = report.api.values().flat_map(|api| &api.outages).map(|outage| &*outage.root_cause);
    etcd.chain(apis).collect()
}

#[test]
fn work_of_operators_that_ends_pods_is_a_cause() {
    let leaves = "etcd-main-0; leader etcd-main-0 transferred leadership; ";
    for (name, work) in
        [("rolling-maintenance", "the roll of seed-cpu-z1 evicted "), ("topology-hints", "the rollout of etcd-main deleted ")]
    {
        let report = ran(name);
        let all = causes(&report);
        assert!(all.iter().any(|cause| cause.starts_with(&format!("{work}{leaves}"))), "{all:#?}");
        assert!(all.iter().all(|cause| !cause.contains("no active fault")), "{all:#?}");
    }
}

#[test]
fn every_outage_of_an_api_has_a_cause() {
    let report = ran("control-plane-migration");
    let all = causes(&report);
    assert!(all.iter().all(|cause| !cause.is_empty() && !cause.contains("no active fault")), "{all:#?}");
    // What was asked for comes before the pods that it ended.
    assert!(all.iter().any(|cause| cause.starts_with("the shoot migrates to seed wide; etcd-main-0 was deleted; ")), "{all:#?}");
    let shop = &report.api["shoot--garden--shop"].outages;
    let moved = shop.iter().find(|outage| outage.root_cause.contains("the shoot migrates to seed wide")).expect("it was moved");
    assert!(
        moved.root_cause.contains("API server kube-apiserver-") && moved.root_cause.contains(" is ready after "),
        "{moved:?}"
    );
}

/// Causes of a cluster of three in three zones that a client asks, with more of this in its file.
fn of_three(more: &Value) -> Vec<String> {
    let zones = ["za", "zb", "zc"];
    let nodes = [0, 1, 2].map(|k| json!({"name": format!("n{k}"), "zone": zones[k]}));
    let members = [0, 1, 2].map(|k| json!({"name": format!("m{k}"), "node": format!("n{k}")}));
    let mut file = json!({
        "name": "three", "duration": "60s",
        "topology": {
            "regions": [{"name": "r", "zones": zones}],
            "nodes": nodes,
        },
        "etcd": [{
            "name": "etcd", "initial": {"leader": "m0"},
            "members": members,
        }],
        "clients": [{"name": "writer", "zone": "za", "op": "put", "target": "leader", "rate": "50/s"}],
    });
    merge(&mut file, more);
    let scenario = Scenario::from_json(&file.to_string()).unwrap_or_else(|errors| panic!("{errors}"));
    let report = run::run(&Arc::new(scenario), 1, Options::default(), &mut |_, _| {}, &mut |_| {});
    causes(&report).into_iter().map(str::to_owned).collect()
}

/// Puts the fields of one value into another, of lists element by element.
fn merge(into: &mut Value, more: &Value) {
    match (into, more) {
        (Value::Object(into), Value::Object(more)) => {
            more.iter().for_each(|(key, value)| merge(into.entry(key).or_insert(Value::Null), value));
        }
        (Value::Array(into), Value::Array(more)) if into.len() == more.len() => {
            into.iter_mut().zip(more).for_each(|(into, more)| merge(into, more));
        }
        (into, more) => *into = more.clone(),
    }
}

#[test]
fn what_requests_wait_for_is_a_cause() {
    let slow = |k: usize| json!({"at": "10s", "for": "30s", "kind": "disk_slow", "volume": format!("m{k}"), "add": "1200ms"});
    let rows = [
        (
            json!({"etcd": [{"disk": {"fsync": "1ms", "bandwidth": "1MiB/s"}}], "clients": [{"value": "100KiB"}]}),
            "the disk of m0 has ",
            " s of writes queued",
        ),
        (
            json!({"probe": {"deadline": "2s"}, "clients": [{"rate": "60/s"}], "faults": [slow(0), slow(1), slow(2)]}),
            "disk of m0 became slow (1.2 s more per fsync); ",
            "; commits of the databases of m0, m1 and m2 take 2.4 s",
        ),
        (json!({"etcd": [{"options": {"cost": {"cores": 1, "per_request": "30ms"}}}]}), "the cores of m0", " of requests queued"),
        (
            json!({"network": {"cross_zone": {"bandwidth": "200KiB/s"}}, "clients": [{"value": "10KiB"}]}),
            "the paths from m0 to m1 and from m0 to m2 have ",
            " of messages queued",
        ),
        (
            json!({
                "topology": {"nodes": [{"network_bandwidth": "10MB/s"}, {}, {}]},
                "clients": [{"op": "range", "value": "1MiB", "consistency": "serializable"}],
            }),
            "the network card of n0 has ",
            " of data queued",
        ),
        (
            json!({"clients": [{"process": {"per_request": "30ms", "per_mib": "0s"}}]}),
            "client writer has ",
            " of requests queued",
        ),
        (
            json!({"probe": {"deadline": "300ms"}, "network": {"cross_zone": {"loss": 0.05}}, "clients": [{"zone": "zb"}]}),
            "5 % loss between za and zb",
            "",
        ),
        (
            json!({"probe": {"deadline": "1s"}, "clients": [], "faults": [slow(0), slow(1)]}),
            "disk of m0 became slow (1.2 s more per fsync)",
            "; no write arrived in that time",
        ),
        (
            json!({"probe": {"deadline": "1s"}, "etcd": [{"disk": {"fsync": "1500ms"}}], "clients": []}),
            "an fsync of m",
            " takes 1.5 s",
        ),
    ];
    for (more, begins, contains) in rows {
        let all = of_three(&more);
        assert!(all.iter().any(|cause| cause.starts_with(begins) && cause.contains(contains)), "{more}: {all:#?}");
        assert!(all.iter().all(|cause| !cause.contains("no active fault")), "{more}: {all:#?}");
    }
}

/// The leader cannot commit with a follower that lacks what it needs, and nobody else.
#[test]
fn a_wait_for_a_snapshot_is_a_cause() {
    let behind = json!([{}, {}, {"behind": {"revision": 1200, "database": "14MB"}}]);
    let all = of_three(&json!({
        "network": {"cross_zone": {"bandwidth": "120MiB/s"}},
        "etcd": [{
            "members": behind, "options": {"snapshot_count": 10_000},
            "initial": {"leader": "m0", "revision": 47_576, "database": "2GB"},
        }],
        "faults": [{"at": "1s", "for": "50s", "kind": "process_kill", "member": "m1"}],
    }));
    let told = "m1 was killed; m2, the other voter, received a snapshot of 1.9 GiB for 15.9 s";
    assert!(all.iter().any(|cause| cause.starts_with(told)), "{all:#?}");
}

/// A seed over three zones with two nodes in each, and a shoot that survives the loss of a zone.
fn of_seed(lasts: &str, faults: &Value, operations: &Value) -> Vec<String> {
    let node = |name: &str| json!({"name": name, "pool": "cpu", "zone": format!("z{}", &name[..1])});
    let nodes = ["a1", "a2", "b1", "b2", "c1", "c2"].map(node);
    let file = json!({
        "name": "seed", "duration": lasts,
        "topology": {"regions": [{"name": "r", "zones": ["za", "zb", "zc", "parent"]}]},
        "seeds": [{
            "name": "seed", "zones": ["za", "zb", "zc"], "control_plane": {"zones": ["parent"]},
            "pools": [{"name": "cpu", "minimum": 6, "maximum": 12, "rollout": {"max_surge": 3, "max_unavailable": 0}}],
            "nodes": nodes,
        }],
        "shoots": [{"name": "s", "failure_tolerance": "zone"}],
        "faults": faults, "operations": operations,
    });
    let scenario = Scenario::from_json(&file.to_string()).unwrap_or_else(|errors| panic!("{errors}"));
    let report = run::run(&Arc::new(scenario), 1, Options::default(), &mut |_, _| {}, &mut |_| {});
    causes(&report).into_iter().map(str::to_owned).collect()
}

#[test]
fn a_budget_that_still_counts_a_lost_pod_is_a_cause() {
    let crash = |node: &str| json!({"at": "10m", "for": "1m", "kind": "node_crash", "node": node});
    let drain = |node: &str| json!({"at": "605s", "drain_node": {"seed": "seed", "node": node}});
    let all = of_seed("15m", &json!([crash("b1"), crash("b2")]), &json!([drain("a1"), drain("a2")]));
    let told =
        "the drain of a1 evicted etcd-main-0 while node b1 was down: its budget still counted etcd-main-1, which ran there";
    assert!(all.iter().any(|cause| cause.starts_with(told)), "{all:#?}");
}

#[test]
fn a_drain_that_timed_out_is_a_cause() {
    let lost = json!([{"at": "5m", "kind": "volume_lost", "volume": "shoot--garden--s/etcd-main-0"}]);
    let all = of_seed("150m", &lost, &json!([{"at": "10m", "roll_pool": {"seed": "seed", "pool": "cpu"}}]));
    let told = "etcd-main-";
    let why = [" was deleted by force, for the drain of node ", " had timed out: its budget had refused its eviction for 2 h"];
    assert!(all.iter().any(|cause| cause.contains(told) && why.iter().all(|why| cause.contains(why))), "{all:#?}");
}

/// Pods of ordinary workloads: their rows say what deleted them, and how long their budget had kept them.
#[test]
fn pods_that_a_drain_left_when_it_timed_out_say_so() {
    let file = json!({
        "name": "cluster", "duration": "150m",
        "topology": {"regions": [{"name": "r", "zones": ["za", "zb"]}]},
        "clusters": [{
            "name": "cluster", "zones": ["za", "zb"], "control_plane_nodes": false,
            "components": ["kube_controller_manager", "kube_scheduler", "machine_controller_manager"],
            "pools": [{"name": "cpu", "minimum": 2, "maximum": 4, "rollout": {"max_surge": 2, "max_unavailable": 0}}],
            "workloads": [
                {"name": "kept", "kind": "deployment", "replicas": 2, "cpu": 1, "memory": "1GiB", "max_unavailable": 0},
                {"name": "free", "kind": "deployment", "replicas": 2, "cpu": 1, "memory": "1GiB"},
            ],
        }],
        "operations": [{"at": "10m", "roll_pool": {"cluster": "cluster", "pool": "cpu"}}],
    });
    let scenario = Scenario::from_json(&file.to_string()).unwrap_or_else(|errors| panic!("{errors}"));
    let report = run::run(&Arc::new(scenario), 1, Options::default(), &mut |_, _| {}, &mut |_| {});
    let of = |component: &str| report.recovery.iter().filter(|row| row.component == component).collect::<Vec<_>>();
    let [kept, free] = ["kept", "free"].map(of);
    assert!(kept.len() == 2 && free.len() == 2, "{:?}", report.recovery);
    for row in kept {
        assert_eq!(row.why, "drain timed out");
        let refused = row.eviction_refused_s.expect("its budget refuses each eviction");
        // Until it is deleted by force, before the machine is.
        assert!((7_200.0..7_201.0).contains(&refused), "{refused}");
    }
    assert!(free.iter().all(|row| row.why == "deleted" && row.eviction_refused_s.is_none()), "{free:?}");
}

/// Kubelets that the API does not hear, while clients of etcd reach its members.
fn silent_kubelets(lasts: &str) -> Value {
    let cut = |node: &str| json!({"at": "5m", "for": lasts, "kind": "link_partition", "between": [node, "parent"]});
    json!([cut("a1"), cut("a2")])
}

#[test]
fn a_taint_that_ends_a_leader_is_a_cause() {
    // The kubelet sees that the pod is to end when it hears the API again.
    let all = of_seed("30m", &silent_kubelets("9m"), &json!([]));
    let told = "the NoExecute taint of a1 evicted etcd-main-0; leader etcd-main-0 transferred leadership; ";
    assert!(all.iter().any(|cause| cause.starts_with(told)), "{all:#?}");
}

#[test]
fn a_machine_that_has_failed_is_a_cause() {
    // No kubelet ends the leader, whose pod is long gone: its machine is deleted.
    let all = of_seed("30m", &silent_kubelets("20m"), &json!([]));
    let told = "node a1, whose machine had failed, was deleted; the link a1 - parent still cut; ";
    assert!(all.iter().any(|cause| cause.starts_with(told) && cause.contains("leader etcd-main-0 gone")), "{all:#?}");
    assert!(all.iter().all(|cause| !cause.contains("the kubelet")), "{all:#?}");
}
