//! The running bill: what each provider has charged since the start, one line each, straight within a window.

use plotters::coord::Shift;
use plotters::drawing::DrawingArea;
use plotters::prelude::DrawingBackend;
use zonefall_core::observe::words::dollars;
use zonefall_core::report::{BillReport, ProviderBill, Report};

use crate::Drawn;
use crate::canvas::{COLOURS, Canvas};
use crate::frame::{Frame, Margins};
use crate::scale;

const MARGINS: Margins = Margins { left: 80, right: 160, top: 56, bottom: 48 };

/// Draws the running bill; nothing, where the report has none.
///
/// # Errors
/// What the backend says.
pub fn draw<DB: DrawingBackend>(report: &Report, frame: &Frame, area: &DrawingArea<DB, Shift>) -> Drawn<DB> {
    let Some(bill) = &report.bill else { return Ok(()) };
    let canvas = Canvas::new(area, frame, MARGINS, "The running bill", "US dollars charged since the start")?;
    let marks = scale::dollars(bill.providers.values().map(total).fold(0.0, f64::max));
    let top = marks.last().map_or(1.0, |(usd, _)| *usd);
    canvas.fault_bands(report)?;
    canvas.time_axis()?;
    for (usd, words) in &marks {
        canvas.y_tick(usd / top, words)?;
    }
    let mut names = Vec::new();
    for ((provider, of), colour) in bill.providers.iter().zip(COLOURS.into_iter().cycle()) {
        let line: Vec<_> = points(&of.total_usd, bill.window_s, report.simulated_s).map(|(at, usd)| (at, usd / top)).collect();
        canvas.series(&line, colour, 2)?;
        names.push((total(of) / top, format!("{provider}: {}", dollars(total(of))), colour));
    }
    canvas.names(names)
}

/// What each provider has charged until a moment, as the chart shows it.
pub fn so_far(report: &Report, bill: &BillReport, at_s: f64) -> Vec<(String, f64)> {
    let until = |of: &ProviderBill| {
        let mut before = (0.0, 0.0);
        for (to_s, usd) in points(&of.total_usd, bill.window_s, report.simulated_s) {
            if to_s > at_s {
                return before.1 + (usd - before.1) * (at_s - before.0) / (to_s - before.0);
            }
            before = (to_s, usd);
        }
        before.1
    };
    bill.providers.iter().map(|(provider, of)| (provider.clone(), until(of))).collect()
}

fn total(of: &ProviderBill) -> f64 {
    of.total_usd.last().copied().unwrap_or(0.0)
}

/// The start and the end of each window, in seconds, with US dollars until then.
fn points(total_usd: &[f64], window_s: f64, end_s: f64) -> impl Iterator<Item = (f64, f64)> {
    let ends = (1..).map(move |i| (f64::from(i) * window_s).min(end_s));
    std::iter::once((0.0, 0.0)).chain(ends.zip(total_usd.iter().copied()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn windows_end_in_time_and_the_last_with_the_run() {
        let points: Vec<_> = points(&[2.0, 5.0, 6.0], 10.0, 25.0).collect();
        assert_eq!(points, [(0.0, 0.0), (10.0, 2.0), (20.0, 5.0), (25.0, 6.0)]);
    }
}
