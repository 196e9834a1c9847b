//! Files of seeds and shoots with mistakes in them: refused with a place, or they run. (Those that are refused for their form are tried in
//! the crate that reads them.)

use std::sync::Arc;

use proptest::prelude::*;
use proptest::sample::Index;
use proptest::test_runner::RngSeed;
use serde_json::{Value, json};

use super::world::{secs, watched};
use zonefall_core::invariant::Checker;
use zonefall_core::kernel::time::Time;
use zonefall_core::scenario::{Scenario, bundled};
use zonefall_core::sim::Stepping;

/// Events of a run at most: a mistake may be a heavy load.
const EVENTS: u64 = 60_000;

fn some_file() -> impl Strategy<Value = Value> {
    let starts = ["eu-west", "active-passive", "control-plane-migration", "ha-upgrade"];
    let some = bundled().iter().filter(|file| starts.iter().any(|start| file.name.starts_with(start)));
    let files: Vec<Value> = some.map(|file| file.json).map(|json| serde_json::from_str(json).expect("JSON")).collect();
    prop::sample::select(files)
}

/// A value that is not quite another. Texts of the same file stand in for each other.
fn other(value: &Value, turn: Index, texts: &[String]) -> Value {
    let numbers = [0, 1, 2, 3, 7, 100, -1];
    let spans = ["0s", "1ms", "1s", "7s", "90s", "20m", "3h"];
    match value {
        Value::Number(_) => json!(numbers[turn.index(numbers.len())]),
        Value::Bool(is) => json!(!is),
        Value::String(text) if text.starts_with(|first: char| first.is_ascii_digit()) => json!(spans[turn.index(spans.len())]),
        Value::String(_) => json!(texts[turn.index(texts.len())]),
        Value::Null | Value::Array(_) | Value::Object(_) => Value::Null,
    }
}

/// Changes one value somewhere: another, none, or once more.
fn change(value: &mut Value, route: &[Index], texts: &[String]) {
    let Some((turn, rest)) = route.split_first() else { return };
    match value {
        Value::Object(fields) if !fields.is_empty() => {
            let key = fields.keys().nth(turn.index(fields.len())).expect("one of them").clone();
            if rest.is_empty() {
                fields.remove(&key);
            } else {
                change(&mut fields[&key], rest, texts);
            }
        }
        Value::Array(items) if !items.is_empty() => {
            let k = turn.index(items.len());
            match rest {
                [] => drop(items.remove(k)),
                [_] => items.push(items[k].clone()),
                _ => change(&mut items[k], rest, texts),
            }
        }
        leaf => *leaf = other(leaf, *turn, texts),
    }
}

fn texts(value: &Value, found: &mut Vec<String>) {
    match value {
        Value::String(text) => found.push(text.clone()),
        Value::Array(items) => items.iter().for_each(|item| texts(item, found)),
        Value::Object(fields) => fields.values().for_each(|field| texts(field, found)),
        Value::Null | Value::Bool(_) | Value::Number(_) => {}
    }
}

proptest! {
    #![proptest_config(ProptestConfig { rng_seed: RngSeed::Fixed(1), failure_persistence: None, ..ProptestConfig::with_cases(256) })]
    #[test]
    fn refused_with_a_place_or_it_runs(
        file in some_file(), seed: u64,
        routes in prop::collection::vec(prop::collection::vec(any::<Index>(), 2..8), 1..4),
    ) {
        let (mut mutated, mut words) = (file, Vec::new());
        texts(&mutated, &mut words);
        for route in &routes {
            change(&mut mutated, route, &words);
        }
        match Scenario::from_json(&mutated.to_string()) {
            Err(errors) => {
                for error in &errors {
                    prop_assert!(!error.path.is_empty() && !error.found.is_empty() && !error.expected.is_empty(), "{error:?}");
                }
            }
            Ok(scenario) => {
                let until = (Time::ZERO + secs(1_200)).min(Time::ZERO + scenario.duration);
                let (mut simulation, mut invariants) = watched(&Arc::new(scenario), seed, Stepping::FastForward);
                simulation.run_some(until, EVENTS, &mut |at, record| invariants.record(at, record));
                prop_assert_eq!(invariants.violations(), [], "{}", mutated);
            }
        }
    }
}
