//! A zone loses power.

use super::prelude::*;

/// Every node of a zone loses power.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[schemars(inline, title = "zone loses power")]
pub struct Raw {
    /// The zone.
    #[schemars(title = "Zone", extend("x-target" = "zone"))]
    pub zone: RawFaultTarget,
}

impl Raw {
    pub(super) fn lower(&self, ctx: &mut FaultCtx<'_, '_>) -> Option<ZonePower> {
        ctx.zone(&self.zone).map(ZonePower)
    }
}

/// Every node of the zone loses power.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct ZonePower(pub FaultTarget<ZoneId>);

traced! { struct ZonePower { 0 } }

impl FaultKind for ZonePower {
    fn resolve(&mut self, leader: &dyn Fn(EtcdId) -> Leader) {
        self.0.resolve(leader);
    }

    fn hits(&self) -> Vec<Hit> {
        vec![Hit::Zone(self.0)]
    }

    fn raw(&self, scenario: &dyn Inventory) -> RawFaultKind {
        RawFaultKind::ZonePower(Raw { zone: self.0.raw(scenario) })
    }

    fn impact(&self) -> Impact {
        Impact::Stops
    }

    fn began(&self, scenario: &dyn Inventory) -> String {
        format!("{} lost power", self.0.text(scenario))
    }

    fn ongoing(&self, scenario: &dyn Inventory) -> String {
        format!("{} still without power", self.0.text(scenario))
    }

    fn ended(&self, scenario: &dyn Inventory) -> String {
        format!("{} has power again", self.0.text(scenario))
    }

    fn repair(&self, scenario: &dyn Inventory) -> String {
        format!("Restore power: {}", self.0.text(scenario))
    }

    fn offers(on: Hit, _: &dyn Inventory) -> Vec<Offer> {
        let Hit::Zone(zone) = on else { return Vec::new() };
        let about = "every node of the zone stops immediately";
        vec![Offer { id: "power-off", label: "Power off", about, fault: Self(zone).into() }]
    }
}
