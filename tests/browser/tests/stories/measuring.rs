//! Figures: the page's are the command line's, and they can be taken home.

use std::path::Path;
use std::sync::Arc;

use serde_json::Value;
use zonefall_browser::page::{DESK, Page, story, story_on};
use zonefall_core::run::run;
use zonefall_core::scenario::{Scenario, bundled};
use zonefall_core::sim::Options;
use zonefall_tests::is_deep;

use crate::helpers::{open_and_watch, open_done};

/// What `zonefall run --format json` prints.
fn natively(text: &str) -> Value {
    let scenario = Arc::new(Scenario::from_json(text).expect("it has no errors"));
    let report = run(&scenario, scenario.seed, Options::default(), &mut |_, _| {}, &mut |_| {});
    report.to_json()
}

#[test]
fn the_pages_report_is_the_command_lines() {
    // A run of each kind; the worker's traces of all of them are held against the recorded ones without a browser (`portable`).
    const SOME: [&str; 4] = ["zone-outage", "two-zones-standby", "eu-west-1a-outage", "node-failure-zone"];
    story_on(DESK, |page| {
        for scenario in bundled().iter().filter(|scenario| is_deep() || SOME.contains(&scenario.name)) {
            open_done(page, scenario.name);
            page.click("tab-report");
            let native = natively(scenario.json);
            page.see("trace-hash", native["trace_hash"].as_str().expect("a hash"));
            let (name, report) = export(page, "json");
            assert_eq!(name, format!("{}-report.json", scenario.name));
            let report: Value = serde_json::from_slice(&report).expect("the report is JSON");
            assert!(report == native, "{}: the hashes agree, the reports differ", scenario.name);
        }
    });
}

/// Whether a file's name says that it is of this kind.
fn is_a(name: &str, kind: &str) -> bool {
    Path::new(name).extension().is_some_and(|extension| extension == kind)
}

/// Takes something home.
fn export(page: &Page, what: &str) -> (String, Vec<u8>) {
    page.download(|| {
        page.click("export");
        page.click(&format!("export-{what}"));
    })
}

#[test]
fn charts_are_taken_home() {
    story(|page| {
        open_and_watch(page);
        for tab in ["availability", "latency", "traffic", "events"] {
            page.click(&format!("tab-{tab}"));
            let (name, png) = export(page, "chart-png");
            assert!(is_a(&name, "png"), "{name}");
            assert!(png.starts_with(b"\x89PNG\r\n") && png.len() > 2_000, "{name} of {} bytes", png.len());
            // Width, as the header tells it: twice the drawing's.
            assert_eq!(png[16..20], 2_000_u32.to_be_bytes(), "{name}");
            let (name, svg) = export(page, "chart-svg");
            let svg = String::from_utf8(svg).expect("SVG is text");
            assert!(is_a(&name, "svg") && svg.contains("</svg>") && svg.contains("<text"), "{name}: {svg:.100}");
            if tab == "events" {
                assert!(svg.contains("etcd-main-2") && svg.contains("eu-west-1a"), "the timeline tells the story: {svg:.400}");
            }
            let (name, csv) = export(page, "csv");
            let csv = String::from_utf8(csv).expect("CSV is text");
            let mut lines = csv.lines().map(|line| line.split(',').count());
            let columns = lines.next().expect("a heading");
            assert!(is_a(&name, "csv") && columns > 1 && lines.next().is_some_and(|n| n >= columns), "{name}: {csv:.200}");
        }
        let (name, png) = export(page, "map-png");
        assert!(is_a(&name, "png") && name.contains("map") && png.starts_with(b"\x89PNG\r\n"), "{name}");
        let (name, svg) = export(page, "map-svg");
        assert!(is_a(&name, "svg") && name.contains("map") && String::from_utf8_lossy(&svg).contains("etcd-main-2"), "{name}");
    });
}
