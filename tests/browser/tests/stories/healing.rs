//! A zone is cut off, and its control plane heals itself: nodes, machines and pods on the map, and what was waited for.

use zonefall_browser::page::{Page, story};

use crate::helpers::{go_to, lower, open_done, pause, playhead_s, raise};

const SEED: &str = "shoot--garden--aws-ha2";

/// The published outage, forty minutes after it began.
fn open_outage(page: &Page) {
    open_done(page, "eu-west-1a-outage");
    pause(page);
    go_to(page, "50:00");
    see_thing(page, "map-pod-etcd-main-1", "no node: its volume is in another zone");
}

fn see_thing(page: &Page, id: &str, part: &str) {
    page.see_attribute_has(id, "aria-label", part);
}

#[test]
fn the_map_shows_nodes_machines_and_pods_with_their_states() {
    story(|page| {
        open_outage(page);
        for (node, state) in
            [("20-17", "NotReady"), ("22-85", "NotReady"), ("3-0", "NotReady"), ("60-155", "Ready"), ("73-77", "Ready")]
        {
            see_thing(page, &format!("map-node-ip-10-242-{node}.eu-west-1.compute.internal"), &format!(" {state}, ip-"));
        }
        for (machine, phase) in
            [("z1-766bc-pjq6n", "Unknown"), ("z1-766bc-ssvtx", "CrashLoopBackOff"), ("z2-85968-5qmjh", "Running")]
        {
            see_thing(page, &format!("map-machine-{SEED}-cpu-worker-{machine}"), phase);
        }
        see_thing(page, "map-pod-kube-apiserver-5fcb7f4bff-845p7", "ready");
        page.see("health", "4 of 7 nodes ready");
        page.see("verdict-pods", "18 recovered");
        page.click("map-pod-etcd-main-1");
        raise(page, "inspector");
        for fact in ["Pending", "its volume is in another zone", "shoot--garden--aws-ha"] {
            page.see("inspector", fact);
        }
        for refusal in ["ip-10-242-60-155.eu-west-1.compute.internal", "untolerated taints"] {
            page.see("refusals", refusal);
        }
        lower(page, "inspector");
        // Two minutes in, nothing is noticed; a minute later all is.
        go_to(page, "11:00");
        see_thing(page, "map-pod-kube-apiserver-5fcb7f4bff-7p4xc", "lost, not yet detected");
        page.see("health", "7 of 7 nodes ready, 3 of them lost, not yet detected");
        go_to(page, "13:00");
        see_thing(page, "map-pod-kube-apiserver-5fcb7f4bff-7p4xc", "not ready");
    });
}

#[test]
fn a_component_tells_what_it_waited_for_and_leads_there() {
    story(|page| {
        open_outage(page);
        page.click("tab-recovery");
        page.see("components", "kube-scheduler");
        page.see("recovery", "not recovered after 45 min");
        page.click("component-kube-apiserver");
        for told in
            ["kube-apiserver-5fcb7f4bff-7p4xc", "is ready after 7.3 min", "2 min without a heartbeat of its node", "toleration"]
        {
            page.see("recovery", told);
        }
        for wait in ["detected", "evicted", "scheduled", "started", "ready"] {
            page.see(&format!("wait-{wait}"), "00:1");
        }
        page.click("wait-ready");
        page.wait_for("the moment it was ready", || (1_030.0..1_050.0).contains(&playhead_s(page)).then_some(()));
    });
}

#[test]
fn arrows_reach_pods_and_machines() {
    story(|page| {
        open_outage(page);
        page.click("map-pod-etcd-main-1");
        page.press("ArrowDown");
        let reached =
            page.wait_for("the next thing", || page.focused().filter(|id| id.starts_with("map-") && id != "map-pod-etcd-main-1"));
        page.see_attribute(&reached, "aria-pressed", "true");
    });
}
