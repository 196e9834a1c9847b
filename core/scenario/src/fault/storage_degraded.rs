//! The storage of a zone becomes slow: a [`DiskSlow`] for each of its volumes.

use super::disk_slow::RawSlowdown;
use super::prelude::*;

/// Every fsync and transfer of all volumes of a zone takes longer.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[schemars(inline, title = "slow storage in a zone")]
pub struct Raw {
    /// The zone.
    #[schemars(title = "Zone", extend("x-target" = "zone"))]
    pub zone: String,
    /// How much slower the volumes become.
    #[serde(flatten)]
    pub slowdown: RawSlowdown,
}

impl Raw {
    pub(super) fn lower(&self, ctx: &mut FaultCtx<'_, '_>) -> Vec<Fault> {
        self.slowdown.check("storage_degraded", ctx);
        let volumes = ctx.volumes_in(&self.zone);
        volumes.into_iter().map(|volume| self.slowdown.of(FaultTarget::Named(volume)).into()).collect()
    }
}
