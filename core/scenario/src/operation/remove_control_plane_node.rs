//! A host leaves the control plane of a cluster without Gardener (`kubeadm reset`).

use super::add_control_plane_node::host;
pub(super) use super::add_control_plane_node::subject;
use super::prelude::*;

/// The cluster and the host.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[schemars(inline)]
pub struct Raw {
    /// Name of a cluster without Gardener.
    #[schemars(extend("x-target" = "clusters"))]
    cluster: String,
    /// Name of a host of its control plane, such as `plain-control-plane-0`.
    #[schemars(extend("x-target" = "node"))]
    node: String,
}

impl ClusterOperation for Raw {
    fn tasks(&self, ctx: &mut OperationCtx<'_, '_>) -> Vec<(usize, Task)> {
        ctx.host(&self.cluster, &self.node).map(|(site, place)| (site, Task::RemoveHost(place))).into_iter().collect()
    }
}

pub(super) fn describe(place: u32, cluster: &KubeClusterSpec, scenario: &dyn Inventory) -> String {
    format!("removes {} from the control plane of {}", host(place, cluster, scenario), cluster.name)
}
