//! What waits in the queue for a plane. Timers carry a generation: one that has moved on makes them void.

use crate::ids::{NodeKey, PodId, ZoneId};

/// An event of one plane.
#[derive(Clone, Copy, Debug)]
pub enum KubeEvent {
    /// One that watches the API hears of what has changed.
    Work(Watcher),
    /// The node lifecycle controller looks at all nodes.
    Monitor(u32),
    /// A zone's next node may be tainted `NoExecute`.
    Limiter(ZoneId, u32),
    /// The patience of some pods with their node's taints is at its end.
    Evict(u32),
    /// The scheduler takes its next pod.
    Schedule(u32),
    /// A kubelet renews its lease.
    Renew(NodeKey, u32),
    /// A node that has power again runs its kubelet.
    Booted(NodeKey, u32),
    /// A pod's process on a node is ready or has ended.
    Process(NodeKey, PodId, u32),
    /// The machine controller has something to do.
    Machines(u32),
}

// An event of the queue must not grow by this one.
const _: () = assert!(size_of::<KubeEvent>() <= 16);

/// Who watches the API and works on what has changed there.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Watcher {
    /// The node lifecycle controller: taints nodes by their condition. Key: a node.
    Lifecycle,
    /// The taint manager. Key: a node.
    Evict,
    /// The ReplicaSet controller. Key: a workload.
    ReplicaSets,
    /// The kubelet of a node. Key: the node.
    Kubelets,
    /// The machine controller. Key: a node.
    Machines,
    /// Machine sets. Key: a machine deployment.
    MachineSets,
}

impl Watcher {
    /// All of them.
    pub const ALL: [Self; 6] =
        [Self::Lifecycle, Self::Evict, Self::ReplicaSets, Self::Kubelets, Self::Machines, Self::MachineSets];
}
