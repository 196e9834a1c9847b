//! The map by keyboard: arrows go to the nearest thing that way.

use zonefall_core::ids::{MemberId, ZoneId};
use zonefall_core::scenario::Scenario;

use super::items::spot;
use super::layout::Layout;
use crate::state::Selection;

/// An arrow key.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Way {
    /// ←
    Left,
    /// →
    Right,
    /// ↑
    Up,
    /// ↓
    Down,
}

impl Way {
    /// The way a key points.
    pub(crate) fn of(key: &str) -> Option<Self> {
        match key {
            "ArrowLeft" => Some(Self::Left),
            "ArrowRight" => Some(Self::Right),
            "ArrowUp" => Some(Self::Up),
            "ArrowDown" => Some(Self::Down),
            _ => None,
        }
    }
}

/// Everything that can be selected, zone by zone.
pub(crate) fn all(scenario: &Scenario, layout: &Layout) -> Vec<Selection> {
    let zones = scenario.zones.len() as u16;
    let members = layout.members.iter_enumerated().flat_map(|(cluster, places)| {
        let chips = (0..).zip(places).filter(|(_, place)| place.h > 0.0);
        chips.map(move |(index, _)| Selection::Member(MemberId { cluster, index }))
    });
    let links = (0..zones).flat_map(|a| (a + 1..zones).map(move |b| (a, b))).zip(&layout.links);
    let links = links.filter(|(_, place)| place.near).map(|((a, b), _)| Selection::Link(ZoneId(a), ZoneId(b)));
    let clients = layout.clients.iter_enumerated().filter(|(_, rect)| rect.h > 0.0).map(|(c, _)| Selection::Client(c));
    let zones = scenario.zones.keys().map(Selection::Zone);
    zones
        .chain(scenario.nodes.keys().map(Selection::Node))
        .chain(members)
        .chain(layout.things.iter().map(|(is, _)| *is))
        .chain(layout.access.iter().map(|(is, _)| *is))
        .chain(clients)
        .chain(links)
        .collect()
}

/// The nearest thing that way: what lies ahead counts once, what lies aside three times.
pub(crate) fn next(scenario: &Scenario, layout: &Layout, from: Selection, way: Way) -> Option<Selection> {
    let (x, y) = spot(from, layout)?;
    let cost = |to: Selection| {
        let (tx, ty) = spot(to, layout)?;
        let (dx, dy) = (tx - x, ty - y);
        let (ahead, aside) = match way {
            Way::Left => (-dx, dy),
            Way::Right => (dx, dy),
            Way::Up => (-dy, dx),
            Way::Down => (dy, dx),
        };
        let wide = if matches!(way, Way::Up | Way::Down) { heading(to, layout) } else { 0.0 };
        (ahead > 1.0 && to != from).then(|| ahead + 3.0 * (aside.abs() - wide / 2.0).max(0.0))
    };
    let costs = all(scenario, layout).into_iter().filter_map(|to| Some((cost(to)?, to)));
    costs.min_by(|a, b| a.0.total_cmp(&b.0)).map(|(_, to)| to)
}

/// How wide the heading of a zone is; other things are a point.
fn heading(is: Selection, layout: &Layout) -> f64 {
    match is {
        Selection::Zone(zone) => layout.zones[zone].w,
        _ => 0.0,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::view::map::crowd::Crowd;
    use crate::view::map::layout::layout;
    use crate::view::map::objects::objects;
    use zonefall_core::ids::{EtcdId, NodeId};
    use zonefall_core::scenario::bundled;

    #[test]
    fn arrows_walk_the_map() {
        let scenario = Scenario::from_json(bundled()[0].json).unwrap();
        let layout = layout(&scenario, &Crowd::new(&scenario), 860.0);
        let walk = |from, way| next(&scenario, &layout, from, way);
        let member = |index| Selection::Member(MemberId { cluster: EtcdId(0), index });
        let zone = |z| Selection::Zone(ZoneId(z));
        assert_eq!(walk(zone(0), Way::Down), Some(Selection::Node(NodeId(0))));
        assert_eq!(walk(Selection::Node(NodeId(0)), Way::Down), Some(member(0)));
        assert_eq!(walk(member(0), Way::Right), Some(member(1)));
        assert_eq!(walk(member(1), Way::Up), Some(Selection::Node(NodeId(1))));
        assert_eq!(walk(zone(0), Way::Right), Some(Selection::Link(ZoneId(0), ZoneId(1))));
        assert_eq!(walk(zone(0), Way::Left), None);
    }

    #[test]
    fn everything_can_be_reached_from_the_first_zone() {
        for bundled in bundled() {
            let scenario = Scenario::from_json(bundled.json).unwrap();
            for width in [374.0, 860.0] {
                let layout = layout(&scenario, &objects(&scenario, None).crowd, width);
                let mut seen = vec![Selection::Zone(ZoneId(0))];
                let mut i = 0;
                while let Some(&from) = seen.get(i) {
                    for way in [Way::Left, Way::Right, Way::Up, Way::Down] {
                        let to = next(&scenario, &layout, from, way).filter(|to| !seen.contains(to));
                        seen.extend(to);
                    }
                    i += 1;
                }
                let missing: Vec<_> = all(&scenario, &layout).into_iter().filter(|s| !seen.contains(s)).collect();
                assert_eq!(missing, [], "{} at {width}", scenario.name);
            }
        }
    }
}
