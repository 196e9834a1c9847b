//! How many nodes, pods and machines stand where, sampled at even intervals.

use std::collections::BTreeMap;

use crate::gardener::machine::Phase;
use crate::ids::PlaneId;
use crate::kube::name::{MachineName, NodeName, PodName};
use crate::kube::record::{KubeRecord, MachineFact, NodeFact, PodFact, Ready};
use crate::report::{CountsReport, PodPhase};
use crate::scenario::Scenario;

/// Counts all planes that have nodes.
#[derive(Clone, Debug, Default)]
pub struct Counts {
    planes: BTreeMap<PlaneId, Plane>,
}

#[derive(Clone, Debug, Default)]
struct Plane {
    nodes: BTreeMap<NodeName, Ready>,
    pods: BTreeMap<PodName, PodPhase>,
    machines: BTreeMap<MachineName, Phase>,
    series: CountsReport,
}

impl Counts {
    /// The nodes and machines of the start.
    pub fn new(scenario: &Scenario) -> Self {
        let mut planes = BTreeMap::new();
        for (id, spec) in (0..).map(PlaneId).zip(&scenario.kube.planes).filter(|(_, spec)| !spec.nodes.is_empty()) {
            let mut plane = Plane::default();
            for (key, node) in (0..).map(crate::ids::NodeKey).zip(&spec.nodes) {
                plane.nodes.insert(NodeName::Given(key), Ready::True);
                plane.machines.extend(node.machine.map(|machine| (machine, Phase::Running)));
            }
            planes.insert(id, plane);
        }
        Self { planes }
    }

    /// Takes note of a fact.
    pub fn record(&mut self, plane: PlaneId, record: &KubeRecord) {
        let plane = self.planes.entry(plane).or_default();
        match *record {
            KubeRecord::Pod(pod, fact) => plane.pod(pod, fact),
            KubeRecord::Node(node, NodeFact::Registered) => drop(plane.nodes.insert(node, Ready::True)),
            KubeRecord::Node(node, NodeFact::Ready(ready)) => drop(plane.nodes.insert(node, ready)),
            KubeRecord::Node(node, NodeFact::Removed) => drop(plane.nodes.remove(&node)),
            KubeRecord::Machine(machine, MachineFact::Created) => drop(plane.machines.insert(machine, Phase::Pending)),
            KubeRecord::Machine(machine, MachineFact::Phase(phase)) => drop(plane.machines.insert(machine, phase)),
            KubeRecord::Machine(machine, MachineFact::Removed) => drop(plane.machines.remove(&machine)),
            _ => {}
        }
    }

    /// Looks at everything.
    pub fn sample(&mut self) {
        for Plane { nodes, pods, machines, series } in self.planes.values_mut() {
            let ready = nodes.values().filter(|ready| **ready == Ready::True).count() as u32;
            series.nodes_ready.push(ready);
            series.nodes_not_ready.push(nodes.len() as u32 - ready);
            let pods_in = |phase| pods.values().filter(|pod| **pod == phase).count() as u32;
            series.pods_pending.push(pods_in(PodPhase::Pending));
            series.pods_running.push(pods_in(PodPhase::Running));
            series.pods_terminating.push(pods_in(PodPhase::Terminating));
            let machines_in = |phase| machines.values().filter(|machine| **machine == phase).count() as u32;
            let running = machines_in(Phase::Running);
            series.machines_running.push(running);
            series.machines_coming.push(machines_in(Phase::Pending) + machines_in(Phase::CrashLoopBackOff));
            series.machines_failing.push(machines_in(Phase::Unknown) + machines_in(Phase::Failed));
            series.machines_terminating.push(machines_in(Phase::Terminating));
        }
    }

    /// What was seen of each plane, `window_s` seconds between two looks.
    pub fn rows(&self, window_s: f64) -> impl Iterator<Item = (PlaneId, CountsReport)> {
        self.planes.iter().map(move |(id, plane)| (*id, CountsReport { window_s, ..plane.series.clone() }))
    }
}

impl Plane {
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
        let before = self.pods.insert(pod, phase);
        if before == Some(PodPhase::Terminating) {
            self.pods.insert(pod, PodPhase::Terminating);
        }
    }
}
