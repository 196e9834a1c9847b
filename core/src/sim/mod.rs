//! The simulation: world, run loop and what a caller can do with them.
//!
//! ```text
//!   EventQueue --pop--> dispatch --> EtcdCluster | Client | KubeCluster | faults --> Effects
//!       ^                                                                    |
//!       '--- schedule ------ run loop <--------------------------------------+--> records --> sink
//! ```
//!
//! Handlers take their own subsystem and an effects buffer; only the run loop here touches queue and clock.

mod access;
mod attachments;
mod controllers;
pub mod describe;
pub mod event;
mod faults;
mod meters;
mod ports;
pub mod view;

use std::sync::Arc;

use crate::access::Access;
use crate::client::{Client, ClientCtx};
use crate::cloud::Cloud;
pub use crate::etcd::Options;
use crate::etcd::cluster::EtcdCluster;
use crate::etcd::ctx::EtcdCtx;
use crate::etcd::event::{Answer, EtcdEvent};
pub use crate::etcd::view::{MemberStatus, Role};
use crate::fault::Faults;
use crate::gardener::garden::Garden;
use crate::gardener::record::GardenerRecord;
use crate::ids::{ClientId, EtcdId, KubeClusterId, MemberId, NodeId, TiVec, WorkloadId, ZoneId};
pub use crate::kernel::periodic::Stepping;
use crate::kernel::queue::EventQueue;
use crate::kernel::time::Time;
use crate::kube::ctx::{ContainerEvent, KubeCtx, NearestServer};
use crate::kube::record::{KubeRecord, PodFact};
use crate::kube::spec::Workload;
use crate::kube::{self, Kube};
use crate::network::card::Cards;
use crate::network::{HostId, Network};
use crate::record::{EtcdRecord, Record};
use crate::scenario::{Scenario, Vantage};
use crate::traffic::{Traffic, TrafficCtx};
use attachments::Servers;
use controllers::CONTROLLERS;
use event::{Effects, Event};
pub use meters::{LinkTotals, PairTotals, Pairs};
use ports::EtcdStorage;

/// A running simulation; a clone is a keyframe or a fork.
#[derive(Clone, Debug)]
pub struct Simulation {
    scenario: Arc<Scenario>,
    now: Time,
    events: u64,
    queue: EventQueue<Event>,
    network: Network,
    cards: Cards,
    /// Shared with clones as long as neither changes them.
    clusters: TiVec<EtcdId, Arc<EtcdCluster>>,
    /// Shared with clones as well.
    clients: TiVec<ClientId, Arc<Client>>,
    /// Those of each etcd.
    clients_of: TiVec<EtcdId, Arc<[ClientId]>>,
    cloud: Cloud,
    kube: Kube,
    access: Access,
    stepping: Stepping,
    garden: Garden,
    faults: Faults,
    fx: Effects,
    traffic: Traffic,
    servers: Servers,
    /// [`Simulation::run_some`] has handled all events up to here, and what rested has been woken.
    resumed: Option<Time>,
}

impl Simulation {
    /// The scenario at time zero. `seed` replaces the scenario's own.
    pub fn new(scenario: Arc<Scenario>, seed: u64, options: Options) -> Self {
        let mut fx = Effects::default();
        fx.etcd.raft_records = options.raft_records;
        let (mut network, mut cards) = (Network::new(&scenario), Cards::default());
        let ids = scenario.etcd.keys();
        let mut clusters: TiVec<_, _> =
            ids.map(|id| Arc::new(EtcdCluster::new(&scenario, id, seed, options, &mut fx.out))).collect();
        for (cluster, spec) in clusters.iter_mut().map(Arc::make_mut).zip(&scenario.etcd) {
            let mut ctx = EtcdCtx { now: Time::ZERO, net: &network, cards: &mut cards, out: &mut fx.out, fx: &mut fx.etcd };
            cluster.start_warm(spec, &mut ctx);
            fx.etcd.service_changed.push(cluster.id);
        }
        let ids = scenario.clients.keys();
        let clients: TiVec<_, _> = ids.map(|id| Arc::new(Client::new(&scenario, id, seed, &mut fx.out))).collect();
        let of = |etcd| clients.iter_enumerated().filter(move |(_, client)| client.cluster() == etcd).map(|(id, _)| id).collect();
        let clients_of = scenario.etcd.keys().map(of).collect();
        let now = Time::ZERO;
        let mut cloud = Cloud::new(&scenario);
        let mut garden = Garden::new(&scenario.kube);
        let mut ctx = KubeCtx {
            now,
            scenario: &scenario,
            net: &mut network,
            storage: &EtcdStorage(&clusters),
            path: &NearestServer,
            cloud: &mut cloud,
            shared: &mut garden,
            out: &mut fx.out,
            fx: &mut fx.kube,
        };
        let kube = Kube::new(&CONTROLLERS.concat(), seed, options.stepping, &mut ctx);
        fx.etcd.service_changed.append(&mut fx.kube.hinted);
        let access = Access::new(&scenario, seed);
        let faults = Faults::new(&scenario, seed);
        let (events, queue) = (0, EventQueue::new());
        let (traffic, servers, resumed) = (Traffic::new(&scenario), Servers::new(&scenario), None);
        let mut simulation = Self {
            scenario,
            now,
            events,
            queue,
            network,
            cards,
            clusters,
            clients,
            clients_of,
            cloud,
            kube,
            access,
            stepping: options.stepping,
            garden,
            faults,
            fx,
            traffic,
            servers,
            resumed,
        };
        simulation.paths_changed();
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

    /// A cluster.
    pub fn cluster(&self, id: KubeClusterId) -> &kube::cluster::KubeCluster {
        self.kube.cluster(id)
    }

    /// A cluster hears of a process.
    #[cfg(feature = "testing")]
    pub fn process_changed(&mut self, status: &kube::ctx::ProcessStatus) {
        self.kube(|kube, ctx| kube.process_changed(status, ctx));
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
                let client = &self.clients[token.client];
                let (op, until) = (client.op(), self.now + client.timeout());
                let (cluster, mut ctx) = self.etcd_cluster(id);
                let host = cluster.members[token.member as usize].host;
                if !cluster.request(token, op, until, &mut ctx) && self.network.is_powered(host) {
                    // The kernel of a living host answers for the process that is not there.
                    self.fx.etcd.answers.push((self.now, token, Answer::Unavailable));
                }
            }
            Event::Etcd(id, EtcdEvent::Work { token, step, life }) => {
                let client = &self.clients[token.client];
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
                self.kube(|kube, ctx| kube.handle(cluster, event, ctx));
            }
            Event::Access(cluster, event) => self.access(|access, ctx| access.handle(cluster, event, ctx)),
        }
    }

    fn etcd_cluster(&mut self, id: EtcdId) -> (&mut EtcdCluster, EtcdCtx<'_>) {
        let Effects { out, etcd, .. } = &mut self.fx;
        let ctx = EtcdCtx { now: self.now, net: &self.network, cards: &mut self.cards, out, fx: etcd };
        (Arc::make_mut(&mut self.clusters[id]), ctx)
    }

    /// The etcd clusters, in the scenario's order.
    #[cfg(feature = "testing")]
    pub fn etcd_clusters(&self) -> &TiVec<EtcdId, Arc<EtcdCluster>> {
        &self.clusters
    }

    /// The Kubernetes clusters, in the scenario's order.
    pub fn kube_clusters(&self) -> impl Iterator<Item = &kube::cluster::KubeCluster> {
        self.kube.clusters()
    }

    /// A Kubernetes cluster, in which a zone is lost from one moment to the next ([`kube::cluster::KubeCluster::lose_zone`]): for who
    /// wants to know what would be where then, not for a run.
    pub(crate) fn lose_zone(&mut self, cluster: KubeClusterId, zone: ZoneId, moves: Vec<(WorkloadId, Workload)>) {
        self.kube(|kube, ctx| kube.lose_zone(cluster, zone, moves, ctx));
    }

    /// Does something to a cluster.
    #[cfg(feature = "testing")]
    pub fn act(
        &mut self,
        cluster: KubeClusterId,
        action: impl FnOnce(&mut kube::cluster::KubeCluster, &mut kube::ctx::ClusterCtx<'_>),
    ) {
        self.kube(|kube, ctx| kube.act(cluster, action, ctx));
    }

    fn client(&mut self, id: ClientId) -> (&mut Client, ClientCtx<'_>) {
        let client = Arc::make_mut(&mut self.clients[id]);
        let cluster = Arc::make_mut(&mut self.clusters[client.cluster()]);
        (
            client,
            ClientCtx {
                now: self.now,
                net: &self.network,
                cards: &mut self.cards,
                cluster,
                scenario: &self.scenario,
                in_flight: &mut self.servers.in_flight,
                out: &mut self.fx.out,
            },
        )
    }

    /// Does what the handlers asked for, until nothing is asked any more.
    fn apply_effects(&mut self, sink: &mut dyn FnMut(Time, &Record)) {
        loop {
            for (at, event) in self.fx.out.schedule.drain(..) {
                debug_assert!(at >= self.now, "{event:?} at {at:?} lies before {:?}", self.now);
                self.queue.push_for(event.turn(), at, event);
            }
            for record in self.fx.out.records.drain(..) {
                invalidate(&mut self.traffic, &record);
                sink(self.now, &record);
            }
            if self.fx.is_settled() && self.garden.effects.is_empty() && self.servers.in_flight.fair.is_settled() {
                if self.traffic.is_stale() {
                    self.refresh_traffic();
                }
                if self.fx.is_idle() && self.servers.in_flight.fair.is_settled() {
                    return;
                }
            }
            self.notify_clients();
            for event in std::mem::take(&mut self.fx.kube.container_events) {
                self.apply_container_event(event);
            }
            for (id, druid) in std::mem::take(&mut self.garden.effects.checked) {
                let (cluster, mut ctx) = self.etcd_cluster(id);
                cluster.is_checked_from(druid, &mut ctx);
            }
            for (id, phase) in std::mem::take(&mut self.garden.effects.restore_phases) {
                Arc::make_mut(&mut self.clusters[id]).set_restore_phase(phase);
            }
            self.servers_changed();
            for cluster in std::mem::take(&mut self.fx.kube.kubelets_changed) {
                self.traffic.kubelets_changed(cluster);
            }
            for host in std::mem::take(&mut self.fx.kube.deleted_vms) {
                self.delete_vm(host);
            }
            for id in std::mem::take(&mut self.fx.etcd.flow_changed) {
                self.traffic.service_changed(id);
            }
            for id in std::mem::take(&mut self.fx.etcd.service_changed) {
                self.traffic.service_changed(id);
                let probe = self.scenario.probe;
                let (cluster, mut ctx) = self.etcd_cluster(id);
                cluster.reconcile(&mut ctx);
                cluster.probe(probe, &mut ctx);
                for id in self.clients_of(id).iter().copied() {
                    let (client, mut ctx) = self.client(id);
                    client.network_changed(&mut ctx);
                }
                self.kube(|kube, ctx| kube.services_changed(id, ctx));
                self.etcd_leader_changed(id);
            }
        }
    }

    fn traffic_ctx(&self) -> TrafficCtx<'_> {
        let Self { now, scenario, network: net, clusters, kube, garden, .. } = self;
        TrafficCtx { now: *now, scenario, net, etcd: clusters, kube, garden }
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
            for id in self.clients_of(member.cluster).iter().copied() {
                Arc::make_mut(&mut self.clients[id]).member_leaves(member.index, zone);
            }
        }
    }

    fn notify_clients(&mut self) {
        for (token, decision) in self.servers.in_flight.fair.take_decided() {
            let (client, mut ctx) = self.client(token.client);
            client.decided(token, decision, &mut ctx);
        }
        for (leaves, token, answer) in std::mem::take(&mut self.fx.etcd.answers) {
            let (client, mut ctx) = self.client(token.client);
            client.respond(leaves, token, answer, &mut ctx);
        }
        for (member, reset) in std::mem::take(&mut self.fx.etcd.stopped) {
            for id in self.clients_of(member.cluster).iter().copied() {
                let (client, mut ctx) = self.client(id);
                client.member_stopped(member.index, reset, &mut ctx);
            }
        }
        for watched in std::mem::take(&mut self.fx.etcd.watched) {
            for id in self.clients_of(watched.member.cluster).iter().copied() {
                let (client, mut ctx) = self.client(id);
                client.notify(watched, &mut ctx);
            }
        }
    }

    fn clients_of(&self, cluster: EtcdId) -> Arc<[ClientId]> {
        Arc::clone(&self.clients_of[cluster])
    }

    fn resume_all(&mut self) {
        for id in self.clusters.keys() {
            // The others do not change: clones go on sharing them.
            if self.clusters[id].has_quiescent_members() {
                let (cluster, mut ctx) = self.etcd_cluster(id);
                cluster.resume(&mut ctx);
            }
        }
    }

    /// No group is steady any more.
    fn disturb_all(&mut self) {
        for id in self.clusters.keys() {
            if self.clusters[id].has_quiescent_members() || self.clusters[id].flows_silently() {
                let (cluster, mut ctx) = self.etcd_cluster(id);
                cluster.disturb(&mut ctx);
            }
        }
    }

    /// The members of a cluster, in the scenario's order.
    pub fn members(&self, cluster: EtcdId) -> Vec<MemberStatus> {
        self.clusters[cluster].statuses(self.now).collect()
    }

    /// Vantages of a cluster's clients.
    pub fn vantages(&self, cluster: EtcdId) -> Vec<Vantage> {
        self.clusters[cluster].vantages(&self.network)
    }

    /// Where a member is, or is to run.
    pub fn zone_of(&self, member: MemberId) -> ZoneId {
        self.network.zone(self.host_of(member))
    }

    /// The name of the node that a member runs on, or is to run on.
    pub fn node_name_of(&self, member: MemberId) -> String {
        let host = self.host_of(member);
        let given = self.scenario.nodes.get(NodeId(host.0)).map(|node| node.name.clone());
        given.or_else(|| self.kube.node_name(host, &self.scenario)).unwrap_or_default()
    }

    fn host_of(&self, member: MemberId) -> HostId {
        self.clusters[member.cluster].members[member.index as usize].host
    }
}

/// What flows follows what has happened.
fn invalidate(traffic: &mut Traffic, record: &Record) {
    match *record {
        Record::Kube(cluster, KubeRecord::ApiServer(..)) => traffic.servers_changed(cluster),
        Record::Kube(seed, KubeRecord::Pod(pod, PodFact::Ready(_) | PodFact::Removed)) => {
            traffic.component_changed(seed, pod.workload);
        }
        Record::Etcd(EtcdRecord::MemberMoved { member, .. }) => traffic.member_moved(member.cluster),
        Record::Gardener(_, GardenerRecord::Migration(shoot, _)) => traffic.shoot_moved(shoot),
        _ => {}
    }
}
