//! A load balancer is cut off: the tab Access shows which clients had no API server, and why.

use zonefall_browser::page::story;

use crate::access::no_barriers;
use crate::helpers::{go_to, lower, open_done, pause, playhead_s, raise};

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

#[test]
fn balancer_and_its_clients_are_inspected_while_it_is_cut_off() {
    story(|page| {
        open_done(page, "lb-partitioned");
        pause(page);
        go_to(page, "6:40");
        // What its health checks have found, beside what the API servers are.
        page.see_attribute_has("map-balancer-lb-balancer-za", "aria-label", "found ✕✕✕ true ✓✓✓");
        page.see_attribute_has("map-balancer-lb-balancer-za", "aria-label", "1 fault");
        page.see_attribute_has("map-api-clients-balancer: kubelets-za", "aria-label", "0 of 3");
        page.see_attribute_has("map-api-clients-alt-svc: kubelets-za", "aria-label", "3 of 3");
        no_barriers(page, "load balancers and clients on the map");
        page.click("map-balancer-lb-balancer-za");
        raise(page, "inspector");
        for part in [
            "balancer-control-plane-0: found ✕ unhealthy; true ✓ it answers",
            "longest wait",
            "0 of 15",
            "load balancer lb-balancer cut off",
        ] {
            page.see("inspector", part);
        }
        for fault in ["lb-down", "lb-cut-zone", "lb-tcp-only", "lb-stale", "lb-throttle", "lb-remove"] {
            page.see(&format!("intervention-{fault}"), "");
        }
        no_barriers(page, "a load balancer");
        lower(page, "inspector");
        // From a group of clients to one of them.
        page.click("map-api-clients-alt-svc: kubelets-za");
        raise(page, "inspector");
        page.see("inspector", "3 straight");
        page.click("client-kubelet of alt-svc-worker-a1");
        for part in ["straight to an alternative, without lb-alt-svc", "kubernetes.default", "in use, kept while it answers"] {
            page.see("inspector", part);
        }
        no_barriers(page, "a client");
        lower(page, "inspector");
        // And from the tab.
        page.click("tab-access");
        page.click("clients-balancer: kubelets of workers");
        page.click("inspect-kubelet of balancer-worker-a1");
        raise(page, "inspector");
        page.see("inspector", "✕ none");
        page.see("inspector", "it uses none");
        lower(page, "inspector");
        no_barriers(page, "the tab Access");
    });
}
