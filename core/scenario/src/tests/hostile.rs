//! Files of any kind: none panics, and whatever is wrong has a place.

use proptest::prelude::*;
use serde_json::{Value, json};

use super::*;

/// Reads a file; every error must say where, what and what else.
fn read(text: &str) {
    if let Err(errors) = Scenario::from_json(text) {
        assert!(!errors.is_empty());
        for error in &errors {
            assert!(!error.path.is_empty() && !error.found.is_empty() && !error.expected.is_empty(), "{error:?}");
            assert!(
                !error.found.contains("invalid type") && !error.found.contains("missing field"),
                "schema and types differ: {error}"
            );
        }
    }
}

/// Values that may stand anywhere in a file.
fn intruder() -> impl Strategy<Value = Value> {
    prop_oneof![
        Just(Value::Null),
        any::<bool>().prop_map(Value::from),
        any::<i64>().prop_map(Value::from),
        any::<f64>().prop_map(|x| json!(x)),
        prop::sample::select(vec![
            "",
            "1s",
            "1KiB",
            "100%",
            "-1s",
            "leader",
            "all",
            "za",
            "m0",
            "é\u{0}\u{7f}",
            "99999999999999999999999d"
        ])
        .prop_map(Value::from),
        Just(json!([])),
        Just(json!({})),
        Just(json!({"leader_of": "main"})),
        Just(json!({"lognormal": {"median": "1s", "sigma": 0.5}})),
        Just(json!([[], {}, null, 1, "x"])),
    ]
}

/// Puts a value somewhere into another.
fn plant(value: &mut Value, route: &[prop::sample::Index], intruder: Value, key: &str) {
    let Some((turn, rest)) = route.split_first() else {
        *value = intruder;
        return;
    };
    match value {
        Value::Object(fields) if !fields.is_empty() => {
            let k = turn.index(fields.len() + 1);
            match fields.iter_mut().nth(k) {
                Some((_, inner)) => plant(inner, rest, intruder, key),
                None => drop(fields.insert(key.to_owned(), intruder)),
            }
        }
        Value::Array(items) if !items.is_empty() => {
            let k = turn.index(items.len());
            plant(&mut items[k], rest, intruder, key);
        }
        other => *other = intruder,
    }
}

fn some_file() -> impl Strategy<Value = &'static str> {
    prop::sample::select(bundled().iter().map(|bundled| bundled.json).chain([messages::SMALL]).collect::<Vec<_>>())
}

/// The largest files, full of mistakes: they end, in little time and memory.
#[test]
fn large_files_of_mistakes() {
    let with = |pointer: &str, value: Value| {
        let mut raw: Value = serde_json::from_str(messages::SMALL).expect("JSON");
        *raw.pointer_mut(pointer).expect("a place") = value;
        raw.to_string()
    };
    let many = |count: usize, item: &dyn Fn(usize) -> Value| Value::Array((0..count).map(item).collect());
    let mistakes = |text: &str| {
        assert!(text.len() < 4 << 20, "{} bytes", text.len());
        let errors = Scenario::from_json(text).expect_err("mistakes");
        errors.len()
    };
    assert_eq!(mistakes(&with("/faults", many(50_000, &|_| json!({})))), 100_000);
    let crash = |k| json!({"at": "1s", "kind": "node_crash", "node": format!("node-{k}")});
    assert_eq!(mistakes(&with("/faults", many(50_000, &crash))), 50_000);
    let kill = |k| json!({"at": "1s", "kind": "process_kill", "member": format!("m-{k}")});
    let cluster =
        |k| json!({"name": format!("c{k}"), "members": many(9, &|m| json!({"name": format!("m{k}-{m}"), "node": "na"}))});
    let mut raw: Value = serde_json::from_str(&with("/etcd", many(1_000, &cluster))).expect("JSON");
    raw["faults"] = many(50_000, &kill);
    raw["clients"] = json!([]);
    raw["expect"] = json!([]);
    assert_eq!(mistakes(&raw.to_string()), 50_000);
    let remove = |k| json!({"at": "1s", "remove_member": format!("m-{k}")});
    assert_eq!(mistakes(&with("/operations", many(10_000, &remove))), 10_000);
    let unknown = (0..200_000).map(|k| (format!("duratio{k}"), Value::Null)).collect::<serde_json::Map<_, _>>();
    assert_eq!(mistakes(&with("/etcd/0/members/0", Value::Object(unknown))), 200_002);
    let twice = "\"name\": 1, ".repeat(300_000);
    assert_eq!(mistakes(&messages::SMALL.replacen('{', &format!("{{{twice}"), 1)), 300_000);
    let jitter = many(10_000, &|k| json!(format!("{k}us")));
    let zones = many(64, &|k| json!(format!("z{k}")));
    let mut raw: Value = serde_json::from_str(messages::SMALL).expect("JSON");
    raw["topology"]["regions"][0]["zones"] = zones;
    raw["network"] = json!({"cross_zone": {"jitter": {"empirical": jitter}}});
    assert!(mistakes(&raw.to_string()) > 1);
}

/// Small files that stand for much: what they come to is bounded, and said where it comes from.
#[test]
fn counts_that_multiply() {
    let with = |shoots: Value, changes: &[(&str, Value)]| {
        let mut raw = kube::landscape(shoots);
        for (pointer, value) in changes {
            let (parent, key) = pointer.rsplit_once('/').expect("a pointer");
            raw.pointer_mut(parent).expect("a parent")[key] = value.clone();
        }
        raw
    };
    let errors = |raw: &Value| Scenario::from_json(&raw.to_string()).expect_err("too much").to_string();
    let large = (
        "/seeds/0/pools",
        json!([{"name": "cpu", "minimum": 240, "maximum": 400, "machine": {"cpu": 1_000, "memory": "60TiB", "pods": 1_000}}]),
    );
    let limit = ("/seeds/0/allocatable_shoots", json!(2_000));
    // As many as there may be: all are hosted.
    let shoots = json!([{"name": "s", "count": 2_000, "failure_tolerance": "zone", "only_listed": true,
        "components": [{"name": "etcd-main"}, {"name": "etcd-events"}, {"name": "kube-apiserver"}]}]);
    let mut raw = with(shoots, &[large.clone(), limit.clone()]);
    let seed = raw["seeds"][0].clone();
    for k in 1..50 {
        let mut other = seed.clone();
        other["name"] = json!(format!("seed-{k}"));
        other["pools"][0]["minimum"] = json!(75);
        raw["seeds"].as_array_mut().expect("seeds").push(other);
    }
    let scenario = Scenario::from_json(&raw.to_string()).unwrap_or_else(|errors| panic!("{errors}"));
    assert_eq!(scenario.kube.shoots.iter().filter(|shoot| shoot.hosted.is_some()).count(), 2_000);
    assert_eq!(scenario.etcd.len(), 50 + 4_000);
    // One more than there may be of each.
    let found = errors(&with(json!([{"name": "s", "count": 2_000}, {"name": "t"}]), &[]));
    assert_eq!(found, "shoots: expected at most 2000; found 2001 shoots in all");
    let found = errors(&with(
        json!([{"name": "s", "count": 2_000}]),
        &[("/seeds/0/pools/0/minimum", json!(4_000)), ("/seeds/0/pools/0/maximum", json!(20_000))],
    ));
    assert!(found.contains("; found \"10.242.0.0/16\""), "{found}");
    let many = (0..50).map(|k| json!({"name": format!("p{k}"), "minimum": 4_000, "maximum": 20_000})).collect::<Vec<_>>();
    let found = errors(&with(json!([{"name": "s", "count": 2_000}]), &[("/seeds/0/pools", json!(many))]));
    assert_eq!(
        found,
        "seeds: expected at most 20000: pools with a smaller `maximum`; found 1000000 machines at most, in all pools\n\
         seeds: expected at most 4000: pools with a smaller `minimum`; found 200000 nodes at the start"
    );
    let busy = json!([{"name": "s", "count": 2_000, "components": [{"name": "x", "kind": "deployment", "replicas": 1_000}]}]);
    let found = errors(&with(busy, &[large.clone(), limit.clone()]));
    assert_eq!(found, "shoots[0].components[0]: expected at most 100000 in all; found more than 100000 pods, or components");
    let idle = (0..200).map(|k| json!({"name": format!("x{k}"), "kind": "deployment", "replicas": 0})).collect::<Vec<_>>();
    let found = errors(&with(json!([{"name": "s", "count": 2_000, "components": idle}]), &[large.clone(), limit]));
    assert!(found.contains("found more than 100000 pods, or components"), "{found}");
    let storage = (0..30_000)
        .map(|k| json!({"at": format!("{k}ms"), "kind": "storage_degraded", "zone": "za", "add": "1s"}))
        .collect::<Vec<_>>();
    let found =
        errors(&with(json!([{"name": "s", "count": 50, "failure_tolerance": "zone"}]), &[large, ("/faults", json!(storage))]));
    assert_eq!(found, "faults: expected at most 200000; found more than 200000 of single volumes");
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(1_000))]

    #[test]
    fn mutated_bytes(file in some_file(), changes in prop::collection::vec((any::<prop::sample::Index>(), any::<u8>()), 1..8)) {
        let mut bytes = file.as_bytes().to_vec();
        for (place, byte) in changes {
            let k = place.index(bytes.len());
            bytes[k] = byte & 0x7f;
        }
        read(&String::from_utf8_lossy(&bytes));
    }

    #[test]
    fn truncated(file in some_file(), end in any::<prop::sample::Index>()) {
        read(&String::from_utf8_lossy(&file.as_bytes()[..end.index(file.len())]));
    }

    #[test]
    fn values_out_of_place(
        file in some_file(),
        plants in prop::collection::vec((prop::collection::vec(any::<prop::sample::Index>(), 0..6), intruder(), "[a-z_]{1,8}"), 1..6),
    ) {
        let mut value: Value = serde_json::from_str(file).expect("JSON");
        for (route, intruder, key) in plants {
            plant(&mut value, &route, intruder, &key);
        }
        read(&value.to_string());
    }

    #[test]
    fn any_text(text in "\\PC{0,64}") {
        read(&text);
    }

    #[test]
    fn deep(depth in 1_usize..2_000, open in prop::sample::select(vec!["[", "{\"a\":", "{\"etcd\":["])) {
        read(&open.repeat(depth));
    }

    /// Worlds that are as they should be pass, whatever their size.
    #[test]
    fn random_worlds_are_valid(
        seed in any::<u64>(), zones in 1_usize..8, members in 1_usize..10, minutes in 1_u64..10_000,
        heartbeat_ms in 1_u64..1_000, factor in 5_u64..50, rate in 1_u32..1_000, poisson in any::<bool>(),
    ) {
        let zone = |k: usize| format!("zone-{}", k % zones);
        let value = json!({
            "name": "random", "seed": seed, "duration": format!("{minutes}m"),
            "topology": {
                "regions": [{"name": "r", "zones": (0..zones).map(zone).collect::<Vec<_>>()}],
                "nodes": (0..members).map(|k| json!({"name": format!("n{k}"), "zone": zone(k)})).collect::<Vec<_>>(),
            },
            "etcd": [{
                "name": "main",
                "members": (0..members).map(|k| json!({"name": format!("m{k}"), "node": format!("n{k}")})).collect::<Vec<_>>(),
                "options": {"heartbeat_interval": format!("{heartbeat_ms}ms"), "election_timeout": format!("{}ms", heartbeat_ms * factor)},
            }],
            "clients": [{
                "name": "c", "zone": zone(0), "op": "put", "rate": format!("{rate}/s"),
                "arrivals": if poisson { "poisson" } else { "even" },
            }],
            "faults": [{"at": "30s", "for": "5s", "kind": "zone_power", "zone": zone(members)}],
        });
        let text = value.to_string();
        let scenario = Scenario::from_json(&text).unwrap_or_else(|errors| panic!("{errors}\n{text}"));
        prop_assert_eq!(scenario.network.paths.len(), zones * zones);
        prop_assert_eq!(scenario.volumes.len(), members);
        let raw = RawScenario::from_json(&text).expect("its form is right");
        prop_assert_eq!(Scenario::from_raw(&raw), Ok(scenario));
    }
}
