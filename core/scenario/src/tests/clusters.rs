//! Clusters without Gardener: what of their workloads and budgets is wrong.

use serde_json::{Value, json};

use super::kube::landscape;
use crate::Scenario;
use crate::ids::{EtcdId, KubeClusterId, MachineDeploymentId, NodeKey, WorkloadId};
use crate::kube::Resources;
use crate::kube::labels::{Condition, Symbol};
use crate::kube::taints::Effect;

/// A cluster of one zone with this of a workload and these budgets.
fn file(workload: &Value, budgets: &Value) -> String {
    let mut all = json!({"name": "web", "kind": "deployment"});
    all.as_object_mut().expect("an object").extend(workload.as_object().expect("an object").clone());
    json!({
        "name": "plain",
        "duration": "1m",
        "topology": {"regions": [{"name": "r", "zones": ["a"]}]},
        "clusters": [{
            "name": "c",
            "zones": ["a"],
            "pools": [{"name": "p", "minimum": 1, "maximum": 1, "labels": "disk=ssd,size=l"}],
            "workloads": [all],
            "budgets": budgets,
        }],
    })
    .to_string()
}

#[test]
fn labels_and_selectors_reach_nodes_and_pods() {
    let workload = json!({
        "labels": "tier=front",
        "node_affinity": ["disk in (ssd, nvme),!spot"],
        "affinity": [{"over": "zone", "pods": "tier=front"}],
        "anti_affinity": [{"over": "host", "weight": 7}],
        "pool": "p",
    });
    let scenario = Scenario::from_json(&file(&workload, &json!([]))).expect("it is right");
    let cluster = &scenario.kube.clusters[KubeClusterId(0)];
    let (workload, node) = (&cluster.workloads[WorkloadId(0)], &cluster.nodes[NodeKey(0)].template.labels);
    let [term] = &workload.affinity.0[..] else { panic!("{:?}", workload.affinity) };
    // Its own two requirements and its pool.
    assert_eq!(term.len(), 3);
    assert!(workload.affinity.admits(node) && matches!(term[1].is, Condition::DoesNotExist));
    let (near, apart) = (&workload.pod_affinity.affinity, &workload.pod_affinity.anti_affinity);
    assert!(near.required[0].key == Symbol::ZONE && near.required[0].selector.selects(&workload.labels));
    assert!(apart.preferred[0].0 == 7 && apart.preferred[0].1.selector == workload.selector);
    assert_eq!(workload.max_unavailable, None, "Kubernetes makes no budgets by itself");
}

#[test]
fn machines_have_the_network_card_of_their_type_or_the_one_that_is_given() {
    let cards = |machine: Value| {
        let mut raw: Value = serde_json::from_str(&file(&json!({}), &json!([]))).expect("JSON");
        raw["clusters"][0]["pools"][0]["machine"] = machine.clone();
        raw["clusters"][0]["control_plane"] = json!({"replicas": 1, "machine": machine});
        let scenario = Scenario::from_json(&raw.to_string()).unwrap_or_else(|errors| panic!("{errors}"));
        let cluster = &scenario.kube.clusters[KubeClusterId(0)];
        let template = cluster.machine_deployments[MachineDeploymentId(0)].template.card_bytes_per_s;
        // Those of its nodes at the start, of its control plane's hosts, and of machines to come are alike.
        let mut nodes = scenario.nodes.iter().map(|node| node.card_bytes_per_s);
        assert!(scenario.nodes.len() >= 2 && nodes.all(|card| card == template));
        template
    };
    assert_eq!(cards(json!({})), 1_250_000_000);
    assert_eq!(cards(json!({"type": "m5.24xlarge"})), 3_125_000_000);
    assert_eq!(cards(json!({"type": "m5.24xlarge", "network_bandwidth": "1Gbit/s"})), 125_000_000);
}

#[test]
fn nodes_have_the_labels_that_kubelets_give_them() {
    let suits = |term: &str| {
        let workload = json!({"node_affinity": [term]});
        let scenario = Scenario::from_json(&file(&workload, &json!([]))).expect("it is right");
        let cluster = &scenario.kube.clusters[KubeClusterId(0)];
        cluster.workloads[WorkloadId(0)].affinity.admits(&cluster.nodes[NodeKey(0)].template.labels)
    };
    for (term, is_suited) in [
        ("kubernetes.io/os=linux,kubernetes.io/arch=amd64", true),
        ("kubernetes.io/hostname,topology.kubernetes.io/zone=a,topology.kubernetes.io/region=r", true),
        ("kubernetes.io/os=windows", false),
        ("kubernetes.io/arch in (arm64, s390x)", false),
    ] {
        assert_eq!(suits(term), is_suited, "{term}");
    }
    let given = file(&json!({"node_affinity": ["kubernetes.io/arch=arm64"]}), &json!([]));
    let given = given.replace("disk=ssd,size=l", "kubernetes.io/arch=arm64");
    let scenario = Scenario::from_json(&given).expect("it is right");
    let cluster = &scenario.kube.clusters[KubeClusterId(0)];
    assert!(
        cluster.workloads[WorkloadId(0)].affinity.admits(&cluster.nodes[NodeKey(0)].template.labels),
        "a pool says otherwise"
    );
}

/// As kubeadm registers them: labelled like any node, tainted, and with room for what static pods do not request. Those of a seed are no
/// nodes of it, nor are those of a managed control plane.
#[test]
fn hosts_of_the_control_plane_are_nodes() {
    let scenario = |workload: Value, more: Value| {
        let mut raw: Value = serde_json::from_str(&file(&workload, &json!([]))).expect("JSON");
        raw["clusters"][0].as_object_mut().expect("fields").extend(more.as_object().expect("fields").clone());
        Scenario::from_json(&raw.to_string()).map_err(|errors| errors.to_string())
    };
    let role = "node-role.kubernetes.io/control-plane";
    let selecting = json!({"node_affinity": [format!("{role},kubernetes.io/hostname=c-control-plane-1,topology.kubernetes.io/zone=a,kubernetes.io/os=linux")]});
    let sized = scenario(selecting, json!({"control_plane": {"machine": {"cpu": 4, "memory": "1GiB", "pods": 20}}}))
        .expect("it is right");
    let cluster = &sized.kube.clusters[KubeClusterId(0)];
    assert_eq!(cluster.nodes.len(), 4);
    for (k, host) in (1..).zip(&cluster.control_plane) {
        let node = &cluster.nodes[NodeKey(k)];
        let [taint] = node.template.taints[..] else { panic!("{:?}", node.template.taints) };
        assert_eq!((node.node, node.machine, taint.effect), (*host, None, Effect::NoSchedule));
        assert_eq!((sized.kube.word(taint.key), taint.value), (role, None));
        assert_eq!(cluster.workloads[WorkloadId(0)].affinity.admits(&node.template.labels), k == 2);
        let left = Resources { cpu_milli: 4_000 - 650, memory: (1_024 - 100) << 20, pods: 20 - 4 };
        assert_eq!(node.template.allocatable, left);
    }
    let placed = |tolerates: Value| {
        let pods = json!([{"name": "web-7b454c4b44-zcsjj", "node": "c-control-plane-0"}]);
        scenario(json!({"pods": pods, "tolerates": tolerates}), json!({})).err()
    };
    assert_eq!((placed(json!([role])), placed(json!(["*"]))), (None, None));
    let malformed = scenario(json!({"tolerates": ["-x"]}), json!({})).expect_err("no key");
    assert!(malformed.starts_with("clusters[0].workloads[0].tolerates[0]: expected "), "{malformed}");
    let expected = "clusters[0].workloads[0].pods[0].node: expected a node whose taints it tolerates (`tolerates`); found \"c-control-plane-0\"";
    assert_eq!(placed(json!([])).as_deref(), Some(expected));
    let managed = scenario(json!({}), json!({"control_plane_nodes": false})).expect("it is right");
    assert_eq!(managed.kube.clusters[KubeClusterId(0)].nodes.len(), 1);
    let seeds = Scenario::from_json(&super::kube::landscape(json!([])).to_string()).expect("it is right");
    let seed = &seeds.kube.clusters[KubeClusterId(0)];
    assert!(seed.nodes.iter().all(|node| !seed.control_plane.contains(&node.node)));
}

#[test]
fn node_affinity_that_no_node_can_satisfy_is_warned_of() {
    let warnings = |workload: Value, cluster: Value| {
        let mut raw: Value = serde_json::from_str(&file(&workload, &json!([]))).expect("JSON");
        raw["topology"]["regions"][0]["zones"] = json!(["a", "b"]);
        let fields = raw["clusters"][0].as_object_mut().expect("an object");
        fields.extend(cluster.as_object().expect("an object").clone());
        let scenario = Scenario::from_json(&raw.to_string()).expect("it is right");
        scenario.warnings.iter().map(ToString::to_string).collect::<Vec<_>>()
    };
    let none = Vec::<String>::new();
    let machines = |autoscaler: bool| {
        let mut all = vec!["kube_controller_manager", "kube_scheduler", "machine_controller_manager"];
        all.extend(autoscaler.then_some("cluster_autoscaler"));
        json!(all)
    };
    let pool = |minimum| json!([{"name": "p", "minimum": 1, "maximum": 1}, {"name": "big", "minimum": minimum, "maximum": 9, "labels": "disk=ssd"}]);
    let ssd = || json!({"node_affinity": ["disk=ssd"]});
    assert_eq!(warnings(ssd(), json!({})), none);
    assert_eq!(warnings(json!({"node_affinity": ["disk=hdd", "size=l"]}), json!({})), none);
    assert_eq!(
        warnings(json!({"node_affinity": ["disk=hdd", "size=s"]}), json!({})),
        [
            "clusters[0].workloads[0].node_affinity: expected labels of a node that is in \"c\" or can come: its pods find no node; found \"disk=hdd\" or \"size=s\""
        ]
    );
    assert_eq!(
        warnings(json!({"node_affinity": ["disk=ssd"], "pool": "p"}), json!({"pools": pool(1)})),
        [
            "clusters[0].workloads[0].node_affinity: expected labels of a node of its pool \"p\" that is in \"c\" or can come: its pods find no node; found \"disk=ssd\""
        ]
    );
    // A pool without nodes has some as soon as a component makes them.
    let empty = warnings(json!({"pool": "big"}), json!({"pools": pool(0)}));
    assert_eq!(
        empty,
        ["clusters[0].workloads[0].pool: expected a pool that has a node or can get one: its pods find no node; found \"big\""]
    );
    assert_eq!(warnings(ssd(), json!({"pools": pool(0), "components": machines(false)})).len(), 1);
    assert_eq!(warnings(ssd(), json!({"pools": pool(0), "components": machines(true)})), none);
    assert_eq!(
        warnings(json!({"cpu": 20, "memory": "1GiB"}), json!({})),
        [
            "clusters[0].workloads[0]: expected requests of a pod that fit onto an empty node that is in \"c\" or can come: its pods find no node; found 20 CPUs and 1GiB"
        ]
    );
    // One node for two zones: the second has no share of it, and may get it.
    let of_b = |sizing: &str| {
        let fields = json!({
            "zones": ["a", "b"], "pools": [{"name": "p", "minimum": 0, "maximum": 1}], "components": machines(true),
            "control_plane_nodes": false,
            "controllers": {"cluster_autoscaler": {"sizing": sizing}},
        });
        let found = warnings(json!({"node_affinity": ["topology.kubernetes.io/zone in (b)"]}), fields);
        found.iter().filter(|warning| warning.contains("find no node")).count()
    };
    assert_eq!(["static", "lax_greedy", "backward_compatible"].map(of_b), [1, 0, 0]);
    // A new node has a host name, but none that a file can give.
    let host = |is| json!({"node_affinity": [format!("kubernetes.io/hostname{is}")], "pool": "big"});
    assert_eq!(warnings(host(""), json!({"pools": pool(0), "components": machines(true)})), none);
    assert_eq!(warnings(host("=n"), json!({"pools": pool(0), "components": machines(true)})).len(), 1);
}

#[test]
fn a_node_that_a_pod_cannot_be_on_is_told_by_what_excludes_it() {
    let errors = |workload: Value| {
        let mut raw: Value = serde_json::from_str(&file(&workload, &json!([]))).expect("JSON");
        let cluster = &mut raw["clusters"][0];
        let taints = json!([{"key": "gpu"}]);
        cluster["pools"] = json!([{"name": "p", "minimum": 1, "maximum": 1}, {"name": "q", "minimum": 1, "maximum": 1, "labels": "disk=ssd", "taints": taints}]);
        cluster["nodes"] = json!([{"name": "n-p", "pool": "p", "zone": "a"}, {"name": "n-q", "pool": "q", "zone": "a"}]);
        Scenario::from_json(&raw.to_string()).err().map(|errors| errors.to_string())
    };
    let placed = |node: &str, more: Value| {
        let mut workload = json!({"pods": [{"name": "web-7b454c4b44-zcsjj", "node": node}]});
        workload.as_object_mut().expect("an object").extend(more.as_object().expect("an object").clone());
        errors(workload)
    };
    let expected = |words: &str, node: &str| {
        Some(format!("clusters[0].workloads[0].pods[0].node: expected a node {words}; found \"{node}\""))
    };
    assert_eq!(placed("n-p", json!({})), None);
    assert_eq!(placed("n-q", json!({"node_affinity": ["disk=ssd"], "tolerates": ["gpu"], "pool": "q"})), None);
    assert_eq!(placed("n-p", json!({"pool": "q", "node_affinity": ["disk=ssd"]})), expected("of its `pool` \"q\"", "n-p"));
    let asked = "with labels that its `node_affinity` asks for, \"disk=ssd\" or \"disk=nvme\"";
    assert_eq!(placed("n-p", json!({"node_affinity": ["disk=ssd", "disk=nvme"]})), expected(asked, "n-p"));
    let taints = "whose taints it tolerates (`tolerates`)";
    assert_eq!(placed("n-q", json!({"node_affinity": ["disk=ssd"]})), expected(taints, "n-q"));
}

#[test]
fn services_that_select_nothing_are_warned_of() {
    let warnings = |pods: &str, clients: &str| {
        let mut raw: Value = serde_json::from_str(&file(&json!({}), &json!([]))).expect("JSON");
        let traffic = json!({"clients": clients, "connections": "1/s", "bytes": "1KiB"});
        raw["clusters"][0]["services"] = json!([{"name": "s", "pods": pods, "traffic": traffic}]);
        let scenario = Scenario::from_json(&raw.to_string()).unwrap_or_else(|errors| panic!("{errors}"));
        scenario.warnings.iter().map(ToString::to_string).collect::<Vec<_>>()
    };
    assert_eq!(warnings("app=web", "app=web"), [""; 0]);
    let expected = "expected labels of the pods of a workload";
    assert_eq!(
        warnings("app=x", "app=y"),
        [
            format!("clusters[0].services[0].pods: {expected}: the Service has no endpoints; found \"app=x\""),
            format!("clusters[0].services[0].traffic.clients: {expected}: nothing opens a connection; found \"app=y\""),
        ]
    );
}

#[test]
fn what_is_wrong_with_labels_and_budgets() {
    let workload = json!({
        "labels": "tier",
        "node_affinity": ["disk in ssd"],
        "affinity": [{"over": "zone", "pods": ""}],
    });
    let budgets = json!([
        {"name": "a", "pods": "tier=-", "max_unavailable": 1},
        {"name": "a", "pods": "x", "max_unavailable": 1, "min_available": "50%"},
        {"name": "b", "pods": "x"},
    ]);
    let errors = Scenario::from_json(&file(&workload, &budgets)).expect_err("mistakes").to_string();
    for path in [
        "clusters[0].budgets[0].pods: ",
        "clusters[0].budgets[1].name: ",
        "clusters[0].budgets[1]: ",
        "clusters[0].budgets[2]: ",
        "clusters[0].workloads[0].labels: ",
        "clusters[0].workloads[0].node_affinity[0]: ",
        "clusters[0].workloads[0].affinity[0].pods: ",
    ] {
        assert!(errors.contains(path), "{path}: {errors}");
    }
    assert_eq!(errors.lines().count(), 7, "{errors}");
}

#[test]
fn operations_on_the_members_of_its_own_etcd() {
    let with = |operation: Value| {
        let mut raw: Value = serde_json::from_str(&file(&json!({}), &json!([]))).expect("JSON");
        raw["operations"] = json!([operation]);
        Scenario::from_json(&raw.to_string())
    };
    let added = json!({"at": "1s", "add_member": {"name": "etcd-3", "node": "c-control-plane-0"}});
    let scenario = with(added).expect("the only etcd need not be named");
    let members = &scenario.etcd[EtcdId(0)].members;
    assert_eq!((members.len(), members[3].initial, members[3].node), (4, false, members[0].node));
    let volumes: Vec<&str> = scenario.volumes.iter().map(|volume| volume.name.as_str()).collect();
    assert_eq!(volumes, ["c/etcd-0", "c/etcd-1", "c/etcd-2", "etcd-3"]);
    let errors = with(json!({"at": "1s", "etcd": "d/etcd", "remove_member": "etcd-0"})).unwrap_err();
    let expected =
        "operations[0].etcd: expected the name of an etcd cluster: \"c/etcd\" (did you mean \"c/etcd\"?); found \"d/etcd\"";
    assert_eq!(errors.to_string(), expected);
    let errors = with(json!({"at": "1s", "remove_member": "etcd-3"})).unwrap_err();
    assert!(errors.to_string().contains("\"etcd-0\", \"etcd-1\" or \"etcd-2\""), "{errors}");
}

#[test]
fn shoots_on_pools_with_taints_are_told_once_for_all_copies() {
    let mut raw = landscape(json!([{"name": "s", "count": 3}]));
    raw["seeds"][0]["pools"][0]["taints"] = json!([{"key": "special"}]);
    let errors = Scenario::from_json(&raw.to_string()).expect_err("nobody tolerates it").to_string();
    let of = |set: &str| {
        format!(
            "shoots[0]: expected a node whose labels it selects and whose taints it tolerates; found \"{set}\", for whose 1 members there are no nodes"
        )
    };
    assert_eq!(errors.lines().collect::<Vec<_>>(), [of("etcd-main"), of("etcd-events")]);
}
