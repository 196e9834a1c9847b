//! What an operator asks a Kubernetes cluster for, once all names are known. How files say it, and how it reads, is in the file of its kind
//! ([`operation`](crate::operation)).

use serde::{Deserialize, Serialize};

use crate::ids::{KubeClusterId, MachineDeploymentId, NodeKey, WorkloadId, ZoneId};
use zonefall_kernel::time::{Duration, Time};
use zonefall_kernel::traced;

/// Work of an operator on a cluster.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Operation {
    /// When it is asked for.
    pub at: Time,
    /// Of which cluster.
    pub cluster: KubeClusterId,
    /// What the operator asks for.
    pub task: Task,
}

/// What an operator asks a Kubernetes cluster for.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum Task {
    /// Replace the pods of a component (`kubectl rollout restart`).
    RollComponent(WorkloadId),
    /// Replace the pods of a component by pods of the revision before (`kubectl rollout undo`).
    RollBackComponent(WorkloadId),
    /// Replace no pod of a Deployment any more (`kubectl rollout pause`).
    PauseRollout(WorkloadId),
    /// Replace them again (`kubectl rollout resume`).
    ResumeRollout(WorkloadId),
    /// Cordon a node and evict its pods (`kubectl drain`).
    DrainNode(NodeKey),
    /// Replace the machines of a machine deployment.
    RollMachines(MachineDeploymentId),
    /// Start an API server and the components on a host, by its place in the control plane (`kubeadm join --control-plane`).
    AddHost(u32),
    /// Stop them (`kubeadm reset`).
    RemoveHost(u32),
    /// Change how many pods of a workload are wanted (`kubectl scale`).
    ScaleWorkload(WorkloadScale),
    /// Add machines to a cluster whose machines no controller looks after (`kube-up`).
    AddNodes(NodesAdded),
    /// Run the descheduler once; whether preferences count, too.
    Deschedule(bool),
    /// Send nobody to the pods of a zone for a time.
    ShiftZone(ZonalShift),
}

traced! { enum Task {
    RollComponent(workload) = 0, DrainNode(node) = 1, RollMachines(deployment) = 2, RollBackComponent(workload) = 3,
    ScaleWorkload(scale) = 4, AddHost(place) = 5, RemoveHost(place) = 6, PauseRollout(workload) = 7, ResumeRollout(workload) = 8,
    AddNodes(added) = 9, Deschedule(schedule_anyway) = 10, ShiftZone(shift) = 11,
} }

impl Task {
    /// The workload whose rollout it begins, pauses or resumes.
    pub const fn rolls(self) -> Option<WorkloadId> {
        match self {
            Self::RollComponent(workload)
            | Self::RollBackComponent(workload)
            | Self::PauseRollout(workload)
            | Self::ResumeRollout(workload) => Some(workload),
            Self::DrainNode(_)
            | Self::RollMachines(_)
            | Self::AddHost(_)
            | Self::RemoveHost(_)
            | Self::ScaleWorkload(_)
            | Self::AddNodes(_)
            | Self::Deschedule(_)
            | Self::ShiftZone(_) => None,
        }
    }
}

/// Another size of a workload.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct WorkloadScale {
    /// The workload.
    pub workload: WorkloadId,
    /// Pods wanted of it.
    pub replicas: u32,
}

traced! { struct WorkloadScale { workload, replicas } }

/// Machines of a machine deployment that had none.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct NodesAdded {
    /// The machine deployment that gets them.
    pub deployment: MachineDeploymentId,
    /// Number of machines to add.
    pub count: u32,
}

traced! { struct NodesAdded { deployment, count } }

/// Traffic is shifted away from a zone.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct ZonalShift {
    /// The zone.
    pub zone: ZoneId,
    /// For how long.
    pub lasts: Duration,
}

traced! { struct ZonalShift { zone, lasts } }
