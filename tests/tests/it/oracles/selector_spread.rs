//! `selector_spread_cases.json`: pods of a Service and a controller kept apart (`selectorspread/selector_spread_test.go`).

use std::collections::BTreeMap;

use serde::Deserialize;
use zonefall_core::kube::rule::labels::{Labels, Requirement};
use zonefall_core::kube::rule::selector_spread::{Candidate, is, scores, selector};

use super::Outcome;
use super::form::{run_cases, same};
use super::symbols::SymbolTable;

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Case {
    nodes: Vec<RawNode>,
    pod: Pod,
    existing: Vec<Existing>,
    services: Vec<Service>,
    controllers: Vec<Controller>,
    /// Score by node.
    want: BTreeMap<String, i64>,
}

type RawLabels = BTreeMap<String, String>;

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct RawNode {
    name: String,
    zone: Option<String>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Pod {
    namespace: String,
    labels: RawLabels,
    owner: Option<Owner>,
    has_spread_constraints: bool,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Owner {
    kind: Kind,
    name: String,
}

#[derive(Clone, Copy, Debug, Deserialize, PartialEq)]
enum Kind {
    ReplicationController,
    ReplicaSet,
    StatefulSet,
    /// These own pods, too, but the plugin does not ask for their selectors.
    DaemonSet,
    Job,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Existing {
    node: String,
    namespace: String,
    labels: RawLabels,
    terminating: bool,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Service {
    namespace: String,
    selector: Option<RawLabels>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Controller {
    kind: Kind,
    name: String,
    namespace: String,
    selector: RawLabels,
}

pub(super) fn run(text: &str) -> Outcome {
    run_cases(text, |case: &Case| {
        let mut symbols = SymbolTable::new();
        let pod = labels(&case.pod.labels, &mut symbols);
        let services = case.services.iter().filter(|service| service.namespace == case.pod.namespace);
        let services: Vec<Vec<Requirement>> =
            services.filter_map(|service| service.selector.as_ref()).map(|all| requirements(all, &mut symbols)).collect();
        let owner = match &case.pod.owner {
            Some(owner) if !matches!(owner.kind, Kind::DaemonSet | Kind::Job) => {
                let is_owner =
                    |one: &&Controller| one.kind == owner.kind && one.name == owner.name && one.namespace == case.pod.namespace;
                case.controllers.iter().find(is_owner)
            }
            _ => None,
        };
        let owner = owner.map_or_else(Vec::new, |owner| requirements(&owner.selector, &mut symbols));
        let selector = selector(&pod, services.iter().map(Vec::as_slice), &owner);
        let mut pods: BTreeMap<&str, u64> = BTreeMap::new();
        for existing in &case.existing {
            let labels = labels(&existing.labels, &mut symbols);
            let counts = existing.namespace == case.pod.namespace && !existing.terminating && selector.selects(&labels);
            *pods.entry(&existing.node).or_default() += u64::from(counts);
        }
        let candidate = |node: &RawNode| Candidate {
            pods: pods.get(node.name.as_str()).copied().unwrap_or(0),
            zone: node.zone.clone().filter(|zone| !zone.is_empty()).map(|zone| symbols.symbol(&zone)),
        };
        let candidates: Vec<_> = case.nodes.iter().map(candidate).collect();
        let found = if case.pod.has_spread_constraints { vec![0; candidates.len()] } else { scores(&candidates) };
        let found: BTreeMap<String, i64> = case.nodes.iter().map(|node| node.name.clone()).zip(found).collect();
        same(&found, &case.want)
    })
}

fn labels(raw: &RawLabels, symbols: &mut SymbolTable) -> Labels {
    raw.iter().map(|(key, value)| (symbols.symbol(key), symbols.symbol(value))).collect()
}

fn requirements(raw: &RawLabels, symbols: &mut SymbolTable) -> Vec<Requirement> {
    raw.iter().map(|(key, value)| is(symbols.symbol(key), symbols.symbol(value))).collect()
}
