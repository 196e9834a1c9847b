//! A load balancer is cut off: the tab Access shows which clients had no API server, and why.

use zonefall_browser::page::story;

use crate::helpers::{open_done, pause, playhead_s};

#[test]
fn clients_without_an_api_server_are_listed_with_the_cause() {
    story(|page| {
        open_done(page, "lb-partitioned");
        pause(page);
        page.click("tab-access");
        for part in ["balancer: kubelets of workers", "6 of 6", "alt-svc: kubelets of workers", "0 of 6"] {
            page.see("clients", part);
        }
        // The kind with the longest outage is shown.
        page.see("client-outages", "load balancer lb-balancer cut off");
        page.click("client-outage-0");
        page.wait_for("the moment of the outage", || (300.0..310.0).contains(&playhead_s(page)).then_some(()));
        page.click("clients-alt-svc: kubelets of workers");
        page.see("client-outages", "alt-svc: kubelets of workers: an API server answered all the time.");
    });
}

#[test]
fn without_a_load_balancer_there_is_no_such_tab() {
    story(|page| {
        open_done(page, "zone-outage");
        page.see("tab-report", "Report");
        page.see_no("tab-access");
    });
}
