//! Where everything on the map stands: a pure function of the scenario and the width there is.
//!
//! ```text
//!   region
//!        .--- arc: zones that are not neighbours ---.
//!   [zone]----[zone]----[zone]      a row; further rows below; on a narrow screen each zone is a row
//!    node      node      node
//!     chip      chip      chip
//! ```

use zonefall_core::ids::{MemberId, NodeId, ZoneId};
use zonefall_core::scenario::Scenario;

/// A rectangle, in CSS pixels.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Rect {
    /// Left.
    pub x: f64,
    /// Top.
    pub y: f64,
    /// Width.
    pub w: f64,
    /// Height.
    pub h: f64,
}

impl Rect {
    /// Its middle.
    pub fn centre(self) -> (f64, f64) {
        (self.x + self.w / 2.0, self.y + self.h / 2.0)
    }
}

/// A curve from one point to another.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Curve {
    /// Start, two control points, end.
    pub points: [(f64, f64); 4],
}

impl Curve {
    /// The point at `t`, 0 to 1.
    pub fn at(&self, t: f64) -> (f64, f64) {
        let u = 1.0 - t;
        let weights = [u * u * u, 3.0 * u * u * t, 3.0 * u * t * t, t * t * t];
        let sum = |pick: fn(&(f64, f64)) -> f64| self.points.iter().zip(weights).map(|(p, w)| pick(p) * w).sum();
        (sum(|p| p.0), sum(|p| p.1))
    }

    /// As an SVG path.
    pub fn path(&self) -> String {
        let [a, b, c, d] = self.points.map(|(x, y)| format!("{x:.1} {y:.1}"));
        format!("M{a}C{b} {c} {d}")
    }
}

/// The link between two zones.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct LinkPlace {
    /// Its line.
    pub curve: Curve,
    /// Where its words are centred.
    pub label: (f64, f64),
    /// Whether the zones are neighbours on the map; other links are drawn where they have something to say.
    pub near: bool,
}

/// Everything's place.
#[derive(Clone, Debug, PartialEq)]
pub struct Layout {
    /// Width of the drawing.
    pub width: f64,
    /// Height of the drawing.
    pub height: f64,
    /// How large it is shown: CSS pixels per unit of all these.
    pub scale: f64,
    /// One line per member instead of two.
    pub compact: bool,
    /// Zones by id.
    pub zones: Vec<Rect>,
    /// Nodes by id.
    pub nodes: Vec<Rect>,
    /// Members by cluster and index.
    pub members: Vec<Vec<Rect>>,
    /// Clients by id; those that find no room have no height.
    pub clients: Vec<Rect>,
    /// Links in the order of the model: (0, 1), (0, 2) ... (1, 2) ...
    pub links: Vec<LinkPlace>,
    /// Regions, where there are several: name and the rectangle around their zones.
    pub regions: Vec<(String, Rect)>,
}

/// Room inside a box.
pub const PAD: f64 = 8.0;
/// Height of a zone's head.
pub const ZONE_HEAD: f64 = 32.0;
/// Height of a node's head.
pub const NODE_HEAD: f64 = 24.0;
/// Height of a client.
pub const CLIENT: f64 = 20.0;
/// Clients of one zone that are drawn; the table has all.
const MOST_CLIENTS: usize = 6;
/// Room at the sides of the map, for the walls of cut zones.
const SIDE: f64 = 8.0;
const CARD: f64 = 176.0;
const WIDEST_CARD: f64 = 300.0;
/// Nodes above each other in a zone, before another column begins.
const TALL: usize = 4;
const GAP: f64 = 72.0;
const ROW_GAP: f64 = 48.0;
const NARROW: f64 = 600.0;
const REGION_HEAD: f64 = 24.0;

struct Sizes<'a> {
    scenario: &'a Scenario,
    /// Width of a card, at least.
    card: f64,
    /// Nodes above each other in a zone, at most.
    tall: usize,
    chip: f64,
    in_zone: Vec<Vec<usize>>,
    on_node: Vec<Vec<MemberId>>,
    clients: Vec<Vec<usize>>,
}

/// How large a map is shown where there is room.
const SCALES: [f64; 10] = [1.6, 1.5, 1.4, 1.35, 1.3, 1.25, 1.2, 1.15, 1.1, 1.05];

/// The layout of a scenario in a room of `width` by `height` pixels: as large as it can be without other rows or scrolling; where zones are
/// too high, their nodes stand beside each other.
pub fn fit(scenario: &Scenario, width: f64, height: f64) -> Layout {
    let plain = layout(scenario, width);
    if width < NARROW {
        return plain;
    }
    let rows = |layout: &Layout| {
        let mut tops = std::collections::BTreeSet::new();
        tops.extend(layout.zones.iter().map(|zone| zone.y.to_bits()));
        tops.len()
    };
    let sizes = Sizes::new(scenario);
    let card = sizes.snug_card();
    let of = |card: f64, tall: usize, scale: f64| {
        let placed = Layout { scale, ..place(&Sizes { card, tall, ..Sizes::new(scenario) }, width / scale) };
        let fits = rows(&placed) == rows(&plain) && placed.height * scale <= height;
        (fits && placed.nodes.iter().all(|node| node.w >= card)).then_some(placed)
    };
    let larger = SCALES.into_iter().filter(|scale| width / scale >= NARROW).find_map(|scale| of(card, TALL, scale));
    larger.or_else(|| (1..=TALL).rev().find_map(|tall| of(card.min(CARD), tall, 1.0))).unwrap_or(plain)
}

/// The layout of a scenario in `width` pixels.
pub fn layout(scenario: &Scenario, width: f64) -> Layout {
    place(&Sizes::new(scenario), width)
}

fn place(sizes: &Sizes<'_>, width: f64) -> Layout {
    let scenario = sizes.scenario;
    let narrow = width < NARROW;
    let zones = scenario.zones.len();
    let mut layout = Layout {
        width,
        height: 0.0,
        scale: 1.0,
        compact: sizes.chip < 30.0,
        zones: vec![Rect::default(); zones],
        nodes: vec![Rect::default(); scenario.nodes.len()],
        members: scenario.etcd.iter().map(|c| vec![Rect::default(); c.members.len()]).collect(),
        clients: vec![Rect::default(); scenario.clients.len()],
        links: Vec::new(),
        regions: Vec::new(),
    };
    let rows = rows(sizes, width, narrow);
    let regions = scenario.regions.len() > 1;
    let mut y = 4.0;
    let mut of_row = vec![0; zones];
    for (number, row) in rows.iter().enumerate() {
        let head = if regions { REGION_HEAD } else { 0.0 };
        let span = if narrow { 0 } else { row.len().saturating_sub(2) };
        let channel = if span == 0 { 0.0 } else { 18.0 + 22.0 * span as f64 };
        y += head + channel;
        let bottom = place_row(sizes, row, width, y, narrow, &mut layout);
        for &zone in row {
            of_row[zone] = number;
        }
        if regions {
            frame_regions(scenario, row, (y - head - channel, bottom), &mut layout);
        }
        y = bottom + ROW_GAP + if regions { PAD } else { 0.0 };
    }
    layout.height = y - ROW_GAP + 4.0;
    let pairs = (0..zones).flat_map(|a| (a + 1..zones).map(move |b| (a, b)));
    layout.links = pairs.map(|(a, b)| link(&layout, &rows, (a, b), (of_row[a], of_row[b]), narrow)).collect();
    layout
}

impl<'a> Sizes<'a> {
    fn new(scenario: &'a Scenario) -> Self {
        let of_zone = |z: usize| (0..scenario.nodes.len()).filter(|&n| scenario.nodes[n].zone == ZoneId(z as u16)).collect();
        let mut on_node = vec![Vec::new(); scenario.nodes.len()];
        for (cluster, spec) in (0..).zip(&scenario.etcd) {
            for (index, member) in (0..).zip(&spec.members) {
                on_node[member.node.0 as usize].push(MemberId { cluster: zonefall_core::ids::ClusterId(cluster), index });
            }
        }
        let clients = |z: usize| (0..scenario.clients.len()).filter(|&c| scenario.clients[c].zone == ZoneId(z as u16)).collect();
        let members: usize = scenario.etcd.iter().map(|c| c.members.len()).sum();
        let crowded = scenario.nodes.len() > 14 || members > 14;
        Self {
            scenario,
            card: CARD,
            tall: TALL,
            chip: if crowded { 24.0 } else { 42.0 },
            in_zone: (0..scenario.zones.len()).map(of_zone).collect(),
            on_node,
            clients: (0..scenario.zones.len()).map(clients).collect(),
        }
    }

    fn node_height(&self, node: usize) -> f64 {
        let members = self.on_node[node].len() as f64;
        NODE_HEAD + members * (self.chip + 4.0) + if members > 0.0 { 4.0 } else { 0.0 }
    }

    /// Columns of nodes that a zone would like.
    fn columns(&self, zone: usize) -> usize {
        self.in_zone[zone].len().div_ceil(self.tall).max(1)
    }

    fn zone_width(&self, columns: usize) -> f64 {
        columns as f64 * (self.card + PAD) + PAD
    }

    /// Width of a card in which no name is cut short.
    fn snug_card(&self) -> f64 {
        let longest = |names: &mut dyn Iterator<Item = &String>| names.map(|name| name.chars().count()).max().unwrap_or(0) as f64;
        let members = longest(&mut self.scenario.etcd.iter().flat_map(|cluster| &cluster.members).map(|member| &member.name));
        let nodes = longest(&mut self.scenario.nodes.iter().map(|node| &node.name));
        let zones = longest(&mut self.scenario.zones.iter().map(|zone| &zone.name));
        // Beside the name of a member its sign; beside those of nodes and zones what ails them.
        let snug = [52.0 + 8.0 * members, 92.0 + 7.0 * nodes, 82.0 + 8.2 * zones];
        snug.into_iter().fold(148.0, f64::max)
    }
}

/// Zones in rows: as many beside each other as fit; a region begins a row of its own unless all zones fit into one.
fn rows(sizes: &Sizes<'_>, width: f64, narrow: bool) -> Vec<Vec<usize>> {
    let zones = &sizes.scenario.zones;
    if narrow {
        return (0..zones.len()).map(|z| vec![z]).collect();
    }
    let needs = |z: usize| sizes.zone_width(sizes.columns(z)).min(width - 2.0 * PAD);
    let all = (0..zones.len()).map(needs).sum::<f64>() + GAP * zones.len().saturating_sub(1) as f64;
    let one_row = all <= width;
    let mut rows: Vec<Vec<usize>> = Vec::new();
    let mut used = f64::INFINITY;
    for zone in 0..zones.len() {
        let new_region = zone > 0 && zones[zone].region != zones[zone - 1].region;
        if used + GAP + needs(zone) > width || (new_region && !one_row) {
            rows.push(Vec::new());
            used = -GAP;
        }
        used += GAP + needs(zone);
        rows.last_mut().expect("a row was begun").push(zone);
    }
    rows
}

/// Places the zones of a row and all in them; the bottom of the row.
fn place_row(sizes: &Sizes<'_>, row: &[usize], width: f64, top: f64, narrow: bool, layout: &mut Layout) -> f64 {
    let margin = if narrow && sizes.scenario.zones.len() > 2 { 44.0 } else { SIDE };
    let columns: Vec<usize> = row
        .iter()
        .map(|&z| sizes.columns(z).min(((width - margin - SIDE - PAD) / (sizes.card + PAD)).floor().max(1.0) as usize))
        .collect();
    let total: usize = columns.iter().sum();
    let gaps = row.len().saturating_sub(1) as f64;
    let room = width - margin - SIDE - gaps * GAP - row.len() as f64 * PAD;
    let card =
        (room / total as f64 - PAD).clamp(sizes.card.min(room - PAD).min(WIDEST_CARD), if narrow { room } else { WIDEST_CARD });
    let zone_width = |columns: usize| columns as f64 * (card + PAD) + PAD;
    let used: f64 = columns.iter().map(|&c| zone_width(c)).sum();
    let spare = width - margin - SIDE - used - gaps * GAP;
    let gap = if gaps > 0.0 { GAP + (spare / gaps / 2.0).clamp(0.0, 56.0) } else { GAP };
    let mut x = if narrow { margin } else { ((width - used - gaps * gap) / 2.0).max(margin) };
    let mut bottom = top;
    for (&zone, &columns) in row.iter().zip(&columns) {
        let w = zone_width(columns);
        let h = fill_zone(sizes, zone, (x, top, card), columns, layout);
        layout.zones[zone] = Rect { x, y: top, w, h };
        bottom = bottom.max(top + h);
        x += w + gap;
    }
    for &zone in row {
        layout.zones[zone].h = bottom - top;
    }
    bottom
}

/// Places nodes, members and clients of a zone; its height.
fn fill_zone(sizes: &Sizes<'_>, zone: usize, (x, top, card): (f64, f64, f64), columns: usize, layout: &mut Layout) -> f64 {
    let mut ends = vec![top + ZONE_HEAD; columns];
    for &node in &sizes.in_zone[zone] {
        let shortest = (0..columns).min_by(|&a, &b| ends[a].total_cmp(&ends[b])).unwrap_or(0);
        let h = sizes.node_height(node);
        let rect = Rect { x: x + PAD + shortest as f64 * (card + PAD), y: ends[shortest], w: card, h };
        layout.nodes[node] = rect;
        for (i, member) in sizes.on_node[node].iter().enumerate() {
            let y = rect.y + NODE_HEAD + i as f64 * (sizes.chip + 4.0);
            layout.members[member.cluster.0 as usize][member.index as usize] =
                Rect { x: rect.x + 6.0, y, w: card - 12.0, h: sizes.chip };
        }
        ends[shortest] += h + PAD;
    }
    let mut y = ends.iter().copied().fold(top, f64::max);
    let w = columns as f64 * (card + PAD) - PAD;
    for &client in sizes.clients[zone].iter().take(MOST_CLIENTS) {
        layout.clients[client] = Rect { x: x + PAD, y, w, h: CLIENT };
        y += CLIENT + 2.0;
    }
    y + if sizes.clients[zone].is_empty() { 0.0 } else { PAD / 2.0 } - top
}

fn frame_regions(scenario: &Scenario, row: &[usize], (top, bottom): (f64, f64), layout: &mut Layout) {
    let mut regions: Vec<u16> = row.iter().map(|&z| scenario.zones[z].region).collect();
    regions.dedup();
    for region in regions {
        let of_region = row.iter().filter(|&&z| scenario.zones[z].region == region).map(|&z| layout.zones[z]);
        let (left, right) = of_region.fold((f64::INFINITY, 0.0_f64), |(l, r), z| (l.min(z.x), r.max(z.x + z.w)));
        let rect = Rect { x: left - 6.0, y: top, w: right - left + 12.0, h: bottom - top + 6.0 };
        let rect = Rect { x: rect.x.max(0.5), w: rect.w.min(layout.width - 1.0), ..rect };
        layout.regions.push((scenario.regions[region as usize].clone(), rect));
    }
}

fn link(layout: &Layout, rows: &[Vec<usize>], (a, b): (usize, usize), of: (usize, usize), narrow: bool) -> LinkPlace {
    let (from, to) = (layout.zones[a], layout.zones[b]);
    let (from, to) = if (of.0, from.x) <= (of.1, to.x) { (from, to) } else { (to, from) };
    if narrow {
        return stacked(from, to, of.1.abs_diff(of.0));
    }
    let place = |zone: usize, row: usize| rows[row].iter().position(|&z| z == zone).unwrap_or(0);
    if of.0 == of.1 {
        let apart = place(a, of.0).abs_diff(place(b, of.0));
        return beside(from, to, apart);
    }
    let (start, end) = ((from.x + from.w / 2.0, from.y + from.h), (to.x + to.w / 2.0, to.y));
    let half = (end.1 - start.1) / 2.0;
    let curve = Curve { points: [start, (start.0, start.1 + half), (end.0, end.1 - half), end] };
    let near = of.0.abs_diff(of.1) == 1 && (start.0 - end.0).abs() < 40.0;
    LinkPlace { curve, label: (i32::midpoint(start.0 as i32, end.0 as i32).into(), end.1 - ROW_GAP / 2.0), near }
}

/// Zones of one row: neighbours by a straight line between their heads, others by an arc above those between.
fn beside(from: Rect, to: Rect, apart: usize) -> LinkPlace {
    if apart <= 1 {
        let y = from.y + ZONE_HEAD / 2.0 + 4.0;
        let (x1, x2) = (from.x + from.w, to.x);
        let third = (x2 - x1) / 3.0;
        let curve = Curve { points: [(x1, y), (x1 + third, y), (x2 - third, y), (x2, y)] };
        return LinkPlace { curve, label: (f64::midpoint(x1, x2), y - 9.0), near: true };
    }
    let rise = 4.0 + 22.0 * (apart - 1) as f64;
    let (x1, x2) = (from.x + from.w * 0.7, to.x + to.w * 0.3);
    let y = from.y;
    let control = rise / 0.75;
    let bend = (x2 - x1) * 0.18;
    let curve = Curve { points: [(x1, y), (x1 + bend, y - control), (x2 - bend, y - control), (x2, y)] };
    LinkPlace { curve, label: (f64::midpoint(x1, x2), y - rise - 9.0), near: true }
}

/// Zones above each other: neighbours by a straight line, others by an arc at the left.
fn stacked(from: Rect, to: Rect, apart: usize) -> LinkPlace {
    if apart <= 1 {
        let x = from.x + 24.0;
        let (y1, y2) = (from.y + from.h, to.y);
        let third = (y2 - y1) / 3.0;
        let curve = Curve { points: [(x, y1), (x, y1 + third), (x, y2 - third), (x, y2)] };
        return LinkPlace { curve, label: (x + 44.0, f64::midpoint(y1, y2)), near: true };
    }
    let (y1, y2) = (from.y + ZONE_HEAD / 2.0, to.y + ZONE_HEAD / 2.0);
    let reach = (12.0 * apart as f64).min(40.0);
    let x = from.x;
    let curve = Curve { points: [(x, y1), (x - reach, y1 + 30.0), (x - reach, y2 - 30.0), (x, y2)] };
    LinkPlace { curve, label: (24.0, f64::midpoint(y1, y2)), near: apart == 2 }
}

/// The way a message takes between two members; the way back runs beside it.
pub fn way(from: Rect, to: Rect) -> Curve {
    let (a, b) = (from.centre(), to.centre());
    let beside = 4.0;
    if (a.0 - b.0).abs() < from.w / 2.0 {
        // Above each other: out at the right going down, at the left going up.
        let down = b.1 >= a.1;
        let (x1, x2) = if down { (from.x + from.w, to.x + to.w) } else { (from.x, to.x) };
        let bulge = if down { 28.0 } else { -28.0 };
        return Curve { points: [(x1, a.1), (x1 + bulge, a.1), (x2 + bulge, b.1), (x2, b.1)] };
    }
    let right = b.0 > a.0;
    let (x1, x2) = if right { (from.x + from.w, to.x) } else { (from.x, to.x + to.w) };
    let shift = if right { -beside } else { beside };
    let (y1, y2) = (a.1 + shift, b.1 + shift);
    let far = (x2 - x1).abs() > from.w;
    let rise = if far { -56.0 } else { 0.0 };
    let bend = (x2 - x1) * if far { 0.25 } else { 0.5 };
    Curve { points: [(x1, y1), (x1 + bend, y1 + rise), (x2 - bend, y2 + rise), (x2, y2)] }
}

/// A node's rectangle by id.
pub fn node(layout: &Layout, id: NodeId) -> Rect {
    layout.nodes[id.0 as usize]
}

#[cfg(test)]
mod tests {
    use super::*;
    use zonefall_core::scenario::bundled;

    fn inside(inner: Rect, outer: Rect) -> bool {
        inner.x >= outer.x
            && inner.y >= outer.y
            && inner.x + inner.w <= outer.x + outer.w + 0.01
            && inner.y + inner.h <= outer.y + outer.h + 0.01
    }

    fn apart(a: Rect, b: Rect) -> bool {
        a.x + a.w <= b.x || b.x + b.w <= a.x || a.y + a.h <= b.y || b.y + b.h <= a.y
    }

    fn check(scenario: &Scenario, width: f64) {
        let layout = layout(scenario, width);
        let sheet = Rect { x: 0.0, y: 0.0, w: layout.width, h: layout.height };
        for (i, zone) in layout.zones.iter().enumerate() {
            assert!(inside(*zone, sheet), "{} at {width}: {zone:?}", scenario.name);
            assert!(layout.zones[..i].iter().all(|other| apart(*zone, *other)), "{} at {width}", scenario.name);
        }
        for (node, spec) in layout.nodes.iter().zip(&scenario.nodes) {
            assert!(inside(*node, layout.zones[spec.zone.0 as usize]), "{} at {width}: {}", scenario.name, spec.name);
        }
        for (cluster, spec) in layout.members.iter().zip(&scenario.etcd) {
            for (member, spec) in cluster.iter().zip(&spec.members) {
                assert!(inside(*member, layout.nodes[spec.node.0 as usize]), "{} at {width}: {}", scenario.name, spec.name);
            }
        }
    }

    #[test]
    fn nothing_overlaps_or_leaves_its_box_at_any_width() {
        for bundled in bundled() {
            let scenario = Scenario::from_json(bundled.json).unwrap();
            for width in [320.0, 374.0, 599.0, 600.0, 860.0, 1_200.0, 1_900.0] {
                check(&scenario, width);
            }
        }
    }

    #[test]
    fn a_map_is_as_large_as_its_room_lets_it() {
        let scenario = Scenario::from_json(zonefall_core::scenario::default_scenario().json).unwrap();
        for (width, height, larger) in
            [(807.0, 320.0, true), (1_780.0, 640.0, true), (880.0, 150.0, false), (374.0, 900.0, false)]
        {
            let layout = fit(&scenario, width, height);
            assert_eq!(layout.scale > 1.0, larger, "{width} x {height}: {}", layout.scale);
            assert!((layout.width * layout.scale - width).abs() < 0.01);
        }
    }

    #[test]
    fn what_is_too_high_stands_beside_each_other() {
        let single = bundled().iter().find(|scenario| scenario.name == "single-zone").unwrap();
        let scenario = Scenario::from_json(single.json).unwrap();
        let tops =
            |layout: &Layout| layout.nodes.iter().map(|node| node.y as i64).collect::<std::collections::BTreeSet<_>>().len();
        assert_eq!(tops(&layout(&scenario, 800.0)), 3);
        let beside = fit(&scenario, 800.0, 300.0);
        assert!(tops(&beside) < 3 && beside.height * beside.scale <= 300.0, "{} high", beside.height);
    }

    #[test]
    fn twelve_zones_of_five_nodes_wrap() {
        let zones: Vec<String> = (0..12).map(|z| format!("zone-{z}")).collect();
        let nodes: Vec<_> =
            (0..60).map(|n| serde_json::json!({"name": format!("node-{n}"), "zone": format!("zone-{}", n % 12)})).collect();
        let members: Vec<_> =
            (0..9).map(|m| serde_json::json!({"name": format!("etcd-{m}"), "node": format!("node-{m}")})).collect();
        let scenario = serde_json::json!({"name": "many", "title": "many", "description": "many", "duration": "1m",
            "topology": {"regions": [{"name": "r", "zones": zones}], "nodes": nodes}, "etcd": [{"name": "etcd", "members": members}]});
        let scenario = Scenario::from_json(&scenario.to_string()).unwrap();
        for width in [374.0, 860.0, 1_900.0] {
            check(&scenario, width);
        }
    }
}
