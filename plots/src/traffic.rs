//! Bytes on the wire between zones over time, one line per direction of a zone pair, on a logarithmic axis: a snapshot moves a
//! thousand times what heartbeats do, and both are worth seeing.

use plotters::coord::Shift;
use plotters::drawing::DrawingArea;
use plotters::prelude::DrawingBackend;
use zonefall_core::report::{CloseUp, Report, ZonePairReport};

use crate::Drawn;
use crate::canvas::Canvas;
use crate::frame::{Frame, Margins};
use crate::look::Look;
use crate::scale::{Rates, seconds};
use crate::windows::Windows;

/// Pairs with a colour and a label: those with the most bytes.
const MOST: usize = 6;
const MARGINS: Margins = Margins { left: 90, right: 220, top: 56, bottom: 48 };

/// Draws the traffic between zones: with a close-up its windows instead of the report's.
///
/// # Errors
/// What the backend says.
pub fn draw<DB: DrawingBackend>(
    report: &Report,
    close_up: Option<&CloseUp>,
    frame: &Frame,
    area: &DrawingArea<DB, Shift>,
) -> Drawn<DB> {
    let windows = Windows::of(report, close_up);
    let unit = format!("bytes on the wire, mean of {} (logarithmic)", seconds(windows.length_s));
    let canvas = Canvas::new(area, frame, MARGINS, "Traffic between zones", &unit)?;
    let all = report.zone_pairs.iter().flat_map(|p| &p.wire_bytes_per_s);
    let fine = close_up.iter().flat_map(|part| &part.zone_pairs).flat_map(|p| &p.wire_bytes_per_s);
    let seen = || all.clone().chain(fine.clone()).copied().filter(|r| *r > 0.0);
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
        let named = (i >= plain).then(|| Look::of(pairs.len() - 1 - i));
        let look = named.unwrap_or(Look::solid(canvas.theme().plain));
        for piece in windows.pieces(moved(values(pair, close_up))) {
            let points: Vec<_> = piece.into_iter().map(|(at, rate)| (at, rates.share(rate))).collect();
            canvas.series(&points, look, if named.is_some() { 2 } else { 1 })?;
        }
        if let Some((look, rate)) = named.zip(windows.last(moved(values(pair, close_up)), (frame.from_s, frame.to_s))) {
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
/// [`Look::of`] `n`. With a close-up they are of its windows.
pub fn rates(report: &Report, close_up: Option<&CloseUp>, at_s: f64) -> Vec<(String, f64)> {
    let windows = Windows::of(report, close_up);
    let rate = |p: &&ZonePairReport| (words(p), windows.at(values(p, close_up), at_s).unwrap_or(0.0));
    sorted(report).iter().rev().take(MOST).map(rate).collect()
}

fn words(pair: &ZonePairReport) -> String {
    if pair.from_zone == pair.to_zone {
        format!("inside {}", pair.from_zone)
    } else {
        format!("{} → {}", pair.from_zone, pair.to_zone)
    }
}

/// Bytes per second of a pair in each window: of a part of the run, or of all of it.
fn values<'a>(pair: &'a ZonePairReport, close_up: Option<&'a CloseUp>) -> &'a [f64] {
    let Some(part) = close_up else { return &pair.wire_bytes_per_s };
    let same = part.zone_pairs.iter().find(|other| (&other.from_zone, &other.to_zone) == (&pair.from_zone, &pair.to_zone));
    same.map_or(&[], |same| &same.wire_bytes_per_s)
}

/// The same, none where nothing moved, for which a logarithmic axis has no place.
fn moved(values: &[f64]) -> impl Iterator<Item = Option<f64>> {
    values.iter().map(|rate| Some(*rate).filter(|rate| *rate > 0.0))
}
