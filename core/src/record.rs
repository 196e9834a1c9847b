//! What happened: the one stream every observer reads.
//!
//! A record is a fact of the domain, never of the engine: popping an event or skipping heartbeats of a quiescent group leaves no
//! record. Each subsystem declares its own records; this is all of them together. The trace hash is taken over all but
//! [`EtcdRecord::Raft`], which exists for the invariants alone, and [`AccessRecord::Detail`], which exists for causes and counts.

use crate::access::record::AccessRecord;
use crate::gardener::record::GardenerRecord;
use crate::ids::{FaultId, KubeClusterId, NodeId};
use crate::kube::record::KubeRecord;
use crate::rollout::record::RolloutRecord;
use crate::scenario::ActiveFault;

pub use crate::client::record::{ClientRecord, Delay, RequestResult};
pub use crate::etcd::record::{EtcdRecord, Part, RaftRecord, RefuseReason, Service, StepDownReason};
pub use crate::network::process::StopReason;

/// A fact, at the time it is delivered with.
#[derive(Clone, Debug, PartialEq)]
pub enum Record {
    /// A fault began; what it aimed at is resolved.
    FaultStarted(ActiveFault),
    /// It ended.
    FaultEnded(FaultId),
    /// A node lost power or has it again.
    NodePower {
        /// The node.
        node: NodeId,
        /// Whether it runs now.
        up: bool,
    },
    /// Something happened in an etcd cluster.
    Etcd(EtcdRecord),
    /// Something happened to a request of a client.
    Client(ClientRecord),
    /// Something happened in a Kubernetes cluster.
    Kube(KubeClusterId, KubeRecord),
    /// Something happened between a cluster's API servers and their clients.
    Access(KubeClusterId, AccessRecord),
    /// Something happened in a seed because of Gardener.
    Gardener(KubeClusterId, GardenerRecord),
    /// Something happened in a cluster because of its zone-aware controllers.
    Rollout(KubeClusterId, RolloutRecord),
}

impl Record {
    /// Whether it is part of the trace.
    pub const fn is_traced(&self) -> bool {
        !matches!(self, Self::Etcd(EtcdRecord::Raft(_)) | Self::Access(_, AccessRecord::Detail { .. }))
    }
}

impl From<EtcdRecord> for Record {
    fn from(record: EtcdRecord) -> Self {
        Self::Etcd(record)
    }
}

impl From<ClientRecord> for Record {
    fn from(record: ClientRecord) -> Self {
        Self::Client(record)
    }
}

impl From<(KubeClusterId, KubeRecord)> for Record {
    fn from((cluster, record): (KubeClusterId, KubeRecord)) -> Self {
        Self::Kube(cluster, record)
    }
}

impl From<(KubeClusterId, AccessRecord)> for Record {
    fn from((cluster, record): (KubeClusterId, AccessRecord)) -> Self {
        Self::Access(cluster, record)
    }
}
