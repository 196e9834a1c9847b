//! Tests of the tests of rollouts and budgets: rows that are wrong, or not understood, are refused.

use super::broken::{outcome, refused};

/// A file with one row.
fn file(row: &str) -> String {
    format!(r#"{{"source": "", "rule": "", "form": {{}}, "cases": [{{"name": "a", "origin": "code", {row}}}]}}"#)
}

#[test]
fn oracle_rows_of_zone_aware_updates_are_read_strictly() {
    let name = "zau_max_delete_cases.json";
    let good = r#""max_unavailable": 9, "update_step": 5, "exponential_factor": 1.5, "want": 7"#;
    assert_eq!(outcome("max-delete-good", name, &file(good)), Ok(1));
    refused("max-delete-value", name, &file(&good.replace("1.5", "1.4")), "found 5, wanted 7");
    refused("max-delete-field", name, &file(&good.replace("update_step", "step")), "step");

    let name = "zau_old_replicas_cases.json";
    let good = r#""before": {"a": 3, "b": 1}, "counts": {"b": 2, "c": 4}, "want": {"a": 0, "b": 2, "c": 4}"#;
    assert_eq!(outcome("old-replicas-good", name, &file(good)), Ok(1));
    refused("old-replicas-value", name, &file(&good.replace(r#""a": 0, "#, "")), "wanted");

    let name = "zau_sequence_cases.json";
    let good = r#""zones": {"b": [1, 3], "a": [0, 2, 4]}, "max_unavailable": "50%", "exponential_factor": 2,
        "want": [{"zone": "a", "pods": [4]}, {"zone": "a", "pods": [2, 0]}, {"zone": "b", "pods": [3, 1]}]"#;
    assert_eq!(outcome("sequence-good", name, &file(good)), Ok(1));
    refused("sequence-value", name, &file(&good.replace("50%", "20%")), "wanted");
    refused("sequence-share", name, &file(&good.replace("50%", "50")), "a percentage ends with %");
    refused("sequence-endless", name, &file(&good.replace("50%", "0%")), "no end");

    let name = "zau_step_cases.json";
    let good = r#""update_strategy": "OnDelete", "dry_run": false, "max_unavailable": 2, "exponential_factor": 2,
        "replicas": 1, "ready_replicas": 1,
        "pods": [{"ordinal": 7, "zone": "a", "revision": "old", "phase": "Running", "ready": true, "terminating": false}],
        "status": {"update_step": 0, "update_revision": null, "deleted_replicas": 0, "old_replicas": {}, "paused": false},
        "alarm": "OK", "ignore_alarm": false,
        "want": {"deleted": [7], "update_step": 1, "deleted_replicas": 1, "old_replicas": {"a": 1}, "paused": false,
            "update_revision": "new", "requeue_s": null, "error": false}"#;
    assert_eq!(outcome("step-good", name, &file(good)), Ok(1));
    refused("step-alarm", name, &file(&good.replace(r#""OK""#, r#""ALARM""#)), "found []");
    refused("step-word", name, &file(&good.replace(r#""OK""#, r#""RINGING""#)), "RINGING");
    refused("step-phase", name, &file(&good.replace("Running", "Sleeping")), "Sleeping");
    refused("step-requeue", name, &file(&good.replace("requeue_s\": null", "requeue_s\": 10")), "wanted Some(10s)");
    refused("step-field", name, &file(&good.replace("ordinal", "number")), "number");
}

#[test]
fn oracle_rows_of_budgets_are_read_strictly() {
    let name = "pdb_status_cases.json";
    let good = r#""min_available": null, "max_unavailable": 1, "controllers": [{"name": "web", "replicas": 2}],
        "pods": [{"name": "web-0", "controller": "web", "ready": true, "terminating": false},
            {"name": "web-1", "controller": "web", "ready": true, "terminating": false}],
        "disrupted_pods": {}, "now_s": 1000,
        "want": {"allowed": 1, "healthy": 2, "desired": 1, "expected": 2, "disrupted_pods": {}}"#;
    assert_eq!(outcome("pdb-status-good", name, &file(good)), Ok(1));
    refused("pdb-status-value", name, &file(&good.replace("\"allowed\": 1", "\"allowed\": 2")), "found 1, wanted 2");
    refused("pdb-status-both", name, &file(&good.replace("\"min_available\": null", "\"min_available\": 1")), "expected one of");
    // Who owns the pods is not known: only what is allowed is written.
    let unknown = good.replace(r#""name": "web", "replicas""#, r#""name": "db", "replicas""#);
    refused("pdb-status-owner", name, &file(&unknown), "found 0, wanted 1");
    let nothing = r#""want": {"allowed": 0, "healthy": null, "desired": null, "expected": null, "disrupted_pods": null}"#;
    let (row, _) = unknown.split_once("\"want\"").expect("there is one");
    assert_eq!(outcome("pdb-status-unknown", name, &file(&format!("{row}{nothing}"))), Ok(1));

    let name = "pdb_eviction_cases.json";
    let good = r#""pod": {"phase": "Running", "ready": true, "terminating": false}, "same_name": true, "dry_run": false,
        "budgets": [{"matches": false, "allowed": 3, "healthy": 2, "desired": 2, "generation": 1, "observed_generation": 1,
            "unhealthy_policy": null, "records": 0},
            {"matches": true, "allowed": 3, "healthy": 2, "desired": 2, "generation": 1, "observed_generation": 1,
            "unhealthy_policy": "AlwaysAllow", "records": 0}],
        "want": {"result": "deleted", "allowed_after": [3, 2]}"#;
    assert_eq!(outcome("pdb-eviction-good", name, &file(good)), Ok(1));
    refused("pdb-eviction-value", name, &file(&good.replace("[3, 2]", "[2, 3]")), "wanted");
    refused("pdb-eviction-both", name, &file(&good.replace("false, \"allowed\"", "true, \"allowed\"")), "Error");
    refused("pdb-eviction-policy", name, &file(&good.replace("AlwaysAllow", "Never")), "Never");

    let name = "zdb_status_cases.json";
    let good = r#""max_unavailable": 1, "controllers": [{"name": "web", "replicas": 2}],
        "pods": [{"name": "web-0", "zone": "a", "controller": "web", "phase": "Running", "ready": true, "terminating": false},
            {"name": "web-1", "zone": "b", "controller": "web", "phase": "Running", "ready": true, "terminating": false}],
        "disrupted_pods": {"web-0": 990}, "now_s": 1000,
        "want": {"expected": {"a": 1, "b": 1}, "desired": {"a": 0, "b": 0}, "healthy": {"a": 0, "b": 1},
            "unhealthy": {"a": 1, "b": 0}, "allowed": {"a": 0, "b": 0}, "disrupted_pods": {"web-0": 990}, "recheck_at_s": 1110}"#;
    assert_eq!(outcome("zdb-status-good", name, &file(good)), Ok(1));
    refused("zdb-status-value", name, &file(&good.replace("1110", "1120")), "wanted");
    refused("zdb-status-zone", name, &file(&good.replace(r#""unhealthy": {"a": 1"#, r#""unhealthy": {"a": 0"#)), "unhealthy");
    refused("zdb-status-owner", name, &file(&good.replace(r#""name": "web", "#, r#""name": "db", "#)), "nobody knows");

    let name = "zdb_eviction_cases.json";
    let good = r#""operation": "CREATE", "subresource": "eviction", "dry_run": false,
        "pod": {"phase": "Running", "ready": true, "terminating": false, "zone": "a"},
        "zdb": {"dry_run": false, "generation": 1, "observed_generation": 1, "allowed": {"a": 2, "b": 2}, "recorded": false, "records": 7},
        "want": {"admitted": true, "reason": "DisruptionAllowed", "allowed_after": {"a": 1, "b": 2}, "recorded": true}"#;
    assert_eq!(outcome("zdb-eviction-good", name, &file(good)), Ok(1));
    refused("zdb-eviction-value", name, &file(&good.replace(r#""zone": "a""#, r#""zone": "c""#)), "DeniedByZdb");
    refused("zdb-eviction-word", name, &file(&good.replace("CREATE", "PATCH")), "PATCH");
}

#[test]
fn oracle_rows_of_stateful_sets_are_read_strictly() {
    let name = "statefulset_update_cases.json";
    let good = r#""replicas": 2, "pod_management": "OrderedReady", "strategy": "RollingUpdate", "partition": 0, "max_unavailable": null,
        "max_unavailable_feature": false, "min_ready_s": 0, "update_phase_only": false,
        "pods": [{"ordinal": 0, "revision": "old", "state": "ready", "ready_for_s": 9},
            {"ordinal": 1, "revision": "old", "state": "ready", "ready_for_s": 9}],
        "want": {"created": [], "deleted": [1]}"#;
    assert_eq!(outcome("stateful-update-good", name, &file(good)), Ok(1));
    refused("stateful-update-value", name, &file(&good.replace("\"min_ready_s\": 0", "\"min_ready_s\": 10")), "wanted");
    refused("stateful-update-word", name, &file(&good.replace("OrderedReady", "Random")), "Random");
    refused("stateful-update-state", name, &file(&good.replace(r#""ready", "#, r#""lost", "#)), "lost");

    let name = "statefulset_rollout_cases.json";
    let good = r#""pod_management": "Parallel", "strategy": "RollingUpdate", "partition": 1, "replicas_before": 2, "replicas_after": 3,
        "restart": false, "want": ["old", "new", "new"]"#;
    assert_eq!(outcome("stateful-rollout-good", name, &file(good)), Ok(1));
    refused("stateful-rollout-value", name, &file(&good.replace("RollingUpdate", "OnDelete")), "wanted");
    refused("stateful-rollout-field", name, &file(&good.replace("restart", "again")), "again");
}
