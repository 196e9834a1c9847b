//! Another number of pods of a workload is wanted (`kubectl scale`).

use super::owner::RawClusterName;
use super::prelude::*;
use crate::error::{did_you_mean, quote};
use crate::kube::{Kind, WorkloadScale};

/// A workload of a cluster without Gardener, and its new size.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[schemars(inline)]
pub struct Raw {
    /// Cluster of the workload.
    #[serde(flatten)]
    of: RawClusterName,
    /// Name of the workload.
    workload: String,
    /// Number of pods wanted from then on.
    #[schemars(range(max = 1_000))]
    replicas: u32,
}

impl ClusterOperation for Raw {
    fn tasks(&self, ctx: &mut OperationCtx<'_, '_>) -> Vec<(usize, Task)> {
        let Some(site) = ctx.cluster(&self.of) else { return Vec::new() };
        if !ctx.lowering.clusters[site].valid {
            // Its workloads are not known: what is wrong with it has been reported.
            return Vec::new();
        }
        let workloads = &ctx.lowering.clusters[site].cluster.workloads;
        let Some((workload, found)) = workloads.iter_enumerated().find(|(_, one)| one.name == self.workload) else {
            let hint = did_you_mean(&self.workload, workloads.iter().map(|one| one.name.as_str()));
            ctx.error("workload", quote(&self.workload), format!("the name of a workload{hint}"));
            return Vec::new();
        };
        if found.kind == Kind::DaemonSet {
            ctx.error("workload", format!("{}, a DaemonSet", quote(&self.workload)), "a Deployment or StatefulSet");
        }
        if self.replicas > 1 && found.uses_disk() {
            let expected = "at most 1: a disk can be attached to one node at a time";
            ctx.error("replicas", self.replicas.to_string(), expected);
        }
        vec![(site, Task::ScaleWorkload(WorkloadScale { workload, replicas: self.replicas }))]
    }
}

pub(super) fn describe(scale: WorkloadScale, cluster: &KubeClusterSpec, _: &dyn Inventory) -> String {
    let pods = if scale.replicas == 1 { "pod" } else { "pods" };
    format!("scales {} to {} {pods}", cluster.workloads[scale.workload].name, scale.replicas)
}

pub(super) fn subject(scale: WorkloadScale, cluster: &KubeClusterSpec, _: &dyn Inventory) -> TaskSubject {
    TaskSubject::Pods(cluster.workloads[scale.workload].name.clone())
}
