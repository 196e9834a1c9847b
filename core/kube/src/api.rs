//! The API servers of a cluster: what each talks to, and who gets an answer from them (`apiserver/pkg/storage/storagebackend/factory/etcd3.go`).
//!
//! Each has a connection to etcd for each resource that it keeps ([`connections`]): the resources whose connection is with a member that
//! falls silent get no answers, the others do.
//!
//! The seed whose pod it is says which members it may be sent to ([`ApiToEtcd`]): any that is ready, or as topology hints have it; one of
//! its own zone; the one that leads. One on a host of a cluster without Gardener talks to the member on that host (kubeadm), or to any.
//! That is asked for new connections: an open one stays, but for one to a member that lags behind, and for those who follow the leader.
//!
//! No request is simulated. [`Answers`] is what the state says of requests made to a server now: which resources are served over which
//! member, and how long that takes with the way from the server to the member, and etcd's own time.

mod access;
mod connections;
mod termination;

use std::collections::BTreeMap;
use std::sync::Arc;

use crate::ctx::{ClusterCtx, Storage};
use crate::event::KubeEvent;
use crate::record::{ApiResource, KubeRecord, Replica, ServerFact, Verb};
use crate::rule::hints;
use crate::share::Share;
use crate::spec::routing::ApiToEtcd;
use zonefall_kernel::periodic::Periodic;
use zonefall_kernel::periodic::Stepping;
use zonefall_kernel::rng::Purpose;
use zonefall_kernel::time::{Duration, Time};
use zonefall_kernel::timer::{Generation, Timer};
use zonefall_network::HostId;
use zonefall_network::vantage::{Extent, Views};
use zonefall_scenario::ids::{EtcdId, MemberId};

pub use access::Access;
use access::Answers;
use connections::{Connections, Dialler, LEASES, PODS};
use termination::Phase;

/// etcd has this long to answer a readiness check (`healthcheckTimeout`).
const READINESS_TIMEOUT: Duration = Duration::from_secs(2);

/// So many checks fail in a row before a server is sent no more clients (`failureThreshold`).
const FAILURES: u64 = 3;

/// Entities of draws: those of the servers, and of the cluster's dials.
const ENTITY: u32 = 1 << 31;

/// An API server that runs, for those who look from outside.
#[derive(Clone, Copy, Debug)]
pub struct Running<'a> {
    /// Tells it from the others of its cluster.
    pub key: u32,
    /// Host that it runs on.
    pub host: HostId,
    /// It answers clients that are connected to it.
    pub ready: bool,
    /// etcd answers what it asks for leases.
    pub answers: bool,
    /// What it says of itself (`/readyz`): etcd answers it, and it was not asked to stop.
    pub readyz: bool,
    /// It was asked to stop.
    pub stops: bool,
    /// It accepts connections.
    pub listens: bool,
    /// The member of etcd that its connection for pods is with.
    pub watches: Option<u8>,
    connections: &'a Connections,
}

impl Running<'_> {
    /// The member whose answers each of its resources waits for: the one that the connection is with, one that has fallen silent, or one
    /// that is dialled. None of resources without any.
    pub fn asked(&self) -> Arc<[u8]> {
        self.connections.asked()
    }

    /// Whether it asks any member.
    pub fn asks(&self) -> bool {
        self.connections.asks()
    }

    /// Members of etcd that it has open connections with, and for how many resources.
    pub fn open(&self) -> impl Iterator<Item = (u8, u16)> {
        self.connections.open()
    }

    /// Resources that it keeps.
    pub fn resources(&self) -> usize {
        self.connections.resources()
    }
}

#[derive(Clone, Debug)]
struct Server {
    replica: Replica,
    host: HostId,
    connections: Connections,
    /// Fires when a connection has been silent, or dialled, for long enough.
    link_timer: Timer,
    /// What it takes from the server on.
    answers: Answers,
    /// It has looked for the first time.
    has_begun: bool,
    phase: Phase,
    /// Fires when it accepts no connection any more.
    close_timer: Timer,
    /// It serves clients, as far as its kubelet knows.
    ready: bool,
    /// etcd answers its readiness check, or not, since then.
    checked: (bool, Time),
    checks: Periodic,
    /// Fires at the next check that counts.
    check_timer: Timer,
}

/// The API servers of a cluster.
#[derive(Clone, Debug)]
pub struct Api {
    /// Boxed: a map allocates eleven places even for two entries.
    servers: BTreeMap<u32, Box<Server>>,
    /// Draws made so far for connections.
    draws: u64,
    /// The share that is answered of what clients ask for, by [`access::ASKED`].
    views: Views<{ access::ASKED.len() }, Share>,
    /// The time of a write, as it is or last was.
    latency: Duration,
}

impl Api {
    /// No server yet.
    pub fn new(latency: Duration) -> Self {
        Self { servers: BTreeMap::new(), draws: 0, views: Views::default(), latency }
    }

    /// Whether it answers such requests of any resource.
    pub fn is_up(&self, verb: Verb) -> bool {
        self.views.available()[verb as usize] > Share::NONE
    }

    /// A server runs.
    pub fn start(&mut self, key: u32, replica: Replica, host: HostId, ctx: &mut ClusterCtx<'_>) {
        let period = ctx.spec.timers.readiness_period;
        let phase = ctx.draws(Purpose::Phase, ENTITY + key).draw(0).below(period.as_nanos());
        let checks = Periodic::new(ctx.now + Duration::from_nanos(phase), period);
        let [link_timer, close_timer, check_timer] = [Timer::new(), Timer::new(), Timer::new()];
        let mut server = Server {
            replica,
            host,
            connections: Connections::new(ctx.spec.resources),
            link_timer,
            answers: Answers::default(),
            has_begun: false,
            phase: Phase::Serves,
            close_timer,
            ready: false,
            checked: (false, ctx.now),
            checks,
            check_timer,
        };
        ctx.record(KubeRecord::ApiServer(replica, ServerFact::Runs));
        server.follow(&mut self.draws, ctx);
        // It is sent clients after its first check, which is made at once.
        if server.checked.0 {
            server.set_ready(key, true, ctx);
        }
        server.arm(key, ctx);
        self.servers.insert(key, Box::new(server));
    }

    /// A server is gone.
    pub fn remove(&mut self, key: u32, ctx: &mut ClusterCtx<'_>) {
        if let Some(server) = self.servers.remove(&key) {
            ctx.record(KubeRecord::ApiServer(server.replica, ServerFact::Gone));
        }
    }

    /// Those that run.
    pub fn servers(&self) -> impl Iterator<Item = Running<'_>> {
        self.servers.iter().map(|(key, server)| Running {
            key: *key,
            host: server.host,
            ready: server.ready,
            answers: server.answers.leases.write.is_some(),
            readyz: server.readyz(),
            stops: server.stops(),
            listens: server.phase.listens(),
            watches: server.connections.member(PODS),
            connections: &server.connections,
        })
    }

    /// Looks at everything anew: servers, etcd and paths may have changed. Whether any server's answers have.
    pub fn refresh(&mut self, ctx: &mut ClusterCtx<'_>) -> bool {
        let mut changed = false;
        for (key, server) in &mut self.servers {
            changed |= server.follow(&mut self.draws, ctx);
            server.arm(*key, ctx);
        }
        changed
    }

    /// Whether every server answers as it was last seen to: nothing has changed unnoticed.
    pub fn is_fresh(&self, ctx: &ClusterCtx<'_>) -> bool {
        self.servers.values().all(|server| server.asked(ctx) == server.answers)
    }

    /// Silent or dialled connections are given up.
    pub fn redial(&mut self, key: u32, generation: Generation, ctx: &mut ClusterCtx<'_>) {
        if let Some(server) = self.servers.get_mut(&key)
            && server.link_timer.fires(generation)
        {
            server.connect(&mut self.draws, ctx, Connections::give_up);
            server.look(ctx);
            server.arm(key, ctx);
        }
    }

    /// A server is asked whether it is ready.
    pub fn check(&mut self, key: u32, generation: Generation, ctx: &mut ClusterCtx<'_>) {
        if let Some(server) = self.servers.get_mut(&key)
            && server.check_timer.fires(generation)
        {
            if server.turns(ctx).is_some_and(|at| at <= ctx.now) {
                server.set_ready(key, server.checked.0, ctx);
            }
            server.arm(key, ctx);
        }
    }

    /// From a write until those who watch hear of it: the time of a write at the best server, as it is or last was.
    pub const fn latency(&self) -> Duration {
        self.latency
    }
}

impl Server {
    /// How many of its resources are asked for: all, or one.
    fn count(&self, resource: Option<ApiResource>) -> u64 {
        resource.map_or(self.connections.resources() as u64, |_| 1)
    }

    /// Follows what has become of etcd and of the paths; whether its answers are others now.
    fn follow(&mut self, draws: &mut u64, ctx: &mut ClusterCtx<'_>) -> bool {
        self.connect(draws, ctx, Connections::follow);
        self.look(ctx)
    }

    /// Looks what is answered; whether that is another thing than before.
    fn look(&mut self, ctx: &ClusterCtx<'_>) -> bool {
        let answers = self.asked(ctx);
        let changed = answers != self.answers;
        (self.answers, self.has_begun) = (answers, true);
        let checked = self.answers.check.is_some_and(|time| time <= READINESS_TIMEOUT);
        if checked != self.checked.0 {
            self.checked = (checked, ctx.now);
        }
        changed
    }

    /// Does something about its connections, and tells what has become of them.
    fn connect(&mut self, draws: &mut u64, ctx: &mut ClusterCtx<'_>, act: impl FnOnce(&mut Connections, &mut Dialler<'_, '_>)) {
        let mut connections = std::mem::take(&mut self.connections);
        let (choice, leaves) = (|| self.choice(ctx), |member| self.is_led_away(member, ctx) || self.is_turned_away(member, ctx));
        act(&mut connections, &mut Dialler { host: self.host, etcd: etcd(ctx), ctx, draws, choice: &choice, leaves: &leaves });
        self.connections = connections;
        let watches = self.connections.member(PODS);
        if watches != self.answers.watches {
            ctx.record(KubeRecord::ApiServer(self.replica, ServerFact::Etcd(watches)));
        }
        let open = || self.connections.open();
        let before = || self.answers.by_member.iter().map(|(member, resources, _)| (*member, *resources));
        let stalled = self.connections.resources() as u16 - open().map(|(_, resources)| resources).sum::<u16>();
        // One that has just begun has told that it runs.
        if !open().eq(before()) && (stalled > 0 || self.has_begun) {
            ctx.record(KubeRecord::ApiServer(self.replica, ServerFact::Stalled(stalled)));
        }
    }

    /// It talks to the member on its own host and to no other (kubeadm: `--etcd-servers=https://127.0.0.1:2379`).
    fn is_local(&self, ctx: &ClusterCtx<'_>) -> bool {
        matches!(self.replica, Replica::Host(_)) && ctx.spec.routing.api_to_etcd == ApiToEtcd::Local
    }

    /// The members that it may talk to. No Service stands between it and the member on its own host: that member lags or not.
    fn choice(&self, ctx: &ClusterCtx<'_>) -> Vec<u8> {
        let etcd = etcd(ctx);
        if self.is_local(ctx) {
            return etcd.listed().filter(|index| etcd.host(*index) == self.host).collect();
        }
        self.routed(etcd.endpoints(), ctx)
    }

    /// Those of the endpoints that it is sent to.
    fn routed(&self, endpoints: Vec<u8>, ctx: &ClusterCtx<'_>) -> Vec<u8> {
        let Replica::Pod(seed, _) = self.replica else { return endpoints };
        let routing = ctx.scenario.kube.clusters[seed].routing.api_to_etcd;
        if routing == ApiToEtcd::Leader {
            return self.leader(ctx).filter(|leader| endpoints.contains(leader)).map_or(endpoints, |leader| vec![leader]);
        }
        let hint = |index: u8| {
            let etcd = etcd(ctx);
            if routing == ApiToEtcd::Zone { Some(ctx.net.zone(etcd.host(index))) } else { ctx.services.hint(etcd.member(index)) }
        };
        let hinted: Vec<_> = endpoints.into_iter().map(|index| (index, hint(index))).collect();
        hints::reached(&hinted, ctx.net.zone(self.host))
    }

    /// The member that leads, where it can be reached.
    fn leader(&self, ctx: &ClusterCtx<'_>) -> Option<u8> {
        let etcd = etcd(ctx);
        etcd.leader().filter(|leader| ctx.net.is_open(self.host, etcd.host(*leader)))
    }

    /// It goes with the leader, who is another than the member it talks to.
    fn is_led_away(&self, member: u8, ctx: &ClusterCtx<'_>) -> bool {
        let Replica::Pod(seed, _) = self.replica else { return false };
        let follows = ctx.scenario.kube.clusters[seed].routing.api_to_etcd == ApiToEtcd::Leader;
        let other = |leader| leader != member && etcd(ctx).endpoints().contains(&leader);
        follows && self.leader(ctx).is_some_and(other)
    }

    /// The member it talks to lags, and there is one that does not.
    fn is_turned_away(&self, member: u8, ctx: &ClusterCtx<'_>) -> bool {
        let etcd = etcd(ctx);
        let answers = |other: &u8| etcd.life(*other).is_some() && ctx.net.is_open(self.host, etcd.host(*other));
        !self.is_local(ctx) && etcd.lags(member) && etcd.endpoints().iter().any(|other| !etcd.lags(*other) && answers(other))
    }

    /// How long requests take from here on.
    fn asked(&self, ctx: &ClusterCtx<'_>) -> Answers {
        let etcd = etcd(ctx);
        let access = |member: u8| {
            let time = |verb| {
                let way = ctx.net.round_trip(self.host, etcd.host(member));
                Some(ctx.spec.timers.api_overhead + way + ctx.storage.time_at(etcd.member(member), verb, ctx.net)?)
            };
            Access { read: time(Verb::Read), write: time(Verb::Write) }.after(Duration::ZERO)
        };
        let by_member: Vec<(u8, u16, Access)> =
            self.connections.open().map(|(member, resources)| (member, resources, access(member))).collect();
        let over = |connection: usize| {
            let member = self.connections.member(connection);
            let found = by_member.iter().find(|(known, ..)| Some(*known) == member);
            found.map_or_else(Access::default, |(_, _, access)| *access)
        };
        let check = over(self.connections.resources()).read;
        let watches = self.connections.member(PODS);
        Answers { leases: over(LEASES), pods: over(PODS), check, by_member, watches }
    }

    /// The check at which it counts as ready, or no longer; `None`: it goes on as it is. (A check at the very moment of a change does
    /// not see it.)
    fn turns(&self, ctx: &ClusterCtx<'_>) -> Option<Time> {
        let (checked, since) = self.checked;
        let failures = if checked { 0 } else { FAILURES - 1 };
        (checked != self.ready && self.phase.listens())
            .then(|| self.checks.after(since) + ctx.spec.timers.readiness_period * failures)
    }

    fn set_ready(&mut self, key: u32, ready: bool, ctx: &mut ClusterCtx<'_>) {
        self.ready = ready;
        ctx.answers_probe(key, self.replica, self.host, ready);
        ctx.record(KubeRecord::ApiServer(self.replica, ServerFact::Ready(ready)));
    }

    /// Queues what is due next: of its connections, and its next check of all, or the next at which something changes.
    fn arm(&mut self, key: u32, ctx: &mut ClusterCtx<'_>) {
        if let Some((at, generation)) = self.link_timer.rearm(self.connections.next()) {
            ctx.schedule(at, KubeEvent::Link { server: key, generation });
        }
        if let Some((at, generation)) = self.close_timer.rearm(self.phase.next()) {
            ctx.schedule(at, KubeEvent::Closes { server: key, generation });
        }
        let next = if ctx.stepping == Stepping::EveryEvent { Some(self.checks.after(ctx.now)) } else { self.turns(ctx) };
        if let Some((at, generation)) = self.check_timer.rearm(next) {
            ctx.schedule(at, KubeEvent::Readiness { server: key, generation });
        }
    }
}

/// The etcd of a cluster.
#[derive(Clone, Copy)]
struct Etcd<'a> {
    storage: &'a dyn Storage,
    cluster: EtcdId,
}

impl<'a> Etcd<'a> {
    fn member(self, index: u8) -> MemberId {
        MemberId { cluster: self.cluster, index }
    }

    fn host(self, index: u8) -> HostId {
        self.storage.host(self.member(index))
    }

    /// Which life a member's process is in; `None`: it does not serve.
    fn life(self, index: u8) -> Option<u64> {
        self.storage.life(self.member(index))
    }

    fn is_frozen(self, index: u8) -> bool {
        self.storage.is_frozen(self.member(index))
    }

    fn lags(self, index: u8) -> bool {
        self.storage.lags(self.member(index))
    }

    fn leader(self) -> Option<u8> {
        self.storage.leader(self.cluster)
    }

    /// Members that are there to be talked to.
    fn listed(self) -> impl Iterator<Item = u8> + use<'a> {
        (0..self.storage.members(self.cluster)).filter(move |index| self.storage.is_endpoint(self.member(*index)))
    }

    /// Members that new connections may be sent to: not those that would turn them away, unless all would. (Their pods are not ready: a
    /// readiness probe asks what they would have to have caught up for. That such pods count as ready elsewhere here is left out.)
    fn endpoints(self) -> Vec<u8> {
        let all: Vec<u8> = self.listed().collect();
        let current: Vec<u8> = all.iter().copied().filter(|index| !self.lags(*index)).collect();
        if current.is_empty() { all } else { current }
    }
}

/// The etcd of this cluster.
const fn etcd<'a>(ctx: &ClusterCtx<'a>) -> Etcd<'a> {
    Etcd { storage: ctx.storage, cluster: ctx.spec.etcd }
}
