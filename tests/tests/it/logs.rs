//! What flows is in the logs as what is asked request by request: in random scenarios members that come back catch up on as many entries,
//! databases are as large, a standby that takes over has lost as much, and members say as much to each other.
//!
//! Requests come at random and flows evenly, so that of few entries chance decides how many there are, and how many of the large ones: 4
//! standard deviations may be between them, and 2 of all cases together.

use std::sync::Arc;

use serde_json::{Value, json};
use zonefall_core::network::ledger::Class;
use zonefall_core::report::{EtcdReport, Report};
use zonefall_core::run::{run, run_checked};
use zonefall_core::scenario::Scenario;
use zonefall_core::sim::Options;
use zonefall_tests::numbers;
use zonefall_tests::threads::of_numbers;
use zonefall_tests::worlds::dice::{Dice, ms};

/// Random cases: usually, and thoroughly.
const CASES: [usize; 2] = [200, 20_000];
/// How far the two may be apart, as a share.
const TOLERANCE: f64 = 0.02;
/// Entries at the start.
const FIRST: u64 = 10_000;
/// What entries of the seed's own etcd add to the bytes between members by chance: it is asked at random.
const OF_SEED: f64 = 10_000.0;
/// Bytes of the largest objects.
const LARGEST: u64 = 8_000;
const ETCDS: [&str; 2] = ["shoot--garden--shop/etcd-main", "shoot--garden--shop/etcd-events"];

fn case(number: u64, traffic: &str) -> Value {
    let mut dice = Dice::new("logs", number);
    let mode = dice.pick(&["quorum", "hot_standby", "learner"]);
    let zones: &[&str] = if mode == "quorum" { &["za", "zb", "zc"] } else { &["za", "zb"] };
    let mut seed = json!({
        "name": "seed", "zones": zones, "control_plane": {"zones": ["parent"]},
        "pools": [{"name": "cpu", "minimum": 6, "maximum": 12}],
    });
    let mut shoot = json!({"name": "shop", "failure_tolerance": "zone"});
    if mode != "quorum" {
        seed["allow_even_zones"] = json!(true);
        shoot["etcd"] = json!({"mode": {mode: {}}});
    }
    let requests = |verb: &str, dice: &mut Dice| {
        let object = format!("{}B", dice.between(100, LARGEST));
        let rate = format!("{}/s", dice.between(1, 5));
        json!({"name": verb, "verb": verb, "rate": rate, "object": object})
    };
    let verbs = ["update", "create", "delete"].into_iter().filter(|_| dice.percent(50)).collect::<Vec<_>>();
    let own: Vec<Value> = verbs.into_iter().map(|verb| requests(verb, &mut dice)).collect();
    shoot["use"] = json!({"nodes": dice.below(30), "requests": own});
    let (zone, at, lasts) = (dice.pick(zones), ms(dice.ms(30_000, 400_000)), ms(dice.ms(30_000, 300_000)));
    let faults = match dice.below(3) {
        0 => json!([{"at": at, "for": lasts, "kind": "zone_power", "zone": zone}]),
        1 => json!([{"at": at, "for": lasts, "kind": "zone_partition", "zone": zone}]),
        _ => json!([]),
    };
    json!({
        "name": format!("logs-{number}"), "seed": number, "duration": "15m", "traffic": traffic,
        "topology": {"regions": [{"name": "r", "zones": zones.iter().copied().chain(["parent"]).collect::<Vec<_>>()}]},
        "seeds": [seed], "shoots": [shoot], "faults": faults,
    })
}

fn simulate(number: u64, traffic: &str) -> Report {
    let file = case(number, traffic).to_string();
    let scenario = Scenario::from_json(&file).unwrap_or_else(|errors| panic!("case {number}: {errors}\n{file}"));
    run(&Arc::new(scenario), number, Options::default(), &mut |_, _| {}, &mut |_| {})
}

/// What logs make visible: what it is, how much, and how much of that chance decides (one standard deviation).
fn figures(report: &Report) -> Vec<(&'static str, f64, f64)> {
    let appended: f64 = report.messages.iter().filter(|row| row.class == Class::Append).map(|row| row.wire_bytes as f64).sum();
    // When a fault is over, chance decides how many batches are sent twice, by POST and on a new stream.
    let appended = if report.faults.is_empty() { appended } else { 0.0 };
    // The larger entries, of etcd-main, decide.
    let largest = report.etcd[ETCDS[0]].members.iter().map(|member| member.last_index - FIRST).max().unwrap_or(0);
    let chance = appended / (largest.max(1) as f64).sqrt();
    let all = ETCDS.into_iter().flat_map(|name| of_cluster(&report.etcd[name]));
    all.chain([("bytes between members", appended, chance.hypot(OF_SEED))]).collect()
}

fn of_cluster(etcd: &EtcdReport) -> Vec<(&'static str, f64, f64)> {
    let entries = |what, count: u64| (what, count as f64, (count as f64).sqrt());
    let last = etcd.members.iter().map(|member| member.last_index).max().unwrap_or(0);
    let database = etcd.members.iter().map(|member| member.database_bytes).max().unwrap_or(0);
    let [entries_caught_up, caught_up] =
        etcd.catch_up.iter().fold([0; 2], |[entries, bytes], own| [entries + own.entries, bytes + own.bytes]);
    vec![
        entries("entries", last - FIRST),
        entries("lost entries", etcd.rpo.lost_entries),
        entries("entries caught up on", entries_caught_up),
        ("bytes of databases sent", etcd.snapshots.iter().map(|own| own.bytes as f64).sum(), 0.0),
        // Their variance is the sum of the squares of entries' sizes: at most this, where the largest are all of it.
        ("bytes caught up on", caught_up as f64, ((caught_up * LARGEST) as f64).sqrt()),
        ("bytes of the database", database as f64, 0.0),
    ]
}

#[test]
fn logs_are_the_same_request_by_request() {
    let cases = of_numbers(&numbers(CASES[0], CASES[1]), |number| {
        let [flows, requests] = ["flows", "requests"].map(|traffic| figures(&simulate(number, traffic)));
        let both: Vec<_> = flows.into_iter().zip(requests).collect();
        let apart = both.iter().filter(|((_, flow, chance), (_, asked, more))| {
            (flow - asked).abs() > TOLERANCE * asked + 4.0 * chance.hypot(*more) + 3.0
        });
        let words = |((what, flow, _), (_, asked, _)): &((&str, f64, f64), (&str, f64, f64))| {
            format!("case {number}: {what}: {flow} as flows, {asked} request by request\n{}", case(number, "flows"))
        };
        let words: Vec<String> = apart.map(words).collect();
        (both, words)
    });
    let mut differences: Vec<String> = cases.iter().flat_map(|(_, words)| words.clone()).collect();
    for place in 0..cases[0].0.len() {
        let what = cases[0].0[place].0.0;
        let flow: f64 = cases.iter().map(|(both, _)| both[place].0.1).sum();
        let asked: f64 = cases.iter().map(|(both, _)| both[place].1.1).sum();
        let chance = cases.iter().map(|(both, _)| both[place].1.2.powi(2)).sum::<f64>().sqrt();
        if (flow - asked).abs() > TOLERANCE * asked + 2.0 * chance {
            differences.push(format!("all cases: {what}: {flow} as flows, {asked} request by request"));
        }
    }
    assert!(differences.is_empty(), "{} differ:\n{}", differences.len(), differences.join("\n"));
}

/// A displaced member that was cut off with API servers goes on, and they leave it at once, as they do where all flows.
#[test]
fn api_servers_write_nothing_to_a_displaced_etcd_of_events() {
    let report = simulate(255_028_700_000_589, "requests");
    let causes = |name: &str| report.etcd[name].rpo.events.iter().map(|loss| loss.cause.clone()).collect::<Vec<_>>();
    assert_eq!(
        ETCDS.map(causes),
        ["main", "events"].map(|of| vec![format!("etcd-{of}-1 took over with the entries it had received")])
    );
}

/// Where invariants are checked, entries that flow are applied one by one; otherwise in one step where nothing depends on a single one.
#[test]
fn entries_applied_in_one_step_give_the_same_report_as_one_by_one() {
    for number in 0..20 {
        let scenario = Scenario::from_json(&case(number, "flows").to_string()).expect("the other tests read it, too");
        let checked = run_checked(&Arc::new(scenario), number, Options::default(), &mut |_, _| {});
        let plain = simulate(number, "flows");
        assert_eq!((&plain.trace_hash, plain.events), (&checked.trace_hash, checked.events), "case {number}");
        assert_eq!(plain.etcd, checked.etcd, "case {number}");
    }
}
