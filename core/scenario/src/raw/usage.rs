//! Users of the APIs of shoots and of clusters without Gardener.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::RawSource;
use crate::kube::fairness::FairnessChoice;
use crate::kube::fairness::request::Resource;
use crate::units::{Name, Rate, Size};

/// How the traffic of control planes is simulated.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum RawTraffic {
    /// As rates, integrated exactly between changes: fast even for a month. Requests take no time of etcd, except for a sample that is
    /// simulated request by request to measure latencies, and for more while something happens to an etcd, to see how many are answered in time.
    #[default]
    Flows,
    /// Requests of API servers to etcd are simulated one by one, for short runs.
    Requests,
}

/// Users of the API of a shoot, or of a cluster without Gardener.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(default)]
pub struct RawUsage {
    /// Number of nodes whose kubelets renew leases, update their status and write events.
    #[schemars(
        range(max = 5_000),
        extend(
            "x-default" = "3 for a shoot; for a cluster the nodes that it has, while its API answers them",
            "x-source" = "GEP-20: traffic of a fresh shoot"
        )
    )]
    pub nodes: Option<u32>,
    /// The load of an idle control plane: leaders and candidates, kubelets, controllers, checks.
    #[schemars(extend("x-source" = "what `docs/validation.md` lists"))]
    pub idle: bool,
    /// Additional requests.
    #[schemars(length(max = 100))]
    pub requests: Vec<RawRequests>,
    /// Maximum number of requests in flight in each API server, where `traffic` is `requests`; it rejects further requests (429), or with
    /// `fairness` lets them wait: then the sum of both limits is the number of seats that its priority levels share.
    pub inflight: RawInFlight,
    /// API Priority and Fairness of its API servers, where `traffic` is `requests`.
    #[schemars(extend(
        "x-default" = "off, as before this field: Kubernetes enables it by default",
        "x-source" = "kubernetes/apiserver@24a394e5: --enable-priority-and-fairness"
    ))]
    pub fairness: FairnessChoice,
    /// Number of times that clients repeat a request which an API server rejected (429), after the time of its header `Retry-After`.
    #[schemars(
        range(max = 10),
        extend(
            "x-default" = "0, as before this field: clients give up; client-go repeats 10 times",
            "x-source" = "kubernetes/client-go@32ce75a7: rest/request.go, maxRetries"
        )
    )]
    pub retries: u32,
    /// Source of this information.
    #[serde(flatten)]
    pub mark: RawSource,
}

impl Default for RawUsage {
    fn default() -> Self {
        Self {
            nodes: None,
            idle: true,
            requests: Vec::new(),
            inflight: RawInFlight::default(),
            fairness: FairnessChoice::Off,
            retries: 0,
            mark: RawSource::default(),
        }
    }
}

/// Limits of requests in flight of an API server; 0: unlimited.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(default)]
pub struct RawInFlight {
    /// Limit of read requests in flight, without watches.
    #[schemars(range(max = 1_000_000), extend("x-source" = "kubernetes/apiserver@24a394e5: --max-requests-inflight"))]
    pub reads: u32,
    /// Limit of write requests in flight.
    #[schemars(range(max = 1_000_000), extend("x-source" = "kubernetes/apiserver@24a394e5: --max-mutating-requests-inflight"))]
    pub writes: u32,
}

impl Default for RawInFlight {
    fn default() -> Self {
        Self { reads: 400, writes: 200 }
    }
}

/// Requests of one kind.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct RawRequests {
    /// Purpose of the requests.
    pub name: Name,
    /// Verb of the requests.
    pub verb: RawVerb,
    /// Rate of the requests, of all who send them together.
    #[schemars(extend("x-max" = "10000/s"))]
    pub rate: Rate,
    /// Size of each object.
    #[serde(default = "object")]
    #[schemars(extend("x-max" = "1MiB", "x-source" = "assumed"))]
    pub object: Size,
    /// For a list: number of objects of that kind, all of which are read from etcd.
    #[serde(default)]
    #[schemars(range(max = 1_000_000), extend("x-default" = "500", "x-source" = "assumed"))]
    pub objects: Option<u32>,
    /// For a list: number of objects in the response, after the label selector.
    #[serde(default)]
    #[schemars(range(max = 1_000_000), extend("x-default" = "all of them", "x-source" = "a list without a selector"))]
    pub selected: Option<u32>,
    /// A get or list with `resourceVersion=0`: the API server responds from its watch cache.
    #[serde(default)]
    #[schemars(extend("x-source" = "kubernetes: an unset resourceVersion asks for the latest"))]
    pub cached: bool,
    /// For writes: number of components that watch such objects; each receives an event. They run where kube-controller-manager runs.
    #[serde(default)]
    #[schemars(
        range(max = 10_000),
        extend("x-default" = "1, where kube-controller-manager is a component", "x-source" = "assumed: one controller")
    )]
    pub watchers: Option<u32>,
    /// Component of the control plane that sends the requests, such as `kube-controller-manager`.
    #[serde(default)]
    #[schemars(extend(
        "x-default" = "nobody there: users and nodes, of a shoot through the load balancer of its seed, of a cluster from each of its zones",
        "x-source" = "assumed"
    ))]
    pub from: Option<Name>,
    /// User that sends the requests, as flow schemas see it: `system:serviceaccount:web:crawler`, `system:node:node-1`, `alice`.
    #[serde(default)]
    #[schemars(
        length(min = 1, max = 253),
        extend("x-default" = "that of the component, or `user`", "x-source" = "kubernetes: names of users and service accounts")
    )]
    pub user: Option<String>,
    /// Resource of the objects, as flow schemas see it.
    #[serde(default)]
    #[schemars(extend("x-source" = "assumed"))]
    pub resource: Resource,
}

fn object() -> Size {
    Size(2 << 10)
}

/// Verb of an API request.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum RawVerb {
    /// Read one object.
    Get,
    /// Read all objects of a kind, or those that a selector matches.
    List,
    /// Create an object.
    Create,
    /// Replace an object.
    Update,
    /// Change a part of an object.
    Patch,
    /// Delete an object.
    Delete,
}

impl RawVerb {
    /// As the API has it, in lower case.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Get => "get",
            Self::List => "list",
            Self::Create => "create",
            Self::Update => "update",
            Self::Patch => "patch",
            Self::Delete => "delete",
        }
    }
}
