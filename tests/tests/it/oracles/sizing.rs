//! `gep24_sizing_cases.json`: limits of the node groups of a pool at a scan (GEP-24, sections 3.1 and 3.2).

use serde::Deserialize;
use zonefall_core::autoscaler::sizing::{Limits, limits};
use zonefall_core::scenario::kube::autoscaler::Sizing;

use super::Outcome;
use super::form::{run_cases, same};

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Case {
    strategy: Strategy,
    pool_min: u32,
    pool_max: u32,
    zones: usize,
    /// Nodes of each zone.
    launched: Vec<u32>,
    want: Vec<Want>,
}

#[derive(Clone, Copy, Deserialize)]
#[serde(rename_all = "snake_case")]
enum Strategy {
    Static,
    LaxGreedy,
    BackwardCompatible,
}

#[derive(Debug, Deserialize, PartialEq)]
#[serde(deny_unknown_fields)]
struct Want {
    min: u32,
    max: u32,
}

pub(super) fn run(text: &str) -> Outcome {
    run_cases(text, |case: &Case| {
        if case.launched.len() != case.zones || case.zones == 0 {
            return Err(format!("nodes of {} zones, of {}", case.launched.len(), case.zones));
        }
        let sizing = match case.strategy {
            Strategy::Static => Sizing::Static,
            Strategy::LaxGreedy => Sizing::LaxGreedy,
            Strategy::BackwardCompatible => Sizing::BackwardCompatible,
        };
        let found = limits(sizing, Limits { minimum: case.pool_min, maximum: case.pool_max }, &case.launched);
        let found: Vec<Want> = found.iter().map(|group| Want { min: group.minimum, max: group.maximum }).collect();
        same(&found, &case.want)
    })
}
