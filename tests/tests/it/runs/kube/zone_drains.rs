//! A whole zone is drained under a budget: how long that takes where pods can move, and where it stops when they cannot.

use serde_json::{Value, json};

use super::zone_aware::{cluster_in, report};
use zonefall_core::report::{DrainEnd, Report};
use zonefall_tests::numbers;
use zonefall_tests::worlds::dice::Dice;

/// Seconds after which a drain asks again.
const RETRY_S: f64 = 5.0;

/// A zone that is drained.
#[derive(Debug)]
struct Case {
    /// Pods of each zone; those of the first are drained.
    sizes: Vec<u64>,
    nodes: u64,
    /// Seconds that a pod takes to stop and to start.
    stop: u64,
    start: u64,
    max_unavailable: Value,
    /// Pods that this allows.
    most: u64,
    zdb: &'static str,
}

fn case(number: u64) -> Case {
    let mut dice = Dice::new("zone drains", number);
    let mut sizes: Vec<u64> = (0..dice.between(2, 4)).map(|_| dice.between(1, 8)).collect();
    sizes[0] = dice.between(1, 14);
    let all: u64 = sizes.iter().sum();
    let (max_unavailable, most) = if dice.percent(50) {
        let most = dice.between(1, 5);
        (json!(most), most)
    } else {
        let percent = dice.between(1, 50);
        (json!(format!("{percent}%")), (percent * all).div_ceil(100))
    };
    let zdb = dice.pick(&["code", "strict"]);
    Case { sizes, nodes: dice.between(1, 3), stop: dice.between(1, 4), start: dice.between(3, 20), max_unavailable, most, zdb }
}

/// The nodes of the first zone are drained at 5 min; `fields` of the StatefulSet, and its budget.
fn drained(case: &Case, fields: Value, kind: &str, budget: Value) -> Report {
    let zones = &["za", "zb", "zc", "zd"][..case.sizes.len()];
    let of_zone = |(zone, size): (&&str, &u64)| (0..*size).map(|k| format!("{zone}-{}", k % case.nodes + 1)).collect::<Vec<_>>();
    let places = zones.iter().zip(&case.sizes).flat_map(of_zone);
    let pods: Vec<Value> = places.enumerate().map(|(k, node)| json!({"name": format!("db-{k}"), "node": node})).collect();
    let mut db = json!({
        "name": "db", "kind": "stateful_set", "replicas": pods.len(), "parallel": true, "cpu": 0.05, "memory": "16MiB", "image": "1MiB",
        "start": format!("{}s", case.start), "stop": format!("{}s", case.stop), "pods": pods,
    });
    let Value::Object(fields) = fields else { panic!("fields are an object") };
    db.as_object_mut().expect("an object").extend(fields);
    let drain = |k: u64| json!({"at": "5m", "drain_node": {"cluster": "c", "node": format!("za-{k}")}});
    let drains: Vec<Value> = (1..=case.nodes).map(drain).collect();
    report(cluster_in(zones, case.nodes as usize, json!({"workloads": [db], kind: [budget]})), json!(drains), json!([]), 1)
}

fn by_zone(case: &Case) -> Value {
    json!({"name": "db", "pods": "app=db", "max_unavailable": case.max_unavailable, "zdb": case.zdb})
}

#[test]
fn a_drain_of_a_zone_takes_as_many_steps_as_its_budget_says_within_one_retry_a_step() {
    for number in numbers(30, 300) {
        let case = case(number);
        let alone = Case { max_unavailable: json!(1), most: 1, ..self::case(number) };
        let equally_safe = json!({"name": "db", "pods": "app=db", "max_unavailable": 1});
        for (what, case, report) in [
            ("ZoneDisruptionBudget", &case, drained(&case, json!({}), "zone_disruption_budgets", by_zone(&case))),
            ("PodDisruptionBudget of 1", &alone, drained(&alone, json!({}), "budgets", equally_safe)),
        ] {
            let steps = case.sizes[0].div_ceil(case.most) as f64;
            // Deletion, binding, and starts one after the other.
            let (ready, delay) = ((case.stop + case.start) as f64, 0.5);
            let took = report.drains.iter().map(|drain| drain.duration_s).fold(0.0, f64::max);
            let (least, most) = ((steps - 1.0) * ready, (steps - 1.0) * (ready + delay + RETRY_S) + case.stop as f64 + delay);
            assert!(report.drains.iter().all(|drain| drain.end == DrainEnd::Drained), "{number}: {what}: {:?}", report.drains);
            assert!((least..=most).contains(&took), "{number}: {what}: {took} s, expected {least} to {most} s: {case:?}");
            assert!(report.budgets[0].zones_disrupted <= 1, "{number}: {what}: {:?}", report.budgets);
        }
    }
}

#[test]
fn a_drain_of_a_zone_whose_pods_cannot_leave_it_stops_after_as_many_as_the_budget_allows_and_the_report_says_so() {
    let mut stopped = 0;
    for number in numbers(30, 300) {
        let case = case(number);
        let report = drained(&case, json!({"volume": "zonal"}), "zone_disruption_budgets", by_zone(&case));
        let (pods, evicted) = (case.sizes[0], case.sizes[0].min(case.most));
        assert_eq!(u64::from(report.budgets[0].granted), evicted, "{number}: {case:?}");
        let remaining: Vec<_> = report.drains.iter().flat_map(|drain| &drain.remaining).collect();
        assert_eq!(remaining.len() as u64, pods - evicted, "{number}: {case:?}");
        let says_so = "ZoneDisruptionBudget db allows no disruption in its zone";
        assert!(remaining.iter().all(|pod| pod.reason == says_so), "{number}: {remaining:?}");
        for drain in &report.drains {
            let end = if drain.remaining.is_empty() { DrainEnd::Drained } else { DrainEnd::Unfinished };
            assert_eq!(drain.end, end, "{number}");
        }
        stopped += u32::from(pods > evicted);
    }
    assert!(stopped >= 10, "{stopped} drains stopped");
}
