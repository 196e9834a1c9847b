//! When a zone counts as disrupted, and how fast its nodes' pods are evicted then.

/// Options of the controller that decide it.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Options {
    /// Share of nodes not ready, in hundredths, from which a zone is disrupted (`unhealthy-zone-threshold`).
    pub unhealthy_percent: u64,
    /// A disrupted zone of more nodes than this goes on evicting, slowly (`large-cluster-size-threshold`).
    pub large_zone: u64,
    /// Evictions per second (`node-eviction-rate`).
    pub rate: f64,
    /// Evictions per second in a large disrupted zone (`secondary-node-eviction-rate`).
    pub secondary_rate: f64,
}

impl Default for Options {
    /// Those of the controller manager (`pkg/controller/apis/config/v1alpha1/defaults.go`).
    fn default() -> Self {
        Self { unhealthy_percent: 55, large_zone: 50, rate: 0.1, secondary_rate: 0.01 }
    }
}
