//! What asks the APIs of shoots.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::RawSource;
use crate::units::{Name, Rate, Size};

/// How the traffic of control planes is simulated.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum RawTraffic {
    /// As rates, integrated exactly from each change to the next: a month costs little. What is asked takes no time of etcd, but for a
    /// sample, which is simulated request by request and tells latencies.
    #[default]
    Flows,
    /// What API servers ask of etcd request by request, for short runs.
    Requests,
}

/// What asks the API of a shoot.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(default)]
pub struct RawUsage {
    /// Worker nodes of the shoot: their kubelets renew leases, tell their status and write events.
    #[schemars(range(max = 5_000), extend("x-source" = "GEP-20: traffic of a fresh shoot"))]
    pub nodes: u32,
    /// The load of an idle control plane: leaders and candidates, kubelets, controllers, checks.
    #[schemars(extend("x-source" = "what `docs/validation.md` lists"))]
    pub idle: bool,
    /// What asks besides.
    #[schemars(length(max = 100))]
    pub requests: Vec<RawRequests>,
    /// Requests that each API server works on at a time, where `traffic` is `requests`: one more is turned away at once (429). As with
    /// `--enable-priority-and-fairness=false`: priority levels and their queues are left out.
    pub inflight: RawInFlight,
    /// Who says so.
    #[serde(flatten)]
    pub mark: RawSource,
}

impl Default for RawUsage {
    fn default() -> Self {
        Self { nodes: 3, idle: true, requests: Vec::new(), inflight: RawInFlight::default(), mark: RawSource::default() }
    }
}

/// Limits of an API server; 0: none.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(default)]
pub struct RawInFlight {
    /// Requests that change nothing, but for watches.
    #[schemars(range(max = 1_000_000), extend("x-source" = "kubernetes/apiserver@24a394e5: --max-requests-inflight"))]
    pub reads: u32,
    /// Requests that change something.
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
    /// What they are for.
    pub name: Name,
    /// What is asked.
    pub verb: RawVerb,
    /// How often, all of the shoot together.
    #[schemars(extend("x-max" = "10000/s"))]
    pub rate: Rate,
    /// Size of each object.
    #[serde(default = "object")]
    #[schemars(extend("x-max" = "1MiB", "x-source" = "assumed"))]
    pub object: Size,
    /// Of a list, objects of that kind there are: it reads them all from etcd.
    #[serde(default)]
    #[schemars(range(max = 1_000_000), extend("x-default" = "500", "x-source" = "assumed"))]
    pub objects: Option<u32>,
    /// Objects in the answer of a list: those that its label selector picks.
    #[serde(default)]
    #[schemars(range(max = 1_000_000), extend("x-default" = "all of them", "x-source" = "a list without a selector"))]
    pub selected: Option<u32>,
    /// A get or list that any state will do for (`resourceVersion=0`): the API server answers from its watch cache.
    #[serde(default)]
    #[schemars(extend("x-source" = "kubernetes: an unset resourceVersion asks for the latest"))]
    pub cached: bool,
    /// Of what writes, components that watch such objects: each is told. All of them are where kube-controller-manager is.
    #[serde(default)]
    #[schemars(
        range(max = 10_000),
        extend("x-default" = "1, where kube-controller-manager is a component", "x-source" = "assumed: one controller")
    )]
    pub watchers: Option<u32>,
    /// The component of the control plane that asks.
    #[serde(default)]
    #[schemars(extend("x-default" = "nobody there: users and nodes, through the load balancer of the seed", "x-source" = "assumed"))]
    pub from: Option<Name>,
}

fn object() -> Size {
    Size(2 << 10)
}

/// What is asked of an API.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum RawVerb {
    /// One object.
    Get,
    /// All objects of a kind, or those that a selector picks.
    List,
    /// A new object.
    Create,
    /// An object as it is to be.
    Update,
    /// A part of an object as it is to be.
    Patch,
    /// An object less.
    Delete,
}
