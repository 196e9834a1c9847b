//! Callers, API servers and etcd members that work now, and the connections between them. With the plan they determine all rates: while they
//! do not change, no rate does.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use crate::etcd::cluster::EtcdCluster;
use crate::etcd::raft::quorum::Members;
use crate::etcd::service::RequestKind;
use crate::ids::{Endpoint, EtcdId, KubeClusterId, MemberId, WorkloadId, ZoneId};
use crate::network::HostId;
use crate::scenario::kube::routing::ApiToEtcd;
use crate::scenario::kube::usage::{Caller, Each};
use crate::traffic::plan::{self, Counts};
use crate::traffic::{ClusterFlows, Component, TrafficCtx};

/// An end of a flow.
pub(super) type End = (Endpoint, ZoneId);

/// The state of a control plane that its rates depend on.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Situation {
    pub(super) main: Etcd,
    /// Its etcd for events, beside that of all else.
    pub(super) events: Option<Etcd>,
    /// API servers that have a connection to etcd.
    pub(super) linked: Vec<Server>,
    /// Resources of API servers that clients are sent to and that wait for members in vain: nothing that is written there arrives.
    pub(super) waiting: usize,
    pub(super) there: Present,
    /// Users, who are anywhere.
    pub(super) outside: Vec<Callers>,
}

impl Situation {
    /// As it is now.
    pub(super) fn of(id: KubeClusterId, cluster: &ClusterFlows, ctx: &TrafficCtx<'_>) -> Self {
        let etcd = |etcd: EtcdId| Etcd::of(&ctx.etcd[etcd], ctx);
        let main = etcd(ctx.scenario.kube.clusters[id].etcd);
        let (mut linked, mut waiting) = (Vec::new(), 0);
        for running in ctx.kube.cluster(id).api().servers() {
            let (members, resources, watches) = (running.open().collect(), running.resources(), running.watches);
            let end = (Endpoint::Servers(id), ctx.net.zone(running.host));
            let mut server = Server { host: running.host, end, members, resources, watches, serves: false };
            server.serves = running.ready && server.served(false, &main) > 0;
            if running.ready && !server.serves && running.asks() {
                waiting += resources;
            }
            if !server.members.is_empty() {
                linked.push(server);
            }
        }
        let serving: Vec<HostId> = linked.iter().filter(|server| server.serves).map(|server| server.host).collect();
        let there = Present::find(id, cluster, &serving, ctx);
        Self { main, events: cluster.events.map(etcd), linked, waiting, there, outside: outside(id, cluster, ctx) }
    }

    /// API servers that clients are sent to and that get answers.
    pub(super) fn serving(&self) -> impl Iterator<Item = &Server> {
        self.linked.iter().filter(|server| server.serves)
    }
}

/// An etcd cluster.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Etcd {
    pub(super) members: Vec<Member>,
    /// What flows costs it no messages.
    pub(super) is_silent: bool,
}

/// A member, as its clients and the others meet it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Member {
    pub(super) end: End,
    /// Whether it answers reads, and writes.
    answers: [bool; 2],
    /// Whom it follows, itself where it leads.
    pub(super) leader: Option<u8>,
    /// Members that receive its heartbeats, if it leads.
    pub(super) listeners: Members,
}

impl Etcd {
    fn of(cluster: &EtcdCluster, ctx: &TrafficCtx<'_>) -> Self {
        let all = || (0..).zip(&cluster.members).map(|(index, _)| index);
        let member = |index: u8| {
            let answers = [false, true].map(|writes| cluster.time_at(index, RequestKind::of_api(writes), ctx.net).is_some());
            let leader = cluster.follows(index);
            let hears = |other: &u8| *other != index && cluster.receives_heartbeats(index, *other, ctx.net);
            let listeners = if leader == Some(index) { all().filter(hears).collect() } else { Members::EMPTY };
            let end = Endpoint::Member(MemberId { cluster: cluster.id, index });
            Member { end: (end, ctx.net.zone(cluster.members[index as usize].host)), answers, leader, listeners }
        };
        Self { members: all().map(member).collect(), is_silent: cluster.flows_silently() }
    }

    pub(super) fn answers(&self, member: u8, writes: bool) -> bool {
        self.members[member as usize].answers[usize::from(writes)]
    }
}

/// An API server that is asked.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Server {
    /// Where it runs.
    pub(super) host: HostId,
    pub(super) end: End,
    /// Members that it has open connections with, and for how many of its resources.
    pub(super) members: Vec<(u8, u16)>,
    /// Its resources.
    pub(super) resources: usize,
    /// The member that tells it of changes.
    pub(super) watches: Option<u8>,
    serves: bool,
}

impl Server {
    /// Resources of which reads, or writes, are answered.
    pub(super) fn served(&self, writes: bool, main: &Etcd) -> usize {
        let served = self.members.iter().filter(|(member, _)| main.answers(*member, writes));
        served.map(|(_, resources)| usize::from(*resources)).sum()
    }
}

/// One or more that ask from the same place.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Callers {
    pub(super) end: End,
    pub(super) count: usize,
    /// They ask the API server on this host; `None`: each that serves.
    pub(super) server: Option<HostId>,
}

/// Callers that are running.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Present {
    /// API servers that clients are sent to.
    servers: usize,
    /// Where processes of components are that work.
    components: Vec<(Arc<str>, Vec<Callers>)>,
    /// Kubelets that the API answers.
    pub(super) kubelets: Vec<Callers>,
}

impl Present {
    /// `servers`: hosts of API servers that clients are sent to.
    pub(super) fn find(id: KubeClusterId, cluster: &ClusterFlows, servers: &[HostId], ctx: &TrafficCtx<'_>) -> Self {
        let on_hosts = on_hosts(id, servers, ctx);
        let has = |name: &str| ctx.scenario.kube.clusters[id].components.iter().any(|component| component.name() == name);
        let callers = |(name, places): &Component| {
            let mut all = Vec::new();
            for place in places {
                all.extend(pods(id, *place, ctx));
            }
            if cluster.shoot.is_none() && has(name) {
                all.extend(&on_hosts);
            }
            (Arc::clone(name), all)
        };
        let components = cluster.components.iter().map(callers).collect();
        let mut zones: BTreeMap<ZoneId, usize> = BTreeMap::new();
        for host in ctx.kube.cluster(id).kubelet_hosts() {
            *zones.entry(ctx.net.zone(host)).or_default() += 1;
        }
        let kubelets = zones.into_iter().map(|(zone, count)| Callers { end: (Endpoint::Users(id), zone), count, server: None });
        Self { servers: servers.len(), components, kubelets: kubelets.collect() }
    }

    pub(super) fn of(&self, name: &str) -> &[Callers] {
        self.components.iter().find(|(own, _)| **own == *name).map_or(&[], |(_, callers)| callers)
    }

    pub(super) fn times(&self, by: &Caller, each: Each) -> usize {
        let nodes = self.kubelets.iter().map(|callers| callers.count).sum();
        plan::times(by, each, Counts { servers: self.servers, nodes }, |name| self.of(name).len())
    }
}

/// The pods of a component that work.
fn pods(id: KubeClusterId, (seed, workload): (KubeClusterId, WorkloadId), ctx: &TrafficCtx<'_>) -> impl Iterator<Item = Callers> {
    let store = ctx.kube.cluster(seed).store();
    let pods = store.pods_of(workload).filter(|(_, pod)| pod.ready);
    let hosts = pods.filter_map(|(_, pod)| Some(store.get_node(pod.node?)?.host));
    let there = hosts.filter(|host| ctx.net.is_powered(*host));
    there.map(move |host| Callers { end: (Endpoint::Components(id), ctx.net.zone(host)), count: 1, server: None })
}

/// The processes of a component that runs on the hosts of its cluster's control plane, wherever it has an API server to ask.
fn on_hosts(id: KubeClusterId, servers: &[HostId], ctx: &TrafficCtx<'_>) -> Vec<Callers> {
    let is_local = ctx.scenario.kube.clusters[id].routing.api_to_etcd == ApiToEtcd::Local;
    let running = ctx.kube.cluster(id).api().servers().map(|server| server.host);
    let asking = running.filter(|host| !is_local || servers.contains(host));
    let end = |host| (Endpoint::Components(id), ctx.net.zone(host));
    asking.map(|host| Callers { end: end(host), count: 1, server: is_local.then_some(host) }).collect()
}

/// Where users are: in each zone of the seed, where the load balancer takes them; in each of a cluster's zones that have a pool at the start.
fn outside(id: KubeClusterId, cluster: &ClusterFlows, ctx: &TrafficCtx<'_>) -> Vec<Callers> {
    let callers = |end| Callers { end, count: 1, server: None };
    let Some(shoot) = cluster.shoot else {
        let deployments = &ctx.scenario.kube.clusters[id].machine_deployments;
        let at_start = deployments.iter().filter(|deployment| !deployment.added);
        let zones: BTreeSet<ZoneId> = at_start.map(|deployment| deployment.zone).collect();
        return zones.into_iter().map(|zone| callers((Endpoint::Users(id), zone))).collect();
    };
    let seed = ctx.garden.shoot(shoot).seed;
    let zones = seed.map(|seed| &ctx.scenario.kube.seeds[seed].zones);
    zones.into_iter().flatten().map(|zone| callers((Endpoint::Outside(id), *zone))).collect()
}
