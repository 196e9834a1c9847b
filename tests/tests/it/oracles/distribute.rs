//! `gardener_distribute_cases.json`: a worker pool's numbers over its zones (Gardener, `extensions/pkg/controller/worker`).

use std::collections::BTreeMap;

use serde::Deserialize;
use serde_json::Value;
use zonefall_core::gardener::distribute::{int_or_percent_over_zones, over_zones, percent_over_zones};
use zonefall_core::scenario::kube::int_or_percent::IntOrPercent;

use super::Outcome;

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct File {
    #[serde(rename = "source", default)]
    _source: String,
    #[serde(rename = "int_rule", default)]
    _int_rule: String,
    #[serde(rename = "percent_rule", default)]
    _percent_rule: String,
    #[serde(rename = "quirk", default)]
    _quirk: String,
    #[serde(default)]
    distribute_over_zones: Vec<Value>,
    #[serde(default)]
    distribute_percent: Vec<Value>,
    #[serde(default)]
    distribute_positive_int_or_percent: Vec<Value>,
    #[serde(default)]
    docs_example: Vec<Value>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct OverZones {
    zone_index: u32,
    size: u32,
    zones: u32,
    want: u32,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct PercentOverZones {
    zone_index: u32,
    percent: u32,
    zones: u32,
    total: u32,
    #[serde(rename = "want_percent")]
    want: u32,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Either {
    zone_index: u32,
    value: IntOrPercent,
    zones: u32,
    total: u32,
    want: IntOrPercent,
}

#[derive(Deserialize)]
struct Example {
    zones: u32,
    per_zone: Option<Numbers>,
    note: Option<Note>,
    /// Whatever else there is must be a number.
    #[serde(flatten)]
    pool: Numbers,
}

/// Numbers of a pool, or of one of its machine deployments, as they are called.
type Numbers = BTreeMap<String, IntOrPercent>;

/// What the documents say where shares differ.
#[derive(Deserialize, PartialEq)]
enum Note {
    #[serde(rename = "one machine deployment ends with maxSurge 0")]
    OneWithoutSurge,
}

pub(super) fn run(text: &str) -> Outcome {
    let mut outcome = Outcome::default();
    let Some(file) = outcome.parse::<File>(text) else { return outcome };
    for (k, row) in file.distribute_over_zones.iter().enumerate() {
        outcome.row(&format!("distribute_over_zones[{k}]"), row, |case: &OverZones| {
            check_zone(case.zone_index, case.zones)?;
            compare(over_zones(case.zone_index, case.size, case.zones), case.want)
        });
    }
    for (k, row) in file.distribute_percent.iter().enumerate() {
        outcome.row(&format!("distribute_percent[{k}]"), row, |case: &PercentOverZones| {
            check_zone(case.zone_index, case.zones)?;
            compare(percent_over_zones(case.zone_index, case.percent, case.zones, case.total), case.want)
        });
    }
    for (k, row) in file.distribute_positive_int_or_percent.iter().enumerate() {
        outcome.row(&format!("distribute_positive_int_or_percent[{k}]"), row, |case: &Either| {
            check_zone(case.zone_index, case.zones)?;
            compare(int_or_percent_over_zones(case.zone_index, case.value, case.zones, case.total), case.want)
        });
    }
    for (k, row) in file.docs_example.iter().enumerate() {
        outcome.row(&format!("docs_example[{k}]"), row, check_example);
    }
    outcome
}

fn check_zone(index: u32, zones: u32) -> Result<(), String> {
    if index < zones { Ok(()) } else { Err(format!("zone {index} of {zones}")) }
}

fn compare<T: PartialEq + std::fmt::Debug>(found: T, want: T) -> Result<(), String> {
    if found == want { Ok(()) } else { Err(format!("found {found:?}, wanted {want:?}")) }
}

fn check_example(case: &Example) -> Result<(), String> {
    let total = match case.pool.get("maximum") {
        Some(IntOrPercent::Int(maximum)) => *maximum,
        Some(IntOrPercent::Percent(_)) | None => 0,
    };
    let share = |index, value| int_or_percent_over_zones(index, value, case.zones, total);
    let zone = |index| case.pool.iter().map(|(name, value)| (name.clone(), share(index, *value))).collect::<Numbers>();
    match (&case.per_zone, &case.note) {
        (Some(want), None) => (0..case.zones).try_for_each(|index| compare(&zone(index), want)),
        (None, Some(Note::OneWithoutSurge)) => {
            let is_without = |index: &u32| zone(*index).get("maxSurge") == Some(&IntOrPercent::Int(0));
            compare((0..case.zones).filter(is_without).count(), 1)
        }
        (Some(_), Some(_)) | (None, None) => Err("either `per_zone` or a note".to_owned()),
    }
}
