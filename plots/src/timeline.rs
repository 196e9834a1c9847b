//! What happened when: faults, who led, and what was not available, one lane each over simulated time.

use plotters::coord::Shift;
use plotters::drawing::DrawingArea;
use plotters::prelude::DrawingBackend;
use plotters::style::RGBColor;
use zonefall_core::report::{EtcdReport, OutageKind, Report};

use crate::Drawn;
use crate::canvas::{Anchor, Canvas, width};
use crate::frame::{Frame, Margins};
use crate::look::{COLOURS, ORANGE, VERMILLION};
use crate::scale::seconds;

/// Height of a lane in pixels.
const LANE: i32 = 24;
/// Lanes of faults; further ones share the last.
const MOST_FAULTS: usize = 8;
const MARGINS: Margins = Margins { left: 170, right: 90, top: 40, bottom: 48 };

const SERVICES: [(OutageKind, &str); 4] = [
    (OutageKind::Write, "write"),
    (OutageKind::ReadLinearizable, "linearizable read"),
    (OutageKind::ReadSerializable, "serializable read"),
    (OutageKind::Quorum, "quorum"),
];

/// A bar of a lane.
struct Bar {
    from_s: f64,
    to_s: f64,
    colour: RGBColor,
    text: String,
}

/// The height that this chart needs, in pixels.
pub fn height(report: &Report, cluster: &EtcdReport) -> u32 {
    let lanes = report.faults.len().min(MOST_FAULTS) + cluster.members.len() + SERVICES.len();
    (MARGINS.top + MARGINS.bottom + LANE * lanes as i32 + 2 * LANE / 2) as u32
}

/// Draws the timeline of one cluster; nothing, where the report has no such cluster.
///
/// # Errors
/// What the backend says.
pub fn draw<DB: DrawingBackend>(report: &Report, name: &str, frame: &Frame, area: &DrawingArea<DB, Shift>) -> Drawn<DB> {
    let Some(cluster) = report.etcd.get(name) else { return Ok(()) };
    let title = format!("{name}: leaders, faults and outages");
    let canvas = Canvas::new(area, frame, MARGINS, &title, "")?;
    canvas.time_axis()?;
    let lane_height = canvas.px(LANE);
    let mut y = canvas.top + lane_height / 2;
    let mut lane = |label: &str, bars: &[Bar], gap: bool| {
        if gap {
            y += lane_height / 2;
        }
        draw_lane(&canvas, y, label, bars, frame)?;
        y += lane_height;
        Ok(())
    };
    for (label, bars) in faults(report) {
        lane(&label, &bars, false)?;
    }
    for (i, member) in cluster.members.iter().enumerate() {
        lane(&member.name, &leaderships(cluster, &member.name, COLOURS[i % COLOURS.len()]), i == 0)?;
    }
    for (i, (kind, label)) in SERVICES.into_iter().enumerate() {
        lane(label, &outages(cluster, kind), i == 0)?;
    }
    Ok(())
}

fn faults(report: &Report) -> Vec<(String, Vec<Bar>)> {
    let bar =
        |f: &zonefall_core::report::FaultReport| Bar { from_s: f.from_s, to_s: f.to_s, colour: ORANGE, text: f.what.clone() };
    let mut lanes: Vec<(String, Vec<Bar>)> = Vec::new();
    for (i, fault) in report.faults.iter().enumerate() {
        if i < MOST_FAULTS {
            lanes.push((if i == 0 { "faults" } else { "" }.to_owned(), vec![bar(fault)]));
        } else if let Some((label, bars)) = lanes.last_mut() {
            *label = format!("and {} more", report.faults.len() - MOST_FAULTS);
            bars.push(Bar { text: String::new(), ..bar(fault) });
        }
    }
    lanes
}

fn leaderships(cluster: &EtcdReport, member: &str, colour: RGBColor) -> Vec<Bar> {
    let leaderships = cluster.leaders.iter().filter(|l| l.leader == member);
    leaderships.map(|l| Bar { from_s: l.from_s, to_s: l.to_s, colour, text: format!("leader, term {}", l.term) }).collect()
}

fn outages(cluster: &EtcdReport, kind: OutageKind) -> Vec<Bar> {
    let outages = cluster.outages.iter().filter(|o| o.kind == kind);
    outages.map(|o| Bar { from_s: o.from_s, to_s: o.to_s, colour: VERMILLION, text: seconds(o.to_s - o.from_s) }).collect()
}

/// The label, a base line, and the bars with their words inside or, where they do not fit, right of them.
fn draw_lane<DB: DrawingBackend>(canvas: &Canvas<'_, DB>, y: i32, label: &str, bars: &[Bar], frame: &Frame) -> Drawn<DB> {
    let theme = canvas.theme();
    let px = |v| canvas.px(v);
    canvas.label(canvas.left - px(10), y, label, theme.ink, Anchor::End)?;
    canvas.line(vec![(canvas.left, y), (canvas.right, y)], theme.grid, 1)?;
    let mut free = canvas.left;
    let bars: Vec<&Bar> = bars.iter().filter(|b| b.to_s >= frame.from_s && b.from_s <= frame.to_s).collect();
    for (i, bar) in bars.iter().enumerate() {
        let from = canvas.time(bar.from_s);
        // An outage of a second in a run of an hour is still to be seen.
        let to = canvas.time(bar.to_s).max(from + px(2));
        canvas.bar((from, y - px(8)), (to, y + px(8)), bar.colour, 0.35)?;
        canvas.line(vec![(from, y - px(8)), (from, y + px(8))], bar.colour, 2)?;
        let next = bars.get(i + 1).map_or(canvas.right + px(MARGINS.right), |b| canvas.time(b.from_s));
        let needs = px(width(&bar.text));
        if to - from >= needs + px(8) {
            canvas.label(from + px(6), y, &bar.text, theme.ink, Anchor::Start)?;
        } else if to + px(6) >= free && next - to >= needs {
            canvas.label(to + px(6), y, &bar.text, theme.faint, Anchor::Start)?;
        } else if i == 0 && from - canvas.left >= needs {
            canvas.label(from - px(6), y, &bar.text, theme.faint, Anchor::End)?;
        }
        free = to + needs;
    }
    Ok(())
}
