//! What is skewed after a zone is back, and whether the remedy that the report names is one.

use std::sync::Arc;

use serde_json::{Value, json};

use crate::report::FailbackReport;
use crate::run;
use crate::scenario::Scenario;
use crate::sim::Options;

/// A seed over three zones with a shoot that survives the loss of `za`, from 10 min on for an hour.
fn failback(shoot: &Value, lasts: &str, operations: &Value) -> Vec<FailbackReport> {
    let components = json!([{"name": "etcd-main"}, {"name": "kube-apiserver"}]);
    let mut own = json!({"name": "s", "failure_tolerance": "zone", "only_listed": true, "components": components});
    own.as_object_mut().unwrap().extend(shoot.as_object().unwrap().clone());
    let file = json!({
        "name": "landscape", "duration": "100m",
        "topology": {"regions": [{"name": "r", "zones": ["za", "zb", "zc", "parent"]}]},
        "seeds": [{
            "name": "seed", "zones": ["za", "zb", "zc"], "control_plane": {"zones": ["parent"]},
            "pools": [{"name": "cpu", "minimum": 3, "maximum": 9}],
        }],
        "shoots": [own], "operations": operations,
        "faults": [
            {"at": "10m", "for": lasts, "kind": "zone_power", "zone": "za"},
            {"at": "10m", "for": lasts, "kind": "cloud_api", "zone": "za", "create": "refused", "delete": "refused"},
        ],
    });
    let scenario = Arc::new(Scenario::from_json(&file.to_string()).unwrap_or_else(|errors| panic!("{errors}")));
    let report = run::run_checked(&scenario, 1, Options::default(), &mut |_, _| {});
    assert!(report.violations.is_empty(), "{:?}", report.violations);
    assert_eq!(report.to_json().get("failback").is_some(), !report.failback.is_empty(), "not in JSON where there is nothing");
    report.failback
}

fn of<'a>(rows: &'a [FailbackReport], component: &str) -> Option<&'a FailbackReport> {
    rows.iter().find(|row| row.namespace == "shoot--garden--s" && row.component == component)
}

fn per_zone(row: &FailbackReport) -> [u32; 3] {
    ["za", "zb", "zc"].map(|zone| row.per_zone[zone])
}

#[test]
fn a_spread_counts_when_pods_are_placed() {
    let rows = failback(&json!({}), "1h", &json!([]));
    let row = of(&rows, "kube-apiserver").expect("two share a zone");
    assert_eq!((row.skew, per_zone(row)[0], row.cluster.as_str()), (2, 0, "seed"));
    assert!(row.remedy.contains("kubectl rollout restart"), "{row:?}");
    assert!(of(&rows, "etcd-main").is_none(), "its volume has waited for its zone");
    // The remedy is one.
    let restart = json!([{"at": "90m", "roll_component": {"shoot": "s", "component": "kube-apiserver"}}]);
    assert!(of(&failback(&json!({}), "1h", &restart), "kube-apiserver").is_none());
}

#[test]
fn what_follows_from_where_the_volume_is() {
    let roams = json!({"recovery": "preferred", "etcd": {"volumes": "regional"}});
    let rows = failback(&roams, "1h", &json!([]));
    let row = of(&rows, "etcd-main").expect("two share a zone");
    assert!(row.skew == 2 && per_zone(row)[0] == 0 && row.remedy.contains("its volume follows it"), "{row:?}");
    assert!(of(&failback(&json!({"recovery": "preferred"}), "1h", &json!([])), "etcd-main").is_none(), "bound to its zone");
}

#[test]
fn only_of_what_is_over() {
    assert_eq!(failback(&json!({}), "2h", &json!([])), [], "the zone is not back");
    assert_eq!(failback(&json!({}), "1m", &json!([])), [], "nobody has noticed");
}

/// Pods that had no room elsewhere got machines there, which stay.
#[test]
fn machines_stay() {
    let large = json!({"components": [{"name": "etcd-main"}, {"name": "kube-apiserver", "cpu": 5}]});
    let rows = failback(&large, "1h", &json!([]));
    let machines: Vec<_> = rows.iter().filter(|row| row.namespace.is_empty()).collect();
    assert!(machines.len() == 1 && machines[0].skew == 1 && machines[0].per_zone.values().sum::<u32>() == 2, "{rows:?}");
}

/// A shoot in one of three zones: its API server goes elsewhere, and what is pinned to it can no longer go where its volume is.
#[test]
fn a_pod_waits_for_a_zone_that_others_have_left() {
    let pinned = json!({"failure_tolerance": "none"});
    let rows = failback(&pinned, "1h", &json!([]));
    let row = of(&rows, "etcd-main").expect("it finds no node");
    assert!(row.remedy.contains("etcd-main-0 must share a zone with") && row.remedy.contains("cannot leave za"), "{row:?}");
    assert!(of(&failback(&pinned, "1m", &json!([])), "etcd-main").is_none());
}
