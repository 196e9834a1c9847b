//! A zone is cut off.

use super::prelude::*;

/// Packets across a zone's boundary vanish; inside it everything goes on.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[schemars(inline, title = "zone partition")]
pub struct Raw {
    /// The zone.
    #[schemars(title = "Zone", extend("x-target" = "zone"))]
    pub zone: RawFaultTarget,
    /// Which packets vanish.
    #[serde(default = "Direction::both")]
    #[schemars(title = "Direction", extend("x-source" = "an empty network ACL denies both"))]
    pub direction: Direction,
}

impl Raw {
    pub(super) fn lower(&self, ctx: &mut FaultCtx<'_, '_>) -> Option<ZonePartition> {
        Some(ZonePartition { zone: ctx.zone(&self.zone)?, direction: self.direction })
    }
}

/// Packets across the zone's boundary vanish; inside it everything goes on.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct ZonePartition {
    /// The zone.
    pub zone: FaultTarget<ZoneId>,
    /// Which packets vanish.
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

    fn impact(&self) -> Impact {
        Impact::Cuts
    }

    fn began(&self, scenario: &Scenario) -> String {
        self.direction.cut(&self.zone.text(scenario))
    }

    fn ongoing(&self, scenario: &Scenario) -> String {
        format!("{} still cut off", self.zone.text(scenario))
    }

    fn ended(&self, scenario: &Scenario) -> String {
        format!("{} can be reached again", self.zone.text(scenario))
    }

    fn offers(on: Hit, _: &Scenario) -> Vec<Offer> {
        let Hit::Zone(zone) = on else { return Vec::new() };
        let cut = |id, label, about, direction| Offer { id, label, about, fault: Self { zone, direction }.into() };
        vec![
            cut("cut-off", "Cut off", "packets across its boundary vanish; inside it all goes on", Direction::Both),
            cut("cut-in", "Nothing gets in", "packets into it vanish", Direction::In),
            cut("cut-out", "Nothing gets out", "packets out of it vanish", Direction::Out),
        ]
    }
}
