//! What clients get from the API servers of a cluster, and whether that is in time.

use super::{Api, Server};
use crate::ctx::{ClusterCtx, NewClient, NewConnection, Route};
use crate::record::{ApiResource, KubeRecord, Verb};
use crate::share::Share;
use zonefall_kernel::time::Duration;
use zonefall_network::vantage::{Change, Extent};
use zonefall_network::{HostId, Network};
use zonefall_scenario::Vantage;

/// A request that takes longer fails (`request-timeout`).
const REQUEST_TIMEOUT: Duration = Duration::from_secs(60);

/// What clients ask for, by its place in [`Api::views`]: anything, then resources that are also told of by themselves.
pub(super) const ASKED: [(Verb, Option<ApiResource>); 6] = [
    (Verb::Read, None),
    (Verb::Write, None),
    (Verb::Read, Some(ApiResource::Leases)),
    (Verb::Write, Some(ApiResource::Leases)),
    (Verb::Read, Some(ApiResource::Pods)),
    (Verb::Write, Some(ApiResource::Pods)),
];

/// Of what clients ask for, by its place: how much of it they get.
type Shares = [Share; ASKED.len()];

/// How long requests for a resource take, made now; `None`: none is answered.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Access {
    /// One that asks.
    pub read: Option<Duration>,
    /// One that changes something.
    pub write: Option<Duration>,
}

impl Access {
    const fn of(self, verb: Verb) -> Option<Duration> {
        match verb {
            Verb::Read => self.read,
            Verb::Write => self.write,
        }
    }

    fn sooner(self, other: Self) -> Self {
        let least = |a: Option<Duration>, b: Option<Duration>| a.into_iter().chain(b).min();
        Self { read: least(self.read, other.read), write: least(self.write, other.write) }
    }

    pub(super) fn after(self, way: Duration) -> Self {
        let longer = |time: Option<Duration>| time.map(|time| time + way).filter(|time| *time <= REQUEST_TIMEOUT);
        Self { read: longer(self.read), write: longer(self.write) }
    }
}

/// What a server answers now, from there on.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct Answers {
    /// Requests for leases.
    pub(super) leases: Access,
    /// Requests for pods, which stand for all that controllers work on.
    pub(super) pods: Access,
    /// Its readiness check.
    pub(super) check: Option<Duration>,
    /// Members that it has open connections with, for how many resources, and how long requests for those take.
    pub(super) by_member: Vec<(u8, u16, Access)>,
    /// The member that the connection for pods is with.
    pub(super) watches: Option<u8>,
}

impl Answers {
    /// Resources, of those asked for, for which a request is answered within a time.
    fn served(&self, (verb, resource): (Verb, Option<ApiResource>), within: Duration) -> u64 {
        let in_time = |access: &Access| access.of(verb).is_some_and(|time| time <= within);
        match resource {
            Some(ApiResource::Leases) => u64::from(in_time(&self.leases)),
            Some(ApiResource::Pods) => u64::from(in_time(&self.pods)),
            None => {
                let served = self.by_member.iter().filter(|(.., access)| in_time(access));
                served.map(|(_, resources, _)| u64::from(*resources)).sum()
            }
        }
    }
}

impl Api {
    /// How long requests for leases take over a route.
    pub fn leases_over(&self, route: Route, from: HostId, net: &Network) -> Access {
        match route {
            Route::Nearest => self.access(from, net),
            Route::Server { key, way } => self.access_over(key, way)[0],
            Route::Nowhere { .. } => Access::default(),
        }
    }

    /// How long requests for leases and for pods take at one server, to which the way there and back takes so much time.
    pub fn access_over(&self, key: u32, way: Duration) -> [Access; 2] {
        let answers = self.servers.get(&key).map(|server| &server.answers);
        answers.map_or_else(Default::default, |answers| [answers.leases, answers.pods].map(|access| access.after(way)))
    }

    /// What a client on a host gets that goes from one server to the next until its leases are answered.
    pub fn access(&self, from: HostId, net: &Network) -> Access {
        let there = self.reached(from, net).map(|(_, server)| server.answers.leases.after(net.round_trip(from, server.host)));
        there.fold(Access::default(), Access::sooner)
    }

    /// Whether clients are sent to any server: requests wait where none answers. Else they are refused.
    pub fn is_offered(&self) -> bool {
        self.servers.values().any(|server| server.ready)
    }

    /// Servers that clients on a host may be sent to, and their keys.
    fn reached(&self, from: HostId, net: &Network) -> impl Iterator<Item = (u32, &Server)> {
        let ready = self.servers.iter().filter(|(_, server)| server.ready);
        ready.map(|(key, server)| (*key, &**server)).filter(move |(_, server)| net.is_open(from, server.host))
    }

    /// Keys of the servers that a client on a host may be sent to; `local`: the one on its own host only.
    pub fn choice(&self, from: HostId, local: bool, net: &Network) -> Vec<u32> {
        self.reached(from, net).filter(|(_, server)| !local || server.host == from).map(|(key, _)| key).collect()
    }

    /// What a client on a host gets from one server, which it may be sent to: for leases, and for pods.
    pub fn access_to(&self, key: u32, from: HostId, net: &Network) -> [Access; 2] {
        self.access_over(key, net.round_trip(from, self.servers[&key].host))
    }

    /// What clients at a vantage get from each server that they may be sent to.
    fn share_from(&self, vantage: Vantage, net: &Network, deadline: Duration) -> Shares {
        let ready = self.servers.values().filter(|server| server.ready);
        let reached = ready.filter_map(|server| Some((server, net.reach_from(vantage, server.host)?)));
        let mut shares = [(0, 0); ASKED.len()];
        for (server, way) in reached.filter(|(_, way)| *way <= deadline) {
            for ((served, all), asked) in shares.iter_mut().zip(ASKED) {
                *served += server.answers.served(asked, deadline - way);
                *all += server.count(asked.1);
            }
        }
        shares.map(|(served, all)| Share::of(served, all))
    }

    /// What new clients at a vantage get: through the load balancer, where the cluster has one.
    fn share_of_new_clients(&self, vantage: Vantage, listening: &[u32], ctx: &ClusterCtx<'_>) -> Shares {
        let (net, scenario, deadline) = (&*ctx.net, ctx.scenario, ctx.scenario.probe.deadline);
        let client = NewClient { from: vantage, deadline, listening, net, scenario };
        let Some(connections) = ctx.path.new_connections(ctx.cluster, &client) else {
            return self.share_from(vantage, net, deadline);
        };
        let mut weights = [(0.0, 0.0); ASKED.len()];
        for NewConnection { chance, server } in connections {
            let reached = server.filter(|(_, way)| *way <= deadline);
            let reached = reached.and_then(|(key, way)| Some((self.servers.get(&key)?, deadline - way)));
            for ((served, missing), asked) in weights.iter_mut().zip(ASKED) {
                let part = reached
                    .map_or(0.0, |(server, within)| server.answers.served(asked, within) as f64 / server.count(asked.1) as f64);
                *served += chance * part;
                *missing += chance * (1.0 - part);
            }
        }
        weights.map(|(served, missing)| Share::of_weights(served, missing))
    }

    /// Whether the best server answers sooner or later than before, and tells which share of requests is answered, and to whom.
    pub fn publish_access(&mut self, ctx: &mut ClusterCtx<'_>) {
        let best = self.servers.values().filter(|server| server.ready).map(|server| server.answers.pods);
        self.latency = best.fold(Access::default(), Access::sooner).write.unwrap_or(self.latency);
        let probe = ctx.scenario.probe;
        let mut views = std::mem::take(&mut self.views);
        let before = views.available();
        let listens = self.servers.iter().filter(|(_, server)| server.phase.listens());
        let listening: Vec<u32> = listens.map(|(key, _)| *key).collect();
        let have = |vantage: Vantage| self.share_of_new_clients(vantage, &listening, ctx);
        let vantages = ctx.storage.vantages(ctx.spec.etcd, ctx.net);
        for change in views.look(probe, vantages, ctx.net, have) {
            match change {
                Change::Counted { service, has } if let (verb, None) = ASKED[service] => {
                    let up = has > Share::NONE;
                    if (before[service] > Share::NONE) != up {
                        ctx.record(KubeRecord::ApiAvailability { verb, up });
                    }
                    if before[service].is_part() || has.is_part() {
                        ctx.record(KubeRecord::ApiShare { verb, share: has });
                    }
                }
                Change::Apart { from, service, has } if let (verb, None) = ASKED[service] => {
                    ctx.record(KubeRecord::ApiShareFrom { from, verb, share: has });
                }
                Change::Counted { .. } | Change::Apart { .. } => {}
            }
        }
        let now = views.available();
        for (place, (verb, resource)) in ASKED.into_iter().enumerate() {
            let apart = |shares: Shares| Some(shares[place]).filter(|share| *share != shares[verb as usize]);
            if let Some(resource) = resource.filter(|_| apart(now) != apart(before)) {
                ctx.record(KubeRecord::ApiShareOf { resource, verb, share: apart(now) });
            }
        }
        self.views = views;
    }
}
