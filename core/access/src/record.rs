//! What happened on the ways to the API servers of a cluster. Below each type stands its byte form in the trace, with its tags.

use serde::{Deserialize, Serialize};

use crate::balancer::health::Health;
use zonefall_kernel::traced;
use zonefall_kube::ctx::ApiClient;

/// A fact of the ways of one cluster.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum AccessRecord {
    /// A node of the load balancer thinks otherwise of a target.
    Target {
        /// The node of the balancer, by its place among the balancer's zones.
        node: u8,
        /// The target: place of its host in the control plane.
        target: u32,
        /// What it thinks now.
        health: Health,
    },
    /// A client has another connection, or none; told of a new client, too.
    Client {
        /// The client.
        client: ApiClient,
        /// What it has now.
        connection: Connection,
    },
    /// A client runs no more.
    ClientGone(ApiClient),
}

traced! { enum AccessRecord { Target { node, target, health } = 0, Client { client, connection } = 1, ClientGone(client) = 2 } }

traced! { enum Health { Initial = 0, Healthy = 1, Unhealthy = 2 } }

/// What a client has of a connection.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum Connection {
    /// None: it dials, or waits to dial again.
    None,
    /// One that carries requests.
    Open {
        /// The server at its other end: place of its host in the control plane.
        server: u32,
        /// It goes through the load balancer.
        through: bool,
    },
    /// One to a server that cannot answer: etcd does not answer it. The client gets errors, which are answers, and stays.
    Unanswered {
        /// The server at its other end.
        server: u32,
        /// It goes through the load balancer.
        through: bool,
    },
    /// One over which nothing passes any more; the client does not know.
    Silent {
        /// The server at its other end.
        server: u32,
        /// It goes through the load balancer.
        through: bool,
    },
}

traced! { enum Connection { None = 0, Open { server, through } = 1, Silent { server, through } = 2, Unanswered { server, through } = 3 } }
