//! Bad revisions are rolled out in several ways: the tab Rollouts shows what each came to, batch by batch, and who did what.

use zonefall_browser::page::story;

use crate::access::no_barriers;
use crate::helpers::{go_to, open_done, pause, playhead_s};

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
fn the_pods_of_a_rollout_are_seen_at_any_moment_and_it_is_rolled_by_hand() {
    story(|page| {
        open_done(page, "rollback-order");
        pause(page);
        page.click("tab-rollouts");
        page.click("rollout-0");
        go_to(page, "4:00");
        page.see("rollout-now", "9 pods: 9 of revision 0; 9 ready. Wanted: revision 0.");
        page.see_no("roll-back");
        go_to(page, "7:50");
        page.see("rollout-now", "9 pods: 3 of revision 0, 6 of revision 1 (bad); 8 ready, 1 starting. Wanted: revision 1 (bad).");
        assert_eq!(page.texts("[data-testid=pod-grid] li").len(), 9);
        no_barriers(page, "pods of a rollout");
        page.click("roll-back");
        page.see("branch-chooser", "an operator rolls the pods of code back at 7m 50s");
        page.see("rollout-now", "Wanted: revision 0.");
        page.see("rollouts", "code back to revision 0");
    });
}

#[test]
fn budgets_say_what_they_allow_at_the_playhead() {
    story(|page| {
        open_done(page, "two-zones-drained");
        pause(page);
        page.click("tab-rollouts");
        go_to(page, "4:00");
        page.see("budgets-now", "2 in za, 2 in zb, 2 in zc");
        go_to(page, "5:30");
        page.see("budgets-now", "1 in za, 0 in zb, 0 in zc");
        no_barriers(page, "budgets");
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

#[test]
fn connections_of_services_are_shares_from_zone_to_zone() {
    story(|page| {
        open_done(page, "kube-proxy-cross-zone");
        pause(page);
        page.click("tab-traffic");
        page.see("service-even", "33.3 %");
        page.see("service-even", "66.7 % of those that were served left their zone");
        no_barriers(page, "Services in the tab Traffic");
    });
}
