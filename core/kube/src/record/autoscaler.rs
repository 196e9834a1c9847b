//! What the cluster autoscaler finds of node groups and nodes.

use serde::{Deserialize, Serialize};
use zonefall_kernel::traced;

/// A fact of a node group.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum NodeGroupFact {
    /// How a scan found it, and what the scan made of it. Told when it changes.
    Scanned(NodeGroupScan),
    /// It failed to grow and is left alone for this many seconds.
    BackedOff {
        /// Length of the back-off.
        seconds: u32,
        /// The cloud was out of stock; otherwise its nodes were overdue.
        exhausted: bool,
    },
}

traced! { enum NodeGroupFact { Scanned(scan) = 0, BackedOff { seconds, exhausted } = 1 } }

/// A node group at a scan.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct NodeGroupScan {
    /// Nodes that it may have at least.
    pub minimum: u32,
    /// Nodes that it may have at most.
    pub maximum: u32,
    /// Nodes that were wanted of it at the start of the scan.
    pub target: u32,
    /// Nodes that have joined, healthy or not.
    pub launched: u32,
    /// What the scan did with it.
    pub choice: GroupChoice,
}

traced! { struct NodeGroupScan { minimum, maximum, target, launched, choice } }

/// What a scan did with a node group, and why.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum GroupChoice {
    /// Nothing: no pod asks for a node.
    Idle,
    /// The expander found it best, or it was drawn from those that it found best. It grows, or similar groups do in its place.
    Chosen,
    /// It grows along with a similar group that was chosen.
    Balanced,
    /// Not chosen, though pods would fit.
    Passed,
    /// No pod that asks for a node would fit.
    Unsuitable,
    /// It has as many nodes as it may have.
    AtMaximum,
    /// It failed and is left alone.
    BackedOff,
    /// Too many of its nodes are missing.
    Unhealthy,
    /// Nothing: too many nodes of the cluster are unready.
    Suspended,
    /// Nothing: the nodes that are on their way are enough for the pods that ask for one.
    Coming,
    /// Nothing: the cluster has as many nodes as it may have in all.
    NodesTotal,
    /// With one more of its nodes the cluster would have more CPU or memory than it may have in all.
    ResourcesTotal,
    /// Nothing: the scan takes back machines whose nodes did not join in time.
    TakesBack,
    /// Nothing: the scan takes back machines that the cloud is out of stock of.
    OutOfStock,
    /// Traffic is shifted away from its zone.
    Shifted,
}

traced! {
    enum GroupChoice {
        Idle = 0,
        Chosen = 1,
        Balanced = 2,
        Passed = 3,
        Unsuitable = 4,
        AtMaximum = 5,
        BackedOff = 6,
        Unhealthy = 7,
        Suspended = 8,
        Coming = 9,
        NodesTotal = 10,
        ResourcesTotal = 11,
        TakesBack = 12,
        OutOfStock = 13,
        Shifted = 14,
    }
}

impl GroupChoice {
    /// Why, in plain words.
    pub const fn describe(self) -> &'static str {
        match self {
            Self::Idle => "no pod asks for a node",
            Self::Chosen => "chosen by the expander",
            Self::Balanced => "grows with a similar group",
            Self::Passed => "another group was chosen",
            Self::Unsuitable => "no pod that asks for a node fits",
            Self::AtMaximum => "at its maximum",
            Self::BackedOff => "backed off after a failure",
            Self::Unhealthy => "too many of its nodes are missing",
            Self::Suspended => "too many nodes of the cluster are unready",
            Self::Coming => "nodes on their way are enough",
            Self::NodesTotal => "max total nodes of the cluster reached",
            Self::ResourcesTotal => "max total CPU or memory of the cluster reached",
            Self::TakesBack => "machines whose nodes did not join in time are taken back first",
            Self::OutOfStock => "machines that the cloud is out of stock of are taken back first",
            Self::Shifted => "traffic is shifted away from its zone",
        }
    }
}

/// What a scan found of a node that it may delete: why it stays (`simulator.UnremovableReason`, `drain.BlockingPodReason`).
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum ScaleDownVerdict {
    /// It is not needed: it goes once that has been so for long enough, and as few others go at the same time.
    Unneeded,
    /// It says that it stays.
    Disabled,
    /// It is not ready: here only nodes go that are.
    NotReady,
    /// Too much of it is requested.
    NotUnderutilized,
    /// Its pods fit on no other node that stays.
    NoPlace,
    /// Its group has no more nodes than its minimum.
    GroupAtMinimum,
    /// A budget of its pods does not allow them to go.
    Budget,
    /// A pod says that it is not safe to evict.
    NotSafeToEvict,
    /// A pod has local storage.
    LocalStorage,
    /// A pod of `kube-system` has no budget.
    SystemPod,
    /// A pod has no controller, or a custom one.
    NotReplicated,
    /// It is being deleted: its pods are evicted first.
    Deleting,
    /// It was to be deleted, and a pod could not be evicted in time (`NodeDeleteErrorFailedToEvictPods`).
    NotEvicted,
    /// It was to be deleted, and an evicted pod had not ended in time.
    NotGone,
    /// It was to be deleted as an empty one, and pods had been bound to it.
    NotEmpty,
    /// It was to be deleted by another process of the autoscaler (`CleanAllToBeDeleted`).
    NewLeader,
    /// The machines of its group are being rolled out: it says for as long that it stays.
    RollOut,
    /// It was to be deleted, and its group wanted all machines that it had when the machine-controller-manager looked.
    NoneTooMany,
}

traced! {
    enum ScaleDownVerdict {
        Unneeded = 0,
        Disabled = 1,
        NotReady = 2,
        NotUnderutilized = 3,
        NoPlace = 4,
        GroupAtMinimum = 5,
        Budget = 6,
        NotSafeToEvict = 7,
        LocalStorage = 8,
        SystemPod = 9,
        NotReplicated = 10,
        Deleting = 11,
        NotEvicted = 12,
        NotGone = 13,
        NotEmpty = 14,
        NewLeader = 15,
        RollOut = 16,
        NoneTooMany = 17,
    }
}

impl ScaleDownVerdict {
    /// What it says of the node, in plain words.
    pub const fn describe(self) -> &'static str {
        match self {
            Self::Unneeded => "not needed, and deleted if that lasts",
            Self::Disabled => "annotated scale-down-disabled",
            Self::NotReady => "not ready",
            Self::NotUnderutilized => "in use: its pods request too much of it",
            Self::NoPlace => "needed: its pods fit on no other node",
            Self::GroupAtMinimum => "its group is at its minimum",
            Self::Budget => "a PodDisruptionBudget does not allow its pods to be evicted",
            Self::NotSafeToEvict => "a pod is annotated as not safe to evict",
            Self::LocalStorage => "a pod has local storage",
            Self::SystemPod => "a pod of kube-system has no PodDisruptionBudget",
            Self::NotReplicated => "a pod has no controller of Kubernetes",
            Self::Deleting => "being deleted: its pods are evicted first",
            Self::NotEvicted => "a pod could not be evicted in time",
            Self::NotGone => "an evicted pod had not ended in time",
            Self::NotEmpty => "pods were bound to it meanwhile",
            Self::RollOut => "annotated scale-down-disabled during the roll-out of its machines",
            Self::NoneTooMany => "its group wanted all of its machines meanwhile",
            Self::NewLeader => "another process of the cluster autoscaler leads",
        }
    }
}
