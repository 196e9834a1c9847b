//! A load balancer is removed.

use super::prelude::*;
use super::target::balancer;

/// A load balancer is deleted, as after the bootstrap of a cluster: its nodes stop and its DNS name no longer resolves. Connections are reset, and dials fail immediately.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[schemars(inline, title = "load balancer removed")]
pub struct Raw {
    /// The load balancer.
    #[schemars(title = "Load balancer", extend("x-target" = "load_balancers"))]
    pub balancer: String,
}

impl Raw {
    pub(super) fn lower(&self, ctx: &mut FaultCtx<'_, '_>) -> Option<LbRemoved> {
        ctx.balancer(&self.balancer).map(LbRemoved)
    }
}

/// The load balancer is deleted: its nodes stop and its DNS name no longer resolves. Connections are reset, and dials fail immediately.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct LbRemoved(pub BalancerId);

traced! { struct LbRemoved { 0 } }

impl FaultKind for LbRemoved {
    fn hits(&self) -> Vec<Hit> {
        vec![Hit::Balancer(self.0)]
    }

    fn raw(&self, scenario: &dyn Inventory) -> RawFaultKind {
        RawFaultKind::LbRemoved(Raw { balancer: scenario.load_balancers()[self.0].name.clone() })
    }

    fn impact(&self) -> Impact {
        Impact::Elsewhere
    }

    fn began(&self, scenario: &dyn Inventory) -> String {
        format!("{} was removed", balancer(self.0, scenario))
    }

    fn ongoing(&self, scenario: &dyn Inventory) -> String {
        format!("{} still removed", balancer(self.0, scenario))
    }

    fn ended(&self, scenario: &dyn Inventory) -> String {
        format!("{} was created again", balancer(self.0, scenario))
    }

    fn offers(on: Hit, _: &dyn Inventory) -> Vec<Offer> {
        let Hit::Balancer(id) = on else { return Vec::new() };
        let about = "deletes it and its name: connections are reset, dials fail immediately";
        vec![Offer { id: "lb-remove", label: "Remove", about, fault: Self(id).into() }]
    }
}
