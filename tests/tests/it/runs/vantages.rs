//! Outages as clients in each zone and outside the region meet them, and what the verdict says of them.
#![expect(clippy::float_cmp, reason = "seconds of a report are exact")]

use std::sync::Arc;

use serde_json::{Value, json};

use zonefall_core::report::{OutageKind, Report};
use zonefall_core::run;
use zonefall_core::scenario::Scenario;
use zonefall_core::sim::Options;

fn ran(file: &Value) -> Report {
    let scenario = Arc::new(Scenario::from_json(&file.to_string()).unwrap_or_else(|errors| panic!("{errors}")));
    let report = run::run_checked(&scenario, 1, Options::default(), &mut |_, _| {});
    assert!(report.violations.is_empty(), "{:?}", report.violations);
    report
}

/// Three members in these zones of three, and a fault from 2 min on, for 10.
fn etcd(zones: [&str; 3], fault: &Value, probe: &str) -> Report {
    let nodes: Vec<_> = (0..3).zip(zones).map(|(k, zone)| json!({"name": format!("n{k}"), "zone": zone})).collect();
    let members: Vec<_> = (0..3).map(|k| json!({"name": format!("m{k}"), "node": format!("n{k}")})).collect();
    let mut fault = fault.clone();
    (fault["at"], fault["for"]) = (json!("2m"), json!("10m"));
    ran(&json!({
        "name": "three", "duration": "15m", "prices": {"books": []}, "probe": {"from": probe},
        "topology": {"regions": [{"name": "r", "zones": ["a", "b", "c"]}, {"name": "elsewhere", "zones": ["d"]}], "nodes": nodes},
        "etcd": [{"name": "main", "members": members}],
        "faults": [fault],
    }))
}

/// Seconds without writes: as they count, then for each vantage.
fn writes(report: &Report) -> (f64, Vec<(&str, f64)>) {
    let main = &report.etcd["main"];
    let rows = main.vantages.iter().map(|row| (&*row.from, row.write_unavailable_s)).collect();
    (main.write_unavailable_s, rows)
}

fn first_sentence(report: &Report) -> String {
    let verdict = report.verdict();
    verdict.split_once(". ").map_or(verdict.clone(), |(first, _)| first.to_owned())
}

#[test]
fn a_zone_cut_off_with_all_members_is_an_outage_for_all_but_those_inside() {
    let cut = json!({"kind": "zone_partition", "zone": "a"});
    let report = etcd(["a", "a", "a"], &cut, "worst");
    assert_eq!(writes(&report), (600.0, vec![("a", 0.0), ("b", 600.0), ("c", 600.0), ("outside", 600.0)]));
    let said = "Writes and reads were unavailable for 10 min for clients outside a; inside it nobody noticed";
    assert_eq!(first_sentence(&report), said);
    assert_eq!(report.etcd["main"].outages[0].root_cause, "zone a cut off; zone a is reachable again after 10 min");
    assert_eq!(writes(&etcd(["a", "a", "a"], &cut, "a")).0, 0.0);
    assert_eq!(writes(&etcd(["a", "a", "a"], &cut, "best")).0, 0.0);
    assert_eq!(writes(&etcd(["a", "a", "a"], &cut, "outside")).0, 600.0);
}

#[test]
fn a_zone_cut_off_from_a_majority_counts_for_those_inside_only() {
    let report = etcd(["a", "b", "c"], &json!({"kind": "zone_partition", "zone": "a"}), "worst");
    let (counted, rows) = writes(&report);
    assert!(counted > 0.0 && counted < 5.0, "an election: {counted}");
    assert_eq!(rows, [("a", 600.0), ("b", counted), ("c", counted), ("outside", counted)]);
    assert!(first_sentence(&report).ends_with("for clients outside a; inside it for 10 min"), "{}", report.verdict());
}

#[test]
fn a_link_between_two_zones_that_are_both_connected_is_an_outage_for_one_of_them() {
    let report = etcd(["a", "a", "a"], &json!({"kind": "link_partition", "between": ["a", "b"]}), "worst");
    assert_eq!(writes(&report), (600.0, vec![("a", 0.0), ("b", 600.0), ("c", 0.0), ("outside", 0.0)]));
    let said = "Writes and reads were unavailable for 10 min for clients in b; in a, c and outside the region nobody noticed";
    assert_eq!(first_sentence(&report), said);
    assert!(report.etcd["main"].outages[0].root_cause.starts_with("the link a - b was cut"), "{:?}", report.etcd["main"].outages);
}

#[test]
fn a_zone_without_power_has_no_clients() {
    let report = etcd(["a", "b", "c"], &json!({"kind": "zone_power", "zone": "a"}), "worst");
    let (counted, rows) = writes(&report);
    assert!(counted > 0.0 && counted < 5.0, "an election: {counted}");
    assert!(rows.iter().all(|(_, s)| *s == counted), "{rows:?}");
}

/// Three members in three zones, whose clients in these zones put five times a second, and faults.
fn asked(zones: &[&str], faults: &Value, probe: &str) -> Report {
    let all = ["z1", "z2", "z3"];
    let members = [0, 1, 2].map(|k| json!({"name": format!("m{k}"), "node": format!("n-{}", all[k])}));
    let nodes = all.map(|zone| json!({"name": format!("n-{zone}"), "zone": zone}));
    let client = |zone: &&str| json!({"name": format!("put-{zone}"), "zone": zone, "op": "put", "rate": "5/s", "target": "all"});
    ran(&json!({
        "name": "asked", "duration": "4m", "prices": {"books": []}, "probe": {"from": probe},
        "topology": {"regions": [{"name": "r", "zones": all}], "nodes": nodes},
        "etcd": [{"name": "main", "members": members, "initial": {"leader": "m0"}}],
        "clients": zones.iter().map(client).collect::<Vec<_>>(),
        "faults": faults,
    }))
}

/// The leader's zone is far away: it is without a quorum, and requests from elsewhere to its member are late.
#[test]
fn what_hits_one_zone_by_state_and_others_by_late_requests_counts_once() {
    let slow = |to: &str| json!({"at": "2m", "kind": "link_degraded", "between": ["z1", to], "delay": "3s"});
    let report = asked(&["z1", "z2", "z3"], &json!([slow("z2"), slow("z3")]), "worst");
    let (counted, rows) = writes(&report);
    assert!((119.9..=120.0).contains(&counted), "{counted}");
    assert_eq!(rows[0], ("z1", 120.0));
    assert!(rows[1..3].iter().all(|(_, s)| (20.0..60.0).contains(s)), "{rows:?}");
    assert!(report.etcd["main"].outages.iter().all(|outage| outage.to_s <= 240.0));
}

#[test]
fn the_outage_of_the_only_clients_is_in_the_verdict_when_their_zone_was_cut_off() {
    let faults = json!([
        {"at": "1m", "for": "1m", "kind": "zone_partition", "zone": "z3"},
        {"at": "150s", "for": "20s", "kind": "node_crash", "node": "n-z1"},
    ]);
    let report = asked(&["z3"], &faults, "worst");
    let (_, rows) = writes(&report);
    let own = rows[2].1;
    assert!((60.0..75.0).contains(&own), "{rows:?}");
    assert!(first_sentence(&report).ends_with(&format!("; in z3 for {own:.1} s")), "{}", report.verdict());
}

/// Requests from z1 and z3 are late where they ask the member that is cut off; nobody asks from outside.
#[test]
fn where_nobody_asks_is_not_observed_whoever_counts() {
    let cut = json!([{"at": "1m", "for": "1m", "kind": "zone_partition", "zone": "z2"}]);
    for probe in ["z2", "worst", "best", "outside"] {
        let report = asked(&["z1", "z2", "z3"], &cut, probe);
        let outside = report.etcd["main"].vantages.last().expect("a row for outside");
        assert_eq!((&*outside.from, outside.unobserved.contains(&OutageKind::Write)), ("outside", true), "{probe}");
        assert!(!first_sentence(&report).contains("outside the region nobody noticed"), "{probe}: {}", report.verdict());
    }
}

/// The zone that is cut off is no better than others because its own late requests are an interruption.
#[test]
fn the_best_zone_is_not_the_one_that_was_out() {
    let cut = json!([{"at": "1m", "for": "1m", "kind": "zone_partition", "zone": "z1"}]);
    let (counted, rows) = writes_of(&asked(&["z1", "z2", "z3"], &cut, "best"));
    assert!(rows[0] >= 60.0 && (3.0..10.0).contains(&rows[1]), "{rows:?}");
    assert!((counted - rows[1].min(rows[2])).abs() < 1.0, "{counted} {rows:?}");
}

fn writes_of(report: &Report) -> (f64, Vec<f64>) {
    let (counted, rows) = writes(report);
    (counted, rows.into_iter().map(|(_, s)| s).collect())
}

/// Shoots of which `count` survive nothing and have all in zone za, which is cut off for 5 min.
fn landscape(count: u32) -> Report {
    ran(&landscape_file(count))
}

fn landscape_file(count: u32) -> Value {
    let components = json!([{"name": "etcd-main"}, {"name": "kube-apiserver"}]);
    json!({
        "name": "landscape", "duration": "20m", "prices": {"books": []},
        "topology": {"regions": [{"name": "r", "zones": ["za", "zb", "zc", "parent"]}]},
        "seeds": [{
            "name": "seed", "zones": ["za"], "control_plane": {"zones": ["parent"]},
            "pools": [{"name": "cpu", "minimum": 9, "maximum": 9}],
        }],
        "shoots": [{"name": "s", "count": count, "only_listed": true, "components": components}],
        "faults": [{"at": "10m", "for": "5m", "kind": "zone_partition", "zone": "za"}],
    })
}

#[test]
fn an_api_is_judged_from_outside_and_comes_first_with_its_cause() {
    let report = landscape(1);
    let api = &report.api["shoot--garden--s"];
    let rows: Vec<_> = api.vantages.iter().map(|row| (&*row.from, row.write_unavailable_s)).collect();
    let s = api.write_unavailable_s;
    assert!((300.0..310.0).contains(&s), "{s}");
    assert_eq!(rows, [("za", 0.0), ("zb", s), ("zc", s), ("parent", s), ("outside", s)]);
    assert!(
        !api.outages.is_empty() && api.outages.iter().all(|o| o.root_cause.starts_with("zone za cut off")),
        "{:?}",
        api.outages
    );
    let verdict = report.verdict();
    let (mut api, mut etcd) =
        (verdict.lines().filter(|line| line.contains(": API ")), verdict.lines().filter(|line| line.contains("/etcd")));
    let said =
        "shoot--garden--s: API reads and writes were unavailable for 5 min for clients outside za; inside it nobody noticed.";
    assert!(api.any(|line| line.starts_with(said)), "{verdict}");
    assert!(verdict.find(said) < verdict.find("/etcd") && etcd.next().is_some(), "{verdict}");
}

#[test]
fn an_api_is_judged_from_where_the_probe_stands() {
    let unavailable_s = |probe: Option<&str>| {
        let mut file = landscape_file(1);
        if let Some(from) = probe {
            file["probe"] = json!({"from": from});
        }
        let api = &ran(&file).api["shoot--garden--s"];
        let rows: Vec<_> = api.vantages.iter().map(|row| (row.from.clone(), row.write_unavailable_s)).collect();
        (api.write_unavailable_s, api.read_unavailable_s, rows)
    };
    let (worst, reads, rows) = unavailable_s(None);
    assert!((300.0..310.0).contains(&worst) && (300.0..310.0).contains(&reads), "{worst}, {reads}");
    for (probe, writes) in [("worst", worst), ("zb", worst), ("parent", worst), ("outside", worst), ("za", 0.0), ("best", 0.0)] {
        let (found, _, from) = unavailable_s(Some(probe));
        assert_eq!(found, writes, "from {probe}");
        assert_eq!(from, rows, "what each vantage has does not depend on the probe: {probe}");
    }
}

#[test]
fn controllers_that_were_inactive_are_told_after_the_api_and_before_etcd() {
    let verdict = landscape(1).verdict();
    let said = "seed: API reads and writes were always available for clients outside za; inside it unavailable for 5 min. Inactive: gardenlet \
                for 5.3 min and etcd-druid for 5.3 min.";
    let at = verdict.lines().position(|line| line == said).unwrap_or_else(|| panic!("{verdict}"));
    let etcd = verdict.lines().position(|line| line.contains("/etcd")).expect("etcd is told");
    assert!(at < etcd, "{verdict}");
}

#[test]
fn many_control_planes_are_summed_up_by_failure_tolerance() {
    let verdict = landscape(12).verdict();
    let said = "control planes: Failure tolerance none: API writes of 12 of 12 control planes were unavailable, median 5 min, longest 5 min;";
    assert!(verdict.starts_with(said), "{verdict}");
    assert_eq!(verdict.lines().count(), 1, "{verdict}");
    assert!(verdict.contains("; 24 pods were lost, 24 of them recovered. "), "{verdict}");
    assert!(
        verdict.ends_with("Writes of 12 of 13 etcd clusters were unavailable, longest 5 min; nothing was lost."),
        "{verdict}"
    );
}

#[test]
fn pods_that_moved_are_told_from_those_that_came_back() {
    let server = |fault: &[Value]| {
        let mut file = landscape_file(1);
        file["faults"] = json!(fault);
        ran(&file)
    };
    let pods = server(&[]).pods;
    let node = &pods.iter().find(|pod| pod.name.starts_with("kube-apiserver")).expect("it has one").node;
    let counts = |mut crash: Value| {
        (crash["at"], crash["kind"], crash["node"]) = (json!("5m"), json!("node_crash"), json!(node));
        let report = server(&[crash]);
        let of = report.components.iter().find(|component| component.component == "kube-apiserver").expect("it was lost");
        (of.lost, of.recovered, of.moved)
    };
    assert_eq!(counts(json!({"for": "2m"})), (1, 1, 0));
    assert_eq!(counts(json!({})), (1, 1, 1));
}

/// What late requests of one zone tell says nothing of places from where nobody asked.
#[test]
fn vantages_without_requests_have_what_the_state_tells() {
    let client = |zone: &str| json!({"name": zone, "zone": zone, "op": "put", "rate": "20/s", "target": "nearest"});
    let nodes: Vec<_> = ["a", "b", "c"].map(|zone| json!({"name": format!("n{zone}"), "zone": zone})).into();
    let members: Vec<_> = ["a", "b", "c"].map(|zone| json!({"name": format!("m{zone}"), "node": format!("n{zone}")})).into();
    let report = ran(&json!({
        "name": "three", "duration": "5m", "prices": {"books": []},
        "topology": {"regions": [{"name": "r", "zones": ["a", "b", "c"]}], "nodes": nodes},
        "etcd": [{"name": "main", "members": members, "initial": {"leader": "ma"}}],
        "clients": [client("a"), client("b")],
        "faults": [{"at": "1m", "for": "1m", "kind": "process_pause", "member": "mb"}],
    }));
    let (counted, rows) = writes(&report);
    // Until the connections with the member that is frozen are closed.
    assert!((5.0..8.5).contains(&counted), "{counted}");
    assert_eq!(rows, [("a", 0.0), ("b", counted), ("c", 0.0), ("outside", 0.0)]);
    assert!(first_sentence(&report).ends_with(" for clients in b; in a nobody noticed"), "{}", report.verdict());
}
