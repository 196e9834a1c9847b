//! A host joins the control plane of a cluster without Gardener (`kubeadm join --control-plane`).

use super::prelude::*;

/// The cluster and the host.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[schemars(inline)]
pub struct Raw {
    /// Name of a cluster without Gardener.
    #[schemars(extend("x-target" = "clusters"))]
    pub(crate) cluster: String,
    /// Name of a node of the topology.
    #[schemars(extend("x-target" = "node"))]
    pub(crate) node: String,
}

impl ClusterOperation for Raw {
    fn tasks(&self, ctx: &mut OperationCtx<'_, '_>) -> Vec<(usize, Task)> {
        ctx.host(&self.cluster, &self.node).map(|(site, place)| (site, Task::AddHost(place))).into_iter().collect()
    }
}

pub(super) fn host(place: u32, cluster: &KubeClusterSpec, scenario: &dyn Inventory) -> String {
    scenario.nodes()[cluster.control_plane[place as usize]].name.clone()
}

pub(super) fn describe(place: u32, cluster: &KubeClusterSpec, scenario: &dyn Inventory) -> String {
    format!("adds {} to the control plane of {}", host(place, cluster, scenario), cluster.name)
}

pub(super) fn subject(place: u32, cluster: &KubeClusterSpec, scenario: &dyn Inventory) -> TaskSubject {
    TaskSubject::Node(host(place, cluster, scenario))
}
