//! The outcome at first sight, and scenarios that are large: progress, Cancel, a map that says that it catches up.

use serde_json::{Value, json};
use zonefall_browser::measure::landscape;
use zonefall_browser::page::{Page, story, story_in_motion};

use crate::helpers::{go_to, link, lower, open_and_watch, open_done, playhead_s, raise, scenario, see_done, see_paused};

#[test]
fn tiles_tell_the_outcome_and_open_their_tabs() {
    story(|page| {
        open_and_watch(page);
        page.see("tile-quorum", "held");
        page.see("tile-quorum", "1 failure tolerated, 0 at worst");
        page.see("tile-latency", "→ 7.7 s →");
        page.see("tile-cost", "$270.36 a month");
        page.see("tile-cost", "$29.43 of it between zones");
        assert!(!page.is_there("tile-api"));
        for (tile, tab) in [("tile-latency", "tab-latency"), ("tile-cost", "tab-cost"), ("tile-quorum", "tab-availability")] {
            page.tab_to(tile);
            page.press("Enter");
            page.see_attribute(tab, "aria-selected", "true");
        }
        open_done(page, "plain-cluster");
        page.see("tile-cost", "a month");
        page.see("tile-cost", "of it between zones");
        page.see("tile-api", "s down");
        page.choose("tile-provider", "gcp");
        page.click("tile-cost");
        page.wait_for("the bill of gcp", || {
            (page.run("return document.querySelector('[data-testid=provider-gcp]')?.checked", &[]) == true).then_some(())
        });
        page.click("verdict-more");
        page.see_attribute("verdict-more", "aria-expanded", "true");
    });
}

#[test]
fn what_is_opened_plays_to_its_first_event_and_play_on_goes_on() {
    story_in_motion(|page| {
        open_and_watch(page);
        page.press("z");
        // Another scenario, with its first event at ten minutes: not from the start at 1x, nor in the zoom of the one before.
        page.choose("scenario-chooser", "eu-west-1a-outage");
        page.wait_for("the first event", || (playhead_s(page) > 600.0).then_some(()));
        see_paused(page);
        assert!(playhead_s(page) < 605.0, "{} s", playhead_s(page));
        page.see_among(".lanes .tick text", "min");
        // The cluster shown is one that lost a member.
        if !page.is_phone() {
            page.see_among(".lanes .whose", "etcd-main");
        }
        page.click("play-on");
        page.wait_for("the next event", || (playhead_s(page) > 606.0).then_some(()));
        see_paused(page);
    });
}

#[test]
fn a_large_scenario_pasted_while_playing_comes_to_its_end() {
    story_in_motion(|page| {
        page.open("");
        page.see_first_view();
        raise(page, "scenario");
        page.click("tab-json");
        page.fill("json", &landscape(2_000).to_string());
        lower(page, "scenario");
        see_done(page);
        page.see_no("simulating");
    });
}

#[test]
fn a_long_run_tells_how_far_it_is_and_can_be_stopped() {
    story(|page| {
        let mut file: Value = serde_json::from_str(scenario("zone-outage")).expect("it is JSON");
        (file["duration"], file["expect"]) = (json!("60d"), json!([]));
        page.open(&link(&file.to_string()));
        page.see("simulating", "Simulating");
        page.click("halt");
        page.see("simulating", "Stopped at");
        // What is simulated can be looked at.
        go_to(page, "0:30");
        page.see_no("catching-up");
        page.see("health", "★ leader etcd-main-0");
        page.click("halt");
        page.see("simulating", "Simulating");
    });
}

#[test]
fn after_a_leap_the_map_says_that_it_catches_up_until_it_is_right() {
    // An answer that is there before the page draws again would leave nothing to catch up with.
    const HOLD: &str = "const post = Worker.prototype.postMessage, held = [];
        Worker.prototype.postMessage = function (...message) { held.push([this, message]) };
        window.release = () => {
            Worker.prototype.postMessage = post;
            held.forEach(([worker, message]) => post.apply(worker, message));
        }";
    story(|page: &Page| {
        open_done(page, "many-shoots");
        page.run(HOLD, &[]);
        go_to(page, "12:00:00");
        page.see("catching-up", "Catching up");
        page.run("window.release()", &[]);
        page.see_no("catching-up");
    });
}
