//! A zone is cut off.

use super::prelude::*;

/// All packets across the boundary of a zone are dropped; inside it everything keeps running.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[schemars(inline, title = "zone partition")]
pub struct Raw {
    /// The zone.
    #[schemars(title = "Zone", extend("x-target" = "zone"))]
    pub zone: RawFaultTarget,
    /// Direction in which packets are dropped.
    #[serde(default = "Direction::both")]
    #[schemars(title = "Direction", extend("x-source" = "an empty network ACL denies both"))]
    pub direction: Direction,
}

impl Raw {
    pub(super) fn lower(&self, ctx: &mut FaultCtx<'_, '_>) -> Option<ZonePartition> {
        Some(ZonePartition { zone: ctx.zone(&self.zone)?, direction: self.direction })
    }
}

/// All packets across the boundary of the zone are dropped; inside it everything keeps running.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct ZonePartition {
    /// The zone.
    pub zone: FaultTarget<ZoneId>,
    /// Direction in which packets are dropped.
    pub direction: Direction,
}

traced! { struct ZonePartition { zone, direction } }

impl FaultKind for ZonePartition {
    fn resolve(&mut self, leader: &dyn Fn(EtcdId) -> Leader) {
        self.zone.resolve(leader);
    }

    fn hits(&self) -> Vec<Hit> {
        vec![Hit::Zone(self.zone)]
    }

    fn raw(&self, scenario: &dyn Inventory) -> RawFaultKind {
        RawFaultKind::ZonePartition(Raw { zone: self.zone.raw(scenario), direction: self.direction })
    }

    fn impact(&self) -> Impact {
        Impact::Cuts
    }

    fn began(&self, scenario: &dyn Inventory) -> String {
        self.direction.cut(&self.zone.text(scenario))
    }

    fn ongoing(&self, scenario: &dyn Inventory) -> String {
        format!("{} still cut off", self.zone.text(scenario))
    }

    fn ended(&self, scenario: &dyn Inventory) -> String {
        format!("{} is reachable again", self.zone.text(scenario))
    }

    fn offers(on: Hit, _: &dyn Inventory) -> Vec<Offer> {
        let Hit::Zone(zone) = on else { return Vec::new() };
        let cut = |id, label, about, direction| Offer { id, label, about, fault: Self { zone, direction }.into() };
        vec![
            cut(
                "cut-off",
                "Cut off",
                "drops all packets across the zone's boundary; inside the zone everything keeps running",
                Direction::Both,
            ),
            cut("cut-in", "Block inbound", "drops all packets into the zone", Direction::In),
            cut("cut-out", "Block outbound", "drops all packets out of the zone", Direction::Out),
        ]
    }
}
