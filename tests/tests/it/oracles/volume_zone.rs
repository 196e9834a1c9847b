//! `volume_zone_cases.json`: volumes keep their pods in their zones (`volumezone/volume_zone_test.go`).

use std::collections::BTreeMap;

use serde::Deserialize;
use serde_json::Value;
use zonefall_core::kube::rule::labels::{Labels, Symbol};
use zonefall_core::kube::rule::volume_zone::{Claim, Class, Verdict, Volume, filter};

use super::Outcome;
use super::symbols::SymbolTable;

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct File {
    #[serde(rename = "source", default)]
    _source: String,
    #[serde(rename = "labels", default)]
    _labels: BTreeMap<String, String>,
    #[serde(rename = "rule", default)]
    _rule: String,
    #[serde(rename = "binding_format", default)]
    _binding_format: String,
    #[serde(default)]
    single: Vec<Value>,
    #[serde(default)]
    multi: Vec<Value>,
    #[serde(default)]
    binding: Vec<Value>,
}

/// Short names of the four keys.
type Topology = BTreeMap<Key, String>;

#[derive(Clone, Copy, Deserialize, Eq, Ord, PartialEq, PartialOrd)]
#[serde(rename_all = "lowercase")]
enum Key {
    Bz,
    Br,
    Z,
    R,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Placed {
    pv: Option<Topology>,
    node: Topology,
    want: Want,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Binding {
    pvc: Pvc,
    storage_class: Option<StorageClass>,
    want: Want,
}

#[derive(Clone, Copy, Deserialize, PartialEq)]
#[serde(rename_all = "lowercase")]
enum Pvc {
    Bound,
    Unbound,
}

#[derive(Clone, Copy, Deserialize)]
enum StorageClass {
    #[serde(rename = "missing")]
    Missing,
    Immediate,
    WaitForFirstConsumer,
}

#[derive(Clone, Copy, Debug, Deserialize, PartialEq)]
enum Want {
    #[serde(rename = "ok")]
    Fits,
    #[serde(rename = "reject")]
    Rejected,
    #[serde(rename = "skip", alias = "Skip")]
    Skip,
}

pub(super) fn run(text: &str) -> Outcome {
    let mut outcome = Outcome::default();
    let Some(file) = outcome.parse::<File>(text) else { return outcome };
    for (table, rows) in [("single", &file.single), ("multi", &file.multi)] {
        for (k, row) in rows.iter().enumerate() {
            outcome.row(&format!("{table}[{k}]"), row, check_placed);
        }
    }
    for (k, row) in file.binding.iter().enumerate() {
        outcome.row(&format!("binding[{k}]"), row, check_binding);
    }
    outcome
}

fn key(short: Key) -> Symbol {
    match short {
        Key::Bz => Symbol::BETA_ZONE,
        Key::Br => Symbol::BETA_REGION,
        Key::Z => Symbol::ZONE,
        Key::R => Symbol::REGION,
    }
}

fn check_placed(case: &Placed) -> Result<(), String> {
    let mut symbols = SymbolTable::new();
    let mut split = |text: &str| text.split("__").map(|word| symbols.symbol(word)).collect::<Vec<_>>();
    let volume = |pv: &Topology, split: &mut dyn FnMut(&str) -> Vec<Symbol>| {
        Claim::Bound(Volume(pv.iter().map(|(short, value)| (key(*short), split(value))).collect()))
    };
    let claims: Vec<Claim> = case.pv.iter().map(|pv| volume(pv, &mut split)).collect();
    let node: Labels = case.node.iter().map(|(short, value)| (key(*short), symbols.symbol(value))).collect();
    compare(filter(&claims, &node), case.want)
}

fn check_binding(case: &Binding) -> Result<(), String> {
    let zone = (Symbol::ZONE, SymbolTable::new().symbol("zone"));
    let claim = match (case.pvc, case.storage_class) {
        (Pvc::Bound, _) => Claim::Bound(Volume(vec![(zone.0, vec![zone.1])])),
        (Pvc::Unbound, None) => Claim::Unbound(Class::None),
        (Pvc::Unbound, Some(StorageClass::Missing)) => Claim::Unbound(Class::Missing),
        (Pvc::Unbound, Some(StorageClass::Immediate)) => Claim::Unbound(Class::Immediate),
        (Pvc::Unbound, Some(StorageClass::WaitForFirstConsumer)) => Claim::Unbound(Class::WaitForFirstConsumer),
    };
    compare(filter(&[claim], &Labels::from_iter([zone])), case.want)
}

fn compare(found: Verdict, want: Want) -> Result<(), String> {
    let found = match found {
        Verdict::Fits => Want::Fits,
        Verdict::Rejected => Want::Rejected,
        Verdict::Skip => Want::Skip,
    };
    if found == want { Ok(()) } else { Err(format!("found {found:?}, wanted {want:?}")) }
}
