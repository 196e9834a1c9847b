//! Which endpoint of a Service in a seed its clients are sent to.

use serde::{Deserialize, Serialize};

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
