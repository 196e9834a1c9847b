//! A load balancer no longer updates its view of its targets.

use super::prelude::*;
use super::target::balancer;

/// A load balancer keeps the health of its API servers as it was when the fault began, whatever its checks find.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[schemars(inline, title = "load balancer has stale targets")]
pub struct Raw {
    /// The load balancer.
    #[schemars(title = "Load balancer", extend("x-target" = "load_balancers"))]
    pub balancer: String,
}

impl Raw {
    pub(super) fn lower(&self, ctx: &mut FaultCtx<'_, '_>) -> Option<LbStaleTargets> {
        ctx.balancer(&self.balancer).map(LbStaleTargets)
    }
}

/// The load balancer keeps the health of its targets as it was when the fault began, whatever its checks find.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct LbStaleTargets(pub BalancerId);

traced! { struct LbStaleTargets { 0 } }

impl FaultKind for LbStaleTargets {
    fn hits(&self) -> Vec<Hit> {
        vec![Hit::Balancer(self.0)]
    }

    fn raw(&self, scenario: &dyn Inventory) -> RawFaultKind {
        RawFaultKind::LbStaleTargets(Raw { balancer: scenario.load_balancers()[self.0].name.clone() })
    }

    fn impact(&self) -> Impact {
        Impact::Elsewhere
    }

    fn began(&self, scenario: &dyn Inventory) -> String {
        format!("{} does not update the health of its targets", balancer(self.0, scenario))
    }

    fn ongoing(&self, scenario: &dyn Inventory) -> String {
        format!("{} still does not update the health of its targets", balancer(self.0, scenario))
    }

    fn ended(&self, scenario: &dyn Inventory) -> String {
        format!("{} updates the health of its targets again", balancer(self.0, scenario))
    }

    fn offers(on: Hit, _: &dyn Inventory) -> Vec<Offer> {
        let Hit::Balancer(id) = on else { return Vec::new() };
        let about = "it keeps its view of its targets: which there are, and which are healthy";
        vec![Offer { id: "lb-stale", label: "Freeze targets", about, fault: Self(id).into() }]
    }
}
