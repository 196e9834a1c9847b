//! Lines: links between zones, the ways of messages.

use zonefall_core::ids::ZoneId;

use super::{Layout, ROW_GAP, Rect, ZONE_HEAD};

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
    /// Room for them, in pixels.
    pub room: f64,
    /// Whether the zones are neighbours on the map; other links are drawn where they have something to say.
    pub near: bool,
}

/// Room for all that is said of a link.
const WIDE: f64 = 200.0;

/// The link between two zones, and the rows they are in.
pub(super) fn link(
    layout: &Layout,
    rows: &[Vec<ZoneId>],
    (a, b): (ZoneId, ZoneId),
    of: (usize, usize),
    narrow: bool,
) -> LinkPlace {
    let (from, to) = (layout.zones[a], layout.zones[b]);
    let (from, to) = if (of.0, from.x) <= (of.1, to.x) { (from, to) } else { (to, from) };
    if narrow {
        return stacked(from, to, of.1.abs_diff(of.0));
    }
    let place = |zone: ZoneId, row: usize| rows[row].iter().position(|&z| z == zone).unwrap_or(0);
    if of.0 == of.1 {
        let apart = place(a, of.0).abs_diff(place(b, of.0));
        return beside(from, to, apart);
    }
    let (start, end) = ((from.x + from.w / 2.0, from.y + from.h), (to.x + to.w / 2.0, to.y));
    let half = (end.1 - start.1) / 2.0;
    let curve = Curve { points: [start, (start.0, start.1 + half), (end.0, end.1 - half), end] };
    let near = of.0.abs_diff(of.1) == 1 && (start.0 - end.0).abs() < 40.0;
    let label = (i32::midpoint(start.0 as i32, end.0 as i32).into(), end.1 - ROW_GAP / 2.0);
    LinkPlace { curve, label, room: WIDE, near }
}

/// Zones of one row: neighbours by a straight line between their heads, others by an arc above those between.
fn beside(from: Rect, to: Rect, apart: usize) -> LinkPlace {
    if apart <= 1 {
        let y = from.y + ZONE_HEAD / 2.0 + 4.0;
        let (x1, x2) = (from.x + from.w, to.x);
        let third = (x2 - x1) / 3.0;
        let curve = Curve { points: [(x1, y), (x1 + third, y), (x2 - third, y), (x2, y)] };
        return LinkPlace { curve, label: (f64::midpoint(x1, x2), y - 9.0), room: x2 - x1, near: true };
    }
    let rise = 4.0 + 22.0 * (apart - 1) as f64;
    let (x1, x2) = (from.x + from.w * 0.7, to.x + to.w * 0.3);
    let y = from.y;
    let control = rise / 0.75;
    let bend = (x2 - x1) * 0.18;
    let curve = Curve { points: [(x1, y), (x1 + bend, y - control), (x2 - bend, y - control), (x2, y)] };
    LinkPlace { curve, label: (f64::midpoint(x1, x2), y - rise - 9.0), room: WIDE, near: true }
}

/// Zones above each other: neighbours by a straight line, others by an arc at the left.
fn stacked(from: Rect, to: Rect, apart: usize) -> LinkPlace {
    if apart <= 1 {
        let x = from.x + 24.0;
        let (y1, y2) = (from.y + from.h, to.y);
        let third = (y2 - y1) / 3.0;
        let curve = Curve { points: [(x, y1), (x, y1 + third), (x, y2 - third), (x, y2)] };
        return LinkPlace { curve, label: (x + 66.0, f64::midpoint(y1, y2)), room: WIDE, near: true };
    }
    let (y1, y2) = (from.y + ZONE_HEAD / 2.0, to.y + ZONE_HEAD / 2.0);
    let reach = (12.0 * apart as f64).min(40.0);
    let x = from.x;
    let curve = Curve { points: [(x, y1), (x - reach, y1 + 30.0), (x - reach, y2 - 30.0), (x, y2)] };
    LinkPlace { curve, label: (24.0, f64::midpoint(y1, y2)), room: 48.0, near: apart == 2 }
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
