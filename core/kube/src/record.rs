//! What happened in a cluster. Below each type stands its byte form in the trace, with its tags.

mod autoscaler;

use serde::{Deserialize, Serialize};

pub use autoscaler::{GroupChoice, NodeGroupFact, NodeGroupScan, ScaleDownVerdict};

use crate::machine::Phase;
use crate::name::{MachineName, NodeName, PodName};
use crate::rule::hints::NoHints;
use crate::rule::taints::Effect;
use crate::rule::zone_state::ZoneState;
use crate::share::Share;
use crate::spec::{Component, Task};
use zonefall_kernel::traced;
use zonefall_scenario::Vantage;
use zonefall_scenario::ids::{KubeClusterId, MachineDeploymentId, NodeId, ServiceId, WorkloadId, ZoneId};

/// A fact of one cluster.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum KubeRecord {
    /// Of a pod.
    Pod(PodName, PodFact),
    /// Of a node.
    Node(NodeName, NodeFact),
    /// The node lifecycle controller sees a zone in another state.
    Zone(ZoneId, ZoneState),
    /// All zones are fully disrupted, so nothing is evicted (`true`), or no more.
    EvictionPaused(bool),
    /// Of a machine.
    Machine(MachineName, MachineFact),
    /// So many machines of a machine deployment are wanted from now on.
    MachineDeploymentScaled(MachineDeploymentId, u32),
    /// Of an API server.
    ApiServer(Replica, ServerFact),
    /// Whether the API answers the clients that count, within the deadline of the scenario's probe: requests for some resource at least.
    ApiAvailability {
        /// Which requests.
        verb: Verb,
        /// It does.
        up: bool,
    },
    /// For which share of its resources it answers those clients. Told when it changes from or to a part.
    ApiShare {
        /// Which requests.
        verb: Verb,
        /// The share.
        share: Share,
    },
    /// Clients at one vantage are answered otherwise than those that count.
    ApiShareFrom {
        /// Where the clients are.
        from: Vantage,
        /// Which requests.
        verb: Verb,
        /// For which share of the resources; `None`: as it counts, again.
        share: Option<Share>,
    },
    /// Requests for one resource are answered otherwise than those for any.
    ApiShareOf {
        /// The resource.
        resource: ApiResource,
        /// Which requests.
        verb: Verb,
        /// For which share of requests; `None`: as for any, again.
        share: Option<Share>,
    },
    /// Who holds the lease of a component, and acts; `None`: nobody does.
    Lease(Component, Option<Replica>),
    /// A component acts (somebody leads and can write), or no longer. Told when it changes.
    ControllerActive(Component, bool),
    /// An operator asks for something.
    Operation(Task),
    /// What an operator asks for is refused: a paused rollout cannot be rolled back or paused, and no other resumed; there is one zonal shift at a
    /// time.
    OperationRefused(Task),
    /// Traffic returns to a zone that it was shifted away from.
    ShiftExpired(ZoneId),
    /// Of topology hints of a Service, that of a workload. Told when it changes.
    Hints(WorkloadId, HintsFact),
    /// A Service lists a pod among its endpoints, or no longer.
    Endpoint {
        /// The Service.
        service: ServiceId,
        /// The pod.
        pod: PodName,
        /// Whether it lists it.
        listed: bool,
    },
    /// Of the node group of a machine deployment, as the autoscaler has it.
    NodeGroup(MachineDeploymentId, NodeGroupFact),
}

// Tags 6 and 12 to 14 are those of Gardener's records, 20 to 22 also of rollouts; 17 is used no more.
traced! {
    enum KubeRecord {
        Pod(name, fact) = 0,
        Node(name, fact) = 1,
        Zone(zone, state) = 2,
        EvictionPaused(paused) = 3,
        Machine(name, fact) = 4,
        MachineDeploymentScaled(deployment, machines) = 5,
        ApiServer(replica, fact) = 7,
        ApiAvailability { verb, up } = 8,
        Lease(component, holder) = 9,
        ControllerActive(component, is_active) = 10,
        Operation(task) = 11,
        Hints(workload, fact) = 15,
        Endpoint { service, pod, listed } = 16,
        ApiShare { verb, share } = 18,
        ApiShareFrom { from, verb, share } = 19,
        NodeGroup(deployment, fact) = 20,
        OperationRefused(task) = 23,
        ApiShareOf { resource, verb, share } = 24,
        ShiftExpired(zone) = 25,
    }
}

/// Whether the endpoints of a Service are hinted.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum HintsFact {
    /// Each is for the clients of some zone.
    On,
    /// None is, for this reason.
    Off(NoHints),
}

traced! { enum HintsFact { On = 0, Off(reason) = 1 } }

/// One of the processes that serve an API, or act through it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
pub enum Replica {
    /// The one on this host of the control plane.
    Host(NodeId),
    /// A pod of another cluster.
    Pod(KubeClusterId, PodName),
}

traced! { enum Replica { Host(node) = 0, Pod(cluster, name) = 1 } }

/// A fact of an API server.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum ServerFact {
    /// Its process runs.
    Runs,
    /// Clients are sent to it, or not.
    Ready(bool),
    /// It was asked to stop; it serves until it closes or is gone.
    Stops,
    /// Its shutdown delay is over: it accepts no connection, and only ends what it has begun.
    Closes,
    /// Its process is gone.
    Gone,
    /// The etcd member it talks to about pods; `None`: the last one has fallen silent, or refuses.
    Etcd(Option<u8>),
    /// Its connections to etcd are others now, and this many resources have none that is open.
    Stalled(u16),
}

traced! {
    enum ServerFact { Runs = 0, Ready(ready) = 1, Stops = 2, Gone = 3, Etcd(member) = 4, Stalled(resources) = 5, Closes = 6 }
}

/// Requests to an API.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum Verb {
    /// Those that only ask, and ask etcd.
    Read,
    /// Those that change something.
    Write,
}

impl Verb {
    /// Its name in reports.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Read => "read",
            Self::Write => "write",
        }
    }
}

traced! { enum Verb { Read = 0, Write = 1 } }

/// A resource of an API that is told of by itself.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
pub enum ApiResource {
    /// `coordination.k8s.io` leases: heartbeats of nodes, and who leads.
    Leases,
    /// Pods, which stand for all that controllers work on.
    Pods,
}

impl ApiResource {
    /// All of them.
    pub const ALL: [Self; 2] = [Self::Leases, Self::Pods];

    /// Its name in the API.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Leases => "leases",
            Self::Pods => "pods",
        }
    }
}

traced! { enum ApiResource { Leases = 0, Pods = 1 } }

/// A fact of a pod.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum PodFact {
    /// It was made.
    Created,
    /// It was given a node.
    Bound(NodeName),
    /// No node suits it.
    Unschedulable(Reason),
    /// Its process runs; how often that was started anew.
    Started {
        /// Starts after the first.
        restarts: u32,
    },
    /// It serves, or not, as the API has it.
    Ready(bool),
    /// It is to end.
    Terminating,
    /// Its object is gone.
    Removed,
    /// Its volume is attached to this node.
    VolumeAttached(NodeName),
    /// Its volume is attached to no node any more.
    VolumeDetached {
        /// Whoever used it may still have done so.
        forced: bool,
    },
    /// It runs on, cut off, though its object is gone; or no more.
    OrphanedContainer(bool),
    /// Its eviction was asked for, and granted (`true`) or refused for its budget.
    Evicted(bool),
    /// Its volume is gone with all that was on it; the next pod of its name gets a new one.
    VolumeDiscarded,
    /// Its eviction was asked for and failed: several budgets select it.
    SeveralBudgets,
    /// Its eviction was asked for, and an admission webhook denied it.
    Denied,
    /// The taint eviction controller deletes it.
    TaintEvicted,
    /// The pod garbage collector deletes it: its node no longer exists.
    GarbageCollected,
    /// The drain of its machine has timed out, and deletes it by force.
    ForceDeleted,
    /// Its volume cannot be attached to this node (`FailedAttachVolume`): retried with back-off, and told once.
    AttachFailed(NodeName),
    /// It was made of this revision; told of workloads whose revisions differ by more than their number.
    Revision(u32),
}

traced! {
    enum PodFact {
        Created = 0,
        Bound(node) = 1,
        Unschedulable(reason) = 2,
        Started { restarts } = 3,
        Ready(ready) = 4,
        Terminating = 5,
        Removed = 6,
        VolumeAttached(node) = 7,
        VolumeDetached { forced } = 8,
        OrphanedContainer(runs) = 9,
        Evicted(granted) = 10,
        VolumeDiscarded = 11,
        SeveralBudgets = 12,
        Denied = 13,
        Revision(number) = 14,
        TaintEvicted = 15,
        GarbageCollected = 16,
        AttachFailed(node) = 17,
        ForceDeleted = 18,
    }
}

/// A fact of a node.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum NodeFact {
    /// Its condition `Ready` is another.
    Ready(Ready),
    /// It was tainted as unreachable, or is no more.
    Unreachable(Effect, bool),
    /// It has joined.
    Registered,
    /// Its object is gone.
    Removed,
    /// It takes no more pods.
    Cordoned,
    /// It takes pods again.
    Uncordoned,
    /// What runs on it serves nobody any more, in truth and known to nobody; `None`: it does again, if it still runs.
    Lost(Option<Loss>),
    /// What a scan of the autoscaler, which deletes nodes that are not needed, found of it. Told when it changes.
    ScaleDown(ScaleDownVerdict),
    /// The autoscaler has tainted it, and is about to delete it.
    ToBeDeleted,
    /// The autoscaler does not delete it after all: the taint is gone.
    Kept(ScaleDownVerdict),
}

traced! {
    enum NodeFact {
        Ready(condition) = 0,
        Unreachable(effect, tainted) = 1,
        Registered = 2,
        Removed = 3,
        Cordoned = 4,
        Lost(why) = 5,
        ScaleDown(verdict) = 6,
        ToBeDeleted = 7,
        Kept(why) = 8,
        Uncordoned = 9,
    }
}

/// Why what runs on a node serves nobody.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum Loss {
    /// No power.
    Power,
    /// It, or its zone, is cut off.
    Network,
}

traced! { enum Loss { Power = 0, Network = 1 } }

/// A fact of a machine.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum MachineFact {
    /// It was made: [`Phase::Pending`].
    Created,
    /// It stands elsewhere.
    Phase(Phase),
    /// Its object is gone.
    Removed,
    /// Pods are left on its node, and draining that has taken as long as it may (`machine-drain-timeout`).
    DrainTimedOut,
}

traced! { enum MachineFact { Created = 0, Phase(phase) = 1, Removed = 2, DrainTimedOut = 3 } }

/// The condition `Ready` of a node.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
pub enum Ready {
    /// Its kubelet says so.
    True,
    /// Nobody knows: its kubelet is silent.
    Unknown,
}

traced! { enum Ready { True = 0, Unknown = 1 } }

/// Why no node suits a pod: the filter that fails last, in the order of the scheduler, on the node that passes most. The variants
/// of filters are in that order.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
pub enum Reason {
    /// They are cordoned (`NodeUnschedulable`).
    Unschedulable,
    /// Taints it does not tolerate.
    Taints,
    /// It may not run on such nodes.
    NodeAffinity,
    /// Too little is left.
    Resources,
    /// As many volumes are there as can be attached.
    VolumeLimit,
    /// Its volume is in another zone.
    VolumeZone,
    /// It would crowd a domain.
    Spread,
    /// A pod it must be near to is missing.
    PodAffinity,
    /// A pod it must be away from is there.
    PodAntiAffinity,
    /// A pod is there that must be away from it.
    ExistingAntiAffinity,
    /// There is no node at all.
    NoNodes,
    /// There is no node in the zone of its volume.
    NoNodesInVolumeZone,
    /// Its claim is not bound to a volume.
    UnboundClaim,
}

traced! {
    enum Reason {
        Taints = 0,
        NodeAffinity = 1,
        Resources = 2,
        VolumeLimit = 3,
        VolumeZone = 4,
        Spread = 5,
        PodAffinity = 6,
        PodAntiAffinity = 7,
        ExistingAntiAffinity = 8,
        NoNodes = 9,
        NoNodesInVolumeZone = 10,
        UnboundClaim = 11,
        Unschedulable = 12,
    }
}

impl Reason {
    /// Those for which a filter refuses a node, in the order of the filters.
    pub const FILTERS: [Self; 10] = [
        Self::Unschedulable,
        Self::Taints,
        Self::NodeAffinity,
        Self::Resources,
        Self::VolumeLimit,
        Self::VolumeZone,
        Self::Spread,
        Self::PodAffinity,
        Self::PodAntiAffinity,
        Self::ExistingAntiAffinity,
    ];
}
