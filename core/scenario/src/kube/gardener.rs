//! Gardener as a scenario has it.

use serde::{Deserialize, Serialize};

/// Which failure the control plane of a shoot survives (GEP-20, `highAvailability.failureTolerance.type`).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, Serialize, Deserialize, schemars::JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum FailureTolerance {
    /// None: one of everything.
    #[default]
    None,
    /// That of a node: several nodes of one zone.
    Node,
    /// That of a zone: several zones.
    Zone,
}
