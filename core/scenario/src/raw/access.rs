//! Load balancers in front of API servers, and which way clients take.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::RawSource;
use crate::access::{AllUnhealthy, Alternatives, CheckKind, Established, Loopback};
use crate::balancer_profile::{by_profile, sources, word};
use crate::units::{Name, Span};

pub use crate::balancer_profile::BalancerProfile;

/// A load balancer (layer 4) in front of the API servers of one cluster (`api_access`), with a node in each of its zones. Whatever is left
/// out is as its profile says.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct RawLoadBalancer {
    /// Its name.
    pub name: Name,
    /// What it does where this file does not say so.
    pub profile: BalancerProfile,
    /// Zones of its nodes. Clients are told the addresses of all of them.
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
    /// How it checks the API servers.
    #[serde(default)]
    pub check: RawCheck,
    /// What a new connection meets while no API server is healthy.
    #[serde(default)]
    #[schemars(extend("x-default" = by_profile(|p| word(p.all_unhealthy.0)), "x-source" = sources(|p| p.all_unhealthy.1)))]
    pub all_unhealthy: Option<AllUnhealthy>,
    /// What becomes of the connections to an API server that is found unhealthy.
    #[serde(default)]
    #[schemars(extend("x-default" = by_profile(|p| word(p.established.0)), "x-source" = sources(|p| p.established.1)))]
    pub established: Option<Established>,
    /// What the host of an API server meets that reaches itself through the load balancer.
    #[serde(default)]
    #[schemars(extend("x-default" = by_profile(|p| word(p.loopback.0)), "x-source" = sources(|p| p.loopback.1)))]
    pub loopback: Option<Loopback>,
    /// Time that it adds to each packet, one way, to that of the paths to it and from it.
    #[serde(default)]
    #[schemars(extend(
        "x-max" = "1m",
        "x-default" = by_profile(|p| word(Span(p.hop_latency.0))),
        "x-source" = sources(|p| p.hop_latency.1)
    ))]
    pub hop_latency: Option<Span>,
    /// Who says so.
    #[serde(flatten)]
    pub mark: RawSource,
}

/// Health check of a load balancer. Whatever is left out is as its profile says.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(default)]
pub struct RawCheck {
    /// What it asks of an API server.
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
    /// Alternative services that API servers list (Resilient Control Plane Networking), and how clients use them.
    #[serde(default)]
    #[schemars(extend("x-default" = "none: the load balancer alone", "x-source" = "kubernetes: no API server lists any"))]
    pub alternatives: Option<Alternatives>,
}
