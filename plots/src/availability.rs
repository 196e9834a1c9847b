//! Time without each service, added up over the run: flat while it is there, rising while it is not.

use plotters::coord::Shift;
use plotters::drawing::DrawingArea;
use plotters::prelude::DrawingBackend;
use zonefall_core::report::{EtcdReport, OutageKind, Report};

use crate::Drawn;
use crate::canvas::Canvas;
use crate::frame::{Frame, Margins};
use crate::look::{BLUE, GREEN, Look, PURPLE, VERMILLION};
use crate::scale::{ceiling, moments, round, seconds};

const MARGINS: Margins = Margins { left: 80, right: 160, top: 56, bottom: 48 };

/// Services, the first undermost. Where lines lie upon each other, each shows between the dashes of those above it.
const SERVICES: [(OutageKind, &str, Look); 4] = [
    (OutageKind::Write, "write", Look::solid(VERMILLION)),
    (OutageKind::ReadLinearizable, "linearizable read", Look { colour: BLUE, dash: Some((10, 10)) }),
    (OutageKind::ReadSerializable, "serializable read", Look { colour: GREEN, dash: Some((5, 15)) }),
    (OutageKind::Quorum, "quorum", Look { colour: PURPLE, dash: Some((2, 8)) }),
];

/// Draws the availability of one cluster; nothing, where the report has no such cluster.
///
/// # Errors
/// What the backend says.
pub fn draw<DB: DrawingBackend>(report: &Report, name: &str, frame: &Frame, area: &DrawingArea<DB, Shift>) -> Drawn<DB> {
    let Some(cluster) = report.etcd.get(name) else { return Ok(()) };
    let title = format!("{name}: unavailable time");
    let canvas = Canvas::new(area, frame, MARGINS, &title, "unavailable time since the start")?;
    let end_s = report.simulated_s.max(f64::MIN_POSITIVE);
    let shown = unavailable_s(cluster, frame.to_s);
    let most_s = shown.iter().map(|(_, unavailable_s, _)| *unavailable_s).fold(0.0, f64::max);
    let marks = moments(if most_s > 0.0 { most_s } else { 1.0 }, 5);
    let top_s = ceiling(most_s, &marks);
    canvas.fault_bands(report)?;
    canvas.time_axis()?;
    let step = marks.get(1).map_or(top_s, |m| m.0);
    for i in 0..=(top_s / step).round() as u32 {
        let at = f64::from(i) * step;
        canvas.y_tick(at / top_s, &round(at))?;
    }
    let mut names = Vec::new();
    for ((kind, ..), (label, total_s, look)) in SERVICES.into_iter().zip(shown) {
        let points: Vec<_> =
            steps(cluster, kind, end_s).into_iter().map(|(at, unavailable_s)| (at, unavailable_s / top_s)).collect();
        canvas.series(&points, look, 2)?;
        names.push((total_s / top_s, format!("{label}: {}", seconds(total_s)), look));
    }
    canvas.names(names)
}

/// Time without each service from the start to a moment, in seconds: what the chart shows there, and how.
pub fn unavailable_s(cluster: &EtcdReport, at_s: f64) -> Vec<(&'static str, f64, Look)> {
    let until = |kind| {
        let begun = cluster.outages.iter().filter(move |o| o.kind == kind && o.from_s < at_s);
        begun.map(|o| o.to_s.min(at_s) - o.from_s).sum()
    };
    SERVICES.iter().map(|(kind, label, look)| (*label, until(*kind), *look)).collect()
}

/// Time gone by time, both in seconds.
fn steps(cluster: &EtcdReport, kind: OutageKind, end_s: f64) -> Vec<(f64, f64)> {
    let (mut points, mut unavailable_s) = (vec![(0.0, 0.0)], 0.0);
    for outage in cluster.outages.iter().filter(|o| o.kind == kind) {
        points.push((outage.from_s, unavailable_s));
        unavailable_s += outage.to_s - outage.from_s;
        points.push((outage.to_s, unavailable_s));
    }
    points.push((end_s, unavailable_s));
    points
}
