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
}

traced! { enum AccessRecord {
    Target { balancer, node, target, health } = 0,
    Client { client, state } = 1,
    ClientStopped(client) = 2,
    Request { client, result, after } = 3,
    Done(client) = 4,
    Registered { balancer, target, is_target } = 5,
} }

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
