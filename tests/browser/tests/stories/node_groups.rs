//! A zone is lost while pools grow: the tab Node groups shows each group's limits and nodes, what each scan did with it, and why.

use zonefall_browser::page::story;

use crate::access::no_barriers;
use crate::helpers::{open_done, pause, playhead_s};

#[test]
fn pools_are_listed_with_their_groups_and_what_each_scan_did() {
    story(|page| {
        open_done(page, "gep24-zone-outage");
        pause(page);
        page.click("tab-node-groups");
        for part in ["lax-greedy-targets: worker", "Beyond maximum"] {
            page.see("node-pools", part);
        }
        page.click("pool-2");
        for part in ["It exceeded its maximum by up to 1", "lax-greedy-targets-worker-z3", "its nodes were overdue"] {
            page.see("node-groups", part);
        }
        page.click("scan-1");
        page.wait_for("the moment of the second scan", || (900.0..1_000.0).contains(&playhead_s(page)).then_some(()));
        no_barriers(page, "the tab Node groups");
    });
}

#[test]
fn without_an_autoscaler_there_is_no_such_tab() {
    story(|page| {
        open_done(page, "single-zone");
        page.see("tab-report", "Report");
        page.see_no("tab-node-groups");
    });
}
