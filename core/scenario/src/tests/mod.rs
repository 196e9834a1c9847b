//! The file format as its users meet it.

mod access;
mod api_clients;
mod balancers;
mod clusters;
mod costs;
mod faults;
mod hostile;
mod kube;
mod messages;
mod messages_events;
mod messages_kube;
mod passive;
mod prices;
mod published;
mod rollouts;
mod routing;
mod usage;
mod void_fields;
mod volumes;

use std::collections::BTreeSet;

use proptest::prelude::*;
use serde_json::Value;

use super::*;
use crate::ids::EtcdId;
use crate::options::EtcdOptions;
use units::{Bandwidth, Probability, Rate, Size, Span};
use zonefall_kernel::time::Duration;

#[test]
fn bundled_scenarios_are_valid() {
    for Bundled { name, json } in bundled() {
        let scenario = Scenario::from_json(json).unwrap_or_else(|errors| panic!("{name}:\n{errors}"));
        assert_eq!(scenario.name, *name);
        assert!(!scenario.expect.is_empty() && !scenario.description.is_empty() && !scenario.title.is_empty());
    }
}

#[test]
fn every_scenario_file_is_bundled() {
    let folder = concat!(env!("CARGO_MANIFEST_DIR"), "/../../scenarios");
    let files =
        std::fs::read_dir(folder).expect("the folder is there").filter_map(|file| file.ok()?.file_name().into_string().ok());
    let names: BTreeSet<String> = files.filter(|file| file != "schema.json").collect();
    assert_eq!(names, bundled().iter().map(|bundled| format!("{}.json", bundled.name)).collect());
}

/// Reading, writing and reading again gives the same, and writes no more than was written by hand.
#[test]
fn scenarios_survive_being_written() {
    for Bundled { name, json } in bundled() {
        let raw = RawScenario::from_json(json).expect("bundled scenarios are valid");
        let written = raw.to_json();
        assert_eq!(RawScenario::from_json(&written.to_string()).expect("what was written is read"), raw, "{name}");
        assert_eq!(Scenario::from_raw(&raw), Scenario::from_json(json), "{name}");
        let by_hand: Value = serde_json::from_str(json).expect("JSON");
        assert!(written.to_string().len() <= by_hand.to_string().len(), "{name}: {written:#}");
    }
}

/// Every object of the schema, with its fields.
fn objects(schema: &'static Value, found: &mut Vec<&'static Value>) {
    match schema {
        Value::Object(map) => {
            if schema.get("properties").is_some_and(Value::is_object) && schema.get("type").is_some() {
                found.push(schema);
            }
            map.values().for_each(|inner| objects(inner, found));
        }
        Value::Array(items) => items.iter().for_each(|inner| objects(inner, found)),
        Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) => {}
    }
}

#[test]
fn every_field_is_described_and_every_default_has_a_source() {
    let mut all = Vec::new();
    objects(schema::shared(), &mut all);
    assert!(all.len() > 30);
    let rows = defaults();
    for object in all {
        assert_eq!(object["additionalProperties"], false, "{object:#}");
        for (name, field) in schema::fields(object) {
            let described = field.get("description").or_else(|| schema::resolve(field).get("description"));
            assert!(described.is_some() || field.get("const").is_some(), "{name} has no description: {object:#}");
            let empty = |value: &Value| ["null", "\"\"", "[]", "{}"].contains(&value.to_string().as_str());
            let silent = field.get("default").is_none_or(empty) && field.get("x-default").is_none();
            let structure = schema::leaves(field).iter().all(|leaf| leaf.get("properties").is_some());
            if !schema::is_required(object, name) && !silent && !structure {
                assert!(field.get("x-source").is_some(), "{name} has a default without a source: {object:#}");
                assert!(rows.iter().any(|row| row.path.ends_with(&format!(".{name}")) || row.path == name), "{name}");
            }
        }
    }
}

#[test]
fn defaults_are_those_that_run() {
    let rows = defaults();
    let value = |path: &str| {
        let row = rows.iter().find(|row| row.path == path).unwrap_or_else(|| panic!("{path} has no row in {rows:#?}"));
        assert!(!row.source.is_empty());
        row.value.as_str()
    };
    assert_eq!(value("seed"), "1");
    assert_eq!(value("network.same_zone.delay"), "150us");
    assert_eq!(value("network.cross_region.bandwidth"), "1Gbit/s");
    assert_eq!(value("network.cross_zone.jitter"), r#"{"lognormal":{"median":"50us","sigma":0.5}}"#);
    assert_eq!(value("etcd[].options.election_timeout"), "1s");
    assert_eq!(value("etcd[].options.request_timeout"), "5s + 2 x election_timeout");
    assert_eq!(value("etcd[].disk.bandwidth"), "250MiB/s");
    assert_eq!(value("topology.nodes[].network_bandwidth"), "10Gbit/s");
    assert_eq!(value("seeds[].pools[].machine.network_bandwidth"), "10Gbit/s, or as published for its type");
    assert_eq!(value("clients[].timeout"), "5s");
    assert_eq!(value("clients[op=put].key"), "8B");
    assert_eq!(value("clients[op=range].consistency"), "linearizable");
    assert_eq!(value("faults[kind=disk_slow].factor"), "1");
    assert_eq!(value("probe.deadline"), "2s");
    let distinct: BTreeSet<&str> = rows.iter().map(|row| row.path.as_str()).collect();
    assert_eq!(distinct.len(), rows.len());
    let scenario = Scenario::from_json(messages::SMALL).expect("a valid scenario");
    assert_eq!(scenario.etcd[EtcdId(0)].options, EtcdOptions::default());
}

#[test]
fn what_is_derived_follows_what_it_derives_from() {
    let mut raw: Value = serde_json::from_str(messages::SMALL).expect("JSON");
    raw["etcd"][0]["options"] = serde_json::json!({"heartbeat_interval": "200ms", "election_timeout": "2500ms"});
    let options = Scenario::from_json(&raw.to_string()).expect("a valid scenario").etcd[EtcdId(0)].options.clone();
    assert_eq!((options.tick, options.request_timeout), (Duration::from_millis(200), Duration::from_secs(10)));
}

#[test]
fn quantities_as_people_write_them() {
    let ns = |text: &str| text.parse::<Span>().map(|span| span.0.as_nanos());
    let bytes = |text: &str| text.parse::<Size>().map(|size| size.0);
    let per_s = |text: &str| text.parse::<Bandwidth>().map(Bandwidth::bytes_per_s);
    let gap = |text: &str| text.parse::<Rate>().map(|rate| rate.interval().as_nanos());
    for (text, expected) in [
        ("2m", 120_000_000_000),
        ("1.3s", 1_300_000_000),
        ("1h30m", 5_400_000_000_000),
        ("500us", 500_000),
        ("500µs", 500_000),
        ("2d", 172_800_000_000_000),
        ("0s", 0),
        ("0.1ms", 100_000),
        ("1m0.5s", 60_500_000_000),
        ("7ns", 7),
    ] {
        assert_eq!(ns(text), Ok(expected), "{text}");
    }
    for text in [
        "",
        "5",
        "s",
        "5 s",
        "-5s",
        "5secs",
        "1m1h",
        "1s1s",
        "1.s",
        ".5s",
        "1..2s",
        "0.1ns",
        "1e3s",
        "99999d99999999999999999s",
        "500y",
    ] {
        assert!(ns(text).is_err(), "{text}");
    }
    for (text, expected) in [
        ("8B", 8),
        ("1KiB", 1024),
        ("1KB", 1000),
        ("1kB", 1000),
        ("5.1GB", 5_100_000_000),
        ("0.5KiB", 512),
        ("512MiB", 536_870_912),
    ] {
        assert_eq!(bytes(text), Ok(expected), "{text}");
    }
    for text in ["1", "1KiBs", "0.1B", "1Gib", "1 KiB", "99999999TB"] {
        assert!(bytes(text).is_err(), "{text}");
    }
    for (text, expected) in [("1Gbit/s", 125_000_000), ("120MiB/s", 125_829_120), ("5Gbit/s", 625_000_000), ("1bit/s", 1)] {
        assert_eq!(per_s(text), Ok(expected), "{text}");
    }
    assert!(per_s("1Gbit").is_err() && per_s("1Gbps").is_err());
    for (text, expected) in [("100/s", 10_000_000), ("6/min", 10_000_000_000), ("3/s", 333_333_333), ("0.5/h", 7_200_000_000_000)]
    {
        assert_eq!(gap(text), Ok(expected), "{text}");
    }
    assert!(gap("100").is_err() && gap("100/m").is_err() && gap("-1/s").is_err());
    assert_eq!("1%".parse::<Probability>(), Ok(Probability(0.01)));
    assert!(
        "101%".parse::<Probability>().is_err() && "1".parse::<Probability>().is_err() && "1x%".parse::<Probability>().is_err()
    );
}

#[test]
fn quantities_print_as_people_would_write_them() {
    for text in ["2m", "1.3s", "90m", "500us", "2d", "0s", "7ns", "1.001ms"] {
        assert_eq!(text.parse::<Span>().map(|span| span.to_string()), Ok(text.to_owned()));
    }
    for text in ["8B", "1KiB", "5.1GB", "512MiB", "0B", "1kB", "14MB"] {
        assert_eq!(text.parse::<Size>().map(|size| size.to_string()), Ok(text.to_owned()));
    }
    for text in ["1Gbit/s", "120MiB/s", "10Gbit/s", "100Mbit/s", "2Gbit/s", "250MiB/s"] {
        assert_eq!(text.parse::<Bandwidth>().map(|bandwidth| bandwidth.to_string()), Ok(text.to_owned()));
    }
    for text in ["100/s", "6/min", "0.5/h", "1/d"] {
        assert_eq!(text.parse::<Rate>().map(|rate| rate.to_string()), Ok(text.to_owned()));
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(2_000))]

    /// What is printed parses back to the same, over every magnitude.
    #[test]
    fn quantities_round_trip(any in any::<u64>(), shift in 0_u32..64, step in prop::sample::select(vec![1_u64, 8, 1000, 1024, 1_000_000, 60_000_000_000])) {
        let n = (any >> shift).checked_mul(step).unwrap_or(any);
        let span = Span(Duration::from_nanos(n));
        prop_assert_eq!(span.to_string().parse::<Span>(), Ok(span));
        prop_assert_eq!(Size(n).to_string().parse::<Size>(), Ok(Size(n)));
        let bandwidth = Bandwidth::from_bits_per_s(n);
        prop_assert_eq!(bandwidth.to_string().parse::<Bandwidth>(), Ok(bandwidth));
        let rate = Rate::per_second((n & 0xffff_ffff) as u32);
        prop_assert_eq!(rate.to_string().parse::<Rate>(), Ok(rate));
    }

    #[test]
    fn rates_with_decimals_round_trip(whole in 0_u64..1_000_000, fraction in 0_u32..1_000_000_000, unit in prop::sample::select(vec!["/s", "/min", "/h", "/d"])) {
        let rate: Rate = format!("{whole}.{fraction:09}{unit}").parse().expect("a rate");
        prop_assert_eq!(rate.to_string().parse::<Rate>(), Ok(rate));
    }
}
