//! Outages of an API as its clients see them: a client without an open connection to an API server that answers, for how long, and why.

use std::collections::{BTreeMap, BTreeSet, VecDeque};
use std::sync::Arc;

use crate::access::balancer::health::Health;
use crate::access::origin::{node, origin};
use crate::access::record::{AccessRecord, ConnectionState, RequestResult};
use crate::ids::{ApiClientId, BalancerId, EtcdId, KubeClusterId, NodeId, ZoneId};
use crate::kernel::time::{Duration, Time};
use crate::kube::ctx::ApiClient;
use crate::kube::spec::KubeClusterSpec;
use crate::observe::Observer;
use crate::observe::causes::BEFORE;
use crate::observe::client_requests::ClientRequests;
use crate::observe::voters::cluster_of;
use crate::record::{EtcdRecord, Record};
use crate::report::{AccessReport, ClientOutageReport, ClientRequestsReport, length, seconds};
use crate::scenario::access::{Alternatives, Loopback};
use crate::scenario::{ActiveFault, Fault, FaultTarget, Hit, Scenario, text};

/// The most outages that are listed one by one, for each kind of client.
const MOST: usize = 1_000;

/// A fault that ended longer ago causes nothing: five health checks of a load balancer, 30 s apart, and refreshed lists are over by then.
const AFTER: Duration = Duration::from_secs(300);

/// Outages of the clients of all clusters.
#[derive(Clone, Debug)]
pub struct Access {
    scenario: Arc<Scenario>,
    /// Whether any cluster has `api_access`.
    is_needed: bool,
    clients: BTreeMap<(KubeClusterId, ApiClient), Client>,
    /// Faults under way.
    active: Vec<ActiveFault>,
    /// Faults that have ended not long ago, and when.
    ended: VecDeque<(Time, ActiveFault)>,
    /// Unhealthy targets of load balancers: balancer, node of it, key of the server.
    unhealthy: BTreeSet<(BalancerId, u16, u32)>,
    /// What has happened to etcd clusters not long ago, and when.
    happened: VecDeque<(Time, EtcdId, String)>,
    requests: BTreeMap<(KubeClusterId, ApiClientId), ClientRequests>,
}

#[derive(Clone, Debug)]
struct Client {
    state: ConnectionState,
    since: Time,
    /// The outage that is under way.
    outage: Option<Outage>,
    over: Vec<Outage>,
    connections: u64,
    through: u64,
}

#[derive(Clone, Debug)]
struct Outage {
    from: Time,
    to: Option<Time>,
    silent: Duration,
    cause: String,
}

impl Access {
    /// No clients yet.
    pub fn new(scenario: &Arc<Scenario>) -> Self {
        let is_needed = scenario.kube.clusters.iter().any(|cluster| cluster.access.is_some());
        Self {
            scenario: scenario.clone(),
            is_needed,
            clients: BTreeMap::new(),
            active: Vec::new(),
            ended: VecDeque::new(),
            happened: VecDeque::new(),
            unhealthy: BTreeSet::new(),
            requests: BTreeMap::new(),
        }
    }

    fn cause(&self, cluster: KubeClusterId, client: ApiClient, [had, now]: [ConnectionState; 2], at: Time) -> String {
        let spec = &self.scenario.kube.clusters[cluster];
        let because = self.because(cluster, client, [had, now], at);
        let balancer = |through: bool| {
            let origin = self.origin(cluster, client).filter(|_| through);
            let name = origin.map(|origin| &self.scenario.load_balancers[origin].name);
            name.map_or_else(String::new, |name| format!(" through {name}"))
        };
        let server = |key: u32| &self.scenario.nodes[spec.control_plane[key as usize]].name;
        match (had, now) {
            (ConnectionState::Open { .. }, ConnectionState::Silent { server: key, through }) => {
                format!("its connection to {}{} fell silent ({because})", server(key), balancer(through))
            }
            (_, ConnectionState::Unanswered { server: key, through }) => {
                format!("etcd does not answer {}, to which it is connected{} ({because})", server(key), balancer(through))
            }
            (_, ConnectionState::Late { server: key, through }) => {
                format!("responses from {}{} take longer than its requests wait ({because})", server(key), balancer(through))
            }
            (
                ConnectionState::Open { server: key, through }
                | ConnectionState::Silent { server: key, through }
                | ConnectionState::Unanswered { server: key, through }
                | ConnectionState::Late { server: key, through },
                _,
            ) => {
                format!("its connection to {}{} ended ({because})", server(key), balancer(through))
            }
            (ConnectionState::None, _) => format!("it found no API server when it started ({because})"),
        }
    }

    /// What never works, and faults under way; else what etcd has just done; else what the load balancer does without a fault; else a fault
    /// that ended not long ago.
    fn because(&self, cluster: KubeClusterId, client: ApiClient, [had, now]: [ConnectionState; 2], at: Time) -> String {
        let spec = &self.scenario.kube.clusters[cluster];
        let vanish = match client {
            ApiClient::Further(id, _) if !spec.api_clients[id].in_cluster_network && had == ConnectionState::None => {
                let to = spec.api_clients[id].alternatives.and_then(first_dialled);
                to.map(|to| format!("packets from outside the cluster network to {to} vanish"))
            }
            _ => None,
        };
        let concerns = |fault: &&ActiveFault| self.concerns(&fault.fault, cluster, client, [had, now]);
        let just_ended = self.ended.iter().filter(|(ended, _)| *ended == at).map(|(_, fault)| fault);
        let faults = self.active.iter().chain(just_ended).filter(concerns).map(|fault| fault.fault.kind().began(&*self.scenario));
        let faults: Vec<String> = vanish.into_iter().chain(faults).collect();
        if !faults.is_empty() {
            return faults.join(", ");
        }
        // A client that starts and finds no server: that is not etcd's doing.
        let has_server = [had, now] != [ConnectionState::None; 2];
        let is_recent = |(then, etcd, _): &&(Time, EtcdId, String)| has_server && *etcd == spec.etcd && at <= *then + BEFORE;
        if let Some((_, _, happened)) = self.happened.iter().rev().find(is_recent) {
            return happened.clone();
        }
        let ended = || {
            let (then, fault) = self.ended.iter().rev().find(|(ended, fault)| at <= *ended + AFTER && concerns(&fault))?;
            Some(format!("{} {} before", fault.fault.kind().ended(&*self.scenario), text::duration(at.since(*then))))
        };
        self.without_fault(cluster, client, had, now).or_else(ended).unwrap_or_else(|| "no fault under way".to_owned())
    }

    /// What a load balancer does without a fault.
    fn without_fault(
        &self,
        cluster: KubeClusterId,
        client: ApiClient,
        had: ConnectionState,
        now: ConnectionState,
    ) -> Option<String> {
        let spec = &self.scenario.kube.clusters[cluster];
        let origin = self.origin(cluster, client)?;
        let balancer = &self.scenario.load_balancers[origin];
        // Of a balancer on each node only the process on the client's own.
        let serves = |place: u16| balancer.machines.get(usize::from(place)).is_none_or(|own| node(client, spec) == Some(*own));
        let is_target = node(client, spec).is_some_and(|host| spec.control_plane.contains(&host));
        match had {
            ConnectionState::Open { server, through: true }
            | ConnectionState::Unanswered { server, through: true }
            | ConnectionState::Silent { server, through: true }
            | ConnectionState::Late { server, through: true }
                if self.unhealthy.iter().any(|(own, place, target)| *own == origin && serves(*place) && *target == server) =>
            {
                Some(format!("{} found it unhealthy", balancer.name))
            }
            _ if is_target && balancer.loopback == Loopback::Fails && now == ConnectionState::None => {
                Some(format!("{} sends hosts of the control plane to themselves, which fails", balancer.name))
            }
            ConnectionState::None if self.unhealthy.iter().any(|(own, place, _)| *own == origin && serves(*place)) => {
                Some(format!("{} finds API servers unhealthy", balancer.name))
            }
            _ => None,
        }
    }

    /// Notes what may keep the answers of etcd from an API server.
    fn etcd_acts(&mut self, at: Time, record: &Record) {
        let (Some(cluster), Record::Etcd(fact)) = (cluster_of(record), record) else { return };
        let (scenario, name) = (&*self.scenario, |member| text::member(&self.scenario, member));
        let what = match fact {
            EtcdRecord::MemberStopped { member, .. } => format!("etcd member {} stopped", name(*member)),
            EtcdRecord::Elected { member, .. } => format!("etcd member {} was elected", name(*member)),
            EtcdRecord::SteppedDown { member, .. } => format!("etcd member {} stepped down", name(*member)),
            EtcdRecord::SpaceExceeded { member, .. } => format!("the database of {} reached its quota", name(*member)),
            EtcdRecord::LeaderSeen { member, leader: None, .. } => format!("etcd member {} lost its leader", name(*member)),
            EtcdRecord::Membership { change, refused: None } => text::membership_change(*change, scenario),
            EtcdRecord::Maintenance { task, refused: None, .. } => text::maintenance(*task, scenario),
            _ => return,
        };
        while self.happened.pop_front_if(|(then, ..)| *then + BEFORE < at).is_some() {}
        self.happened.push_back((at, cluster, what));
    }

    /// The load balancer that a client is configured with.
    fn origin(&self, cluster: KubeClusterId, client: ApiClient) -> Option<BalancerId> {
        let spec = &self.scenario.kube.clusters[cluster];
        spec.access.map(|access| origin(client, &access, spec, &self.scenario))
    }

    /// Whether a fault can concern a client: whether it hits what its connection used, or, where it had none, what it may use. Packets that do
    /// not pass are nothing that etcd does.
    fn concerns(&self, fault: &Fault, cluster: KubeClusterId, client: ApiClient, [had, now]: [ConnectionState; 2]) -> bool {
        let (scenario, spec) = (&*self.scenario, &self.scenario.kube.clusters[cluster]);
        let used = had.other_end().or_else(|| now.other_end());
        let members = &scenario.etcd[spec.etcd].members;
        let needs_etcd = !matches!(now, ConnectionState::Silent { .. } | ConnectionState::Late { .. });
        let serves = |host: NodeId| {
            used.map_or_else(|| spec.control_plane.contains(&host), |(server, _)| spec.control_plane[server as usize] == host)
        };
        let uses = |host: NodeId| {
            serves(host) || node(client, spec) == Some(host) || needs_etcd && members.iter().any(|member| member.node == host)
        };
        let through = used.is_none_or(|(_, through)| through);
        let own = self.origin(cluster, client).filter(|_| through);
        let is_near = |zone: ZoneId| {
            let hosts =
                spec.control_plane.iter().copied().chain(node(client, spec)).chain(members.iter().map(|member| member.node));
            let of_balancer = own.is_some_and(|own| scenario.load_balancers[own].zones.contains(&zone));
            of_balancer
                || node(client, spec).is_none()
                || hosts.filter(|host| uses(*host)).any(|host| scenario.nodes[host].zone == zone)
        };
        fault.kind().hits().into_iter().any(|hit| match hit {
            Hit::Balancer(balancer) => own == Some(balancer),
            Hit::Member(FaultTarget::Named(member)) => needs_etcd && member.cluster == spec.etcd,
            Hit::Node(FaultTarget::Named(node)) => uses(node),
            Hit::Volume(FaultTarget::Named(volume)) => needs_etcd && members.iter().any(|member| member.volume == volume),
            Hit::Zone(FaultTarget::Named(zone)) => is_near(zone),
            Hit::Link(..) => true,
            // Faults that have begun hit what they name.
            Hit::Member(_) | Hit::Node(_) | Hit::Volume(_) | Hit::Zone(_) => false,
        })
    }

    /// All of it as it stands `now`, cluster by cluster. `in_flight`: requests of a further client that are not over.
    pub fn rows(&self, now: Time, in_flight: &dyn Fn(KubeClusterId, ApiClientId) -> u64) -> Vec<AccessReport> {
        let mut rows: Vec<AccessReport> = Vec::new();
        for (&(cluster, client), state) in &self.clients {
            let spec = &self.scenario.kube.clusters[cluster];
            let group = group(client, spec);
            let known = rows.iter().position(|row| row.cluster == spec.name && row.clients == group);
            let place = known.unwrap_or_else(|| {
                rows.push(AccessReport {
                    cluster: spec.name.clone(),
                    clients: group,
                    count: 0,
                    affected: 0,
                    outages: Vec::new(),
                    omitted: 0,
                    longest_s: 0.0,
                    total_s: 0.0,
                    connections: 0,
                    via_load_balancer: 0,
                    per_server: spec.control_plane.iter().map(|host| (self.scenario.nodes[*host].name.clone(), 0)).collect(),
                    requests: self.requests(cluster, client, in_flight),
                });
                rows.len() - 1
            });
            let row = &mut rows[place];
            let times = || state.over.iter().chain(&state.outage);
            row.count += 1;
            if let ConnectionState::Open { server, .. } = state.state {
                row.per_server[server as usize] += 1;
            }
            row.affected += u64::from(times().next().is_some());
            row.connections += state.connections;
            row.via_load_balancer += state.through;
            for time in times() {
                let (until, is_silent) = (time.to.unwrap_or(now), matches!(state.state, ConnectionState::Silent { .. }));
                let waits = if time.to.is_none() && is_silent { now.since(state.since) } else { Duration::ZERO };
                let lasted = length(until.since(time.from));
                row.longest_s = row.longest_s.max(lasted);
                row.total_s += lasted;
                row.outages.push(ClientOutageReport {
                    client: name(client, spec, &self.scenario),
                    from_s: seconds(time.from),
                    to_s: seconds(until),
                    completed: time.to.is_some(),
                    silent_s: length(time.silent + waits),
                    cause: time.cause.clone(),
                });
            }
        }
        for row in &mut rows {
            row.outages.sort_by(|a, b| a.from_s.total_cmp(&b.from_s));
            row.omitted = row.outages.len().saturating_sub(MOST) as u64;
            row.outages.truncate(MOST);
        }
        rows
    }
}

impl Access {
    fn requests(
        &self,
        cluster: KubeClusterId,
        client: ApiClient,
        in_flight: &dyn Fn(KubeClusterId, ApiClientId) -> u64,
    ) -> Option<ClientRequestsReport> {
        let ApiClient::Further(id, _) = client else { return None };
        let none = ClientRequests::new();
        Some(self.requests.get(&(cluster, id)).unwrap_or(&none).report(in_flight(cluster, id)))
    }
}

impl Observer for Access {
    fn record(&mut self, at: Time, record: &Record) {
        match record {
            Record::FaultStarted(fault) if self.is_needed => self.active.push(fault.clone()),
            Record::Etcd(_) if self.is_needed => self.etcd_acts(at, record),
            Record::FaultEnded(id) => {
                if let Some(place) = self.active.iter().position(|fault| fault.id == *id) {
                    self.ended.push_back((at, self.active.remove(place)));
                    while self.ended.pop_front_if(|(ended, _)| *ended + AFTER < at).is_some() {}
                }
            }
            Record::Access(cluster, AccessRecord::Client { client, state }) => {
                let key = (*cluster, *client);
                let before = self.clients.get(&key).map_or(ConnectionState::None, |client| client.state);
                let cause = self.cause(*cluster, *client, [before, *state], at);
                let client = self.clients.entry(key).or_insert_with(|| Client::new(at));
                client.change(at, *state, cause);
            }
            Record::Access(_, AccessRecord::Target { balancer, node, target, health }) => {
                let target = (*balancer, *node, *target);
                if *health == Health::Unhealthy {
                    self.unhealthy.insert(target);
                } else {
                    self.unhealthy.remove(&target);
                }
            }
            Record::Access(_, AccessRecord::Registered { balancer, target, .. }) => {
                self.unhealthy.retain(|(of, _, key)| (of, key) != (balancer, target));
            }
            Record::Access(cluster, AccessRecord::ClientStopped(client)) => {
                if let Some(client) = self.clients.get_mut(&(*cluster, *client)) {
                    client.stop(at);
                }
            }
            Record::Access(cluster, AccessRecord::Request { client: ApiClient::Further(id, _), result, after }) => {
                self.requests.entry((*cluster, *id)).or_insert_with(ClientRequests::new).over(*result, *after);
            }
            Record::Access(cluster, AccessRecord::Done(ApiClient::Further(id, _))) => {
                self.requests.entry((*cluster, *id)).or_insert_with(ClientRequests::new).done(at);
            }
            _ => {}
        }
    }
}

impl Client {
    /// It has stopped, which ends an outage.
    fn stop(&mut self, at: Time) {
        self.change(at, ConnectionState::None, String::new());
        if let Some(mut outage) = self.outage.take().filter(|outage| outage.from < at) {
            outage.to = Some(at);
            self.over.push(outage);
        }
    }

    fn new(at: Time) -> Self {
        Self { state: ConnectionState::None, since: at, outage: None, over: Vec::new(), connections: 0, through: 0 }
    }

    fn change(&mut self, at: Time, state: ConnectionState, cause: String) {
        let before = std::mem::replace(&mut self.state, state);
        let passed = at.since(std::mem::replace(&mut self.since, at));
        if let (ConnectionState::Silent { .. }, Some(outage)) = (before, &mut self.outage) {
            outage.silent = outage.silent + passed;
        }
        if let ConnectionState::Open { through, .. } = state {
            if at > Time::ZERO && state.other_end() != before.other_end() {
                self.connections += 1;
                self.through += u64::from(through);
            }
            if let Some(mut outage) = self.outage.take() {
                outage.to = Some(at);
                // A client that reaches another server at once has no outage.
                if at > outage.from {
                    self.over.push(outage);
                }
            }
        } else if self.outage.is_none() {
            self.outage = Some(Outage { from: at, to: None, silent: Duration::ZERO, cause });
        }
    }
}

/// Name of the clients of one kind, of which a client is one.
pub fn group(client: ApiClient, cluster: &KubeClusterSpec) -> String {
    match client {
        ApiClient::Kubelet(key) => {
            let is_master = cluster.nodes.get(key).is_some_and(|node| cluster.control_plane.contains(&node.node));
            if is_master { "kubelets of control-plane hosts" } else { "kubelets of workers" }.to_owned()
        }
        ApiClient::Candidate(component, _) => component.name().to_owned(),
        ApiClient::Further(id, _) => cluster.api_clients[id].name.clone(),
    }
}

/// Name of a client: `kubelet of w1`.
pub fn name(client: ApiClient, cluster: &KubeClusterSpec, scenario: &Scenario) -> String {
    match client {
        ApiClient::Kubelet(key) => {
            let node =
                cluster.nodes.get(key).map_or_else(|| format!("node {}", key.0), |node| scenario.nodes[node.node].name.clone());
            format!("kubelet of {node}")
        }
        ApiClient::Candidate(component, key) => match cluster.control_plane.get(key as usize) {
            Some(node) => format!("{} on {}", component.name(), scenario.nodes[*node].name),
            None => component.name().to_owned(),
        },
        ApiClient::Further(id, node) => format!("{} on {}", cluster.api_clients[id].name, scenario.nodes[node].name),
    }
}

/// The record in plain words.
pub fn describe(record: AccessRecord, id: KubeClusterId, scenario: &Scenario) -> String {
    let cluster = &scenario.kube.clusters[id];
    let server = |key: u32| &scenario.nodes[cluster.control_plane[key as usize]].name;
    let text = match record {
        AccessRecord::Target { balancer, node, target, health } => {
            let (name, place) = (&scenario.load_balancers[balancer].name, text::node_of_balancer(scenario, balancer, node));
            let health = match health {
                Health::Initial => "new",
                Health::Healthy => "healthy",
                Health::Unhealthy => "unhealthy",
            };
            format!("{name} {place} finds the API server on {} {health}", server(target))
        }
        AccessRecord::Registered { balancer, target, is_target } => {
            let is = if is_target { "a new" } else { "no longer a" };
            format!("{} is {is} target of {}", server(target), scenario.load_balancers[balancer].name)
        }
        AccessRecord::ClientStopped(client) => format!("{} has stopped", name(client, cluster, scenario)),
        AccessRecord::Done(client) => format!("{} is done: all its requests are over", name(client, cluster, scenario)),
        AccessRecord::Request { client, result, after } => {
            let result = match result {
                RequestResult::Answered => "was answered",
                RequestResult::Error => "returned an error",
                RequestResult::ConnectionLost => "lost its connection",
                RequestResult::TimedOut => "timed out",
            };
            format!("a request of {} {result} after {}", name(client, cluster, scenario), text::duration(after))
        }
        AccessRecord::Client { client, state } => {
            let origin = cluster.access.map(|access| origin(client, &access, cluster, scenario));
            let client = name(client, cluster, scenario);
            let way = |through: bool| match origin {
                Some(origin) if through => format!(" through {}", scenario.load_balancers[origin].name),
                _ => String::new(),
            };
            match state {
                ConnectionState::None => format!("{client} has no connection to an API server"),
                ConnectionState::Open { server: key, through } => {
                    format!("{client} is connected to the API server on {}{}", server(key), way(through))
                }
                ConnectionState::Unanswered { server: key, through } => {
                    format!("{client} gets errors from the API server on {}{}", server(key), way(through))
                }
                ConnectionState::Silent { server: key, through } => {
                    format!("the connection of {client} to the API server on {}{} is silent", server(key), way(through))
                }
                ConnectionState::Late { server: key, through } => {
                    format!("responses from the API server on {}{} come too late for {client}", server(key), way(through))
                }
            }
        }
    };
    format!("{}: {text}", cluster.name)
}

/// What a client that starts dials beside the load balancer; `None`: nothing.
const fn first_dialled(way: Alternatives) -> Option<&'static str> {
    match way {
        Alternatives::Text | Alternatives::Code | Alternatives::Configured => Some("alternative services"),
        Alternatives::InMemoryDns => Some("API servers"),
        Alternatives::CustomDialer => None,
    }
}
