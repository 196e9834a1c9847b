//! Zone Aware Controllers for Kubernetes (github.com/aws/zone-aware-controllers-for-k8s): how pods of a StatefulSet are replaced zone after
//! zone, and how many pods of one zone may be evicted.
//!
//! ```text
//!  pods --changes--> ZoneAwareUpdates --------> the next pods of an older revision are deleted, all of one zone
//!   |                      ^ alarm
//!   |                      |
//!   |                      '-----------------> AutomaticRollbacks (a pipeline's): the revision before is rolled out
//!   '---changes--> ZoneDisruptionBudgets --status--> webhook <--asks about each eviction-- API server
//! ```
//!
//! The program is a Deployment of its own with one replica; here both controllers act while kube-controller-manager does.

mod alarm;
pub mod budgets;
pub mod describe;
pub mod record;
pub mod rollbacks;
pub mod rule;
pub mod service;
pub mod updates;
mod zones;

use zonefall_kube::controller::Factory;

/// The controllers.
pub const CONTROLLERS: &[Factory] =
    &[updates::ZoneAwareUpdates::factory, budgets::ZoneDisruptionBudgets::factory, rollbacks::AutomaticRollbacks::factory];
