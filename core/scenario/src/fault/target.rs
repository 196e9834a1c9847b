//! What faults hit: by name, or by role at the moment they start; and what it is called.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use zonefall_kernel::traced;
use zonefall_kernel::traced::{Form, Traced};

use crate::ids::{BalancerId, EtcdId, MemberId, NodeId, VolumeId, ZoneId};
use crate::inventory::Inventory;
use crate::text::member;

/// Target of a fault: a name, or the leader when the fault starts.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(untagged)]
pub enum RawFaultTarget {
    /// Name of the target. A member whose name occurs in several clusters is written `cluster/member`.
    Named(String),
    /// The leader of this etcd cluster when the fault starts, or its node, zone or volume.
    OfLeader {
        /// The cluster.
        leader_of: String,
    },
}

/// What a fault hits: by name, or by role at the moment it starts.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub enum FaultTarget<T> {
    /// This one.
    Named(T),
    /// That of the member which leads the cluster when the fault starts (its node, its zone, its volume, itself).
    OfLeader(EtcdId),
}

/// The member that leads a cluster, and what it has.
#[derive(Clone, Copy, Debug)]
pub struct Leader {
    /// The member.
    pub member: MemberId,
    /// Its node.
    pub node: NodeId,
    /// Its zone.
    pub zone: ZoneId,
    /// Its volume.
    pub volume: VolumeId,
}

/// What a leader has one of.
pub trait OfLeader: Copy {
    /// That of this leader.
    fn of(leader: Leader) -> Self;
}

impl OfLeader for MemberId {
    fn of(leader: Leader) -> Self {
        leader.member
    }
}

impl OfLeader for NodeId {
    fn of(leader: Leader) -> Self {
        leader.node
    }
}

impl OfLeader for ZoneId {
    fn of(leader: Leader) -> Self {
        leader.zone
    }
}

impl OfLeader for VolumeId {
    fn of(leader: Leader) -> Self {
        leader.volume
    }
}

impl<T: Copy> FaultTarget<T> {
    /// What a resolved target names.
    pub fn named(self) -> T {
        match self {
            Self::Named(target) => target,
            Self::OfLeader(_) => unreachable!("targets are resolved when a fault starts"),
        }
    }
}

impl<T: OfLeader> FaultTarget<T> {
    pub(super) fn resolve(&mut self, leader: &dyn Fn(EtcdId) -> Leader) {
        if let Self::OfLeader(cluster) = *self {
            *self = Self::Named(T::of(leader(cluster)));
        }
    }
}

impl<T: Traced> Traced for FaultTarget<T> {
    fn trace(&self, form: &mut Form) {
        match self {
            Self::Named(target) => {
                form.byte(0);
                target.trace(form);
            }
            Self::OfLeader(cluster) => {
                form.byte(1);
                cluster.trace(form);
            }
        }
    }
}

/// Which directions of a cut are blocked.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Direction {
    /// Packets into the node or zone are dropped.
    In,
    /// Packets out of the node or zone are dropped.
    Out,
    /// Packets are dropped in both directions.
    Both,
}

traced! { enum Direction { In = 0, Out = 1, Both = 2 } }

impl Direction {
    pub(super) const fn both() -> Self {
        Self::Both
    }

    /// Says that something is cut off so.
    pub(super) fn cut(self, what: &str) -> String {
        match self {
            Self::Both => format!("{what} cut off"),
            Self::In => format!("{what} cut off (inbound blocked)"),
            Self::Out => format!("{what} cut off (outbound blocked)"),
        }
    }
}

/// Where one end of a link is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
pub enum Place {
    /// Anywhere in the zone.
    Zone(ZoneId),
    /// On the node.
    Node(NodeId),
}

traced! { enum Place { Zone(zone) = 0, Node(node) = 1 } }

impl Place {
    /// Its name.
    pub fn name(self, scenario: &dyn Inventory) -> &str {
        match self {
            Self::Zone(zone) => &scenario.zones()[zone].name,
            Self::Node(node) => &scenario.nodes()[node].name,
        }
    }

    pub(super) fn check(self, scenario: &dyn Inventory) -> Result<(), String> {
        match self {
            Self::Zone(zone) => has("zone", zone.0.into(), scenario.zones().len()),
            Self::Node(node) => has("node", node.0.into(), scenario.nodes().len()),
        }
    }
}

/// Something that a fault hits.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Hit {
    /// A node.
    Node(FaultTarget<NodeId>),
    /// All of a zone, or its boundary.
    Zone(FaultTarget<ZoneId>),
    /// A member of an etcd cluster.
    Member(FaultTarget<MemberId>),
    /// A volume.
    Volume(FaultTarget<VolumeId>),
    /// The way between two places; twice the same zone is the network inside it.
    Link(Place, Place),
    /// A load balancer.
    Balancer(BalancerId),
}

impl Hit {
    /// Whether the scenario has it.
    pub(super) fn check(self, scenario: &dyn Inventory) -> Result<(), String> {
        let cluster = |id: EtcdId| has("etcd cluster", id.0.into(), scenario.etcd().len());
        match self {
            Self::Node(FaultTarget::Named(node)) => Place::Node(node).check(scenario),
            Self::Zone(FaultTarget::Named(zone)) => Place::Zone(zone).check(scenario),
            Self::Member(FaultTarget::Named(id)) => {
                cluster(id.cluster)?;
                has("member", id.index.into(), scenario.etcd()[id.cluster].members.len())
            }
            Self::Volume(FaultTarget::Named(id)) => has("volume", id.0.into(), scenario.volumes().len()),
            Self::Link(a, b) => a.check(scenario).and_then(|()| b.check(scenario)),
            Self::Balancer(id) => has("load balancer", id.0.into(), scenario.load_balancers().len()),
            Self::Node(FaultTarget::OfLeader(id))
            | Self::Zone(FaultTarget::OfLeader(id))
            | Self::Member(FaultTarget::OfLeader(id))
            | Self::Volume(FaultTarget::OfLeader(id)) => cluster(id),
        }
    }
}

fn has(what: &str, id: usize, count: usize) -> Result<(), String> {
    if id < count { Ok(()) } else { Err(format!("the scenario has no {what} {id}: it has {count}, numbered from 0")) }
}

/// The leader of a cluster, or what it has, as a scenario file says it.
fn raw_leader(cluster: EtcdId, scenario: &dyn Inventory) -> RawFaultTarget {
    RawFaultTarget::OfLeader { leader_of: scenario.etcd()[cluster].name.clone() }
}

fn of_leader(what: &str, cluster: EtcdId, scenario: &dyn Inventory) -> String {
    format!("{what} of the leader of {}", scenario.etcd()[cluster].name)
}

impl FaultTarget<NodeId> {
    pub(super) fn raw(self, scenario: &dyn Inventory) -> RawFaultTarget {
        match self {
            Self::Named(node) => RawFaultTarget::Named(scenario.nodes()[node].name.clone()),
            Self::OfLeader(cluster) => raw_leader(cluster, scenario),
        }
    }

    pub(super) fn text(self, scenario: &dyn Inventory) -> String {
        match self {
            Self::Named(node) => format!("node {}", scenario.nodes()[node].name),
            Self::OfLeader(cluster) => of_leader("node (that", cluster, scenario) + ")",
        }
    }
}

impl FaultTarget<ZoneId> {
    pub(super) fn raw(self, scenario: &dyn Inventory) -> RawFaultTarget {
        match self {
            Self::Named(zone) => RawFaultTarget::Named(scenario.zones()[zone].name.clone()),
            Self::OfLeader(cluster) => raw_leader(cluster, scenario),
        }
    }

    pub(super) fn text(self, scenario: &dyn Inventory) -> String {
        match self {
            Self::Named(zone) => format!("zone {}", scenario.zones()[zone].name),
            Self::OfLeader(cluster) => of_leader("zone (that", cluster, scenario) + ")",
        }
    }
}

impl FaultTarget<MemberId> {
    pub(super) fn raw(self, scenario: &dyn Inventory) -> RawFaultTarget {
        match self {
            Self::Named(id) if scenario.etcd().len() == 1 => RawFaultTarget::Named(member(scenario, id).to_owned()),
            Self::Named(id) => RawFaultTarget::Named(format!("{}/{}", scenario.etcd()[id.cluster].name, member(scenario, id))),
            Self::OfLeader(cluster) => raw_leader(cluster, scenario),
        }
    }

    pub(super) fn text(self, scenario: &dyn Inventory) -> String {
        match self {
            Self::Named(id) => member(scenario, id).to_owned(),
            Self::OfLeader(cluster) => of_leader("the process", cluster, scenario),
        }
    }
}

impl FaultTarget<VolumeId> {
    pub(super) fn raw(self, scenario: &dyn Inventory) -> RawFaultTarget {
        match self {
            Self::Named(volume) => RawFaultTarget::Named(scenario.volumes()[volume].name.clone()),
            Self::OfLeader(cluster) => raw_leader(cluster, scenario),
        }
    }

    /// A volume by the member that uses it (the first, where several do), or by its own name.
    pub(super) fn text(self, scenario: &dyn Inventory) -> String {
        let volume = match self {
            Self::Named(volume) => volume,
            Self::OfLeader(cluster) => return of_leader("disk", cluster, scenario),
        };
        let user = scenario.etcd().iter().flat_map(|c| &c.members).find(|m| m.volume == volume);
        format!("disk of {}", user.map_or(&scenario.volumes()[volume].name, |m| &m.name))
    }
}

/// The link between two places, or the network inside a zone.
pub(super) fn link(a: Place, b: Place, scenario: &dyn Inventory) -> String {
    if a == b {
        format!("the network inside {}", a.name(scenario))
    } else {
        format!("the link {} - {}", a.name(scenario), b.name(scenario))
    }
}

/// A load balancer by its name.
pub(super) fn balancer(id: BalancerId, scenario: &dyn Inventory) -> String {
    format!("load balancer {}", scenario.load_balancers()[id].name)
}
