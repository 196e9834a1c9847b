//! Load balancers in front of API servers, and which way clients take.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::RawSource;
use crate::access::{AllUnhealthy, Alternatives, CheckKind, EndpointRules, Established, Loopback, OwnDialer, ResponseSizes};
use crate::balancer_profile::{by_profile, sources, word};
use crate::units::{Bandwidth, Name, Probability, Rate, Size, Span};

pub use crate::balancer_profile::BalancerProfile;

/// A load balancer (layer 4) in front of the API servers of one cluster (`api_access`), with a node in each of its zones. Whatever is left
/// out is as its profile says.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct RawLoadBalancer {
    /// Its name.
    pub name: Name,
    /// Kind of load balancer: values of the fields that are left out.
    pub profile: BalancerProfile,
    /// Zones of its nodes. Its DNS name has the addresses of all nodes (`gcp_passthrough` and `azure_standard`: one address for all zones);
    /// without `cross_zone`, of those in zones with healthy API servers, while there are any.
    #[serde(default)]
    #[schemars(
        length(max = 16),
        extend("x-default" = "the zones of its cluster's control plane", "x-source" = "assumed: a node where its targets are")
    )]
    pub zones: Vec<String>,
    /// Whether a node also sends clients to API servers of other zones than its own.
    #[serde(default)]
    #[schemars(extend("x-default" = by_profile(|p| word(p.cross_zone.0)), "x-source" = sources(|p| p.cross_zone.1)))]
    pub cross_zone: Option<bool>,
    /// Its health check of the API servers.
    #[serde(default)]
    pub check: RawCheck,
    /// Treatment of new connections while no API server is healthy.
    #[serde(default)]
    #[schemars(extend("x-default" = by_profile(|p| word(p.all_unhealthy.0)), "x-source" = sources(|p| p.all_unhealthy.1)))]
    pub all_unhealthy: Option<AllUnhealthy>,
    /// Treatment of established connections to an API server that becomes unhealthy.
    #[serde(default)]
    #[schemars(extend("x-default" = by_profile(|p| word(p.established.0)), "x-source" = sources(|p| p.established.1)))]
    pub established: Option<Established>,
    /// Connections from an API server's host to itself through the load balancer.
    #[serde(default)]
    #[schemars(extend("x-default" = by_profile(|p| word(p.loopback.0)), "x-source" = sources(|p| p.loopback.1)))]
    pub loopback: Option<Loopback>,
    /// Additional one-way latency of packets through it, besides the paths to it and from it.
    #[serde(default)]
    #[schemars(extend(
        "x-max" = "1m",
        "x-default" = by_profile(|p| word(Span(p.hop_latency.0))),
        "x-source" = sources(|p| p.hop_latency.1)
    ))]
    pub hop_latency: Option<Span>,
    /// Bandwidth of each of its nodes. Responses to `api_clients` queue for it.
    #[serde(default)]
    #[schemars(extend("x-min" = "1kB/s", "x-default" = "unlimited", "x-source" = "assumed: it grows with its traffic"))]
    pub bandwidth: Option<Bandwidth>,
    /// Connections at once through each of its nodes. `haproxy` stops accepting there (`maxconn`): further ones wait in the kernel's backlog,
    /// first in, first out, for 10 s at most. The others drop further SYNs.
    #[serde(default)]
    #[schemars(
        range(min = 1, max = 10_000_000),
        extend(
            "x-default" = "unlimited",
            "x-source" = "HAProxy's manual: `maxconn` follows from the limit of open files; others: assumed, limits far above what is simulated"
        )
    )]
    pub connection_limit: Option<u32>,
    /// Who says so.
    #[serde(flatten)]
    pub mark: RawSource,
}

/// Health check of a load balancer. Fields that are left out have the values of the profile.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(default)]
pub struct RawCheck {
    /// What it tests.
    #[schemars(extend("x-default" = by_profile(|p| word(p.check.0)), "x-source" = sources(|p| p.check.1)))]
    pub kind: Option<CheckKind>,
    /// Time between the starts of two checks of an API server.
    #[schemars(extend(
        "x-min" = "1ms",
        "x-max" = "1h",
        "x-default" = by_profile(|p| word(Span(p.interval.0))),
        "x-source" = sources(|p| p.interval.1)
    ))]
    pub interval: Option<Span>,
    /// A check without an answer fails after this time.
    #[schemars(extend(
        "x-min" = "1ms",
        "x-max" = "1h",
        "x-default" = by_profile(|p| word(Span(p.timeout.0))),
        "x-source" = sources(|p| p.timeout.1)
    ))]
    pub timeout: Option<Span>,
    /// Number of consecutive successes after which an unhealthy API server is healthy.
    #[schemars(
        range(min = 1, max = 1_000),
        extend("x-default" = by_profile(|p| word(p.rise.0)), "x-source" = sources(|p| p.rise.1))
    )]
    pub rise: Option<u32>,
    /// Number of consecutive failures after which an API server is unhealthy.
    #[schemars(
        range(min = 1, max = 1_000),
        extend("x-default" = by_profile(|p| word(p.fall.0)), "x-source" = sources(|p| p.fall.1))
    )]
    pub fall: Option<u32>,
    /// Number of consecutive successes after which a new API server is healthy.
    #[schemars(
        range(min = 1, max = 1_000),
        extend("x-default" = by_profile(|p| word(p.first_rise.0)), "x-source" = sources(|p| p.first_rise.1))
    )]
    pub first_rise: Option<u32>,
}

/// How the clients of a cluster reach its API servers.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct RawApiAccess {
    /// The load balancer that they are configured with. It is that of no other cluster.
    #[schemars(extend("x-target" = "load_balancers"))]
    pub load_balancer: String,
    /// A load balancer with a process on each node of the cluster, that is, on those that it has at the start and on the hosts of its
    /// control plane. Clients there are configured with it instead.
    #[serde(default)]
    #[schemars(extend("x-target" = "load_balancers", "x-default" = "none", "x-source" = "kubeadm: one endpoint for all clients"))]
    pub load_balancer_on_each_node: Option<String>,
    /// How clients reach API servers beside the load balancer (Resilient Control Plane Networking): by alternative services that API servers
    /// advertise, or by addresses that clients find themselves.
    #[serde(default)]
    #[schemars(extend("x-default" = "none: the load balancer alone", "x-source" = "kubernetes: no API server lists any"))]
    pub alternatives: Option<Alternatives>,
    /// Custom dialer that kubelets have already: they close their connections with it when their client certificate changes. (Neither
    /// that is simulated, nor that they close them when renewals of their node's lease fail.)
    #[serde(default)]
    #[schemars(extend(
        "x-default" = "wrapped",
        "x-source" = "kubernetes `pkg/kubelet/certificate/transport.go`; aojea/client-go-multidialer, README"
    ))]
    pub kubelet_dialer: Option<OwnDialer>,
    /// Which API servers the Service `kubernetes` lists, and so API servers advertise.
    #[serde(default)]
    #[schemars(extend("x-default" = "as `alternatives`, or `code` without them", "x-source" = "kubernetes: by lease"))]
    pub endpoints: Option<EndpointRules>,
    /// Chance that a request makes its server close the connection (GOAWAY), so that clients spread over the API servers again
    /// (`--goaway-chance`).
    #[serde(default)]
    #[schemars(extend("x-max" = "2%", "x-default" = "0%", "x-source" = "kube-apiserver `--goaway-chance`, at most 0.02"))]
    pub goaway_chance: Option<Probability>,
    /// Hosts of the control plane whose API servers advertise no alternatives: an older version, or one whose feature gate is off.
    #[serde(default)]
    #[schemars(length(max = 16))]
    pub not_advertising: Vec<String>,
    /// Clients to which API servers advertise alternatives.
    #[serde(default)]
    #[schemars(extend("x-source" = "openshift/kubernetes@75a200ac, `alternative_services.go`: whoever asks"))]
    pub advertised_to: AdvertisedTo,
}

/// Clients to which API servers advertise alternatives.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum AdvertisedTo {
    /// All that ask.
    #[default]
    Everyone,
    /// Those with addresses of the cluster network: "restrict ... to certain subnets" (Resilient Control Plane Networking).
    ClusterNetwork,
}

/// A program that asks the API of its cluster, with one process on each of its nodes: an operator, a network plugin, a debugging session.
/// Its requests are simulated one by one.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct RawApiClient {
    /// Its name.
    pub name: Name,
    /// Kind of nodes that it runs on, of those that the cluster has at the start.
    #[serde(default)]
    #[schemars(extend("x-default" = "every_node, or its `nodes`", "x-source" = "assumed: as the pods of a DaemonSet"))]
    pub runs_on: Option<RunsOn>,
    /// Nodes that it runs on, instead of a kind; also of the topology, outside the cluster.
    #[serde(default)]
    #[schemars(length(max = 1_000))]
    pub nodes: Vec<String>,
    /// Requests of each process: a Poisson process.
    #[schemars(extend("x-min" = "1/d", "x-max" = "1000/s"))]
    pub rate: Rate,
    /// Total number of requests of each process, after which it is done.
    #[serde(default)]
    #[schemars(range(min = 1, max = 10_000_000), extend("x-default" = "unlimited", "x-source" = "the only possible meaning"))]
    pub requests: Option<u64>,
    /// Mean size of a response.
    #[serde(default = "response")]
    #[schemars(extend("x-max" = "1GiB", "x-source" = "assumed: a small object"))]
    pub response: Size,
    /// Distribution of the sizes of responses.
    #[serde(default)]
    #[schemars(extend("x-source" = "assumed"))]
    pub response_sizes: ResponseSizes,
    /// Timeout of a request.
    #[serde(default)]
    #[schemars(extend("x-min" = "1ms", "x-max" = "1h", "x-default" = "none", "x-source" = "client-go `rest/config.go`: Timeout, 0"))]
    pub timeout: Option<Span>,
    /// Client-side limit of the request rate (`QPS`). Requests beyond it wait.
    #[serde(default)]
    #[schemars(extend("x-min" = "1/d", "x-max" = "1000/s", "x-default" = "none", "x-source" = "assumed: a QPS below zero"))]
    pub qps: Option<Rate>,
    /// Number of requests that may exceed `qps` at once.
    #[serde(default)]
    #[schemars(range(min = 1, max = 10_000), extend("x-default" = "10", "x-source" = "client-go `rest/config.go`: DefaultBurst"))]
    pub burst: Option<u32>,
    /// The load balancer that it is configured with. It is that of no other cluster.
    #[serde(default)]
    #[schemars(extend(
        "x-target" = "load_balancers",
        "x-default" = "the one on its node, else the cluster's",
        "x-source" = "OpenShift: programs of the cluster use `apiServerInternalURI`, others `apiServerURL`"
    ))]
    pub load_balancer: Option<String>,
    /// Time at which its processes start.
    #[serde(default)]
    #[schemars(extend("x-source" = "before the start of the run: it knows all alternatives"))]
    pub start: Span,
    /// How it reaches API servers beside the load balancer.
    #[serde(default)]
    #[schemars(extend("x-default" = "as in `api_access`", "x-source" = "assumed: one version of client-go"))]
    pub alternatives: Option<ClientAlternatives>,
    /// Custom dialer that it has already.
    #[serde(default)]
    #[schemars(extend("x-source" = "client-go `rest/config.go`: Dial, nil"))]
    pub dialer: OwnDialer,
    /// Whether its nodes reach the addresses of API servers, not just the load balancer. From others packets to alternatives vanish.
    #[serde(default = "yes")]
    #[schemars(extend("x-source" = "Resilient Control Plane Networking: users belong to the cluster network"))]
    pub in_cluster_network: bool,
}

const fn response() -> Size {
    Size(2 << 10)
}

const fn yes() -> bool {
    true
}

/// Kind of nodes that a client of an API runs on.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum RunsOn {
    /// All nodes of the cluster, and the hosts of its control plane.
    EveryNode,
    /// The hosts of the control plane.
    ControlPlane,
    /// All nodes but the hosts of the control plane.
    Workers,
}

/// How one client reaches API servers beside the load balancer.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum ClientAlternatives {
    /// Not at all: its client-go is older, the feature gate is off, or RBAC lets it have no list.
    None,
    /// The rules of the document.
    Text,
    /// The behaviour of its prototype.
    Code,
    /// The hosts of the control plane, which it is configured with: it knows them all from its start on, and learns none.
    Configured,
    /// A dialer that reads the addresses of API servers every minute, for new connections.
    CustomDialer,
    /// A resolver in its process that reads the addresses of API servers every 10 s, for new connections.
    InMemoryDns,
}

impl ClientAlternatives {
    /// The way; `None`: the load balancer alone.
    pub(crate) const fn way(self) -> Option<Alternatives> {
        match self {
            Self::None => None,
            Self::Text => Some(Alternatives::Text),
            Self::Code => Some(Alternatives::Code),
            Self::Configured => Some(Alternatives::Configured),
            Self::CustomDialer => Some(Alternatives::CustomDialer),
            Self::InMemoryDns => Some(Alternatives::InMemoryDns),
        }
    }
}
