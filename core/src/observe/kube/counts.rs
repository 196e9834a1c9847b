//! How many nodes, pods and machines stand where, sampled at even intervals.

use std::collections::BTreeMap;

use crate::ids::KubeClusterId;
use crate::kube::machine::Phase;
use crate::kube::name::{MachineName, NodeName, PodName};
use crate::kube::record::{KubeRecord, MachineFact, NodeFact, PodFact, Ready};
use crate::report::{CountsReport, PodPhase};
use crate::scenario::Scenario;

/// Counts all planes that have nodes.
#[derive(Clone, Debug, Default)]
pub struct Counts {
    clusters: BTreeMap<KubeClusterId, ClusterCounts>,
}

#[derive(Clone, Debug, Default)]
struct ClusterCounts {
    nodes: Tally<NodeName, Ready>,
    pods: Tally<PodName, PodPhase>,
    machines: Tally<MachineName, Phase>,
    series: CountsReport,
}

/// What there is, and how many are how.
#[derive(Clone, Debug)]
struct Tally<K, P> {
    all: BTreeMap<K, P>,
    counts: BTreeMap<P, u32>,
}

impl<K, P> Default for Tally<K, P> {
    fn default() -> Self {
        Self { all: BTreeMap::new(), counts: BTreeMap::new() }
    }
}

impl<K: Ord, P: Ord + Copy> Tally<K, P> {
    /// Something is so from now on.
    fn set(&mut self, key: K, phase: P) {
        let before = self.all.insert(key, phase);
        *self.counts.entry(phase).or_default() += 1;
        self.counts_no_more(before);
    }

    /// Something is gone.
    fn remove(&mut self, key: &K) {
        let before = self.all.remove(key);
        self.counts_no_more(before);
    }

    fn counts_no_more(&mut self, before: Option<P>) {
        if let Some(count) = before.and_then(|phase| self.counts.get_mut(&phase)) {
            *count -= 1;
        }
    }

    /// How many are so.
    fn count(&self, phase: P) -> u32 {
        self.counts.get(&phase).copied().unwrap_or(0)
    }
}

impl Counts {
    /// The nodes and machines of the start.
    pub fn new(scenario: &Scenario) -> Self {
        let mut clusters = BTreeMap::new();
        for (id, spec) in (0..).map(KubeClusterId).zip(&scenario.kube.clusters).filter(|(_, spec)| !spec.nodes.is_empty()) {
            let mut cluster = ClusterCounts::default();
            for (key, node) in (0..).map(crate::ids::NodeKey).zip(&spec.nodes) {
                cluster.nodes.set(NodeName::Given(key), Ready::True);
                if let Some(machine) = node.machine {
                    cluster.machines.set(machine, Phase::Running);
                }
            }
            clusters.insert(id, cluster);
        }
        Self { clusters }
    }

    /// Takes note of a fact.
    pub fn record(&mut self, cluster: KubeClusterId, record: &KubeRecord) {
        let cluster = self.clusters.entry(cluster).or_default();
        match *record {
            KubeRecord::Pod(pod, fact) => cluster.pod(pod, fact),
            KubeRecord::Node(node, NodeFact::Registered) => cluster.nodes.set(node, Ready::True),
            KubeRecord::Node(node, NodeFact::Ready(ready)) => cluster.nodes.set(node, ready),
            KubeRecord::Node(node, NodeFact::Removed) => cluster.nodes.remove(&node),
            KubeRecord::Machine(machine, MachineFact::Created) => cluster.machines.set(machine, Phase::Pending),
            KubeRecord::Machine(machine, MachineFact::Phase(phase)) => cluster.machines.set(machine, phase),
            KubeRecord::Machine(machine, MachineFact::Removed) => cluster.machines.remove(&machine),
            _ => {}
        }
    }

    /// Looks at everything.
    pub fn sample(&mut self) {
        for ClusterCounts { nodes, pods, machines, series } in self.clusters.values_mut() {
            series.nodes_ready.push(nodes.count(Ready::True));
            series.nodes_not_ready.push(nodes.all.len() as u32 - nodes.count(Ready::True));
            series.pods_pending.push(pods.count(PodPhase::Pending));
            series.pods_running.push(pods.count(PodPhase::Running));
            series.pods_terminating.push(pods.count(PodPhase::Terminating));
            series.machines_running.push(machines.count(Phase::Running));
            series.machines_coming.push(machines.count(Phase::Pending) + machines.count(Phase::CrashLoopBackOff));
            series.machines_failing.push(machines.count(Phase::Unknown) + machines.count(Phase::Failed));
            series.machines_terminating.push(machines.count(Phase::Terminating));
        }
    }

    /// What was seen of each plane, `window_s` seconds between two looks.
    pub fn rows(&self, window_s: f64) -> impl Iterator<Item = (KubeClusterId, CountsReport)> {
        self.clusters.iter().map(move |(id, cluster)| (*id, CountsReport { window_s, ..cluster.series.clone() }))
    }
}

impl ClusterCounts {
    fn pod(&mut self, pod: PodName, fact: PodFact) {
        let phase = match fact {
            PodFact::Created => PodPhase::Pending,
            PodFact::Started { .. } => PodPhase::Running,
            PodFact::Terminating => PodPhase::Terminating,
            PodFact::Removed => {
                self.pods.remove(&pod);
                return;
            }
            _ => return,
        };
        if self.pods.all.get(&pod) != Some(&PodPhase::Terminating) {
            self.pods.set(pod, phase);
        }
    }
}
