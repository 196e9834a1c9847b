//! Connections from clients to API servers, straight or through a load balancer: what a dial meets, and what has become of an open one.

use std::collections::BTreeMap;

use crate::balancer::health::Health;
use crate::limit::AtLimit;
use crate::reply::Reply;
use crate::server::Server;
use crate::target::Balancer;
use zonefall_kernel::periodic::Stepping;
use zonefall_kernel::rng::Draw;
use zonefall_kernel::time::{Duration, Time};
use zonefall_kube::ctx::ApiClient;
use zonefall_network::{HostId, Network};
use zonefall_scenario::access::{Established, LoadBalancer, Loopback};

/// An open connection.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Connection {
    /// Key of the server.
    pub(crate) server: u32,
    /// Number of the server's process.
    process: u32,
    /// Node of the balancer that it goes through; `None`: it is straight.
    pub(crate) through: Option<u16>,
}

/// What a client sees: servers, balancer and paths at this time.
#[derive(Clone, Copy, Debug)]
pub(crate) struct ClientCtx<'a> {
    /// The client; `None`: one that the balancer does not know.
    pub(crate) client: Option<ApiClient>,
    pub(crate) now: Time,
    pub(crate) net: &'a Network,
    pub(crate) stepping: Stepping,
    pub(crate) servers: &'a BTreeMap<u32, Server>,
    /// Servers that the Service `kubernetes` lists.
    pub(crate) endpoints: &'a [u32],
    pub(crate) balancer: &'a Balancer,
    pub(crate) spec: &'a LoadBalancer,
    /// Packets pass between the client and the addresses of API servers, not just the balancer's.
    pub(crate) in_cluster_network: bool,
}

impl ClientCtx<'_> {
    /// Time that a response waits in the queue of the balancer's node that a connection goes through.
    pub(crate) fn wait(&self, connection: Connection) -> Duration {
        connection.through.map_or(Duration::ZERO, |node| self.balancer.queues()[usize::from(node)].wait(self.now))
    }

    /// Whether the server of a connection closes it in order: it answers what is in flight.
    pub(crate) fn drains(&self, connection: Connection) -> bool {
        let server = self.servers.get(&connection.server);
        server.is_some_and(|server| server.process == connection.process && !server.view.listens)
    }

    /// Time of the way from a host to a server and back.
    fn straight(&self, from: HostId, key: u32) -> Reply<Duration> {
        match self.balancer.host(key) {
            Some(host) if self.net.is_powered(host) && self.net.is_open(from, host) => {
                let listens = self.servers.get(&key).is_some_and(|server| server.view.listens);
                if listens { Reply::Accepted(self.net.round_trip(from, host)) } else { Reply::Refused }
            }
            _ => Reply::Silence,
        }
    }

    fn connect(&self, reply: Reply<Duration>, server: u32, through: Option<u16>) -> Reply<Connection> {
        match reply {
            Reply::Accepted(_) => Reply::Accepted(Connection { server, process: self.servers[&server].process, through }),
            Reply::Refused => Reply::Refused,
            Reply::Closed => Reply::Closed,
            Reply::Silence => Reply::Silence,
        }
    }

    /// A client on a host dials a server.
    pub(crate) fn dial_server(&self, from: HostId, key: u32) -> Reply<Connection> {
        let reply = if self.in_cluster_network { self.straight(from, key) } else { Reply::Silence };
        self.connect(reply, key, None)
    }

    /// Addresses of the original host, in the order in which they are dialled: the nodes of the balancer, in random order. `None`: the
    /// client's host reaches its own server instead, or the name does not resolve.
    pub(crate) fn addresses(&self, from: HostId, draw: &mut Draw) -> Option<Vec<u16>> {
        if self.own_server(from).is_some() || self.balancer.refuses() {
            return None;
        }
        let mut nodes = self.balancer.addresses(from, self.spec, self.net);
        for k in (1..nodes.len()).rev() {
            nodes.swap(k, draw.below(k as u64 + 1) as usize);
        }
        Some(nodes)
    }

    /// A client on a host dials the original host where that has no [addresses](Self::addresses).
    pub(crate) fn dial_without_addresses(&self, from: HostId) -> Reply<Connection> {
        self.own_server(from).map_or(Reply::Refused, |key| self.connect(self.straight(from, key), key, None))
    }

    /// Server of a client's host that what it sends to the balancer reaches instead.
    pub(crate) fn own_server(&self, from: HostId) -> Option<u32> {
        self.balancer.on_host(from).filter(|_| self.spec.loopback == Loopback::StaysOnHost)
    }

    /// Whether a node of the balancer sends a client to its own host in vain.
    pub(crate) fn is_sent_to_itself(&self, from: HostId, node: u16, target: u32) -> bool {
        self.spec.loopback == Loopback::Fails
            && self.balancer.is_open(node, from, self.net)
            && self.balancer.leads_to(target) == from
    }

    /// Why a node of the balancer that the client reaches from a host does not accept another connection, if its limit is the reason.
    pub(crate) fn at_limit(&self, from: HostId, node: u16) -> Option<AtLimit> {
        let limit = self.balancer.limit().filter(|_| !self.balancer.refuses() && self.balancer.is_open(node, from, self.net))?;
        limit.at_limit(node, self.client)
    }

    /// Whether a node of the balancer has accepted the connection that the client had in its backlog.
    pub(crate) fn has_accepted(&self, node: u16) -> bool {
        self.balancer.limit().zip(self.client).is_some_and(|(limit, client)| limit.has_accepted(node, client))
    }

    /// A client on a host dials a node of the balancer that its [limit](Self::at_limit) does not keep from accepting. `target`: the one that its first packet was sent to; the next ones are of the same
    /// flow, and go there as long as the node sends clients there (AWS: "each individual TCP connection is routed to a single target").
    pub(crate) fn dial_node(&self, from: HostId, node: u16, target: &mut Option<u32>, draw: &mut Draw) -> Reply<Connection> {
        if self.balancer.refuses() {
            return Reply::Refused;
        }
        if !self.balancer.is_open(node, from, self.net) {
            return Reply::Silence;
        }
        let choice = self.balancer.choice(node, self.spec, self.net);
        if choice.is_empty() {
            return if self.spec.relays { Reply::Closed } else { Reply::Refused };
        }
        let key = target.filter(|key| choice.contains(key)).unwrap_or_else(|| choice[draw.below(choice.len() as u64) as usize]);
        *target = Some(key);
        if self.is_sent_to_itself(from, node, key) {
            return Reply::Silence;
        }
        let listens = |key| self.servers.get(&key).is_some_and(|server| server.view.listens);
        match self.balancer.forward(node, key, listens, self.net) {
            (_, Reply::Refused) if self.spec.relays => Reply::Closed,
            (key, reply) => self.connect(reply, key, Some(node)),
        }
    }

    /// What has become of a connection of a client on a host; while it is open, the time of the way there and back without queues.
    pub(crate) fn state(&self, from: HostId, connection: Connection) -> Reply<Duration> {
        let key = connection.server;
        let reply = match connection.through {
            None => self.straight(from, key),
            Some(_) if self.balancer.refuses() => Reply::Refused,
            Some(node) if self.balancer.is_open(node, from, self.net) => {
                // A target that the node would still choose (fail open) keeps its connections.
                let unhealthy = self.balancer.health(node, key) == Health::Unhealthy
                    && !self.balancer.choice(node, self.spec, self.net).contains(&key);
                match self.balancer.reach(node, key, self.servers, self.net) {
                    _ if unhealthy && self.spec.established == Established::Reset => Reply::Refused,
                    _ if unhealthy && self.spec.established == Established::Silent => Reply::Silence,
                    Reply::Accepted(way) => {
                        Reply::Accepted(way + self.balancer.way_to(node, from, self.net) + self.spec.hop_latency * 2)
                    }
                    other => other,
                }
            }
            Some(_) => Reply::Silence,
        };
        let is_same = self.servers.get(&key).is_some_and(|server| server.process == connection.process);
        match reply {
            Reply::Accepted(_) if !is_same => Reply::Refused,
            other => other,
        }
    }
}
