//! Fields of clusters that change nothing, pods that can never be placed, and roll-outs of machines that Gardener's API rejects.

use serde_json::{Value, json};

use crate::Scenario;

/// A cluster over three zones whose machines an autoscaler looks after, with these fields of its pool, of its workload and of itself: the
/// warnings, or the errors.
fn check(pool: Value, workload: Value, cluster: Value) -> Vec<String> {
    let merged = |mut value: Value, more: Value| {
        let Value::Object(more) = more else { panic!("fields are an object") };
        value.as_object_mut().expect("an object").extend(more);
        value
    };
    let pool = merged(json!({"name": "p", "minimum": 3, "maximum": 6}), pool);
    let workload = merged(json!({"name": "w", "kind": "stateful_set", "replicas": 3}), workload);
    let components = ["kube_controller_manager", "kube_scheduler", "machine_controller_manager", "cluster_autoscaler"];
    let cluster = merged(
        json!({
            "name": "c", "zones": ["a", "b", "c"], "control_plane_nodes": false, "components": components,
            "pools": [pool], "workloads": [workload], "controllers": {"cluster_autoscaler": {}},
        }),
        cluster,
    );
    let topology = json!({"regions": [{"name": "r", "zones": ["a", "b", "c"]}]});
    let file = json!({"name": "plain", "duration": "1m", "topology": topology, "clusters": [cluster]});
    match Scenario::from_json(&file.to_string()) {
        Ok(scenario) => scenario.warnings.iter().map(|warning| warning.to_string().replacen("clusters[0].", "", 1)).collect(),
        Err(errors) => errors.to_string().lines().map(|error| error.replacen("clusters[0].", "", 1)).collect(),
    }
}

fn scales(options: Value) -> Value {
    json!({"controllers": {"cluster_autoscaler": options}})
}

#[test]
fn fields_of_clusters_that_change_nothing_are_warned_of() {
    let none = || json!({});
    let service = |policy: &str| {
        let clients = json!({"clients": "app=w", "connections": "1/s", "bytes": "1KiB"});
        json!({"services": [{
            "name": "s", "pods": "app=w", "traffic_distribution": "prefer_same_zone", "internal_traffic_policy": policy, "traffic": clients,
        }]})
    };
    let spread = |hard: bool| json!({"spread": [{"over": "zone", "max_skew": 1, "hard": hard}]});
    let descheduler = |soft: bool| json!({"controllers": {"descheduler": {"schedule_anyway": soft}}});
    let priorities =
        |pattern: &str| scales(json!({"expander": ["priority"], "priorities": [{"priority": 1, "groups": [pattern]}]}));
    let stay = "expected it with `controllers.cluster_autoscaler.scale_down`: without that no node is deleted for not being needed; found it";
    let (disabled, local) = (json!({"scale_down_disabled": true}), json!({"drainability": {"local_storage": true}}));
    for (pool, workload, cluster, expected) in [
        (none(), none(), none(), None),
        (disabled.clone(), none(), none(), Some(format!("pools[0].scale_down_disabled: {stay}"))),
        (disabled, none(), scales(json!({"scale_down": {}})), None),
        (none(), local.clone(), none(), Some(format!("workloads[0].drainability: {stay}"))),
        (none(), local, scales(json!({"scale_down": {}})), None),
        (none(), none(), service("cluster"), None),
        (
            none(),
            none(),
            service("local"),
            Some("services[0].traffic_distribution: expected none with `internal_traffic_policy` local: traffic stays on the client's node in any case; found one".to_owned()),
        ),
        (none(), none(), scales(json!({"count": "live", "sizing": "lax_greedy"})), None),
        (
            none(),
            none(),
            scales(json!({"count": "live"})),
            Some("controllers.cluster_autoscaler.count: expected none with `sizing` static, which counts no nodes; found one".to_owned()),
        ),
        (
            none(),
            none(),
            scales(json!({"scale_down": {"utilization_threshold": 0}})),
            Some("controllers.cluster_autoscaler.scale_down.utilization_threshold: expected more than 0: of no node is less requested, so none is deleted; found 0".to_owned()),
        ),
        (none(), none(), priorities("p-z[12]$"), None),
        (
            none(),
            none(),
            priorities("^p-"),
            Some("controllers.cluster_autoscaler.priorities[0].groups[0]: expected a pattern that is found in the name of a machine deployment, like c-p-z1; found \"^p-\"".to_owned()),
        ),
        (none(), spread(true), descheduler(false), None),
        (none(), spread(false), descheduler(true), None),
        (
            none(),
            spread(false),
            descheduler(false),
            Some("controllers.descheduler: expected a workload with a topology spread constraint that must hold, or `schedule_anyway`: the descheduler evicts no pod; found none".to_owned()),
        ),
        (
            none(),
            none(),
            descheduler(true),
            Some("controllers.descheduler: expected a workload with a topology spread constraint (`spread`): the descheduler evicts no pod; found none".to_owned()),
        ),
    ] {
        assert_eq!(check(pool, workload, cluster), Vec::from_iter(expected));
    }
}

#[test]
fn pods_that_can_never_be_placed_are_warned_of() {
    let apart = |replicas: u32| json!({"replicas": replicas, "anti_affinity": [{"over": "zone"}]});
    let volume = |zones: &str, binding: &str| {
        let affinity = [format!("topology.kubernetes.io/zone in ({zones})")];
        json!({"volume": "zonal", "volume_binding": binding, "node_affinity": affinity})
    };
    let elsewhere = "workloads[0].volume_binding: expected wait_for_first_consumer: volumes are provisioned in zones without a node that suits it, too, and their pods find none; found immediate";
    let tainted = || json!({"taints": [{"key": "gpu"}]});
    let nowhere = |workload: &str, found: &str, of: &str| {
        Some(format!("{workload}: expected a pool {of}that has a node or can get one: its pods find no node; found {found}"))
    };
    for (pool, workload, expected) in [
        (json!({"minimum": 0, "maximum": 3, "start": 0}), json!({}), None),
        (json!({"minimum": 0, "maximum": 0, "start": 0}), json!({"replicas": 0}), None),
        (json!({"minimum": 0, "maximum": 0, "start": 0}), json!({}), nowhere("workloads[0]", "none", "of \"c\" ")),
        (json!({"minimum": 0, "maximum": 0, "start": 0}), json!({"pool": "p"}), nowhere("workloads[0].pool", "\"p\"", "")),
    ] {
        assert_eq!(check(pool, workload, json!({})), Vec::from_iter(expected));
    }
    for (pool, workload, expected) in [
        (tainted(), json!({"tolerates": ["gpu"]}), None),
        (
            tainted(),
            json!({}),
            Some(
                "workloads[0].tolerates: expected taints of a node that is in \"c\" or can come: its pods find no node; found those of no node that suits it otherwise",
            ),
        ),
        (json!({}), apart(3), None),
        (
            json!({}),
            apart(4),
            Some(
                "workloads[0].replicas: expected at most 3, the zones of nodes that suit it: of more pods than that some find no node; found 4 that must not share a zone",
            ),
        ),
        (json!({}), volume("a,b,c", "immediate"), None),
        (json!({}), volume("a", "wait_for_first_consumer"), None),
        (json!({}), volume("a", "immediate"), Some(elsewhere)),
        (json!({"zones": ["a"]}), volume("a", "immediate"), None),
    ] {
        assert_eq!(check(pool, workload, json!({})), Vec::from_iter(expected));
    }
}

#[test]
fn roll_outs_of_machines_that_the_api_rejects_are_errors() {
    let rollout = |surge: Value, unavailable: Value| {
        check(json!({"rollout": {"max_surge": surge, "max_unavailable": unavailable}}), json!({}), json!({}))
    };
    let path = "pools[0].rollout.max_unavailable: expected";
    let neither = format!(
        "{path} more than 0 where `max_surge` is 0: the API rejects it, because no machine could be replaced; found 0 of both"
    );
    assert_eq!([rollout(json!(0), json!(0)), rollout(json!("0%"), json!("0%"))].concat(), [&*neither; 2]);
    assert_eq!(rollout(json!(0), json!("150%")), [format!("{path} at most 100%; found \"150%\"")]);
    assert_eq!(rollout(json!("150%"), json!(0)), [""; 0]);
}
