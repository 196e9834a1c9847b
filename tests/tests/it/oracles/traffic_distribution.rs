//! `traffic_distribution_hints_cases.json`: hints for `spec.trafficDistribution` (`endpointslice/trafficdist/trafficdist_test.go`).

use serde::Deserialize;
use zonefall_core::kube::rule::traffic_distribution::{self as rule, SliceAction, TrafficDistribution, reconcile};

use super::Outcome;
use super::form::{run_cases, same};

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Case {
    traffic_distribution: Option<String>,
    slices: Vec<Slice<Endpoint>>,
    want: Vec<Slice<Hints>>,
}

#[derive(Debug, Deserialize, PartialEq)]
#[serde(deny_unknown_fields)]
struct Slice<T> {
    state: State,
    endpoints: Vec<T>,
}

#[derive(Clone, Copy, Debug, Deserialize, PartialEq)]
#[serde(rename_all = "snake_case")]
enum State {
    Create,
    Update,
    Unchanged,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Endpoint {
    node: Option<String>,
    zone: Option<String>,
    ready: Option<bool>,
    zone_hints: Vec<String>,
    node_hints: Vec<String>,
}

#[derive(Debug, Deserialize, PartialEq)]
#[serde(deny_unknown_fields)]
struct Hints {
    zone_hints: Vec<String>,
    node_hints: Vec<String>,
}

pub(super) fn run(text: &str) -> Outcome {
    run_cases(text, |case: &Case| {
        // Values that the API does not know are as none.
        let distribution = match case.traffic_distribution.as_deref() {
            Some("PreferClose" | "PreferSameZone") => Some(TrafficDistribution::SameZone),
            Some("PreferSameNode") => Some(TrafficDistribution::SameNode),
            Some(_) | None => None,
        };
        let found: Vec<Slice<Hints>> = case.slices.iter().map(|slice| run_slice(distribution, slice)).collect();
        same(&found, &case.want)
    })
}

fn run_slice(distribution: Option<TrafficDistribution>, slice: &Slice<Endpoint>) -> Slice<Hints> {
    let endpoint = |raw: &Endpoint| rule::Endpoint {
        node: raw.node.clone(),
        zone: raw.zone.clone(),
        ready: raw.ready == Some(true),
        hints: rule::Hints { zones: raw.zone_hints.clone(), nodes: raw.node_hints.clone() },
    };
    let mut endpoints: Vec<_> = slice.endpoints.iter().map(endpoint).collect();
    let action = match slice.state {
        State::Create => SliceAction::Create,
        State::Update => SliceAction::Update,
        State::Unchanged => SliceAction::Unchanged,
    };
    let state = match reconcile(distribution, action, &mut endpoints) {
        SliceAction::Create => State::Create,
        SliceAction::Update => State::Update,
        SliceAction::Unchanged => State::Unchanged,
    };
    let hints =
        |endpoint: rule::Endpoint<String, String>| Hints { zone_hints: endpoint.hints.zones, node_hints: endpoint.hints.nodes };
    Slice { state, endpoints: endpoints.into_iter().map(hints).collect() }
}
