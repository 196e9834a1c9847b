//! Connections through the nodes of a load balancer that has a limit of connections at once through each of them.
//!
//! ```text
//!  SYN --below the limit--> accepted                               --ends--> the place goes to the first that waits
//!   |---at the limit, the node relays---> backlog, first in, first out --place--> accepted
//!   |                                       '--10 s without a TLS answer: the client closes; its entry stays until it is found closed
//!   '---at the limit, the node passes packets on, or its backlog is full---> dropped: repeated after 1, 3, 7, 15 s
//! ```
//!
//! HAProxy stops accepting connections at `maxconn`; the kernel goes on to complete TCP handshakes until its queue is full ("By default,
//! HAProxy passes the frontend's maxconn value to the `listen()` syscall": HAProxy, commit `a0250ba3`, `backlog`), and then drops SYNs (Linux
//! `tcp_conn_request`, `sk_acceptq_is_full`; `net.core.somaxconn`: 4096). A connection that its client has closed stays in this queue until it
//! is accepted.

use std::collections::{BTreeSet, VecDeque};

use zonefall_kernel::time::Time;
use zonefall_kube::ctx::ApiClient;

/// The most connections that the kernel completes for a process (`net.core.somaxconn` since Linux 5.4).
const LONGEST_BACKLOG: usize = 4_096;

/// What a client has at a node of a load balancer.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Slot {
    /// The node has accepted its connection.
    Accepted(u16),
    /// Its connection waits in the backlog of the node since this time.
    Waits(u16, Time),
}

/// Why a node does not accept another connection.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum AtLimit {
    /// It relays, and its backlog has a place: the TCP handshake is completed.
    Backlog,
    /// SYNs are dropped.
    Drops,
}

/// Connections through each node of a load balancer with a limit.
#[derive(Clone, Debug)]
pub(crate) struct ConnectionLimit {
    /// Connections at once through each node, at least 1.
    limit: usize,
    /// Nodes accept connections themselves: others wait in a backlog.
    relays: bool,
    nodes: Vec<Connections>,
}

/// Connections through one node.
#[derive(Clone, Debug, Default)]
struct Connections {
    accepted: BTreeSet<ApiClient>,
    /// Those that wait, the oldest first, and since when; `None`: its client has closed it.
    backlog: VecDeque<Option<(ApiClient, Time)>>,
}

impl ConnectionLimit {
    /// No connections yet.
    pub(crate) fn new(limit: u32, relays: bool, nodes: usize) -> Self {
        Self { limit: limit as usize, relays, nodes: vec![Connections::default(); nodes] }
    }

    /// Connections at once through each node.
    pub(crate) const fn limit(&self) -> usize {
        self.limit
    }

    /// Connections that a node has accepted.
    pub(crate) fn accepted(&self, node: u16) -> usize {
        self.nodes[usize::from(node)].accepted.len()
    }

    /// Clients that wait in the backlog of a node, the oldest first.
    pub(crate) fn waiting(&self, node: u16) -> impl Iterator<Item = ApiClient> {
        self.nodes[usize::from(node)].backlog.iter().flatten().map(|(client, _)| *client)
    }

    /// Whether a node has accepted the connection of a client.
    pub(crate) fn has_accepted(&self, node: u16, client: ApiClient) -> bool {
        self.nodes[usize::from(node)].accepted.contains(&client)
    }

    /// Why a node does not accept a new connection of a client, if it does not. What the client had there has ended. `None`: some other client.
    pub(crate) fn at_limit(&self, node: u16, client: Option<ApiClient>) -> Option<AtLimit> {
        let own = &self.nodes[usize::from(node)];
        let accepted = own.accepted.len() - usize::from(client.is_some_and(|client| own.accepted.contains(&client)));
        let others = own.backlog.iter().flatten().any(|(waits, _)| Some(*waits) != client);
        match accepted >= self.limit || others {
            true if self.relays && own.backlog.len() < self.limit.min(LONGEST_BACKLOG) => Some(AtLimit::Backlog),
            true => Some(AtLimit::Drops),
            false => None,
        }
    }

    /// Why each node does not accept a new connection, if it does not.
    pub(crate) fn all_at_limit(&self) -> Vec<Option<AtLimit>> {
        (0..self.nodes.len() as u16).map(|node| self.at_limit(node, None)).collect()
    }

    /// A client has this at a node now, and nothing else. Returns the clients whose connections are accepted instead of one that has ended.
    pub(crate) fn occupy(&mut self, client: ApiClient, slot: Option<Slot>) -> Vec<ApiClient> {
        let mut admitted = Vec::new();
        for (node, own) in (0..).zip(&mut self.nodes) {
            if slot == Some(Slot::Accepted(node)) {
                own.accepted.insert(client);
                assert!(own.accepted.len() <= self.limit, "node {node} accepts more than {} connections", self.limit);
            } else {
                own.accepted.remove(&client);
            }
            let waits = if let Some(Slot::Waits(at, since)) = slot { (at == node).then_some((client, since)) } else { None };
            for entry in own.backlog.iter_mut().filter(|entry| entry.is_some_and(|(of, _)| of == client)) {
                *entry = entry.filter(|entry| Some(*entry) == waits);
            }
            if waits.is_some() && !own.backlog.contains(&waits) {
                own.backlog.push_back(waits);
            }
            while own.accepted.len() < self.limit
                && let Some(first) = own.backlog.pop_front()
            {
                if let Some((accepted, _)) = first {
                    own.accepted.insert(accepted);
                    admitted.push(accepted);
                }
            }
        }
        admitted
    }
}
