//! What the whole cluster may have: nodes, CPU and memory (`max-nodes-total`, `cores-total`, `memory-total`; `core/static_autoscaler.go`,
//! `core/scaleup/orchestrator/orchestrator.go`: `GetCappedNewNodeCount`, `applyLimits`).
//!
//! Nodes count that are ready or on their way, so that a cluster exceeds its number by those that are not ready. CPU and memory count by
//! the sizes that groups are to have. Upstream takes them from the capacity of nodes; here a machine has what pods may request of it.

use zonefall_kube::record::Ready;
use zonefall_kube::spec::{KubeClusterSpec, Resources};
use zonefall_kube::store::Store;
use zonefall_scenario::ids::{MachineDeploymentId, TiSlice};
use zonefall_scenario::kube::autoscaler::ClusterAutoscaler;

/// What the cluster may still get.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Quota {
    /// Nodes; `None`: there is no such limit.
    pub nodes: Option<u32>,
    cpu_milli: u64,
    memory: u64,
}

impl Quota {
    /// What is left while `coming` nodes of each group are on their way.
    pub fn left(
        options: &ClusterAutoscaler,
        coming: &TiSlice<MachineDeploymentId, u32>,
        spec: &KubeClusterSpec,
        store: &Store,
    ) -> Self {
        let ready = store.nodes().filter(|(_, node)| node.ready == Ready::True).count() as u32;
        let nodes = ready + coming.iter().sum::<u32>();
        let groups = spec.machine_deployments.iter_enumerated();
        let of_groups = groups.map(|(id, group)| (u64::from(store.machines.desired(id)), group.template.allocatable));
        let others =
            store.nodes().filter(|(key, _)| store.machines.of_node(*key).is_none()).map(|(_, node)| (1, node.allocatable));
        let (mut cpu_milli, mut memory) = (u64::from(options.cores_total) * 1_000, options.memory_total.0);
        for (count, each) in of_groups.chain(others) {
            cpu_milli = cpu_milli.saturating_sub(count * each.cpu_milli);
            memory = memory.saturating_sub(count * each.memory);
        }
        let most = options.max_nodes_total;
        Self { nodes: (most > 0).then(|| most.saturating_sub(nodes)), cpu_milli, memory }
    }

    /// Nodes of this size that it has CPU and memory for, at most `nodes`.
    pub fn capped(&self, nodes: u32, each: &Resources) -> u32 {
        let fit = (self.cpu_milli / each.cpu_milli.max(1)).min(self.memory / each.memory.max(1));
        nodes.min(self.nodes.unwrap_or(u32::MAX)).min(u32::try_from(fit).unwrap_or(u32::MAX))
    }
}
