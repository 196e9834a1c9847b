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
