//! A scenario of one's own from a few choices: zones, members, how far apart, what they tolerate; and a failure that tests it.

use serde_json::{Value, json};
use zonefall_core::kernel::time::Duration;
use zonefall_core::scenario::units::Span;

/// What a new topology is like.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Size {
    /// How many regions there are.
    pub regions: usize,
    /// Zones in each region.
    pub zones: usize,
    /// Members of the one etcd cluster.
    pub members: usize,
    /// Between two zones of a region, there and back; `None`: the default.
    pub round_trip: Option<Duration>,
    /// The failure that the members are spread for.
    pub tolerance: Tolerance,
}

/// What members are spread over, in Gardener's words for the failure tolerance of a control plane.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Tolerance {
    /// All are on one node.
    None,
    /// They are in one zone, each on a node of its own.
    Node,
    /// They are spread over the zones as evenly as it goes.
    Zone,
}

impl Tolerance {
    /// All of them, the safest first.
    pub const ALL: [Self; 3] = [Self::Zone, Self::Node, Self::None];

    /// As a scenario file writes it.
    pub const fn name(self) -> &'static str {
        match self {
            Self::None => "none",
            Self::Node => "node",
            Self::Zone => "zone",
        }
    }

    /// What it means, for a list.
    pub const fn label(self) -> &'static str {
        match self {
            Self::None => "none: all members on one node",
            Self::Node => "node: one zone, a node for each member",
            Self::Zone => "zone: members spread over the zones",
        }
    }
}

impl Default for Size {
    fn default() -> Self {
        Self { regions: 1, zones: 2, members: 3, round_trip: None, tolerance: Tolerance::Zone }
    }
}

/// The longest round trip: a path's delay is at most a minute.
pub const LONGEST_ROUND_TRIP: Duration = Duration::from_secs(120);
/// What the default jitter of a path between zones typically adds, one way (`network.cross_zone.jitter`).
const JITTER: Duration = Duration::from_micros(50);

impl Size {
    /// What it survives, in a sentence or two.
    pub fn outcome(self) -> String {
        let Self { members, tolerance, .. } = self;
        let quorum = members / 2 + 1;
        let spare = members - quorum;
        let fail = match spare {
            0 => "none can fail".to_owned(),
            1 => "1 can fail".to_owned(),
            spare => format!("{spare} can fail"),
        };
        let (place, most) = match tolerance {
            Tolerance::Zone => ("zone", members.div_ceil(self.regions * self.zones)),
            Tolerance::Node => ("node", 1),
            Tolerance::None => ("node", members),
        };
        let lost = match most {
            _ if most <= spare => format!("Writes survive the loss of any {place}"),
            1 => format!("The loss of a {place} with a member stops writes"),
            _ => format!("The loss of the {place} with {most} members stops writes"),
        };
        let zone = if tolerance == Tolerance::Node && spare > 0 { ", but not that of the zone" } else { "" };
        format!("Quorum is {quorum} of {members}: {fail}. {lost}{zone}.")
    }

    /// The delay between zones, as a scenario says it.
    fn network(self) -> Option<Value> {
        let one_way = self.round_trip? / 2;
        Some(if one_way > JITTER {
            json!({"cross_zone": {"delay": Span(one_way - JITTER).to_string()}})
        } else {
            json!({"cross_zone": {"delay": Span(one_way).to_string(), "jitter": "0s"}})
        })
    }
}

/// The scenario.
pub fn build(size: Size) -> Value {
    let letters = |zone: usize| char::from(b'a' + (zone % 26) as u8);
    let region = |r: usize| format!("region-{}", r + 1);
    let regions: Vec<(String, Vec<String>)> = (0..size.regions)
        .map(|r| (region(r), (0..size.zones).map(|z| format!("{}{}", region(r), letters(z))).collect()))
        .collect();
    // Round the regions first: neighbours in this order are far from each other.
    let zones: Vec<&String> = (0..size.zones).flat_map(|z| regions.iter().map(move |(_, zones)| &zones[z])).collect();
    let in_first = match size.tolerance {
        Tolerance::None => 1,
        Tolerance::Node => size.members,
        Tolerance::Zone => 0,
    };
    // The first zone has the nodes of all members, or each has as many as the next one.
    let zone_of = |n: usize| if in_first > 0 { zones[(n + 1).saturating_sub(in_first)] } else { zones[n % zones.len()] };
    let machines = if in_first > 0 { in_first + zones.len() - 1 } else { size.members.max(zones.len()) };
    let node = |n: usize| format!("node-{}", n + 1);
    let nodes: Vec<Value> = (0..machines).map(|n| json!({"name": node(n), "zone": zone_of(n)})).collect();
    let home = |m: usize| node(if size.tolerance == Tolerance::None { 0 } else { m });
    let members: Vec<Value> = (0..size.members).map(|m| json!({"name": format!("etcd-main-{m}"), "node": home(m)})).collect();
    let regions: Vec<Value> = regions.iter().map(|(name, zones)| json!({"name": name, "zones": zones})).collect();
    let count = |n: usize, what: &str| if n == 1 { format!("1 {what}") } else { format!("{n} {what}s") };
    let (zone, member) = (count(zones.len(), "zone"), count(size.members, "member"));
    let leader = json!({"leader_of": "etcd-main"});
    let (fails, fault) = match size.tolerance {
        Tolerance::Zone => ("zone loses power", json!({"at": "1m", "for": "5m", "kind": "zone_power", "zone": leader})),
        Tolerance::None | Tolerance::Node => {
            ("node crashes", json!({"at": "1m", "for": "5m", "kind": "node_crash", "node": leader}))
        }
    };
    let mut scenario = json!({
        "name": format!("{}-{}", zone.replace(' ', "-"), member.replace(' ', "-")),
        "title": format!("{zone}, {member}: the leader's {fails}"),
        "description": size.outcome(),
        "duration": "10m",
        "topology": {"regions": regions, "nodes": nodes},
        "etcd": [{"name": "etcd-main", "members": members}],
        "clients": [
            {"name": "writer", "zone": zones[0], "op": "put", "rate": "100/s", "target": "leader"},
            {"name": "reader", "zone": zones[0], "op": "range", "rate": "10/s", "target": "nearest"},
        ],
        "faults": [fault],
    });
    if let Some(network) = size.network() {
        scenario["network"] = network;
    }
    scenario
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::collections::BTreeSet;
    use zonefall_core::ids::EtcdId;
    use zonefall_core::scenario::Scenario;

    fn read(size: Size) -> Scenario {
        Scenario::from_json(&build(size).to_string()).unwrap_or_else(|errors| panic!("{size:?}: {errors}"))
    }

    #[test]
    fn every_size_offered_is_a_scenario() {
        let sizes = (1..=3).flat_map(|regions| (1..=5).map(move |zones| (regions, zones)));
        for (regions, zones) in sizes {
            for (members, tolerance) in [1, 3, 5, 7].into_iter().flat_map(|members| Tolerance::ALL.map(|of| (members, of))) {
                let size = Size { regions, zones, members, tolerance, ..Size::default() };
                let scenario = read(size);
                assert_eq!(scenario.zones.len(), regions * zones);
                let homes = || scenario.etcd[EtcdId(0)].members.iter().map(|member| member.node);
                let used: BTreeSet<_> = homes().map(|node| scenario.nodes[node].zone).collect();
                let nodes: BTreeSet<_> = homes().collect();
                let expected = match tolerance {
                    Tolerance::Zone => (members.min(regions * zones), members),
                    Tolerance::Node => (1, members),
                    Tolerance::None => (1, 1),
                };
                assert_eq!((used.len(), nodes.len()), expected, "spread: {size:?}");
                let manned: BTreeSet<_> = scenario.nodes.iter().map(|node| node.zone).collect();
                assert_eq!(manned.len(), regions * zones, "a node in each zone: {size:?}");
            }
        }
    }

    #[test]
    fn the_round_trip_is_that_of_the_network() {
        for us in [1, 100, 101, 1_000, 120_000_000] {
            let round_trip = Duration::from_micros(us);
            let scenario = read(Size { round_trip: Some(round_trip), ..Size::default() });
            let path = &scenario.network.paths[1];
            assert_eq!((path.delay + path.jitter.typical()) * 2, round_trip, "{us} µs");
        }
        assert_eq!(LONGEST_ROUND_TRIP, Duration::from_micros(120_000_000));
    }

    #[test]
    fn what_is_survived_is_told() {
        let size = |zones, members, tolerance| Size { zones, members, tolerance, ..Size::default() };
        for (size, expected) in [
            (size(3, 3, Tolerance::Zone), "Quorum is 2 of 3: 1 can fail. Writes survive the loss of any zone."),
            (size(2, 3, Tolerance::Zone), "Quorum is 2 of 3: 1 can fail. The loss of the zone with 2 members stops writes."),
            (size(3, 5, Tolerance::Zone), "Quorum is 3 of 5: 2 can fail. Writes survive the loss of any zone."),
            (
                size(3, 3, Tolerance::Node),
                "Quorum is 2 of 3: 1 can fail. Writes survive the loss of any node, but not that of the zone.",
            ),
            (size(3, 1, Tolerance::Node), "Quorum is 1 of 1: none can fail. The loss of a node with a member stops writes."),
            (size(1, 3, Tolerance::None), "Quorum is 2 of 3: 1 can fail. The loss of the node with 3 members stops writes."),
        ] {
            assert_eq!(size.outcome(), expected);
        }
    }
}
