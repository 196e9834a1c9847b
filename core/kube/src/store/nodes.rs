//! Nodes as the API has them: how they join and go, their conditions and their taints.

use std::collections::BTreeSet;

use smallvec::SmallVec;

use super::{Change, Store};
use crate::ctx::ClusterCtx;
use crate::name::{MachineName, NodeName};
use crate::record::{KubeRecord, NodeFact, Ready, ScaleDownVerdict};
use crate::rule::labels::{Labels, Symbol};
use crate::rule::taints::{Effect, Taint};
use crate::spec::{NodeTemplate, Resources};
use zonefall_kernel::time::Time;
use zonefall_network::HostId;
use zonefall_scenario::ids::{EtcdId, NodeKey, PodId, ZoneId};

/// A node as the API has it.
#[derive(Clone, Debug)]
pub struct Node {
    /// Its name.
    pub name: NodeName,
    /// Where its kubelet runs.
    pub host: HostId,
    /// Its zone.
    pub zone: ZoneId,
    /// Labels of the node.
    pub labels: Labels,
    /// What its pods may request in all.
    pub allocatable: Resources,
    /// Volumes that can be attached to it.
    pub volumes: u32,
    /// Condition `Ready` of the node.
    pub ready: Ready,
    /// Taints of the node.
    pub taints: SmallVec<[Taint; 2]>,
    /// What its pods request.
    pub requested: Resources,
    /// How many of its pods have a volume.
    pub with_volume: u32,
    /// Its pods.
    pub pods: BTreeSet<PodId>,
    /// When it joined; `None`: before the run.
    pub joined: Option<Time>,
}

/// What the cluster autoscaler taints nodes with that it is about to delete.
pub const TO_BE_DELETED: Taint = Taint { key: Symbol::TO_BE_DELETED, value: None, effect: Effect::NoSchedule };

/// What nodes are tainted with that take no more pods.
pub const CORDONED: Taint = Taint { key: Symbol::UNSCHEDULABLE, value: None, effect: Effect::NoSchedule };

fn unreachable(effect: Effect) -> Taint {
    Taint { key: Symbol::UNREACHABLE, value: None, effect }
}

impl Node {
    /// A node without pods.
    pub fn new(name: NodeName, host: HostId, zone: ZoneId, template: &NodeTemplate) -> Self {
        Self {
            name,
            host,
            zone,
            labels: template.labels.clone(),
            allocatable: template.allocatable,
            volumes: template.volumes,
            ready: Ready::True,
            taints: SmallVec::from_slice(&template.taints),
            requested: Resources::default(),
            with_volume: 0,
            pods: BTreeSet::new(),
            joined: None,
        }
    }

    /// Whether it is tainted as unreachable, with this effect.
    pub fn is_unreachable(&self, effect: Effect) -> bool {
        self.taints.contains(&unreachable(effect))
    }
}

impl Store {
    /// A node, if it is (still) there.
    pub fn get_node(&self, key: NodeKey) -> Option<&Node> {
        self.nodes.get(&key)
    }

    /// A node that is there.
    pub fn node(&self, key: NodeKey) -> &Node {
        &self.nodes[&key]
    }

    /// Whether there is such a node.
    pub fn node_exists(&self, key: NodeKey) -> bool {
        self.nodes.contains_key(&key)
    }

    /// All nodes.
    pub fn nodes(&self) -> impl ExactSizeIterator<Item = (NodeKey, &Node)> {
        self.nodes.iter().map(|(key, node)| (*key, node))
    }

    /// Nodes from key `first` on, in order of their keys.
    pub fn nodes_from(&self, first: NodeKey) -> impl Iterator<Item = (NodeKey, &Node)> {
        self.nodes.range(first..).map(|(key, node)| (*key, node))
    }

    /// The nodes on which members of an etcd cluster may run, those that are gone included.
    pub fn nodes_of_members(&self, cluster: EtcdId) -> Vec<NodeKey> {
        self.members.get(&cluster).into_iter().flatten().copied().collect()
    }

    /// The number of the next node that is to join.
    pub const fn next_node(&self) -> NodeKey {
        NodeKey(self.next_node)
    }

    /// A number for a node that is to join.
    pub fn number_node(&mut self) -> NodeKey {
        self.next_node += 1;
        NodeKey(self.next_node - 1)
    }

    /// The node of a machine joins: it is what its machine deployment says, under the name of the machine.
    pub fn add_node(&mut self, key: NodeKey, machine: MachineName, host: HostId, ctx: &mut ClusterCtx<'_>) {
        let deployment = &ctx.spec.machine_deployments[machine.deployment];
        let mut node = Node::new(NodeName::Machine(machine), host, deployment.zone, &deployment.template);
        node.labels.set(Symbol::HOSTNAME, Symbol::host(key));
        node.joined = Some(ctx.now);
        ctx.record(KubeRecord::Node(node.name, NodeFact::Registered));
        assert!(self.nodes.insert(key, node).is_none(), "{machine:?} joins twice");
        self.changes.push(Change::Registered(key));
        self.cordon_for_shift(key, ctx);
    }

    /// A node goes. Its pods stay bound to it, until somebody removes them.
    pub fn remove_node(&mut self, key: NodeKey, ctx: &mut ClusterCtx<'_>) {
        let node = self.nodes.remove(&key).expect("who removes a node has it");
        ctx.record(KubeRecord::Node(node.name, NodeFact::Removed));
        self.changes.push(Change::Unregistered(key));
    }

    /// A node's condition; nothing if it is so.
    pub fn set_node_ready(&mut self, key: NodeKey, ready: Ready, ctx: &mut ClusterCtx<'_>) {
        let node = self.nodes.get_mut(&key).expect("who changes a node has it");
        if node.ready != ready {
            node.ready = ready;
            self.changes.push(Change::Condition(key));
            ctx.record(KubeRecord::Node(node.name, NodeFact::Ready(ready)));
        }
    }

    /// A node takes no more pods; nothing if that is so.
    pub fn cordon(&mut self, key: NodeKey, ctx: &mut ClusterCtx<'_>) {
        self.keep_cordoned(key);
        if let Some(name) = self.set_taint(key, CORDONED, true) {
            ctx.record(KubeRecord::Node(name, NodeFact::Cordoned));
        }
    }

    /// Pods are rather not to go to a node whose machine is to be replaced; nothing if that is so, or it is not there.
    pub fn repel(&mut self, key: NodeKey) {
        self.set_taint(key, Taint { key: Symbol::REPLACED, value: None, effect: Effect::PreferNoSchedule }, true);
    }

    /// The cluster autoscaler is about to delete a node: it takes no more pods.
    pub fn mark_to_be_deleted(&mut self, key: NodeKey, ctx: &mut ClusterCtx<'_>) {
        if let Some(name) = self.set_taint(key, TO_BE_DELETED, true) {
            ctx.record(KubeRecord::Node(name, NodeFact::ToBeDeleted));
        }
    }

    /// The cluster autoscaler keeps a node that it was about to delete; nothing if it was not.
    pub fn keep(&mut self, key: NodeKey, why: ScaleDownVerdict, ctx: &mut ClusterCtx<'_>) {
        if let Some(name) = self.set_taint(key, TO_BE_DELETED, false) {
            ctx.record(KubeRecord::Node(name, NodeFact::Kept(why)));
        }
    }

    /// Taints a node as unreachable, or takes that taint away; nothing if it is so.
    pub fn set_unreachable(&mut self, key: NodeKey, effect: Effect, on: bool, ctx: &mut ClusterCtx<'_>) {
        if let Some(name) = self.set_taint(key, unreachable(effect), on) {
            ctx.record(KubeRecord::Node(name, NodeFact::Unreachable(effect, on)));
        }
    }

    /// Taints a node, or takes a taint away; its name, if that changes it.
    pub(super) fn set_taint(&mut self, key: NodeKey, taint: Taint, on: bool) -> Option<NodeName> {
        let node = self.nodes.get_mut(&key).filter(|node| node.taints.contains(&taint) != on)?;
        if on {
            node.taints.push(taint);
        } else {
            node.taints.retain(|own| *own != taint);
        }
        self.changes.push(Change::Taints(key));
        Some(node.name)
    }
}
