//! What the schedulers find no place for stands in the report, and first in the verdict.

use std::sync::Arc;

use serde_json::{Value, json};

use zonefall_core::compare::Value::Number;
use zonefall_core::compare::compare;
use zonefall_core::report::{PendingReport, Report};
use zonefall_core::run;
use zonefall_core::scenario::Scenario;
use zonefall_core::sim::Options;

/// Control planes of etcd and an API server, in a seed over two zones that takes `allocatable` of them.
fn ran(allocatable: u32, shoots: Value) -> (Scenario, Report) {
    let mut all = shoots;
    for shoot in all.as_array_mut().unwrap() {
        shoot["only_listed"] = json!(true);
        let mut components = vec![json!({"name": "etcd-main"}), json!({"name": "kube-apiserver"})];
        components.extend(shoot["components"].as_array().cloned().unwrap_or_default());
        shoot["components"] = json!(components);
    }
    let file = json!({
        "name": "landscape", "duration": "1m",
        "topology": {"regions": [{"name": "r", "zones": ["za", "zb", "parent"]}]},
        "seeds": [{
            "name": "seed", "zones": ["za", "zb"], "allow_even_zones": true, "control_plane": {"zones": ["parent"]},
            "allocatable_shoots": allocatable, "pools": [{"name": "cpu", "minimum": 4, "maximum": 4}],
        }],
        "shoots": all,
    });
    let scenario = Arc::new(Scenario::from_json(&file.to_string()).unwrap_or_else(|errors| panic!("{errors}")));
    let report = run::run_checked(&scenario, 1, Options::default(), &mut |_, _| {});
    assert!(report.violations.is_empty(), "{:?}", report.violations);
    assert_eq!(report.to_json().get("pending").is_some(), report.pending.is_some(), "not in JSON where there is nothing");
    ((*scenario).clone(), report)
}

#[test]
fn shoots_that_no_seed_takes_are_pending() {
    let shoots = |of: u32| json!([{"name": "s", "count": of}, {"name": "z", "failure_tolerance": "zone"}]);
    let (full, one) = (ran(2, shoots(4)), ran(2, shoots(2)));
    let event = |why: &str| format!("0/1 seed cluster candidate(s) are eligible for scheduling: {{seed => {why}}}");
    let capacity = event("seed does not have available capacity for shoots");
    let zones = event("seed is not multi-zonal, for a shoot control plane with failure tolerance type 'zone'");

    let pending = |(_, report): &(Scenario, Report)| report.pending.clone().expect("some are pending");
    let rows: Vec<_> = pending(&full).shoots.into_iter().map(|row| (row.shoot, row.reason)).collect();
    let expected = [("s-3", &capacity), ("s-4", &capacity), ("z", &zones)];
    assert_eq!(rows, expected.map(|(shoot, why)| (shoot.to_owned(), why.clone())));
    let cells = PendingReport::rows(&pending(&full));
    let expected = [["s-3 to s-4 (2)", "none", "Pending", &capacity], ["z", "zone", "Pending", &zones]];
    assert_eq!(cells, expected.map(|row| row.map(str::to_owned)));

    let first = |(_, report): &(Scenario, Report)| report.verdict().lines().next().unwrap_or_default().to_owned();
    let said = format!("3 of 5 control planes were never created: {capacity} (1 of them for another reason).");
    assert_eq!(first(&full), said);
    assert_eq!(first(&one), format!("1 of 3 control planes was never created: {zones}."));

    let compared = compare(&[(&full.0, &full.1), (&one.0, &one.1)]);
    let row = compared.rows.iter().find(|row| row.what == "control planes never created").expect("some are pending");
    assert_eq!(row.values, [Some(Number(3.0)), Some(Number(1.0))]);
}

#[test]
fn control_planes_with_pods_without_a_node_come_first() {
    let more = |component: Value| json!([component]);
    let big = more(json!({"name": "big", "kind": "deployment", "replicas": 2, "cpu": 1_000}));
    let ssd = more(json!({"name": "ssd", "kind": "deployment", "node_affinity": ["disk=ssd"]}));
    let shoots = json!([{"name": "ssd", "components": ssd}, {"name": "big", "count": 2, "components": big}, {"name": "well"}]);
    let (scenario, report) = ran(4, shoots);
    let pods = report.pending.clone().expect("some are pending").pods;
    let told: Vec<_> = pods.iter().map(|row| (row.shoot.as_str(), row.pods, row.reason.as_str())).collect();
    let (affinity, cpu) = (
        "0/4 nodes are available: 4 node(s) didn't match Pod's node affinity/selector",
        "0/4 nodes are available: 4 Insufficient cpu",
    );
    assert_eq!(told, [("ssd", 1, affinity), ("big-1", 2, cpu), ("big-2", 2, cpu)]);
    let first = report.verdict().lines().next().map(str::to_owned);
    let said = format!("3 of 4 control planes have pods without a node, 5 in all: {cpu} (1 of them for another reason).");
    assert_eq!(first, Some(said));
    let rows = report.pending.as_ref().expect("some are pending").rows();
    let expected = [["ssd", "none", "1 pod Pending", affinity], ["big-1 to big-2 (2)", "none", "2 pods Pending", cpu]];
    assert_eq!(rows, expected.map(|row| row.map(str::to_owned)));
    let compared = compare(&[(&scenario, &report)]);
    let row = compared.rows.iter().find(|row| row.what.contains("pods without a node")).expect("some are pending");
    assert_eq!(row.values, [Some(Number(3.0))]);
    assert!(compared.rows.iter().all(|row| !row.what.contains("never created")));
}

#[test]
fn nothing_is_pending_where_each_shoot_has_its_seed() {
    let (scenario, report) = ran(2, json!([{"name": "s", "count": 2}]));
    assert_eq!(report.pending, None);
    let compared = compare(&[(&scenario, &report)]);
    assert!(compared.rows.iter().all(|row| !row.what.contains("never created")));
}
