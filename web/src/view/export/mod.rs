//! Files out: pictures of the map and the charts, their data, the report.

pub mod csv;
mod image;

use zonefall_core::report::{CloseUp, Report};
use zonefall_plots::{Frame, Theme};

use super::timeline::axis::Range;
use crate::page::download;
use crate::state::Tab;

/// What can be had as a file.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Export {
    /// The chart of the open tab, as pixels.
    ChartPng,
    /// The same, as SVG.
    ChartSvg,
    /// The map, as pixels.
    MapPng,
    /// The map, as SVG.
    MapSvg,
    /// The data of the open tab.
    Csv,
    /// The report, as the command line prints it.
    Json,
}

impl Export {
    /// All of them.
    pub const ALL: [Self; 6] = [Self::ChartPng, Self::ChartSvg, Self::MapPng, Self::MapSvg, Self::Csv, Self::Json];

    /// What it is called.
    pub fn label(self) -> &'static str {
        match self {
            Self::ChartPng => "Chart as PNG",
            Self::ChartSvg => "Chart as SVG",
            Self::MapPng => "Map as PNG",
            Self::MapSvg => "Map as SVG",
            Self::Csv => "Data of the open tab as CSV",
            Self::Json => "Report as JSON",
        }
    }

    /// Its name for tests.
    pub fn id(self) -> &'static str {
        match self {
            Self::ChartPng => "chart-png",
            Self::ChartSvg => "chart-svg",
            Self::MapPng => "map-png",
            Self::MapSvg => "map-svg",
            Self::Csv => "csv",
            Self::Json => "json",
        }
    }
}

/// What an export is made of.
pub struct Source<'a> {
    /// The report.
    pub report: &'a Report,
    /// The part that is shown, in finer windows, where it is known.
    pub close_up: Option<&'a CloseUp>,
    /// The open tab: tabs without a chart give the timeline.
    pub tab: Tab,
    /// The cluster that is shown.
    pub cluster: &'a str,
    /// The provider whose bill is wanted, as [`Report::provider`] takes it.
    pub provider: Option<&'a str>,
    /// The part of the run that is shown.
    pub range: Range,
    /// The dark theme.
    pub dark: bool,
}

const SVG: &str = "image/svg+xml";

/// Width of an exported chart.
const WIDTH: u32 = 1_000;

/// Makes the file and hands it to the browser.
///
/// # Errors
/// Why there is no such file, in words for the user.
pub fn export(what: Export, from: &Source<'_>) -> Result<(), String> {
    let name = |kind: &str, end: &str| format!("{}-{kind}.{end}", from.report.scenario);
    match what {
        Export::Json => download(&name("report", "json"), "application/json", from.report.to_json().to_string().as_bytes()),
        Export::Csv => {
            let rows = csv::of(from.tab, from.report, from.cluster);
            download(&name(csv::name(from.tab), "csv"), "text/csv", rows.as_bytes());
        }
        Export::ChartSvg => download(&name(csv::name(from.tab), "svg"), SVG, chart(from)?.as_bytes()),
        Export::ChartPng => image::png(&chart(from)?, name(csv::name(from.tab), "png"))?,
        Export::MapSvg => download(&name("map", "svg"), SVG, image::map()?.as_bytes()),
        Export::MapPng => image::png(&image::map()?, name("map", "png"))?,
    }
    Ok(())
}

/// The chart of the open tab as SVG, with a title and its own axis.
fn chart(from: &Source<'_>) -> Result<String, String> {
    use plotters::prelude::{IntoDrawingArea, SVGBackend};
    let theme = if from.dark { Theme::DARK } else { Theme::LIGHT };
    let frame = Frame { from_s: from.range.from_s, to_s: from.range.to_s, theme, ..Frame::whole(from.report) };
    let (report, cluster, provider) = (from.report, from.cluster, from.report.provider(from.provider));
    let etcd = report.etcd.get(cluster).ok_or("There is no chart yet.")?;
    let height = match from.tab {
        Tab::Availability => 320,
        Tab::Latency | Tab::Traffic => 380,
        Tab::Cost if provider.is_some() => 380,
        Tab::Events | Tab::Recovery | Tab::Rollouts | Tab::NodeGroups | Tab::Access | Tab::Cost | Tab::Report => {
            zonefall_plots::timeline::height(report, etcd)
        }
    };
    let mut text = String::new();
    let area = SVGBackend::with_string(&mut text, (WIDTH, height)).into_drawing_area();
    let drawn = match (from.tab, provider) {
        (Tab::Availability, _) => zonefall_plots::availability::draw(report, cluster, &frame, &area),
        (Tab::Traffic, _) => zonefall_plots::traffic::draw(report, from.close_up, &frame, &area),
        (Tab::Latency, _) => zonefall_plots::latency::draw_over_time(report, from.close_up, cluster, &frame, &area),
        (Tab::Cost, Some(provider)) => zonefall_plots::bill::draw(report, provider, &frame, &area),
        (Tab::Events | Tab::Recovery | Tab::Rollouts | Tab::NodeGroups | Tab::Access | Tab::Cost | Tab::Report, _) => {
            zonefall_plots::timeline::draw(report, cluster, &frame, &area)
        }
    };
    drawn.and_then(|()| area.present()).map_err(|error| format!("The chart could not be drawn: {error}"))?;
    drop(area);
    Ok(text)
}
