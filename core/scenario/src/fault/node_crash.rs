//! A node loses power.

use super::prelude::*;

/// A node loses power: its processes stop and its unsynced writes are lost. It boots at the end of the fault.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[schemars(inline, title = "node loses power")]
pub struct Raw {
    /// The node.
    #[schemars(title = "Node", extend("x-target" = "node"))]
    pub node: RawFaultTarget,
}

impl Raw {
    pub(super) fn lower(&self, ctx: &mut FaultCtx<'_, '_>) -> Option<NodeCrash> {
        ctx.node(&self.node).map(NodeCrash)
    }
}

/// The node loses power: its processes stop and its unsynced writes are lost. It boots at the end of the fault.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct NodeCrash(pub FaultTarget<NodeId>);

traced! { struct NodeCrash { 0 } }

impl FaultKind for NodeCrash {
    fn resolve(&mut self, leader: &dyn Fn(EtcdId) -> Leader) {
        self.0.resolve(leader);
    }

    fn hits(&self) -> Vec<Hit> {
        vec![Hit::Node(self.0)]
    }

    fn raw(&self, scenario: &dyn Inventory) -> RawFaultKind {
        RawFaultKind::NodeCrash(Raw { node: self.0.raw(scenario) })
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
        let Hit::Node(node) = on else { return Vec::new() };
        let about = "the node and all its processes stop immediately";
        vec![Offer { id: "power-off", label: "Power off", about, fault: Self(node).into() }]
    }
}
