//! The API servers of a cluster: what each talks to, and who gets an answer from them (`apiserver/pkg/storage/storagebackend/factory/etcd3.go`).
//!
//! ```text
//!                     process ends on a living host: reset
//!   .------------------------------------------------------------------.
//!   v                                                                  |
//!  dial a member, drawn --> linked --> silent (cut, power) --40 s--> closed
//!   ^      |                   ^          |
//!   '20 s--' silent            '----------' the path is open again
//! ```
//!
//! The seed whose pod it is says which members it may be sent to ([`ApiToEtcd`]): any that is ready, or as topology hints have it; one of
//! its own zone; the one that leads. One on a host of a cluster without Gardener talks to the member on that host (kubeadm), or to any.
//! That is asked for new connections: an open one stays, but for one to a member that lags behind, and for those who follow the leader.
//!
//! No request is simulated. [`Access`] is what the state says of a request made now: which server answers it soonest, and how long that
//! takes with the way to the server, from there to its etcd member, and etcd's own time.

mod access;

use std::collections::BTreeMap;

use crate::ctx::{ClusterCtx, Storage};
use crate::event::KubeEvent;
use crate::record::{KubeRecord, Replica, ServerFact, Verb};
use crate::rule::hints;
use crate::spec::routing::ApiToEtcd;
use zonefall_kernel::periodic::Periodic;
use zonefall_kernel::periodic::Stepping;
use zonefall_kernel::rng::Purpose;
use zonefall_kernel::time::{Duration, Time};
use zonefall_kernel::timer::{Generation, Timer};
use zonefall_network::HostId;
use zonefall_network::vantage::Views;
use zonefall_scenario::ids::{EtcdId, MemberId};

pub use access::Access;

/// etcd has this long to answer a readiness check (`healthcheckTimeout`).
const READINESS_TIMEOUT: Duration = Duration::from_secs(2);

/// So many checks fail in a row before a server is sent no more clients (`failureThreshold`).
const FAILURES: u64 = 3;

/// Entities of draws: those of the servers, and of the cluster's dials.
const ENTITY: u32 = 1 << 31;

/// The connection of a server to etcd. A member's process that has started anew (another life) knows nothing of it.
#[derive(Clone, Copy, Debug)]
enum Link {
    /// No member is there to dial.
    Idle,
    Open {
        member: u8,
        life: u64,
    },
    /// Packets vanish.
    Silent {
        member: u8,
        life: u64,
    },
    Dialling(u8),
}

/// An API server that runs, for those who look from outside.
#[derive(Clone, Copy, Debug)]
pub struct Running {
    /// Tells it from the others of its cluster.
    pub key: u32,
    /// Host that it runs on.
    pub host: HostId,
    /// Clients are sent to it.
    pub ready: bool,
    /// The member of etcd that its connection is with.
    pub linked: Option<u8>,
    /// The member whose answers it waits for: that one, one that has fallen silent, or one that it dials.
    pub asks: Option<u8>,
}

#[derive(Clone, Debug)]
struct Server {
    replica: Replica,
    host: HostId,
    link: Link,
    /// Fires when the connection has been silent, or dialled, for long enough.
    link_timer: Timer,
    /// What it takes from the server on.
    access: Access,
    ready: bool,
    /// etcd answers its readiness check, or not, since then.
    answers: (bool, Time),
    checks: Periodic,
    /// Fires at the next check that counts.
    check_timer: Timer,
}

/// The API servers of a cluster.
#[derive(Clone, Debug)]
pub struct Api {
    /// Boxed: a map allocates eleven places even for two entries.
    servers: BTreeMap<u32, Box<Server>>,
    /// Members dialled so far: numbers of draws.
    dials: u64,
    /// Whether reads and writes are answered, by [`Verb`].
    views: Views<2>,
    /// The time of a write, as it is or last was.
    latency: Duration,
}

impl Api {
    /// No server yet.
    pub fn new(latency: Duration) -> Self {
        Self { servers: BTreeMap::new(), dials: 0, views: Views::default(), latency }
    }

    /// Whether it answers such requests.
    pub const fn is_up(&self, verb: Verb) -> bool {
        self.views.available()[verb as usize]
    }

    /// A server runs.
    pub fn start(&mut self, key: u32, replica: Replica, host: HostId, ctx: &mut ClusterCtx<'_>) {
        let period = ctx.spec.timers.readiness_period;
        let phase = ctx.draws(Purpose::Phase, ENTITY + key).draw(0).below(period.as_nanos());
        let checks = Periodic::new(ctx.now + Duration::from_nanos(phase), period);
        let (link, access, answers) = (Link::Idle, Access::default(), (false, ctx.now));
        let (link_timer, check_timer) = (Timer::new(), Timer::new());
        let mut server = Server { replica, host, link, link_timer, access, ready: false, answers, checks, check_timer };
        ctx.record(KubeRecord::ApiServer(replica, ServerFact::Runs));
        server.follow(key, &mut self.dials, ctx);
        // It is sent clients after its first check, which is made at once.
        if server.answers.0 {
            server.set_ready(key, true, ctx);
        }
        server.arm(key, ctx);
        self.servers.insert(key, Box::new(server));
    }

    /// A server was asked to stop.
    pub fn stop(&self, key: u32, ctx: &mut ClusterCtx<'_>) {
        if let Some(server) = self.servers.get(&key) {
            ctx.record(KubeRecord::ApiServer(server.replica, ServerFact::Stops));
        }
    }

    /// A server is gone.
    pub fn remove(&mut self, key: u32, ctx: &mut ClusterCtx<'_>) {
        if let Some(server) = self.servers.remove(&key) {
            ctx.record(KubeRecord::ApiServer(server.replica, ServerFact::Gone));
        }
    }

    /// Those that run.
    pub fn servers(&self) -> impl Iterator<Item = Running> {
        self.servers.iter().map(|(key, server)| Running {
            key: *key,
            host: server.host,
            ready: server.ready,
            linked: server.link.member(),
            asks: server.link.asks(),
        })
    }

    /// Looks at everything anew: servers, etcd and paths may have changed. Whether any server's answers have.
    pub fn refresh(&mut self, ctx: &mut ClusterCtx<'_>) -> bool {
        let mut changed = false;
        for (key, server) in &mut self.servers {
            changed |= server.follow(*key, &mut self.dials, ctx);
            server.arm(*key, ctx);
        }
        changed
    }

    /// Whether every server answers as it was last seen to: nothing has changed unnoticed.
    pub fn is_fresh(&self, ctx: &ClusterCtx<'_>) -> bool {
        self.servers.values().all(|server| server.asked(etcd(ctx), ctx) == server.access)
    }

    /// A silent or dialled connection is given up.
    pub fn redial(&mut self, key: u32, generation: Generation, ctx: &mut ClusterCtx<'_>) {
        if let Some(server) = self.servers.get_mut(&key)
            && server.link_timer.fires(generation)
        {
            server.dial(&mut self.dials, key, ctx);
            server.follow(key, &mut self.dials, ctx);
            server.arm(key, ctx);
        }
    }

    /// A server is asked whether it is ready.
    pub fn check(&mut self, key: u32, generation: Generation, ctx: &mut ClusterCtx<'_>) {
        if let Some(server) = self.servers.get_mut(&key)
            && server.check_timer.fires(generation)
        {
            if server.turns(ctx).is_some_and(|at| at <= ctx.now) {
                server.set_ready(key, server.answers.0, ctx);
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
    /// Follows what has become of etcd and of the paths; whether its answers are others now.
    fn follow(&mut self, key: u32, dials: &mut u64, ctx: &mut ClusterCtx<'_>) -> bool {
        self.follow_link(key, dials, ctx);
        let access = self.asked(etcd(ctx), ctx);
        let changed = access != self.access;
        self.access = access;
        let answers = access.read.is_some_and(|time| time <= READINESS_TIMEOUT);
        if answers != self.answers.0 {
            self.answers = (answers, ctx.now);
        }
        changed
    }

    fn follow_link(&mut self, key: u32, dials: &mut u64, ctx: &mut ClusterCtx<'_>) {
        let etcd = etcd(ctx);
        let is_open = |member| ctx.net.is_open(self.host, etcd.host(member));
        match self.link {
            Link::Idle => self.dial(dials, key, ctx),
            Link::Open { member, life } | Link::Silent { member, life } if is_open(member) => {
                if etcd.life(member) != Some(life) || self.is_led_away(ctx) || self.is_turned_away(member, ctx) {
                    self.dial(dials, key, ctx);
                } else if matches!(self.link, Link::Silent { .. }) {
                    self.link(Link::Open { member, life }, ctx);
                }
            }
            Link::Open { member, life } => {
                self.link(Link::Silent { member, life }, ctx);
                self.expect_link(key, ctx.spec.timers.etcd_silence, ctx);
            }
            Link::Silent { .. } => {}
            Link::Dialling(member) => {
                if is_open(member) {
                    match etcd.life(member) {
                        Some(life) => self.link(Link::Open { member, life }, ctx),
                        None => self.dial(dials, key, ctx),
                    }
                }
            }
        }
    }

    /// Dials one of the members that do not refuse at once.
    fn dial(&mut self, dials: &mut u64, key: u32, ctx: &mut ClusterCtx<'_>) {
        let etcd = etcd(ctx);
        let is_open = |member: u8| ctx.net.is_open(self.host, etcd.host(member));
        let there = |member: &u8| etcd.life(*member).is_some() || !is_open(*member);
        let members: Vec<u8> = self.choice(ctx).into_iter().filter(there).collect();
        if members.is_empty() {
            return self.link(Link::Idle, ctx);
        }
        *dials += 1;
        let drawn = ctx.draws(Purpose::Retry, ENTITY).draw(*dials).below(members.len() as u64);
        let member = members[drawn as usize];
        if let Some(life) = etcd.life(member).filter(|_| is_open(member)) {
            self.link(Link::Open { member, life }, ctx);
        } else {
            self.link(Link::Dialling(member), ctx);
            self.expect_link(key, ctx.spec.timers.etcd_dial, ctx);
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
    fn is_led_away(&self, ctx: &ClusterCtx<'_>) -> bool {
        let Replica::Pod(seed, _) = self.replica else { return false };
        let follows = ctx.scenario.kube.clusters[seed].routing.api_to_etcd == ApiToEtcd::Leader;
        let other = |leader| Some(leader) != self.link.member() && etcd(ctx).endpoints().contains(&leader);
        follows && self.leader(ctx).is_some_and(other)
    }

    /// The member it talks to lags, and there is one that does not.
    fn is_turned_away(&self, member: u8, ctx: &ClusterCtx<'_>) -> bool {
        let etcd = etcd(ctx);
        let answers = |other: &u8| etcd.life(*other).is_some() && ctx.net.is_open(self.host, etcd.host(*other));
        !self.is_local(ctx) && etcd.lags(member) && etcd.endpoints().iter().any(|other| !etcd.lags(*other) && answers(other))
    }

    fn link(&mut self, link: Link, ctx: &mut ClusterCtx<'_>) {
        let before = std::mem::replace(&mut self.link, link).member();
        self.link_timer.cancel();
        if link.member() != before {
            ctx.record(KubeRecord::ApiServer(self.replica, ServerFact::Etcd(link.member())));
        }
    }

    /// Gives the connection up after `patience`, unless it is another by then.
    fn expect_link(&mut self, key: u32, patience: Duration, ctx: &mut ClusterCtx<'_>) {
        let at = ctx.now + patience;
        ctx.schedule(at, KubeEvent::Link { server: key, generation: self.link_timer.arm(at) });
    }

    /// How long requests take from here on.
    fn asked(&self, etcd: Etcd<'_>, ctx: &ClusterCtx<'_>) -> Access {
        let Some(member) = self.link.member() else { return Access::default() };
        let time = |verb| {
            let way = ctx.net.round_trip(self.host, etcd.host(member));
            Some(ctx.spec.timers.api_overhead + way + ctx.storage.time_at(etcd.member(member), verb, ctx.net)?)
        };
        Access { read: time(Verb::Read), write: time(Verb::Write) }.after(Duration::ZERO)
    }

    /// The check at which it counts as ready, or no longer; `None`: it goes on as it is. (A check at the very moment of a change does
    /// not see it.)
    fn turns(&self, ctx: &ClusterCtx<'_>) -> Option<Time> {
        let (answers, since) = self.answers;
        let failures = if answers { 0 } else { FAILURES - 1 };
        (answers != self.ready).then(|| self.checks.after(since) + ctx.spec.timers.readiness_period * failures)
    }

    fn set_ready(&mut self, key: u32, ready: bool, ctx: &mut ClusterCtx<'_>) {
        self.ready = ready;
        ctx.answers_probe(key, self.replica, self.host, ready);
        ctx.record(KubeRecord::ApiServer(self.replica, ServerFact::Ready(ready)));
    }

    /// Queues the next check: the next of all, or the next at which something changes.
    fn arm(&mut self, key: u32, ctx: &mut ClusterCtx<'_>) {
        let next = if ctx.stepping == Stepping::EveryEvent { Some(self.checks.after(ctx.now)) } else { self.turns(ctx) };
        if let Some((at, generation)) = self.check_timer.rearm(next) {
            ctx.schedule(at, KubeEvent::Readiness { server: key, generation });
        }
    }
}

impl Link {
    const fn member(self) -> Option<u8> {
        match self {
            Self::Open { member, .. } => Some(member),
            Self::Idle | Self::Silent { .. } | Self::Dialling(_) => None,
        }
    }

    const fn asks(self) -> Option<u8> {
        match self {
            Self::Open { member, .. } | Self::Silent { member, .. } | Self::Dialling(member) => Some(member),
            Self::Idle => None,
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
