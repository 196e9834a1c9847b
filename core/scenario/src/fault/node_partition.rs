//! A node is cut off.

use super::prelude::*;

/// Packets between one node and all others vanish.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[schemars(inline, title = "node partition")]
pub struct Raw {
    /// The node.
    #[schemars(title = "Node", extend("x-target" = "node"))]
    pub node: RawFaultTarget,
    /// Which packets vanish.
    #[serde(default = "Direction::both")]
    #[schemars(title = "Direction", extend("x-source" = "an empty network ACL denies both"))]
    pub direction: Direction,
}

impl Raw {
    pub(super) fn lower(&self, ctx: &mut FaultCtx<'_, '_>) -> Option<NodePartition> {
        Some(NodePartition { node: ctx.node(&self.node)?, direction: self.direction })
    }
}

/// Packets between one node and all other nodes vanish: an isolated machine.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct NodePartition {
    /// The node.
    pub node: FaultTarget<NodeId>,
    /// Which packets vanish.
    pub direction: Direction,
}

traced! { struct NodePartition { node, direction } }

impl FaultKind for NodePartition {
    fn resolve(&mut self, leader: &dyn Fn(EtcdId) -> Leader) {
        self.node.resolve(leader);
    }

    fn hits(&self) -> Vec<Hit> {
        vec![Hit::Node(self.node)]
    }

    fn impact(&self) -> Impact {
        Impact::Cuts
    }

    fn began(&self, scenario: &Scenario) -> String {
        self.direction.cut(&self.node.text(scenario))
    }

    fn ongoing(&self, scenario: &Scenario) -> String {
        format!("{} still cut off", self.node.text(scenario))
    }

    fn ended(&self, scenario: &Scenario) -> String {
        format!("{} can be reached again", self.node.text(scenario))
    }

    fn offers(on: Hit, _: &Scenario) -> Vec<Offer> {
        let Hit::Node(node) = on else { return Vec::new() };
        let cut = |id, label, about, direction| Offer { id, label, about, fault: Self { node, direction }.into() };
        vec![
            cut("cut-off", "Cut off", "packets to and from it vanish", Direction::Both),
            cut("cut-in", "Nothing gets in", "packets to it vanish", Direction::In),
            cut("cut-out", "Nothing gets out", "packets from it vanish", Direction::Out),
        ]
    }
}
