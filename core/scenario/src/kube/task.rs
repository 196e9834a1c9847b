//! What an operator asks a Kubernetes cluster for, once all names are known. How files say it, and how it reads, is in the file of its kind
//! ([`operation`](crate::operation)).

use serde::{Deserialize, Serialize};

use crate::ids::{MachineDeploymentId, NodeKey, WorkloadId};
use zonefall_kernel::traced;

/// What an operator asks a Kubernetes cluster for.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum Task {
    /// Replace the pods of a component (`kubectl rollout restart`).
    RollComponent(WorkloadId),
    /// Replace the pods of a component by pods of the revision before (`kubectl rollout undo`).
    RollBackComponent(WorkloadId),
    /// Cordon a node and evict its pods (`kubectl drain`).
    DrainNode(NodeKey),
    /// Replace the machines of a machine deployment.
    RollMachines(MachineDeploymentId),
}

traced! {
    enum Task { RollComponent(workload) = 0, DrainNode(node) = 1, RollMachines(deployment) = 2, RollBackComponent(workload) = 3 }
}
