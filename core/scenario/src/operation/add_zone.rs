//! A cluster without Gardener gets nodes in one more zone (`KUBE_USE_EXISTING_MASTER=true kube-up`; federation-lite, "kube-up support").

use super::prelude::*;
use crate::kube::NodesAdded;

/// The cluster, the zone, and which machines.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[schemars(inline)]
pub struct Raw {
    /// Name of a cluster without Gardener, and without a machine-controller-manager.
    #[schemars(extend("x-target" = "clusters"))]
    pub(crate) cluster: String,
    /// Name of a zone in which it has no nodes.
    pub(crate) zone: String,
    /// Pool that the new machines are like: size, labels and taints.
    pub(crate) pool: String,
    /// Number of machines.
    #[schemars(range(min = 1, max = 500))]
    pub(crate) nodes: u32,
}

impl Raw {
    /// Name of the machine deployment of the new machines.
    pub(crate) fn machine_deployment(&self) -> String {
        format!("{}-{}-{}", self.cluster, self.pool, self.zone)
    }
}

impl ClusterOperation for Raw {
    fn tasks(&self, ctx: &mut OperationCtx<'_, '_>) -> Vec<(usize, Task)> {
        let site = ctx.find(ctx.clusters, "cluster", &self.cluster);
        let name = self.machine_deployment();
        let added = |site: usize| {
            let deployments = &ctx.lowering.clusters[site].cluster.machine_deployments;
            let (deployment, _) = deployments.iter_enumerated().find(|(_, one)| one.name == name)?;
            Some((site, Task::AddNodes(NodesAdded { deployment, count: self.nodes })))
        };
        site.and_then(added).into_iter().collect()
    }
}

pub(super) fn describe(added: NodesAdded, cluster: &KubeClusterSpec, scenario: &dyn Inventory) -> String {
    let zone = cluster.machine_deployments[added.deployment].zone;
    let nodes = if added.count == 1 { "node" } else { "nodes" };
    format!("adds zone {} to {} with {} {nodes}", scenario.zones()[zone].name, cluster.name, added.count)
}

pub(super) fn subject(added: NodesAdded, cluster: &KubeClusterSpec, _: &dyn Inventory) -> TaskSubject {
    TaskSubject::Machines(cluster.machine_deployments[added.deployment].name.clone())
}
