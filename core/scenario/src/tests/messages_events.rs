//! What is said about faults and operations that cannot be.

use serde_json::{Value, json};

use super::messages_kube::check;

#[test]
fn events() {
    check(
        "/faults",
        json!([{"at": "1m", "kind": "cloud_api"}]),
        "faults[0]: expected `create`, `delete`, `attach` or `error_rate`; found a cloud_api fault without any effect",
    );
    check("/faults", json!([{"at": "1m", "kind": "cloud_api", "error_rate": "30%"}]), "");
    check(
        "/faults",
        json!([{"at": "1m", "kind": "cloud_api", "error_rate": 0}]),
        "faults[0].error_rate: expected more than 0; found 0",
    );
    check(
        "/faults",
        json!([{"at": "1m", "kind": "cloud_api", "zone": "zd", "delete": "out_of_stock"}]),
        "faults[0].zone: expected the name of a zone: \"parent\", \"za\", \"zb\" or \"zc\" (did you mean \"za\"?); found \"zd\"\n\
         faults[0].delete: expected `refused` or `unavailable`: only machines can be out of stock; found \"out_of_stock\"",
    );
    check("/faults", json!([{"at": "1m", "kind": "volume_lost", "volume": "shoot--garden--s/etcd-main-0"}]), "");
    for aim in [json!({"volume": "shoot--garden--s/etcd-main-0"}), json!({"volume": {"leader_of": "shoot--garden--s/etcd-main"}})]
    {
        let mut lost = json!({"at": "1m", "for": "5m", "kind": "volume_lost"});
        lost.as_object_mut().unwrap().extend(aim.as_object().unwrap().clone());
        check(
            "/faults",
            json!([lost]),
            "faults[0].for: expected another target: the claim of a pod keeps its lost volume, and no empty volume replaces it; found \"5m\"",
        );
    }
    let random = |volumes: Value| json!([{"volumes": volumes, "every": {"exponential": "1d"}, "repair": {"exponential": "1h"}}]);
    check("/random_faults", random(json!(["seed/etcd-0"])), "");
    for volumes in [json!("all"), json!(["shoot--garden--s/etcd-events-1"])] {
        check(
            "/random_faults",
            random(volumes),
            "random_faults[0].volumes: expected another target: the claim of a pod keeps its lost volume, and no empty volume replaces it; found a volume of a pod",
        );
    }
    let cut = |between: [&str; 2]| json!([{"at": "1m", "kind": "link_partition", "between": between}]);
    for between in [["za", "zb"], ["za", "za"], ["za", "seed-control-plane-0"], ["seed-control-plane-1", "seed-control-plane-0"]]
    {
        check("/faults", cut(between), "");
    }
    check(
        "/faults",
        cut(["zd", "seed-control-plane-0"]),
        "faults[0].between[0]: expected the name of a zone or a node: \"parent\", \"za\", \"zb\", \"zc\", \"seed-control-plane-0\", \"seed-control-plane-1\", \"seed-control-plane-2\", \"seed-cpu-z1-6b988-c42r2\", … (did you mean \"za\"?); found \"zd\"",
    );
    check(
        "/faults",
        cut(["seed-control-plane-0", "seed-control-plane-0"]),
        "faults[0].between[1]: expected another node: a node has no link to itself; found \"seed-control-plane-0\"",
    );
    check(
        "/faults",
        json!([{"at": "1m", "kind": "storage_degraded", "zone": "za"}]),
        "faults[0]: expected `add` or `factor`; found a storage_degraded fault without any effect",
    );
    check(
        "/faults",
        json!([{"at": "1m", "kind": "storage_degraded", "zone": "zd", "add": "1s"}]),
        "faults[0].zone: expected the name of a zone: \"parent\", \"za\", \"zb\" or \"zc\" (did you mean \"za\"?); found \"zd\"",
    );
    check(
        "/operations",
        json!([{"at": "1m", "remove_member": "etcd-main-0"}]),
        "operations[0].etcd: expected the name of an etcd cluster: \"seed/etcd\", \"shoot--garden--s/etcd-events\" or \"shoot--garden--s/etcd-main\"; found nothing",
    );
    check(
        "/operations",
        json!([{"at": "1m", "etcd": "shoot--garden--s/etcd-main", "remove_member": "etcd-main-0"}]),
        "operations[0]: expected a cluster whose members are not pods: etcd-druid adds and removes those (`set_failure_tolerance` asks it to); found a change of shoot--garden--s/etcd-main",
    );
    check(
        "/observe_at",
        json!(["1h", "2h"]),
        "observe_at[1]: expected a time up to the end of the run (`duration`); found \"2h\"",
    );
}

/// The bundled cluster without Gardener, with `value` at a JSON pointer: all errors.
fn errors_of_plain(pointer: &str, value: Value) -> String {
    let bundled = crate::bundled().iter().find(|bundled| bundled.name == "plain-cluster").expect("it is bundled");
    let mut raw: Value = serde_json::from_str(bundled.json).expect("JSON");
    let (parent, key) = pointer.rsplit_once('/').expect("a pointer");
    match raw.pointer_mut(parent).expect("a parent") {
        Value::Object(fields) if value.is_null() => drop(fields.shift_remove(key)),
        Value::Object(fields) => drop(fields.insert(key.to_owned(), value)),
        other => *other.pointer_mut(&format!("/{key}")).expect("an item") = value,
    }
    crate::Scenario::from_json(&raw.to_string()).err().map_or_else(String::new, |errors| errors.to_string())
}

#[test]
fn clusters_without_gardener() {
    let check = |pointer: &str, value: Value, expected: &str| assert_eq!(errors_of_plain(pointer, value), expected, "{pointer}");
    check("/title", json!("x"), "");
    check(
        "/clusters/0/components",
        json!(["kube_scheduler"]),
        "clusters[0].components: expected `kube_controller_manager` and `kube_scheduler` among the components: without these two, nothing replaces a pod; found no kube_controller_manager",
    );
    check(
        "/clusters/0/workloads/0/kind",
        Value::Null,
        "clusters[0].workloads[0].kind: expected `deployment`, `stateful_set` or `daemon_set`; found nothing",
    );
    check(
        "/clusters/0/workloads/1/pods/1/node",
        json!("worker-x"),
        "clusters[0].workloads[1].pods[1].node: expected the name of a node of this cluster: \"plain-control-plane-0\", \"plain-control-plane-1\", \"plain-control-plane-2\", \"worker-a1\", \"worker-a2\", \"worker-b1\", \"worker-b2\", \"worker-c1\", … (did you mean \"worker-a1\"?); found \"worker-x\"",
    );
    for drained in [json!({"cluster": "plan", "node": "worker-c2"}), json!({"cluster": "plain", "node": "worker-c3"})] {
        let found = errors_of_plain("/operations/0/drain_node", drained);
        assert!(found.starts_with("operations[0].drain_node."), "{found}");
        assert_eq!(found.lines().count(), 1, "{found}");
    }
    let roll = json!({"at": "90m", "roll_component": {"cluster": "plain", "component": "web"}});
    check("/operations/0", roll, "");
    check(
        "/operations/0",
        json!({"at": "90m", "roll_pool": {"cluster": "plain", "pool": "worker"}}),
        "operations[0].roll_pool: expected a cluster that has `machine_controller_manager` among its components: no other component replaces machines; found the cluster \"plain\", which does not have it",
    );
    check(
        "/clusters/0/components",
        json!(["kube_controller_manager", "kube_scheduler", "kube_scheduler", "cluster_autoscaler"]),
        "clusters[0].components: expected `machine_controller_manager` with it: nothing else makes the machines; found cluster_autoscaler alone\n\
         clusters[0].components[2]: expected each component once; found \"kube_scheduler\" again",
    );
    let seed = json!([{"name": "plain", "zones": ["za"], "pools": [{"name": "cpu", "minimum": 1, "maximum": 1}]}]);
    assert!(errors_of_plain("/seeds", seed).starts_with("clusters[0].name: expected a name that no seed has; found \"plain\""));
    check(
        "/operations/0",
        json!({"at": "90m", "scale_workload": {"cluster": "plain", "workload": "wep", "replicas": 3}}),
        "operations[0].scale_workload.workload: expected the name of a workload (did you mean \"web\"?); found \"wep\"",
    );
    check("/operations/0", json!({"at": "90m", "scale_workload": {"cluster": "plain", "workload": "web", "replicas": 0}}), "");
    check(
        "/clusters/0/controllers",
        json!({"cluster_autoscaler": {"sizing": "lax_greedy"}}),
        "clusters[0].controllers.cluster_autoscaler: expected `cluster_autoscaler` among the components: nothing else reads them; found options",
    );
    let options = |options: Value| {
        let all = errors_of_plain("/clusters/0/controllers", json!({"cluster_autoscaler": options}));
        all.lines().filter(|line| !line.contains("nothing else reads them; found options")).collect::<Vec<_>>().join("\n")
    };
    let path = "clusters[0].controllers.cluster_autoscaler";
    for (given, expected) in [
        (
            json!({"expander": ["priority", "least_waste"], "priorities": [{"priority": 1, "groups": ["-(a|b)-z[12]$"]}]}),
            String::new(),
        ),
        (
            json!({"expander": ["most_pods", "random", "most_pods"]}),
            format!("{path}.expander[2]: expected each expander once; found \"most_pods\" again"),
        ),
        (
            json!({"expander": ["random", "least_nodes"]}),
            format!("{path}.expander[1]: expected no expander after `random`, which leaves one group; found \"least_nodes\""),
        ),
        (
            json!({"expander": ["priority"]}),
            format!(
                "{path}.expander: expected `priorities` beside it: without their ConfigMap no group would ever grow; found priority"
            ),
        ),
        (
            json!({"priorities": [{"priority": 1, "groups": ["a(", "(a{99}){99}"]}]}),
            format!(
                "{path}.priorities: expected none without `priority` among the expanders: nothing else reads them; found 1 priorities\n\
                 {path}.priorities[0].groups[0]: expected a regular expression, of at most 32 KiB once it is compiled; found \"a(\"\n\
                 {path}.priorities[0].groups[1]: expected a regular expression, of at most 32 KiB once it is compiled; found \"(a{{99}}){{99}}\""
            ),
        ),
    ] {
        assert_eq!(options(given), expected);
    }
    check("/clusters/0/workloads/0/drainability", json!({"local_storage": true, "owner": "custom"}), "");
    check("/clusters/0/pools/0/start", json!(7), "clusters[0].pools[0].start: expected at most `maximum`, 6; found 7");
    let shoot = json!([{"at": "90m", "drain_node": {"seed": "plain", "node": "worker-c2"}}]);
    assert!(errors_of_plain("/operations", shoot).contains("the name of a seed"));
}

#[test]
fn zonal_shifts() {
    let check = |shift: Value, expected: &str| {
        assert_eq!(errors_of_plain("/operations", json!([{"at": "1m", "shift_zone": shift}])), expected);
    };
    check(
        json!({"cluster": "plain", "zone": "zd", "for": "1h"}),
        "operations[0].shift_zone.zone: expected the name of a zone: \"za\", \"zb\" or \"zc\" (did you mean \"za\"?); found \"zd\"",
    );
    check(
        json!({"cluster": "plain", "zone": "zc", "for": "4d"}),
        "operations[0].shift_zone.for: expected a duration with its unit, such as \"2m\", \"1.3s\" or \"1h30m\", from 1m to 3d; found \"4d\"",
    );
    check(json!({"cluster": "plain", "zone": "zc", "for": "1h"}), "");
    let file = json!({
        "name": "two-of-three", "duration": "1h", "topology": {"regions": [{"name": "r", "zones": ["za", "zb", "zc"]}]},
        "clusters": [{"name": "c", "zones": ["za", "zb"], "control_plane": {"replicas": 1}, "pools": [{"name": "p", "minimum": 2, "maximum": 2}]}],
        "operations": [{"at": "1m", "shift_zone": {"cluster": "c", "zone": "zc", "for": "1h"}}],
    });
    let errors = crate::Scenario::from_json(&file.to_string()).expect_err("it has no nodes there").to_string();
    assert_eq!(errors, "operations[0].shift_zone.zone: expected a zone in which c has nodes; found \"zc\"");
}
