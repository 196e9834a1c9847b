//! A load balancer is down.

use super::prelude::*;
use super::target::balancer;

/// All nodes of a load balancer stop: packets to them are lost.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[schemars(inline, title = "load balancer down")]
pub struct Raw {
    /// The load balancer.
    #[schemars(title = "Load balancer", extend("x-target" = "load_balancers"))]
    pub balancer: String,
}

impl Raw {
    pub(super) fn lower(&self, ctx: &mut FaultCtx<'_, '_>) -> Option<LbDown> {
        ctx.balancer(&self.balancer).map(LbDown)
    }
}

/// All nodes of the load balancer stop: packets to them are lost.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct LbDown(pub BalancerId);

traced! { struct LbDown { 0 } }

impl FaultKind for LbDown {
    fn hits(&self) -> Vec<Hit> {
        vec![Hit::Balancer(self.0)]
    }

    fn raw(&self, scenario: &dyn Inventory) -> RawFaultKind {
        RawFaultKind::LbDown(Raw { balancer: scenario.load_balancers()[self.0].name.clone() })
    }

    fn impact(&self) -> Impact {
        Impact::Elsewhere
    }

    fn began(&self, scenario: &dyn Inventory) -> String {
        format!("{} went down", balancer(self.0, scenario))
    }

    fn ongoing(&self, scenario: &dyn Inventory) -> String {
        format!("{} still down", balancer(self.0, scenario))
    }

    fn ended(&self, scenario: &dyn Inventory) -> String {
        format!("{} is up again", balancer(self.0, scenario))
    }

    fn offers(on: Hit, _: &dyn Inventory) -> Vec<Offer> {
        let Hit::Balancer(id) = on else { return Vec::new() };
        let about = "all nodes of the load balancer are gone: packets to them vanish";
        vec![Offer { id: "lb-down", label: "Take down", about, fault: Self(id).into() }]
    }
}
