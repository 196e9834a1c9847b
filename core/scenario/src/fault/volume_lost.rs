//! A volume is lost.

use super::prelude::*;

/// A volume and all data on it are lost; at the end of the fault an empty volume replaces it.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[schemars(inline, title = "disk lost")]
pub struct Raw {
    /// Name of the volume; a member's own volume has the name of the member.
    #[schemars(title = "Disk of", extend("x-target" = "volume"))]
    pub volume: RawFaultTarget,
}

impl Raw {
    pub(super) fn lower(&self, ctx: &mut FaultCtx<'_, '_>) -> Option<VolumeLost> {
        let volume = ctx.volume(&self.volume)?;
        ctx.is_never_replaced(volume);
        Some(VolumeLost(volume))
    }
}

/// The volume and all on it is gone; at the end an empty one stands in its place.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct VolumeLost(pub FaultTarget<VolumeId>);

traced! { struct VolumeLost { 0 } }

impl FaultKind for VolumeLost {
    fn resolve(&mut self, leader: &dyn Fn(EtcdId) -> Leader) {
        self.0.resolve(leader);
    }

    fn hits(&self) -> Vec<Hit> {
        vec![Hit::Volume(self.0)]
    }

    fn raw(&self, scenario: &dyn Inventory) -> RawFaultKind {
        RawFaultKind::VolumeLost(Raw { volume: self.0.raw(scenario) })
    }

    fn impact(&self) -> Impact {
        Impact::Stops
    }

    fn began(&self, scenario: &dyn Inventory) -> String {
        format!("{} was lost", self.0.text(scenario))
    }

    fn ongoing(&self, scenario: &dyn Inventory) -> String {
        format!("{} still lost", self.0.text(scenario))
    }

    fn ended(&self, scenario: &dyn Inventory) -> String {
        format!("an empty disk replaces the {}", self.0.text(scenario))
    }

    fn offers(on: Hit, _: &dyn Inventory) -> Vec<Offer> {
        let Hit::Volume(volume) = on else { return Vec::new() };
        let about = "the volume and all data on it are lost";
        vec![Offer { id: "lose-volume", label: "Lose volume", about, fault: Self(volume).into() }]
    }
}
