//! What a client meets on its ways: paths, servers, and the balancer between.

use std::collections::BTreeMap;

use crate::balancer::health::Health;
use crate::server::Server;
use crate::target::{Balancer, Reach};
use zonefall_kernel::rng::Draw;
use zonefall_kernel::time::{Duration, Time};
use zonefall_network::{HostId, Network};
use zonefall_scenario::access::{Established, LoadBalancer, Loopback};

/// Servers, balancer and paths as they are now.
#[derive(Clone, Copy, Debug)]
pub(crate) struct World<'a> {
    pub(crate) now: Time,
    pub(crate) net: &'a Network,
    pub(crate) servers: &'a BTreeMap<u32, Server>,
    pub(crate) balancer: &'a Balancer,
    pub(crate) spec: &'a LoadBalancer,
}

/// A connection: a server's process at its other end, straight or through a node of the balancer.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Line {
    /// Key of the server.
    pub(crate) server: u32,
    /// Which of its processes.
    life: u32,
    /// Node of the balancer.
    pub(crate) through: Option<u8>,
}

/// What has become of a connection.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum LineState {
    /// It carries requests; their answers are back after this time on the way.
    Open(Duration),
    /// The client is told that it is over.
    Reset,
    /// Nothing passes.
    Silent,
}

/// What a client meets that dials an address.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Dialled {
    Open(Line),
    Refused,
    Silent,
}

impl World<'_> {
    fn straight(&self, from: HostId, key: u32) -> Reach {
        match self.balancer.host(key) {
            Some(host) if self.net.is_powered(host) && self.net.is_open(from, host) => {
                let listens = self.servers.get(&key).is_some_and(|server| server.view.listens);
                if listens { Reach::Open(self.net.round_trip(from, host)) } else { Reach::Refused }
            }
            _ => Reach::Silent,
        }
    }

    fn line(&self, reach: Reach, server: u32, through: Option<u8>) -> Dialled {
        match reach {
            Reach::Open(_) => Dialled::Open(Line { server, life: self.servers[&server].life, through }),
            Reach::Refused => Dialled::Refused,
            Reach::Silent => Dialled::Silent,
        }
    }

    /// A client on a host dials a server.
    pub(crate) fn dial_server(&self, from: HostId, key: u32) -> Dialled {
        self.line(self.straight(from, key), key, None)
    }

    /// Addresses of the original host, in the order in which they are dialled: the nodes of the balancer, in random order. `None`: the
    /// client's own server stands for them, or nobody knows the name.
    pub(crate) fn addresses(&self, from: HostId, draw: &mut Draw) -> Option<Vec<u8>> {
        let stays = self.spec.loopback == Loopback::StaysOnHost && self.balancer.on_host(from).is_some();
        if stays || self.balancer.is_removed() {
            return None;
        }
        let mut nodes: Vec<u8> = self.balancer.nodes().collect();
        for k in (1..nodes.len()).rev() {
            nodes.swap(k, draw.below(k as u64 + 1) as usize);
        }
        Some(nodes)
    }

    /// A client on a host asks for the original host without dialling a balancer ([`Self::addresses`]).
    pub(crate) fn dial_without_addresses(&self, from: HostId) -> Dialled {
        let own = self.balancer.on_host(from).filter(|_| self.spec.loopback == Loopback::StaysOnHost);
        own.map_or(Dialled::Refused, |key| self.dial_server(from, key))
    }

    /// A client on a host dials a node of the balancer.
    pub(crate) fn dial_node(&self, from: HostId, node: u8, draw: &mut Draw) -> Dialled {
        if self.balancer.is_removed() {
            return Dialled::Refused;
        }
        if !self.balancer.is_open(node, from, self.net) {
            return Dialled::Silent;
        }
        let choice = self.balancer.choice(node, self.spec, self.net);
        if choice.is_empty() {
            return Dialled::Refused;
        }
        let key = choice[draw.below(choice.len() as u64) as usize];
        if self.spec.loopback == Loopback::Fails && self.balancer.host(key) == Some(from) {
            return Dialled::Silent;
        }
        self.line(self.balancer.reach(node, key, self.servers, self.net), key, Some(node))
    }

    /// What has become of a client's connection.
    pub(crate) fn state(&self, from: HostId, line: Line) -> LineState {
        let reach = match line.through {
            None => self.straight(from, line.server),
            Some(_) if self.balancer.is_removed() => Reach::Refused,
            Some(node) if self.balancer.is_open(node, from, self.net) => {
                // A target that it would still choose (fail open) keeps its connections, as it gets new ones.
                let unhealthy = self.balancer.health(node, line.server) == Health::Unhealthy
                    && !self.balancer.choice(node, self.spec, self.net).contains(&line.server);
                match self.balancer.reach(node, line.server, self.servers, self.net) {
                    _ if unhealthy && self.spec.established == Established::Reset => Reach::Refused,
                    _ if unhealthy && self.spec.established == Established::Silent => Reach::Silent,
                    Reach::Open(way) => Reach::Open(way + self.balancer.way_to(node, from, self.net) + self.spec.hop_latency * 2),
                    other => other,
                }
            }
            Some(_) => Reach::Silent,
        };
        let same = self.servers.get(&line.server).is_some_and(|server| server.life == line.life);
        match reach {
            Reach::Open(way) if same => LineState::Open(way),
            // The kernel of a living host answers for a process that is gone.
            Reach::Open(_) | Reach::Refused => LineState::Reset,
            Reach::Silent => LineState::Silent,
        }
    }
}
