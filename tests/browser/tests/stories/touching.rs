//! Room: for fingers, for charts, for the map.

use serde_json::json;
use zonefall_browser::page::{DESK, PHONE, Page, View, story, story_on};

use crate::helpers::{go_to, lower, open_and_watch, open_done, pause, playhead_s, raise};

/// What can be chosen by a finger, and is in sight, but smaller than a fingertip. A link within a sentence is as high as its line.
const SMALL: &str = "
    const all = [...document.querySelectorAll('button, select, summary, [role=tab]')].filter(one => !one.matches('.moment, :disabled'));
    const seen = one => one.checkVisibility({visibilityProperty: true}) && one.getBoundingClientRect().width > 1;
    return all.filter(seen).map(one => [one, one.getBoundingClientRect()])
        .filter(([one, box]) => Math.round(box.width) < 44 || Math.round(box.height) < 44)
        .map(([one, box]) => `${one.dataset.testid ?? one.className} ${one.textContent.slice(0, 20)}: ${box.width} x ${box.height}`)";

#[track_caller]
pub(crate) fn no_small_target(page: &Page, state: &str) {
    let small = page.run(SMALL, &[]);
    assert_eq!(small, json!([]), "{state}");
}

#[test]
fn a_finger_finds_whatever_it_aims_at() {
    story_on(PHONE, |page| {
        open_and_watch(page);
        no_small_target(page, "at the start");
        for tab in ["events", "availability", "latency", "traffic", "cost", "report"] {
            page.click(&format!("tab-{tab}"));
            no_small_target(page, tab);
        }
        raise(page, "scenario");
        page.run("document.querySelectorAll('.configure details').forEach(one => { one.open = true; })", &[]);
        no_small_target(page, "the form");
        page.click("tab-json");
        page.fill("json", "{\"name\": 1, \"duration\": \"1\"}");
        page.see("problems", "problems");
        no_small_target(page, "the text with errors");
        page.click("document-undo");
        lower(page, "scenario");
        page.click("export");
        page.see("export-json", "Report");
        no_small_target(page, "the menu");
    });
}

#[test]
fn a_finger_finds_whatever_it_aims_at_in_kubernetes() {
    story_on(PHONE, |page| {
        open_done(page, "eu-west-1a-outage");
        pause(page);
        page.click("tab-recovery");
        page.click("component-kube-apiserver");
        no_small_target(page, "recovery");
    });
}

#[test]
fn a_tap_on_the_map_shows_what_can_be_done() {
    story_on(PHONE, |page| {
        open_and_watch(page);
        page.click("map-member-etcd-main-2");
        page.see_attribute("panel-inspector", "data-up", "true");
        page.see("inspector", "etcd-main-2");
        page.see("intervention-kill", "Kill");
        no_small_target(page, "the inspector");
        lower(page, "inspector");
        page.see_attribute("panel-inspector", "data-up", "false");
    });
}

/// A side of a thing's box, in pixels.
#[track_caller]
fn measure(page: &Page, css: &str, side: &str) -> f64 {
    let found =
        page.run("return document.querySelector(arguments[0]).getBoundingClientRect()[arguments[1]]", &[json!(css), json!(side)]);
    found.as_f64().unwrap_or_else(|| panic!("{css} has a {side}"))
}

#[test]
fn a_chart_has_room_and_its_words_stay_on_the_screen() {
    story(|page| {
        open_and_watch(page);
        for tab in ["availability", "latency", "traffic", "cost"] {
            page.click(&format!("tab-{tab}"));
            if !page.is_there("chart") {
                continue;
            }
            page.wait_for("a chart", || (!page.texts("[data-testid=chart] canvas").is_empty()).then_some(()));
            let high = measure(page, "[data-testid=chart] canvas", "height");
            assert!(high >= 240.0, "{tab}: {high} pixels high");
            // In one look: the run plays, and what is above the chart moves it.
            let boxes = page.run(
                "return ['chart', 'values'].map(id => {
                    const {top, right, bottom} = document.querySelector(`[data-testid=${id}]`).getBoundingClientRect();
                    return {top, right, bottom};
                })",
                &[],
            );
            let side = |which: usize, side: &str| boxes[which][side].as_f64().expect("a length");
            if page.is_phone() {
                assert!(side(1, "top") >= side(0, "bottom"), "{tab}: the values hide no line: {boxes}");
            }
            assert!(side(1, "right") <= side(0, "right"), "{tab}: {boxes}");
        }
        let outside = page.run(
            "const wide = document.documentElement.clientWidth;
            return [...document.querySelectorAll('.lanes text')].map(one => [one.textContent, one.getBoundingClientRect()])
                .filter(([text, box]) => box.left < 0 || box.right > wide).map(([text]) => text)",
            &[],
        );
        assert_eq!(outside, json!([]), "words of the timeline beyond the edge");
    });
}

#[test]
fn a_moment_of_a_chart_is_seen_in_the_timeline_and_gone_to() {
    const MOVE: &str = "
        const chart = document.querySelector('[data-testid=chart]');
        const box = chart.getBoundingClientRect();
        const event = {bubbles: true, clientX: box.left + box.width / 2, clientY: box.top + 60};
        chart.dispatchEvent(arguments[0] === 'click' ? new MouseEvent('click', event) : new PointerEvent(arguments[0], event));";
    story(|page| {
        open_and_watch(page);
        page.click("zoom-fit");
        go_to(page, "0:30");
        page.click("tab-availability");
        page.wait_for("a chart", || (!page.texts("[data-testid=chart] canvas").is_empty()).then_some(()));
        assert!(!page.is_there("hover"));
        page.run(MOVE, &[json!("pointermove")]);
        page.see_attribute_has("hover", "class", "playhead");
        page.run(MOVE, &[json!("pointerout")]);
        page.run(MOVE, &[json!("click")]);
        page.wait_for("the middle of the run", || (playhead_s(page) > 600.0).then_some(()));
    });
}

#[test]
fn larger_tabs_take_their_room_from_the_timeline() {
    story_on(DESK, |page| {
        open_and_watch(page);
        let high = |css: &str| measure(page, css, "height");
        let (map, tabs, lanes) = (high("[data-testid=map]"), high(".details"), high("[data-testid=scrubber]"));
        page.click("tall");
        page.see_attribute("tall", "aria-pressed", "true");
        assert!(high("[data-testid=map]") >= map, "the map keeps its room");
        assert!(high(".details") > tabs + 50.0 && high("[data-testid=scrubber]") < lanes, "{tabs}, {lanes}");
    });
}

#[test]
fn a_tall_screen_has_a_larger_map() {
    let high = |height: u32| {
        let found = std::cell::Cell::new(0.0);
        story_on(View { height, ..DESK }, |page| {
            open_and_watch(page);
            found.set(measure(page, "#map-scene", "height"));
        });
        found.get()
    };
    let (usual, tall) = (high(DESK.height), high(1_400));
    assert!(tall > 1.3 * usual, "{usual} and {tall} pixels");
}
