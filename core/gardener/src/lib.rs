//! Gardener: what keeps the machines and the control planes of clusters.
//!
//! ```text
//!  shoot --scheduler--> seed --worker pools, distributed over zones--> machine deployments --machine--> machines
//!    '--admission: may its failure tolerance change?
//! ```

pub mod admission;
pub mod capacity;
pub mod describe;
pub mod distribute;
pub mod druid;
pub mod garden;
pub mod gardenlet;
pub mod machine;
pub mod outage;
pub mod record;
pub mod shoot_care;
