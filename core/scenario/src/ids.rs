//! Names inside the engine: small integers, resolved once from the scenario's words.

use serde::{Deserialize, Serialize};

/// A zone: an index into [`Scenario::zones`](crate::Scenario::zones).
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
pub struct ZoneId(pub u16);

/// A node (machine): an index into [`Scenario::nodes`](crate::Scenario::nodes).
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
pub struct NodeId(pub u16);

/// A volume: an index into [`Scenario::volumes`](crate::Scenario::volumes).
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
pub struct VolumeId(pub u16);

/// An etcd cluster: an index into [`Scenario::etcd`](crate::Scenario::etcd).
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
pub struct ClusterId(pub u16);

/// A member of an etcd cluster: its cluster and its index in
/// [`EtcdCluster::members`](crate::EtcdCluster::members). A member that is removed and added again is another member.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
pub struct MemberId {
    /// The cluster it belongs to.
    pub cluster: ClusterId,
    /// Its place in the cluster's list of members.
    pub index: u8,
}

/// A client: an index into [`Scenario::clients`](crate::Scenario::clients).
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
pub struct ClientId(pub u16);

/// A Kubernetes API with the cluster it is of: an index into [`KubeModel::planes`](crate::kube::KubeModel::planes).
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
pub struct PlaneId(pub u16);

/// A cluster that hosts control planes: an index into [`KubeModel::seeds`](crate::kube::KubeModel::seeds).
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
pub struct SeedId(pub u16);

/// A node as its plane's API knows it: those of the start ([`PlaneSpec::nodes`](crate::kube::PlaneSpec::nodes)) in their order, then
/// those that machines bring; a number is used once.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
pub struct NodeKey(pub u32);

/// A workload of a plane: an index into [`PlaneSpec::workloads`](crate::kube::PlaneSpec::workloads).
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
pub struct WorkloadId(pub u32);

/// Machines of a plane that stand for each other: an index into [`PlaneSpec::groups`](crate::kube::PlaneSpec::groups).
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
pub struct GroupId(pub u16);

/// A pod of a plane, numbered in the order they are made; a number is used once.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
pub struct PodId(pub u32);

/// One occurrence of a fault in a run: planned, random or injected, numbered in the order they start.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
pub struct FaultId(pub u32);

/// One end of a link: what sends or receives bytes.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
pub enum Endpoint {
    /// A member of an etcd cluster.
    Member(MemberId),
    /// A client.
    Client(ClientId),
    /// The API servers of a plane.
    Servers(PlaneId),
    /// Components of a control plane, as they ask its API.
    Components(PlaneId),
    /// Who asks a plane's API from outside its seed: where the load balancer takes it.
    Outside(PlaneId),
}

impl Endpoint {
    /// What it says, and is told, comes through a load balancer.
    pub const fn is_outside(self) -> bool {
        matches!(self, Self::Outside(_))
    }
}
