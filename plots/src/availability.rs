//! Time without each service, added up over the run: flat while it is there, rising while it is not.

use plotters::coord::Shift;
use plotters::drawing::DrawingArea;
use plotters::prelude::DrawingBackend;
use plotters::style::RGBColor;
use zonefall_core::report::{EtcdReport, OutageKind, Report};

use crate::Drawn;
use crate::canvas::{Anchor, BLUE, Canvas, FAINT, GREEN, Margins, PURPLE, VERMILLION, apart};
use crate::scale::{ceiling, moments, seconds};

const MARGINS: Margins = Margins { left: 80, right: 250, top: 56, bottom: 48 };

const SERVICES: [(OutageKind, &str, RGBColor); 4] = [
    (OutageKind::Write, "write", VERMILLION),
    (OutageKind::ReadLinearizable, "read, linearizable", BLUE),
    (OutageKind::ReadSerializable, "read, serializable", GREEN),
    (OutageKind::Quorum, "quorum", PURPLE),
];

/// Draws the availability of one cluster; nothing, where the report has no such cluster.
///
/// # Errors
/// What the backend says.
pub fn draw<DB: DrawingBackend>(report: &Report, name: &str, area: &DrawingArea<DB, Shift>) -> Drawn<DB> {
    let Some(cluster) = report.etcd.get(name) else { return Ok(()) };
    let canvas = Canvas::new(area, &MARGINS, &format!("{name}: time without service"))?;
    let end_s = report.simulated_s.max(f64::MIN_POSITIVE);
    let most_s = SERVICES.iter().map(|(kind, ..)| total(cluster, *kind)).fold(0.0, f64::max);
    let marks = moments(if most_s > 0.0 { most_s } else { 1.0 }, 5);
    let top_s = ceiling(most_s, &marks);
    for (at, words) in moments(end_s, 8) {
        canvas.x_tick(at / end_s, &words)?;
    }
    let step = marks.get(1).map_or(top_s, |m| m.0);
    for i in 0..=(top_s / step).round() as u32 {
        let at = f64::from(i) * step;
        canvas.y_tick(at / top_s, &seconds(at))?;
    }
    canvas.x_title("simulated time")?;
    canvas.label(12, 40, "time without service since the start", FAINT, Anchor::Start)?;

    // Lines that end at the same height share a label.
    let mut labels: Vec<(i32, String, RGBColor)> = Vec::new();
    for (kind, label, colour) in SERVICES {
        let points = steps(cluster, kind, end_s);
        let place = |&(at, gone): &(f64, f64)| (canvas.x(at / end_s), canvas.y(gone / top_s));
        canvas.line(points.iter().map(place).collect(), colour, 2)?;
        let y = canvas.y(total(cluster, kind) / top_s);
        labels.push((y, format!("{label}: {}", seconds(total(cluster, kind))), colour));
    }
    labels.sort_by_key(|(y, ..)| *y);
    let mut heights: Vec<i32> = labels.iter().map(|(y, ..)| *y).collect();
    apart(&mut heights, 15, canvas.bottom);
    for ((_, text, colour), y) in labels.iter().zip(heights) {
        canvas.label(canvas.right + 10, y, text, *colour, Anchor::Start)?;
    }
    Ok(())
}

fn total(cluster: &EtcdReport, kind: OutageKind) -> f64 {
    cluster.outages.iter().filter(|o| o.kind == kind).map(|o| o.to_s - o.from_s).sum()
}

/// Time gone by time, both in seconds.
fn steps(cluster: &EtcdReport, kind: OutageKind, end_s: f64) -> Vec<(f64, f64)> {
    let (mut points, mut gone) = (vec![(0.0, 0.0)], 0.0);
    for outage in cluster.outages.iter().filter(|o| o.kind == kind) {
        points.push((outage.from_s, gone));
        gone += outage.to_s - outage.from_s;
        points.push((outage.to_s, gone));
    }
    points.push((end_s, gone));
    points
}
