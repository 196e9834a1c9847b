//! Traffic is shifted away from a zone for a time (Amazon Application Recovery Controller, "Zonal shift"; with EKS).

use super::prelude::*;
use crate::error::quote;
use crate::ids::ZoneId;
use crate::kube::ZonalShift;
use crate::text::duration;
use crate::units::Span;

/// The cluster, the zone, and for how long.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[schemars(inline)]
pub struct Raw {
    /// Name of a cluster without Gardener.
    #[schemars(extend("x-target" = "clusters"))]
    cluster: String,
    /// Name of a zone in which it has nodes.
    zone: String,
    /// How long the shift lasts.
    #[serde(rename = "for")]
    #[schemars(extend("x-min" = "1m", "x-max" = "3d"))]
    lasts: Span,
}

impl ClusterOperation for Raw {
    fn tasks(&self, ctx: &mut OperationCtx<'_, '_>) -> Vec<(usize, Task)> {
        let site = ctx.find(ctx.clusters, "cluster", &self.cluster);
        let zone = ctx.find(ctx.zones, "zone", &self.zone).map(|zone| ZoneId(zone as u16));
        let shift = |(site, zone): (usize, ZoneId)| {
            let deployments = &ctx.lowering.clusters[site].cluster.machine_deployments;
            if deployments.iter().all(|deployment| deployment.zone != zone) {
                ctx.error("zone", quote(&self.zone), format!("a zone in which {} has nodes", self.cluster));
                return None;
            }
            Some((site, Task::ShiftZone(ZonalShift { zone, lasts: self.lasts.0 })))
        };
        site.zip(zone).and_then(shift).into_iter().collect()
    }
}

pub(super) fn describe(shift: ZonalShift, cluster: &KubeClusterSpec, scenario: &dyn Inventory) -> String {
    let zone = &scenario.zones()[shift.zone].name;
    format!("shifts the traffic of {} away from zone {zone} for {}", cluster.name, duration(shift.lasts))
}

pub(super) fn subject(shift: ZonalShift, _: &KubeClusterSpec, scenario: &dyn Inventory) -> TaskSubject {
    TaskSubject::Zone(scenario.zones()[shift.zone].name.clone())
}
