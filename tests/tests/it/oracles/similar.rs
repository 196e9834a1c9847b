//! `ca_similar_groups_cases.json`: node groups that count as alike (cluster autoscaler, `compare_nodegroups_test.go`).

use std::collections::BTreeMap;

use serde::Deserialize;
use zonefall_core::autoscaler::similar::{Comparator, IGNORED, IGNORED_ON_AWS, Quantities, Ratios, ResourceKind, SampleNode};
use zonefall_core::kube::rule::labels::Labels;

use super::Outcome;
use super::form::{run_cases, same};
use super::symbols::SymbolTable;

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Case {
    comparator: Kind,
    labels: Vec<String>,
    ratios: RawRatios,
    nodes: [RawNode; 2],
    want: bool,
}

#[derive(Clone, Copy, Deserialize, PartialEq)]
#[serde(rename_all = "snake_case")]
enum Kind {
    Generic,
    Aws,
    Labels,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct RawRatios {
    capacity_memory: f64,
    allocatable: f64,
    free: f64,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct RawNode {
    capacity: BTreeMap<String, i64>,
    allocatable: BTreeMap<String, i64>,
    labels: BTreeMap<String, String>,
    requested: BTreeMap<String, i64>,
}

pub(super) fn run(text: &str) -> Outcome {
    run_cases(text, |case: &Case| {
        let mut symbols = SymbolTable::new();
        let comparator = match case.comparator {
            Kind::Labels => Comparator::Labels(case.labels.iter().map(|label| symbols.symbol(label)).collect()),
            Kind::Generic | Kind::Aws => {
                let aws = IGNORED_ON_AWS.iter().filter(|_| case.comparator == Kind::Aws);
                let further = case.labels.iter().map(String::as_str);
                let ignored = IGNORED.iter().chain(aws).copied().chain(further).map(|label| symbols.symbol(label)).collect();
                let RawRatios { capacity_memory, allocatable, free } = case.ratios;
                Comparator::Resources { ignored, ratios: Ratios { capacity_memory, allocatable, free } }
            }
        };
        let mut labels = |node: &RawNode| -> Labels {
            node.labels.iter().map(|(key, value)| (symbols.symbol(key), symbols.symbol(value))).collect()
        };
        let [first, second] = [labels(&case.nodes[0]), labels(&case.nodes[1])];
        let mut sample = |node: &RawNode| -> [Quantities; 3] {
            [&node.capacity, &node.allocatable, &node.requested]
                .map(|all| all.iter().map(|(name, quantity)| (kind(name, &mut symbols), *quantity)).collect())
        };
        let [one, other] = [sample(&case.nodes[0]), sample(&case.nodes[1])];
        let node =
            |[capacity, allocatable, requested]: [Quantities; 3], labels| SampleNode { capacity, allocatable, requested, labels };
        same(&comparator.are_similar(&node(one, &first), &node(other, &second)), &case.want)
    })
}

fn kind(name: &str, symbols: &mut SymbolTable) -> ResourceKind {
    match name {
        "cpu" => ResourceKind::Cpu,
        "memory" => ResourceKind::Memory,
        "pods" => ResourceKind::Pods,
        "ephemeral-storage" => ResourceKind::EphemeralStorage,
        other => ResourceKind::Extended(symbols.symbol(other)),
    }
}
