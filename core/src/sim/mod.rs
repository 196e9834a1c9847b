//! The simulation: world, run loop and what a caller can do with them.
//!
//! ```text
//!   EventQueue --pop--> dispatch --> Cluster | Client | Plane | faults --> Effects
//!       ^                                                                    |
//!       '--- schedule ------ run loop <--------------------------------------+--> records --> sink
//! ```
//!
//! Handlers take their own subsystem and an effects buffer; only the run loop here touches queue and clock.

pub mod event;
mod faults;
mod meters;
pub mod picture;
mod seats;
#[cfg(test)]
mod tests;
pub mod words;

use std::sync::Arc;

use crate::client::{Client, Surroundings};
use crate::etcd::cluster::{Cluster, Context};
use crate::etcd::member::Standing;
use crate::etcd::raft;
use crate::fault::Faults;
use crate::gardener::machine::cloud::Cloud;
use crate::ids::{ClientId, EtcdId, MemberId, ZoneId};
use crate::kernel::queue::EventQueue;
use crate::kernel::time::Time;
use crate::kube::{self, Kube};
use crate::network::{HostId, Network};
use crate::record::Record;
use crate::report::FailbackReport;
use crate::scenario::Scenario;
use crate::traffic::{Traffic, World};
use event::{Answer, Effects, EtcdEvent, Event, MemberOrder};
pub use meters::{LinkTotals, PairTotals, Pairs};
use seats::Servers;

/// How heartbeats and other periodic work are simulated.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Exact {
    /// Message by message, always.
    Full,
    /// Groups at rest queue nothing; their traffic is accounted for on demand. Same records, same bytes, fewer events.
    #[default]
    Fast,
}

/// How to run a scenario.
#[derive(Clone, Copy, Debug, Default)]
pub struct Options {
    /// How periodic work is simulated.
    pub exact: Exact,
    /// Emit [`Record::Raft`] for the invariants.
    pub raft_records: bool,
    /// A deliberate bug in every member's raft, for tests of the tests.
    #[cfg(feature = "planted-bugs")]
    pub bug: Option<raft::PlantedBug>,
}

/// A running simulation; a clone is a keyframe or a fork.
#[derive(Clone, Debug)]
pub struct Simulation {
    scenario: Arc<Scenario>,
    now: Time,
    events: u64,
    queue: EventQueue<Event>,
    network: Network,
    clusters: Vec<Cluster>,
    clients: Vec<Client>,
    cloud: Cloud,
    kube: Kube,
    faults: Faults,
    fx: Effects,
    traffic: Traffic,
    servers: Servers,
    /// [`Simulation::run_some`] has handled all events up to here, and what rested has been woken.
    woken: Option<Time>,
}

/// A member now.
#[derive(Clone, Debug, PartialEq, Eq, serde::Serialize, serde::Deserialize)]
pub struct MemberStatus {
    /// Which.
    pub member: MemberId,
    /// Its role.
    pub role: Role,
    /// Its term.
    pub term: u64,
    /// Its process serves.
    pub up: bool,
    /// Last index of its log.
    pub last_index: u64,
    /// Committed, as it knows.
    pub committed: u64,
    /// Bytes of its database.
    pub database_bytes: u64,
}

/// Role of a member.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, serde::Serialize, serde::Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Role {
    /// Follows (or looks for) a leader.
    Follower,
    /// Asks whether it would win.
    PreCandidate,
    /// Asks for votes.
    Candidate,
    /// Leads.
    Leader,
    /// Follows without a vote.
    Learner,
    /// Not in the cluster: not yet added, or removed.
    Absent,
    /// Stands by with what a backup bucket holds; no etcd runs there.
    Standby,
}

impl Simulation {
    /// The scenario at time zero. `seed` replaces the scenario's own.
    pub fn new(scenario: Arc<Scenario>, seed: u64, options: Options) -> Self {
        let mut fx = Effects { raft_records: options.raft_records, ..Effects::default() };
        let mut network = Network::new(&scenario);
        let ids = (0..scenario.etcd.len() as u16).map(EtcdId);
        let mut clusters: Vec<Cluster> = ids.map(|id| Cluster::new(&scenario, id, seed, options, &mut fx)).collect();
        for (cluster, spec) in clusters.iter_mut().zip(&scenario.etcd) {
            let mut cx = Context { now: Time::ZERO, net: &network, fx: &mut fx };
            cluster.settle(spec, &mut cx);
            fx.disturbed.push(cluster.id);
        }
        let ids = (0..scenario.clients.len() as u16).map(ClientId);
        let clients = ids.map(|id| Client::new(&scenario, id, seed, &mut fx)).collect();
        let now = Time::ZERO;
        let mut cloud = Cloud::new(&scenario);
        let (net, cloud_now, fx_now) = (&mut network, &mut cloud, &mut fx);
        let mut at = kube::context::Surroundings { now, scenario: &scenario, net, etcd: &clusters, cloud: cloud_now, fx: fx_now };
        let kube = Kube::new(seed, options.exact, &mut at);
        let faults = Faults::new(&scenario, seed);
        let (events, queue) = (0, EventQueue::new());
        let (traffic, servers, woken) = (Traffic::new(&scenario), Servers::new(&scenario), None);
        let mut simulation =
            Self { scenario, now, events, queue, network, clusters, clients, cloud, kube, faults, fx, traffic, servers, woken };
        simulation.plan_faults();
        simulation
    }

    /// The scenario.
    pub fn scenario(&self) -> &Arc<Scenario> {
        &self.scenario
    }

    /// The current time.
    pub fn now(&self) -> Time {
        self.now
    }

    /// A plane.
    #[cfg(test)]
    pub(crate) fn cluster(&self, id: crate::ids::KubeClusterId) -> &kube::cluster::Plane {
        self.kube.cluster(id)
    }

    /// A plane hears of a process.
    #[cfg(test)]
    pub(crate) fn signal(&mut self, signal: &kube::context::Signal) {
        let (kube, mut at) = self.kube();
        kube.hear(signal, &mut at);
    }

    /// Events handled so far.
    pub fn events(&self) -> u64 {
        self.events
    }

    /// Handles every event up to and with `until` and moves the clock there; `sink` receives each record in order.
    pub fn run_until(&mut self, until: Time, sink: &mut dyn FnMut(Time, &Record)) {
        self.run_some(until, u64::MAX, sink);
    }

    /// The same, but stops after `events` events; whether it got there. Called again with the same `until` until it does, it has handled
    /// the very events that one [`Simulation::run_until`] would have: pausing leaves no mark. (The clock stands at the last event meanwhile.)
    pub fn run_some(&mut self, until: Time, events: u64, sink: &mut dyn FnMut(Time, &Record)) -> bool {
        let last = self.events.saturating_add(events);
        self.carry_out(sink);
        if self.woken != Some(until) {
            if !self.handle_until(until, last, sink) {
                return false;
            }
            self.now = self.now.max(until);
            // What rests may have had events until then, and has them now.
            self.wake_all();
            self.carry_out(sink);
            self.woken = Some(until);
        }
        let there = self.handle_until(until, last, sink);
        if there {
            self.now = self.now.max(until);
            self.woken = None;
        }
        there
    }

    /// The same, for who only wants to know what adds up ([`Simulation::links`] and the like): what rests is not woken, and the stop
    /// costs no event.
    pub fn pass(&mut self, until: Time, events: u64, sink: &mut dyn FnMut(Time, &Record)) -> bool {
        self.carry_out(sink);
        let there = self.handle_until(until, self.events.saturating_add(events), sink);
        if there {
            self.now = self.now.max(until);
        }
        there
    }

    fn handle_until(&mut self, until: Time, last: u64, sink: &mut dyn FnMut(Time, &Record)) -> bool {
        while self.events < last {
            let Some((at, event)) = self.queue.pop_until(until) else { return true };
            self.now = at;
            self.events += 1;
            self.dispatch(event);
            self.carry_out(sink);
        }
        false
    }

    /// Handles the next event, whenever it is; its time, or `None` where nothing is queued (or all that is queued lies after the end
    /// of the scenario).
    pub fn step(&mut self, sink: &mut dyn FnMut(Time, &Record)) -> Option<Time> {
        self.step_with(sink, |_, _| {})
    }

    /// `before` sees the event before it is handled.
    fn step_with(&mut self, sink: &mut dyn FnMut(Time, &Record), before: impl FnOnce(&Self, Event)) -> Option<Time> {
        self.carry_out(sink);
        let (at, event) = self.queue.pop_until(Time::ZERO + self.scenario.duration)?;
        self.now = at;
        self.events += 1;
        before(self, event);
        self.dispatch(event);
        self.carry_out(sink);
        Some(at)
    }

    fn dispatch(&mut self, event: Event) {
        match event {
            Event::Etcd(id, EtcdEvent::Request(token)) => {
                let client = &self.clients[token.client.0 as usize];
                let (op, until) = (client.op(), self.now + client.timeout());
                let (cluster, mut cx) = self.etcd_cluster(id);
                let host = cluster.members[token.member as usize].host;
                if !cluster.request(token, op, until, &mut cx) && self.network.is_powered(host) {
                    // The kernel of a living host answers for the process that is not there.
                    self.fx.answers.push((self.now, token, Answer::Unavailable));
                }
            }
            Event::Etcd(id, EtcdEvent::Work(token, step, life)) => {
                let client = &self.clients[token.client.0 as usize];
                let (op, until) = (client.op(), self.now + client.timeout());
                let (cluster, mut cx) = self.etcd_cluster(id);
                cluster.work((token, step, life), op, until, &mut cx);
            }
            Event::Etcd(id, event) => {
                let (cluster, mut cx) = self.etcd_cluster(id);
                cluster.handle(event, &mut cx);
            }
            Event::Client(id, event) => {
                let (client, mut at) = self.client(id);
                client.handle(event, &mut at);
            }
            Event::Fault(event) => self.fault(event),
            Event::Kube(cluster, event) => {
                let (kube, mut at) = self.kube();
                kube.handle(cluster, event, &mut at);
            }
        }
    }

    fn etcd_cluster(&mut self, id: EtcdId) -> (&mut Cluster, Context<'_>) {
        let cx = Context { now: self.now, net: &self.network, fx: &mut self.fx };
        (&mut self.clusters[id.0 as usize], cx)
    }

    /// The objects of all Kubernetes clusters.
    pub fn objects(&self) -> kube::picture::Objects {
        self.kube.objects(self.now, &self.scenario)
    }

    /// What of Kubernetes is skewed now that some zones are back, and what to do.
    pub fn failback(&self, back: &[ZoneId]) -> Vec<FailbackReport> {
        self.kube.failback(back, &self.scenario)
    }

    fn kube(&mut self) -> (&mut Kube, kube::context::Surroundings<'_>) {
        let Self { now, scenario, network, clusters, cloud, fx, .. } = self;
        (&mut self.kube, kube::context::Surroundings { now: *now, scenario, net: network, etcd: clusters, cloud, fx })
    }

    /// Does something to a plane.
    #[cfg(test)]
    pub(crate) fn act(
        &mut self,
        cluster: crate::ids::KubeClusterId,
        deed: impl FnOnce(&mut kube::cluster::Plane, &mut kube::context::Cx<'_>),
    ) {
        let (kube, mut at) = self.kube();
        kube.act(cluster, deed, &mut at);
    }

    fn client(&mut self, id: ClientId) -> (&mut Client, Surroundings<'_>) {
        let client = &mut self.clients[id.0 as usize];
        let cluster = &mut self.clusters[client.cluster().0 as usize];
        (
            client,
            Surroundings { now: self.now, net: &self.network, cluster, in_flight: &mut self.servers.in_flight, fx: &mut self.fx },
        )
    }

    /// Does what the handlers asked for, until nothing is asked any more.
    fn carry_out(&mut self, sink: &mut dyn FnMut(Time, &Record)) {
        loop {
            for (at, event) in self.fx.schedule.drain(..) {
                debug_assert!(at >= self.now, "{event:?} at {at:?} lies before {:?}", self.now);
                self.queue.push(at, event);
            }
            for record in self.fx.records.drain(..) {
                self.traffic.heed(&record);
                sink(self.now, &record);
            }
            if self.fx.is_settled() {
                self.refresh_traffic();
                if self.fx.is_idle() {
                    return;
                }
            }
            self.tell_clients();
            for order in std::mem::take(&mut self.fx.orders) {
                self.obey(order);
            }
            for (id, druid) in std::mem::take(&mut self.fx.checked) {
                let (cluster, mut cx) = self.etcd_cluster(id);
                cluster.is_checked_from(druid, &mut cx);
            }
            for (id, passage) in std::mem::take(&mut self.fx.passages) {
                self.clusters[id.0 as usize].pass(passage);
            }
            for host in std::mem::take(&mut self.fx.deleted_vms) {
                self.delete_vm(host);
            }
            for id in std::mem::take(&mut self.fx.disturbed) {
                self.traffic.disturbed(id);
                let (probe, zones) = (self.scenario.probe, self.scenario.zones.len() as u16);
                let (cluster, mut cx) = self.etcd_cluster(id);
                cluster.attend(&mut cx);
                cluster.probe(probe, zones, &mut cx);
                for id in self.clients_of(id) {
                    let (client, mut at) = self.client(id);
                    client.surroundings_changed(&mut at);
                }
                let (kube, mut at) = self.kube();
                kube.services_changed(id, &mut at);
            }
        }
    }

    fn refresh_traffic(&mut self) {
        let mut traffic = std::mem::take(&mut self.traffic);
        let stale = traffic.refresh(&self.world());
        self.traffic = traffic;
        for cluster in stale {
            self.seat_clients(cluster);
        }
    }

    fn world(&self) -> World<'_> {
        let Self { now, scenario, network: net, clusters, kube, .. } = self;
        World { now: *now, scenario, net, etcd: clusters, kube }
    }

    fn obey(&mut self, order: MemberOrder) {
        let (MemberOrder::Run { member, .. }
        | MemberOrder::Terminate { member, .. }
        | MemberOrder::Halt { member, .. }
        | MemberOrder::List { member, .. }) = order;
        if let MemberOrder::Run { host, .. } = order {
            self.member_moves(member, host);
        }
        let (cluster, mut cx) = self.etcd_cluster(member.cluster);
        match order {
            MemberOrder::Run { host, .. } => cluster.run(member.index, host, &mut cx),
            MemberOrder::Terminate { host, .. } => cluster.withdraw(member.index, host, &mut cx),
            MemberOrder::Halt { host, reason, .. } => cluster.halt(member.index, host, reason, &mut cx),
            MemberOrder::List { listed, .. } => cluster.list(member.index, listed, &mut cx),
        }
    }

    /// What clients have exchanged with a member counts for the zone it leaves.
    fn member_moves(&mut self, member: MemberId, to: HostId) {
        let zone = self.zone_of(member);
        if self.network.zone(to) != zone {
            for id in self.clients_of(member.cluster) {
                self.clients[id.0 as usize].member_leaves(member.index, zone);
            }
        }
    }

    fn tell_clients(&mut self) {
        for (leaves, token, answer) in std::mem::take(&mut self.fx.answers) {
            let (client, mut at) = self.client(token.client);
            client.respond(leaves, token, answer, &mut at);
        }
        for (member, reset) in std::mem::take(&mut self.fx.stopped) {
            for id in self.clients_of(member.cluster) {
                let (client, mut at) = self.client(id);
                client.member_stopped(member.index, reset, &mut at);
            }
        }
        for watched in std::mem::take(&mut self.fx.watched) {
            for id in self.clients_of(watched.member.cluster) {
                let (client, mut at) = self.client(id);
                client.notify(watched, &mut at);
            }
        }
    }

    fn clients_of(&self, cluster: EtcdId) -> Vec<ClientId> {
        (0..).map(ClientId).zip(&self.clients).filter(|(_, client)| client.cluster() == cluster).map(|(id, _)| id).collect()
    }

    fn wake_all(&mut self) {
        for id in (0..self.clusters.len() as u16).map(EtcdId) {
            let (cluster, mut cx) = self.etcd_cluster(id);
            cluster.wake(&mut cx);
        }
    }

    /// The members of a cluster, in the scenario's order.
    pub fn members(&self, cluster: EtcdId) -> Vec<MemberStatus> {
        let status = |member: &crate::etcd::member::Member| {
            let server = member.server.as_deref();
            let disk = member.disk.content.as_deref();
            let role = match (member.standing, server) {
                (Standing::Future | Standing::Removed, _) => Role::Absent,
                (Standing::Standby, _) => Role::Standby,
                (Standing::In, Some(server)) if server.raft.config.learners.contains(member.id.index) => Role::Learner,
                (Standing::In, Some(server)) => server.raft.role.into(),
                (Standing::In, None) => Role::Follower,
            };
            let log = server.map(|server| &server.raft.log).or(disk.map(|disk| &disk.log));
            let term = server.map(|server| server.raft.term).or(disk.map(|disk| disk.term));
            let bytes = server.map(|server| server.database_bytes).or(disk.map(|disk| disk.database_bytes));
            MemberStatus {
                member: member.id,
                role,
                term: term.unwrap_or(0),
                up: server.is_some(),
                last_index: log.map_or(0, raft::log::Log::last),
                committed: log.map_or(0, |log| log.committed),
                database_bytes: bytes.unwrap_or(0),
            }
        };
        self.clusters[cluster.0 as usize].members.iter().map(status).collect()
    }

    /// Where a member is, or is to run.
    pub fn zone_of(&self, member: MemberId) -> ZoneId {
        self.network.zone(self.host_of(member))
    }

    /// The name of the node that a member runs on, or is to run on.
    pub fn node_name_of(&self, member: MemberId) -> String {
        let host = self.host_of(member);
        let given = self.scenario.nodes.get(usize::from(host.0)).map(|node| node.name.clone());
        given.or_else(|| self.kube.node_name(host, &self.scenario)).unwrap_or_default()
    }

    fn host_of(&self, member: MemberId) -> HostId {
        self.clusters[member.cluster.0 as usize].members[member.index as usize].host
    }
}

impl From<raft::Role> for Role {
    fn from(role: raft::Role) -> Self {
        match role {
            raft::Role::Follower => Self::Follower,
            raft::Role::PreCandidate => Self::PreCandidate,
            raft::Role::Candidate => Self::Candidate,
            raft::Role::Leader => Self::Leader,
        }
    }
}
