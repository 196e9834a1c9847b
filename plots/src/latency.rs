//! How long requests took: median, 90th and 99th percentile and the longest, one row per operation and target, on a logarithmic axis.

use plotters::coord::Shift;
use plotters::drawing::DrawingArea;
use plotters::prelude::DrawingBackend;
use zonefall_core::report::{CloseUp, Consistency, EtcdReport, LatencyReport, LatencyWindows, OpKind, Report};

use crate::Drawn;
use crate::canvas::{Anchor, Canvas};
use crate::frame::{Frame, Margins};
use crate::look::{BLUE, Look, ORANGE, SKY, VERMILLION};
use crate::scale::seconds;
use crate::windows::Windows;

/// Height of a row in pixels.
const ROW: i32 = 28;
const MARGINS: Margins = Margins { left: 270, right: 190, top: 64, bottom: 48 };

const OVER_TIME: Margins = Margins { left: 90, right: 220, top: 56, bottom: 48 };

/// The height that this chart needs, in pixels.
pub fn height(cluster: &EtcdReport) -> u32 {
    (MARGINS.top + MARGINS.bottom + ROW * cluster.latency.len().max(1) as i32) as u32
}

/// Draws the latency of one cluster's requests; nothing, where the report has no such cluster.
///
/// # Errors
/// What the backend says.
pub fn draw<DB: DrawingBackend>(report: &Report, name: &str, frame: &Frame, area: &DrawingArea<DB, Shift>) -> Drawn<DB> {
    let Some(cluster) = report.etcd.get(name) else { return Ok(()) };
    let canvas = Canvas::new(area, frame, MARGINS, &format!("{name}: latency of requests"), "")?;
    let (low, high) = decades(&cluster.latency);
    let share = |ms: f64| (libm::log10(ms.max(f64::MIN_POSITIVE)) - f64::from(low)) / f64::from(high - low);
    for decade in low..=high {
        canvas.x_tick(share(10_f64.powi(decade)), &decade_words(decade))?;
    }
    canvas.x_title("latency (logarithmic)")?;
    let (px, theme) = (|v| canvas.px(v), *canvas.theme());
    key(&canvas)?;
    canvas.label(canvas.right + px(12), canvas.top - px(14), "p50 / p90 / p99 in ms", theme.faint, Anchor::Start)?;
    for (i, row) in cluster.latency.iter().enumerate() {
        let y = canvas.top + px(ROW) / 2 + px(ROW) * i as i32;
        canvas.label(canvas.left - px(10), y, &label(row), theme.ink, Anchor::End)?;
        canvas.line(vec![(canvas.left, y), (canvas.right, y)], theme.grid, 1)?;
        let (Some(p50), Some(p90), Some(p99), Some(max)) = (row.p50_ms, row.p90_ms, row.p99_ms, row.max_ms) else {
            canvas.label(canvas.right + px(12), y, "no request succeeded", theme.faint, Anchor::Start)?;
            continue;
        };
        let x = |ms| canvas.x(share(ms));
        canvas.line(vec![(x(p50), y), (x(max), y)], SKY, 1)?;
        canvas.line(vec![(x(max), y - px(6)), (x(max), y + px(6))], VERMILLION, 2)?;
        canvas.dot((x(p99), y), 4, ORANGE)?;
        canvas.dot((x(p90), y), 4, SKY)?;
        canvas.dot((x(p50), y), 5, BLUE)?;
        canvas.label(canvas.right + px(12), y, &format!("{p50:.2} / {p90:.2} / {p99:.2}"), theme.ink, Anchor::Start)?;
    }
    Ok(())
}

/// What the marks mean, in a row above the data.
fn key<DB: DrawingBackend>(canvas: &Canvas<'_, DB>) -> Drawn<DB> {
    let (px, faint) = (|v| canvas.px(v), canvas.theme().faint);
    let y = canvas.top - px(14);
    for (i, (text, colour)) in [("median", BLUE), ("p90", SKY), ("p99", ORANGE)].into_iter().enumerate() {
        let x = canvas.left + px(80) * i as i32;
        canvas.dot((x + px(4), y), 4, colour)?;
        canvas.label(x + px(14), y, text, faint, Anchor::Start)?;
    }
    let x = canvas.left + px(240);
    canvas.line(vec![(x + px(4), y - px(6)), (x + px(4), y + px(6))], VERMILLION, 2)?;
    canvas.label(x + px(14), y, "longest", faint, Anchor::Start)
}

/// Draws the latency of one cluster's requests over time: the median thin, the 99th percentile thick, one colour per row, on a
/// logarithmic axis. Nothing, where the report has no such cluster. With a close-up its windows are drawn instead of the report's.
///
/// # Errors
/// What the backend says.
pub fn draw_over_time<DB: DrawingBackend>(
    report: &Report,
    close_up: Option<&CloseUp>,
    name: &str,
    frame: &Frame,
    area: &DrawingArea<DB, Shift>,
) -> Drawn<DB> {
    let Some(cluster) = report.etcd.get(name) else { return Ok(()) };
    let windows = Windows::of(report, close_up);
    let unit = format!("p99 thick, p50 thin, per {}; red: outage", seconds(windows.length_s));
    let canvas = Canvas::new(area, frame, OVER_TIME, &format!("{name}: latency of requests"), &unit)?;
    let part = close_up.and_then(|part| part.latency.get(name));
    let (low, high) = decades(cluster.latency.iter().chain(part.into_iter().flatten()));
    let share = |ms: f64| (libm::log10(ms.max(f64::MIN_POSITIVE)) - f64::from(low)) / f64::from(high - low);
    canvas.fault_bands(report)?;
    canvas.outage_bands(cluster)?;
    canvas.time_axis()?;
    for decade in low..=high {
        canvas.y_tick(share(10_f64.powi(decade)), &decade_words(decade))?;
    }
    let mut names = Vec::new();
    let one_zone = cluster.latency.iter().all(|row| row.from_zone == cluster.latency[0].from_zone);
    for (i, row, of) in rows(cluster, part) {
        for (values, width) in [(&of.p50_ms, 1), (&of.p99_ms, 2)] {
            for piece in windows.pieces(values.iter().copied()) {
                let points: Vec<_> = piece.into_iter().map(|(at, ms)| (at, share(ms))).collect();
                canvas.series(&points, Look::of(i), width)?;
            }
        }
        if let Some(ms) = windows.last(of.p99_ms.iter().copied(), (frame.from_s, frame.to_s)) {
            names.push((share(ms), format!("p99 {}", short(row, one_zone)), Look::of(i)));
        }
    }
    canvas.names(names)
}

/// Median, 90th and 99th percentile in milliseconds of each row in the window of a moment; `None` where no request ended well.
/// With a close-up they are of its windows. Each with the look that its line has in the chart over time.
pub fn at(report: &Report, close_up: Option<&CloseUp>, name: &str, at_s: f64) -> Vec<(String, [Option<f64>; 3], Look)> {
    let Some(cluster) = report.etcd.get(name) else { return Vec::new() };
    let windows = Windows::of(report, close_up);
    let part = close_up.and_then(|part| part.latency.get(name));
    let value = |values: &[Option<f64>]| windows.at(values, at_s).flatten();
    let row = |(i, row, of): (usize, &LatencyReport, &LatencyWindows)| {
        (label(row), [&of.p50_ms, &of.p90_ms, &of.p99_ms].map(|v| value(v)), Look::of(i))
    };
    rows(cluster, part).map(row).collect()
}

/// The rows of a cluster, each with its number and its windows: of a part of the run those rows alone that have any there.
fn rows<'a>(
    cluster: &'a EtcdReport,
    part: Option<&'a Vec<LatencyReport>>,
) -> impl Iterator<Item = (usize, &'a LatencyReport, &'a LatencyWindows)> {
    let key = |row: &'a LatencyReport| (row.op, &row.target, row.consistency, &row.from_zone);
    let windows = move |row: &'a LatencyReport| match part {
        None => Some(&row.windows),
        Some(part) => part.iter().find(|other| key(other) == key(row)).map(|other| &other.windows),
    };
    cluster.latency.iter().enumerate().filter_map(move |(i, row)| Some((i, row, windows(row)?)))
}

/// A row by what is asked and the path of the requests: `put, eu-west-1b → leader`.
pub fn label(row: &LatencyReport) -> String {
    path(op(row), &row.from_zone, &row.target)
}

/// What is asked, where the clients are and whom they ask.
pub fn path(op: &str, from_zone: &str, target: &str) -> String {
    format!("{op}, {from_zone} → {target}")
}

/// The same in fewer letters, for the side of a chart: `serializable read → nearest`, where all ask from one zone.
fn short(row: &LatencyReport, one_zone: bool) -> String {
    if one_zone { format!("{} → {}", op(row), row.target) } else { label(row) }
}

fn op(row: &LatencyReport) -> &'static str {
    match (row.op, row.consistency) {
        (OpKind::Put, _) => "put",
        (OpKind::Delete, _) => "delete",
        (OpKind::Txn, _) => "transaction",
        (OpKind::Grant, _) => "lease",
        (OpKind::Watch, _) => "watch",
        (OpKind::Range, Consistency::Linearizable) => "linearizable read",
        (OpKind::Range, Consistency::Serializable) => "serializable read",
    }
}

/// Powers of ten (of milliseconds) around all percentiles.
fn decades<'a>(rows: impl IntoIterator<Item = &'a LatencyReport>) -> (i32, i32) {
    let values = rows.into_iter().flat_map(|l| [l.p50_ms, l.max_ms]).flatten().filter(|v| *v > 0.0);
    let (low, high) = values.fold((f64::INFINITY, 0.0), |(low, high): (f64, f64), v| (low.min(v), high.max(v)));
    if high == 0.0 {
        return (0, 3);
    }
    let (low, high) = (libm::log10(low).floor() as i32, libm::log10(high).ceil() as i32);
    (low, high.max(low + 1))
}

fn decade_words(decade: i32) -> String {
    match decade {
        ..=-4 => format!("10^{} ns", decade + 6),
        -3..=-1 => format!("{} µs", 10_u32.pow((decade + 3) as u32)),
        0..=2 => format!("{} ms", 10_u32.pow(decade as u32)),
        _ => format!("{} s", 10_u64.pow((decade - 3) as u32)),
    }
}
