//! The simulation: world, run loop and what a caller can do with them.
//!
//! ```text
//!   EventQueue --pop--> dispatch --> EtcdCluster | Client | KubeCluster | faults --> Effects
//!       ^                                                                    |
//!       '--- schedule ------ run loop <--------------------------------------+--> records --> sink
//! ```
//!
//! Handlers take their own subsystem and an effects buffer; only the run loop here touches queue and clock.

mod attachments;
pub mod describe;
pub mod event;
mod faults;
mod meters;
#[cfg(test)]
mod tests;
pub mod view;

use std::sync::Arc;

use crate::client::{Client, ClientCtx};
use crate::etcd::cluster::{EtcdCluster, EtcdCtx};
use crate::etcd::member::MemberState;
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
use crate::traffic::{Traffic, TrafficCtx};
use attachments::Servers;
use event::{Answer, ContainerEvent, Effects, EtcdEvent, Event};
pub use meters::{LinkTotals, PairTotals, Pairs};

/// How heartbeats and other periodic work are simulated.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Stepping {
    /// Message by message, always.
    EveryEvent,
    /// Groups at rest queue nothing; their traffic is accounted for on demand. Same records, same bytes, fewer events.
    #[default]
    FastForward,
}

/// How to run a scenario.
#[derive(Clone, Copy, Debug, Default)]
pub struct Options {
    /// How periodic work is simulated.
    pub stepping: Stepping,
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
    /// Shared with clones as long as neither changes them.
    clusters: Vec<Arc<EtcdCluster>>,
    /// Likewise.
    clients: Vec<Arc<Client>>,
    cloud: Cloud,
    kube: Kube,
    faults: Faults,
    fx: Effects,
    traffic: Traffic,
    servers: Servers,
    /// [`Simulation::run_some`] has handled all events up to here, and what rested has been woken.
    resumed: Option<Time>,
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
        let mut clusters: Vec<_> = ids.map(|id| Arc::new(EtcdCluster::new(&scenario, id, seed, options, &mut fx))).collect();
        for (cluster, spec) in clusters.iter_mut().map(Arc::make_mut).zip(&scenario.etcd) {
            let mut ctx = EtcdCtx { now: Time::ZERO, net: &network, fx: &mut fx };
            cluster.start_warm(spec, &mut ctx);
            fx.service_changed.push(cluster.id);
        }
        let ids = (0..scenario.clients.len() as u16).map(ClientId);
        let clients = ids.map(|id| Arc::new(Client::new(&scenario, id, seed, &mut fx))).collect();
        let now = Time::ZERO;
        let mut cloud = Cloud::new(&scenario);
        let (net, cloud_now, fx_now) = (&mut network, &mut cloud, &mut fx);
        let mut ctx = kube::ctx::KubeCtx { now, scenario: &scenario, net, etcd: &clusters, cloud: cloud_now, fx: fx_now };
        let kube = Kube::new(seed, options.stepping, &mut ctx);
        let faults = Faults::new(&scenario, seed);
        let (events, queue) = (0, EventQueue::new());
        let (traffic, servers, resumed) = (Traffic::new(&scenario), Servers::new(&scenario), None);
        let mut simulation =
            Self { scenario, now, events, queue, network, clusters, clients, cloud, kube, faults, fx, traffic, servers, resumed };
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
    pub(crate) fn cluster(&self, id: crate::ids::KubeClusterId) -> &kube::cluster::KubeCluster {
        self.kube.cluster(id)
    }

    /// A plane hears of a process.
    #[cfg(test)]
    pub(crate) fn process_changed(&mut self, status: &kube::ctx::ProcessStatus) {
        let (kube, mut ctx) = self.kube();
        kube.process_changed(status, &mut ctx);
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
        self.apply_effects(sink);
        if self.resumed != Some(until) {
            if !self.handle_until(until, last, sink) {
                return false;
            }
            self.now = self.now.max(until);
            // What rests may have had events until then, and has them now.
            self.resume_all();
            self.apply_effects(sink);
            self.resumed = Some(until);
        }
        let there = self.handle_until(until, last, sink);
        if there {
            self.now = self.now.max(until);
            self.resumed = None;
        }
        there
    }

    /// The same, for who only wants to know what adds up ([`Simulation::links`] and the like): what rests is not woken, and the stop
    /// costs no event.
    pub fn advance_quiescent(&mut self, until: Time, events: u64, sink: &mut dyn FnMut(Time, &Record)) -> bool {
        self.apply_effects(sink);
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
            self.apply_effects(sink);
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
        self.apply_effects(sink);
        let (at, event) = self.queue.pop_until(Time::ZERO + self.scenario.duration)?;
        self.now = at;
        self.events += 1;
        before(self, event);
        self.dispatch(event);
        self.apply_effects(sink);
        Some(at)
    }

    fn dispatch(&mut self, event: Event) {
        match event {
            Event::Etcd(id, EtcdEvent::Request(token)) => {
                let client = &self.clients[token.client.0 as usize];
                let (op, until) = (client.op(), self.now + client.timeout());
                let (cluster, mut ctx) = self.etcd_cluster(id);
                let host = cluster.members[token.member as usize].host;
                if !cluster.request(token, op, until, &mut ctx) && self.network.is_powered(host) {
                    // The kernel of a living host answers for the process that is not there.
                    self.fx.answers.push((self.now, token, Answer::Unavailable));
                }
            }
            Event::Etcd(id, EtcdEvent::Work(token, step, life)) => {
                let client = &self.clients[token.client.0 as usize];
                let (op, until) = (client.op(), self.now + client.timeout());
                let (cluster, mut ctx) = self.etcd_cluster(id);
                cluster.work((token, step, life), op, until, &mut ctx);
            }
            Event::Etcd(id, event) => {
                let (cluster, mut ctx) = self.etcd_cluster(id);
                cluster.handle(event, &mut ctx);
            }
            Event::Client(id, event) => {
                let (client, mut ctx) = self.client(id);
                client.handle(event, &mut ctx);
            }
            Event::Fault(event) => self.fault(event),
            Event::Kube(cluster, event) => {
                let (kube, mut ctx) = self.kube();
                kube.handle(cluster, event, &mut ctx);
            }
        }
    }

    fn etcd_cluster(&mut self, id: EtcdId) -> (&mut EtcdCluster, EtcdCtx<'_>) {
        let ctx = EtcdCtx { now: self.now, net: &self.network, fx: &mut self.fx };
        (Arc::make_mut(&mut self.clusters[id.0 as usize]), ctx)
    }

    /// The objects of all Kubernetes clusters.
    pub fn objects(&self) -> kube::object_reports::ObjectReports {
        self.kube.objects(self.now, &self.scenario)
    }

    /// What of Kubernetes is skewed now that some zones are back, and what to do.
    pub fn failback(&self, back: &[ZoneId]) -> Vec<FailbackReport> {
        self.kube.failback(back, &self.scenario)
    }

    fn kube(&mut self) -> (&mut Kube, kube::ctx::KubeCtx<'_>) {
        let Self { now, scenario, network, clusters, cloud, fx, .. } = self;
        (&mut self.kube, kube::ctx::KubeCtx { now: *now, scenario, net: network, etcd: clusters, cloud, fx })
    }

    /// Does something to a plane.
    #[cfg(test)]
    pub(crate) fn act(
        &mut self,
        cluster: crate::ids::KubeClusterId,
        action: impl FnOnce(&mut kube::cluster::KubeCluster, &mut kube::ctx::ClusterCtx<'_>),
    ) {
        let (kube, mut ctx) = self.kube();
        kube.act(cluster, action, &mut ctx);
    }

    fn client(&mut self, id: ClientId) -> (&mut Client, ClientCtx<'_>) {
        let client = Arc::make_mut(&mut self.clients[id.0 as usize]);
        let cluster = Arc::make_mut(&mut self.clusters[client.cluster().0 as usize]);
        (
            client,
            ClientCtx { now: self.now, net: &self.network, cluster, in_flight: &mut self.servers.in_flight, fx: &mut self.fx },
        )
    }

    /// Does what the handlers asked for, until nothing is asked any more.
    fn apply_effects(&mut self, sink: &mut dyn FnMut(Time, &Record)) {
        loop {
            for (at, event) in self.fx.schedule.drain(..) {
                debug_assert!(at >= self.now, "{event:?} at {at:?} lies before {:?}", self.now);
                self.queue.push(at, event);
            }
            for record in self.fx.records.drain(..) {
                self.traffic.invalidate(&record);
                sink(self.now, &record);
            }
            if self.fx.is_settled() {
                if self.traffic.is_stale() {
                    self.refresh_traffic();
                }
                if self.fx.is_idle() {
                    return;
                }
            }
            self.notify_clients();
            for event in std::mem::take(&mut self.fx.container_events) {
                self.apply_container_event(event);
            }
            for (id, druid) in std::mem::take(&mut self.fx.checked) {
                let (cluster, mut ctx) = self.etcd_cluster(id);
                cluster.is_checked_from(druid, &mut ctx);
            }
            for (id, phase) in std::mem::take(&mut self.fx.restore_phases) {
                Arc::make_mut(&mut self.clusters[id.0 as usize]).set_restore_phase(phase);
            }
            for host in std::mem::take(&mut self.fx.deleted_vms) {
                self.delete_vm(host);
            }
            for id in std::mem::take(&mut self.fx.service_changed) {
                self.traffic.service_changed(id);
                let (probe, zones) = (self.scenario.probe, self.scenario.zones.len() as u16);
                let (cluster, mut ctx) = self.etcd_cluster(id);
                cluster.reconcile(&mut ctx);
                cluster.probe(probe, zones, &mut ctx);
                for id in self.clients_of(id) {
                    let (client, mut ctx) = self.client(id);
                    client.network_changed(&mut ctx);
                }
                let (kube, mut ctx) = self.kube();
                kube.services_changed(id, &mut ctx);
            }
        }
    }

    fn refresh_traffic(&mut self) {
        let mut traffic = std::mem::take(&mut self.traffic);
        let stale = traffic.refresh(&self.traffic_ctx());
        self.traffic = traffic;
        for cluster in stale {
            self.attach_clients(cluster);
        }
    }

    fn traffic_ctx(&self) -> TrafficCtx<'_> {
        let Self { now, scenario, network: net, clusters, kube, .. } = self;
        TrafficCtx { now: *now, scenario, net, etcd: clusters, kube }
    }

    fn apply_container_event(&mut self, event: ContainerEvent) {
        let (ContainerEvent::Run { member, .. }
        | ContainerEvent::Terminate { member, .. }
        | ContainerEvent::Halt { member, .. }
        | ContainerEvent::List { member, .. }) = event;
        if let ContainerEvent::Run { host, .. } = event {
            self.member_moves(member, host);
        }
        let (cluster, mut ctx) = self.etcd_cluster(member.cluster);
        match event {
            ContainerEvent::Run { host, .. } => cluster.run(member.index, host, &mut ctx),
            ContainerEvent::Terminate { host, .. } => cluster.withdraw(member.index, host, &mut ctx),
            ContainerEvent::Halt { host, reason, .. } => cluster.halt(member.index, host, reason, &mut ctx),
            ContainerEvent::List { listed, .. } => cluster.list(member.index, listed, &mut ctx),
        }
    }

    /// What clients have exchanged with a member counts for the zone it leaves.
    fn member_moves(&mut self, member: MemberId, to: HostId) {
        let zone = self.zone_of(member);
        if self.network.zone(to) != zone {
            for id in self.clients_of(member.cluster) {
                Arc::make_mut(&mut self.clients[id.0 as usize]).member_leaves(member.index, zone);
            }
        }
    }

    fn notify_clients(&mut self) {
        for (leaves, token, answer) in std::mem::take(&mut self.fx.answers) {
            let (client, mut ctx) = self.client(token.client);
            client.respond(leaves, token, answer, &mut ctx);
        }
        for (member, reset) in std::mem::take(&mut self.fx.stopped) {
            for id in self.clients_of(member.cluster) {
                let (client, mut ctx) = self.client(id);
                client.member_stopped(member.index, reset, &mut ctx);
            }
        }
        for watched in std::mem::take(&mut self.fx.watched) {
            for id in self.clients_of(watched.member.cluster) {
                let (client, mut ctx) = self.client(id);
                client.notify(watched, &mut ctx);
            }
        }
    }

    fn clients_of(&self, cluster: EtcdId) -> Vec<ClientId> {
        (0..).map(ClientId).zip(&self.clients).filter(|(_, client)| client.cluster() == cluster).map(|(id, _)| id).collect()
    }

    fn resume_all(&mut self) {
        for id in (0..self.clusters.len() as u16).map(EtcdId) {
            // The others do not change: clones go on sharing them.
            if self.clusters[id.0 as usize].has_quiescent_members() {
                let (cluster, mut ctx) = self.etcd_cluster(id);
                cluster.resume(&mut ctx);
            }
        }
    }

    /// The members of a cluster, in the scenario's order.
    pub fn members(&self, cluster: EtcdId) -> Vec<MemberStatus> {
        let status = |member: &crate::etcd::member::Member| {
            let server = member.server.as_deref();
            let disk = member.disk.content.as_deref();
            let role = match (member.state, server) {
                (MemberState::Future | MemberState::Removed, _) => Role::Absent,
                (MemberState::Standby, _) => Role::Standby,
                (MemberState::Joined, Some(server)) if server.raft.conf_state.learners.contains(member.id.index) => Role::Learner,
                (MemberState::Joined, Some(server)) => server.raft.role.into(),
                (MemberState::Joined, None) => Role::Follower,
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
