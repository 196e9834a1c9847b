//! What became of the servers of an API around an outage of it.

use super::{BEFORE, Causes, Outage, after};
use crate::ids::{EtcdId, KubeClusterId, MemberId, ZoneId};
use crate::kernel::time::Time;
use crate::kube::record::{Replica, ServerFact, Verb};
use crate::scenario::{ActiveFault, FaultTarget, Hit, Impact, Place, text};

/// An outage of an API to explain.
#[derive(Clone, Copy, Debug)]
pub struct ApiOutage {
    /// Cluster of the API.
    pub cluster: KubeClusterId,
    /// Requests that it did not answer.
    pub verb: Verb,
    /// Its start.
    pub from: Time,
    /// Its end; `None`: not over.
    pub to: Option<Time>,
    /// How it was unavailable.
    pub how: ApiOutageKind,
}

/// How an API was unavailable.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ApiOutageKind {
    /// Nothing was served.
    Whole,
    /// A part of its resources was not served.
    Part,
    /// It was available by its state, but too slow or full.
    Late {
        /// Requests that API servers rejected (429).
        rejected: u64,
    },
}

impl ApiOutageKind {
    /// Of what the state of an API does not serve; `part`: it serves a part.
    pub const fn of_state(part: bool) -> Self {
        if part { Self::Part } else { Self::Whole }
    }
}

/// Clauses about API servers.
#[derive(Debug, Default)]
pub(super) struct Servers {
    /// What had happened to them when the outage began.
    pub(super) lost: Vec<String>,
    /// What happened to one of them last, if that was good.
    pub(super) back: Option<String>,
}

/// A time in which a server did not serve.
#[derive(Clone, Copy, Debug)]
pub(super) struct Away {
    pub(super) cluster: KubeClusterId,
    server: Replica,
    /// What kept it from it.
    state: &'static str,
    from: Time,
    pub(super) to: Option<Time>,
}

impl Causes {
    /// Takes note of what happened to an API server.
    pub(super) fn of_server(&mut self, at: Time, cluster: KubeClusterId, replica: Replica, fact: ServerFact) {
        self.servers.entry(cluster).or_default().push_back((at, replica, fact));
        let stalled = self.stalled.entry(cluster).or_default();
        match fact {
            ServerFact::Stalled(0) | ServerFact::Stops | ServerFact::Gone => drop(stalled.remove(&replica)),
            ServerFact::Stalled(count) => drop(stalled.insert(replica, count)),
            _ => {}
        }
        let open = self.away.iter().position(|away| (away.cluster, away.server, away.to) == (cluster, replica, None));
        let before = open.map(|place| self.away[place].state);
        let has_left = fact == ServerFact::Gone
            && match replica {
                Replica::Host(host) => self.work.has_left(cluster, host),
                Replica::Pod(..) => true,
            };
        let state = lost(fact, before, self.scenario.kube.clusters[cluster].resources).filter(|_| !has_left);
        if state != before {
            if let Some(place) = open {
                self.away[place].to = Some(at);
            }
            self.away.extend(state.map(|state| Away { cluster, server: replica, state, from: at, to: None }));
        }
    }

    /// Servers that had not served for long. (A load balancer that does not see it sends clients to them all the same.)
    pub(super) fn long_away(&self, outage: &Outage) -> Option<String> {
        let api = outage.api?;
        let then = |away: &&Away| away.cluster == api && away.from <= outage.from && away.to.is_none_or(|to| to > outage.from);
        let told = self.away.iter().filter(then).map(|away| {
            let (server, time) = (away.server.describe(&self.scenario), text::duration(outage.from.since(away.from)));
            let what = match away.state {
                STOPPED => "not run",
                DISCONNECTED => "not been connected to etcd",
                _ => "not been ready",
            };
            format!("API server {server} had {what} for {time}")
        });
        let told: Vec<String> = told.collect();
        (!told.is_empty()).then(|| text::list(&told))
    }

    /// The same of an outage that begins as its load balancer comes back: what is over does not explain it.
    pub(super) fn behind_what_is_back(&self, outage: &Outage) -> Option<String> {
        let is_back = |(fault, to): &(ActiveFault, Option<Time>)| {
            to.is_some_and(|to| to <= outage.from && to + BEFORE >= outage.from) && self.hits_balancer(fault, outage)
        };
        self.faults.iter().any(is_back).then(|| self.long_away(outage)).flatten()
    }

    /// From now on an API serves a part of its resources: what stalls matters, however long ago that began.
    pub(super) fn of_share(&mut self, at: Time, cluster: KubeClusterId) {
        let stalled = self.stalled.get(&cluster).into_iter().flatten();
        let facts = stalled.map(|(replica, count)| (at, *replica, ServerFact::Stalled(*count)));
        self.servers.entry(cluster).or_default().extend(facts);
    }

    /// The latest fault under way of a zone where API servers may run, or of a path to it: no member of etcd need be there.
    pub(super) fn around_servers(&self, outage: &Outage) -> Option<String> {
        let hosts = self.host_zones(outage.api?, outage.cluster);
        let zone = |place: Place| match place {
            Place::Zone(zone) => zone,
            Place::Node(node) => self.scenario.nodes[node].zone,
        };
        let under_way = |fault: &ActiveFault, to: Option<Time>| fault.from <= outage.from && to.is_none_or(|to| to > outage.from);
        let may = |fault: &ActiveFault| {
            let hits = fault.fault.kind().hits();
            let network = matches!(fault.fault.kind().impact(), Impact::Stops | Impact::Cuts | Impact::SlowsNetwork);
            let is_near = |hit| match hit {
                Hit::Zone(FaultTarget::Named(zone)) => hosts.contains(&zone),
                Hit::Link(a, b) => hosts.contains(&zone(a)) || hosts.contains(&zone(b)),
                _ => false,
            };
            network && hits.into_iter().any(is_near)
        };
        let mut faults = self.faults.iter().rev().filter(|(fault, to)| under_way(fault, *to) && may(fault));
        let (fault, _) = faults.next()?;
        let kind = fault.fault.kind();
        Some(if fault.from == outage.from { kind.began(&self.scenario) } else { kind.ongoing(&self.scenario) })
    }

    /// Zones with nodes of the cluster that hosts the servers of an API (its own, or the seed's), and of the load balancer before them.
    fn host_zones(&self, api: KubeClusterId, etcd: EtcdId) -> Vec<ZoneId> {
        let model = &self.scenario.kube;
        let host = &model.clusters[model.stateful_set_of(etcd).map_or(api, |(seed, _)| seed)];
        let nodes = host.control_plane.iter().copied().chain(host.nodes.iter().map(|node| node.node));
        let zones = nodes.map(|node| self.scenario.nodes[node].zone);
        let balancer = model.clusters[api].access.map(|access| &self.scenario.load_balancers[access.balancer]);
        let zones = zones.chain(balancer.into_iter().flat_map(|balancer| balancer.zones.iter().copied()));
        zones
            .chain(host.machine_deployments.iter().filter(|deployment| !deployment.added).map(|deployment| deployment.zone))
            .collect()
    }

    /// What became of the servers of an API from [`BEFORE`] ahead of an outage of it (`outage`, of its etcd) to its end.
    pub(super) fn servers(&self, outage: &Outage, cluster: KubeClusterId, how: ApiOutageKind) -> Servers {
        let part = how == ApiOutageKind::Part;
        let facts = self
            .servers
            .get(&cluster)
            .into_iter()
            .flatten()
            .filter(|(at, ..)| *at + BEFORE >= outage.from && outage.to.is_none_or(|to| *at <= to));
        let resources = self.scenario.kube.clusters[cluster].resources;
        let mut last: Vec<(Replica, &str)> = Vec::new();
        for (_, replica, fact) in facts.clone().filter(|(at, ..)| *at <= outage.from) {
            let place = last.iter().position(|(known, _)| known == replica);
            let before = place.map(|place| last.swap_remove(place).1);
            last.extend(lost(*fact, before, resources).map(|lost| (*replica, lost)));
        }
        let (drained, last): (Vec<_>, Vec<_>) =
            last.into_iter().partition(|(replica, of)| *of == STOPPED && self.drained(*replica).is_some());
        let drained = drained.into_iter().filter_map(|(replica, _)| self.drained(replica));
        let lost = [STOPPED, RESTARTED, DISCONNECTED, NOT_READY].into_iter().filter_map(|fact| {
            let names: Vec<String> =
                last.iter().filter(|(_, of)| *of == fact).map(|(replica, _)| replica.describe(&self.scenario)).collect();
            match &names[..] {
                [] => None,
                [one] => Some(format!("API server {one} {fact}")),
                more => Some(format!("API servers {} {fact}", text::list(more))),
            }
        });
        let none =
            outage.from == Time::ZERO && !facts.clone().any(|(at, .., fact)| *at == outage.from && *fact == ServerFact::Runs);
        let lost = none.then(|| "no API server runs at the start".to_owned()).into_iter().chain(drained).chain(lost);
        let mut stalled: Vec<(Replica, u16)> = Vec::new();
        for (_, replica, fact) in facts.clone().filter(|(at, ..)| part && *at <= outage.from) {
            if let ServerFact::Stalled(count) = fact {
                stalled.retain(|(known, _)| known != replica);
                stalled.push((*replica, *count));
            }
        }
        let stalled = stalled.into_iter().filter(|(_, count)| (1..resources).contains(count));
        let of_one = |(replica, count): (Replica, u16)| {
            format!(
                "API server {} has no connection to etcd for {count} of {resources} resources",
                replica.describe(&self.scenario)
            )
        };
        let rejected = if let ApiOutageKind::Late { rejected } = how { rejected } else { 0 };
        let turned_away = (rejected > 0).then(|| {
            let s = if rejected == 1 { "" } else { "s" };
            format!("API servers rejected {} request{s} (429: too many in flight)", text::count(rejected))
        });
        let lost = lost.chain(stalled.map(of_one)).chain(turned_away);
        let etcd = outage.cluster;
        // Others have no part in it.
        let was_away = |of: &Replica| {
            let is_away =
                |fact: &ServerFact| !matches!(fact, ServerFact::Ready(true) | ServerFact::Stalled(0) | ServerFact::Etcd(Some(_)));
            facts.clone().any(|(_, replica, fact)| replica == of && is_away(fact))
                || self.away.iter().any(|away| (away.cluster, away.server) == (cluster, *of) && away.from <= outage.from)
        };
        let back = facts.clone().rev().filter(|(_, replica, _)| was_away(replica)).find_map(|(at, replica, fact)| {
            let what = match fact {
                ServerFact::Runs => "runs".to_owned(),
                ServerFact::Ready(true) => "is ready".to_owned(),
                ServerFact::Stalled(0) if part => "is connected to etcd for all resources".to_owned(),
                ServerFact::Etcd(Some(index)) => {
                    format!("is connected to {}", text::member(&*self.scenario, MemberId { cluster: etcd, index: *index }))
                }
                _ => return None,
            };
            (*at > outage.from).then(|| format!("API server {} {what}{}", replica.describe(&self.scenario), after(*at, outage)))
        });
        Servers { lost: lost.collect(), back }
    }
}

const STOPPED: &str = "stopped";
const RESTARTED: &str = "stopped, not ready again";
const DISCONNECTED: &str = "not connected to etcd";
const NOT_READY: &str = "not ready";

/// What keeps a server from serving after `fact`, and after what did `before`.
fn lost(fact: ServerFact, before: Option<&'static str>, resources: u16) -> Option<&'static str> {
    match fact {
        ServerFact::Stops | ServerFact::Closes | ServerFact::Gone => Some(STOPPED),
        ServerFact::Stalled(count) if count == resources => Some(DISCONNECTED),
        ServerFact::Runs if before == Some(STOPPED) => Some(RESTARTED),
        ServerFact::Ready(false) if before == Some(RESTARTED) => before,
        // It has not been ready yet.
        ServerFact::Runs | ServerFact::Ready(false) => Some(NOT_READY),
        ServerFact::Stalled(_) => before.filter(|lost| *lost != DISCONNECTED),
        ServerFact::Etcd(_) => before,
        ServerFact::Ready(true) => None,
    }
}
