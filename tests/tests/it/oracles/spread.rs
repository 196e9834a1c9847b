//! `pts_filter_cases.json` and `pts_score_cases.json`: pod topology spread (`podtopologyspread/filtering_test.go`, `scoring_test.go`).

use std::collections::BTreeMap;

use serde::Deserialize;
use serde_json::Value;
use zonefall_core::kube::rule::labels::{Condition, Labels, NodeAffinity, Requirement, Selector, Symbol};
use zonefall_core::kube::rule::spread::{self, Constraint, Incoming, SchedulerNode, SchedulerPod, Verdict};
use zonefall_core::kube::rule::taints::{Effect, Taint};

use super::Outcome;
use super::symbols::SymbolTable;

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct File {
    #[serde(rename = "source", default)]
    _source: String,
    #[serde(rename = "semantics", default)]
    _semantics: Vec<String>,
    #[serde(rename = "existing_format", default)]
    _existing_format: String,
    #[serde(rename = "formula", default)]
    _formula: String,
    cases: Vec<Value>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Case<Want> {
    #[serde(rename = "name", default)]
    _name: String,
    #[serde(rename = "note", default)]
    _note: String,
    pod_labels: Vec<String>,
    #[serde(default)]
    constraints: Vec<RawConstraint>,
    /// The pod has no constraints of its own, and its Service selects this label: it is given the scheduler's.
    #[serde(default)]
    system_defaults: Option<String>,
    nodes: Vec<(String, BTreeMap<String, String>)>,
    /// Nodes that another filter refused.
    #[serde(default)]
    failed_nodes: Vec<(String, BTreeMap<String, String>)>,
    existing: Vec<Existing>,
    node_affinity: Option<Affinity>,
    #[serde(default)]
    tainted: Vec<String>,
    want: BTreeMap<String, Want>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields, rename_all = "camelCase")]
struct RawConstraint {
    key: String,
    max_skew: u64,
    selector: Option<String>,
    min_domains: Option<u64>,
    affinity_policy: Policy,
    taints_policy: Policy,
}

#[derive(Clone, Copy, Deserialize, PartialEq)]
enum Policy {
    Honor,
    Ignore,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Affinity {
    include: Vec<String>,
}

/// `[node, labels]` or `[node, labels, flags]`.
#[derive(Deserialize)]
#[serde(untagged)]
enum Existing {
    Plain(String, Vec<String>),
    Flagged(String, Vec<String>, Flags),
}

#[derive(Default, Deserialize)]
#[serde(deny_unknown_fields, default)]
struct Flags {
    ns: Option<String>,
    terminating: bool,
}

/// A case in the simulator's words.
struct World {
    constraints: Vec<Constraint>,
    labels: Labels,
    affinity: NodeAffinity,
    namespace: Symbol,
    /// Name, labels and taints.
    nodes: Vec<(String, Labels, Vec<Taint>)>,
    pods: Vec<Pod>,
}

struct Pod {
    node: usize,
    namespace: Symbol,
    labels: Labels,
    terminating: bool,
}

/// The test's own label of a node that affinity asks for.
const NAME: &str = "name of the node";

impl World {
    fn new<Want>(case: &Case<Want>) -> Result<Self, String> {
        let mut symbols = SymbolTable::new();
        let set = |symbols: &mut SymbolTable, names: &[String]| -> Labels {
            names.iter().map(|name| (symbols.symbol(name), symbols.symbol(""))).collect()
        };
        let constraints = case.constraints.iter().map(|raw| Constraint {
            key: symbols.symbol(key(&raw.key)),
            max_skew: raw.max_skew,
            selector: match &raw.selector {
                Some(label) => Selector::All(vec![Requirement { key: symbols.symbol(label), is: Condition::Exists }]),
                None => Selector::Nothing,
            },
            per_rollout: false,
            min_domains: raw.min_domains.unwrap_or(1),
            honors_affinity: raw.affinity_policy == Policy::Honor,
            honors_taints: raw.taints_policy == Policy::Honor,
        });
        let mut constraints: Vec<Constraint> = constraints.collect();
        if let Some(label) = &case.system_defaults {
            let all = vec![Requirement { key: symbols.symbol(label), is: Condition::Exists }];
            constraints.extend(spread::system_defaults(&Selector::All(all), false));
        }
        let include = |symbols: &mut SymbolTable, names: &[String]| Requirement {
            key: symbols.symbol(NAME),
            is: Condition::In(names.iter().map(|name| symbols.symbol(name)).collect()),
        };
        let affinity = case.node_affinity.iter().map(|affinity| vec![include(&mut symbols, &affinity.include)]).collect();
        let taint = Taint { key: symbols.symbol("taint"), value: None, effect: Effect::NoSchedule };
        let nodes: Vec<_> = (case.nodes.iter().chain(&case.failed_nodes))
            .map(|(name, pairs)| {
                let own = (symbols.symbol(NAME), symbols.symbol(name));
                let pairs = pairs.iter().map(|(label, value)| (symbols.symbol(key(label)), symbols.symbol(value)));
                let labels = pairs.collect::<Vec<_>>().into_iter().chain([own]).collect();
                (name.clone(), labels, if case.tainted.contains(name) { vec![taint] } else { Vec::new() })
            })
            .collect();
        let place = |name: &str| nodes.iter().position(|(own, ..)| own == name).ok_or(format!("no node {name}"));
        let default = "default".to_owned();
        let pods = case.existing.iter().map(|existing| {
            let none = Flags::default();
            let (node, labels, flags) = match existing {
                Existing::Plain(node, labels) => (node, labels, &none),
                Existing::Flagged(node, labels, flags) => (node, labels, flags),
            };
            let namespace = symbols.symbol(flags.ns.as_ref().unwrap_or(&default));
            Ok(Pod { node: place(node)?, namespace, labels: set(&mut symbols, labels), terminating: flags.terminating })
        });
        let pods = pods.collect::<Result<_, String>>()?;
        let labels = set(&mut symbols, &case.pod_labels);
        let namespace = symbols.symbol(&default);
        Ok(Self { constraints, labels, affinity: NodeAffinity(affinity), namespace, nodes, pods })
    }

    /// What `run` says of the nodes, in their order.
    fn judge<T>(&self, run: impl FnOnce(&Incoming, &[SchedulerNode], &[SchedulerPod]) -> Vec<T>) -> Vec<T> {
        let Self { namespace, labels, affinity, .. } = self;
        let pod = Incoming { namespace: *namespace, labels, revision: 0, affinity, tolerations: &[] };
        let nodes: Vec<_> = self.nodes.iter().map(|(_, labels, taints)| SchedulerNode { labels, taints }).collect();
        run(&pod, &nodes, &self.pods.iter().map(Pod::view).collect::<Vec<_>>())
    }
}

impl Pod {
    fn view(&self) -> SchedulerPod<'_> {
        SchedulerPod {
            node: self.node,
            namespace: self.namespace,
            labels: &self.labels,
            revision: 0,
            terminating: self.terminating,
        }
    }
}

/// The key as Kubernetes writes it, where a rule knows it by name.
fn key(short: &str) -> &str {
    match short {
        "host" => "kubernetes.io/hostname",
        other => other,
    }
}

fn run_cases<Want: for<'de> Deserialize<'de>>(text: &str, check: impl Fn(&Case<Want>) -> Result<(), String>) -> Outcome {
    let mut outcome = Outcome::default();
    let Some(file) = outcome.parse::<File>(text) else { return outcome };
    for (k, row) in file.cases.iter().enumerate() {
        outcome.row(&format!("cases[{k}]"), row, &check);
    }
    outcome
}

/// Compares what was found of nodes with what was wanted of them.
fn compare<T: PartialEq + std::fmt::Debug>(nodes: &[(String, T)], want: &BTreeMap<String, T>) -> Result<(), String> {
    let found: BTreeMap<&str, &T> = nodes.iter().map(|(name, found)| (name.as_str(), found)).collect();
    let want: BTreeMap<&str, &T> = want.iter().map(|(name, want)| (name.as_str(), want)).collect();
    if found == want { Ok(()) } else { Err(format!("found {found:?}, wanted {want:?}")) }
}

#[derive(Debug, Deserialize, PartialEq)]
enum Filtered {
    Success,
    Unschedulable,
    UnschedulableAndUnresolvable,
}

impl From<Verdict> for Filtered {
    fn from(verdict: Verdict) -> Self {
        match verdict {
            Verdict::Success => Self::Success,
            Verdict::Unschedulable => Self::Unschedulable,
            Verdict::UnschedulableAndUnresolvable => Self::UnschedulableAndUnresolvable,
        }
    }
}

pub(super) fn run_filter(text: &str) -> Outcome {
    run_cases(text, |case: &Case<Filtered>| {
        let world = World::new(case)?;
        let found = world.judge(|pod, nodes, pods| spread::filter(pod, &world.constraints, nodes, pods));
        let names = world.nodes.iter().map(|(name, ..)| name.clone());
        compare(&names.zip(found.into_iter().map(Filtered::from)).collect::<Vec<_>>(), &case.want)
    })
}

pub(super) fn run_score(text: &str) -> Outcome {
    run_cases(text, |case: &Case<i64>| {
        let world = World::new(case)?;
        let candidates: Vec<usize> = (0..case.nodes.len()).collect();
        let found = world.judge(|pod, nodes, pods| {
            spread::score(pod, &world.constraints, case.system_defaults.is_none(), nodes, &candidates, pods)
        });
        let names = case.nodes.iter().map(|(name, _)| name.clone());
        compare(&names.zip(found).collect::<Vec<_>>(), &case.want)
    })
}
