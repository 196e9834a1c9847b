//! What happened between the API servers of a cluster and their clients. Below each type stands its byte form in the trace, with its tags.

use serde::{Deserialize, Serialize};

use crate::balancer::health::Health;
use zonefall_kernel::time::Duration;
use zonefall_kernel::traced;
use zonefall_kube::ctx::ApiClient;
use zonefall_scenario::ids::BalancerId;

/// A fact of one cluster's API access.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum AccessRecord {
    /// A node of the load balancer has found a target in another state of health.
    Target {
        /// The balancer.
        balancer: BalancerId,
        /// The node of the balancer, by its place among the balancer's zones or machines.
        node: u16,
        /// The target: place of its host in the control plane.
        target: u32,
        /// The state of health.
        health: Health,
    },
    /// The connection of a client is in another state, or the client is new.
    Client {
        /// The client.
        client: ApiClient,
        /// State of its connection.
        state: ConnectionState,
    },
    /// A client has stopped.
    ClientStopped(ApiClient),
    /// A request of a further client is over.
    Request {
        /// The client.
        client: ApiClient,
        /// Its result.
        result: RequestResult,
        /// Time since the client made it.
        after: Duration,
    },
    /// A further client has made all its requests, which are over.
    Done(ApiClient),
    /// A host of the control plane is a new target of a load balancer, or no longer one.
    Registered {
        /// The balancer.
        balancer: BalancerId,
        /// The target: place of its host in the control plane.
        target: u32,
        /// Whether it is a target now.
        is_target: bool,
    },
    /// A node of a load balancer has reached its connection limit, or accepts connections again.
    ConnectionLimit {
        /// The balancer.
        balancer: BalancerId,
        /// The node of the balancer, by its place among the balancer's zones or machines.
        node: u16,
        /// Whether it is reached now.
        is_reached: bool,
    },
    /// What the state of a client's connection does not tell, for causes and counts; not in the trace.
    Detail {
        /// The client.
        client: ApiClient,
        /// The detail.
        detail: Detail,
    },
}

traced! { enum AccessRecord {
    Target { balancer, node, target, health } = 0,
    Client { client, state } = 1,
    ClientStopped(client) = 2,
    Request { client, result, after } = 3,
    Done(client) = 4,
    Registered { balancer, target, is_target } = 5,
    Detail { client, detail } = 6,
    ConnectionLimit { balancer, node, is_reached } = 7,
} }

/// What a client does, or meets, beside the state of its connection.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum Detail {
    /// It has opened a connection, perhaps to the server of the one before.
    Connected {
        /// Whether it goes through the load balancer.
        through: bool,
    },
    /// It dials without success so far.
    Dials(Dialled),
    /// Responses wait in a queue of the load balancer for longer than its requests do.
    Queues,
    /// Its server has closed its connection, as any does now and then (GOAWAY).
    GoneAway,
}

traced! { enum Detail { Connected { through } = 0, Dials(to) = 1, Queues = 2, GoneAway = 3 } }

/// What a client dials.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum Dialled {
    /// The load balancer.
    Balancer {
        /// The client's list of alternatives had expired.
        list_expired: bool,
    },
    /// Its own host: the load balancer sends the client there, or its packets do not leave the host.
    Itself,
    /// A node of the load balancer whose connection limit is reached: it answers no TLS handshake, or no SYN.
    AtLimit,
    /// An address of an API server.
    Server,
    /// The same from outside the cluster network, where the packets are lost.
    Outside {
        /// The server was advertised to it.
        is_alternative: bool,
    },
}

traced! { enum Dialled { Balancer { list_expired } = 0, Itself = 1, Server = 2, Outside { is_alternative } = 3, AtLimit = 4 } }

/// Result of a request.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum RequestResult {
    /// An API server answered it.
    Answered,
    /// An API server that etcd does not answer returned an error.
    Error,
    /// Its connection was lost, or none could be opened.
    ConnectionLost,
    /// There was no response within its timeout.
    TimedOut,
}

traced! { enum RequestResult { Answered = 0, Error = 1, ConnectionLost = 2, TimedOut = 3 } }

traced! { enum Health { Initial = 0, Healthy = 1, Unhealthy = 2 } }

/// State of a client's connection.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum ConnectionState {
    /// No connection: the client dials, or waits to dial again.
    None,
    /// Open, to a server that answers.
    Open {
        /// The server at its other end: place of its host in the control plane.
        server: u32,
        /// Whether it goes through the load balancer.
        through: bool,
    },
    /// Open, to a server that etcd does not answer. The client gets errors, which are responses, and stays.
    Unanswered {
        /// The server at its other end.
        server: u32,
        /// Whether it goes through the load balancer.
        through: bool,
    },
    /// No packet passes any more, which the client has not noticed.
    Silent {
        /// The server at its other end.
        server: u32,
        /// Whether it goes through the load balancer.
        through: bool,
    },
    /// Open, but responses take longer than its requests wait.
    Late {
        /// The server at its other end.
        server: u32,
        /// Whether it goes through the load balancer.
        through: bool,
    },
}

impl ConnectionState {
    /// The server at its other end, and whether it goes through the load balancer.
    pub const fn other_end(self) -> Option<(u32, bool)> {
        match self {
            Self::None => None,
            Self::Open { server, through }
            | Self::Unanswered { server, through }
            | Self::Silent { server, through }
            | Self::Late { server, through } => Some((server, through)),
        }
    }
}

traced! { enum ConnectionState {
    None = 0,
    Open { server, through } = 1,
    Silent { server, through } = 2,
    Unanswered { server, through } = 3,
    Late { server, through } = 4,
} }
