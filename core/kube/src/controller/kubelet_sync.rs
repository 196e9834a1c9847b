//! Notifies kubelets of the pods of their nodes.

use crate::claim::Attachment;
use crate::controller::{Controller, State};
use crate::ctx::ClusterCtx;
use crate::record::Ready;
use crate::store::Change;
use zonefall_scenario::ids::NodeKey;

/// The watches of all kubelets. Key: a node.
#[derive(Clone, Debug)]
pub struct KubeletSync;

impl KubeletSync {
    /// Every cluster has it.
    pub fn factory(_state: &State, _ctx: &mut ClusterCtx<'_>) -> Option<Box<dyn Controller>> {
        Some(Box::new(Self))
    }
}

impl Controller for KubeletSync {
    fn watch(&mut self, change: &Change, state: &mut State, ctx: &mut ClusterCtx<'_>) {
        match *change {
            Change::Bound(_, node) | Change::Terminating(_, _, node) => ctx.enqueue(0, node.0),
            Change::Removed(_, _, Some(node)) => {
                if let Some(kubelet) = state.kubelets.get_mut(&node) {
                    kubelet.pod_removed(&state.store, ctx);
                    ctx.enqueue(0, node.0);
                }
            }
            Change::Volume(name) => {
                if let Some(Attachment::Attached(node)) = state.store.claim(name).map(|claim| claim.attachment) {
                    ctx.enqueue(0, node.0);
                }
            }
            Change::Condition(node) => {
                let unknown = state.store.get_node(node).is_some_and(|node| node.ready == Ready::Unknown);
                if let Some(kubelet) = state.kubelets.get(&node).filter(|_| unknown) {
                    kubelet.declared_unknown(ctx);
                }
            }
            _ => {}
        }
    }

    fn reconcile(&mut self, _queue: u8, key: u32, state: &mut State, ctx: &mut ClusterCtx<'_>) {
        if let Some(kubelet) = state.kubelets.get_mut(&NodeKey(key)) {
            kubelet.notice(&mut state.store, ctx);
        }
    }

    fn describe_work(&self, _queue: u8) -> &'static str {
        "kubelets observe changes of their pods"
    }

    fn boxed(&self) -> Box<dyn Controller> {
        Box::new(self.clone())
    }
}
