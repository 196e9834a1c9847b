//! The objects of a cluster, as far as its records tell of them.

use std::collections::{BTreeMap, BTreeSet};

use smallvec::SmallVec;

use super::templates::Templates;
use crate::ids::{NodeKey, WorkloadId};
use crate::kube::machine::Phase;
use crate::kube::name::{MachineName, NodeName, PodName, PodTag};
use crate::kube::record::{KubeRecord, Loss, MachineFact, NodeFact, PodFact, Ready};
use crate::kube::rule::labels::{Labels, Symbol};
use crate::kube::rule::taints::{Effect, Taint};
use crate::kube::spec::{KubeClusterSpec, NodeSpec, NodeTemplate, Resources, Task};

/// A pod.
#[derive(Clone, Debug, Default)]
pub(super) struct Pod {
    /// Tells its template from others of its workload.
    pub revision: u32,
    pub node: Option<NodeName>,
    /// Its process was seen running.
    pub started: bool,
    pub ready: bool,
    pub terminating: bool,
    /// It was asked to end after its node had fallen silent, which can only run on.
    pub unheard: bool,
    /// Its process has not lost its power since it was seen running.
    pub runs: bool,
}

impl Pod {
    /// What its budget counts.
    pub(super) const fn is_healthy(&self) -> bool {
        self.started && self.ready && !self.terminating
    }
}

/// A node.
#[derive(Clone, Debug)]
pub(super) struct Node {
    pub labels: Labels,
    pub taints: SmallVec<[Taint; 2]>,
    pub allocatable: Resources,
    pub pods: BTreeSet<PodName>,
    /// What its pods request.
    pub requested: Resources,
    ready: Ready,
    lost: Option<Loss>,
}

impl Node {
    fn new(template: &NodeTemplate) -> Self {
        Self {
            labels: template.labels.clone(),
            taints: SmallVec::from_slice(&template.taints),
            allocatable: template.allocatable,
            pods: BTreeSet::new(),
            requested: Resources::default(),
            ready: Ready::True,
            lost: None,
        }
    }

    /// It runs, and neither hears nor is heard.
    pub(super) fn is_partitioned(&self) -> bool {
        self.lost == Some(Loss::Network) && self.ready == Ready::Unknown
    }

    fn set_taint(&mut self, key: Symbol, effect: Effect, on: bool) {
        self.taints.retain(|taint| (taint.key, taint.effect) != (key, effect));
        if on {
            self.taints.push(Taint { key, value: None, effect });
        }
    }
}

/// The objects of one cluster.
#[derive(Clone, Debug)]
pub(super) struct Objects {
    pub pods: BTreeMap<PodName, Pod>,
    pub nodes: BTreeMap<NodeName, Node>,
    pub machines: BTreeMap<MachineName, Phase>,
    pub templates: Templates,
    /// Nodes that have joined, those of the start included.
    joined: u32,
    /// How often each workload was rolled out anew.
    rolled: BTreeMap<WorkloadId, u32>,
    /// How many pods workloads are to have that were scaled.
    pub scaled: BTreeMap<WorkloadId, u32>,
}

impl Objects {
    /// Those of the start that no record tells of.
    pub(super) fn new(spec: &KubeClusterSpec) -> Self {
        let node = |(key, node): (NodeKey, &NodeSpec)| (NodeName::Given(key), Node::new(&node.template));
        Self {
            pods: BTreeMap::new(),
            nodes: spec.nodes.iter_enumerated().map(node).collect(),
            machines: spec.nodes.iter().filter_map(|node| Some((node.machine?, Phase::Running))).collect(),
            templates: Templates::default(),
            joined: spec.nodes.len() as u32,
            rolled: BTreeMap::new(),
            scaled: BTreeMap::new(),
        }
    }

    /// The pods of a workload.
    pub(super) fn pods_of(&self, workload: WorkloadId) -> impl Iterator<Item = (PodName, &Pod)> {
        let first = PodName { workload, tag: PodTag::Replica { template: 0, suffix: 0 } };
        self.pods.range(first..).take_while(move |(name, _)| name.workload == workload).map(|(name, pod)| (*name, pod))
    }

    /// The node that a pod is bound to, if it is (still) there.
    pub(super) fn node_of(&self, pod: &Pod) -> Option<&Node> {
        self.nodes.get(&pod.node?)
    }

    /// Takes a fact in.
    pub(super) fn record(&mut self, fact: &KubeRecord, spec: &KubeClusterSpec) {
        match *fact {
            KubeRecord::Pod(name, fact) => self.pod(name, fact, spec),
            KubeRecord::Node(name, fact) => self.node(name, fact, spec),
            KubeRecord::Machine(name, MachineFact::Created) => drop(self.machines.insert(name, Phase::Pending)),
            KubeRecord::Machine(name, MachineFact::Phase(phase)) => drop(self.machines.insert(name, phase)),
            KubeRecord::Machine(name, MachineFact::Removed) => drop(self.machines.remove(&name)),
            KubeRecord::Operation(Task::RollComponent(workload)) => *self.rolled.entry(workload).or_default() += 1,
            KubeRecord::Operation(Task::ScaleWorkload(scale)) => drop(self.scaled.insert(scale.workload, scale.replicas)),
            _ => {}
        }
    }

    fn pod(&mut self, name: PodName, fact: PodFact, spec: &KubeClusterSpec) {
        let requests = &spec.workloads[name.workload].requests;
        if fact == PodFact::Created {
            let revision = match name.tag {
                PodTag::Replica { template, .. } => template,
                PodTag::Ordinal(_) | PodTag::Agent(_) => self.rolled.get(&name.workload).copied().unwrap_or(0),
            };
            self.pods.insert(name, Pod { revision, ..Pod::default() });
        }
        let Some(pod) = self.pods.get_mut(&name) else { return };
        let node = pod.node.and_then(|node| self.nodes.get_mut(&node));
        match fact {
            PodFact::Bound(to) => {
                pod.node = Some(to);
                if let Some(node) = self.nodes.get_mut(&to)
                    && node.pods.insert(name)
                {
                    node.requested = node.requested.plus(requests);
                }
            }
            PodFact::Started { .. } => (pod.started, pod.runs) = (true, true),
            PodFact::Ready(ready) => pod.ready = ready,
            PodFact::Terminating => (pod.terminating, pod.unheard) = (true, node.is_some_and(|node| node.is_partitioned())),
            PodFact::Removed => {
                if let Some(node) = node
                    && node.pods.remove(&name)
                {
                    node.requested = node.requested.minus(requests);
                }
                self.pods.remove(&name);
            }
            // Whoever used it has ended.
            PodFact::VolumeDetached { .. } => pod.runs = false,
            // It is asked to end in the same instant.
            PodFact::Evicted(granted) => pod.terminating |= granted,
            PodFact::Created
            | PodFact::Unschedulable(_)
            | PodFact::VolumeAttached(_)
            | PodFact::AttachFailed(_)
            | PodFact::OrphanedContainer(_)
            | PodFact::SeveralBudgets
            | PodFact::Denied
            | PodFact::TaintEvicted
            | PodFact::GarbageCollected
            | PodFact::ForceDeleted
            | PodFact::VolumeDiscarded => {}
            PodFact::Revision(number) => pod.revision = number,
        }
    }

    fn node(&mut self, name: NodeName, fact: NodeFact, spec: &KubeClusterSpec) {
        if let (NodeName::Machine(machine), NodeFact::Registered) = (name, fact) {
            let mut node = Node::new(&spec.machine_deployments[machine.deployment].template);
            node.labels.set(Symbol::HOSTNAME, Symbol::host(NodeKey(self.joined)));
            self.joined += 1;
            self.nodes.insert(name, node);
        }
        if fact == NodeFact::Removed {
            self.nodes.remove(&name);
        }
        let Some(node) = self.nodes.get_mut(&name) else { return };
        match fact {
            NodeFact::Ready(ready) => {
                node.ready = ready;
                // It has been heard: it has heard of all that is to end here.
                if ready == Ready::True {
                    for pod in &node.pods {
                        self.pods.entry(*pod).and_modify(|pod| pod.unheard = false);
                    }
                }
            }
            NodeFact::Unreachable(effect, on) => node.set_taint(Symbol::UNREACHABLE, effect, on),
            NodeFact::Cordoned => node.set_taint(Symbol::UNSCHEDULABLE, Effect::NoSchedule, true),
            NodeFact::Uncordoned => node.set_taint(Symbol::UNSCHEDULABLE, Effect::NoSchedule, false),
            NodeFact::Lost(lost) => {
                node.lost = lost;
                if lost == Some(Loss::Power) {
                    for pod in &node.pods {
                        self.pods.entry(*pod).and_modify(|pod| pod.runs = false);
                    }
                }
            }
            NodeFact::ToBeDeleted => node.set_taint(Symbol::TO_BE_DELETED, Effect::NoSchedule, true),
            NodeFact::Kept(_) => node.set_taint(Symbol::TO_BE_DELETED, Effect::NoSchedule, false),
            NodeFact::Registered | NodeFact::Removed | NodeFact::ScaleDown(_) => {}
        }
    }
}
