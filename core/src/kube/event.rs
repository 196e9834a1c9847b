//! What waits in the queue for a plane. Timers carry a generation: one that has moved on makes them void.

use crate::ids::{NodeKey, PodId, WorkloadId, ZoneId};
use crate::kube::spec::{Component, Kind};

/// An event of one plane.
#[derive(Clone, Copy, Debug)]
pub enum KubeEvent {
    /// One that watches the API hears of what has changed.
    Work(ControllerKind),
    /// The node lifecycle controller looks at all nodes.
    Monitor(u32),
    /// A zone's next node may be tainted `NoExecute`.
    RateLimiter(ZoneId, u32),
    /// The patience of some pods with their node's taints is at its end.
    Evict(u32),
    /// The scheduler takes its next pod.
    Schedule(u32),
    /// A kubelet renews its lease.
    Renew(NodeKey, u32),
    /// A node that has power again runs its kubelet.
    Booted(NodeKey, u32),
    /// A step of a pod's process on a node is done.
    Process(NodeKey, PodId, u32),
    /// The volume of a StatefulSet's pod (its ordinal) is attached or detached, or waited for long enough.
    Volume(WorkloadId, u32, u32),
    /// The pod garbage collector looks.
    PodGc(u32),
    /// The machine controller has something to do.
    Machines(u32),
    /// The care controller looks for stale pods.
    ShootCare(u32),
    /// The cluster autoscaler looks for pods that need more nodes.
    Scan(u32),
    /// What looks like a zone outage has lasted.
    Outage(u32),
    /// The machine controller goes on after its API was out of reach.
    Unfreeze,
    /// The connection of an API server to etcd has been silent, or dialled, for long enough.
    Link(u32, u32),
    /// An API server is asked whether it is ready.
    Readiness(u32, u32),
    /// The programs of a control plane's host run again.
    ControlPlane(u32, u32),
    /// Something is due with the lease of a component.
    Election(Component, u32),
    /// An operator evicts the pods of a node that are left.
    Drain(NodeKey),
    /// A shoot is asked to survive more: a place in [`KubeModel::changes`](crate::kube::spec::KubeModel::changes).
    Tolerance(u16),
    /// A shoot moves to another seed: a place in [`KubeModel::migrations`](crate::kube::spec::KubeModel::migrations), and how far it is.
    Migration(u16, Stage),
}

/// How far a shoot is that moves to another seed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Stage {
    /// It is asked for.
    Requested,
    /// The old seed hears of it.
    Leaves,
    /// A snapshot of its etcd is in the backup bucket.
    Uploaded,
    /// The new seed hears of it.
    Arrives,
}

// An event of the queue must not grow by this one.
const _: () = assert!(size_of::<KubeEvent>() <= 16);

/// Who watches the API and works on what has changed there.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ControllerKind {
    /// The node lifecycle controller: taints nodes by their condition. Key: a node.
    Lifecycle,
    /// The taint manager. Key: a node.
    Evict,
    /// The ReplicaSet controller. Key: a workload.
    ReplicaSets,
    /// The kubelet of a node. Key: the node.
    Kubelets,
    /// The StatefulSet controller. Key: a workload.
    StatefulSets,
    /// The DaemonSet controller. Key: a workload.
    DaemonSets,
    /// The attach/detach controller. Key: a workload.
    Volumes,
    /// The disruption controller. Key: a workload.
    Budgets,
    /// The endpoints controller. Key: a workload that is etcd, or whose Service asks for topology hints.
    Endpoints,
    /// The same: how the CPUs of nodes are shared out over zones. Key: 0.
    Topology,
    /// The machine controller. Key: a node.
    Machines,
    /// Machine sets. Key: a machine deployment.
    MachineSets,
    /// etcd-druid. Key: a shoot.
    Druid,
    /// gardenlet, where a shoot is to survive more or moves. Key: the shoot.
    Gardenlet,
}

impl ControllerKind {
    /// All of them.
    pub const ALL: [Self; 14] = [
        Self::Lifecycle,
        Self::Evict,
        Self::ReplicaSets,
        Self::Kubelets,
        Self::StatefulSets,
        Self::DaemonSets,
        Self::Volumes,
        Self::Budgets,
        Self::Endpoints,
        Self::Topology,
        Self::Machines,
        Self::MachineSets,
        Self::Druid,
        Self::Gardenlet,
    ];

    /// The controller that looks after the pods of such workloads.
    pub const fn of(kind: Kind) -> Self {
        match kind {
            Kind::Deployment => Self::ReplicaSets,
            Kind::StatefulSet { .. } => Self::StatefulSets,
            Kind::DaemonSet => Self::DaemonSets,
        }
    }

    /// The component it is part of, which must lead for it to act; `None`: it acts wherever it is.
    pub const fn component(self) -> Option<Component> {
        match self {
            Self::Lifecycle
            | Self::Evict
            | Self::ReplicaSets
            | Self::StatefulSets
            | Self::DaemonSets
            | Self::Volumes
            | Self::Budgets
            | Self::Endpoints
            | Self::Topology => Some(Component::ControllerManager),
            Self::Machines | Self::MachineSets => Some(Component::MachineControllerManager),
            Self::Druid => Some(Component::Druid),
            Self::Gardenlet => Some(Component::Gardenlet),
            Self::Kubelets => None,
        }
    }
}
