//! The running bill: what a provider has charged since the start, kind upon kind, straight within a window.

use plotters::coord::Shift;
use plotters::drawing::DrawingArea;
use plotters::prelude::DrawingBackend;
use zonefall_core::report::{CostKind, ProviderBill, Report};
use zonefall_core::scenario::text::dollars;

use crate::Drawn;
use crate::canvas::Canvas;
use crate::frame::{Frame, Margins};
use crate::look::{COLOURS, Look};
use crate::scale;

const MARGINS: Margins = Margins { left: 80, right: 250, top: 56, bottom: 48 };

/// What has been charged for something.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Charged {
    /// What for.
    pub kind: CostKind,
    /// US dollars from the start until the moment.
    pub usd: f64,
    /// US dollars an hour, at the moment.
    pub per_hour_usd: f64,
}

/// Draws the running bill of a provider; nothing, where the report has none.
///
/// # Errors
/// What the backend says.
pub fn draw<DB: DrawingBackend>(report: &Report, provider: &str, frame: &Frame, area: &DrawingArea<DB, Shift>) -> Drawn<DB> {
    let Some((of, window_s)) = bill(report, provider) else { return Ok(()) };
    let title = format!("The running bill of {}", report.provider_title(provider));
    let canvas = Canvas::new(area, frame, MARGINS, &title, "US dollars charged since the start")?;
    let total = of.total_usd.last().copied().unwrap_or(0.0);
    let marks = scale::dollars(total);
    let top = marks.last().map_or(1.0, |(usd, _)| *usd);
    let mut names = Vec::new();
    let mut sum: Vec<(f64, f64)> = moments(of, window_s, report.simulated_s).map(|at_s| (at_s, 0.0)).collect();
    for (kind, added) in charged(of) {
        let low = sum.clone();
        let mut usd = 0.0;
        for (point, added) in sum.iter_mut().skip(1).zip(added) {
            usd += added;
            point.1 += usd / top;
        }
        canvas.layer(&low, &sum, COLOURS[kind as usize])?;
        if frame.titled {
            names.push((end(&sum), format!("{}: {}", kind.describe(), dollars(usd)), Look::solid(COLOURS[kind as usize])));
        }
    }
    names.insert(0, (end(&sum), format!("all: {}", dollars(total)), Look::solid(canvas.theme().ink)));
    // Upon the layers, which would hide them.
    canvas.fault_bands(report)?;
    canvas.time_axis()?;
    for (usd, words) in &marks {
        canvas.y_tick(usd / top, words)?;
    }
    canvas.series(&sum, Look::solid(canvas.theme().ink), 1)?;
    canvas.names(names)
}

/// Where a series ends.
fn end(series: &[(f64, f64)]) -> f64 {
    series.last().map_or(0.0, |(_, share)| *share)
}

/// What a provider has charged until a moment, as the chart shows it: undermost first, without what is free all the time.
pub fn so_far(report: &Report, provider: &str, at_s: f64) -> Vec<Charged> {
    bill(report, provider).map_or_else(Vec::new, |(of, window_s)| until(of, window_s, report.simulated_s, at_s))
}

fn until(of: &ProviderBill, window_s: f64, end_s: f64, at_s: f64) -> Vec<Charged> {
    let ends: Vec<f64> = moments(of, window_s, end_s).collect();
    let until = |(kind, added): (CostKind, &[f64])| {
        // The window of the moment; the last one at the end.
        let window = ends.iter().skip(1).take_while(|end_s| **end_s <= at_s).count().min(added.len() - 1);
        let length_s = ends[window + 1] - ends[window];
        let part = ((at_s - ends[window]) / length_s).clamp(0.0, 1.0);
        let usd = added[..window].iter().sum::<f64>() + added[window] * part;
        Charged { kind, usd, per_hour_usd: added[window] / length_s * 3_600.0 }
    };
    charged(of).map(until).collect()
}

fn bill<'a>(report: &'a Report, provider: &str) -> Option<(&'a ProviderBill, f64)> {
    report.bill.as_ref().and_then(|bill| Some((bill.providers.get(provider)?, bill.window_s)))
}

/// What is charged for at all, with US dollars in each window.
fn charged(of: &ProviderBill) -> impl Iterator<Item = (CostKind, &[f64])> {
    of.kinds.iter().map(|(kind, added)| (*kind, added.as_slice())).filter(|(_, added)| added.iter().any(|usd| *usd > 0.0))
}

/// The start and the end of each window, in seconds.
fn moments(of: &ProviderBill, window_s: f64, end_s: f64) -> impl Iterator<Item = f64> {
    (0..=of.total_usd.len()).map(move |i| (i as f64 * window_s).min(end_s))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn windows_end_in_time_and_the_last_with_the_run() {
        let kinds =
            [(CostKind::Machine, vec![2.0, 3.0, 1.0]), (CostKind::Volume, vec![0.0; 3]), (CostKind::Backup, vec![0.0, 0.0, 0.5])];
        let of = ProviderBill { kinds: kinds.into_iter().collect(), total_usd: vec![2.0, 5.0, 6.5] };
        assert_eq!(moments(&of, 10.0, 25.0).collect::<Vec<_>>(), [0.0, 10.0, 20.0, 25.0]);
        let check = |at_s, machines: (f64, f64), backups: (f64, f64)| {
            let wanted = [(CostKind::Machine, machines), (CostKind::Backup, backups)];
            let wanted = wanted.map(|(kind, (usd, per_hour_usd))| Charged { kind, usd, per_hour_usd });
            assert_eq!(until(&of, 10.0, 25.0, at_s), wanted, "at {at_s} s");
        };
        check(0.0, (0.0, 720.0), (0.0, 0.0));
        check(15.0, (3.5, 1_080.0), (0.0, 0.0));
        check(20.0, (5.0, 720.0), (0.0, 360.0));
        check(22.5, (5.5, 720.0), (0.25, 360.0));
        check(25.0, (6.0, 720.0), (0.5, 360.0));
        check(99.0, (6.0, 720.0), (0.5, 360.0));
    }
}
