//! API servers on the control-plane hosts of clusters without Gardener, as targets of faults.

use super::{FaultCtx, FaultTarget, Hit};
use crate::error::quote;
use crate::ids::NodeId;
use crate::inventory::Inventory;
use crate::kube::KubeModel;

const HOST: &str = "a host of the control plane of a cluster in `clusters`: no API server runs on another node itself";

/// The host that a file names; errors are reported to `ctx`.
pub(super) fn named(name: &str, ctx: &mut FaultCtx<'_, '_>) -> Option<NodeId> {
    let node = ctx.node_named("node", name)?;
    if !runs_api_server(ctx.kube, node) {
        ctx.error("node", &quote(name), HOST);
    }
    Some(node)
}

/// Checks that an API server runs on a node.
pub(super) fn fits(node: NodeId, scenario: &dyn Inventory) -> Result<(), String> {
    if runs_api_server(scenario.kube(), node) { Ok(()) } else { Err(format!("expected {HOST}")) }
}

/// The host that is offered faults of its API server.
pub(super) fn offered(on: Hit, scenario: &dyn Inventory) -> Option<NodeId> {
    let Hit::Node(FaultTarget::Named(node)) = on else { return None };
    runs_api_server(scenario.kube(), node).then_some(node)
}

/// Names the API server on a host.
pub(super) fn text(node: NodeId, scenario: &dyn Inventory) -> String {
    format!("the API server on {}", scenario.nodes()[node].name)
}

/// Whether the control plane of a cluster without Gardener has this host.
fn runs_api_server(kube: &KubeModel, node: NodeId) -> bool {
    let is_seed = |id| kube.seeds.iter().any(|seed| seed.cluster == id);
    kube.clusters.iter_enumerated().any(|(id, cluster)| cluster.control_plane.contains(&node) && !is_seed(id))
}
