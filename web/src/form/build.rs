//! A scenario of one's own in two clicks: so many zones, so many members, and the leader's zone fails.

use serde_json::{Value, json};

/// The size of a new topology.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Size {
    pub(super) regions: usize,
    /// In each region.
    pub(super) zones: usize,
    /// Of the one cluster, spread over the zones as evenly as it goes.
    pub(super) members: usize,
}

impl Default for Size {
    fn default() -> Self {
        Self { regions: 1, zones: 2, members: 3 }
    }
}

/// The scenario.
pub(super) fn build(size: Size) -> Value {
    let letters = |zone: usize| char::from(b'a' + (zone % 26) as u8);
    let region = |r: usize| format!("region-{}", r + 1);
    let regions: Vec<(String, Vec<String>)> = (0..size.regions)
        .map(|r| (region(r), (0..size.zones).map(|z| format!("{}{}", region(r), letters(z))).collect()))
        .collect();
    // Round the regions first: neighbours in this order are far from each other.
    let zones: Vec<&String> = (0..size.zones).flat_map(|z| regions.iter().map(move |(_, zones)| &zones[z])).collect();
    let machines = size.members.max(zones.len());
    let node = |n: usize| format!("node-{}", n + 1);
    let nodes: Vec<Value> = (0..machines).map(|n| json!({"name": node(n), "zone": zones[n % zones.len()]})).collect();
    let members: Vec<Value> = (0..size.members).map(|m| json!({"name": format!("etcd-main-{m}"), "node": node(m)})).collect();
    let regions: Vec<Value> = regions.iter().map(|(name, zones)| json!({"name": name, "zones": zones})).collect();
    let count = |n: usize, what: &str| if n == 1 { format!("1 {what}") } else { format!("{n} {what}s") };
    let (zone, member) = (count(zones.len(), "zone"), count(size.members, "member"));
    json!({
        "name": format!("{}-{}", zone.replace(' ', "-"), member.replace(' ', "-")),
        "title": format!("{zone}, {member}: the leader's zone loses power"),
        "duration": "10m",
        "topology": {"regions": regions, "nodes": nodes},
        "etcd": [{"name": "etcd-main", "members": members}],
        "clients": [
            {"name": "writer", "zone": zones[0], "op": "put", "rate": "100/s", "target": "leader"},
            {"name": "reader", "zone": zones[0], "op": "range", "rate": "10/s", "target": "nearest"},
        ],
        "faults": [{"at": "1m", "for": "5m", "kind": "zone_power", "zone": {"leader_of": "etcd-main"}}],
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use zonefall_core::ids::EtcdId;
    use zonefall_core::scenario::Scenario;

    #[test]
    fn every_size_offered_is_a_scenario() {
        for regions in 1..=3 {
            for zones in 1..=5 {
                for members in [1, 3, 5, 7] {
                    let size = Size { regions, zones, members };
                    let scenario =
                        Scenario::from_json(&build(size).to_string()).unwrap_or_else(|errors| panic!("{size:?}: {errors}"));
                    assert_eq!(scenario.zones.len(), regions * zones);
                    let used = scenario.etcd[EtcdId(0)].members.iter().map(|m| scenario.nodes[m.node].zone);
                    let used: std::collections::BTreeSet<_> = used.collect();
                    assert_eq!(used.len(), members.min(regions * zones), "spread: {size:?}");
                }
            }
        }
    }
}
