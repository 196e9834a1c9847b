//! How many nodes, pods and machines stand where, sampled at even intervals.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use crate::ids::KubeClusterId;
use crate::kube::machine::Phase;
use crate::kube::name::{MachineName, NodeName, PodName};
use crate::kube::record::{KubeRecord, MachineFact, NodeFact, PodFact, Ready};
use crate::report::{CountsReport, PodPhase};
use crate::scenario::Scenario;

/// Counts all clusters that have nodes.
#[derive(Clone, Debug, Default)]
pub struct Counts {
    /// Shared with clones as long as neither changes them.
    clusters: BTreeMap<KubeClusterId, Arc<ClusterCounts>>,
    /// Windows that have ended.
    windows: u32,
}

#[derive(Clone, Debug, Default)]
struct ClusterCounts {
    nodes: Tally<NodeName, Ready>,
    pods: Tally<PodName, PodPhase>,
    machines: Tally<MachineName, Phase>,
    /// Machines that the cloud refused to make so far.
    refused: BTreeSet<MachineName>,
    /// The columns of the report, where they are others than in the window before.
    samples: Vec<(u32, [u32; 10])>,
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
        for (id, spec) in scenario.kube.clusters.iter_enumerated().filter(|(_, spec)| !spec.nodes.is_empty()) {
            let mut cluster = ClusterCounts::default();
            for (key, node) in spec.nodes.iter_enumerated() {
                cluster.nodes.set(NodeName::Given(key), Ready::True);
                if let Some(machine) = node.machine.filter(|_| spec.manages_machines()) {
                    cluster.machines.set(machine, Phase::Running);
                }
            }
            clusters.insert(id, Arc::new(cluster));
        }
        Self { clusters, windows: 0 }
    }

    /// Takes note of a fact.
    pub fn record(&mut self, cluster: KubeClusterId, record: &KubeRecord) {
        let cluster = self.clusters.entry(cluster).or_default();
        if let KubeRecord::Pod(..) | KubeRecord::Node(..) | KubeRecord::Machine(..) = record {
            Arc::make_mut(cluster).record(record);
        }
    }

    /// Looks at everything.
    pub fn sample(&mut self) {
        for cluster in self.clusters.values_mut() {
            let counts = cluster.counts();
            if cluster.samples.last().is_none_or(|(_, last)| *last != counts) {
                Arc::make_mut(cluster).samples.push((self.windows, counts));
            }
        }
        self.windows += 1;
    }

    /// What was seen of each cluster, `window_s` seconds between two looks.
    pub fn rows(&self, window_s: f64) -> impl Iterator<Item = (KubeClusterId, CountsReport)> {
        self.clusters.iter().map(move |(id, cluster)| (*id, cluster.report(window_s, self.windows)))
    }
}

impl ClusterCounts {
    /// How many nodes, pods and machines stand where, by column of the report.
    fn counts(&self) -> [u32; 10] {
        let Self { nodes, pods, machines, refused, .. } = self;
        [
            nodes.count(Ready::True),
            nodes.all.len() as u32 - nodes.count(Ready::True),
            pods.count(PodPhase::Pending),
            pods.count(PodPhase::Running),
            pods.count(PodPhase::Terminating),
            machines.count(Phase::Running),
            machines.count(Phase::Pending) + machines.count(Phase::CrashLoopBackOff),
            machines.count(Phase::Unknown) + machines.count(Phase::Failed),
            machines.count(Phase::Terminating),
            refused.len() as u32,
        ]
    }

    fn report(&self, window_s: f64, windows: u32) -> CountsReport {
        let column = |column: usize| {
            let ends = self.samples.iter().skip(1).map(|(from, _)| *from).chain([windows]);
            let runs = self.samples.iter().zip(ends);
            runs.flat_map(|((from, counts), to)| (*from..to).map(move |_| counts[column])).collect()
        };
        CountsReport {
            window_s,
            nodes_ready: column(0),
            nodes_not_ready: column(1),
            pods_pending: column(2),
            pods_running: column(3),
            pods_terminating: column(4),
            machines_running: column(5),
            machines_coming: column(6),
            machines_failing: column(7),
            machines_terminating: column(8),
            machines_refused: column(9),
        }
    }

    fn record(&mut self, record: &KubeRecord) {
        match *record {
            KubeRecord::Pod(pod, fact) => self.pod(pod, fact),
            KubeRecord::Node(node, NodeFact::Registered) => self.nodes.set(node, Ready::True),
            KubeRecord::Node(node, NodeFact::Ready(ready)) => self.nodes.set(node, ready),
            KubeRecord::Node(node, NodeFact::Removed) => self.nodes.remove(&node),
            KubeRecord::Machine(machine, fact) => self.machine(machine, fact),
            _ => {}
        }
    }

    fn machine(&mut self, machine: MachineName, fact: MachineFact) {
        match fact {
            MachineFact::Created => self.machines.set(machine, Phase::Pending),
            MachineFact::Removed => self.machines.remove(&machine),
            MachineFact::Phase(phase) => self.machines.set(machine, phase),
            MachineFact::DrainTimedOut => {}
        }
        match fact {
            MachineFact::Phase(Phase::CrashLoopBackOff) => drop(self.refused.insert(machine)),
            MachineFact::Phase(Phase::Pending | Phase::Running) | MachineFact::Removed => drop(self.refused.remove(&machine)),
            MachineFact::Created
            | MachineFact::DrainTimedOut
            | MachineFact::Phase(Phase::Unknown | Phase::Failed | Phase::Terminating) => {}
        }
    }

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
