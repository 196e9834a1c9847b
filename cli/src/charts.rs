//! Charts as SVG files.

use std::path::Path;

use anyhow::{Context, Result};
use plotters::coord::Shift;
use plotters::drawing::{DrawingArea, DrawingAreaErrorKind};
use plotters::prelude::{IntoDrawingArea, SVGBackend};
use zonefall_core::report::Report;
use zonefall_plots as plots;

/// Makes a directory: the one for all charts before the run, for nobody should wait for an error.
pub(crate) fn prepare(dir: &Path) -> Result<()> {
    std::fs::create_dir_all(dir).with_context(|| format!("cannot create the directory {}", dir.display()))
}

/// Writes `<cluster>-timeline.svg`, `<cluster>-availability.svg` and `<cluster>-latency.svg` for each cluster, `traffic.svg` and, where
/// there are prices, `<provider>-bill.svg` for each provider, into a directory that is there.
pub(crate) fn write_svgs(report: &Report, dir: &Path) -> Result<()> {
    let frame = plots::Frame::whole(report);
    for (name, cluster) in &report.etcd {
        let size = (1000, plots::timeline::height(report, cluster));
        svg(dir, &format!("{name}-timeline"), size, |area| plots::timeline::draw(report, name, &frame, area))?;
        svg(dir, &format!("{name}-availability"), (1000, 320), |area| plots::availability::draw(report, name, &frame, area))?;
        if !cluster.latency.is_empty() {
            let size = (1000, plots::latency::height(cluster));
            svg(dir, &format!("{name}-latency"), size, |area| plots::latency::draw(report, name, &frame, area))?;
        }
    }
    if !report.zone_pairs.is_empty() {
        svg(dir, "traffic", (1000, 380), |area| plots::traffic::draw(report, None, &frame, area))?;
    }
    for provider in report.providers() {
        svg(dir, &format!("{provider}-bill"), (1000, 380), |area| plots::bill::draw(report, provider, &frame, area))?;
    }
    Ok(())
}

type Area<'a> = DrawingArea<SVGBackend<'a>, Shift>;

fn svg(
    dir: &Path,
    name: &str,
    size: (u32, u32),
    draw: impl FnOnce(&Area<'_>) -> Result<(), DrawingAreaErrorKind<std::io::Error>>,
) -> Result<()> {
    let mut text = String::new();
    let area = SVGBackend::with_string(&mut text, size).into_drawing_area();
    draw(&area).and_then(|()| area.present()).with_context(|| format!("cannot draw {name}"))?;
    drop(area);
    let path = dir.join(format!("{name}.svg"));
    // Clusters of seeds and shoots have names in two parts.
    path.parent().map_or(Ok(()), prepare)?;
    std::fs::write(&path, text).with_context(|| format!("cannot write {}", path.display()))
}
