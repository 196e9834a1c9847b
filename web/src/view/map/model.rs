//! What the map says of each thing at one moment: small values that compare, so that only what changed is drawn anew.

use zonefall_core::etcd::view::Down;
use zonefall_core::ids::{ClientId, EtcdId, MemberId, NodeId, TiSlice, TiVec, ZoneId};
use zonefall_core::kernel::time::Duration;
use zonefall_core::report::Report;
use zonefall_core::scenario::fault::{Direction, Fault, FaultTarget, Hit, Impact, NodePartition, Place, ZonePartition};
use zonefall_core::scenario::text;
use zonefall_core::scenario::{Client, Load, Op, Scenario, Target};
use zonefall_core::sim::Role;
use zonefall_core::sim::view::SimulationView;

use crate::view::labels as say;

/// The map at one moment.
#[derive(Clone, Debug, PartialEq)]
pub struct Model {
    /// Each zone.
    pub zones: TiVec<ZoneId, ZoneFace>,
    /// Each node.
    pub nodes: TiVec<NodeId, NodeFace>,
    /// Each member, by cluster.
    pub members: TiVec<EtcdId, Vec<MemberFace>>,
    /// Each client.
    pub clients: TiVec<ClientId, ClientFace>,
    /// Each pair of two zones.
    pub links: Vec<LinkFace>,
}

/// A zone.
#[derive(Clone, Debug, PartialEq)]
pub struct ZoneFace {
    /// Its name.
    pub name: String,
    /// Whether none of its nodes has power because the zone has none.
    pub dark: bool,
    /// What its boundary blocks.
    pub cut: Option<Direction>,
    /// A worse network inside it.
    pub degraded: Option<String>,
}

/// A node.
#[derive(Clone, Debug, PartialEq)]
pub struct NodeFace {
    /// Its name.
    pub name: String,
    /// Whether it has power.
    pub powered: bool,
    /// What its network interface blocks.
    pub cut: Option<Direction>,
    /// What ails its links to single places.
    pub link: Option<String>,
}

/// A member.
#[derive(Clone, Debug, PartialEq)]
pub struct MemberFace {
    /// Member that it shows.
    pub id: MemberId,
    /// Its name.
    pub name: String,
    /// Its shape.
    pub shape: Shape,
    /// Its role in a word.
    pub role: &'static str,
    /// Its term.
    pub term: u64,
    /// How far behind it is; empty where it is not.
    pub behind: String,
    /// What ails its disk; empty where nothing does.
    pub disk: &'static str,
}

/// Shapes of members.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Shape {
    /// ★
    Leader,
    /// ●
    Follower,
    /// ◇
    Candidate,
    /// △
    Learner,
    /// ○
    Down,
}

/// A client.
#[derive(Clone, Debug, PartialEq)]
pub struct ClientFace {
    /// Its name.
    pub name: String,
    /// What it asks whom, and how often.
    pub sends: String,
}

/// The link between two zones.
#[derive(Clone, Debug, PartialEq)]
pub struct LinkFace {
    /// The smaller id.
    pub a: ZoneId,
    /// The larger.
    pub b: ZoneId,
    /// One-way delay in words; the worse way, where they differ.
    pub delay: String,
    /// How it is worse than usual.
    pub degraded: Option<String>,
    /// Which nothing passes in at least one direction: words for it.
    pub cut: Option<&'static str>,
    /// Bytes per second, both ways.
    pub rate: u64,
}

/// Lines per link grow with the rate by a step for each factor of ten.
pub fn weight(rate: u64) -> u8 {
    match rate {
        0 => 0,
        1..10_000 => 1,
        10_000..100_000 => 2,
        100_000..1_000_000 => 3,
        1_000_000..10_000_000 => 4,
        _ => 5,
    }
}

/// The map of a picture; the report (where there is one) knows the rates. Of clusters that are not wanted there are no members:
/// thousands of them are not drawn one by one.
pub fn model(
    scenario: &Scenario,
    view: Option<&SimulationView>,
    report: Option<&Report>,
    is_wanted: impl Fn(EtcdId) -> bool,
) -> Model {
    let faults: Vec<&Fault> = view.map_or(&[][..], |p| &p.faults).iter().map(|active| &active.fault).collect();
    let zones = scenario.zones.iter_enumerated().map(|(id, zone)| ZoneFace {
        name: zone.name.clone(),
        dark: faults.iter().any(|f| hit(f, Impact::Stops, Hit::Zone(FaultTarget::Named(id)))),
        cut: cut(faults.iter().filter_map(|f| match f {
            Fault::ZonePartition(ZonePartition { zone, direction }) if zone.named() == id => Some(*direction),
            _ => None,
        })),
        degraded: links_hit(&faults, Impact::SlowsNetwork, between(id, id))
            .or_else(|| links_hit(&faults, Impact::Cuts, between(id, id))),
    });
    let nodes = scenario.nodes.iter_enumerated().map(|(id, node)| NodeFace {
        name: node.name.clone(),
        powered: view.is_none_or(|p| p.powered[id]),
        cut: cut(faults.iter().filter_map(|f| match f {
            Fault::NodePartition(NodePartition { node, direction }) if node.named() == id => Some(*direction),
            _ => None,
        })),
        link: links_hit(&faults, Impact::Cuts, |a, b| [a, b].contains(&Place::Node(id))),
    });
    let zones: TiVec<_, ZoneFace> = zones.collect();
    let links = links(scenario, &zones, &faults, view.map(|p| p.at.as_secs_f64()).zip(report));
    let of_cluster = |cluster| if is_wanted(cluster) { members(scenario, cluster, view, &faults) } else { Vec::new() };
    let members = scenario.etcd.keys().map(of_cluster).collect();
    let clients = scenario.clients.iter().map(|c| ClientFace { name: c.name.clone(), sends: sends(c, scenario) }).collect();
    Model { zones, nodes: nodes.collect(), members, clients, links }
}

/// Whether a fault of this impact hits a thing.
fn hit(fault: &Fault, impact: Impact, thing: Hit) -> bool {
    fault.kind().impact() == impact && fault.kind().hits().contains(&thing)
}

fn cut(mut directions: impl Iterator<Item = Direction>) -> Option<Direction> {
    let first = directions.next()?;
    Some(if directions.all(|d| d == first) { first } else { Direction::Both })
}

/// What is said of the links with this property that faults hit; `None`: none does.
fn links_hit(faults: &[&Fault], impact: Impact, is_it: impl Fn(Place, Place) -> bool) -> Option<String> {
    let hits = |fault: &&&Fault| {
        let hits = fault.kind().hits();
        fault.kind().impact() == impact && hits.into_iter().any(|hit| matches!(hit, Hit::Link(a, b) if is_it(a, b)))
    };
    let words: Vec<String> = faults.iter().filter(hits).map(|fault| fault.kind().mark()).collect();
    (!words.is_empty()).then(|| words.join(", "))
}

/// Whether a link is the one between these zones.
fn between(one: ZoneId, other: ZoneId) -> impl Fn(Place, Place) -> bool {
    let (one, other) = (Place::Zone(one), Place::Zone(other));
    move |a, b| (a, b) == (one, other) || (b, a) == (one, other)
}

fn members(scenario: &Scenario, cluster: EtcdId, view: Option<&SimulationView>, faults: &[&Fault]) -> Vec<MemberFace> {
    let pictures = view.map(|p| &p.etcd[cluster].members);
    let face = |(index, member): (u8, &zonefall_core::scenario::Member)| {
        let now = pictures.map(|all| &all[index as usize]);
        let volume = Hit::Volume(FaultTarget::Named(member.volume));
        let disk = faults.iter().find_map(|fault| match fault.kind().impact() {
            impact @ Impact::Stops if hit(fault, impact, volume) => Some("volume lost"),
            impact @ Impact::SlowsDisk if hit(fault, impact, volume) => Some("slow disk"),
            _ => None,
        });
        MemberFace {
            id: MemberId { cluster, index },
            name: member.name.clone(),
            shape: now.map_or(Shape::Down, |m| shape(m.status.down, m.status.role)),
            role: now.map_or("", say::role),
            term: now.map_or(0, |m| m.status.term),
            behind: now.filter(|m| m.behind > 100).map_or(String::new(), |m| format!("{} behind", say::short_count(m.behind))),
            disk: disk.unwrap_or(""),
        }
    };
    (0..).zip(&scenario.etcd[cluster].members).map(face).collect()
}

fn shape(down: Option<Down>, role: Role) -> Shape {
    match (down, role) {
        // It follows without a vote, if by way of a bucket.
        (Some(Down::Standby), _) => Shape::Learner,
        (Some(_), _) | (None, Role::Absent | Role::Standby) => Shape::Down,
        (None, Role::Follower) => Shape::Follower,
        (None, Role::PreCandidate | Role::Candidate) => Shape::Candidate,
        (None, Role::Leader) => Shape::Leader,
        (None, Role::Learner) => Shape::Learner,
    }
}

fn sends(client: &Client, scenario: &Scenario) -> String {
    let op = match client.op {
        Op::Put { .. } => "put",
        Op::Range { linearizable: true, .. } => "read",
        Op::Range { .. } => "serializable read",
        Op::Txn { .. } => "transaction",
        Op::Grant(_) => "lease",
        Op::Delete { .. } => "delete",
        Op::Watch => "watch",
    };
    let whom = match client.target {
        Target::Leader => "leader",
        Target::Follower => "follower",
        Target::Member(index) => &scenario.etcd[client.etcd].members[index as usize].name,
        Target::Nearest => "nearest",
        Target::All => "all members",
    };
    let often = match client.load {
        Load::Open { interval, .. } => {
            let rate = 1.0 / interval.as_secs_f64();
            if rate >= 1.0 { format!(", {rate:.0}/s") } else { format!(", every {}", text::duration(interval)) }
        }
        Load::Closed { connections } => format!(", {connections} connections"),
    };
    format!("{op} → {whom}{often}")
}

fn links(
    scenario: &Scenario,
    zones: &TiSlice<ZoneId, ZoneFace>,
    faults: &[&Fault],
    rates: Option<(f64, &Report)>,
) -> Vec<LinkFace> {
    let count = scenario.zones.len();
    let pairs = (0..count).flat_map(|a| (a + 1..count).map(move |b| (a, b)));
    let link = |(a, b): (usize, usize)| {
        let usual = |from: usize, to: usize| {
            let path = &scenario.network.paths[from * count + to];
            path.delay + path.jitter.typical()
        };
        let (one, other) = (ZoneId::from(a), ZoneId::from(b));
        let name = |zone: ZoneId| &scenario.zones[zone].name;
        let rate = rates.map_or(0.0, |(at_s, report)| {
            let window = (at_s / report.traffic_window_s) as usize;
            let between = report
                .zone_pairs
                .iter()
                .filter(|p| [(name(one), name(other)), (name(other), name(one))].contains(&(&p.from_zone, &p.to_zone)));
            between.filter_map(|p| p.wire_bytes_per_s.get(window)).sum()
        });
        LinkFace {
            a: one,
            b: other,
            delay: text::duration(rounded(usual(a, b).max(usual(b, a)))),
            degraded: links_hit(faults, Impact::SlowsNetwork, between(one, other)),
            cut: blocked(zones[one].cut, zones[other].cut)
                .or_else(|| links_hit(faults, Impact::Cuts, between(one, other)).map(|_| "cut")),
            rate: rate as u64,
        }
    };
    pairs.map(link).collect()
}

/// To two digits: the delay's order says what matters.
fn rounded(d: Duration) -> Duration {
    let ns = d.as_nanos();
    let unit = 10_u64.pow(ns.checked_ilog10().unwrap_or(0).saturating_sub(1));
    Duration::from_nanos((ns + unit / 2) / unit * unit)
}

fn blocked(a: Option<Direction>, b: Option<Direction>) -> Option<&'static str> {
    match (a, b) {
        (None, None) => None,
        (Some(Direction::Both), _) | (_, Some(Direction::Both)) => Some("cut"),
        (Some(Direction::In), Some(Direction::In)) | (Some(Direction::Out), Some(Direction::Out)) => Some("cut"),
        _ => Some("cut in one direction"),
    }
}

/// What a cut does, in words.
pub fn cut_words(direction: Direction) -> &'static str {
    match direction {
        Direction::Both => "cut off",
        Direction::In => "inbound blocked",
        Direction::Out => "outbound blocked",
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use zonefall_core::scenario::bundled;

    #[test]
    fn every_bundled_scenario_has_a_map_before_its_first_picture() {
        for bundled in bundled() {
            let scenario = Scenario::from_json(bundled.json).unwrap();
            let model = model(&scenario, None, None, |_| true);
            let zones = scenario.zones.len();
            assert_eq!((model.zones.len(), model.links.len()), (zones, zones * (zones - 1) / 2));
        }
    }

    #[test]
    fn delays_have_two_digits() {
        for (ns, words) in [(583_211, "580 µs"), (1_249_000, "1.2 ms"), (0, "0 ns"), (7, "7 ns")] {
            assert_eq!(text::duration(rounded(Duration::from_nanos(ns))), words);
        }
    }
}
