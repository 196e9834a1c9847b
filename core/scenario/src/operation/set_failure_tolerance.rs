//! A shoot's control plane is to survive another kind of failure (GEP-20, "Change of failure tolerance").

use super::prelude::*;
use crate::kube::gardener::FailureTolerance;

/// A shoot and its new failure tolerance.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[schemars(inline)]
pub struct Raw {
    /// Name of the shoot.
    #[schemars(extend("x-target" = "shoots"))]
    shoot: String,
    /// New failure tolerance of the shoot.
    to: FailureTolerance,
}

impl ShootOperation for Raw {
    fn shoot(&self) -> &str {
        &self.shoot
    }

    fn change(&self, _: &dyn Fn(&str) -> Option<usize>) -> Option<ShootChange> {
        Some(ShootChange::SetTolerance(self.to))
    }
}
