//! Clusters without Gardener: what of their workloads and budgets is wrong.

use serde_json::{Value, json};

use crate::Scenario;
use crate::ids::{EtcdId, KubeClusterId, NodeKey, WorkloadId};
use crate::kube::labels::{Condition, Symbol};

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
fn what_is_wrong_with_labels_and_budgets() {
    let workload = json!({
        "labels": "tier",
        "node_affinity": ["disk in ssd"],
        "affinity": [{"over": "zone", "pods": ""}],
    });
    let budgets = json!([
        {"name": "a", "pods": "tier=", "max_unavailable": 1},
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
