//! How the clients of one cluster reach its API servers: the load balancer, the lists that the servers advertise, and each client.

mod alternatives;
mod checks;
mod further;
mod limits;
pub mod view;

use std::collections::{BTreeMap, BTreeSet, VecDeque};

use crate::alt_svc::advertiser::Advertiser;
use crate::alt_svc::alternatives::Block;
use crate::client::{Address, Client};
use crate::connection::ClientCtx;
use crate::ctx::AccessCtx;
use crate::endpoints::{Endpoints, INTERVAL, Running};
use crate::event::AccessEvent;
use crate::new_connections::new_connections;
use crate::origin::{origin, way};
use crate::record::{AccessRecord, ConnectionState, Detail};
use crate::requests::Requests;
use crate::server::{Server, ServerView};
use crate::target::Balancer;
use alternatives::{advertiser, lookup};
use further::{further, request_timings, update_requests};
use zonefall_kernel::periodic::Periodic;
use zonefall_kernel::rng::{Purpose, Stream};
use zonefall_kernel::time::{Duration, Time};
use zonefall_kernel::timer::Timer;
use zonefall_kube::ctx::{ApiClient, NewClient, NewConnection, Route};
use zonefall_network::{HostId, Network};
use zonefall_scenario::access::ApiAccess;
use zonefall_scenario::ids::{BalancerId, FaultId, KubeClusterId};
use zonefall_scenario::kube::balancers::balancers;
use zonefall_scenario::{Fault, Scenario};

/// Entities of draws beyond all keys of servers and nodes.
const SERVERS: u64 = 1 << 40;

/// Entities of the draws of further clients, and of their requests.
const FURTHER: u64 = 1 << 41;
const REQUESTS: u64 = 1 << 42;

/// The API servers of a cluster and their clients, as Kubernetes has them.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ApiView {
    /// Hosts of the control plane, by the keys of their servers: targets of load balancers.
    pub hosts: Vec<u32>,
    /// API servers that run.
    pub servers: Vec<ServerView>,
    /// Programs that run, and their hosts.
    pub clients: Vec<(ApiClient, HostId)>,
    /// Term of the leader of its etcd; `None`: there is none.
    pub etcd_term: Option<u64>,
}

/// API access of one cluster.
#[derive(Clone, Debug)]
pub struct ClusterAccess {
    cluster: KubeClusterId,
    access: ApiAccess,
    seed: u64,
    /// Its load balancers.
    balancers: Vec<Balancer>,
    servers: BTreeMap<u32, Server>,
    endpoints: Endpoints,
    clients: BTreeMap<ApiClient, Client>,
    /// Fire when servers read endpoints that have changed. They outlive the processes of servers, and those of clients theirs: to a new
    /// timer an event of the process before might be its own.
    refresh_timers: BTreeMap<u32, Timer>,
    client_timers: BTreeMap<ApiClient, Timer>,
    /// Processes of servers started so far.
    processes: u32,
    /// Kubelets and components started so far.
    joined: u64,
    /// Further clients started so far.
    further_joined: u64,
    /// Requests of further clients that run.
    pub(crate) requests: BTreeMap<ApiClient, Requests>,
    /// Further clients that have made all their requests.
    pub(crate) done: BTreeSet<ApiClient>,
    /// Fires while responses wait for long at the balancer.
    backlog_timer: Timer,
    /// Clients whose connections a load balancer has accepted from its backlog, which they have not noticed.
    admitted: VecDeque<ApiClient>,
    view: ApiView,
    /// Hosts whose servers advertise no alternatives.
    not_advertising: Vec<HostId>,
    /// How the others do.
    advertiser: Advertiser<u32>,
    /// There was no view yet: servers and clients of the first one have been running for long.
    is_new: bool,
}

impl ClusterAccess {
    /// API access without servers and clients.
    pub(crate) fn new(cluster: KubeClusterId, access: ApiAccess, scenario: &Scenario, seed: u64) -> Self {
        let hosts_of = |own: bool| -> Vec<HostId> {
            let clusters = scenario.kube.clusters.iter_enumerated().filter(|(id, _)| (*id == cluster) == own);
            clusters.flat_map(|(_, spec)| &spec.control_plane).map(|node| Network::host_of(*node)).collect()
        };
        let at_start = scenario.kube.clusters[cluster].hosts_at_start().len();
        let hosts = ([true, false].map(hosts_of), at_start);
        let balancer = |id: BalancerId| {
            let nodes = Network::hosts_of_balancer(id, scenario);
            Balancer::new(id, &scenario.load_balancers[id], nodes, hosts.clone(), seed)
        };
        let balancers = balancers(&scenario.kube.clusters[cluster]).into_iter().map(balancer).collect();
        Self {
            cluster,
            access,
            seed,
            balancers,
            servers: BTreeMap::new(),
            endpoints: Endpoints::new(access.endpoints),
            clients: BTreeMap::new(),
            refresh_timers: BTreeMap::new(),
            client_timers: BTreeMap::new(),
            processes: 0,
            joined: 0,
            further_joined: 0,
            requests: BTreeMap::new(),
            done: BTreeSet::new(),
            backlog_timer: Timer::new(),
            admitted: VecDeque::new(),
            not_advertising: scenario.kube.clusters[cluster].not_advertising.iter().map(|node| Network::host_of(*node)).collect(),
            advertiser: advertiser(access.alternatives, &scenario.kube.clusters[cluster]),
            view: ApiView::default(),
            is_new: true,
        }
    }

    /// Its load balancers, and the health of their targets.
    pub fn balancers(&self) -> &[Balancer] {
        &self.balancers
    }

    /// One of its load balancers.
    fn balancer(&self, id: BalancerId) -> &Balancer {
        &self.balancers[self.place(id)]
    }

    fn place(&self, id: BalancerId) -> usize {
        self.balancers.iter().position(|balancer| balancer.id() == id).expect("it is one of the cluster")
    }

    /// Where the requests of a client go.
    pub fn route(&self, client: ApiClient) -> Route {
        self.clients.get(&client).map_or(Route::Nowhere { waits: false }, Client::route)
    }

    /// Where the connection of a new client ends.
    pub(crate) fn new_connections(&self, client: &NewClient<'_>) -> Vec<NewConnection> {
        new_connections(self.balancer(self.access.balancer), &client.scenario.load_balancers[self.access.balancer], client)
    }

    /// State of a client's connection.
    pub fn connection_state(&self, client: ApiClient) -> ConnectionState {
        self.clients.get(&client).map_or(ConnectionState::None, Client::connection_state)
    }

    /// Alternatives that a client knows, by the keys of their servers, and whether each may be tried.
    pub fn alternatives(&self, client: ApiClient) -> impl Iterator<Item = (u32, Block)> {
        let selector = self.clients.get(&client).and_then(Client::selector);
        selector.into_iter().flat_map(|selector| selector.alternatives().listed()).filter_map(|entry| match entry.authority {
            Address::Server(key) => Some((key, entry.block)),
            Address::Origin => None,
        })
    }

    /// Servers that the Service `kubernetes` lists.
    pub fn endpoints(&self) -> &[u32] {
        self.endpoints.listed()
    }

    /// A client.
    #[cfg(test)]
    pub(crate) fn client(&self, id: ApiClient) -> Option<&Client> {
        self.clients.get(&id)
    }

    /// What its clients see.
    #[cfg(test)]
    pub(crate) fn client_ctx<'a>(&'a self, scenario: &'a Scenario, net: &'a Network, now: Time) -> ClientCtx<'a> {
        let spec = &scenario.load_balancers[self.access.balancer];
        let balancer = self.balancer(self.access.balancer);
        let (servers, endpoints) = (&self.servers, self.endpoints.listed());
        let stepping = zonefall_kernel::periodic::Stepping::FastForward;
        ClientCtx { client: None, now, net, stepping, servers, endpoints, balancer, spec, in_cluster_network: true }
    }

    /// A server that runs.
    #[cfg(test)]
    pub(crate) fn server(&self, key: u32) -> Option<&Server> {
        self.servers.get(&key)
    }

    /// Servers or clients may have changed.
    pub(crate) fn servers_changed(&mut self, view: &ApiView, ctx: &mut AccessCtx<'_>) {
        if *view != self.view {
            self.update(view, ctx);
        }
    }

    /// Servers, clients, hosts or paths may have changed.
    pub(crate) fn update(&mut self, view: &ApiView, ctx: &mut AccessCtx<'_>) {
        let is_new = self.is_new;
        if is_new {
            self.expect_starts(ctx);
        }
        self.follow_processes(ctx);
        self.register_targets(&view.hosts, ctx);
        self.endpoints.etcd_leads(view.etcd_term, ctx.now);
        self.update_servers(view, is_new, ctx.now);
        self.update_endpoints(is_new, ctx);
        self.join_clients(view, ctx);
        self.view.clone_from(view);
        self.update_clients(ctx);
        self.is_new = false;
        if is_new && !ctx.routes_changed.contains(&self.cluster) {
            // Kubernetes has started with the nearest server for every client.
            ctx.routes_changed.push(self.cluster);
        }
    }

    /// One of its balancers is hit by a fault, or no longer.
    pub(crate) fn fault(&mut self, balancer: BalancerId, id: FaultId, fault: &Fault, begins: bool, ctx: &mut AccessCtx<'_>) {
        let place = self.place(balancer);
        self.balancers[place].fault(id, fault, begins, ctx.now);
        self.follow_processes(ctx);
        self.register_targets(&self.view.hosts.clone(), ctx);
        self.new_connections_changed(ctx);
        self.update_clients(ctx);
    }

    /// New clients may reach other servers, or none.
    fn new_connections_changed(&mut self, ctx: &mut AccessCtx<'_>) {
        self.balancers.iter_mut().for_each(|balancer| balancer.look(ctx.now));
        if !ctx.routes_changed.contains(&self.cluster) {
            ctx.routes_changed.push(self.cluster);
        }
    }

    /// Something is due.
    pub(crate) fn handle(&mut self, event: AccessEvent, ctx: &mut AccessCtx<'_>) {
        match event {
            AccessEvent::Check { balancer, node, target, generation } => {
                self.check(balancer, (node, target, generation), ctx);
            }
            AccessEvent::Client { client, generation } => {
                if self.client_timers.get_mut(&client).is_some_and(|timer| timer.fires(generation)) {
                    if self.clients.contains_key(&client) {
                        self.update_client(client, ctx);
                    } else {
                        self.join_clients(&self.view.clone(), ctx);
                    }
                }
            }
            AccessEvent::Backlog { generation } => {
                if self.backlog_timer.fires(generation) {
                    self.new_connections_changed(ctx);
                    self.update_clients(ctx);
                    self.watch_rest_of_backlog(ctx);
                }
            }
            AccessEvent::Refresh { server, generation } => {
                let endpoints = self.endpoints.listed();
                let Some(timer) = self.refresh_timers.get_mut(&server).filter(|timer| timer.is_due(generation)) else { return };
                timer.cancel();
                let it = self.servers.get_mut(&server).expect("its timer ends with it");
                let changed = if it.view.answers {
                    it.read(endpoints)
                } else {
                    let at = it.next_refresh(ctx.now);
                    let generation = timer.arm(at);
                    ctx.out.schedule(at, (self.cluster, AccessEvent::Refresh { server, generation }));
                    it.cannot_read()
                };
                if changed {
                    self.update_clients(ctx);
                }
            }
            AccessEvent::Endpoints { generation } => {
                if self.endpoints.timer.fires(generation) {
                    if self.update_endpoints(false, ctx) {
                        self.update_readers(ctx);
                    }
                    self.arm(ctx);
                }
            }
        }
    }

    fn update_servers(&mut self, view: &ApiView, is_new: bool, now: Time) {
        // One that does not stop any more is another process.
        let is_same = |old: &ServerView, new: &ServerView| old.key == new.key && (new.stops || !old.stops);
        let runs = |old: &Server| view.servers.iter().any(|new| is_same(&old.view, new));
        let gone: Vec<u32> = self.servers.iter().filter(|(_, server)| !runs(server)).map(|(key, _)| *key).collect();
        for key in gone {
            self.servers.remove(&key);
            self.refresh_timers.entry(key).or_default().cancel();
            self.endpoints.stopped(key, now);
        }
        for view in &view.servers {
            if let Some(server) = self.servers.get_mut(&view.key) {
                if view.stops && !server.view.stops {
                    self.endpoints.stops(view.key, view.answers, now);
                }
                server.view = *view;
                if !view.stops {
                    self.endpoints.follow(view.key, view.answers, view.readyz, now);
                }
                continue;
            }
            self.processes += 1;
            let mut draw = self.draws(SERVERS + u64::from(self.processes)).draw(0);
            let mut within = |period: Duration| now + Duration::from_nanos(draw.below(period.as_nanos()));
            let keep = self.advertiser.keep();
            let (refreshes, renews) = (Periodic::new(within(keep), keep), within(INTERVAL));
            // A server that starts renews its lease once it is ready.
            if is_new {
                self.endpoints.started(view.key, renews);
            } else {
                self.endpoints.follow(view.key, view.answers, view.readyz, now);
            }
            let advertiser = (!self.not_advertising.contains(&view.host)).then(|| self.advertiser.clone());
            self.servers.insert(view.key, Server::new(*view, self.processes, refreshes, advertiser));
        }
    }

    /// Servers write the endpoints; whether they have changed.
    fn update_endpoints(&mut self, is_new: bool, ctx: &mut AccessCtx<'_>) -> bool {
        let serving = self.servers.values().filter(|server| !server.view.stops);
        let running: Vec<Running> = serving.map(|server| Running { key: server.view.key, readyz: server.view.readyz }).collect();
        let changed = self.endpoints.update(&running, ctx.now);
        let endpoints = self.endpoints.listed();
        for (key, server) in &mut self.servers {
            // A server that has just started reads them with its first request. One that etcd does not answer tries to, in its time.
            if (is_new || server.reads_at_once()) && server.view.answers {
                server.read(endpoints);
            } else if changed || !server.view.answers {
                let timer = self.refresh_timers.entry(*key).or_default();
                if let Some((at, generation)) = timer.rearm(Some(server.next_refresh(ctx.now))) {
                    ctx.out.schedule(at, (self.cluster, AccessEvent::Refresh { server: *key, generation }));
                }
            }
        }
        changed
    }

    fn join_clients(&mut self, view: &ApiView, ctx: &mut AccessCtx<'_>) {
        let mut running = view.clients.clone();
        running.append(&mut self.further_clients(view, ctx));
        let known: BTreeSet<(ApiClient, HostId)> = running.iter().copied().collect();
        let is_gone = |(id, client): &(&ApiClient, &Client)| !known.contains(&(**id, client.host()));
        let gone: Vec<ApiClient> = self.clients.iter().filter(is_gone).map(|(id, _)| *id).collect();
        for id in gone {
            self.client_stopped(id, ctx);
        }
        self.update_admitted(ctx);
        for (id, host) in running {
            if !self.clients.contains_key(&id) {
                let further = further(id, self.cluster, ctx.scenario);
                let draws = if let Some(spec) = further {
                    self.further_joined += 1;
                    let requests = Requests::new(self.draws(REQUESTS + self.further_joined), spec, ctx.now);
                    self.requests.insert(id, requests);
                    self.draws(FURTHER + self.further_joined)
                } else {
                    self.joined += 1;
                    self.draws(self.joined)
                };
                let way = way(id, &self.access, further);
                let selector = way.and_then(|way| self.selector(way, (id, host), &view.hosts, ctx));
                let timings = request_timings(id, self.cluster, ctx.scenario);
                let origin = origin(id, &self.access, &ctx.scenario.kube.clusters[self.cluster], ctx.scenario);
                let mut client = Client::new((host, origin), timings, selector, draws, ctx.now);
                client.is_simulated(further.is_some());
                if let Some(lookup) = way.and_then(lookup) {
                    client.reads_addresses(lookup, self.is_new, ctx.now);
                }
                self.clients.insert(id, client);
                self.update_client(id, ctx);
                if self.connection_state(id) == ConnectionState::None {
                    // Any other state is recorded as a change.
                    ctx.out.record((self.cluster, AccessRecord::Client { client: id, state: ConnectionState::None }));
                }
            }
        }
    }

    /// Every client adapts to what has changed.
    fn update_clients(&mut self, ctx: &mut AccessCtx<'_>) {
        let ids: Vec<ApiClient> = self.clients.keys().copied().collect();
        for id in ids {
            self.update_client(id, ctx);
        }
        if self.balancers.iter().any(Balancer::has_queue) {
            self.watch_rest_of_backlog(ctx);
        }
        self.arm(ctx);
    }

    /// Clients that read the endpoints themselves find others with their next read.
    fn update_readers(&mut self, ctx: &mut AccessCtx<'_>) {
        let readers = self.clients.iter().filter(|(_, client)| client.book().is_some());
        for id in readers.map(|(id, _)| *id).collect::<Vec<_>>() {
            self.update_client(id, ctx);
        }
    }

    /// Clients on one machine adapt.
    fn update_clients_on(&mut self, host: HostId, ctx: &mut AccessCtx<'_>) {
        let there = self.clients.iter().filter(|(_, client)| client.host() == host);
        for id in there.map(|(id, _)| *id).collect::<Vec<_>>() {
            self.update_client(id, ctx);
        }
        self.arm(ctx);
    }

    fn move_client(&mut self, id: ApiClient, ctx: &mut AccessCtx<'_>) {
        let Self { servers, endpoints, balancers, clients, cluster, requests, is_new, .. } = self;
        let client = clients.get_mut(&id).expect("it is one of them");
        let balancer = balancers.iter_mut().find(|balancer| balancer.id() == client.origin()).expect("it is one of the cluster");
        let spec = &ctx.scenario.load_balancers[client.origin()];
        let (route, state, dials) = (client.route(), client.connection_state(), client.dials());
        let further = further(id, *cluster, ctx.scenario).zip(requests.get_mut(&id));
        let in_cluster_network = further.as_ref().is_none_or(|(spec, _)| spec.in_cluster_network);
        let sends = further.as_ref().is_some_and(|(spec, requests)| requests.sends(spec, ctx.now));
        client.has_requests(further.as_ref().and_then(|(spec, requests)| requests.first_unanswered(spec, ctx.now)), sends);
        let (now, net, stepping, endpoints) = (ctx.now, ctx.net, ctx.stepping, endpoints.listed());
        let client_ctx =
            ClientCtx { client: Some(id), now, net, stepping, servers, endpoints, balancer, spec, in_cluster_network };
        if *is_new {
            client.settle(&client_ctx);
        } else {
            client.update(&client_ctx);
        }
        // Clients that run from the start have opened their connections before.
        for detail in client.details((state, dials)).filter(|detail| !(*is_new && matches!(detail, Detail::Connected { .. }))) {
            ctx.out.record((*cluster, AccessRecord::Detail { client: id, detail }));
        }
        if client.connection_state() != state {
            ctx.out.record((*cluster, AccessRecord::Client { client: id, state: client.connection_state() }));
        }
        let next = client.next_due(&client_ctx);
        let (origin, slot) = (client.origin(), client.slot());
        let mut due = None;
        if let Some((spec, requests)) = further {
            update_requests((*cluster, id), client, (spec, requests), balancer.queues_mut(), ctx);
            if requests.is_done(spec) {
                ctx.out.record((*cluster, AccessRecord::Done(id)));
                self.done.insert(id);
                return self.client_stopped(id, ctx);
            }
            due = requests.next_due(spec);
        } else if client.route() != route && !ctx.routes_changed.contains(cluster) {
            ctx.routes_changed.push(*cluster);
        }
        let next = next.into_iter().chain(due).min();
        if let Some((at, generation)) = self.client_timers.entry(id).or_default().rearm(next) {
            ctx.out.schedule(at, (*cluster, AccessEvent::Client { client: id, generation }));
        }
        self.occupy((origin, id), slot, ctx);
        self.watch_backlog(ctx);
    }

    fn client_stopped(&mut self, id: ApiClient, ctx: &mut AccessCtx<'_>) {
        if let Some(client) = self.clients.remove(&id) {
            self.occupy((client.origin(), id), None, ctx);
        }
        if let Some(requests) = self.requests.remove(&id) {
            requests.stop(ctx.now, &mut |result, after| {
                ctx.out.record((self.cluster, AccessRecord::Request { client: id, result, after }));
            });
        }
        self.client_timers.entry(id).or_default().cancel();
        ctx.out.record((self.cluster, AccessRecord::ClientStopped(id)));
    }

    /// Queues what is due next, but for the clients.
    fn arm(&mut self, ctx: &mut AccessCtx<'_>) {
        for of in &mut self.balancers {
            let balancer = of.id();
            let check = ctx.scenario.load_balancers[balancer].check;
            for (at, node, target, generation) in of.arm(check, &self.servers, ctx.net, ctx.now, ctx.stepping) {
                ctx.out.schedule(at, (self.cluster, AccessEvent::Check { balancer, node, target, generation }));
            }
        }
        let next = self.endpoints.next_change();
        if let Some((at, generation)) = self.endpoints.timer.rearm(next) {
            ctx.out.schedule(at, (self.cluster, AccessEvent::Endpoints { generation }));
        }
    }

    fn draws(&self, entity: u64) -> Stream {
        Stream::new(self.seed, Purpose::ApiClient, u64::from(self.cluster.0) << 48 | entity)
    }
}
