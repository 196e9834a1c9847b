//! APIs whose servers and etcd are there, and too slow or too busy for requests.

use std::sync::Arc;

use serde_json::{Value, json};

use zonefall_core::report::{ApiOutageReport, Report};
use zonefall_core::run;
use zonefall_core::scenario::Scenario;
use zonefall_core::sim::Options;

/// A cluster whose users read and write, with all disks `slower` for a minute and more.
fn report(slower: &str, inflight: &Value) -> Report {
    let fault = |k: u8| json!({"at": "60s", "for": "90s", "kind": "disk_slow", "volume": format!("c/etcd-{k}"), "add": slower, "factor": 1});
    let file = json!({
        "name": "late", "duration": "4m", "traffic": "requests", "prices": {"books": []},
        "topology": {"regions": [{"name": "r", "zones": ["a", "b", "c"]}]},
        "clusters": [{
            "name": "c", "zones": ["a", "b", "c"], "pools": [{"name": "p", "minimum": 0, "maximum": 0}],
            "use": {
                "idle": false,
                "inflight": inflight,
                "requests": [
                    {"name": "reads", "verb": "get", "rate": "20/s"},
                    {"name": "writes", "verb": "update", "rate": "20/s"},
                ],
            },
        }],
        "faults": [fault(0), fault(1), fault(2)],
    });
    let scenario = Scenario::from_json(&file.to_string()).unwrap_or_else(|errors| panic!("{errors}"));
    let report = run::run_checked(&Arc::new(scenario), 1, Options::default(), &mut |_, _| {});
    assert!(report.violations.is_empty(), "{:?}", report.violations);
    report
}

fn late<'a>(report: &'a Report, verb: &str) -> Vec<&'a ApiOutageReport> {
    report.api["c"].outages.iter().filter(|outage| outage.late && outage.verb == verb).collect()
}

/// Twice the delay is less than the deadline, and writes wait for others.
#[test]
fn writes_that_wait_for_slow_disks_are_an_outage() {
    let report = report("900ms", &json!({}));
    let api = &report.api["c"];
    let [outage] = late(&report, "write")[..] else { panic!("{:#?}", api.outages) };
    assert!((58.0..63.0).contains(&outage.from_s) && (140.0..165.0).contains(&outage.to_s), "{outage:?}");
    assert!(outage.completed && !outage.is_whole() && outage.what() == "late write", "{outage:?}");
    assert!((outage.unavailable_s / (outage.to_s - outage.from_s) - outage.share).abs() < 1e-9, "{outage:?}");
    let cause = &outage.root_cause;
    assert!(cause.contains("disk of etcd-0 became slow") && cause.contains("commits of the databases of "), "{cause}");
    let total: f64 = api.outages.iter().filter(|outage| outage.verb == "write").map(|outage| outage.unavailable_s).sum();
    assert!((total - api.write_unavailable_s).abs() < 1e-6 && api.write_unavailable_s > 60.0, "{api:#?}");
    assert!(api.vantages.iter().all(|row| (row.write_unavailable_s - total).abs() < 1e-6), "{:?}", api.vantages);
    assert!(report.verdict().contains(" too slow for "), "{}", report.verdict());
}

#[test]
fn disks_that_are_hardly_slower_are_no_outage() {
    let report = report("5ms", &json!({}));
    assert_eq!((report.api["c"].outages.as_slice(), report.api["c"].write_unavailable_s), (&[][..], 0.0));
}

#[test]
fn a_full_server_is_an_outage_whose_cause_says_so() {
    let report = report("100ms", &json!({"reads": 400, "writes": 1}));
    let [outage] = late(&report, "write")[..] else { panic!("{:#?}", report.api["c"].outages) };
    assert!(outage.root_cause.contains("API servers rejected "), "{}", outage.root_cause);
    assert!(late(&report, "read").is_empty(), "{:#?}", report.api["c"].outages);
}
