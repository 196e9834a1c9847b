//! A load balancer: its nodes, the health of the targets as each node has found it, and the balancer's faults.
//!
//! ```text
//!  target --check, at even intervals--> result --rise, fall--> health --> targets of new connections
//! ```
//!
//! The state of the target at the start of a check decides the result. A check without an answer fails after its time-out, or before the
//! next check, whichever comes first. Checks that confirm the health of a target change nothing: under fast-forward they are no events.

mod checks;

use std::collections::{BTreeMap, BTreeSet};

use crate::balancer::health::{Health, TargetHealth};
use crate::limit::ConnectionLimit;
use crate::queue::Queue;
use crate::reply::Reply;
use crate::server::Server;
pub(crate) use checks::Checked;
use zonefall_kernel::periodic::Periodic;
use zonefall_kernel::rng::{Purpose, Stream};
use zonefall_kernel::time::{Duration, Time};
use zonefall_kernel::timer::Timer;
use zonefall_network::{HostId, Network};
use zonefall_scenario::access::{AllUnhealthy, LoadBalancer};
use zonefall_scenario::ids::{BalancerId, FaultId};
use zonefall_scenario::{Fault, LbPartition, Place, Vantage};

/// A target of one node of the balancer.
#[derive(Clone, Debug)]
struct Target {
    health: TargetHealth,
    checks: Periodic,
    /// Fires at the next check that may change something, or when a check times out.
    timer: Timer,
    /// Whether a check waits for an answer.
    waits: bool,
}

/// Where an entry of a balancer leads.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Destination {
    /// To a server of the cluster, by its key.
    Server(u32),
    /// To another machine, and whether an API server of another cluster listens there.
    Elsewhere(HostId, bool),
}

/// A load balancer.
#[derive(Clone, Debug)]
pub struct Balancer {
    id: BalancerId,
    nodes: Vec<HostId>,
    /// Its nodes are processes on machines of the cluster, each for the clients there.
    is_local: bool,
    /// By node and key of the server.
    targets: BTreeMap<(u16, u32), Target>,
    /// Hosts of all targets that there may be, whether a server runs there or not.
    hosts: Vec<HostId>,
    /// Keys of the targets that it has.
    registered: BTreeSet<u32>,
    /// Hosts of API servers of other clusters.
    others: Vec<HostId>,
    /// Faults under way.
    faults: Vec<(FaultId, Fault)>,
    /// Bytes per second of each node without faults; `None`: no limit.
    bandwidth: Option<u64>,
    /// The queue of each node.
    queues: Vec<Queue>,
    /// Time that new clients wait in the queue of each node, as it was when they were last looked at.
    waits: Vec<Duration>,
    /// Connections through each node, where their number is limited.
    limit: Option<ConnectionLimit>,
    /// Whether each node runs: a process on a machine starts anew when either was down.
    runs: Vec<bool>,
}

impl Balancer {
    /// A balancer with nodes on some hosts, whose targets on others (by the keys of their servers) have been healthy for long: the first
    /// `at_start` of them; the rest may become targets. `others`: hosts of API servers of other clusters.
    pub(crate) fn new(
        id: BalancerId,
        spec: &LoadBalancer,
        nodes: Vec<HostId>,
        ([hosts, others], at_start): ([Vec<HostId>; 2], usize),
        seed: u64,
    ) -> Self {
        let target = |node: usize, key: usize| {
            let entity = u64::from(id.0) << 32 | (node as u64) << 16 | key as u64;
            let phase = Stream::new(seed, Purpose::Balancer, entity).draw(0).below(spec.check.interval.as_nanos());
            let checks = Periodic::new(Time::from_nanos(phase), spec.check.interval);
            let target = Target { health: TargetHealth::new(Health::Healthy), checks, timer: Timer::new(), waits: false };
            ((node as u16, key as u32), target)
        };
        let targets = (0..nodes.len()).flat_map(|node| (0..hosts.len()).map(move |key| target(node, key))).collect();
        let (queues, waits) = (vec![Queue::new(spec.bandwidth); nodes.len()], vec![Duration::ZERO; nodes.len()]);
        let runs = vec![true; nodes.len()];
        let is_local = !spec.machines.is_empty();
        let registered = (0..at_start as u32).collect();
        let (faults, bandwidth) = (Vec::new(), spec.bandwidth);
        let limit = spec.connection_limit.map(|limit| ConnectionLimit::new(limit, spec.relays, nodes.len()));
        Self { id, nodes, is_local, targets, hosts, registered, others, faults, bandwidth, queues, waits, limit, runs }
    }

    /// Registers these targets, and returns those that were added (`true`) or removed: none while the list of targets is stale. A removed balancer
    /// has no targets; when it is created again all are new.
    pub(crate) fn register(&mut self, keys: &[u32]) -> Vec<(u32, bool)> {
        let is_removed = !self.is_local && self.refuses();
        if !is_removed && self.is_stale() && !self.registered.is_empty() {
            return Vec::new();
        }
        let wanted: BTreeSet<u32> = keys.iter().copied().filter(|_| !is_removed).collect();
        let changed: Vec<(u32, bool)> =
            self.registered.symmetric_difference(&wanted).map(|key| (*key, wanted.contains(key))).collect();
        for ((_, key), target) in &mut self.targets {
            if let Some((_, is_new)) = changed.iter().find(|(other, _)| other == key) {
                target.timer.cancel();
                target.waits = false;
                if *is_new {
                    target.health = TargetHealth::new(Health::Initial);
                }
            }
        }
        self.registered = wanted;
        changed
    }

    fn is_stale(&self) -> bool {
        self.suffers(|fault| matches!(fault, Fault::LbStaleTargets(_)))
    }

    /// The queue of each node.
    pub(crate) fn queues(&self) -> &[Queue] {
        &self.queues
    }

    /// The queue of each node.
    pub(crate) fn queues_mut(&mut self) -> &mut [Queue] {
        &mut self.queues
    }

    /// Connections through each node, where their number is limited.
    pub(crate) const fn limit(&self) -> Option<&ConnectionLimit> {
        self.limit.as_ref()
    }

    /// Connections through each node, where their number is limited, to be changed.
    pub(crate) const fn limit_mut(&mut self) -> Option<&mut ConnectionLimit> {
        self.limit.as_mut()
    }

    /// Looks at the queues for new clients: until the next look they wait for as long. (Queues move all the time. If each question looked at
    /// them, the number of questions, which differs with fast-forward, would be part of the answer.)
    pub(crate) fn look(&mut self, now: Time) {
        self.waits = self.queues.iter().map(|queue| queue.wait(now)).collect();
    }

    /// Time that a new client waits in the queue of a node.
    pub(crate) fn wait_of_new_clients(&self, node: u16) -> Duration {
        self.waits[usize::from(node)]
    }

    /// Whether new clients wait.
    pub(crate) fn has_queue(&self) -> bool {
        self.waits.iter().any(|wait| *wait > Duration::ZERO)
    }

    /// Its nodes are processes on machines of the cluster, each for the clients there.
    pub(crate) const fn is_local(&self) -> bool {
        self.is_local
    }

    /// Host of a node.
    pub(crate) fn host_of_node(&self, node: u16) -> HostId {
        self.nodes[usize::from(node)]
    }

    /// Processes or machines may have stopped or started. A process that has started takes all targets for healthy (HAProxy, `init-state`).
    /// Where there is one address, no machine in the zone does: what another node has found holds. Returns the health of targets that
    /// have another one since, by node and key.
    pub(crate) fn follow_processes(&mut self, spec: &LoadBalancer, net: &Network) -> Vec<(u16, u32, Health)> {
        if !(self.is_local || spec.relays || spec.one_address) {
            return Vec::new();
        }
        let stopped = self.suffers(|fault| matches!(fault, Fault::LbRemoved(_) | Fault::LbDown(_)));
        let runs = |node: u16| !stopped && net.is_powered(self.nodes[usize::from(node)]);
        let running: Vec<bool> = self.nodes().map(runs).collect();
        let other = self.nodes().find(|node| running[usize::from(*node)] && self.runs[usize::from(*node)]);
        let mut changed = Vec::new();
        for node in self.nodes() {
            let runs = running[usize::from(node)];
            let ran = std::mem::replace(&mut self.runs[usize::from(node)], runs);
            let has_started = runs && !ran;
            for key in self.keys() {
                let found = spec.one_address.then(|| self.targets[&(other.unwrap_or(node), key)].health);
                let target = self.targets.get_mut(&(node, key)).expect("it is one of them");
                if !runs {
                    target.timer.cancel();
                    target.waits = false;
                } else if has_started && self.registered.contains(&key) {
                    let before = std::mem::replace(&mut target.health, found.unwrap_or(TargetHealth::new(Health::Healthy)));
                    let health = target.health.health();
                    changed.extend((before.health() != health).then_some((node, key, health)));
                }
            }
        }
        changed
    }

    /// The longest time that a response waits at a node.
    pub fn longest_wait(&self, now: Time) -> Duration {
        self.queues.iter().map(|queue| queue.wait(now)).max().unwrap_or(Duration::ZERO)
    }

    /// Which balancer it is.
    pub(crate) const fn id(&self) -> BalancerId {
        self.id
    }

    /// Its nodes, by their places.
    pub(crate) fn nodes(&self) -> std::ops::Range<u16> {
        0..self.nodes.len() as u16
    }

    /// Keys of all targets that it has, had or will have.
    pub(crate) fn keys(&self) -> std::ops::Range<u32> {
        0..self.hosts.len() as u32
    }

    /// Whether a server is a target.
    pub(crate) fn has_target(&self, key: u32) -> bool {
        self.registered.contains(&key)
    }

    /// Host of a target.
    pub(crate) fn host(&self, key: u32) -> Option<HostId> {
        self.hosts.get(key as usize).copied()
    }

    /// Target on a host.
    pub(crate) fn on_host(&self, host: HostId) -> Option<u32> {
        self.hosts.iter().position(|other| *other == host).map(|key| key as u32)
    }

    /// Health of a target, as a node has found it.
    pub fn health(&self, node: u16, key: u32) -> Health {
        self.targets[&(node, key)].health.health()
    }

    /// When a node checks a target next.
    #[cfg(test)]
    pub(crate) fn next_check(&self, node: u16, key: u32, now: Time) -> Time {
        self.targets[&(node, key)].checks.after(now)
    }

    /// A fault begins or ends.
    pub(crate) fn fault(&mut self, id: FaultId, fault: &Fault, begins: bool, now: Time) {
        if begins {
            self.faults.push((id, fault.clone()));
        } else {
            self.faults.retain(|(other, _)| *other != id);
        }
        let throttled = self.faults.iter().filter_map(|(_, fault)| match fault {
            Fault::LbThrottled(fault) => Some(fault.bytes_per_s),
            _ => None,
        });
        let bandwidth = throttled.chain(self.bandwidth).min();
        self.queues.iter_mut().for_each(|queue| queue.set_bandwidth(bandwidth, now));
    }

    fn suffers(&self, from: impl Fn(&Fault) -> bool) -> bool {
        self.faults.iter().any(|(_, fault)| from(fault))
    }

    /// It refuses connections at once: it was deleted, and its name does not resolve, or its process on the client's own machine does not run.
    pub(crate) fn refuses(&self) -> bool {
        self.suffers(|fault| matches!(fault, Fault::LbRemoved(_)) || self.is_local && matches!(fault, Fault::LbDown(_)))
    }

    /// Nodes that a client on a host dials, by their places: those that its name resolves to, or the one on the client's machine.
    pub(crate) fn addresses(&self, from: HostId, spec: &LoadBalancer, net: &Network) -> Vec<u16> {
        let is_near = |node: &u16| !self.is_local || self.nodes[usize::from(*node)] == from;
        self.resolved(Vantage::Zone(net.zone(from)), spec, net).into_iter().filter(is_near).collect()
    }

    /// Nodes that the name of the balancer resolves to, by their places. One that finds no target healthy, for it has no power or forwards
    /// within its zone, is left out, unless that holds for all (AWS, "Target group health": DNS fails away from zones without healthy
    /// targets; all zones unhealthy: to all). How long clients keep an older answer is left out. Where all nodes have one address, the one
    /// at which packets `from` there enter.
    pub(crate) fn resolved(&self, from: Vantage, spec: &LoadBalancer, net: &Network) -> Vec<u16> {
        let is_well = |node: &u16| self.eligible(*node, spec, net).iter().any(|key| self.health(*node, *key) == Health::Healthy);
        if spec.one_address {
            let host = |node: &u16| self.nodes[usize::from(*node)];
            let is_reached = |node: &u16| net.is_powered(host(node)) && net.reach_from(from, host(node)).is_some();
            let is_near = |node: &u16| Vantage::Zone(net.zone(host(node))) == from;
            let order = |node: &u16| (!is_reached(node), !spec.cross_zone && !is_well(node), !is_near(node));
            return self.nodes().min_by_key(order).into_iter().collect();
        }
        let fails_away = !(spec.cross_zone && spec.relays);
        let well: Vec<u16> = self.nodes().filter(|node| fails_away && is_well(node)).collect();
        if well.is_empty() { self.nodes().collect() } else { well }
    }

    /// Whether its faults drop all packets between its nodes and somewhere.
    fn drops(&self, is_at: impl Fn(&Place) -> bool) -> bool {
        self.suffers(|fault| match fault {
            Fault::LbDown(_) | Fault::LbRemoved(_) => true,
            Fault::LbPartition(LbPartition { from, .. }) => from.is_empty() || from.iter().any(&is_at),
            _ => false,
        })
    }

    /// Whether packets pass between a node of it and a host, both ways.
    pub(crate) fn is_open(&self, node: u16, host: HostId, net: &Network) -> bool {
        let own = self.nodes[usize::from(node)];
        let is_at = |place: &Place| match *place {
            Place::Zone(zone) => net.zone(host) == zone,
            Place::Node(node) => Network::host_of(node) == host,
        };
        // Packets on one machine meet no partition.
        net.is_powered(own) && net.is_powered(host) && net.is_open(own, host) && (own == host || !self.drops(is_at))
    }

    /// Typical time of the way from a vantage to a node and back; `None`: no packet passes both ways.
    pub(crate) fn reach_from(&self, from: Vantage, node: u16, net: &Network) -> Option<Duration> {
        let is_at = |place: &Place| matches!((place, from), (Place::Zone(zone), Vantage::Zone(own)) if *zone == own);
        net.reach_from(from, self.nodes[usize::from(node)]).filter(|_| !self.drops(is_at))
    }

    /// Where the entry for a target leads.
    fn destination(&self, key: u32) -> Destination {
        let host = self.hosts[key as usize];
        let wrong = self.faults.iter().rev().find_map(|(_, fault)| match fault {
            Fault::LbWrongTarget(fault) if Network::host_of(fault.target) == host => Some(fault.instead),
            _ => None,
        });
        let Some(instead) = wrong else { return Destination::Server(key) };
        let host = Network::host_of(instead);
        self.on_host(host).map_or_else(|| Destination::Elsewhere(host, self.others.contains(&host)), Destination::Server)
    }

    /// Reply to a node that opens a connection to a server; where it is accepted, the time of the way there and back.
    pub(crate) fn reach(&self, node: u16, key: u32, servers: &BTreeMap<u32, Server>, net: &Network) -> Reply<Duration> {
        self.reach_host(node, self.hosts[key as usize], servers.get(&key).is_some_and(|server| server.view.listens), net)
    }

    /// The same of a host on which a server listens, or none does.
    fn reach_host(&self, node: u16, host: HostId, listens: bool, net: &Network) -> Reply<Duration> {
        if !self.is_open(node, host, net) {
            return Reply::Silence;
        }
        if listens { Reply::Accepted(net.round_trip(self.nodes[usize::from(node)], host)) } else { Reply::Refused }
    }

    /// Reply to a client that a node sends to a target, and the server that it reaches. `listens`: whether a server of the cluster does.
    pub(crate) fn forward(&self, node: u16, key: u32, listens: impl Fn(u32) -> bool, net: &Network) -> (u32, Reply<Duration>) {
        match self.destination(key) {
            Destination::Server(key) => (key, self.reach_host(node, self.hosts[key as usize], listens(key), net)),
            Destination::Elsewhere(host, has_server) => {
                let reply = match self.reach_host(node, host, has_server, net) {
                    Reply::Accepted(_) => Reply::Closed,
                    other => other,
                };
                (key, reply)
            }
        }
    }

    /// Machine that the entry for a target leads to.
    pub(crate) fn leads_to(&self, key: u32) -> HostId {
        match self.destination(key) {
            Destination::Server(key) => self.hosts[key as usize],
            Destination::Elsewhere(host, _) => host,
        }
    }

    /// Time of the way from a client's host to a node and back.
    pub(crate) fn way_to(&self, node: u16, from: HostId, net: &Network) -> Duration {
        net.round_trip(from, self.nodes[usize::from(node)])
    }

    /// Targets that a node forwards to, healthy or not.
    fn eligible(&self, node: u16, spec: &LoadBalancer, net: &Network) -> Vec<u32> {
        let own = net.zone(self.nodes[usize::from(node)]);
        let keys = self.registered.iter().copied();
        let near: Vec<u32> = keys.clone().filter(|key| spec.cross_zone || net.zone(self.hosts[*key as usize]) == own).collect();
        // Clients that have no other node are sent to other zones.
        if near.is_empty() && (self.is_local || spec.one_address) { keys.collect() } else { near }
    }

    /// Targets that a node may choose for a new connection; none: the node refuses it.
    pub(crate) fn choice(&self, node: u16, spec: &LoadBalancer, net: &Network) -> Vec<u32> {
        let eligible = self.eligible(node, spec, net);
        let healthy: Vec<u32> = eligible.iter().copied().filter(|key| self.health(node, *key) == Health::Healthy).collect();
        match (healthy.is_empty(), spec.all_unhealthy) {
            (false, _) => healthy,
            (true, AllUnhealthy::Open) => eligible,
            (true, AllUnhealthy::Closed) => Vec::new(),
        }
    }
}
