//! Nodes that an operator drains: when they were cordoned and the last pod that was to leave had left, and what keeps those that have not.

use std::collections::{BTreeMap, BTreeSet};

use super::serving::Serving;
use crate::ids::{KubeClusterId, WorkloadId};
use crate::kernel::time::Time;
use crate::kube::describe::node_name;
use crate::kube::name::{NodeName, PodName};
use crate::kube::record::{KubeRecord, NodeFact, PodFact};
use crate::kube::spec::{Kind, KubeClusterSpec, Task};
use crate::report::{DrainEnd, DrainReport, RemainingPodReport, length, seconds};
use crate::scenario::Scenario;
use crate::scenario::text;

/// Follows the drains of all clusters.
#[derive(Clone, Debug, Default)]
pub struct Drains {
    rows: Vec<Row>,
    cordoned: Nodes,
    /// Nodes that are no more.
    deleted: Nodes,
}

type Nodes = BTreeSet<(KubeClusterId, NodeName)>;

#[derive(Clone, Debug)]
struct Row {
    cluster: KubeClusterId,
    node: NodeName,
    asked: Time,
    ended: Option<End>,
    /// Pods whose eviction was asked for and has not ended them yet: what came of it, and since when it has been that.
    answers: BTreeMap<PodName, (Answer, Time)>,
}

/// How and when a drain ended.
#[derive(Clone, Copy, Debug)]
enum End {
    Drained(Time),
    /// Its node was deleted before that, or when it was asked for.
    NodeDeleted(Time),
}

/// What became of an eviction.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Answer {
    Granted,
    /// A budget allows none at present.
    TooMany,
    /// Several budgets select the pod.
    Several,
    /// An admission webhook denies it.
    Denied,
}

impl Drains {
    /// Takes note of a record, after `serving` has.
    pub fn record(&mut self, at: Time, cluster: KubeClusterId, record: &KubeRecord, serving: &Serving, scenario: &Scenario) {
        let spec = &scenario.kube.clusters[cluster];
        let open = self.rows.iter_mut().filter(|row| row.cluster == cluster && row.ended.is_none());
        match *record {
            KubeRecord::Operation(Task::DrainNode(key)) => {
                let node = NodeName::Given(key);
                let ended = self.deleted.contains(&(cluster, node)).then_some(End::NodeDeleted(at));
                let mut row = Row { cluster, node, asked: at, ended, answers: BTreeMap::new() };
                row.end_if_empty(at, &self.cordoned, serving, spec);
                self.rows.push(row);
            }
            KubeRecord::Node(name, NodeFact::Cordoned) => {
                self.cordoned.insert((cluster, name));
                open.for_each(|row| row.end_if_empty(at, &self.cordoned, serving, spec));
            }
            KubeRecord::Pod(name, PodFact::Removed) => open.for_each(|row| {
                row.answers.remove(&name);
                row.end_if_empty(at, &self.cordoned, serving, spec);
            }),
            KubeRecord::Pod(name, fact) => {
                let answer = match fact {
                    PodFact::Evicted(true) | PodFact::Terminating => Answer::Granted,
                    PodFact::Evicted(false) => Answer::TooMany,
                    PodFact::SeveralBudgets => Answer::Several,
                    PodFact::Denied => Answer::Denied,
                    _ => return,
                };
                let node = serving.node_of(cluster, name);
                for row in open.filter(|row| Some(row.node) == node) {
                    let since = row.answers.get(&name).filter(|(before, _)| *before == answer).map_or(at, |(_, since)| *since);
                    row.answers.insert(name, (answer, since));
                }
            }
            KubeRecord::Node(name, NodeFact::Removed) => {
                open.filter(|row| row.node == name).for_each(|row| row.ended = Some(End::NodeDeleted(at)));
                self.cordoned.remove(&(cluster, name));
                self.deleted.insert((cluster, name));
            }
            KubeRecord::Node(name, NodeFact::Uncordoned) => drop(self.cordoned.remove(&(cluster, name))),
            KubeRecord::Node(name, NodeFact::Registered) => drop(self.deleted.remove(&(cluster, name))),
            _ => {}
        }
    }

    /// All of them, in the order they were asked for, as they stand `now`.
    pub fn rows(&self, now: Time, serving: &Serving, scenario: &Scenario) -> Vec<DrainReport> {
        self.rows.iter().map(|row| row.report(now, &self.cordoned, serving, scenario)).collect()
    }
}

impl Row {
    /// The pods that have yet to leave: all but those that belong to the node (`kubectl drain --ignore-daemonsets`).
    fn remaining<'a>(&self, serving: &'a Serving, spec: &'a KubeClusterSpec) -> impl Iterator<Item = PodName> + use<'a> {
        let pods = serving.pods_on(self.cluster, self.node).map(|(name, _)| name);
        pods.filter(|name| spec.workloads[name.workload].kind != Kind::DaemonSet)
    }

    /// Evictions begin when the node is cordoned, which takes an API that answers.
    fn end_if_empty(&mut self, at: Time, cordoned: &Nodes, serving: &Serving, spec: &KubeClusterSpec) {
        let is_cordoned = cordoned.contains(&(self.cluster, self.node));
        if self.ended.is_none() && is_cordoned && self.remaining(serving, spec).next().is_none() {
            self.ended = Some(End::Drained(at));
        }
    }

    fn report(&self, now: Time, cordoned: &Nodes, serving: &Serving, scenario: &Scenario) -> DrainReport {
        let spec = &scenario.kube.clusters[self.cluster];
        let remaining = |name: PodName| {
            let (answer, since) = self.answers.get(&name).map_or((None, self.asked), |(answer, since)| (Some(*answer), *since));
            RemainingPodReport {
                pod: name.text(spec),
                namespace: scenario.kube.word(spec.workloads[name.workload].namespace).to_owned(),
                from_s: seconds(since),
                duration_s: length(now.since(since)),
                reason: reason(answer, name.workload, spec),
            }
        };
        let (ended, end) = match self.ended {
            Some(End::Drained(at)) => (at, DrainEnd::Drained),
            Some(End::NodeDeleted(at)) => (at, DrainEnd::NodeDeleted),
            None if cordoned.contains(&(self.cluster, self.node)) => (now, DrainEnd::Unfinished),
            None => (now, DrainEnd::NotCordoned),
        };
        DrainReport {
            cluster: spec.name.clone(),
            node: node_name(self.node, spec, scenario),
            requested_s: seconds(self.asked),
            duration_s: length(ended.since(self.asked)),
            end,
            remaining: self.remaining(serving, spec).filter(|_| self.ended.is_none()).map(remaining).collect(),
        }
    }
}

/// Why a pod is still there.
fn reason(answer: Option<Answer>, workload: WorkloadId, spec: &KubeClusterSpec) -> String {
    let budgets = || {
        let of = &spec.workloads[workload];
        let own = of.max_unavailable.map(|_| format!("`max_unavailable` of {}", of.name));
        let named = spec.budgets.iter().filter(|budget| budget.pods.selects(of)).map(|budget| budget.name.clone());
        own.into_iter().chain(named).collect::<Vec<_>>()
    };
    match answer {
        None => "the API did not answer".to_owned(),
        Some(Answer::Granted) => "it is evicted, and has not ended yet".to_owned(),
        Some(Answer::TooMany) => format!("PodDisruptionBudget {} allows no disruption", text::list(&budgets())),
        Some(Answer::Denied) => {
            let of = &spec.workloads[workload];
            let selects =
                spec.zone_aware.budgets.iter().filter(|budget| budget.pods.selects(of)).map(|budget| budget.name.clone());
            format!("ZoneDisruptionBudget {} allows no disruption in its zone", text::list(&selects.take(1).collect::<Vec<_>>()))
        }
        Some(Answer::Several) => format!("several PodDisruptionBudgets select it: {}", text::list(&budgets())),
    }
}
