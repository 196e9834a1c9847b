//! The rollout of a Deployment is paused (`kubectl rollout pause`): no pod is replaced until it goes on.

use super::owner::RawOwner;
use super::prelude::*;
use super::roll_component;
use crate::ids::WorkloadId;

/// A Deployment and its owner.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[schemars(inline)]
pub struct Raw {
    /// Owner of the component.
    #[serde(flatten)]
    of: RawOwner,
    /// Name of the component: a Deployment.
    component: String,
}

impl ClusterOperation for Raw {
    fn tasks(&self, ctx: &mut OperationCtx<'_, '_>) -> Vec<(usize, Task)> {
        roll_component::tasks(&self.of, &self.component, roll_component::PAUSED, Task::PauseRollout, ctx)
    }
}

pub(super) fn describe(id: WorkloadId, cluster: &KubeClusterSpec, _: &dyn Inventory) -> String {
    format!("pauses the rollout of {}", cluster.workloads[id].name)
}

pub(super) fn subject(id: WorkloadId, cluster: &KubeClusterSpec, _: &dyn Inventory) -> TaskSubject {
    TaskSubject::Pods(cluster.workloads[id].name.clone())
}
