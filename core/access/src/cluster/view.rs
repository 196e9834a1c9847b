//! API access of a cluster at one moment, as the page shows it: plain data.

use serde::{Deserialize, Serialize};

use super::ClusterAccess;
use crate::address_book::{AddressBook, Lookup};
use crate::alt_svc::alternatives::{Alternative, Block};
use crate::alt_svc::client::Client as Selector;
use crate::balancer::health::Health;
use crate::client::{Address, Client};
use crate::record::{ConnectionState, Dialled};
use crate::reply::Reply;
use crate::requests::Link;
use crate::target::Balancer;
use zonefall_kernel::time::{Duration, Time};
use zonefall_kube::ctx::ApiClient;
use zonefall_network::Network;
use zonefall_scenario::ids::{ApiClientId, BalancerId, KubeClusterId, ZoneId};

/// API access of a cluster.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct AccessView {
    /// The cluster.
    pub cluster: KubeClusterId,
    /// Its load balancers: first that of the cluster.
    pub balancers: Vec<BalancerView>,
    /// Targets by the keys of their servers, as they are.
    pub targets: Vec<TargetView>,
    /// Its clients: kubelets, components, further clients.
    pub clients: Vec<ClientView>,
}

impl AccessView {
    /// One of its load balancers.
    pub fn balancer(&self, id: BalancerId) -> Option<&BalancerView> {
        self.balancers.iter().find(|balancer| balancer.balancer == id)
    }
}

/// A load balancer.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct BalancerView {
    /// The balancer.
    pub balancer: BalancerId,
    /// Its nodes, in the order of its zones or machines.
    pub nodes: Vec<BalancerNodeView>,
}

/// A node of a load balancer.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct BalancerNodeView {
    /// Health of each target, as the node has found it.
    pub found: Vec<Health>,
    /// Whether packets pass between the node and each target.
    pub reaches: Vec<bool>,
    /// Time that a response waits in its queue.
    pub wait: Duration,
    /// Connections through it, where their number is limited.
    pub connections: Option<ConnectionsView>,
}

/// Connections through a node of a load balancer with a connection limit.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct ConnectionsView {
    /// Connections that it has accepted.
    pub accepted: u64,
    /// Clients that wait in its backlog.
    pub waiting: u64,
    /// The limit.
    pub limit: u64,
}

/// An API server as it is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct TargetView {
    /// Some load balancer has it as a target: its host is part of the control plane.
    pub is_target: bool,
    /// State of its process.
    pub state: ServerState,
    /// The Service `kubernetes` lists it.
    pub is_listed: bool,
}

/// State of an API server's process.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum ServerState {
    /// It accepts connections, and etcd answers it.
    Answers,
    /// It accepts connections and returns errors: etcd does not answer it.
    ReturnsErrors,
    /// It accepts no connections.
    DoesNotListen,
}

/// A client.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct ClientView {
    /// The client.
    pub client: ApiClient,
    /// Zone of its host.
    pub zone: ZoneId,
    /// State of its connection.
    pub state: ConnectionState,
    /// The load balancer that it is configured with.
    pub origin: BalancerId,
    /// Node of this load balancer that its connection goes through.
    pub through: Option<u16>,
    /// What it has dialled last without success; `None`: it has a connection, or has not dialled.
    pub dials: Option<Dialled>,
    /// Where its present request goes; `None`: it waits to dial again.
    pub request: Option<RequestTarget>,
    /// Alternatives that it knows, in the order of their list.
    pub alternatives: Vec<AlternativeView>,
    /// Whether it uses alternatives at all.
    pub uses_alternatives: bool,
    /// Addresses that it has read itself; `None`: it has neither a custom dialer nor an in-memory DNS.
    pub addresses: Option<AddressesView>,
}

/// Addresses of API servers that a client has read itself.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct AddressesView {
    /// It has an in-memory DNS, not a custom dialer.
    pub is_resolver: bool,
    /// Keys of the servers.
    pub servers: Vec<u32>,
}

/// Where a request goes.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum RequestTarget {
    /// To the original host.
    Origin,
    /// To an alternative, by the key of its server: the request is rewritten.
    Alternative(u32),
    /// To a server, by its key, whose address the client has read itself: the request is as it is.
    Server(u32),
}

/// An alternative that a client knows.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct AlternativeView {
    /// Key of its server.
    pub server: u32,
    /// It is on the client's own host.
    pub is_local: bool,
    /// It answered the client's last request, so that the client stays with it.
    pub is_last: bool,
    /// Whether it may be tried.
    pub block: Block,
}

/// A kind of clients.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
pub enum ClientKind {
    /// Kubelets of workers and of control-plane hosts.
    Kubelets,
    /// Processes of components that elect a leader.
    Components,
    /// Processes of a further client.
    Further(ApiClientId),
}

impl ClientKind {
    /// Kind of a client.
    pub const fn of(client: ApiClient) -> Self {
        match client {
            ApiClient::Kubelet(_) => Self::Kubelets,
            ApiClient::Candidate(..) => Self::Components,
            ApiClient::Further(id, _) => Self::Further(id),
        }
    }
}

impl ClusterAccess {
    /// API access now.
    pub fn view(&self, net: &Network, now: Time) -> AccessView {
        AccessView {
            cluster: self.cluster,
            balancers: self.balancers.iter().map(|balancer| self.balancer_view(balancer, net, now)).collect(),
            targets: self.balancers.first().into_iter().flat_map(Balancer::keys).map(|key| self.target(key)).collect(),
            clients: self.clients.iter().map(|(id, client)| of_client(*id, client, net)).collect(),
        }
    }

    fn balancer_view(&self, balancer: &Balancer, net: &Network, now: Time) -> BalancerView {
        let keys = balancer.keys();
        let node = |node: u16| BalancerNodeView {
            found: keys.clone().map(|key| balancer.health(node, key)).collect(),
            reaches: keys.clone().map(|key| balancer.reach(node, key, &self.servers, net) != Reply::Silence).collect(),
            wait: balancer.queues()[usize::from(node)].wait(now),
            connections: balancer.limit().map(|limit| ConnectionsView {
                accepted: limit.accepted(node) as u64,
                waiting: limit.waiting(node).count() as u64,
                limit: limit.limit() as u64,
            }),
        };
        BalancerView { balancer: balancer.id(), nodes: balancer.nodes().map(node).collect() }
    }

    fn target(&self, key: u32) -> TargetView {
        let state = match self.servers.get(&key).map(|server| server.view) {
            Some(view) if view.listens && view.answers => ServerState::Answers,
            Some(view) if view.listens => ServerState::ReturnsErrors,
            _ => ServerState::DoesNotListen,
        };
        let is_target = self.balancers.iter().any(|balancer| balancer.has_target(key));
        TargetView { is_target, state, is_listed: self.endpoints().contains(&key) }
    }
}

fn of_client(id: ApiClient, client: &Client, net: &Network) -> ClientView {
    let through = match client.link() {
        Link::Open(connection, ..) | Link::Silent(connection) => connection.through,
        Link::Closed(_) => None,
    };
    let selector = client.selector();
    ClientView {
        client: id,
        zone: net.zone(client.host()),
        state: client.connection_state(),
        origin: client.origin(),
        through,
        dials: client.dials(),
        request: client.attempt().map(|attempt| match attempt.to {
            Address::Origin => RequestTarget::Origin,
            Address::Server(key) if attempt.is_alternative => RequestTarget::Alternative(key),
            Address::Server(key) => RequestTarget::Server(key),
        }),
        alternatives: selector.map(alternatives).unwrap_or_default(),
        uses_alternatives: selector.is_some(),
        addresses: client.book().map(addresses),
    }
}

fn addresses(book: &AddressBook) -> AddressesView {
    AddressesView { is_resolver: book.lookup() == Lookup::InMemoryDns, servers: book.known().to_vec() }
}

fn alternatives(selector: &Selector<Address>) -> Vec<AlternativeView> {
    let of = |entry: &Alternative<Address>| match entry.authority {
        Address::Server(server) => Some(AlternativeView {
            server,
            is_local: entry.local,
            is_last: selector.last() == Some(&entry.authority),
            block: entry.block,
        }),
        Address::Origin => None,
    };
    selector.alternatives().listed().iter().filter_map(of).collect()
}
