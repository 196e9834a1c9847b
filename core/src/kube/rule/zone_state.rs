//! How disrupted a zone is, and how fast its nodes' pods are evicted (`pkg/controller/nodelifecycle`, `ComputeZoneState` and
//! `handleDisruption`).

/// A zone as the node lifecycle controller sees it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ZoneState {
    /// Enough of its nodes are ready.
    Normal,
    /// Many of its nodes are not.
    PartialDisruption,
    /// None of its nodes is.
    FullDisruption,
}

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

/// Fewer nodes that are not ready are no disruption of their zone.
const FEW: u64 = 2;

/// The state of a zone with so many nodes ready and not ready. (A node that never reported is not ready; one that is excluded from
/// disruption, by its label, is not counted.)
pub fn zone_state(ready: u64, not_ready: u64, options: &Options) -> ZoneState {
    if ready == 0 && not_ready > 0 {
        ZoneState::FullDisruption
    } else if not_ready > FEW && 100 * not_ready >= options.unhealthy_percent * (ready + not_ready) {
        ZoneState::PartialDisruption
    } else {
        ZoneState::Normal
    }
}

/// Nodes tainted `NoExecute` per second in a zone of `nodes` nodes. (Where all zones are fully disrupted nothing is evicted at all:
/// the controller rather doubts itself.)
pub fn eviction_rate(state: ZoneState, nodes: u64, options: &Options) -> f64 {
    match state {
        ZoneState::Normal | ZoneState::FullDisruption => options.rate,
        ZoneState::PartialDisruption if nodes > options.large_zone => options.secondary_rate,
        ZoneState::PartialDisruption => 0.0,
    }
}
