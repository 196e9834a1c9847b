//! Gardener: what keeps the machines and the control planes of clusters.

pub mod distribute;
pub mod machine;
