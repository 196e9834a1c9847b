//! Ways to API servers: load balancers in front of them, and which way the clients of a cluster take.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use zonefall_kernel::time::Duration;

use crate::ids::{BalancerId, ZoneId};

/// A load balancer (layer 4) in front of the API servers of one cluster: a node of it in each of its zones.
#[derive(Clone, Debug, PartialEq)]
pub struct LoadBalancer {
    /// Its name, unique in the scenario.
    pub name: String,
    /// Zones of its nodes, at least one. Clients are told the addresses of all of them.
    pub zones: Vec<ZoneId>,
    /// Whether a node sends clients to targets of other zones than its own, too.
    pub cross_zone: bool,
    /// How it checks its targets.
    pub check: Check,
    /// What a new connection meets while no target is healthy.
    pub all_unhealthy: AllUnhealthy,
    /// What becomes of the connections to a target that is found unhealthy.
    pub established: Established,
    /// What a target meets that reaches itself through the balancer.
    pub loopback: Loopback,
    /// What a packet takes longer through it than over the two paths to it and from it, one way.
    pub hop_latency: Duration,
}

/// How a load balancer checks its targets.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Check {
    /// What it asks.
    pub kind: CheckKind,
    /// Between the starts of two checks of a target.
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

/// What a health check asks of a target.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum CheckKind {
    /// Whether its port accepts connections.
    Tcp,
    /// Whether `/readyz` answers with success.
    Readyz,
}

/// What a new connection meets while no target is healthy.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum AllUnhealthy {
    /// Any target, as if all were healthy (fail open).
    Open,
    /// A refusal (fail closed).
    Closed,
}

/// What becomes of the connections to a target that is found unhealthy.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Established {
    /// They go on.
    Kept,
    /// Both ends are told that they are over.
    Reset,
    /// Nothing passes any more, and nobody is told.
    Silent,
}

/// What a target meets that reaches itself through the balancer.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Loopback {
    /// It is a client as any other.
    Works,
    /// Its packets come back with its own address as their source, and are dropped.
    Fails,
    /// It never asks the balancer: its packets stay on the host, whatever its own server does (the iptables rule of OpenShift's
    /// machine-config-operator).
    StaysOnHost,
}

/// How the clients of a cluster reach its API servers.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ApiAccess {
    /// The original host of their requests.
    pub balancer: BalancerId,
    /// Whether API servers list alternative services, and how clients use these.
    pub alternatives: Option<Alternatives>,
}

/// How clients use alternative services (Resilient Control Plane Networking).
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Alternatives {
    /// As the document says.
    Text,
    /// As its prototype does.
    Code,
}
