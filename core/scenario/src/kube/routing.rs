//! Which endpoint of a Service its clients are sent to.

use serde::{Deserialize, Serialize};

use super::PodSelector;

/// How a seed sends clients to endpoints.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Routing {
    /// Services of control planes that survive a zone ask for topology hints (gardener: `topologyAwareRouting`).
    pub hints: bool,
    /// Which member of etcd an API server is sent to.
    pub api_to_etcd: ApiToEtcd,
}

/// How an etcd member is chosen for a new connection of a shoot's API server.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, schemars::JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum ApiToEtcd {
    /// Any ready member with equal probability; with topology hints, one of those for the client's zone (kube-proxy).
    #[default]
    Any,
    /// A member in the client's zone, if one is ready there (as with the hints of gardener-resource-manager's webhook for `EndpointSlices`, and
    /// `trafficDistribution: PreferClose` in Kubernetes: each endpoint is for its own zone, however many CPUs that has).
    Zone,
    /// The leader, if it is reachable: an API server connects to the next leader as soon as one is elected. No part of Gardener
    /// or Kubernetes does that; a proxy beside each API server would, which asks the members for the leader and closes connections to other members.
    Leader,
    /// The one on its own host. Not for pods: a cluster without Gardener says so of the API servers on its hosts.
    #[serde(skip)]
    Local,
}

/// What a Service asks for (`spec.trafficDistribution`).
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, schemars::JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum TrafficDistribution {
    /// Endpoints in the client's zone, if there are any (`PreferSameZone`; its older name is `PreferClose`).
    #[serde(rename = "prefer_same_zone", alias = "prefer_close")]
    SameZone,
    /// Endpoints on the client's node, if there are any, then those in its zone (`PreferSameNode`).
    #[serde(rename = "prefer_same_node")]
    SameNode,
}

/// How far traffic of clients in the cluster goes (`spec.internalTrafficPolicy`).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, schemars::JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum TrafficPolicy {
    /// To any endpoint.
    #[default]
    Cluster,
    /// To endpoints on the client's own node alone.
    Local,
}

/// Connections that the clients of a Service open. kube-proxy chooses an endpoint for each of them.
#[derive(Clone, Debug, PartialEq)]
pub struct ServiceTraffic {
    /// The clients: pods that run, also where they are cut off.
    pub clients: PodSelector,
    /// Connections per second that each client opens.
    pub per_s: f64,
    /// Bytes that each connection carries, in both directions together.
    pub bytes: u64,
    /// Connections per second that an endpoint serves; `None`: any number.
    pub capacity_per_s: Option<f64>,
}
