//! The scenarios that come with Zonefall, inside the program: it runs anywhere, a browser included.

/// A scenario that comes with Zonefall.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Bundled {
    /// Its name, that of its file without `.json`.
    pub name: &'static str,
    /// Its file.
    pub json: &'static str,
}

macro_rules! bundle {
    ($($name:literal),* $(,)?) => {
        [$(Bundled { name: $name, json: include_str!(concat!("../../../scenarios/", $name, ".json")) }),*]
    };
}

static BUNDLED: [Bundled; 69] = bundle![
    "zone-outage",
    "two-zones-big",
    "two-zones-small",
    "two-zones-standby",
    "two-zones-learner",
    "single-zone",
    "isolated-leader",
    "slow-disk",
    "paused-leader",
    "far-behind-follower",
    "quota-exceeded",
    "five-members",
    "eu-west-1a-outage",
    "eu-west-1a-strict",
    "node-failure-none",
    "node-failure-node",
    "node-failure-zone",
    "zone-outage-option-1",
    "zone-outage-option-2",
    "zone-outage-option-3a",
    "zone-outage-option-3b",
    "active-passive-standby",
    "active-passive-learner",
    "active-passive-two-zones",
    "rolling-maintenance",
    "seed-maintenance",
    "ha-upgrade",
    "control-plane-migration",
    "two-zone-region",
    "storage-degraded",
    "cloud-api-down",
    "many-shoots",
    "capacity",
    "cost-of-tolerance",
    "topology-hints",
    "etcd-benchmark",
    "plain-cluster",
    "lb-partitioned",
    "lb-tcp-health-only",
    "lb-throttled",
    "must-gather-in-outage",
    "local-first",
    "master-replaced",
    "lb-on-each-node",
    "lb-custom-dialer",
    "apiserver-crash",
    "apiserver-rolling-restart",
    "lb-removed-after-bootstrap",
    "outside-the-cluster-network",
    "upgrade-skew",
    "gep24-existing-solution",
    "gep24-lax-greedy",
    "gep24-backward-compatible",
    "gep24-burst",
    "gep24-zone-outage",
    "scale-down",
    "kube-proxy-cross-zone",
    "zonal-shift",
    "selector-spread",
    "volume-binding",
    "volume-names",
    "add-zone",
    "master-zone-lost",
    "zone-aware-update",
    "two-zones-drained",
    "unready-pod-evicted",
    "missing-pod-uncounted",
    "rollback-order",
    "rollout-strategies",
];

/// All scenarios that come with Zonefall, the default one first.
pub fn bundled() -> &'static [Bundled] {
    &BUNDLED
}

/// What runs when no scenario is named.
pub fn default_scenario() -> Bundled {
    BUNDLED[0]
}
