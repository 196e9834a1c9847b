//! Gardener: what keeps the machines and the control planes of clusters.

pub mod care;
pub mod machine;
pub mod outage;
