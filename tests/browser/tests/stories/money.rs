//! What it costs: bytes from zone to zone, latency by path, and the bill on the time axis of an outage.

use serde_json::{Value, json};
use zonefall_browser::page::{DESK, Page, story, story_on};
use zonefall_core::observe::words::{bytes, dollars};
use zonefall_core::report::Report;
use zonefall_core::run::run;
use zonefall_core::scenario::Scenario;
use zonefall_core::sim::Options;

use crate::access::no_barriers;
use crate::told::{go_to, link, open_done, pause, scenario, see_done};

/// A node crashes; charged by three providers.
fn outage() -> String {
    let mut json: Value = serde_json::from_str(scenario("node-failure-zone")).expect("bundled scenarios are JSON");
    json["prices"] = json!({"books": ["aws-eu-west-1", "gcp-europe-west1", "azure-westeurope"]});
    json.to_string()
}

fn native(text: &str) -> Report {
    let scenario = std::sync::Arc::new(Scenario::from_json(text).expect("it is valid"));
    run(&scenario, scenario.seed, Options::default(), &mut |_, _| {}, &mut |_| {})
}

/// What the chart says has been charged by AWS at the playhead.
fn charged(page: &Page) -> String {
    let label = page.run("return document.querySelector('.plot').getAttribute('aria-label')", &[]);
    let label = label.as_str().expect("the chart has a name");
    let aws = label.strip_prefix("The running bill: aws ").unwrap_or_else(|| panic!("{label}"));
    aws.split(", gcp").next().expect("the sum").to_owned()
}

#[test]
fn the_bill_runs_on_the_axis_of_the_outage() {
    let text = outage();
    let report = native(&text);
    let total = *report.bill.as_ref().expect("a bill").providers["aws"].total_usd.last().expect("windows");
    story(|page| {
        page.open(&link(&text));
        page.see_first_picture();
        see_done(page);
        pause(page);
        page.click("tab-cost");
        page.see("charted", "machines");
        page.see("prices", "from memory");
        let mut before = -1.0;
        for time in ["0:00", "10:00", "12:00", "30:00", "60:00"] {
            go_to(page, time);
            let sum = page.wait_for("more charged", || {
                let sum: f64 = charged(page).trim_start_matches('$').parse().expect("dollars");
                (sum > before).then_some(sum)
            });
            before = sum;
        }
        assert_eq!(charged(page), dollars(total));
        no_barriers(page, "cost");
        page.click("export");
        let (name, svg) = page.download(|| page.click("export-chart-svg"));
        let svg = String::from_utf8(svg).expect("SVG is text");
        // The band of the fault, behind the line.
        assert!(name.ends_with("cost.svg") && svg.contains("The running bill") && svg.contains("opacity=\"0.08\""), "{svg}");
        page.click("tab-traffic");
        for pair in &report.zone_pairs {
            page.see(&format!("matrix-{}-{}", pair.from_zone, pair.to_zone), &bytes(pair.wire_bytes));
        }
        no_barriers(page, "traffic");
    });
}

#[test]
fn what_tolerance_costs_is_told_in_tables() {
    story_on(DESK, |page| {
        open_done(page, "cost-of-tolerance");
        page.click("tab-cost");
        for told in ["none → node", "machines, shared", "azure westeurope", "load balancer"] {
            page.see("tolerance", told);
        }
        page.see("charted", "$6,873.68");
        page.click("tab-traffic");
        page.see("matrix-za-zb", "GiB");
    });
}

#[test]
fn latency_is_told_by_path_and_a_bill_is_asked_for() {
    story(|page| {
        open_done(page, "zone-outage");
        page.click("tab-latency");
        page.see_among(".values", "put, eu-west-1b → leader");
        page.click("tab-cost");
        page.see("no-prices", "\"prices\"");
        page.see_no("chart");
    });
}
