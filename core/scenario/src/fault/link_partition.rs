//! A link is cut.

use super::prelude::*;
use super::target::link;
use crate::error::quote;

/// All packets between two zones or nodes are dropped, in both directions; both still reach everything else.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[schemars(inline, title = "link partition")]
pub struct Raw {
    /// Two zones, two nodes, or a zone and a node; the same zone twice means the network inside it. A name that a zone and a node share
    /// means the zone.
    #[schemars(title = "Between", extend("x-target" = "place"))]
    pub between: [String; 2],
}

impl Raw {
    pub(super) fn lower(&self, ctx: &mut FaultCtx<'_, '_>) -> Option<LinkPartition> {
        let [a, b] = [0, 1].map(|k| ctx.zone_or_node(&format!("between[{k}]"), &self.between[k]));
        let (a, b) = a.zip(b)?;
        let fault = LinkPartition { a, b };
        if fault.limits().is_err() {
            ctx.error("between[1]", &quote(&self.between[1]), "another node: a node has no link to itself");
        }
        Some(fault)
    }
}

/// All packets between two places are dropped, in both directions.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct LinkPartition {
    /// One end.
    pub a: Place,
    /// The other; the same zone: the inside of that zone.
    pub b: Place,
}

traced! { struct LinkPartition { a, b } }

impl FaultKind for LinkPartition {
    fn hits(&self) -> Vec<Hit> {
        vec![Hit::Link(self.a, self.b)]
    }

    fn limits(&self) -> Result<(), String> {
        match self.a {
            Place::Node(_) if self.a == self.b => Err("expected two different nodes: a node has no link to itself".to_owned()),
            _ => Ok(()),
        }
    }

    fn raw(&self, scenario: &dyn Inventory) -> RawFaultKind {
        RawFaultKind::LinkPartition(Raw { between: [self.a, self.b].map(|place| place.name(scenario).to_owned()) })
    }

    fn impact(&self) -> Impact {
        Impact::Cuts
    }

    fn began(&self, scenario: &dyn Inventory) -> String {
        format!("{} was cut", link(self.a, self.b, scenario))
    }

    fn ongoing(&self, scenario: &dyn Inventory) -> String {
        format!("{} still cut", link(self.a, self.b, scenario))
    }

    fn ended(&self, scenario: &dyn Inventory) -> String {
        format!("{} carries packets again", link(self.a, self.b, scenario))
    }

    fn mark(&self) -> String {
        "cut".to_owned()
    }

    fn offers(on: Hit, _: &dyn Inventory) -> Vec<Offer> {
        let Hit::Link(a, b) = on else { return Vec::new() };
        let about = "drops all packets between the two; both still reach everything else";
        vec![Offer { id: "cut-off", label: "Cut this link", about, fault: Self { a, b }.into() }]
    }
}
