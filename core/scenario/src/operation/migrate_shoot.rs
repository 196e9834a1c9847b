//! A shoot's control plane moves to another seed (Gardener, control plane migration).

use super::prelude::*;

/// A shoot and where it moves.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[schemars(inline)]
pub struct Raw {
    /// The shoot.
    #[schemars(extend("x-target" = "shoots"))]
    shoot: String,
    /// The seed that is to host it.
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
