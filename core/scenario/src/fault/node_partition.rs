//! A node is cut off.

use super::prelude::*;

/// All packets between one node and all others are dropped.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[schemars(inline, title = "node partition")]
pub struct Raw {
    /// The node.
    #[schemars(title = "Node", extend("x-target" = "node"))]
    pub node: RawFaultTarget,
    /// Direction in which packets are dropped.
    #[serde(default = "Direction::both")]
    #[schemars(title = "Direction", extend("x-source" = "an empty network ACL denies both"))]
    pub direction: Direction,
}

impl Raw {
    pub(super) fn lower(&self, ctx: &mut FaultCtx<'_, '_>) -> Option<NodePartition> {
        Some(NodePartition { node: ctx.node(&self.node)?, direction: self.direction })
    }
}

/// All packets between one node and all other nodes are dropped: an isolated machine.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct NodePartition {
    /// The node.
    pub node: FaultTarget<NodeId>,
    /// Direction in which packets are dropped.
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

    fn raw(&self, scenario: &dyn Inventory) -> RawFaultKind {
        RawFaultKind::NodePartition(Raw { node: self.node.raw(scenario), direction: self.direction })
    }

    fn impact(&self) -> Impact {
        Impact::Cuts
    }

    fn began(&self, scenario: &dyn Inventory) -> String {
        self.direction.cut(&self.node.text(scenario))
    }

    fn ongoing(&self, scenario: &dyn Inventory) -> String {
        format!("{} still cut off", self.node.text(scenario))
    }

    fn ended(&self, scenario: &dyn Inventory) -> String {
        format!("{} is reachable again", self.node.text(scenario))
    }

    fn offers(on: Hit, _: &dyn Inventory) -> Vec<Offer> {
        let Hit::Node(node) = on else { return Vec::new() };
        let cut = |id, label, about, direction| Offer { id, label, about, fault: Self { node, direction }.into() };
        vec![
            cut("cut-off", "Cut off", "drops all packets to and from the node", Direction::Both),
            cut("cut-in", "Block inbound", "drops all packets to the node", Direction::In),
            cut("cut-out", "Block outbound", "drops all packets from the node", Direction::Out),
        ]
    }
}
