//! A load balancer only checks whether ports accept connections.

use super::prelude::*;
use super::target::balancer;
use crate::access::CheckKind;
use crate::error::quote;

/// The health checks of a load balancer only test whether the port of an API server accepts connections, whatever its `check` says.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[schemars(inline, title = "load balancer checks TCP only")]
pub struct Raw {
    /// The load balancer.
    #[schemars(title = "Load balancer", extend("x-target" = "load_balancers"))]
    pub balancer: String,
}

impl Raw {
    pub(super) fn lower(&self, ctx: &mut FaultCtx<'_, '_>) -> Option<LbTcpHealthOnly> {
        let balancer = ctx.balancer(&self.balancer)?;
        if ctx.balancer_spec(balancer).is_some_and(|spec| spec.check.kind == CheckKind::Tcp) {
            let expected = "a load balancer whose `check` is `readyz`: this one only tests the port anyway";
            ctx.warn("balancer", &quote(&self.balancer), expected);
        }
        Some(LbTcpHealthOnly(balancer))
    }
}

/// The health checks of the load balancer only test whether a port accepts connections.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct LbTcpHealthOnly(pub BalancerId);

traced! { struct LbTcpHealthOnly { 0 } }

impl FaultKind for LbTcpHealthOnly {
    fn hits(&self) -> Vec<Hit> {
        vec![Hit::Balancer(self.0)]
    }

    fn raw(&self, scenario: &dyn Inventory) -> RawFaultKind {
        RawFaultKind::LbTcpHealthOnly(Raw { balancer: scenario.load_balancers()[self.0].name.clone() })
    }

    fn impact(&self) -> Impact {
        Impact::Elsewhere
    }

    fn began(&self, scenario: &dyn Inventory) -> String {
        format!("{} checks TCP only", balancer(self.0, scenario))
    }

    fn ongoing(&self, scenario: &dyn Inventory) -> String {
        format!("{} still checks TCP only", balancer(self.0, scenario))
    }

    fn ended(&self, scenario: &dyn Inventory) -> String {
        format!("{} checks as configured again", balancer(self.0, scenario))
    }

    fn offers(on: Hit, _: &dyn Inventory) -> Vec<Offer> {
        let Hit::Balancer(id) = on else { return Vec::new() };
        let about = "its health checks only ask whether the port accepts connections";
        vec![Offer { id: "lb-tcp-only", label: "Check TCP only", about, fault: Self(id).into() }]
    }
}
