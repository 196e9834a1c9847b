//! Names inside the engine: small integers, resolved once from the scenario's words. A list with an element for each id is a [`TiVec`]:
//! no other index fits it.

use serde::{Deserialize, Serialize};
pub use typed_index_collections::{TiSlice, TiVec};

/// Makes ids the indices of [`TiVec`](crate::ids::TiVec)s. The limits of a scenario's size, or of a run's, prove that an index fits its id.
#[macro_export]
macro_rules! index_vectors {
    ($($id:ident($number:ty)),+ $(,)?) => {$(
        impl From<usize> for $id {
            #[inline]
            fn from(index: usize) -> Self {
                Self(index as $number)
            }
        }

        impl From<$id> for usize {
            #[inline]
            fn from(id: $id) -> Self {
                id.0 as Self
            }
        }
    )+};
}

index_vectors! {
    ZoneId(u16),
    NodeId(u16),
    VolumeId(u16),
    EtcdId(u16),
    ClientId(u16),
    KubeClusterId(u16),
    SeedId(u16),
    NodeKey(u32),
    WorkloadId(u32),
    ServiceId(u16),
    MachineDeploymentId(u16),
    BalancerId(u16),
    ApiClientId(u16),
}

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
pub struct EtcdId(pub u16);

/// A member of an etcd cluster: its cluster and its index in
/// [`EtcdClusterSpec::members`](crate::EtcdClusterSpec::members). A member that is removed and added again is another member.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
pub struct MemberId {
    /// The cluster it belongs to.
    pub cluster: EtcdId,
    /// Its place in the cluster's list of members.
    pub index: u8,
}

/// A client: an index into [`Scenario::clients`](crate::Scenario::clients).
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
pub struct ClientId(pub u16);

/// A Kubernetes API with the cluster it is of: an index into [`KubeModel::clusters`](crate::kube::KubeModel::clusters).
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
pub struct KubeClusterId(pub u16);

/// A cluster that hosts control planes: an index into [`KubeModel::seeds`](crate::kube::KubeModel::seeds).
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
pub struct SeedId(pub u16);

/// A node as its cluster's API knows it: those of the start ([`KubeClusterSpec::nodes`](crate::kube::KubeClusterSpec::nodes)) in their order, then
/// those that machines bring; a number is used once.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
pub struct NodeKey(pub u32);

/// A workload of a cluster: an index into [`KubeClusterSpec::workloads`](crate::kube::KubeClusterSpec::workloads).
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
pub struct WorkloadId(pub u32);

/// A Service of a cluster: an index into [`KubeClusterSpec::services`](crate::kube::KubeClusterSpec::services).
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
pub struct ServiceId(pub u16);

/// Machines of a cluster that stand for each other: an index into [`KubeClusterSpec::machine_deployments`](crate::kube::KubeClusterSpec::machine_deployments).
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
pub struct MachineDeploymentId(pub u16);

/// A load balancer in front of API servers: an index into [`Scenario::load_balancers`](crate::Scenario::load_balancers).
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
pub struct BalancerId(pub u16);

/// A further client of the API of a cluster: an index into [`KubeClusterSpec::api_clients`](crate::kube::KubeClusterSpec::api_clients).
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
pub struct ApiClientId(pub u16);

/// A pod of a cluster, numbered in the order they are made; a number is used once.
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
    /// The API servers of a cluster.
    Servers(KubeClusterId),
    /// Components of a control plane, as they ask its API.
    Components(KubeClusterId),
    /// Who asks a cluster's API from outside its seed: where the load balancer takes it.
    Outside(KubeClusterId),
    /// Kubelets and users of a cluster without Gardener: they ask its API servers from its zones.
    Users(KubeClusterId),
}

impl Endpoint {
    /// What it says, and is told, comes through a load balancer.
    pub const fn is_outside(self) -> bool {
        matches!(self, Self::Outside(_))
    }
}
