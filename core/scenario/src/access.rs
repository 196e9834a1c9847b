//! Ways to API servers: load balancers in front of them, and which way the clients of a cluster take.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use zonefall_kernel::time::Duration;

use crate::ids::{BalancerId, NodeId, ZoneId};
use crate::units::Rate;

/// A load balancer (layer 4) in front of the API servers of one cluster: a node of it in each of its zones, or on each node of the cluster.
#[derive(Clone, Debug, PartialEq)]
pub struct LoadBalancer {
    /// Its name, unique in the scenario.
    pub name: String,
    /// Zones of its nodes, at least one. Its DNS name has the addresses of all nodes, or their `one_address`. None where it runs on `machines`.
    pub zones: Vec<ZoneId>,
    /// Nodes of the topology that each run a node of it, a process. There its name has the address of that process, elsewhere none.
    pub machines: Vec<NodeId>,
    /// Whether all its nodes have one address, a regional one: packets of a client enter at the node of its own zone, or, while they do not
    /// reach that, of another.
    pub one_address: bool,
    /// Whether its nodes accept connections themselves and make their own to targets, rather than pass packets on.
    pub relays: bool,
    /// Whether a node sends clients to targets of other zones than its own, too.
    pub cross_zone: bool,
    /// Its health check.
    pub check: Check,
    /// Treatment of new connections while no target is healthy.
    pub all_unhealthy: AllUnhealthy,
    /// Treatment of established connections to a target that becomes unhealthy.
    pub established: Established,
    /// Connections from a target's host to itself through the balancer.
    pub loopback: Loopback,
    /// Additional one-way latency of packets through the balancer, besides the paths to it and from it.
    pub hop_latency: Duration,
    /// Bytes per second that each of its nodes passes on; `None`: no limit.
    pub bandwidth: Option<u64>,
    /// Connections at once through each of its nodes, at least 1; `None`: no limit.
    pub connection_limit: Option<u32>,
    /// A cloud provider runs it and charges for it. (HAProxy runs on hosts of one's own.)
    pub is_charged: bool,
}

impl LoadBalancer {
    /// Number of its nodes.
    pub fn nodes(&self) -> usize {
        self.zones.len() + self.machines.len()
    }

    /// Whether no API server in these zones is a target of any of its nodes.
    pub fn has_no_target(&self, mut servers: impl Iterator<Item = ZoneId>) -> bool {
        !self.cross_zone && self.machines.is_empty() && !servers.any(|zone| self.zones.contains(&zone))
    }
}

/// Health check of a load balancer.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Check {
    /// What it tests.
    pub kind: CheckKind,
    /// Time between the starts of two checks of a target.
    pub interval: Duration,
    /// A check without an answer fails after this time.
    pub timeout: Duration,
    /// Successes in a row after which an unhealthy target is healthy.
    pub rise: u32,
    /// Failures in a row after which a target is unhealthy.
    pub fall: u32,
    /// Successes in a row after which a new target is healthy.
    pub first_rise: u32,
}

/// What a health check tests.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum CheckKind {
    /// The port accepts connections.
    Tcp,
    /// `/readyz` succeeds.
    Readyz,
}

/// Treatment of new connections while no target is healthy.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum AllUnhealthy {
    /// They go to any target, as if all were healthy (fail open).
    Open,
    /// They are refused (fail closed).
    Closed,
}

/// Treatment of established connections to a target that becomes unhealthy.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Established {
    /// They stay open.
    Kept,
    /// They are reset.
    Reset,
    /// Their packets are dropped without notice.
    Silent,
}

/// Connections from a target's host to itself through the balancer.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Loopback {
    /// They work like any other connection.
    Works,
    /// They fail: the host drops packets with its own address as their source.
    Fails,
    /// Their packets stay on the host, whatever the state of its API server (the iptables rule of OpenShift's machine-config-operator): the
    /// balancer never receives them.
    StaysOnHost,
}

/// How the clients of a cluster reach its API servers.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct ApiAccess {
    /// Load balancer that clients are configured with: the original host of their requests.
    pub balancer: BalancerId,
    /// Load balancer on each node of the cluster: the original host of the clients there.
    pub on_each_node: Option<BalancerId>,
    /// Way to API servers beside the load balancer; `None`: there is none.
    pub alternatives: Option<Alternatives>,
    /// The same of kubelets, which have custom dialers already.
    pub alternatives_of_kubelets: Option<Alternatives>,
    /// Which API servers the Service `kubernetes` lists, and so API servers advertise.
    pub endpoints: EndpointRules,
    /// Chance that a request makes its server close the connection (GOAWAY).
    pub goaway_chance: f64,
}

/// Which API servers the Service `kubernetes` lists.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum EndpointRules {
    /// Those that are ready (Resilient Control Plane Networking).
    Text,
    /// Those whose lease has not expired (kubernetes `pkg/controlplane/reconcilers/lease.go`): a server that crashes is listed for up to 25 s.
    Code,
}

/// Ways to API servers beside the load balancer (Resilient Control Plane Networking): alternative services, and two that the document
/// lists and does not propose (section Alternatives).
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Alternatives {
    /// The rules of the document.
    Text,
    /// The behaviour of its prototype.
    Code,
    /// The hosts of the control plane, which clients are configured with (`AlternativeHosts` of client-go in the document): a client knows
    /// them all from its start on, and learns none. Otherwise as the document.
    Configured,
    /// A dialer of the client that reads the `kubernetes` endpoints every minute and opens new connections to one of these addresses, the
    /// last that worked first, under the original host name. The document: the simplest way, but clients may have a custom dialer already.
    CustomDialer,
    /// A resolver in the client's process that answers for the original host name with the `kubernetes` endpoints, which it reads every
    /// 10 s: that on the client's own host first. The document: the way that is hardest to maintain, and it needs a custom dialer, too.
    InMemoryDns,
}

impl Alternatives {
    /// Whether API servers advertise them.
    pub const fn are_advertised(self) -> bool {
        matches!(self, Self::Text | Self::Code)
    }
}

/// Custom dialer that a client has for a purpose of its own (`Dial` in client-go's `rest.Config`).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum OwnDialer {
    /// It has none.
    #[default]
    None,
    /// One that `custom_dialer` wraps. With `in_memory_dns` it would dial as before, so that the client reaches the API as without that.
    Wrapped,
    /// One that no other can wrap: with `custom_dialer` and `in_memory_dns` the client reaches the API as without them.
    Exclusive,
}

impl OwnDialer {
    /// Whether a client with this dialer may reach the API in this way.
    pub const fn allows(self, way: Alternatives) -> bool {
        match way {
            Alternatives::Text | Alternatives::Code | Alternatives::Configured => true,
            Alternatives::CustomDialer => !matches!(self, Self::Exclusive),
            Alternatives::InMemoryDns => matches!(self, Self::None),
        }
    }
}

/// A program whose requests to the API of its cluster are simulated one by one: a process on each of its nodes.
#[derive(Clone, Debug, PartialEq)]
pub struct ApiClientSpec {
    /// Its name, unique in its cluster.
    pub name: String,
    /// Nodes that it runs on, at least one.
    pub nodes: Vec<NodeId>,
    /// When its processes start; at zero they have been running for long.
    pub start: Duration,
    /// Requests of each process, a Poisson process.
    pub rate: Rate,
    /// Requests of each process, after which it is done; `None`: no end.
    pub requests: Option<u64>,
    /// Mean size of a response, in bytes.
    pub response: u64,
    /// How sizes of responses are distributed.
    pub response_sizes: ResponseSizes,
    /// A request without a response fails after this time; `None`: it waits.
    pub timeout: Option<Duration>,
    /// Requests beyond this limit wait in the process.
    pub limit: Option<RateLimit>,
    /// Load balancer that it is configured with; `None`: that of other clients on the same node.
    pub balancer: Option<BalancerId>,
    /// Way to API servers beside the load balancer; `None`: it has none.
    pub alternatives: Option<Alternatives>,
    /// Whether packets pass between its nodes and the addresses of API servers, not just the load balancer's.
    pub in_cluster_network: bool,
}

/// A token bucket (client-go `util/flowcontrol/throttle.go`).
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct RateLimit {
    /// Tokens that it gets (`QPS`).
    pub qps: Rate,
    /// Tokens that it holds (`Burst`), at least 1.
    pub burst: u32,
}

/// Distribution of sizes around their mean.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum ResponseSizes {
    /// All are equal.
    #[default]
    Constant,
    /// Exponential: most are small, a few are several times the mean.
    Exponential,
}
