//! `node_lifecycle_zone_state_cases.json`: how disrupted a zone is (`node_lifecycle_controller_test.go`).

use std::collections::BTreeMap;

use serde::Deserialize;
use serde_json::Value;
use zonefall_core::kube::rule::zone_state::{Options, ZoneState, zone_state};

use super::Outcome;

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct File {
    #[serde(rename = "source", default)]
    _source: String,
    #[serde(rename = "compute_zone_state", default)]
    _compute_zone_state: String,
    #[serde(rename = "rates", default)]
    _rates: String,
    #[serde(rename = "taint", default)]
    _taint: String,
    #[serde(rename = "format", default)]
    _format: String,
    #[serde(rename = "defaults", default)]
    _defaults: BTreeMap<String, Value>,
    cases: Vec<Value>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Case {
    steps: Vec<Step>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Step {
    zones: BTreeMap<String, Vec<Node>>,
    want: BTreeMap<String, Want>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Node {
    /// `null` where it never reported.
    ready: Option<bool>,
    #[serde(default)]
    exclude_disruption: bool,
}

#[derive(Clone, Copy, Debug, Deserialize, PartialEq)]
enum Want {
    Normal,
    PartialDisruption,
    FullDisruption,
}

pub(super) fn run(text: &str) -> Outcome {
    let mut outcome = Outcome::default();
    let Some(file) = outcome.parse::<File>(text) else { return outcome };
    for (k, row) in file.cases.iter().enumerate() {
        outcome.row(&format!("cases[{k}]"), row, |case: &Case| case.steps.iter().try_for_each(check));
    }
    outcome
}

fn check(step: &Step) -> Result<(), String> {
    let state = |nodes: &Vec<Node>| {
        let counted = || nodes.iter().filter(|node| !node.exclude_disruption);
        let ready = counted().filter(|node| node.ready == Some(true)).count() as u64;
        match zone_state(ready, counted().count() as u64 - ready, &Options::default()) {
            ZoneState::Normal => Want::Normal,
            ZoneState::PartialDisruption => Want::PartialDisruption,
            ZoneState::FullDisruption => Want::FullDisruption,
        }
    };
    let found: BTreeMap<_, _> = step.zones.iter().map(|(zone, nodes)| (zone.clone(), state(nodes))).collect();
    if found == step.want { Ok(()) } else { Err(format!("found {found:?}, wanted {:?}", step.want)) }
}
