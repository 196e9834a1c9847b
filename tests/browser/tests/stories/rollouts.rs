//! Bad revisions are rolled out in several ways: the tab Rollouts shows what each came to, batch by batch, and who did what.

use zonefall_browser::page::story;

use crate::access::no_barriers;
use crate::helpers::{open_done, pause, playhead_s};

#[test]
fn rollouts_are_listed_with_their_batches_and_who_deleted_which_pods() {
    story(|page| {
        open_done(page, "rollback-order");
        pause(page);
        page.click("tab-rollouts");
        for part in ["to revision 1", "back to revision", "complete after"] {
            page.see("rollouts", part);
        }
        page.click("rollout-0");
        page.see("rollout", "ZoneAwareUpdate");
        page.click("batch-0");
        page.wait_for("the moment of the first batch", || (300.0..310.0).contains(&playhead_s(page)).then_some(()));
        no_barriers(page, "the tab Rollouts");
    });
}

#[test]
fn without_a_workload_whose_rollout_is_followed_there_is_no_such_tab() {
    story(|page| {
        open_done(page, "zone-outage");
        page.see("tab-report", "Report");
        page.see_no("tab-rollouts");
    });
}
