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

use zonefall_kube::controller::Factory;

/// Controllers of Gardener that act on what all others have done; those of machines and [`shoot_care`] come earlier in the run loop's table.
pub const CONTROLLERS: &[Factory] = &[outage::Outages::factory, druid::Druid::factory, gardenlet::Gardenlet::factory];
