//! A node takes no more pods, and those that it has are evicted (`kubectl drain`).

use super::owner::RawClusterName;
use super::prelude::*;
use crate::ids::NodeKey;

/// A node and its owner.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[schemars(inline)]
pub struct Raw {
    /// Owner of the node.
    #[serde(flatten)]
    of: RawClusterName,
    /// Name of the node, one that exists at the start.
    node: String,
}

impl ClusterOperation for Raw {
    fn tasks(&self, ctx: &mut OperationCtx<'_, '_>) -> Vec<(usize, Task)> {
        let site = ctx.cluster(&self.of);
        let node = site.and_then(|site| ctx.find(&ctx.lowering.clusters[site].nodes, "node", &self.node));
        site.zip(node).map(|(site, node)| (site, Task::DrainNode(NodeKey(node as u32)))).into_iter().collect()
    }
}

fn name(node: NodeKey, cluster: &KubeClusterSpec, scenario: &dyn Inventory) -> String {
    scenario.nodes()[cluster.nodes[node].node].name.clone()
}

pub(super) fn describe(node: NodeKey, cluster: &KubeClusterSpec, scenario: &dyn Inventory) -> String {
    format!("drains {}", name(node, cluster, scenario))
}

pub(super) fn subject(node: NodeKey, cluster: &KubeClusterSpec, scenario: &dyn Inventory) -> TaskSubject {
    TaskSubject::Node(name(node, cluster, scenario))
}
