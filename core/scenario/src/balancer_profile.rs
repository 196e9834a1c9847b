//! What load balancers of the cloud providers, and HAProxy, do unless one says otherwise: each value with its source. A file names a
//! profile and changes what it likes.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use zonefall_kernel::time::Duration;

use crate::access::{AllUnhealthy, CheckKind, Established, Loopback};

/// Kind of load balancer.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum BalancerProfile {
    /// A Network Load Balancer of AWS with instances as its targets.
    AwsNlb,
    /// An internal passthrough Network Load Balancer of Google Cloud.
    GcpPassthrough,
    /// An internal Standard Load Balancer of Azure.
    AzureStandard,
    /// HAProxy on hosts on premises.
    Haproxy,
}

/// A value and where it stands: what was read, and what was not verified.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Sourced<T>(pub(crate) T, pub(crate) &'static str);

/// Values of a kind of load balancer.
#[derive(Debug)]
pub(crate) struct Profile {
    pub(crate) cross_zone: Sourced<bool>,
    pub(crate) check: Sourced<CheckKind>,
    pub(crate) interval: Sourced<Duration>,
    pub(crate) timeout: Sourced<Duration>,
    pub(crate) rise: Sourced<u32>,
    pub(crate) fall: Sourced<u32>,
    pub(crate) first_rise: Sourced<u32>,
    pub(crate) all_unhealthy: Sourced<AllUnhealthy>,
    pub(crate) established: Sourced<Established>,
    pub(crate) loopback: Sourced<Loopback>,
    pub(crate) hop_latency: Sourced<Duration>,
}

const AWS_HEALTH: &str = "AWS, Health checks for Network Load Balancer target groups";
const AWS_TARGET_GROUP: &str = "AWS, API CreateTargetGroup (seen second-hand)";
const GCP_CHECK: &str = "google_compute_health_check (seen second-hand)";
const GCP_CHECK_UNSEEN: &str = "google_compute_health_check (not verified)";
const GCP_FAILOVER: &str = "Google Cloud, internal passthrough Network Load Balancer";
const AZURE_PROBE: &str = "Azure, Load Balancer health probes";
const AZURE_PROBE_UNSEEN: &str = "Azure, Load Balancer health probes (not verified)";
const HAPROXY: &str = "HAProxy's manual (not verified)";
const UNVERIFIED: &str = "not verified";
const ASSUMED: &str = "assumed";

const fn s(seconds: u64) -> Duration {
    Duration::from_secs(seconds)
}

const AWS_NLB: Profile = Profile {
    cross_zone: Sourced(false, AWS_HEALTH),
    check: Sourced(CheckKind::Tcp, AWS_TARGET_GROUP),
    interval: Sourced(s(30), AWS_TARGET_GROUP),
    timeout: Sourced(s(10), AWS_TARGET_GROUP),
    rise: Sourced(5, AWS_TARGET_GROUP),
    fall: Sourced(2, AWS_TARGET_GROUP),
    first_rise: Sourced(1, "AWS, an older page on target groups: it must pass one health check (not verified)"),
    all_unhealthy: Sourced(AllUnhealthy::Open, AWS_HEALTH),
    established: Sourced(Established::Reset, AWS_HEALTH),
    loopback: Sourced(
        Loopback::Fails,
        "AWS, edit target group attributes: client IP addresses of instance targets are preserved",
    ),
    hop_latency: Sourced(Duration::from_micros(200), ASSUMED),
};

const GCP_PASSTHROUGH: Profile = Profile {
    cross_zone: Sourced(true, UNVERIFIED),
    check: Sourced(CheckKind::Tcp, ASSUMED),
    interval: Sourced(s(5), GCP_CHECK),
    timeout: Sourced(s(5), GCP_CHECK_UNSEEN),
    rise: Sourced(2, GCP_CHECK),
    fall: Sourced(2, GCP_CHECK_UNSEEN),
    first_rise: Sourced(2, "assumed: as `rise`"),
    all_unhealthy: Sourced(AllUnhealthy::Open, GCP_FAILOVER),
    established: Sourced(Established::Kept, GCP_FAILOVER),
    loopback: Sourced(Loopback::StaysOnHost, "openshift/machine-config-operator#1031: a target always reaches itself"),
    hop_latency: Sourced(Duration::ZERO, "assumed: no machine in between"),
};

const AZURE_STANDARD: Profile = Profile {
    cross_zone: Sourced(true, UNVERIFIED),
    check: Sourced(CheckKind::Tcp, ASSUMED),
    interval: Sourced(s(15), AZURE_PROBE_UNSEEN),
    timeout: Sourced(s(15), "assumed: as `interval`"),
    rise: Sourced(2, AZURE_PROBE_UNSEEN),
    fall: Sourced(2, AZURE_PROBE_UNSEEN),
    first_rise: Sourced(2, "assumed: as `rise`"),
    all_unhealthy: Sourced(AllUnhealthy::Closed, "Azure, NoHealthyBackendsBehavior (not verified)"),
    established: Sourced(Established::Kept, AZURE_PROBE),
    loopback: Sourced(Loopback::Fails, "openshift/machine-config-operator#2011"),
    hop_latency: Sourced(Duration::ZERO, "assumed: no machine in between"),
};

const HAPROXY_ON_HOSTS: Profile = Profile {
    cross_zone: Sourced(true, "assumed: each lists all servers"),
    check: Sourced(CheckKind::Tcp, HAPROXY),
    interval: Sourced(s(2), HAPROXY),
    timeout: Sourced(s(2), "assumed: as `interval`"),
    rise: Sourced(2, HAPROXY),
    fall: Sourced(3, HAPROXY),
    first_rise: Sourced(2, "assumed: as `rise`"),
    all_unhealthy: Sourced(AllUnhealthy::Closed, HAPROXY),
    established: Sourced(Established::Kept, "HAProxy's manual: no `on-marked-down` (not verified)"),
    loopback: Sourced(Loopback::Works, "assumed: it ends connections and makes its own"),
    hop_latency: Sourced(Duration::from_micros(100), ASSUMED),
};

impl BalancerProfile {
    /// Whether its front end is one regional address, which the provider's network implements in all zones (Google Cloud, internal
    /// passthrough Network Load Balancer: a regional forwarding rule; Azure: zone-redundant front ends, "a single IP address will survive
    /// zone failure"), not an address for each zone (AWS).
    pub(crate) const fn has_one_address(self) -> bool {
        matches!(self, Self::GcpPassthrough | Self::AzureStandard)
    }

    /// Whether it accepts connections itself and makes its own to targets (HAProxy; the others pass packets on).
    pub(crate) const fn relays(self) -> bool {
        matches!(self, Self::Haproxy)
    }

    const ALL: [Self; 4] = [Self::AwsNlb, Self::GcpPassthrough, Self::AzureStandard, Self::Haproxy];

    /// Its values.
    pub(crate) const fn values(self) -> &'static Profile {
        match self {
            Self::AwsNlb => &AWS_NLB,
            Self::GcpPassthrough => &GCP_PASSTHROUGH,
            Self::AzureStandard => &AZURE_STANDARD,
            Self::Haproxy => &HAPROXY_ON_HOSTS,
        }
    }

    /// Its name in files.
    const fn name(self) -> &'static str {
        match self {
            Self::AwsNlb => "aws_nlb",
            Self::GcpPassthrough => "gcp_passthrough",
            Self::AzureStandard => "azure_standard",
            Self::Haproxy => "haproxy",
        }
    }
}

/// A value of each profile, for the schema: `aws_nlb 30s, gcp_passthrough 5s ...`.
pub(crate) fn by_profile(value: impl Fn(&Profile) -> String) -> String {
    let all = BalancerProfile::ALL.map(|profile| format!("{} {}", profile.name(), value(profile.values())));
    all.join(", ")
}

/// A value as a file has it.
pub(crate) fn word(value: impl Serialize) -> String {
    match serde_json::to_value(value) {
        Ok(serde_json::Value::String(word)) => word,
        Ok(other) => other.to_string(),
        Err(_) => String::new(),
    }
}

/// The sources of a value of each profile, for the schema.
pub(crate) fn sources(source: impl Fn(&Profile) -> &'static str) -> String {
    let all = BalancerProfile::ALL.map(|profile| format!("{}: {}", profile.name(), source(profile.values())));
    all.join("; ")
}
