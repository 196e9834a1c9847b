//! Nodes are not over-committed: what the pods of a node request is there when one more is bound (Kubernetes, "Resource Management for
//! Pods and Containers", section "How Pods with resource requests are scheduled"). Agents are bound all the same: they would displace
//! others (`system-node-critical`), and nothing is displaced here.

use super::{Property, View};
use crate::kube::record::{KubeRecord, PodFact};
use crate::kube::spec::Kind;

/// Needs no memory but the objects.
#[derive(Clone, Debug, Default)]
pub(super) struct Capacity;

impl Property for Capacity {
    const NAME: &'static str = "nodes are not over-committed";

    fn check(&mut self, fact: &KubeRecord, view: &View<'_>) -> Result<(), String> {
        let KubeRecord::Pod(pod, PodFact::Bound(name)) = *fact else { return Ok(()) };
        let Some(node) = view.objects().nodes.get(&name) else { return Ok(()) };
        if view.workload(pod).kind == Kind::DaemonSet {
            return Ok(());
        }
        let requested = node.requested.plus(&view.workload(pod).requests);
        if requested.fits(&node.allocatable) {
            return Ok(());
        }
        let (pod, node, has) = (view.pod(pod), view.node(name), node.allocatable);
        Err(format!("{pod} is bound to {node}, where pods would request {requested:?} of {has:?}"))
    }
}
