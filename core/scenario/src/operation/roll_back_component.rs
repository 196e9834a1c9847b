//! The pods of a workload are replaced by others of the revision before (`kubectl rollout undo`).

use super::owner::RawOwner;
use super::prelude::*;
use super::roll_component;
use crate::ids::WorkloadId;

/// A component and its owner.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[schemars(inline)]
pub struct Raw {
    /// Owner of the component.
    #[serde(flatten)]
    of: RawOwner,
    /// Name of the component.
    component: String,
}

impl ClusterOperation for Raw {
    fn tasks(&self, ctx: &mut OperationCtx<'_, '_>) -> Vec<(usize, Task)> {
        roll_component::tasks(&self.of, &self.component, roll_component::REPLACED, Task::RollBackComponent, ctx)
    }
}

pub(super) fn describe(id: WorkloadId, cluster: &KubeClusterSpec, _: &dyn Inventory) -> String {
    format!("rolls the pods of {} back", cluster.workloads[id].name)
}

pub(super) fn subject(id: WorkloadId, cluster: &KubeClusterSpec, _: &dyn Inventory) -> TaskSubject {
    TaskSubject::Pods(cluster.workloads[id].name.clone())
}
