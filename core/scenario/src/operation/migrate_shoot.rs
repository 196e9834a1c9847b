//! A shoot's control plane moves to another seed (Gardener, control plane migration).

use super::prelude::*;

/// A shoot and its new seed.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[schemars(inline)]
pub struct Raw {
    /// Name of the shoot.
    #[schemars(extend("x-target" = "shoots"))]
    shoot: String,
    /// Name of the new seed.
    #[schemars(extend("x-target" = "seeds"))]
    seed: String,
}

impl ShootOperation for Raw {
    fn shoot(&self) -> &str {
        &self.shoot
    }

    fn change(&self, seed: &dyn Fn(&str) -> Option<usize>) -> Option<ShootChange> {
        seed(&self.seed).map(ShootChange::Migrate)
    }

    fn check(&self, ctx: &mut OperationCtx<'_, '_>) {
        ctx.seed(&self.seed);
    }
}
