//! What needs room on the map: how many things stand where, by number, so that places are found anew only when that changes.

use zonefall_core::ids::{MemberId, NodeId, TiVec, ZoneId};
use zonefall_core::scenario::{Node, Scenario};

use super::access::in_zones;
use crate::state::Selection;

/// What a node's card holds.
#[derive(Clone, Debug, PartialEq)]
pub struct Card {
    /// The node, or the machine that brought it.
    pub is: Selection,
    /// Where it stands.
    pub zone: ZoneId,
    /// Members with chips.
    pub members: Vec<MemberId>,
    /// It is a node of Kubernetes: its head says how it is.
    pub kube: bool,
    /// The machine that is a badge on it.
    pub badge: Option<usize>,
    /// Its pods, drawn one by one.
    pub cells: Vec<usize>,
    /// Its pods are a bar.
    pub bar: bool,
}

/// Pods that wait for the same.
#[derive(Clone, Debug, PartialEq)]
pub struct Row {
    /// Letters of what is said of them.
    pub words: usize,
    /// Each and the letters of its name.
    pub chips: Vec<(usize, usize)>,
}

/// See the module.
#[derive(Clone, Debug, PartialEq)]
pub struct Crowd {
    /// There is Kubernetes.
    pub kube: bool,
    /// What is drawn by itself.
    pub ids: Vec<Selection>,
    /// Cards: nodes of the scenario by id, then those that machines brought.
    pub cards: Vec<Card>,
    /// Machines without a node, by zone and phase.
    pub heaps: TiVec<ZoneId, Vec<Vec<usize>>>,
    /// Pods without a node, by what they wait for.
    pub rows: Vec<Row>,
    /// Nodes of load balancers and groups of clients of APIs.
    pub access: TiVec<ZoneId, Vec<Selection>>,
}

impl Card {
    /// An empty one.
    pub fn new(is: Selection, zone: ZoneId, kube: bool) -> Self {
        Self { is, zone, members: Vec::new(), kube, badge: None, cells: Vec::new(), bar: false }
    }
}

impl Crowd {
    /// Nodes and members where the scenario has them, and nothing else.
    pub fn new(scenario: &Scenario) -> Self {
        let card = |(id, node): (NodeId, &Node)| Card::new(Selection::Node(id), node.zone, false);
        let mut cards: Vec<Card> = scenario.nodes.iter_enumerated().map(card).collect();
        for (cluster, spec) in scenario.etcd.iter_enumerated() {
            for (index, member) in (0..).zip(&spec.members) {
                cards[usize::from(member.node)].members.push(MemberId { cluster, index });
            }
        }
        let (kube, heaps) = (!scenario.kube.clusters.is_empty(), vec![Vec::new(); scenario.zones.len()].into());
        Self { kube, ids: Vec::new(), cards, heaps, rows: Vec::new(), access: in_zones(scenario, None) }
    }

    /// A member is on this card.
    pub fn settle(&mut self, member: MemberId, card: usize) {
        if !self.cards[card].members.contains(&member) {
            self.cards.iter_mut().for_each(|card| card.members.retain(|other| *other != member));
            self.cards[card].members.push(member);
        }
    }
}
