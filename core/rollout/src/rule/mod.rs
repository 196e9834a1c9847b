//! Decisions of the zone-aware controllers, each restated from its source and held against that source's own tests (`tests/oracles/`).

pub mod zone_aware_update;
pub mod zone_disruption_budget;
