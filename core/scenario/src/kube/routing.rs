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

/// Which member of etcd a shoot's API server is sent to when it makes a new connection.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, schemars::JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum ApiToEtcd {
    /// Any that is ready, all alike; where there are topology hints, one of those for its zone (kube-proxy).
    #[default]
    Any,
    /// One in its own zone, if one is ready there (what gardener-resource-manager's webhook for `EndpointSlices` makes of hints, and
    /// `trafficDistribution: PreferClose` in Kubernetes: each endpoint is for its own zone, however many CPUs that has).
    Zone,
    /// The one that leads, if it can be reached: an API server goes on to the next leader as soon as there is one. No part of Gardener
    /// or Kubernetes does that; a proxy beside each API server would, which asks the members who leads and ends what goes elsewhere.
    Leader,
    /// The one on its own host. Not for pods: a cluster without Gardener says so of the API servers on its hosts.
    #[serde(skip)]
    Local,
}
