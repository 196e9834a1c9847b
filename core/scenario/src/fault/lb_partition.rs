//! A load balancer is cut off.

use super::prelude::*;
use super::target::balancer;
use crate::error::quote;

/// All packets between the nodes of a load balancer and hosts in some places are dropped, in both directions; both still reach everything
/// else.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[schemars(inline, title = "load balancer cut off")]
pub struct Raw {
    /// The load balancer.
    #[schemars(title = "Load balancer", extend("x-target" = "load_balancers"))]
    pub balancer: String,
    /// Zones and nodes that it is cut off from. A name that a zone and a node share means the zone.
    #[serde(default)]
    #[schemars(
        title = "From",
        length(max = 1_000),
        extend("x-default" = "every host", "x-source" = "assumed: the load balancer itself is cut off")
    )]
    pub from: Vec<String>,
}

impl Raw {
    pub(super) fn lower(&self, ctx: &mut FaultCtx<'_, '_>) -> Option<LbPartition> {
        let balancer = ctx.balancer(&self.balancer);
        let mut from = Vec::new();
        for (k, name) in self.from.iter().enumerate() {
            let field = format!("from[{k}]");
            let Some(place) = ctx.zone_or_node(&field, name) else { continue };
            if from.contains(&place) {
                ctx.error(&field, &format!("{} again", quote(name)), "each place once");
            }
            from.push(place);
        }
        Some(LbPartition { balancer: balancer?, from })
    }
}

/// All packets between the nodes of a load balancer and hosts in some places are dropped, in both directions.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct LbPartition {
    /// The load balancer.
    pub balancer: BalancerId,
    /// Places that it is cut off from; none: every host.
    pub from: Vec<Place>,
}

impl Traced for LbPartition {
    fn trace(&self, form: &mut Form) {
        let Self { balancer, from } = self;
        balancer.trace(form);
        (from.len() as u32).trace(form);
        for place in from {
            place.trace(form);
        }
    }
}

impl LbPartition {
    /// ` from za and worker-c1`, or nothing.
    fn from(&self, scenario: &dyn Inventory) -> String {
        let names: Vec<&str> = self.from.iter().map(|place| place.name(scenario)).collect();
        match &names[..] {
            [] => String::new(),
            [only] => format!(" from {only}"),
            [start @ .., last] if names.len() <= 4 => format!(" from {} and {last}", start.join(", ")),
            several => format!(" from {} places", several.len()),
        }
    }
}

impl FaultKind for LbPartition {
    fn hits(&self) -> Vec<Hit> {
        vec![Hit::Balancer(self.balancer)]
    }

    fn raw(&self, scenario: &dyn Inventory) -> RawFaultKind {
        RawFaultKind::LbPartition(Raw {
            balancer: scenario.load_balancers()[self.balancer].name.clone(),
            from: self.from.iter().map(|place| place.name(scenario).to_owned()).collect(),
        })
    }

    fn fits(&self, scenario: &dyn Inventory) -> Result<(), String> {
        self.from.iter().try_for_each(|place| place.check(scenario))
    }

    fn impact(&self) -> Impact {
        Impact::Elsewhere
    }

    fn began(&self, scenario: &dyn Inventory) -> String {
        format!("{} cut off{}", balancer(self.balancer, scenario), self.from(scenario))
    }

    fn ongoing(&self, scenario: &dyn Inventory) -> String {
        format!("{} still cut off{}", balancer(self.balancer, scenario), self.from(scenario))
    }

    fn ended(&self, scenario: &dyn Inventory) -> String {
        format!("{} is reachable again{}", balancer(self.balancer, scenario), self.from(scenario))
    }

    fn offers(on: Hit, scenario: &dyn Inventory) -> Vec<Offer> {
        let Hit::Balancer(id) = on else { return Vec::new() };
        let cut = |id, label, about, fault: Self| Offer { id, label, about, fault: fault.into() };
        let everywhere = Self { balancer: id, from: Vec::new() };
        let mut offers =
            vec![cut("lb-cut-off", "Cut off", "drops all packets between the load balancer and every host", everywhere)];
        if let Some(zone) = scenario.load_balancers()[id].zones.first() {
            let one = Self { balancer: id, from: vec![Place::Zone(*zone)] };
            let about = "drops all packets between the load balancer and the hosts of its first zone";
            offers.push(cut("lb-cut-zone", "Cut off from a zone", about, one));
        }
        offers
    }
}
