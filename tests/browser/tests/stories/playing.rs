//! Time: the first scenario plays by itself; play, pause, step, jump, scrub.

use zonefall_browser::page::{Page, story, story_in_motion};

use crate::helpers::{go_to, open_and_watch, open_done, pause, playhead_s, see_paused};

/// The whole words of an outage of writes that is wide enough for some of them to stand in it.
const WIDE_OUTAGE: &str = ".lanes .writes .bar:has(.inside) title";

#[test]
fn the_first_scenario_plays_to_its_outage_and_says_what_happened() {
    story_in_motion(|page| {
        open_and_watch(page);
        page.see("verdict", "Writes and linearizable reads were unavailable for 1.7 s.");
        page.see("verdict", "Nothing was lost. The leader was in eu-west-1a; etcd-main-2 was elected.");
        page.see("health", "★ leader etcd-main-2");
        page.see_attribute_has("map-zone-eu-west-1a", "aria-label", "no power");
        page.see_attribute_has("map-member-etcd-main-2", "class", "leader");
        assert!((61.0..70.0).contains(&playhead_s(page)), "{} s", playhead_s(page));
        page.see("events", "etcd-main-2 is elected in term 2");
        // The timeline tells it from near: an outage of a second in half an hour would be a hair.
        page.see_among(".lanes .vacant text", "no leader for 1.7 s");
        page.see_among(WIDE_OUTAGE, "writes unavailable for 1.7 s");
        page.press("0");
        page.see_among(".lanes .tick text", "20 min");
        page.press("z");
        page.see_among(".lanes .vacant text", "no leader for 1.7 s");
        // Wherever the playhead goes, it stays in sight.
        page.press("End");
        page.wait_for("the end", || ((playhead_s(page) - 2_100.0).abs() < 1e-6).then_some(()));
        page.see_among(".lanes .tick text", "35:00");
        assert_eq!(page.run("return document.querySelectorAll('.playhead').length", &[]), 1);
    });
}

#[test]
fn it_plays_and_is_scrubbed_back() {
    story_in_motion(|page| {
        open_and_watch(page);
        page.click("zoom-fit");
        let before = playhead_s(page);
        page.choose("speed", "10x");
        page.click("play");
        page.wait_for("the playhead to move on", || (playhead_s(page) > before + 5.0).then_some(()));
        page.press("Space");
        // The button that was clicked has the focus: Space presses it.
        see_paused(page);
        let (from, to, y) = axis(page);
        page.driver().drag((i64::midpoint(from, to), y), (from + 4, y)).expect("the pointer drags");
        page.wait_for("the playhead before the outage", || (playhead_s(page) < 60.0).then_some(()));
        page.see("health", "★ leader etcd-main-0");
        page.see_attribute_has("map-zone-eu-west-1a", "aria-label", "has power");
        page.see_attribute_has("map-member-etcd-main-0", "class", "leader");
    });
}

/// Ten seconds hide an outage of less than two: what is shown from near is told in windows of its own.
#[test]
fn windows_of_latency_and_traffic_follow_the_zoom() {
    story(|page| {
        open_and_watch(page);
        page.click("tab-latency");
        page.see("values", "p50 / p90 / p99 of 10 ms");
        page.see("values", "put, eu-west-1b → leader");
        go_to(page, "1:01");
        page.see("values", "no answer");
        page.click("zoom-fit");
        page.see("values", "p50 / p90 / p99 of 10 s");
        page.see("values", "put, eu-west-1b → leader");
        page.click("tab-traffic");
        page.see("values", "mean of 10 s");
        page.press("z");
        page.see("values", "mean of 10 ms");
    });
}

/// Where the timeline's axis begins and ends on the screen, and how far down.
fn axis(page: &Page) -> (i64, i64, i64) {
    const AXIS: &str = "const line = document.querySelector('.lanes .base'), box = line.ownerSVGElement.getBoundingClientRect();
        return [box.left + line.x1.baseVal.value, box.left + line.x2.baseVal.value, box.top + box.height / 2]";
    let found = page.run(AXIS, &[]);
    let number = |at: usize| found[at].as_f64().expect("a number").round() as i64;
    (number(0), number(1), number(2))
}

#[test]
fn events_are_stepped_through_and_jumped_between() {
    story(|page| {
        open_and_watch(page);
        go_to(page, "0:30");
        page.wait_for("half a minute", || ((playhead_s(page) - 30.0).abs() < 1e-6).then_some(()));
        page.click("step-on");
        let stepped = page.wait_for("the next event", || Some(playhead_s(page)).filter(|at| *at > 30.0));
        assert!(stepped < 30.1, "something happens all the time: {stepped} s");
        page.click("step-back");
        page.wait_for("the event before", || (playhead_s(page) < stepped).then_some(()));
        page.click("jump-on");
        page.wait_for("the fault", || ((playhead_s(page) - 60.0).abs() < 1e-6).then_some(()));
        page.click("jump-on");
        page.wait_for("what comes of it", || (playhead_s(page) > 60.0).then_some(()));
        page.press("End");
        page.wait_for("the end", || ((playhead_s(page) - 2_100.0).abs() < 1e-6).then_some(()));
        page.press("Home");
        page.wait_for("the start", || (playhead_s(page) == 0.0).then_some(()));
        pause(page);
    });
}

#[test]
fn words_lead_to_their_moments() {
    story(|page| {
        open_and_watch(page);
        page.press("Home");
        page.fill("filter", "is elected in term 2");
        page.see("event-count", "1 of");
        page.click("event");
        page.wait_for("the election", || ((playhead_s(page) - 61.722).abs() < 0.01).then_some(()));
        page.press("Home");
        page.click("verdict-moment");
        page.wait_for("the moment of the verdict", || (playhead_s(page) > 1.0).then_some(()));
        page.see_among(WIDE_OUTAGE, "writes unavailable for 1.7 s");
    });
}

#[test]
fn the_verdicts_moments_lead_to_the_lanes_of_their_cluster() {
    story(|page| {
        open_done(page, "two-zones-small");
        page.see_among(".lanes .whose", "etcd-");
        page.click_on(".verdict-cluster:last-of-type [data-testid='verdict-moment']");
        page.see_among(".lanes .whose", "etcd-ev");
        page.see_among(WIDE_OUTAGE, "writes unavailable for");
    });
}

#[test]
fn what_is_too_fast_to_be_seen_is_slowed_down() {
    story_in_motion(|page| {
        open_and_watch(page);
        page.see_no("slow-down");
        page.click("play");
        page.click("slow-down");
        page.see_no("slow-down");
        page.wait_for("a slow playhead", || {
            let before = playhead_s(page);
            page.run("return new Promise(done => setTimeout(done, 200))", &[]);
            (playhead_s(page) - before < 0.1).then_some(())
        });
    });
}
