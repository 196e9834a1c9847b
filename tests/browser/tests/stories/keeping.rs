//! What was broken, and where one was, is there again: after a reload, in another browser, from a file, and with Back.

use serde_json::json;
use zonefall_browser::page::{DESK, PHONE, Page, story, story_in_motion};

use crate::helpers::{go_to, open_and_watch, open_done, playhead_s, see_done, unpack};

const CUT: &str = "zone eu-west-1b lost power at 30m 0s";

/// Breaks a zone after half an hour.
fn break_a_zone(page: &Page) {
    open_done(page, "zone-outage");
    go_to(page, "30:00");
    page.wait_for("half an hour", || ((playhead_s(page) - 1_800.0).abs() < 1e-6).then_some(()));
    page.run("document.querySelector('[data-testid=\"map-zone-eu-west-1b\"]').focus()", &[]);
    page.press("Enter");
    page.press("k");
    see_branch(page, CUT);
}

fn see_branch(page: &Page, name: &str) {
    const SHOWN: &str = "return document.querySelector('[data-testid=branch-chooser]')?.selectedOptions[0]?.textContent ?? ''";
    page.wait_for(&format!("the branch {name:?}"), || (page.run(SHOWN, &[]) == json!(name)).then_some(()));
}

/// Waits until the bookmark in the address has this in it: some of what was done is there earlier than the rest.
fn see_kept(page: &Page, part: &str) -> String {
    page.wait_for(&format!("{part:?} in the address"), || {
        let fragment = page.fragment();
        let has_it = unpack(fragment.split('.').nth(2)?).contains(part);
        has_it.then_some(fragment)
    })
}

#[test]
fn a_reload_and_a_link_bring_back_what_was_broken() {
    story(|page| {
        break_a_zone(page);
        page.press("Space");
        page.click("tab-latency");
        let fragment = see_kept(page, "\"tab\":\"Latency\"");
        page.reload();
        see_branch(page, CUT);
        page.see_attribute("tab-latency", "aria-selected", "true");
        page.see_attribute_has("map-zone-eu-west-1b", "aria-label", "no power");
        assert!(playhead_s(page) >= 1_800.0);
        // A browser that knows nothing of it.
        for view in [DESK, PHONE] {
            let other = Page::new(view);
            other.open(&format!("#{fragment}"));
            see_branch(&other, CUT);
            other.see_attribute_has("map-zone-eu-west-1b", "aria-label", "no power");
            assert_eq!(other.complaints(), Vec::<String>::new());
        }
        page.click("share");
        page.see("notice", CUT);
    });
}

#[test]
fn branches_are_renamed_written_into_the_scenario_and_deleted() {
    story(|page| {
        break_a_zone(page);
        page.click("branch-menu");
        page.click("branch-rename");
        page.fill("branch-name", "two zones dark");
        page.press("Enter");
        see_branch(page, "two zones dark");
        let before = see_kept(page, "two zones dark");
        page.click("branch-menu");
        page.click("branch-write");
        page.see("notice", "as faults and operations");
        see_branch(page, "Original");
        see_done(page);
        page.see("verdict", "Quorum was lost");
        // Back to the scenario as it was, and to its branch.
        expect_back(page, "two zones dark", &before);
        page.click("branch-menu");
        page.click("branch-delete");
        see_branch(page, "Original");
        page.see_no("branch-menu");
    });
}

fn expect_back(page: &Page, branch: &str, before: &str) {
    page.wait_for("the step in the history", || Some(page.fragment()).filter(|fragment| fragment != before));
    page.run("history.back()", &[]);
    see_branch(page, branch);
}

#[test]
fn a_saved_file_has_the_branches_and_is_a_scenario() {
    story(|page| {
        break_a_zone(page);
        crate::helpers::raise(page, "scenario");
        let (name, content) = page.download(|| page.click("file-save"));
        assert_eq!(name, "zone-outage.json");
        zonefall_core::scenario::Scenario::from_json(&String::from_utf8(content.clone()).expect("text")).expect("a scenario");
        let other = Page::new(DESK);
        open_and_watch(&other);
        other.choose_file("file-open", "mine.json", &content);
        see_branch(&other, CUT);
    });
}

/// Edits and loads the page again twice, at once.
fn edit_and_reload(page: &Page) {
    open_done(page, "zone-outage");
    crate::helpers::raise(page, "scenario");
    page.fill("form-name", "mine");
    page.press("Tab");
    // What the page has not heard of yet it cannot keep.
    page.wait_for("the edit", || page.attribute("document-undo", "disabled").is_none().then_some(()));
    for _ in 0..2 {
        page.reload();
        page.see_attribute("form-name", "value", "mine");
    }
}

#[test]
fn an_edit_right_before_a_reload_is_there_after_the_next_one_too() {
    story(edit_and_reload);
}

/// The address is written while its old fragment is being loaded, twice: after the edit, and when its run is there.
#[test]
fn an_edit_right_before_a_reload_from_a_slow_host_is_there_too() {
    story(|page| {
        const SLOW: u32 = 3_000; // ms; the address is written within 1 s
        page.driver().cdp("Network.enable", &json!({})).expect("Chromium takes it");
        let slow = json!({"offline": false, "latency": SLOW, "downloadThroughput": -1, "uploadThroughput": -1});
        page.driver().cdp("Network.emulateNetworkConditions", &slow).expect("Chromium takes it");
        edit_and_reload(page);
    });
}

#[test]
fn back_leads_to_the_first_scenario_of_a_fresh_page() {
    // It plays: nothing but the start has put anything into the address.
    story_in_motion(|page| {
        page.open("");
        page.see_first_view();
        let first = page.fragment();
        assert!(first.starts_with("z1."), "{first}");
        page.choose("scenario-chooser", "two-zones-big");
        page.see_attribute("form-name", "value", "two-zones-big");
        page.wait_for("the step in the history", || {
            Some(page.fragment()).filter(|it| it.split('.').nth(1) != first.split('.').nth(1))
        });
        page.run("history.back()", &[]);
        page.see_attribute("form-name", "value", "zone-outage");
        page.run("history.forward()", &[]);
        page.see_attribute("form-name", "value", "two-zones-big");
    });
}

#[test]
fn back_finds_a_branch_that_was_renamed_and_then_deleted() {
    const TWO_BACK: &str = "return new Promise(done => {
        addEventListener('hashchange', () => setTimeout(done, 100), { once: true });
        history.go(-2);
    })";
    story(|page| {
        break_a_zone(page);
        page.press("Space");
        see_kept(page, CUT);
        page.see_attribute_has("map-zone-eu-west-1b", "aria-label", "no power");
        // Another branch leaves it, and then it is renamed: the step before has its old name.
        page.press("m");
        page.see("branch-chooser", "has power again");
        page.press("Space");
        see_kept(page, "has power again");
        page.choose("branch-chooser", CUT);
        see_branch(page, CUT);
        page.wait_for("the step to it", || unpack(page.fragment().split('.').nth(2)?).contains("\"shown\":1").then_some(()));
        page.click("branch-menu");
        page.click("branch-rename");
        page.fill("branch-name", "two zones dark");
        page.press("Enter");
        see_branch(page, "two zones dark");
        see_kept(page, "two zones dark");
        page.run(TWO_BACK, &[]);
        see_branch(page, "two zones dark");
        assert_eq!(page.texts("[data-testid=branch-chooser] option").len(), 3, "no branch is lost");
        let before = see_kept(page, "two zones dark");
        page.click("branch-menu");
        page.click("branch-delete");
        see_branch(page, "Original");
        expect_back(page, "two zones dark", &before);
        page.see_attribute_has("map-zone-eu-west-1b", "aria-label", "no power");
    });
}
