//! What the report says of machines, nodes and rollouts, and of which cluster.

use serde_json::{Value, json};

use super::check;

fn printed(duration: &str, clusters: Value, more: Value) -> String {
    let mut file = json!({
        "name": "machines", "duration": duration, "topology": {"regions": [{"name": "r", "zones": ["za", "zb"]}]}, "clusters": clusters,
    });
    file.as_object_mut().expect("an object").extend(more.as_object().expect("an object").clone());
    let lines = |text: String| text.lines().map(|line| line.split_whitespace().collect::<Vec<_>>().join(" ")).collect::<Vec<_>>();
    lines(check(&["run", "-"], &file.to_string(), 0).0).join("\n")
}

/// The cloud has no machine more in `za`, where the roll-out stays; in `zb` a budget keeps a pod until its drain has timed out.
#[test]
fn a_roll_out_of_machines_that_waits_and_a_drain_that_times_out_are_told() {
    let clusters = json!([{
        "name": "c", "zones": ["za", "zb"], "control_plane_nodes": false,
        "components": ["kube_controller_manager", "kube_scheduler", "machine_controller_manager"],
        "pools": [{"name": "p", "minimum": 2, "maximum": 2, "machine": {"type": "m5.large", "cpu": 8, "memory": "32GiB"}}],
        "workloads": [{"name": "w", "kind": "deployment", "replicas": 2, "cpu": 5, "memory": "1GiB", "max_unavailable": 0}],
    }]);
    let more = json!({
        "operations": [{"at": "10m", "roll_pool": {"cluster": "c", "pool": "p"}}],
        "cloud": {"stock": [{"machine": "m5.large", "zone": "za", "count": 0}]},
    });
    let meanwhile = printed("1h", clusters.clone(), more.clone());
    for line in ["cluster zone ready not ready cordoned", "c za 1 - -"] {
        assert!(meanwhile.contains(line), "{line}: {meanwhile}");
    }
    let text = printed("3h", clusters, more);
    for line in [
        "Pods deleted by force when the drain of their machine timed out\nnamespace pod node at eviction refused for ready again after\n",
        " 2 h ",
        "za c-p-z1 1 CrashLoopBackOff, 1 Running; 1 still to be replaced by the roll-out; the cloud is out of stock\n",
        "zb c-p-z2 1 Running\n",
    ] {
        assert!(text.contains(line), "{line}: {text}");
    }
}

/// The autoscaler gives up a node that a pod keeps: it may be evicted by its annotation, but its budget allows none.
#[test]
fn nodes_that_the_autoscaler_did_not_delete_are_a_table() {
    let pod = json!({"safe_to_evict": true});
    let clusters = json!([{
        "name": "c", "zones": ["za"], "control_plane_nodes": false,
        "components": ["kube_controller_manager", "kube_scheduler", "machine_controller_manager", "cluster_autoscaler"],
        "pools": [{"name": "p", "minimum": 0, "maximum": 2, "start": 2}],
        "workloads": [
            {"name": "w", "kind": "deployment", "replicas": 2, "cpu": 1, "memory": "1GiB", "max_unavailable": 0, "drainability": pod},
        ],
        "controllers": {"cluster_autoscaler": {"scale_down": {"unneeded_time": "5m", "delay_after_add": "0s"}}},
    }]);
    let text = printed("12m", clusters, json!({}));
    let head = "Nodes that the autoscaler did not delete\npool nodes since why\n";
    assert!(text.contains(head) && text.contains("its deletion was given up: a pod could not be evicted in time"), "{text}");
    assert!(text.contains("not needed, and deleted if that lasts"), "{text}");
}

#[test]
fn what_is_still_skewed_names_its_cluster_where_there_are_several() {
    let spread = json!({"over": "zone", "max_skew": 1, "hard": false});
    let cluster = |name: &str| {
        json!({
            "name": name, "zones": ["za", "zb"], "control_plane_nodes": false,
            "pools": [{"name": "p", "minimum": 2, "maximum": 2}],
            "workloads": [{"name": "w", "kind": "deployment", "replicas": 4, "cpu": 1, "memory": "1GiB", "spread": [spread]}],
        })
    };
    let outage = json!({"faults": [{"at": "5m", "for": "20m", "kind": "zone_power", "zone": "zb"}]});
    let text = printed("40m", json!([cluster("left"), cluster("right")]), outage);
    let head = "Still skewed after the zone has recovered\ncluster component where remedy\n";
    assert!(text.contains(head) && text.contains("\nleft default/w ") && text.contains("\nright default/w "), "{text}");
}

#[test]
fn a_rollout_beyond_its_progress_deadline_is_told_in_the_table_and_in_the_verdict() {
    let clusters = |deadline: &str| {
        json!([{
            "name": "c", "zones": ["za", "zb"],
            "pools": [{"name": "p", "minimum": 2, "maximum": 2, "machine": {"cpu": 8, "memory": "32GiB"}}],
            "workloads": [{"name": "web", "kind": "deployment", "replicas": 2, "cpu": 1, "memory": "1GiB", "progress_deadline": deadline,
                           "revisions": [{"never_ready": true}]}],
        }])
    };
    let rolled = json!({"operations": [{"at": "5m", "roll_component": {"cluster": "c", "component": "web"}}]});
    let (row, verdict) = (
        "incomplete after 25 min: exceeded its progress deadline; waits for",
        "after 25 min, beyond its progress deadline: waits for",
    );
    for (deadline, exceeds) in [("10m", true), ("30m", false)] {
        let text = printed("30m", clusters(deadline), rolled.clone()).replace('\n', " ");
        assert!(text.contains("incomplete after 25 min"), "{text}");
        assert_eq!((text.contains(row), text.contains(verdict)), (exceeds, exceeds), "{text}");
    }
}
