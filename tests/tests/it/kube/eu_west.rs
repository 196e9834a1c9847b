//! The zone outage that GEP-20 publishes, under other seeds, at other times, in other zones: its expectations are those of the
//! scenario file, and they follow from the mechanism, not from one run's luck.

use std::sync::Arc;

use serde_json::{Value, json};
use zonefall_core::report::Report;
use zonefall_core::run::run;
use zonefall_core::scenario::{Scenario, bundled};
use zonefall_core::sim::Options;

fn text(name: &str) -> &'static str {
    bundled().iter().find(|file| file.name == name).expect("the scenario is bundled").json
}

fn read(text: &str) -> Arc<Scenario> {
    Arc::new(Scenario::from_json(text).unwrap_or_else(|errors| panic!("{errors}")))
}

fn judged(scenario: &Arc<Scenario>, seed: u64) -> Report {
    run(scenario, seed, Options::default(), &mut |_, _| {}, &mut |_| {})
}

/// Panics with every expectation that does not hold.
fn must_hold(scenario: &Arc<Scenario>, seed: u64, what: &str) {
    let report = judged(scenario, seed);
    assert!(!report.expectations.is_empty());
    let broken: Vec<_> = report.expectations.iter().filter(|e| !e.ok).map(|e| (&e.that, &e.actual, &e.expected)).collect();
    assert!(broken.is_empty(), "{}, {what}, seed {seed}: {broken:?}", scenario.name);
}

#[test]
fn two_hundred_seeds_come_to_what_is_published() {
    for name in ["eu-west-1a-outage", "eu-west-1a-strict"] {
        let scenario = read(text(name));
        for seed in 0..200 {
            must_hold(&scenario, seed, "as published");
        }
    }
}

/// When the credentials were changed is not published. A machine is first asked for 7 min after the fault: any earlier moment comes to
/// the same.
#[test]
fn it_does_not_matter_when_the_credentials_were_changed() {
    for minutes in -5..=6_i32 {
        let mut file: Value = serde_json::from_str(text("eu-west-1a-outage")).expect("bundled scenarios are JSON");
        assert_eq!(file["faults"][1]["kind"], "cloud_api");
        file["faults"][1]["at"] = json!(format!("{}m", 10 + minutes));
        let scenario = read(&file.to_string());
        for seed in [1, 2, 3] {
            must_hold(&scenario, seed, &format!("credentials changed at the fault {minutes:+} min"));
        }
    }
}

/// In every place that says where something is, each zone becomes the next one; the lists of zones stay in their order. Then another
/// zone fails, and what was said of zone a must hold of that one.
#[test]
fn what_fails_in_another_zone_fails_as_it_did_in_the_first() {
    let rotated = |text: &str| {
        let places = [("eu-west-1a", "eu-west-1b"), ("eu-west-1b", "eu-west-1c"), ("eu-west-1c", "eu-west-1a")];
        // The pool for compaction is in one zone, its first.
        let next =
            |kind: &'static str| [(1, 2), (2, 3), (3, 1)].map(|(from, to)| (format!("{kind}-z{from}"), format!("{kind}-z{to}")));
        let places = places.map(|(from, to)| (from.to_owned(), to.to_owned()));
        let pairs = || places.iter().cloned().chain(next("cpu-worker")).chain(next("cpu-worker-etcd")).enumerate();
        let marked = pairs().fold(text.to_owned(), |text, (k, (from, _))| text.replace(&from, &format!("\u{1}{k}\u{1}")));
        let moved = pairs().fold(marked, |text, (k, (_, to))| text.replace(&format!("\u{1}{k}\u{1}"), &to));
        let mut file: Value = serde_json::from_str(&moved).expect("it is JSON still");
        let as_they_were: Value = serde_json::from_str(text).expect("it is JSON");
        file["topology"] = as_they_were["topology"].clone();
        file["seeds"][0]["zones"] = as_they_were["seeds"][0]["zones"].clone();
        file["name"] = as_they_were["name"].clone();
        file.to_string()
    };
    let once = rotated(text("eu-west-1a-outage"));
    let twice = rotated(&once);
    for (file, zone) in [(&once, "eu-west-1b"), (&twice, "eu-west-1c")] {
        let scenario = read(file);
        for seed in 0..20 {
            must_hold(&scenario, seed, &format!("{zone} cut off"));
        }
        let down = judged(&scenario, 1).faults[0].what.clone();
        assert!(down.contains(zone), "{down}");
    }
    let back: Value = serde_json::from_str(&rotated(&twice)).expect("it is JSON");
    let first: Value = serde_json::from_str(text("eu-west-1a-outage")).expect("it is JSON");
    assert_eq!(back["expect"], first["expect"], "three turns are a whole one");
}

/// Zones have no order that matters beyond the file's: under other names everything comes to the very same.
#[test]
fn other_names_of_zones_change_nothing() {
    let plain = judged(&read(text("eu-west-1a-outage")), 7).to_json();
    let renamed = text("eu-west-1a-outage").replace("eu-west-1a", "z-left").replace("eu-west-1b", "a-middle");
    let other =
        judged(&read(&renamed), 7).to_json().to_string().replace("z-left", "eu-west-1a").replace("a-middle", "eu-west-1b");
    let mut other: Value = serde_json::from_str(&other).expect("it is JSON");
    other["scenario"] = plain["scenario"].clone();
    assert_eq!(plain, other);
}
