//! What it costs: bytes from zone to zone, latency by path, and the bill on the time axis of an outage.

use zonefall_browser::page::{DESK, Page, story, story_on};
use zonefall_core::report::{CostKind, CostSplit, Report};
use zonefall_core::run::run;
use zonefall_core::scenario::Scenario;
use zonefall_core::scenario::text::{bytes, dollars};
use zonefall_core::sim::Options;

use crate::access::no_barriers;
use crate::helpers::{go_to, lower, open_done, pause, raise, scenario};

/// A node crashes; charged by three providers.
const OUTAGE: &str = "node-failure-zone";

fn native() -> Report {
    let scenario = std::sync::Arc::new(Scenario::from_json(scenario(OUTAGE)).expect("it is valid"));
    run(&scenario, scenario.seed, Options::default(), &mut |_, _| {}, &mut |_| {})
}

/// What the chart says has been charged by a provider at the playhead: all of it, once the chart is of that provider.
fn charged(page: &Page, provider: &str) -> String {
    page.wait_for(&format!("the bill of {provider}"), || {
        let label = page.run("return document.querySelector('.plot').getAttribute('aria-label')", &[]);
        let (sum, kinds) = label.as_str()?.strip_prefix(&format!("The running bill of {provider}: all "))?.split_once(" at ")?;
        kinds.contains("machines $").then(|| sum.to_owned())
    })
}

#[test]
fn the_bill_runs_on_the_axis_of_the_outage() {
    let report = native();
    let bill = report.bill.as_ref().expect("a bill");
    let total = |provider: &str| dollars(*bill.providers[provider].total_usd.last().expect("windows"));
    story(|page| {
        open_done(page, OUTAGE);
        pause(page);
        page.see("month", &report.month().expect("a bill"));
        page.click("tab-cost");
        page.see("charted", "machines");
        page.see("prices", "unverified");
        let mut before = -1.0;
        for time in ["0:00", "10:00", "12:00", "30:00", "60:00"] {
            go_to(page, time);
            let sum = page.wait_for("more charged", || {
                let sum: f64 = charged(page, "aws").trim_start_matches('$').parse().expect("dollars");
                (sum > before).then_some(sum)
            });
            before = sum;
        }
        assert_eq!(charged(page, "aws"), total("aws"));
        no_barriers(page, "cost");
        page.click("provider-azure");
        assert_eq!(charged(page, "azure"), total("azure"));
        let machines: f64 = bill.providers["azure"].kinds[&CostKind::Machine].iter().sum();
        page.see("legend", &format!("machines {} at $", dollars(machines)));
        let dearest = report.cost_split("azure", CostSplit::Component).swap_remove(0);
        page.click_on("[data-testid='split-component'] summary");
        page.see("split-component", &format!("{} {}", dearest.0, dollars(dearest.1)));
        no_barriers(page, "cost");
        page.click("export");
        let (name, svg) = page.download(|| page.click("export-chart-svg"));
        let svg = String::from_utf8(svg).expect("SVG is text");
        // The band of the fault, upon the kinds.
        for there in ["The running bill of azure westeurope", "opacity=\"0.08\"", "<polygon", "volumes: $"] {
            assert!(name.ends_with("cost.svg") && svg.contains(there), "{name}: {there} in {svg}");
        }
        page.click("tab-traffic");
        for pair in &report.zone_pairs {
            page.see(&format!("matrix-{}-{}", pair.from_zone, pair.to_zone), &bytes(pair.wire_bytes));
        }
        no_barriers(page, "traffic");
    });
}

#[test]
fn whose_bill_is_chosen_with_the_keyboard() {
    story_on(DESK, |page| {
        open_done(page, OUTAGE);
        page.click("tab-cost");
        charged(page, "aws");
        page.tab_to("provider-aws");
        page.press("ArrowDown");
        charged(page, "gcp");
        assert_eq!(page.focused().as_deref(), Some("provider-gcp"));
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
fn latency_is_told_by_path_and_etcd_alone_has_a_bill() {
    story(|page| {
        open_done(page, "zone-outage");
        page.click("tab-latency");
        page.see_among(".values", "put, eu-west-1b → leader");
        page.click("tab-cost");
        page.see("charted", "$270.36");
    });
}

/// AWS is the default. Another one is a second bill, and none is no bill.
#[test]
fn providers_are_boxes_in_the_form() {
    story(|page| {
        let check = |book: &str| page.click(&format!("form-prices-books-{book}"));
        open_done(page, "zone-outage");
        raise(page, "scenario");
        page.click_on("[data-testid=section-prices] > summary");
        check("gcp-europe-west1");
        lower(page, "scenario");
        page.see("tile-provider", "gcp europe-west1");
        raise(page, "scenario");
        for book in ["gcp-europe-west1", "aws-eu-west-1"] {
            check(book);
        }
        no_barriers(page, "prices of none");
        lower(page, "scenario");
        page.see("tile-cost", "no prices in the scenario");
        page.click("tile-cost");
        page.see("no-prices", "Choose books in the form");
        page.see_no("chart");
    });
}
