//! Bytes on the wire between zones over time, one line per direction of a zone pair, on a logarithmic axis: a snapshot moves a
//! thousand times what heartbeats do, and both are worth seeing.

use plotters::coord::Shift;
use plotters::drawing::DrawingArea;
use plotters::prelude::DrawingBackend;
use zonefall_core::report::{Report, ZonePairReport};

use crate::Drawn;
use crate::canvas::Canvas;
use crate::frame::{Frame, Margins};
use crate::look::Look;
use crate::scale::{Rates, seconds};
use crate::windows::{last, pieces};

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
    let window_s = report.traffic_window_s;
    for (i, pair) in pairs.iter().enumerate() {
        let named = (i >= plain).then(|| Look::of(pairs.len() - 1 - i));
        let look = named.unwrap_or(Look::solid(canvas.theme().plain));
        for piece in pieces(moved(pair), window_s, report.simulated_s) {
            let points: Vec<_> = piece.into_iter().map(|(at, rate)| (at, rates.share(rate))).collect();
            canvas.series(&points, look, if named.is_some() { 2 } else { 1 })?;
        }
        if let Some((look, rate)) = named.zip(last(moved(pair), window_s, (frame.from_s, frame.to_s))) {
            names.push((rates.share(rate), words(pair), look));
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

/// Bytes per second of the pairs that the chart names, busiest first, in the window of a moment; pair `n` is drawn as
/// [`Look::of`] `n`.
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

/// Bytes per second in each window; none where nothing moved, for which a logarithmic axis has no place.
fn moved(pair: &ZonePairReport) -> impl Iterator<Item = Option<f64>> {
    pair.wire_bytes_per_s.iter().map(|rate| Some(*rate).filter(|rate| *rate > 0.0))
}
