//! Outages of an API as its clients see them: a client without an open connection to an API server that answers, for how long, and why.

mod cause;
mod concerns;
#[cfg(test)]
mod tests;
mod words;

use std::collections::{BTreeMap, BTreeSet, VecDeque};
use std::sync::Arc;

use crate::access::balancer::health::Health;
use crate::access::origin::origin;
use crate::access::record::{AccessRecord, ConnectionState, Detail, Dialled};
use crate::ids::{ApiClientId, BalancerId, EtcdId, KubeClusterId, NodeId};
use crate::kernel::time::{Duration, Time};
use crate::kube::ctx::ApiClient;
use crate::kube::record::{KubeRecord, Replica, ServerFact};
use crate::kube::spec::Task;
use crate::observe::Observer;
use crate::observe::causes::BEFORE;
use crate::observe::client_requests::ClientRequests;
use crate::observe::voters::cluster_of;
use crate::record::{EtcdRecord, Record};
use crate::report::{AccessReport, ClientOutageReport, ClientRequestsReport, length, seconds};
use crate::scenario::{ActiveFault, Scenario, text};
pub use words::{describe, group, name};

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
    /// API servers that were asked to stop, and when.
    stopping: BTreeMap<(KubeClusterId, NodeId), Time>,
    /// Hosts that have left the control plane, and when.
    left: BTreeMap<(KubeClusterId, NodeId), Time>,
    /// What has happened to etcd clusters not long ago, and when.
    happened: VecDeque<(Time, EtcdId, String)>,
    requests: BTreeMap<(KubeClusterId, ApiClientId), ClientRequests>,
}

#[derive(Clone, Debug)]
struct Client {
    state: ConnectionState,
    since: Time,
    /// Its state before all changes of that moment.
    before: ConnectionState,
    /// What it dials without success.
    dials: Option<Dialled>,
    /// Responses wait in a queue for longer than its requests do.
    queues: bool,
    /// Its server has closed its connection (GOAWAY), and it has none since.
    gone_away: bool,
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
    beginning: Beginning,
    cause: String,
    /// What the client has dialled without success.
    dialled: Vec<Dialled>,
}

/// How an outage began.
#[derive(Clone, Copy, Debug)]
struct Beginning {
    /// State of the connection before.
    had: ConnectionState,
    /// State since.
    now: ConnectionState,
    /// What the client dials.
    dials: Option<Dialled>,
    /// Responses wait in a queue for longer than its requests do.
    queues: bool,
    /// The server closed the connection (GOAWAY).
    gone_away: bool,
}

impl Beginning {
    /// Whether etcd may have to do with it: packets that do not pass, or late, are not its doing.
    const fn needs_etcd(&self) -> bool {
        !matches!(self.now, ConnectionState::Silent { .. } | ConnectionState::Late { .. })
    }
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
            stopping: BTreeMap::new(),
            left: BTreeMap::new(),
            happened: VecDeque::new(),
            unhealthy: BTreeSet::new(),
            requests: BTreeMap::new(),
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
            EtcdRecord::Membership { change, refused: None } => text::membership_changed(*change, scenario),
            EtcdRecord::Maintenance { task, refused: None, .. } => text::maintained(*task, scenario),
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
                    cause: self.whole_cause(cluster, client, time),
                });
            }
        }
        for row in &mut rows {
            row.omitted = keep_longest(&mut row.outages, MOST);
        }
        rows
    }
}

impl Access {
    /// The cause of an outage, with what the client has dialled in vain meanwhile.
    fn whole_cause(&self, cluster: KubeClusterId, client: ApiClient, outage: &Outage) -> String {
        let mut cause = outage.cause.clone();
        for dialled in outage.dialled.iter().filter(|dialled| !matches!(dialled, Dialled::Balancer { .. })) {
            if let Some(why) = self.in_vain(cluster, client, *dialled).filter(|why| !cause.contains(why)) {
                cause = format!("{cause}; {why}");
            }
        }
        cause
    }

    /// Another fault begins in the moment in which outages have begun: it may have a part in them.
    fn tell_again(&mut self, at: Time) {
        let outages = self.clients.iter().filter_map(|(key, client)| Some((*key, client.outage.as_ref()?)));
        let begun = outages.filter(|(_, outage)| outage.from == at);
        let told: Vec<_> = begun.map(|(key, outage)| (key, self.cause(key.0, key.1, &outage.beginning, at))).collect();
        for (key, cause) in told {
            if let Some(outage) = self.clients.get_mut(&key).and_then(|client| client.outage.as_mut()) {
                outage.cause = cause;
            }
        }
    }

    fn client_changes(&mut self, at: Time, key: (KubeClusterId, ApiClient), state: ConnectionState) {
        let client = self.clients.entry(key).or_insert_with(|| Client::new(at));
        let Some(mut beginning) = client.change(at, state) else { return };
        let of_etcd = |state| matches!(state, ConnectionState::Unanswered { .. } | ConnectionState::Late { .. });
        let (from, cause) = match &client.outage {
            None => (at, String::new()),
            // It was connected, and no longer is: that has a cause of its own.
            Some(before) if of_etcd(before.beginning.now) && !of_etcd(state) => (before.from, before.cause.clone()),
            Some(_) => return,
        };
        if let Some(before) = client.outage.as_ref().filter(|_| from == at) {
            beginning.had = before.beginning.had;
        }
        let own = self.cause(key.0, key.1, &beginning, at);
        let cause = if from == at || cause.is_empty() { own } else { format!("{cause}; then {own}") };
        let client = self.clients.get_mut(&key).expect("it was inserted");
        if let Some(outage) = &mut client.outage {
            (outage.beginning, outage.cause) = (beginning, cause);
        } else {
            let dialled = beginning.dials.into_iter().collect();
            client.outage = Some(Outage { from, to: None, silent: Duration::ZERO, beginning, cause, dialled });
        }
    }

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
            Record::FaultStarted(fault) if self.is_needed => {
                self.active.push(fault.clone());
                self.tell_again(at);
            }
            Record::Etcd(_) if self.is_needed => self.etcd_acts(at, record),
            Record::Kube(cluster, KubeRecord::ApiServer(Replica::Host(host), fact)) if self.is_needed => match fact {
                ServerFact::Stops => drop(self.stopping.insert((*cluster, *host), at)),
                ServerFact::Ready(true) => drop(self.stopping.remove(&(*cluster, *host))),
                _ => {}
            },
            Record::Kube(cluster, KubeRecord::Operation(Task::RemoveHost(place))) if self.is_needed => {
                self.left.insert((*cluster, self.scenario.kube.clusters[*cluster].control_plane[*place as usize]), at);
            }
            Record::Kube(cluster, KubeRecord::Operation(Task::AddHost(place))) => {
                self.left.remove(&(*cluster, self.scenario.kube.clusters[*cluster].control_plane[*place as usize]));
            }
            Record::FaultEnded(id) => {
                if let Some(place) = self.active.iter().position(|fault| fault.id == *id) {
                    self.ended.push_back((at, self.active.remove(place)));
                    while self.ended.pop_front_if(|(ended, _)| *ended + AFTER < at).is_some() {}
                }
            }
            Record::Access(cluster, AccessRecord::Client { client, state }) => {
                self.client_changes(at, (*cluster, *client), *state);
            }
            Record::Access(cluster, AccessRecord::Detail { client, detail }) => {
                self.clients.entry((*cluster, *client)).or_insert_with(|| Client::new(at)).detail(*detail);
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
        self.change(at, ConnectionState::None);
        if let Some(mut outage) = self.outage.take().filter(|outage| outage.from < at) {
            outage.to = Some(at);
            self.over.push(outage);
        }
    }

    fn new(at: Time) -> Self {
        let none = ConnectionState::None;
        let (outage, over, dials) = (None, Vec::new(), None);
        Self {
            state: none,
            since: at,
            before: none,
            dials,
            queues: false,
            gone_away: false,
            outage,
            over,
            connections: 0,
            through: 0,
        }
    }

    fn detail(&mut self, detail: Detail) {
        match detail {
            Detail::Connected { through } => {
                self.connections += 1;
                self.gone_away = false;
                self.through += u64::from(through);
            }
            Detail::Dials(to) => {
                self.dials = Some(to);
                if let Some(outage) = self.outage.as_mut().filter(|outage| !outage.dialled.contains(&to)) {
                    outage.dialled.push(to);
                }
            }
            Detail::Queues => self.queues = true,
            Detail::GoneAway => self.gone_away = true,
        }
    }

    /// Its connection is in another state. Returns how an outage begins, or goes on.
    fn change(&mut self, at: Time, state: ConnectionState) -> Option<Beginning> {
        if at > self.since {
            self.before = self.state;
        }
        let before = std::mem::replace(&mut self.state, state);
        let passed = at.since(std::mem::replace(&mut self.since, at));
        if let (ConnectionState::Silent { .. }, Some(outage)) = (before, &mut self.outage) {
            outage.silent = outage.silent + passed;
        }
        if let ConnectionState::Open { .. } = state {
            (self.dials, self.queues) = (None, false);
            if let Some(mut outage) = self.outage.take() {
                outage.to = Some(at);
                // A client that reaches another server at once has no outage.
                if at > outage.from {
                    self.over.push(outage);
                }
            }
            return None;
        }
        // A connection that ended in the very moment in which it was opened has no part in it.
        let had = if let ConnectionState::Open { .. } = self.before { self.before } else { before };
        let beginning = Beginning { had, now: state, dials: self.dials, queues: self.queues, gone_away: self.gone_away };
        Some(beginning)
    }
}

/// Keeps the longest outages, in order; how many are left out.
fn keep_longest(outages: &mut Vec<ClientOutageReport>, most: usize) -> u64 {
    let omitted = outages.len().saturating_sub(most) as u64;
    outages.sort_by(|a, b| (b.to_s - b.from_s).total_cmp(&(a.to_s - a.from_s)));
    outages.truncate(most);
    outages.sort_by(|a, b| a.from_s.total_cmp(&b.from_s));
    omitted
}
