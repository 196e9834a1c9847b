//! Bytes on the wire between zones over time, one line per direction of a zone pair, on a logarithmic axis: a snapshot moves a
//! thousand times what heartbeats do, and both are worth seeing.

use plotters::coord::Shift;
use plotters::drawing::DrawingArea;
use plotters::prelude::DrawingBackend;
use plotters::style::RGBColor;
use zonefall_core::report::{Report, ZonePairReport};

use crate::Drawn;
use crate::canvas::{Anchor, COLOURS, Canvas, FAINT, Margins, PLAIN, apart};
use crate::scale::{Rates, moments, seconds};

/// Pairs with a colour and a label: those with the most bytes.
const MOST: usize = 6;
const MARGINS: Margins = Margins { left: 90, right: 220, top: 56, bottom: 48 };

/// Draws the traffic between zones.
///
/// # Errors
/// What the backend says.
pub fn draw<DB: DrawingBackend>(report: &Report, area: &DrawingArea<DB, Shift>) -> Drawn<DB> {
    let canvas = Canvas::new(area, &MARGINS, "Traffic between zones")?;
    let end_s = report.simulated_s.max(f64::MIN_POSITIVE);
    let seen = || report.zone_pairs.iter().flat_map(|p| &p.wire_bytes_per_s).copied().filter(|r| *r > 0.0);
    let rates = Rates::new(seen().fold(f64::INFINITY, f64::min).clamp(1.0, 1e12), seen().fold(1.0, f64::max));
    for (at, words) in moments(end_s, 8) {
        canvas.x_tick(at / end_s, &words)?;
    }
    for (share, words) in rates.marks() {
        canvas.y_tick(share, &words)?;
    }
    canvas.x_title("simulated time")?;
    let unit = format!("bytes on the wire, mean of {} (logarithmic)", seconds(report.traffic_window_s));
    canvas.label(12, 40, &unit, FAINT, Anchor::Start)?;

    let mut pairs: Vec<&ZonePairReport> = report.zone_pairs.iter().collect();
    // The busiest last, on top of the others; traffic that leaves its zone before traffic that does not, for it costs money.
    pairs.sort_by_key(|p| (p.from_zone != p.to_zone, p.wire_bytes));
    let plain = pairs.len().saturating_sub(MOST);
    let mut labels: Vec<(i32, String, RGBColor)> = Vec::new();
    for (i, pair) in pairs.iter().enumerate() {
        let colour = if i < plain { PLAIN } else { COLOURS[pairs.len() - 1 - i] };
        canvas.line(line(&canvas, pair, report, &rates), colour, if i < plain { 1 } else { 2 })?;
        if i >= plain {
            let last = pair.wire_bytes_per_s.last().copied().unwrap_or(0.0);
            labels.push((canvas.y(rates.share(last)), words(pair), colour));
        }
    }
    labels.sort_by_key(|(y, ..)| *y);
    let mut heights: Vec<i32> = labels.iter().map(|(y, ..)| *y).collect();
    apart(&mut heights, 15, canvas.bottom);
    for ((_, text, colour), y) in labels.iter().zip(heights) {
        canvas.label(canvas.right + 10, y, text, *colour, Anchor::Start)?;
    }
    Ok(())
}

fn words(pair: &ZonePairReport) -> String {
    if pair.from_zone == pair.to_zone {
        format!("inside {}", pair.from_zone)
    } else {
        format!("{} → {}", pair.from_zone, pair.to_zone)
    }
}

/// Means of the windows as a line with steps.
fn line<DB: DrawingBackend>(canvas: &Canvas<'_, DB>, pair: &ZonePairReport, report: &Report, rates: &Rates) -> Vec<(i32, i32)> {
    let end_s = report.simulated_s.max(f64::MIN_POSITIVE);
    let mut points = Vec::new();
    for (i, rate) in pair.wire_bytes_per_s.iter().enumerate() {
        let from_s = i as f64 * report.traffic_window_s;
        let to_s = (from_s + report.traffic_window_s).min(end_s);
        points.extend([from_s, to_s].map(|at| (canvas.x(at / end_s), canvas.y(rates.share(*rate)))));
    }
    points
}
