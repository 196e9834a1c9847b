//! Conditions and taints of nodes, as the API has them.

use super::{Change, Store, unreachable};
use crate::ctx::ClusterCtx;
use crate::record::{KubeRecord, NodeFact, Ready};
use crate::rule::labels::Symbol;
use crate::rule::taints::{Effect, Taint};
use zonefall_scenario::ids::NodeKey;

impl Store {
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
        let node = self.nodes.get_mut(&key).expect("who changes a node has it");
        let taint = Taint { key: Symbol::UNSCHEDULABLE, value: None, effect: Effect::NoSchedule };
        if !node.taints.contains(&taint) {
            node.taints.push(taint);
            self.changes.push(Change::Taints(key));
            ctx.record(KubeRecord::Node(node.name, NodeFact::Cordoned));
        }
    }

    /// Pods are rather not to go to a node whose machine is to be replaced; nothing if that is so, or it is not there.
    pub fn repel(&mut self, key: NodeKey) {
        let taint = Taint { key: Symbol::REPLACED, value: None, effect: Effect::PreferNoSchedule };
        if let Some(node) = self.nodes.get_mut(&key).filter(|node| !node.taints.contains(&taint)) {
            node.taints.push(taint);
            self.changes.push(Change::Taints(key));
        }
    }

    /// Taints a node as unreachable, or takes that taint away; nothing if it is so.
    pub fn set_unreachable(&mut self, key: NodeKey, effect: Effect, on: bool, ctx: &mut ClusterCtx<'_>) {
        let node = self.nodes.get_mut(&key).expect("who changes a node has it");
        let taint = unreachable(effect);
        if node.taints.contains(&taint) != on {
            if on {
                node.taints.push(taint);
            } else {
                node.taints.retain(|own| *own != taint);
            }
            self.changes.push(Change::Taints(key));
            ctx.record(KubeRecord::Node(node.name, NodeFact::Unreachable(effect, on)));
        }
    }
}
