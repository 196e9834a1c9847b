//! How disrupted a zone is, and how fast its nodes' pods are evicted (`pkg/controller/nodelifecycle`, `ComputeZoneState` and
//! `handleDisruption`).

use serde::{Deserialize, Serialize};

use zonefall_kernel::traced;
pub use zonefall_scenario::kube::disruption::Options;

/// A zone as the node lifecycle controller sees it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum ZoneState {
    /// Enough of its nodes are ready.
    Normal,
    /// Many of its nodes are not.
    PartialDisruption,
    /// None of its nodes is.
    FullDisruption,
}

traced! { enum ZoneState { Normal = 0, PartialDisruption = 1, FullDisruption = 2 } }

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
