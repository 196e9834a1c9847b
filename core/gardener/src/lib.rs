//! Gardener: what keeps the machines and the control planes of clusters.
//!
//! ```text
//!  shoot --scheduler--> seed --worker pools, distributed over zones--> machine deployments --machine--> machines
//!    '--admission: may its failure tolerance change?
//! ```

pub mod admission;
pub mod describe;
pub mod distribute;
pub mod druid;
pub mod garden;
pub mod gardenlet;
pub mod machine;
pub mod outage;
pub mod record;
mod shoot;
pub mod shoot_care;
pub mod shoot_controllers;

use shoot_controllers::{Druid, Gardenlet};
use zonefall_kube::controller::Factory;

/// Controllers of Gardener that act on what all others have done; those of machines and [`shoot_care`] come earlier in the run loop's table.
pub const CONTROLLERS: &[Factory] = &[outage::Outages::factory, Druid::factory, Gardenlet::factory];
