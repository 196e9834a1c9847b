//! A load balancer passes on fewer bytes.

use super::prelude::*;
use super::target::balancer;
use crate::error::quote;
use crate::units::Bandwidth;

/// Each node of a load balancer passes on at most this bandwidth: responses to `api_clients` queue for it, and so do those to kubelets and
/// components, whose own traffic is too small to count.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[schemars(inline, title = "load balancer throttled")]
pub struct Raw {
    /// The load balancer.
    #[schemars(title = "Load balancer", extend("x-target" = "load_balancers"))]
    pub balancer: String,
    /// Bandwidth of each of its nodes.
    #[schemars(title = "Bandwidth", extend("x-min" = "1kB/s", "examples" = ["1MB/s"]))]
    pub bandwidth: Bandwidth,
}

impl Raw {
    pub(super) fn lower(&self, ctx: &mut FaultCtx<'_, '_>) -> Option<LbThrottled> {
        let (bytes_per_s, balancer) = (self.bandwidth.bytes_per_s(), ctx.balancer(&self.balancer)?);
        let usual = ctx.balancer_spec(balancer).and_then(|spec| spec.bandwidth);
        if let Some(usual) = usual.filter(|usual| *usual <= bytes_per_s) {
            let expected = format!("less than the load balancer's own {}", Bandwidth::from_bytes_per_s(usual));
            ctx.warn("bandwidth", &quote(&self.bandwidth.to_string()), &expected);
        }
        Some(LbThrottled { balancer, bytes_per_s })
    }
}

/// Each node of the load balancer passes on at most `bytes_per_s`.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct LbThrottled {
    /// The load balancer.
    pub balancer: BalancerId,
    /// Bytes per second.
    pub bytes_per_s: u64,
}

traced! { struct LbThrottled { balancer, bytes_per_s } }

impl LbThrottled {
    fn bandwidth(&self) -> Bandwidth {
        Bandwidth::from_bytes_per_s(self.bytes_per_s)
    }
}

impl FaultKind for LbThrottled {
    fn hits(&self) -> Vec<Hit> {
        vec![Hit::Balancer(self.balancer)]
    }

    fn raw(&self, scenario: &dyn Inventory) -> RawFaultKind {
        let balancer = scenario.load_balancers()[self.balancer].name.clone();
        RawFaultKind::LbThrottled(Raw { balancer, bandwidth: self.bandwidth() })
    }

    fn impact(&self) -> Impact {
        Impact::Elsewhere
    }

    fn began(&self, scenario: &dyn Inventory) -> String {
        format!("{} was throttled to {}", balancer(self.balancer, scenario), self.bandwidth())
    }

    fn ongoing(&self, scenario: &dyn Inventory) -> String {
        format!("{} still throttled to {}", balancer(self.balancer, scenario), self.bandwidth())
    }

    fn ended(&self, scenario: &dyn Inventory) -> String {
        format!("{} is no longer throttled", balancer(self.balancer, scenario))
    }

    fn offers(on: Hit, _: &dyn Inventory) -> Vec<Offer> {
        let Hit::Balancer(balancer) = on else { return Vec::new() };
        let about = "each of its nodes passes on 1 MB/s: responses queue";
        vec![Offer { id: "lb-throttle", label: "Throttle", about, fault: Self { balancer, bytes_per_s: 1_000_000 }.into() }]
    }
}
