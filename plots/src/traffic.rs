//! Bytes on the wire between zones over time, one line per direction of a zone pair, on a logarithmic axis: a snapshot moves a
//! thousand times what heartbeats do, and both are worth seeing.

use plotters::coord::Shift;
use plotters::drawing::DrawingArea;
use plotters::prelude::DrawingBackend;
use zonefall_core::report::{Report, ZonePairReport};

use crate::Drawn;
use crate::canvas::{COLOURS, Canvas};
use crate::frame::{Frame, Margins};
use crate::scale::{Rates, seconds};

/// Pairs with a colour and a label: those with the most bytes.
const MOST: usize = 6;
const MARGINS: Margins = Margins { left: 90, right: 220, top: 56, bottom: 48 };

/// Draws the traffic between zones.
///
/// # Errors
/// What the backend says.
pub fn draw<DB: DrawingBackend>(report: &Report, frame: &Frame, area: &DrawingArea<DB, Shift>) -> Drawn<DB> {
    let unit = format!("bytes on the wire, mean of {} (logarithmic)", seconds(report.traffic_window_s));
    let canvas = Canvas::new(area, frame, MARGINS, "Traffic between zones", &unit)?;
    let seen = || report.zone_pairs.iter().flat_map(|p| &p.wire_bytes_per_s).copied().filter(|r| *r > 0.0);
    let rates = Rates::new(seen().fold(f64::INFINITY, f64::min).clamp(1.0, 1e12), seen().fold(1.0, f64::max));
    canvas.fault_bands(report)?;
    canvas.time_axis()?;
    for (share, words) in rates.marks() {
        canvas.y_tick(share, &words)?;
    }
    let pairs = sorted(report);
    let plain = pairs.len().saturating_sub(MOST);
    let mut names = Vec::new();
    for (i, pair) in pairs.iter().enumerate() {
        let colour = if i < plain { canvas.theme().plain } else { COLOURS[pairs.len() - 1 - i] };
        canvas.series(&line(pair, report, &rates), colour, if i < plain { 1 } else { 2 })?;
        if i >= plain {
            names.push((rates.share(pair.wire_bytes_per_s.last().copied().unwrap_or(0.0)), words(pair), colour));
        }
    }
    canvas.names(names)
}

/// The busiest last, on top of the others; traffic that leaves its zone before traffic that does not, for it costs money.
fn sorted(report: &Report) -> Vec<&ZonePairReport> {
    let mut pairs: Vec<&ZonePairReport> = report.zone_pairs.iter().collect();
    pairs.sort_by_key(|p| (p.from_zone != p.to_zone, p.wire_bytes));
    pairs
}

/// Bytes per second of the pairs that the chart names, busiest first, in the window of a moment.
pub fn rates(report: &Report, at_s: f64) -> Vec<(String, f64)> {
    let window = (at_s / report.traffic_window_s) as usize;
    let rate = |p: &&ZonePairReport| (words(p), p.wire_bytes_per_s.get(window).copied().unwrap_or(0.0));
    sorted(report).iter().rev().take(MOST).map(rate).collect()
}

fn words(pair: &ZonePairReport) -> String {
    if pair.from_zone == pair.to_zone {
        format!("inside {}", pair.from_zone)
    } else {
        format!("{} → {}", pair.from_zone, pair.to_zone)
    }
}

/// Means of the windows as a line with steps: seconds, and the share of the axis.
fn line(pair: &ZonePairReport, report: &Report, rates: &Rates) -> Vec<(f64, f64)> {
    let end_s = report.simulated_s.max(f64::MIN_POSITIVE);
    let mut points = Vec::new();
    for (i, rate) in pair.wire_bytes_per_s.iter().enumerate() {
        let from_s = i as f64 * report.traffic_window_s;
        let to_s = (from_s + report.traffic_window_s).min(end_s);
        points.extend([from_s, to_s].map(|at| (at, rates.share(*rate))));
    }
    points
}
