//! Tests of the tests of nodes, pods and their Services: rows that are wrong, or not understood, are refused.

use super::broken::{outcome, refused};

/// A file with one row.
fn file(row: &str) -> String {
    format!(r#"{{"source": "", "rule": "", "form": {{}}, "cases": [{{"name": "a", "origin": "code", {row}}}]}}"#)
}

#[test]
fn oracle_rows_of_node_group_sizing_are_read_strictly() {
    let name = "gep24_sizing_cases.json";
    let good = r#""strategy": "lax_greedy", "pool_min": 2, "pool_max": 7, "zones": 2, "launched": [3, 1],
        "want": [{"min": 0, "max": 6}, {"min": 0, "max": 4}]"#;
    assert_eq!(outcome("sizing-good", name, &file(good)), Ok(1));
    refused("sizing-value", name, &file(&good.replace(r#""max": 4"#, r#""max": 5"#)), "wanted");
    refused("sizing-strategy", name, &file(&good.replace("lax_greedy", "equitable")), "equitable");
    refused("sizing-static", name, &file(&good.replace("lax_greedy", "static")), "min: 1, max: 4");
    refused("sizing-zones", name, &file(&good.replace(r#""zones": 2"#, r#""zones": 3"#)), "nodes of 2 zones, of 3");
    refused("sizing-field", name, &file(&good.replace("pool_max", "maximum")), "maximum");
}

#[test]
fn oracle_rows_of_similar_groups_are_read_strictly() {
    let name = "ca_similar_groups_cases.json";
    let node = |cpu: u32, labels: &str| {
        format!(r#"{{"capacity": {{"cpu": {cpu}}}, "allocatable": {{"cpu": {cpu}}}, "labels": {{{labels}}}, "requested": {{}}}}"#)
    };
    let row = |comparator: &str, one: &str, other: &str, want: bool| {
        let ratios = r#"{"capacity_memory": 0.1, "allocatable": 0.1, "free": 0.1}"#;
        file(&format!(
            r#""comparator": "{comparator}", "labels": ["size"], "ratios": {ratios}, "nodes": [{one}, {other}], "want": {want}"#
        ))
    };
    let [small, large] = [node(1_000, r#""size": "s""#), node(2_000, r#""size": "l""#)];
    assert_eq!(outcome("similar-good", name, &row("generic", &small, &small, true)), Ok(1));
    assert_eq!(outcome("similar-differs", name, &row("aws", &small, &large, false)), Ok(1));
    // What the others ignore is all that counts.
    let other = node(1_000, r#""size": "l""#);
    assert_eq!(outcome("similar-ignored", name, &row("generic", &small, &other, true)), Ok(1));
    refused("similar-labels", name, &row("labels", &small, &other, true), "found false, wanted true");
    refused("similar-comparator", name, &row("azure", &small, &small, true), "azure");
    refused("similar-field", name, &row("generic", &small, &small, true).replace("requested", "used"), "used");
    let three = format!("{small}, {small}");
    refused("similar-three", name, &row("generic", &small, &three, true), "not understood");
}

#[test]
fn oracle_rows_of_selector_spread_are_read_strictly() {
    let name = "selector_spread_cases.json";
    let good = r#""nodes": [{"name": "m", "zone": null}, {"name": "n", "zone": ""}],
        "pod": {"namespace": "x", "labels": {"app": "web"}, "owner": {"kind": "ReplicaSet", "name": "r"}, "has_spread_constraints": false},
        "existing": [{"node": "m", "namespace": "x", "labels": {"app": "web"}, "terminating": false},
                     {"node": "n", "namespace": "y", "labels": {"app": "web"}, "terminating": false}],
        "services": [], "controllers": [{"kind": "ReplicaSet", "name": "r", "namespace": "x", "selector": {"app": "web"}}],
        "want": {"m": 0, "n": 100}"#;
    assert_eq!(outcome("apart-good", name, &file(good)), Ok(1));
    refused("apart-value", name, &file(&good.replace(r#""m": 0"#, r#""m": 1"#)), "wanted");
    refused("apart-owner", name, &file(&good.replace(r#""name": "r"}"#, r#""name": "s"}"#)), r#""m": 100"#);
    refused("apart-namespace", name, &file(&good.replace(r#""namespace": "y""#, r#""namespace": "x""#)), r#""n": 0"#);
    refused("apart-job", name, &file(&good.replace("ReplicaSet", "Job")), r#""m": 100"#);
    refused("apart-kind", name, &file(&good.replace("ReplicaSet", "CronTab")), "CronTab");
    refused("apart-own", name, &file(&good.replace("straints\": false", "straints\": true")), r#""n": 0"#);
    refused("apart-field", name, &file(&good.replace("terminating", "leaving")), "leaving");
}

#[test]
fn oracle_rows_of_kube_proxy_are_read_strictly() {
    let name = "kube_proxy_endpoints_cases.json";
    let good = r#""node": {"name": "m", "zone": "a"}, "prefer_same_enabled": true, "internal_local": false, "external_local": false,
        "externally_accessible": false, "endpoints": [
            {"address": "1", "ready": true, "serving": true, "terminating": false, "local": false, "zone_hints": ["a"], "node_hints": ["n"]},
            {"address": "2", "ready": true, "serving": true, "terminating": false, "local": true, "zone_hints": ["b"], "node_hints": ["m"]}],
        "want": {"cluster": ["2"], "local": null, "all": ["2"], "has_any": true}"#;
    assert_eq!(outcome("proxy-good", name, &file(good)), Ok(1));
    refused("proxy-node", name, &file(&good.replace("enabled\": true", "enabled\": false")), r#""1""#);
    refused("proxy-local", name, &file(&good.replace("internal_local\": false", "internal_local\": true")), "cluster: None");
    refused("proxy-any", name, &file(&good.replace("any\": true", "any\": false")), "wanted");
    refused("proxy-field", name, &file(&good.replace("serving", "alive")), "alive");
}

#[test]
fn oracle_rows_of_traffic_distribution_are_read_strictly() {
    let name = "traffic_distribution_hints_cases.json";
    let good = r#""traffic_distribution": "PreferSameNode", "slices": [{"state": "unchanged", "endpoints": [
            {"node": "m", "zone": "a", "ready": true, "zone_hints": ["a"], "node_hints": []}]}],
        "want": [{"state": "update", "endpoints": [{"zone_hints": ["a"], "node_hints": ["m"]}]}]"#;
    assert_eq!(outcome("distribution-good", name, &file(good)), Ok(1));
    refused("distribution-zone", name, &file(&good.replace("PreferSameNode", "PreferClose")), "Unchanged");
    refused("distribution-none", name, &file(&good.replace(r#""PreferSameNode""#, "null")), "zone_hints: []");
    refused("distribution-state", name, &file(&good.replace("unchanged", "untouched")), "untouched");
    refused("distribution-field", name, &file(&good.replace(r#""ready""#, r#""alive""#)), "alive");
}
