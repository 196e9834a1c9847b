//! The descheduler runs once (`RemovePodsViolatingTopologySpreadConstraint`): pods do not move by themselves to a zone that was added or has recovered.

use super::owner::RawClusterName;
use super::prelude::*;

/// The cluster, and the constraints that are enforced.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[schemars(inline)]
pub struct Raw {
    /// The cluster.
    #[serde(flatten)]
    of: RawClusterName,
    /// Enforce constraints with `whenUnsatisfiable: ScheduleAnyway` as well as `DoNotSchedule`.
    #[serde(default)]
    #[schemars(extend("x-source" = "sigs.k8s.io/descheduler: RemovePodsViolatingTopologySpreadConstraint, argument constraints; default [DoNotSchedule]"))]
    schedule_anyway: bool,
}

impl ClusterOperation for Raw {
    fn tasks(&self, ctx: &mut OperationCtx<'_, '_>) -> Vec<(usize, Task)> {
        ctx.cluster(&self.of).map(|site| (site, Task::Deschedule(self.schedule_anyway))).into_iter().collect()
    }
}

pub(super) fn describe(_: bool, cluster: &KubeClusterSpec, _: &dyn Inventory) -> String {
    format!("runs the descheduler in {}", cluster.name)
}

pub(super) fn subject(_: bool, cluster: &KubeClusterSpec, _: &dyn Inventory) -> TaskSubject {
    TaskSubject::Pods(cluster.name.clone())
}
