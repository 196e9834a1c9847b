//! `topology_hints_cases.json`: which zone's clients an endpoint is for (`endpointslice/topologycache/{topologycache,utils}_test.go`).

use std::collections::BTreeMap;

use serde::Deserialize;
use serde_json::Value;
use zonefall_core::ids::ZoneId;
use zonefall_core::kube::rule::hints::{
    Counts, EndpointInfo, HintedEndpoint, NodeInfo, giving_and_receiving, hints, ratios, redistribute, standing,
};

use super::Outcome;

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct File {
    #[serde(rename = "source", default)]
    _source: String,
    #[serde(rename = "rules", default)]
    _rules: Vec<String>,
    #[serde(default)]
    giving_receiving: Vec<Value>,
    #[serde(default)]
    redistribute: Vec<Value>,
    #[serde(default)]
    add_hints: Vec<Value>,
    #[serde(default)]
    set_nodes: Vec<Value>,
    #[serde(default)]
    hints_by_zone: Vec<Value>,
}

/// Numbers by the names of zones.
type ByZone<T> = BTreeMap<String, T>;

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct GivingReceiving {
    #[serde(rename = "name", default)]
    _name: String,
    desired: ByZone<f64>,
    #[serde(default)]
    allocated: ByZone<i64>,
    giving: ByZone<u32>,
    receiving: ByZone<u32>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Redistribute {
    /// `3 in a, 1 in b`.
    endpoints: String,
    giving: ByZone<u32>,
    receiving: ByZone<u32>,
    change: ByZone<i64>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct AddHints {
    ratios: Option<ByZone<f64>>,
    endpoints: RawEndpoints,
    want: Value,
    #[serde(rename = "note", default)]
    _note: String,
}

/// Endpoints of a Service.
#[derive(Deserialize)]
#[serde(untagged)]
enum RawEndpoints {
    /// How many are ready, by zone.
    Ready(ByZone<u32>),
    /// One by one; `want` has the hints of those that are ready.
    Each(Vec<RawEndpoint>),
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct RawEndpoint {
    zone: Option<String>,
    /// `null`: not known, which counts as not ready.
    #[serde(default = "ready")]
    ready: Option<bool>,
}

#[expect(clippy::unnecessary_wraps, reason = "serde wants the type of the field")]
const fn ready() -> Option<bool> {
    Some(true)
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct SetNodes {
    /// Zone (or null), CPU in thousandths, and what else there is to say: `unready`, `control-cluster`.
    nodes: Vec<Vec<Value>>,
    want: Option<ByZone<f64>>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct HintsByZone {
    slice_hints: Vec<RawHint>,
    #[serde(default)]
    allocated: ByZone<u32>,
    #[serde(default)]
    max: ByZone<u32>,
    want: Option<ByZone<u32>>,
    #[serde(rename = "note", default)]
    _note: String,
}

/// An endpoint's hint.
#[derive(Deserialize)]
#[serde(untagged)]
enum RawHint {
    /// Of one that is ready.
    Ready(Option<String>),
    /// With its readiness.
    Endpoint(RawHinted),
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct RawHinted {
    hint: Option<String>,
    #[serde(default = "ready")]
    ready: Option<bool>,
}

impl RawHint {
    const fn hint(&self) -> Option<&String> {
        let (Self::Ready(hint) | Self::Endpoint(RawHinted { hint, .. })) = self;
        hint.as_ref()
    }

    fn is_ready(&self) -> bool {
        matches!(self, Self::Ready(_) | Self::Endpoint(RawHinted { ready: Some(true), .. }))
    }
}

/// A zone of its own for every name, in the order of the names.
#[derive(Default)]
struct Zones(Vec<String>);

impl Zones {
    fn of<'a>(names: impl IntoIterator<Item = &'a String>) -> Self {
        let mut all: Vec<String> = names.into_iter().cloned().collect();
        all.sort_unstable();
        all.dedup();
        Self(all)
    }

    fn id(&self, name: &str) -> ZoneId {
        ZoneId(self.0.iter().position(|zone| zone == name).expect("every name was seen") as u16)
    }

    fn ids<T: Copy>(&self, by_zone: &ByZone<T>) -> BTreeMap<ZoneId, T> {
        by_zone.iter().map(|(name, value)| (self.id(name), *value)).collect()
    }
}

fn same<T: PartialEq + std::fmt::Debug>(found: &T, want: &T) -> Result<(), String> {
    if found == want { Ok(()) } else { Err(format!("found {found:?}; wanted {want:?}")) }
}

fn count(hints: impl IntoIterator<Item = ZoneId>) -> Counts {
    let mut counts = Counts::new();
    for zone in hints {
        *counts.entry(zone).or_default() += 1;
    }
    counts
}

pub(super) fn run(text: &str) -> Outcome {
    let mut outcome = Outcome::default();
    let Some(file) = outcome.parse::<File>(text) else { return outcome };
    for (k, row) in file.giving_receiving.iter().enumerate() {
        outcome.row(&format!("giving_receiving {k}"), row, run_giving_receiving);
    }
    for (k, row) in file.redistribute.iter().enumerate() {
        outcome.row(&format!("redistribute {k}"), row, run_redistribute);
    }
    for (k, row) in file.add_hints.iter().enumerate() {
        outcome.row(&format!("add_hints {k}"), row, run_add_hints);
    }
    for (k, row) in file.set_nodes.iter().enumerate() {
        outcome.row(&format!("set_nodes {k}"), row, run_set_nodes);
    }
    for (k, row) in file.hints_by_zone.iter().enumerate() {
        outcome.row(&format!("hints_by_zone {k}"), row, run_hints_by_zone);
    }
    outcome
}

fn run_giving_receiving(row: &GivingReceiving) -> Result<(), String> {
    let zones = Zones::of(row.desired.keys().chain(row.allocated.keys()).chain(row.giving.keys()).chain(row.receiving.keys()));
    let found = giving_and_receiving(&zones.ids(&row.desired), &zones.ids(&row.allocated));
    same(&found, &(zones.ids(&row.giving), zones.ids(&row.receiving)))
}

fn run_redistribute(row: &Redistribute) -> Result<(), String> {
    let mut endpoints: Vec<String> = Vec::new();
    for some in row.endpoints.split(',') {
        let (count, zone) = some.split_once(" in ").ok_or("endpoints are told as `3 in a, 1 in b`")?;
        let count: usize = count.trim().parse().map_err(|error| format!("{error}"))?;
        endpoints.extend(std::iter::repeat_n(zone.trim().to_owned(), count));
    }
    let zones = Zones::of(endpoints.iter().chain(row.giving.keys()).chain(row.receiving.keys()).chain(row.change.keys()));
    let own: Vec<ZoneId> = endpoints.iter().map(|zone| zones.id(zone)).collect();
    let found = redistribute(&own, zones.ids(&row.giving), zones.ids(&row.receiving));
    let mut change: BTreeMap<ZoneId, i64> = BTreeMap::new();
    for (was, is) in own.iter().zip(&found) {
        *change.entry(*was).or_default() -= 1;
        *change.entry(*is).or_default() += 1;
    }
    change.retain(|_, change| *change != 0);
    same(&change, &zones.ids(&row.change))
}

fn run_add_hints(row: &AddHints) -> Result<(), String> {
    let all: Vec<(Option<&String>, bool)> = match &row.endpoints {
        RawEndpoints::Ready(zones) => {
            zones.iter().flat_map(|(zone, count)| std::iter::repeat_n((Some(zone), true), *count as usize)).collect()
        }
        RawEndpoints::Each(all) => all.iter().map(|one| (one.zone.as_ref(), one.ready == Some(true))).collect(),
    };
    let zones = Zones::of(all.iter().filter_map(|(zone, _)| *zone).chain(row.ratios.iter().flat_map(BTreeMap::keys)));
    let info = |&(zone, ready): &(Option<&String>, bool)| EndpointInfo { zone: zone.map(|zone| zones.id(zone)), ready };
    let endpoints: Vec<EndpointInfo> = all.iter().map(info).collect();
    let found = hints(row.ratios.as_ref().map(|ratios| zones.ids(ratios)).as_ref(), &endpoints, None);
    match (&row.want, found) {
        (Value::String(want), Err(why))
            if want.strip_prefix("disabled").is_some_and(|rest| rest.is_empty() || rest.ends_with(&why.to_string())) =>
        {
            Ok(())
        }
        (want @ Value::Object(_), Ok(found)) => {
            let want: ByZone<u32> = serde_json::from_value(want.clone()).map_err(|error| error.to_string())?;
            let unready = endpoints.iter().zip(&found).find(|(endpoint, hint)| endpoint.ready != hint.is_some());
            if let Some(wrong) = unready {
                return Err(format!("found {wrong:?}; exactly those that are ready have hints"));
            }
            same(&count(found.into_iter().flatten()), &zones.ids(&want))
        }
        (want, found) => Err(format!("found {found:?}; wanted {want}")),
    }
}

fn run_set_nodes(row: &SetNodes) -> Result<(), String> {
    let names: Vec<String> = row.nodes.iter().filter_map(|node| Some(node.first()?.as_str()?.to_owned())).collect();
    let zones = Zones::of(&names);
    let mut nodes = Vec::new();
    for node in &row.nodes {
        let [zone, cpu, marks @ ..] = node.as_slice() else { return Err("a node is a list of its zone and its CPU".to_owned()) };
        let has = |word: &str| marks.iter().any(|mark| mark == word);
        if let Some(unknown) = marks.iter().find(|mark| *mark != "unready" && *mark != "control-plane") {
            return Err(format!("a node that is {unknown} is not understood"));
        }
        if !has("control-plane") {
            let milli_cpu = cpu.as_u64().ok_or("CPU is told in thousandths")?;
            nodes.push(NodeInfo { zone: zone.as_str().map(|zone| zones.id(zone)), milli_cpu, ready: !has("unready") });
        }
    }
    same(&ratios(nodes), &row.want.as_ref().map(|want| zones.ids(want)))
}

fn run_hints_by_zone(row: &HintsByZone) -> Result<(), String> {
    let names = row.slice_hints.iter().filter_map(RawHint::hint).chain(row.allocated.keys()).chain(row.max.keys());
    let zones = Zones::of(names);
    let hinted = |one: &RawHint| HintedEndpoint { hint: one.hint().map(|zone| zones.id(zone)), ready: one.is_ready() };
    let slice: Vec<HintedEndpoint> = row.slice_hints.iter().map(hinted).collect();
    let found = standing(&slice, &zones.ids(&row.allocated), &zones.ids(&row.max));
    same(&found, &row.want.as_ref().map(|want| zones.ids(want)))
}
