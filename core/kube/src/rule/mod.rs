//! Decisions of Kubernetes' controllers, each restated from its source and held against that source's own tests (`tests/oracles/`).

pub mod affinity;
pub mod budget;
pub mod eviction_records;
pub mod fairness;
pub mod hints;
pub mod leader_election;
pub mod proxy;
pub mod resources;
pub mod rollout;
pub mod selector_spread;
pub mod spread;
pub mod stateful_set;
pub mod taints;
pub mod traffic_distribution;
pub mod volume_zone;
pub mod zone_state;

pub use zonefall_scenario::kube::labels;
