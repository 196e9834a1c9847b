//! Something is broken: the run forks, an election follows, branches are switched.

use zonefall_browser::page::{Page, story};

use crate::helpers::{go_to, lower, open_and_watch, pause, playhead_s, raise, see_done};

/// Half a minute before anything happens by itself.
fn before_all(page: &Page) {
    open_and_watch(page);
    go_to(page, "0:30");
    page.see("health", "★ leader etcd-main-0");
}

/// The other zones' members elect another leader: in the map, the timeline and the list of events. Ends ten seconds after the deed.
fn see_the_election(page: &Page) {
    page.see("branch-chooser", "zone eu-west-1a lost power at 30s");
    pause(page);
    see_done(page);
    go_to(page, "0:40");
    // The timeline has gone near, with the playhead.
    page.click("zoom-fit");
    page.see_attribute_has("map-zone-eu-west-1a", "aria-label", "no power");
    page.see_attribute_has("map-member-etcd-main-0", "class", "down");
    let leader = page.wait_for("a new leader", || {
        ["etcd-main-1", "etcd-main-2"]
            .into_iter()
            .find(|name| page.attribute(&format!("map-member-{name}"), "class").is_some_and(|class| class.contains("leader")))
    });
    page.see("health", &format!("★ leader {leader}"));
    page.see_among(".lanes .leader .reign title", &format!("{leader} · term 2"));
    page.see_among(".lanes .writes .outage title", "writes unavailable for");
    page.fill("filter", "is elected in term 2");
    page.see("events", &format!("{leader} is elected in term 2"));
    page.see("verdict", "Writes and linearizable reads were unavailable 2 times");
}

#[test]
fn the_leaders_zone_is_killed_with_the_pointer() {
    story(|page| {
        before_all(page);
        page.click_on("[data-testid='map-zone-eu-west-1a'] .name");
        page.see_attribute("map-zone-eu-west-1a", "aria-pressed", "true");
        raise(page, "inspector");
        page.see("inspector", "eu-west-1a");
        page.click("intervention-power-off");
        lower(page, "inspector");
        see_the_election(page);
    });
}

#[test]
fn the_leaders_zone_is_killed_with_keys_alone() {
    story(|page| {
        open_and_watch(page);
        page.press("g");
        page.wait_for("the field of the time", || page.focused().filter(|id| id == "time"));
        page.press("Control+a");
        for key in "0:30".chars() {
            page.press(&key.to_string());
        }
        page.press("Enter");
        page.see("health", "★ leader etcd-main-0");
        page.tab_to("map-zone-eu-west-1a");
        // Whatever way the zones are stacked, the zone's node lies below its name.
        page.press("ArrowDown");
        page.wait_for("another thing", || page.focused().filter(|id| id != "map-zone-eu-west-1a" && id.starts_with("map-")));
        page.press("ArrowUp");
        page.wait_for("the zone again", || page.focused().filter(|id| id == "map-zone-eu-west-1a"));
        page.press("Enter");
        page.see_attribute("map-zone-eu-west-1a", "aria-pressed", "true");
        page.press("k");
        see_the_election(page);
        page.tab_to("undo-intervention");
        page.press("Enter");
        page.see("health", "★ leader etcd-main-0");
        page.wait_for("the moment of the deed", || ((playhead_s(page) - 30.0).abs() < 1e-6).then_some(()));
    });
}

#[test]
fn branches_are_switched_and_what_is_broken_is_mended() {
    story(|page| {
        before_all(page);
        page.click_on("[data-testid='map-zone-eu-west-1a'] .name");
        lower(page, "inspector");
        page.press("k");
        see_the_election(page);
        page.choose("branch-chooser", "Original");
        page.see("health", "★ leader etcd-main-0");
        page.see_attribute_has("map-zone-eu-west-1a", "aria-label", "has power");
        page.choose("branch-chooser", "zone eu-west-1a lost power");
        page.see_attribute_has("map-zone-eu-west-1a", "aria-label", "no power");
        raise(page, "inspector");
        page.click_on("[data-testid='interventions'] .repair");
        lower(page, "inspector");
        page.see("branch-chooser", "at 40s");
        page.see_attribute_has("map-zone-eu-west-1a", "aria-label", "has power");
        page.see_attribute_has("map-member-etcd-main-0", "class", "follower");
        page.press("u");
        page.see_attribute_has("map-zone-eu-west-1a", "aria-label", "no power");
    });
}

#[test]
fn deeds_keep_the_focus_and_are_not_done_twice() {
    story(|page| {
        before_all(page);
        page.click_on("[data-testid='map-zone-eu-west-1a'] .name");
        raise(page, "inspector");
        page.run("document.querySelector(\"[data-testid='intervention-power-off']\").focus()", &[]);
        page.press("Enter");
        page.wait_for("the deed that mends", || page.focused().filter(|id| id.starts_with("intervention-repair-")));
        page.press("k");
        page.see("notice", "already stopped");
        page.press("m");
        page.see_attribute_has("map-zone-eu-west-1a", "aria-label", "has power");
        page.see("branch-chooser", "zone eu-west-1a has power again");
        page.wait_for("a deed that breaks", || page.focused().filter(|id| id == "intervention-power-off"));
        if page.is_phone() {
            page.press("Escape");
            page.see_attribute("panel-inspector", "data-up", "false");
            page.wait_for("what raised the sheet", || page.focused().filter(|id| id == "sheet-inspector"));
        }
    });
}

#[test]
fn who_has_selected_nothing_has_things_to_try() {
    story(|page| {
        before_all(page);
        raise(page, "inspector");
        page.see("to-try", "Power off eu-west-1a, the leader's zone");
        page.click("try-power-off");
        page.see("branch-chooser", "zone eu-west-1a lost power at 30s");
        page.wait_for("the inspector", || page.focused().filter(|id| id == "inspector"));
        page.see("inspector", "eu-west-1a");
    });
}

/// Selects something of the map by keyboard; what has the focus there is what Enter selects.
fn select_by_key(page: &Page, id: &str) {
    page.run(&format!("document.querySelector('[data-testid=\"{id}\"]').focus()"), &[]);
    page.press("Enter");
    page.see_attribute(id, "aria-pressed", "true");
}

const RESTARTED: &str = "etcd-main-1 was killed (restarted after 1.5 s) at 30s";

/// The kubelet has brought the member back three seconds later.
fn see_it_restarted(page: &Page) {
    page.see("branch-chooser", RESTARTED);
    pause(page);
    see_done(page);
    go_to(page, "0:31");
    page.see_attribute_has("map-member-etcd-main-1", "class", "down");
    go_to(page, "0:33");
    page.see_attribute_has("map-member-etcd-main-1", "class", "follower");
    page.fill("filter", "etcd-main-1 is restarted");
    page.see("events", "etcd-main-1 is restarted");
}

#[test]
fn a_killed_process_is_restarted_by_its_kubelet() {
    story(|page| {
        before_all(page);
        page.click("map-member-etcd-main-1");
        raise(page, "inspector");
        page.see("intervention-kill", "Kill process (restarted after 1.5 s)");
        page.see("intervention-keep-stopped", "Stop until repaired");
        page.click("intervention-kill");
        lower(page, "inspector");
        see_it_restarted(page);
        // The next time soon after it is CrashLoopBackOff.
        raise(page, "inspector");
        page.see("intervention-kill", "Kill process (restarted after 10.5 s)");
        page.fill("intervention-lasts", "2m");
        page.see("intervention-keep-stopped", "Stop for 2 min");
        page.fill("intervention-lasts", " ");
        page.click("intervention-keep-stopped");
        lower(page, "inspector");
        page.see("branch-chooser", "etcd-main-1 was killed (until repaired) at 33s");
        pause(page);
        see_done(page);
        go_to(page, "1:00");
        page.see_attribute_has("map-member-etcd-main-1", "class", "down");
    });
}

#[test]
fn a_process_is_killed_and_stopped_with_keys_alone() {
    story(|page| {
        before_all(page);
        select_by_key(page, "map-member-etcd-main-1");
        page.press("k");
        see_it_restarted(page);
        page.press("Control+k");
        page.fill("palette-input", "stop until repaired etcd-main-2");
        page.see_among("[data-testid=command]", "Stop until repaired: member etcd-main-2");
        page.press("Enter");
        page.see("branch-chooser", "etcd-main-2 was killed (until repaired) at 33s");
    });
}

#[test]
fn a_key_that_does_nothing_says_why() {
    story(|page| {
        before_all(page);
        select_by_key(page, "map-zone-eu-west-1a");
        page.press("k");
        page.see("branch-chooser", "zone eu-west-1a lost power at 30s");
        page.see_attribute_has("map-zone-eu-west-1a", "aria-label", "no power");
        for (thing, key, why) in [
            ("map-node-node-a", "k", "K does nothing: node node-a has no power."),
            ("map-node-node-a", "x", "X does nothing: node node-a has no power."),
            ("map-member-etcd-main-0", "k", "K does nothing: etcd-main-0 does not run: its node has no power."),
        ] {
            select_by_key(page, thing);
            page.press(key);
            page.see("notice", why);
            page.click("dismiss");
        }
        assert_eq!(page.texts("[data-testid=branch-chooser] option").len(), 2, "no branch came of it");
    });
}

const LINK: &str = "map-link-eu-west-1a-eu-west-1b";
const LINK_CUT: &str = "the link eu-west-1a - eu-west-1b was cut at 30s";

#[test]
fn a_link_is_cut_and_repaired_with_the_pointer() {
    story(|page| {
        before_all(page);
        page.click_on(&format!("[data-testid='{LINK}'] .words"));
        raise(page, "inspector");
        page.see("inspector", "eu-west-1a – eu-west-1b");
        page.see("intervention-cut-off", "Cut this link");
        page.click("intervention-cut-off");
        lower(page, "inspector");
        page.see("branch-chooser", LINK_CUT);
        page.see_attribute_has(LINK, "aria-label", "cut");
        pause(page);
        raise(page, "inspector");
        page.see("interventions", "Repair: the link eu-west-1a - eu-west-1b still cut");
        page.click_on("[data-testid='interventions'] .repair");
        lower(page, "inspector");
        page.see("branch-chooser", "the link eu-west-1a - eu-west-1b carries packets again");
    });
}

#[test]
fn a_link_is_cut_with_keys_alone() {
    story(|page| {
        before_all(page);
        page.press("Control+k");
        page.fill("palette-input", "cut link eu-west-1a eu-west-1b");
        page.see_among("[data-testid=command]", "Cut: link eu-west-1a – eu-west-1b");
        page.press("Enter");
        page.see("branch-chooser", LINK_CUT);
        page.see_attribute_has(LINK, "aria-label", "cut");
        page.press("u");
        page.wait_for("the link as it was", || page.attribute(LINK, "class").filter(|class| !class.contains("cut")));
        select_by_key(page, LINK);
        page.press("x");
        page.see("branch-chooser", LINK_CUT);
        page.see_attribute_has(LINK, "aria-label", "cut");
        page.press("m");
        page.see("branch-chooser", "carries packets again");
    });
}
