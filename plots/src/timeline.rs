//! What happened when: faults, who led, and what was not available, one lane each over simulated time.

use plotters::coord::Shift;
use plotters::drawing::DrawingArea;
use plotters::prelude::DrawingBackend;
use plotters::style::RGBColor;
use zonefall_core::report::{EtcdReport, OutageKind, Report};

use crate::Drawn;
use crate::canvas::{Anchor, COLOURS, Canvas, FAINT, GRID, INK, Margins, ORANGE, VERMILLION, width};
use crate::scale::{moments, seconds};

/// Height of a lane in pixels.
const LANE: i32 = 24;
/// Lanes of faults; further ones share the last.
const MOST_FAULTS: usize = 8;
const MARGINS: Margins = Margins { left: 170, right: 90, top: 40, bottom: 48 };

const SERVICES: [(OutageKind, &str); 4] = [
    (OutageKind::Write, "write"),
    (OutageKind::ReadLinearizable, "read, linearizable"),
    (OutageKind::ReadSerializable, "read, serializable"),
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
pub fn draw<DB: DrawingBackend>(report: &Report, name: &str, area: &DrawingArea<DB, Shift>) -> Drawn<DB> {
    let Some(cluster) = report.etcd.get(name) else { return Ok(()) };
    let title = format!("{name}: who led, what broke, what was not available");
    let canvas = Canvas::new(area, &MARGINS, &title)?;
    let end_s = report.simulated_s.max(f64::MIN_POSITIVE);
    for (at, words) in moments(end_s, 8) {
        canvas.x_tick(at / end_s, &words)?;
    }
    canvas.x_title("simulated time")?;
    let mut y = canvas.top + LANE / 2;
    let mut lane = |label: &str, bars: &[Bar], gap: bool| {
        if gap {
            y += LANE / 2;
        }
        draw_lane(&canvas, y, label, bars, end_s)?;
        y += LANE;
        Ok(())
    };
    for (label, bars) in faults(report) {
        lane(&label, &bars, false)?;
    }
    for (i, member) in cluster.members.iter().enumerate() {
        lane(&member.name, &reigns(cluster, &member.name, COLOURS[i % COLOURS.len()]), i == 0)?;
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

fn reigns(cluster: &EtcdReport, member: &str, colour: RGBColor) -> Vec<Bar> {
    let reigns = cluster.leaders.iter().filter(|l| l.leader == member);
    reigns.map(|l| Bar { from_s: l.from_s, to_s: l.to_s, colour, text: format!("leads, term {}", l.term) }).collect()
}

fn outages(cluster: &EtcdReport, kind: OutageKind) -> Vec<Bar> {
    let outages = cluster.outages.iter().filter(|o| o.kind == kind);
    outages.map(|o| Bar { from_s: o.from_s, to_s: o.to_s, colour: VERMILLION, text: seconds(o.to_s - o.from_s) }).collect()
}

/// The label, a base line, and the bars with their words inside or, where they do not fit, right of them.
fn draw_lane<DB: DrawingBackend>(canvas: &Canvas<'_, DB>, y: i32, label: &str, bars: &[Bar], end_s: f64) -> Drawn<DB> {
    canvas.label(canvas.left - 10, y, label, INK, Anchor::End)?;
    canvas.line(vec![(canvas.left, y), (canvas.right, y)], GRID, 1)?;
    let mut free = canvas.left;
    for (i, bar) in bars.iter().enumerate() {
        let from = canvas.x(bar.from_s / end_s);
        // An outage of a second in a run of an hour is still to be seen.
        let to = canvas.x(bar.to_s / end_s).max(from + 2);
        canvas.bar((from, y - 8), (to, y + 8), bar.colour, 0.35)?;
        canvas.line(vec![(from, y - 8), (from, y + 8)], bar.colour, 2)?;
        let next = bars.get(i + 1).map_or(canvas.right + MARGINS.right, |b| canvas.x(b.from_s / end_s));
        let needs = width(&bar.text);
        if to - from >= needs + 8 {
            canvas.label(from + 6, y, &bar.text, INK, Anchor::Start)?;
        } else if to + 6 >= free && next - to >= needs {
            canvas.label(to + 6, y, &bar.text, FAINT, Anchor::Start)?;
        } else if i == 0 && from - canvas.left >= needs {
            canvas.label(from - 6, y, &bar.text, FAINT, Anchor::End)?;
        }
        free = to + needs;
    }
    Ok(())
}
