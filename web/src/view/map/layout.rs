//! Where everything on the map stands: a pure function of the scenario and the width there is.
//!
//! ```text
//!   region
//!        .--- arc: zones that are not neighbours ---.
//!   [zone]----[zone]----[zone]      a row; further rows below; on a narrow screen each zone is a row
//!    load balancers and clients of APIs
//!    node      node      node
//!     chip      chip      chip      members; beneath them pods, as cells
//!    machines without a node, clients
//! ```
//!
//! Where there is Kubernetes, a tray above all of it says which pods have no node.

mod link;
#[cfg(test)]
mod tests;
mod tray;

use zonefall_core::ids::{ClientId, EtcdId, TiVec, ZoneId};
use zonefall_core::scenario::{Client, Scenario};

use super::crowd::{Card, Crowd};
use crate::state::Selection;
use link::link;
pub use link::{Curve, LinkPlace, way};
use tray::Tray;

/// A rectangle, in CSS pixels.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Rect {
    /// Left edge, in pixels.
    pub x: f64,
    /// Top edge, in pixels.
    pub y: f64,
    /// Width in pixels.
    pub w: f64,
    /// Height in pixels.
    pub h: f64,
}

impl Rect {
    /// Its middle.
    pub fn centre(self) -> (f64, f64) {
        (self.x + self.w / 2.0, self.y + self.h / 2.0)
    }
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
    pub zones: TiVec<ZoneId, Rect>,
    /// Nodes by id, then those that machines brought.
    pub nodes: Vec<Rect>,
    /// Members by cluster and index.
    pub members: TiVec<EtcdId, Vec<Rect>>,
    /// Clients by id; those that find no room have no height.
    pub clients: TiVec<ClientId, Rect>,
    /// Links in the order of the model: (0, 1), (0, 2) ... (1, 2) ...
    pub links: Vec<LinkPlace>,
    /// Regions, where there are several: name and the rectangle around their zones.
    pub regions: Vec<(String, Rect)>,
    /// Pods and machines that are drawn by themselves, as the crowd numbers them; then the nodes that machines brought.
    pub things: Vec<(Selection, Rect)>,
    /// Nodes of load balancers and groups of clients of APIs.
    pub access: Vec<(Selection, Rect)>,
    /// Bars of pods, by node; those without have no height.
    pub bars: Vec<Rect>,
    /// Heads of the machines without a node, by zone and phase: where their words begin.
    pub heaps: TiVec<ZoneId, Vec<(f64, f64)>>,
    /// Pods without a node; `None`: there is no Kubernetes.
    pub tray: Option<Tray>,
}

/// Room inside a box.
pub const PAD: f64 = 8.0;
/// Height of a zone's head.
pub const ZONE_HEAD: f64 = 32.0;
/// Height of a node's head.
pub const NODE_HEAD: f64 = 24.0;
/// What a node of Kubernetes has more: how it is, and its machine.
pub const KUBE_HEAD: f64 = 18.0;
/// Width of a machine's badge.
const BADGE: f64 = 76.0;
/// Height of a bar of pods.
pub const BAR: f64 = 16.0;
/// Height of a client; where a finger chooses it, and where a pointer does.
const CLIENT: (f64, f64) = (32.0, 20.0);
/// The same of a member with two lines of words.
const CHIP: (f64, f64) = (44.0, 42.0);
/// Height of a node of a load balancer: two lines of words.
const BALANCER: f64 = 38.0;
/// Clients of one zone that are drawn; the table has all.
const MOST_CLIENTS: usize = 6;
/// Room at the sides of the map, for the walls of cut zones.
const SIDE: f64 = 8.0;
const CARD: f64 = 176.0;
const WIDEST_CARD: f64 = 300.0;
/// Nodes above each other in a zone, before another column begins.
const TALL: usize = 4;
const GAP: f64 = 72.0;
/// Card and gap where there is Kubernetes: four zones beside each other.
const KUBE_CARD: f64 = 142.0;
const KUBE_GAP: f64 = 52.0;
/// Nodes above each other there: zones stand beside each other, so that they compare.
const KUBE_TALL: usize = 12;
const ROW_GAP: f64 = 48.0;
const NARROW: f64 = 600.0;
const REGION_HEAD: f64 = 24.0;

struct Sizes<'a> {
    scenario: &'a Scenario,
    crowd: &'a Crowd,
    /// Width of a card, at least.
    card: f64,
    /// Between two zones.
    gap: f64,
    /// Side of a cell.
    cell: f64,
    /// Nodes above each other in a zone, at most.
    tall: usize,
    /// Height of a member.
    chip: f64,
    /// Height of a client.
    client: f64,
    /// How much higher than usual members, clients and the links above zones are.
    air: f64,
    in_zone: TiVec<ZoneId, Vec<usize>>,
    clients: TiVec<ZoneId, Vec<ClientId>>,
}

/// How large a map is shown where there is room.
const SCALES: [f64; 11] = [1.6, 1.5, 1.4, 1.35, 1.3, 1.25, 1.2, 1.15, 1.1, 1.05, 1.0];

/// How much of the height that is left then is used.
const AIRS: [f64; 9] = [2.6, 2.4, 2.2, 2.0, 1.8, 1.6, 1.4, 1.2, 1.0];

/// The layout of a scenario in a room of `width` by `height` pixels: as large as it can be without other rows or scrolling, and
/// then as high as the room; where zones are too high, their nodes stand beside each other. Where pods come and go it keeps its size.
pub fn fit(scenario: &Scenario, crowd: &Crowd, width: f64, height: f64) -> Layout {
    let plain = layout(scenario, crowd, width);
    if width < NARROW || crowd.kube {
        return plain;
    }
    let rows = |layout: &Layout| {
        let mut tops = std::collections::BTreeSet::new();
        tops.extend(layout.zones.iter().map(|zone| zone.y.to_bits()));
        tops.len()
    };
    let sizes = || Sizes::new(scenario, crowd, width);
    let card = sizes().snug_card();
    let of = |card: f64, tall: usize, scale: f64, air: f64| {
        let placed = Layout { scale, ..place(&Sizes { card, tall, ..sizes() }.higher(air), width / scale) };
        let fits = rows(&placed) == rows(&plain) && placed.height * scale <= height;
        (fits && placed.nodes.iter().all(|node| node.w >= card)).then_some(placed)
    };
    let highest = |scale: f64| AIRS.into_iter().find_map(|air| of(card, TALL, scale, air));
    let larger = SCALES.into_iter().filter(|scale| width / scale >= NARROW).find_map(highest);
    larger.or_else(|| (1..=TALL).rev().find_map(|tall| of(card.min(CARD), tall, 1.0, 1.0))).unwrap_or(plain)
}

/// The layout of a scenario in `width` pixels.
pub fn layout(scenario: &Scenario, crowd: &Crowd, width: f64) -> Layout {
    place(&Sizes::new(scenario, crowd, width), width)
}

fn place(sizes: &Sizes<'_>, width: f64) -> Layout {
    let Sizes { scenario, crowd, .. } = sizes;
    let narrow = width < NARROW;
    let (zones, cards) = (scenario.zones.len(), crowd.cards.len());
    let mut layout = Layout {
        width,
        height: 0.0,
        scale: 1.0,
        compact: sizes.chip < 30.0,
        zones: vec![Rect::default(); zones].into(),
        nodes: vec![Rect::default(); cards],
        members: scenario.etcd.iter().map(|c| vec![Rect::default(); c.members.len()]).collect(),
        clients: vec![Rect::default(); scenario.clients.len()].into(),
        links: Vec::new(),
        regions: Vec::new(),
        things: crowd.ids.iter().map(|is| (*is, Rect::default())).collect(),
        access: Vec::new(),
        bars: vec![Rect::default(); cards],
        heaps: vec![Vec::new(); zones].into(),
        tray: None,
    };
    let mut y = 4.0;
    if crowd.kube {
        let tray = tray::place(crowd, (SIDE, y, width - 2.0 * SIDE), &mut layout.things);
        y += tray.height;
        layout.tray = Some(tray);
    }
    let rows = rows(sizes, width, narrow);
    let regions = scenario.regions.len() > 1;
    let mut of_row: TiVec<ZoneId, usize> = vec![0; zones].into();
    for (number, row) in rows.iter().enumerate() {
        let head = if regions { REGION_HEAD } else { 0.0 };
        let span = if narrow { 0 } else { row.len().saturating_sub(2) };
        let channel = if span == 0 { 0.0 } else { (18.0 + 22.0 * span as f64) * sizes.air };
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
    members_without_chips(scenario, &mut layout);
    let joined = crowd.cards.iter().zip(&layout.nodes).skip(scenario.nodes.len());
    layout.things.extend(joined.map(|(card, rect)| (card.is, *rect)));
    let pairs = (0..zones).flat_map(|a| (a + 1..zones).map(move |b| (ZoneId::from(a), ZoneId::from(b))));
    layout.links = pairs.map(|(a, b)| link(&layout, &rows, (a, b), (of_row[a], of_row[b]), narrow)).collect();
    layout
}

impl<'a> Sizes<'a> {
    fn new(scenario: &'a Scenario, crowd: &'a Crowd, width: f64) -> Self {
        let of_zone = |z: ZoneId| (0..crowd.cards.len()).filter(|&n| crowd.cards[n].zone == z).collect();
        // Parts of API servers are drawn as the pods that they are.
        let drawn = |client: &Client, z: ZoneId| client.zone == z && client.server.is_none();
        let clients = |z: ZoneId| scenario.clients.iter_enumerated().filter(|(_, c)| drawn(c, z)).map(|(id, _)| id).collect();
        let members: usize = scenario.etcd.iter().map(|c| c.members.len()).sum();
        let crowded = crowd.kube || scenario.nodes.len() > 14 || members > 14;
        // A finger needs more room than a pointer.
        let narrow = width < NARROW;
        let by_hand = |(finger, pointer): (f64, f64)| if narrow { finger } else { pointer };
        Self {
            scenario,
            crowd,
            card: if crowd.kube { KUBE_CARD } else { CARD },
            gap: if crowd.kube { KUBE_GAP } else { GAP },
            cell: by_hand((24.0, 14.0)),
            tall: if crowd.kube { KUBE_TALL } else { TALL },
            chip: if crowded { 24.0 } else { by_hand(CHIP) },
            client: by_hand(CLIENT),
            air: 1.0,
            in_zone: scenario.zones.keys().map(of_zone).collect(),
            clients: scenario.zones.keys().map(clients).collect(),
        }
    }

    /// The same with members, clients and links that are higher by a factor.
    fn higher(self, air: f64) -> Self {
        Self { chip: self.chip * air, client: self.client * air, air, ..self }
    }

    fn head(card: &Card) -> f64 {
        NODE_HEAD + if card.kube { KUBE_HEAD } else { 0.0 }
    }

    fn node_height(&self, node: usize, width: f64) -> f64 {
        let card = &self.crowd.cards[node];
        let members = card.members.len() as f64;
        let bar = if card.bar { BAR + 6.0 } else { 0.0 };
        Self::head(card)
            + members * (self.chip + 4.0)
            + if members > 0.0 { 4.0 } else { 0.0 }
            + self.cells(card.cells.len(), width - 12.0)
            + bar
    }

    /// Height of so many cells, with room beneath.
    fn cells(&self, count: usize, width: f64) -> f64 {
        let rows = count.div_ceil(self.per_row(width)) as f64;
        rows * (self.cell + 3.0) + if rows > 0.0 { 4.0 } else { 0.0 }
    }

    fn per_row(&self, width: f64) -> usize {
        (((width + 3.0) / (self.cell + 3.0)) as usize).max(1)
    }

    /// Places cells from a corner on.
    fn place_cells(&self, cells: &[usize], (x, y, width): (f64, f64, f64), layout: &mut Layout) {
        let (per_row, pitch) = (self.per_row(width), self.cell + 3.0);
        for (i, &thing) in cells.iter().enumerate() {
            let (column, row) = ((i % per_row) as f64, (i / per_row) as f64);
            layout.things[thing].1 = Rect { x: x + column * pitch, y: y + row * pitch, w: self.cell, h: self.cell };
        }
    }

    /// Columns of nodes that a zone would like.
    fn columns(&self, zone: ZoneId) -> usize {
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
fn rows(sizes: &Sizes<'_>, width: f64, narrow: bool) -> Vec<Vec<ZoneId>> {
    let zones = &sizes.scenario.zones;
    if narrow {
        return zones.keys().map(|z| vec![z]).collect();
    }
    let needs = |z: ZoneId| sizes.zone_width(sizes.columns(z)).min(width - 2.0 * PAD);
    let all = zones.keys().map(needs).sum::<f64>() + sizes.gap * zones.len().saturating_sub(1) as f64;
    let one_row = all <= width;
    let mut rows: Vec<Vec<ZoneId>> = Vec::new();
    let mut used = f64::INFINITY;
    let mut region = zones.first().map(|zone| zone.region);
    for (zone, spec) in zones.iter_enumerated() {
        let new_region = region.replace(spec.region) != Some(spec.region);
        if used + sizes.gap + needs(zone) > width || (new_region && !one_row) {
            rows.push(Vec::new());
            used = -sizes.gap;
        }
        used += sizes.gap + needs(zone);
        rows.last_mut().expect("a row was begun").push(zone);
    }
    rows
}

/// Places the zones of a row and all in them; the bottom of the row.
fn place_row(sizes: &Sizes<'_>, row: &[ZoneId], width: f64, top: f64, narrow: bool, layout: &mut Layout) -> f64 {
    let margin = if narrow && sizes.scenario.zones.len() > 2 { 44.0 } else { SIDE };
    let columns: Vec<usize> = row
        .iter()
        .map(|&z| sizes.columns(z).min(((width - margin - SIDE - PAD) / (sizes.card + PAD)).floor().max(1.0) as usize))
        .collect();
    let total: usize = columns.iter().sum();
    let gaps = row.len().saturating_sub(1) as f64;
    let room = width - margin - SIDE - gaps * sizes.gap - row.len() as f64 * PAD;
    let card =
        (room / total as f64 - PAD).clamp(sizes.card.min(room - PAD).min(WIDEST_CARD), if narrow { room } else { WIDEST_CARD });
    let zone_width = |columns: usize| columns as f64 * (card + PAD) + PAD;
    let used: f64 = columns.iter().map(|&c| zone_width(c)).sum();
    let spare = width - margin - SIDE - used - gaps * sizes.gap;
    let gap = if gaps > 0.0 { sizes.gap + (spare / gaps / 2.0).clamp(0.0, 56.0) } else { sizes.gap };
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

/// Places load balancers, clients of APIs, nodes, members and clients of a zone; its height.
fn fill_zone(sizes: &Sizes<'_>, zone: ZoneId, (x, top, card): (f64, f64, f64), columns: usize, layout: &mut Layout) -> f64 {
    let w = columns as f64 * (card + PAD) - PAD;
    let mut y = top + ZONE_HEAD;
    for &is in &sizes.crowd.access[zone] {
        let h = if matches!(is, Selection::Balancer(..)) { BALANCER } else { sizes.client };
        layout.access.push((is, Rect { x: x + PAD, y, w, h }));
        y += h + 4.0;
    }
    let mut ends = vec![y + if sizes.crowd.access[zone].is_empty() { 0.0 } else { PAD / 2.0 }; columns];
    for &node in &sizes.in_zone[zone] {
        let shortest = (0..columns).min_by(|&a, &b| ends[a].total_cmp(&ends[b])).unwrap_or(0);
        let h = sizes.node_height(node, card);
        let rect = Rect { x: x + PAD + shortest as f64 * (card + PAD), y: ends[shortest], w: card, h };
        layout.nodes[node] = rect;
        fill_card(sizes, node, layout);
        ends[shortest] += h + PAD;
    }
    y = ends.iter().copied().fold(top, f64::max);
    for cells in &sizes.crowd.heaps[zone] {
        layout.heaps[zone].push((x + PAD, y + 11.0));
        sizes.place_cells(cells, (x + PAD, y + 17.0, w), layout);
        y += 20.0 + sizes.cells(cells.len(), w);
    }
    for &client in sizes.clients[zone].iter().take(MOST_CLIENTS) {
        layout.clients[client] = Rect { x: x + PAD, y, w, h: sizes.client };
        y += sizes.client + 2.0;
    }
    y + if sizes.clients[zone].is_empty() { 0.0 } else { PAD / 2.0 } - top
}

/// Where members are too many for chips, what they say comes from their nodes.
fn members_without_chips(scenario: &Scenario, layout: &mut Layout) {
    let places = layout.members.iter_mut().flatten();
    for (place, member) in
        places.zip(scenario.etcd.iter().flat_map(|cluster| &cluster.members)).filter(|(place, _)| place.h == 0.0)
    {
        let node = layout.nodes[usize::from(member.node)];
        *place = Rect { x: node.x + node.w / 2.0, y: node.y + NODE_HEAD / 2.0, w: 0.0, h: 0.0 };
    }
}

/// Places what a card holds: its machine, members, pods.
fn fill_card(sizes: &Sizes<'_>, node: usize, layout: &mut Layout) {
    let (rect, card) = (layout.nodes[node], &sizes.crowd.cards[node]);
    if let Some(badge) = card.badge {
        layout.things[badge].1 = Rect { x: rect.x + rect.w - 6.0 - BADGE, y: rect.y + NODE_HEAD - 3.0, w: BADGE, h: KUBE_HEAD };
    }
    let (x, w, mut y) = (rect.x + 6.0, rect.w - 12.0, rect.y + Sizes::head(card));
    for member in &card.members {
        layout.members[member.cluster][member.index as usize] = Rect { x, y, w, h: sizes.chip };
        y += sizes.chip + 4.0;
    }
    sizes.place_cells(&card.cells, (x, y, w), layout);
    if card.bar {
        layout.bars[node] = Rect { x, y, w, h: BAR };
    }
}

fn frame_regions(scenario: &Scenario, row: &[ZoneId], (top, bottom): (f64, f64), layout: &mut Layout) {
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
