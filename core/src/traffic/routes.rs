//! Who sends what to whom now: from the state of servers, etcd and paths.
//!
//! - Callers go to the API servers that serve, to each equally often; a component's pods ask each as much as the others, and what asks
//!   from outside comes through the load balancer in each of the seed's zones alike.
//! - The components of a cluster without Gardener run on the hosts of its control plane. Each asks the API server on its own host, where
//!   that one talks to the etcd member on its host (kubeadm), or else all of them. Users ask from each of the cluster's zones alike, and
//!   kubelets from where their nodes are.
//! - An API server asks each member of etcd-main as often as it has connections with it, and hears of all changes over that for pods (as
//!   the one watch does that is simulated where requests are). Its connections to etcd-events are not followed:
//!   it asks each member that answers equally often.

use std::collections::{BTreeMap, BTreeSet};

use crate::etcd::cluster::EtcdCluster;
use crate::etcd::database::Growth;
use crate::etcd::flow::WriteRate;
use crate::etcd::service::RequestKind;
use crate::ids::{Endpoint, KubeClusterId, MemberId, WorkloadId, ZoneId};
use crate::network::HostId;
use crate::network::ledger::Class;
use crate::scenario::kube::routing::ApiToEtcd;
use crate::scenario::kube::usage::{Caller, Each, Objects, WATCHER};
use crate::traffic::legs::Part;
use crate::traffic::plan::{self, Counts, EtcdCalls, Rate, Stream};
use crate::traffic::{ClusterFlows, Flow, Key, TrafficCtx};

/// An end of a flow.
type End = (Endpoint, ZoneId);

/// An API server that is asked.
#[derive(Clone, Debug)]
struct Server {
    /// Where it runs.
    host: HostId,
    /// Members that it has open connections with, and for how many of its resources.
    members: Vec<(u8, u16)>,
    /// Its resources.
    resources: usize,
    /// The member that tells it of changes.
    watches: Option<u8>,
}

impl Server {
    /// Resources of which requests of a kind are answered.
    fn served(&self, kind: RequestKind, main: &EtcdCluster, ctx: &TrafficCtx<'_>) -> usize {
        let served = self.members.iter().filter(|(member, _)| main.time_at(*member, kind, ctx.net).is_some());
        served.map(|(_, resources)| usize::from(*resources)).sum()
    }
}

/// One or more that ask from the same place.
#[derive(Clone, Copy, Debug)]
struct Callers {
    end: End,
    count: usize,
    /// They ask the API server on this host; `None`: each that serves.
    server: Option<HostId>,
}

/// API servers that have a connection to etcd: all of them, and those that clients are sent to and that get answers.
fn servers(id: KubeClusterId, ctx: &TrafficCtx<'_>) -> (Vec<Server>, Vec<Server>) {
    let main = &ctx.etcd[ctx.scenario.kube.clusters[id].etcd];
    let (mut linked, mut serving) = (Vec::new(), Vec::new());
    for running in ctx.kube.cluster(id).api().servers() {
        let (members, resources) = (running.open().collect(), running.resources());
        let server = Server { host: running.host, members, resources, watches: running.watches };
        if server.members.is_empty() {
            continue;
        }
        if running.ready && server.served(RequestKind::LinearizableRead, main, ctx) > 0 {
            serving.push(server.clone());
        }
        linked.push(server);
    }
    (linked, serving)
}

/// What flows in and around a cluster now.
pub(super) struct Found {
    pub(super) flow: Flow,
    /// Keys and values that get into its etcd-main.
    pub(super) written: Rate,
    /// What flows into the logs of etcd-main and etcd-events, and what all writes do to their databases.
    pub(super) writes: [(WriteRate, Growth); 2],
}

/// Finds it.
pub(super) fn find(id: KubeClusterId, cluster: &ClusterFlows, ctx: &TrafficCtx<'_>) -> Found {
    let main = &ctx.etcd[ctx.scenario.kube.clusters[id].etcd];
    let (linked, serving) = servers(id, ctx);
    let mut found = Finder { id, ctx, flow: Flow::new() };
    let plan = cluster.plan();
    let there = Present::find(id, cluster, &serving.iter().map(|server| server.host).collect::<Vec<_>>(), ctx);
    let times: Vec<usize> = plan.groups.iter().map(|group| there.times(&group.by, group.each)).collect();
    let asks = plan.asks(&times);
    let mut events_open = false;
    for (objects, writes, asked) in &asks.etcd {
        match objects {
            Objects::Main => {
                for target in (0..main.members.len() as u8).filter(|_| cluster.counted) {
                    let resources =
                        |server: &Server| server.members.iter().find(|(member, _)| *member == target).map(|(_, own)| *own);
                    let share = |server: &Server| {
                        Some(Asker { host: server.host, own: resources(server)?.into(), parts: server.resources * serving.len() })
                    };
                    found.ask(main, target, *writes, asked, &serving.iter().filter_map(share).collect::<Vec<_>>());
                }
            }
            Objects::Events => {
                let Some(events) = cluster.events.map(|events| &ctx.etcd[events]) else { continue };
                let open = |member: &u8| events.time_at(*member, RequestKind::of_api(*writes), ctx.net).is_some();
                let members: Vec<u8> = (0..events.members.len() as u8).filter(open).collect();
                events_open |= *writes && !members.is_empty() && !serving.is_empty();
                let share = |server: &Server| Asker { host: server.host, own: 1, parts: serving.len() * members.len() };
                let askers: Vec<Asker> = serving.iter().filter(|_| cluster.counted).map(share).collect();
                for target in &members {
                    found.ask(events, *target, *writes, asked, &askers);
                }
            }
        }
    }
    let writing: usize = serving.iter().map(|server| server.served(RequestKind::Write, main, ctx)).sum();
    let connections: usize = serving.iter().map(|server| server.resources).sum();
    let [of_main, of_events] = asks.logged;
    let writes =
        [(of_main.rate(writing, connections), of_main.whole), (of_events.rate(usize::from(events_open), 1), of_events.whole)];
    if !cluster.counted {
        return Found { flow: Flow::new(), written: Rate::default(), writes };
    }
    // Every server that runs watches, whether clients are sent to it or not, while there is something to tell.
    for watched in asks.watched.iter().filter(|_| writing > 0) {
        for server in &linked {
            if let Some(member) = server.watches {
                found.add(watched, (found.member(main, member), found.server(server.host)), 1);
            }
        }
    }
    for (group, times) in plan.groups.iter().zip(times) {
        let callers = match &group.by {
            Caller::Server => continue,
            Caller::Outside if group.each == Each::Node => &there.kubelets,
            Caller::Outside => &outside(id, cluster, ctx),
            Caller::Component(name) => there.of(name),
        };
        found.exchange(&group.calls, times, callers, &serving);
    }
    if writing > 0 {
        found.exchange(&asks.events, 1, there.of(WATCHER), &serving);
    }
    Found { flow: found.in_order(), written: asks.written.share(writing, connections.max(1)), writes }
}

/// How many times over each of a cluster's requests is asked now ([`plan::times`]), by servers on these hosts.
pub(super) fn times(id: KubeClusterId, cluster: &ClusterFlows, servers: &[HostId], ctx: &TrafficCtx<'_>) -> Vec<usize> {
    let there = Present::find(id, cluster, servers, ctx);
    let requests = &ctx.scenario.kube.clusters[id].requests;
    requests.iter().map(|own| there.times(&own.by, own.each)).collect()
}

/// Who is there to ask.
struct Present<'a> {
    /// API servers that clients are sent to.
    servers: usize,
    /// Where processes of components are that work.
    components: Vec<(&'a str, Vec<Callers>)>,
    /// Kubelets that the API answers.
    kubelets: Vec<Callers>,
}

impl<'a> Present<'a> {
    /// `servers`: hosts of API servers that clients are sent to.
    fn find(id: KubeClusterId, cluster: &'a ClusterFlows, servers: &[HostId], ctx: &TrafficCtx<'_>) -> Self {
        let on_hosts = on_hosts(id, servers, ctx);
        let has = |name: &str| ctx.scenario.kube.clusters[id].components.iter().any(|component| component.name() == name);
        let callers = |(name, places): &'a (String, Vec<(KubeClusterId, WorkloadId)>)| {
            let of_pods = places.iter().flat_map(|place| pods(id, *place, ctx));
            let of_hosts = on_hosts.iter().copied().filter(|_| cluster.shoot.is_none() && has(name));
            (name.as_str(), of_pods.chain(of_hosts).collect())
        };
        let components = cluster.components.iter().map(callers).collect();
        let mut zones: BTreeMap<ZoneId, usize> = BTreeMap::new();
        for host in ctx.kube.cluster(id).kubelet_hosts() {
            *zones.entry(ctx.net.zone(host)).or_default() += 1;
        }
        let kubelets = zones.into_iter().map(|(zone, count)| Callers { end: (Endpoint::Users(id), zone), count, server: None });
        Self { servers: servers.len(), components, kubelets: kubelets.collect() }
    }

    fn of(&self, name: &str) -> &[Callers] {
        self.components.iter().find(|(own, _)| *own == name).map_or(&[], |(_, callers)| callers)
    }

    fn times(&self, by: &Caller, each: Each) -> usize {
        let nodes = self.kubelets.iter().map(|callers| callers.count).sum();
        plan::times(by, each, Counts { servers: self.servers, nodes }, |name| self.of(name).len())
    }
}

/// The pods of a component that work.
fn pods(id: KubeClusterId, (seed, workload): (KubeClusterId, WorkloadId), ctx: &TrafficCtx<'_>) -> Vec<Callers> {
    let store = ctx.kube.cluster(seed).store();
    let pods = store.pods_of(workload).filter(|(_, pod)| pod.ready);
    let hosts = pods.filter_map(|(_, pod)| Some(store.get_node(pod.node?)?.host));
    let there = hosts.filter(|host| ctx.net.is_powered(*host));
    there.map(|host| Callers { end: (Endpoint::Components(id), ctx.net.zone(host)), count: 1, server: None }).collect()
}

/// The processes of a component that runs on the hosts of its cluster's control plane, wherever it has an API server to ask.
fn on_hosts(id: KubeClusterId, servers: &[HostId], ctx: &TrafficCtx<'_>) -> Vec<Callers> {
    let is_local = ctx.scenario.kube.clusters[id].routing.api_to_etcd == ApiToEtcd::Local;
    let running = ctx.kube.cluster(id).api().servers().map(|server| server.host);
    let asking = running.filter(|host| !is_local || servers.contains(host));
    let end = |host| (Endpoint::Components(id), ctx.net.zone(host));
    asking.map(|host| Callers { end: end(host), count: 1, server: is_local.then_some(host) }).collect()
}

/// Where users are: in each zone of the seed, where the load balancer takes them; in each of a cluster's zones that have a pool.
fn outside(id: KubeClusterId, cluster: &ClusterFlows, ctx: &TrafficCtx<'_>) -> Vec<Callers> {
    let callers = |end| Callers { end, count: 1, server: None };
    let Some(shoot) = cluster.shoot else {
        let deployments = &ctx.scenario.kube.clusters[id].machine_deployments;
        let zones: BTreeSet<ZoneId> = deployments.iter().map(|deployment| deployment.zone).collect();
        return zones.into_iter().map(|zone| callers((Endpoint::Users(id), zone))).collect();
    };
    let seed = ctx.garden.shoot(shoot).seed;
    let zones = seed.map(|seed| &ctx.scenario.kube.seeds[seed].zones);
    zones.into_iter().flatten().map(|zone| callers((Endpoint::Outside(id), *zone))).collect()
}

/// A server that asks a member. Its share of all requests is `own` of `parts`.
#[derive(Clone, Copy, Debug)]
struct Asker {
    /// Where it runs.
    host: HostId,
    own: usize,
    parts: usize,
}

struct Finder<'a> {
    id: KubeClusterId,
    ctx: &'a TrafficCtx<'a>,
    /// In no order; some keys come more than once.
    flow: Vec<(Key, Rate)>,
}

impl Finder<'_> {
    /// An equal part, of so many, of what goes one way, and of the ACKs that come back.
    fn add(&mut self, stream: &Stream, (from, to): (End, End), parts: usize) {
        let mut one_way = |(from, to): (End, End), rate: Rate| {
            if rate == Rate::default() {
                return;
            }
            let key = Key { from: from.0, to: to.0, zones: (from.1, to.1), class: stream.class };
            self.flow.push((key, rate.part(parts)));
        };
        one_way((from, to), stream.there);
        one_way((to, from), stream.back);
    }

    /// The sum of what was added under each key.
    fn in_order(self) -> Flow {
        let mut flow = self.flow;
        flow.sort_by_cached_key(|(key, _)| key.rank());
        flow.dedup_by(|(key, rate), (sum_key, sum)| {
            let same = key == sum_key;
            if same {
                sum.add(*rate);
            }
            same
        });
        flow
    }

    /// What servers ask of a member, and what that makes members say to each other.
    fn ask(&mut self, cluster: &EtcdCluster, target: u8, writes: bool, asked: &EtcdCalls, askers: &[Asker]) {
        let is_open = cluster.time_at(target, RequestKind::of_api(writes), self.ctx.net).is_some();
        let Some(leader) = cluster.follows(target).filter(|_| is_open && !askers.is_empty()) else { return };
        let others: Vec<u8> = (0..cluster.members.len() as u8)
            .filter(|other| *other != leader && cluster.receives_heartbeats(leader, *other, self.ctx.net))
            .collect();
        let member = |part, other| match part {
            Part::Caller | Part::Server => None,
            Part::Target => Some(target),
            Part::Leader => Some(leader),
            Part::Other => Some(other),
        };
        for stream in if leader == target { &asked.of_leader } else { &asked.of_follower } {
            if stream.class == Class::Append && !cluster.flows_silently() {
                // Each entry is sent as it comes.
                continue;
            }
            let is_with_others = [stream.from, stream.to].contains(&Part::Other);
            for other in if is_with_others { &others[..] } else { std::slice::from_ref(&target) } {
                match [stream.from, stream.to].map(|part| member(part, *other).map(|member| self.member(cluster, member))) {
                    // What members send each other is the sum over all servers.
                    [Some(from), Some(to)] => {
                        let shares = askers.iter().map(|asker| stream.times(asker.own).part(asker.parts));
                        if let Some(all) = shares.reduce(Stream::and) {
                            self.add(&all, (from, to), 1);
                        }
                    }
                    [from, to] => {
                        for asker in askers {
                            let server = self.server(asker.host);
                            self.add(&stream.times(asker.own), (from.unwrap_or(server), to.unwrap_or(server)), asker.parts);
                        }
                    }
                }
            }
        }
    }

    fn member(&self, cluster: &EtcdCluster, index: u8) -> End {
        let member = &cluster.members[index as usize];
        (Endpoint::Member(MemberId { cluster: cluster.id, index }), self.ctx.net.zone(member.host))
    }

    fn server(&self, host: HostId) -> End {
        (Endpoint::Servers(self.id), self.ctx.net.zone(host))
    }

    fn part(&self, part: Part, caller: End, server: HostId) -> End {
        if part == Part::Caller { caller } else { self.server(server) }
    }

    /// What callers and servers send each other, so many times over: each caller and each server that it asks alike.
    fn exchange(&mut self, streams: &[Stream], times: usize, callers: &[Callers], servers: &[Server]) {
        let asks = |callers: &Callers, server: HostId| callers.server.is_none_or(|host| host == server);
        let pairs = servers.iter().flat_map(|server| callers.iter().map(move |callers| (server.host, *callers)));
        let pairs: Vec<(HostId, Callers)> = pairs.filter(|(server, callers)| asks(callers, *server)).collect();
        let parts = pairs.iter().map(|(_, callers)| callers.count).sum();
        for stream in streams.iter().map(|stream| stream.times(times)) {
            for (server, Callers { end, count, .. }) in &pairs {
                let ends = (self.part(stream.from, *end, *server), self.part(stream.to, *end, *server));
                self.add(&stream.times(*count), ends, parts);
            }
        }
    }
}
