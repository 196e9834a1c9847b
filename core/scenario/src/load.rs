//! Load on etcd: what a scenario that cannot be invalid says of clients.

use std::num::NonZeroU32;

use crate::cost::Process;
use crate::ids::{EtcdId, KubeClusterId, NodeId, ZoneId};
use zonefall_kernel::time::{Duration, Time};

/// What a client asks of etcd.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Op {
    /// Write one key.
    Put {
        /// Bytes of the key.
        key_bytes: u32,
        /// Bytes of the value.
        value_bytes: u32,
    },
    /// Write one key if it has not changed, as API servers do: a transaction that compares its revision, and reads it where it has.
    Txn {
        /// What becomes of it.
        change: Change,
        /// Bytes of the key.
        key_bytes: u32,
        /// Bytes of the value; of one that is deleted, as it was.
        value_bytes: u32,
    },
    /// Grant a lease.
    Grant(Lease),
    /// Read `keys` keys.
    Range {
        /// Through the leader's read index, or from the member's own data.
        linearizable: bool,
        /// Keys in each answer.
        keys: u32,
        /// Bytes of a key.
        key_bytes: u32,
        /// Bytes of a value.
        value_bytes: u32,
    },
    /// Delete `keys` keys with one range request.
    Delete {
        /// Keys that each request deletes.
        keys: u32,
        /// Bytes of a key.
        key_bytes: u32,
    },
    /// Hold a watch on everything and receive each event.
    Watch,
}

impl Op {
    /// The lease that it grants, or that the key has which it writes.
    pub const fn lease(self) -> Option<Lease> {
        match self {
            Self::Grant(lease) => Some(lease),
            Self::Txn { change: Change::Event, .. } => Some(Lease::Event),
            _ => None,
        }
    }
}

/// Leases of etcd.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Lease {
    /// Of an API server's record of itself (`/registry/masterleases`; kubernetes `pkg/controlplane/instance.go`,
    /// `DefaultEndpointReconcilerTTL`).
    ApiServer,
    /// Of an event (`--event-ttl` of kube-apiserver).
    Event,
}

impl Lease {
    /// Each of them.
    pub const ALL: [Self; 2] = [Self::ApiServer, Self::Event];

    /// A lease ends so long after it was granted, or after a new leader of etcd has extended it.
    pub const fn ttl(self) -> Duration {
        match self {
            Self::ApiServer => Duration::from_secs(15),
            Self::Event => Duration::from_secs(3_600),
        }
    }
}

/// What a transaction makes of a key.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Change {
    /// An object is new.
    Create,
    /// It is another.
    Update,
    /// It is gone.
    Delete,
    /// A record that API servers keep for themselves and none of them watches, is another (`/registry/masterleases`).
    Own,
    /// An event is new: it has a lease, and no API server watches events (`watch-cache-sizes`).
    Event,
}

/// Which member a client talks to first.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Target {
    /// Whoever leads when the request is sent; where nobody does, any member.
    Leader,
    /// Some member that does not lead, the first in order.
    Follower,
    /// This one.
    Member(u8),
    /// The one with the shortest delay.
    Nearest,
    /// All in turn.
    All,
}

/// How requests arise.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Load {
    /// At a rate, whether answers come or not.
    Open {
        /// Time between two requests (the mean, where `poisson`).
        interval: Duration,
        /// Exponential gaps instead of even ones.
        poisson: bool,
    },
    /// Each connection sends its next request when it has its answer.
    Closed {
        /// Connections, each with one request under way.
        connections: u32,
    },
}

/// A load generator, or an API server, that talks to one cluster.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Client {
    /// Its name, unique in the scenario.
    pub name: String,
    /// The cluster it talks to.
    pub etcd: EtcdId,
    /// Where it runs.
    pub zone: ZoneId,
    /// The node it runs on, where that is known.
    pub node: Option<NodeId>,
    /// What it asks.
    pub op: Op,
    /// Whom it asks first.
    pub target: Target,
    /// How often.
    pub load: Load,
    /// Requests in all; `None`: as many as come.
    pub requests: Option<u64>,
    /// What they cost its process; `None`: nothing, and each has the path's bandwidth to itself.
    pub process: Option<Process>,
    /// Gives up on a member's answer after this.
    pub timeout: Duration,
    /// It closes its connection with a member that it has heard nothing from for so long (keep-alive time plus keep-alive timeout).
    pub silence: Duration,
    /// Further members it tries after a failure.
    pub retries: u32,
    /// First request.
    pub start: Time,
    /// No request at or after this.
    pub stop: Time,
    /// It is a part of an API server: `zone` and `target` are that server's, and `load` is what all of them ask together for one of the
    /// things there is to ask for.
    pub server: Option<ApiServerClient>,
}

/// One part of what one of a cluster's API servers asks of etcd.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ApiServerClient {
    /// The cluster.
    pub cluster: KubeClusterId,
    /// Which of its servers: each has a number while it runs, the lowest that is free.
    pub server: u32,
    /// Which of the cluster's requests; `None`: its watch.
    pub requests: Option<u16>,
    /// Requests that the server works on at a time, all its reads or all its writes together: one more is turned away. `None`: these are
    /// not counted, or Priority and Fairness limits them ([`KubeClusterSpec::fairness`](crate::kube::KubeClusterSpec::fairness)).
    pub limit: Option<NonZeroU32>,
    /// It asks only while the etcd is disturbed ([`Requests::while_disturbed`](crate::kube::usage::Requests::while_disturbed)).
    pub while_disturbed: bool,
}
