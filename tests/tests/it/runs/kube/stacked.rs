//! Hosts of a cluster's control plane: members of etcd there are added and removed as those of any other etcd, and the hosts are nodes.

use std::sync::Arc;

use serde_json::{Value, json};

use zonefall_core::ids::{KubeClusterId, NodeId};
use zonefall_core::kernel::time::{Duration, Time};
use zonefall_core::kube::name::NodeName;
use zonefall_core::kube::record::{KubeRecord, NodeFact, PodFact, Replica, ServerFact};
use zonefall_core::kube::rule::zone_state::ZoneState;
use zonefall_core::record::Record;
use zonefall_core::run::run_checked;
use zonefall_core::scenario::Scenario;
use zonefall_core::sim::{Options, Stepping};

#[test]
fn a_member_that_lost_its_volume_is_replaced() {
    let file = json!({
        "name": "replaced", "duration": "20m",
        "topology": {"regions": [{"name": "r", "zones": ["za", "zb", "zc"]}]},
        "clusters": [{"name": "plain", "zones": ["za", "zb", "zc"], "pools": [{"name": "w", "minimum": 3, "maximum": 3}]}],
        "faults": [{"at": "5m", "kind": "volume_lost", "volume": "plain/etcd-2"}],
        "operations": [
            {"at": "10m", "etcd": "plain/etcd", "remove_member": "etcd-2"},
            {"at": "11m", "etcd": "plain/etcd", "add_member": {"name": "etcd-2", "node": "plain-control-plane-2", "learner": true}},
            {"at": "12m", "etcd": "plain/etcd", "promote_member": "etcd-2"},
        ],
    });
    let scenario = Arc::new(Scenario::from_json(&file.to_string()).unwrap_or_else(|errors| panic!("{errors}")));
    let host = NodeId(scenario.nodes.iter().position(|node| node.name == "plain-control-plane-2").expect("a host") as u16);
    let minutes = |m: u64| Time::ZERO + Duration::from_secs(60 * m);
    for stepping in [Stepping::FastForward, Stepping::EveryEvent] {
        let mut facts = Vec::new();
        let report = run_checked(&scenario, 1, Options { stepping, ..Options::default() }, &mut |at, record| {
            if let Record::Kube(_, KubeRecord::ApiServer(Replica::Host(node), fact)) = record
                && *node == host
                && at > Time::ZERO
            {
                facts.push((at, *fact));
            }
        });
        assert_eq!(report.violations, [], "{stepping:?}");
        assert!(report.etcd["plain/etcd"].write_unavailable_s <= 0.0, "two of three are a majority");
        let when = |wanted: ServerFact| facts.iter().find(|(_, fact)| *fact == wanted).map(|(at, _)| *at);
        let (lost, back) = (when(ServerFact::Ready(false)), when(ServerFact::Ready(true)));
        assert!(lost.is_some_and(|at| minutes(5) < at && at < minutes(6)), "its member is gone: {facts:?}");
        assert!(when(ServerFact::Etcd(Some(3))).is_some_and(|at| at > minutes(12)), "a learner serves nobody: {facts:?}");
        assert!(back.is_some_and(|at| minutes(12) < at && at < minutes(13)), "{facts:?}");
    }
}

/// A cluster of two workers in each of three zones, with such fields and such things that happen to it; its records in an hour.
fn seen(fields: &Value, events: &Value) -> (Arc<Scenario>, Vec<(Time, KubeRecord)>) {
    let mut file = json!({
        "name": "hosts", "duration": "1h",
        "topology": {"regions": [{"name": "r", "zones": ["za", "zb", "zc"]}]},
        "clusters": [{"name": "plain", "zones": ["za", "zb", "zc"], "pools": [{"name": "w", "minimum": 6, "maximum": 6}]}],
    });
    let extend = |place: &mut Value, more: &Value| {
        place.as_object_mut().expect("fields").extend(more.as_object().expect("fields").clone());
    };
    extend(&mut file["clusters"][0], fields);
    extend(&mut file, events);
    let scenario = Arc::new(Scenario::from_json(&file.to_string()).unwrap_or_else(|errors| panic!("{errors}")));
    let [fast, full] = [Stepping::FastForward, Stepping::EveryEvent].map(|stepping| {
        let mut records = Vec::new();
        let report = run_checked(&scenario, 1, Options { stepping, ..Options::default() }, &mut |at, record| {
            if let Record::Kube(_, record) = record {
                records.push((at, *record));
            }
        });
        assert_eq!(report.violations, [], "{stepping:?}");
        records
    });
    assert_eq!(fast, full);
    (scenario, fast)
}

/// Pods that tolerate the taint run on the hosts, too. A drain evicts them, and what makes the cluster work stays: static pods.
#[test]
fn pods_that_tolerate_it_run_on_hosts_until_they_are_drained() {
    let tolerates = json!(["node-role.kubernetes.io/control-plane"]);
    let workload =
        |name: &str, kind: &str, tolerates: &Value| json!({"name": name, "kind": kind, "cpu": 0.1, "tolerates": tolerates});
    let mut ingress = workload("ingress", "deployment", &tolerates);
    ingress["replicas"] = json!(9);
    ingress["spread"] = json!([{"over": "host", "max_skew": 1}]);
    let workloads =
        json!([workload("agents", "daemon_set", &json!(["*"])), {"name": "others", "kind": "daemon_set", "cpu": 0.1}, ingress]);
    let drain = json!({"operations": [{"at": "10m", "drain_node": {"cluster": "plain", "node": "plain-control-plane-1"}}]});
    let (scenario, records) = seen(&json!({"workloads": workloads}), &drain);
    let cluster = &scenario.kube.clusters[KubeClusterId(0)];
    let host = NodeName::Given(cluster.nodes.position(|node| node.node == cluster.control_plane[1]).expect("it is a node"));
    let bound = |name: &str, on_host: bool| {
        let id = cluster.workloads.position(|own| own.name == name).expect("a workload");
        let to = |record: &KubeRecord| match record {
            KubeRecord::Pod(pod, PodFact::Bound(node)) => pod.workload == id && (!on_host || *node == host),
            _ => false,
        };
        records.iter().filter(|(at, record)| *at == Time::ZERO && to(record)).count()
    };
    assert_eq!([bound("agents", false), bound("others", false), bound("ingress", false)], [9, 6, 9]);
    assert_eq!([bound("agents", true), bound("others", true), bound("ingress", true)], [1, 0, 1]);
    let later = || records.iter().filter(|(at, _)| *at > Time::ZERO).map(|(_, record)| record);
    assert!(later().any(|record| *record == KubeRecord::Node(host, NodeFact::Cordoned)));
    let evicted = later().filter(|record| matches!(record, KubeRecord::Pod(_, PodFact::Evicted(true)))).count();
    assert_eq!(evicted, 1, "a pod of a DaemonSet stays");
    assert!(!later().any(|record| matches!(record, KubeRecord::ApiServer(_, ServerFact::Gone | ServerFact::Ready(false)))));
}

/// `ComputeZoneState` counts them: a zone whose workers are all lost is not fully disrupted while its host is ready.
#[test]
fn hosts_count_in_the_state_of_their_zone() {
    let nodes =
        ["w-a1", "w-a2", "w-b1", "w-c1"].map(|name| json!({"name": name, "pool": "w", "zone": format!("z{}", &name[2..3])}));
    let crash = |node: &str| json!({"at": "10m", "for": "20m", "kind": "node_crash", "node": node});
    let disrupted = |broken: &[&str]| {
        let faults: Vec<Value> = broken.iter().map(|node| crash(node)).collect();
        let (_, records) = seen(&json!({"nodes": nodes}), &json!({"faults": faults}));
        records.iter().any(|(_, record)| matches!(record, KubeRecord::Zone(_, ZoneState::FullDisruption)))
    };
    assert!(!disrupted(&["w-a1", "w-a2"]));
    assert!(disrupted(&["w-a1", "w-a2", "plain-control-plane-0"]));
}
