//! The simulator stops: the page says so, keeps the scenario, and starts it anew.

use std::fs;

use serde_json::json;
use zonefall_browser::given;
use zonefall_browser::page::{DESK, Page, story_on, story_with_own_host};

use crate::helpers::{copy, go_to, link, open_and_watch, scenario, see_done};

/// Notes the workers that the page starts, so that something can be done to them.
const NOTE: &str = "
    const Plain = Worker;
    window.workers = [];
    window.Worker = class extends Plain { constructor(...all) { super(...all); window.workers.push(this); } };";

fn note_workers(page: &Page) {
    page.driver().cdp("Page.addScriptToEvaluateOnNewDocument", &json!({ "source": NOTE })).expect("Chromium takes it");
}

#[test]
fn a_simulator_that_falls_silent_is_started_anew() {
    story_on(DESK, |page| {
        note_workers(page);
        open_and_watch(page);
        page.run("window.workers.at(-1).terminate()", &[]);
        go_to(page, "0:30");
        page.see("notice", "The simulator stopped: it stopped responding. It was restarted with your scenario");
        page.see("health", "★ leader etcd-main-0");
        page.see("verdict", "etcd-main-2 was elected");
        page.see_attribute("form-name", "value", "zone-outage");
        see_done(page);
    });
}

#[test]
fn a_simulator_that_crashes_again_waits_for_the_user() {
    const CRASH: &str = "window.workers.at(-1).dispatchEvent(new ErrorEvent('error', { message: 'RuntimeError: unreachable' }))";
    story_on(DESK, |page| {
        note_workers(page);
        // Longer than this story takes, so that the second crash finds it unfinished.
        page.open(&link(&scenario("zone-outage").replace("\"35m\"", "\"700h\"")));
        page.see_first_view();
        page.run(CRASH, &[]);
        page.see("notice", "The simulator stopped: RuntimeError: unreachable. It was restarted with your scenario");
        page.run(CRASH, &[]);
        page.see("notice", "Your scenario is kept; change it, or press play to try again.");
        page.see("verdict", "the simulator has stopped.");
        page.see_attribute("form-name", "value", "zone-outage");
        page.click("play");
        page.see_no("notice");
        page.see("verdict", "etcd-main-2 was elected");
    });
}

/// A host that is being updated may serve the page of one version and the simulator of another: they would misunderstand each other.
#[test]
fn a_simulator_of_another_version_is_not_used() {
    const MARK: &[u8] = b"build ";
    const ENGINE: &str = "zonefall-engine_bg.wasm";
    let is_stamp = |at: &[u8]| at.starts_with(MARK) && at[MARK.len()..].iter().all(u8::is_ascii_hexdigit);
    let next = copy(&given("ZONEFALL_PAGE"));
    let program = next.path().join(ENGINE);
    let mut bytes = fs::read(&program).expect("the page has a simulator");
    let stamp = bytes.windows(MARK.len() + 16).position(is_stamp).expect("it has a stamp") + MARK.len();
    bytes[stamp] ^= 1;
    fs::write(program, bytes).expect("it is ours");
    story_with_own_host(DESK, |page| {
        page.server().deploy(next.path()).expect("the folder can be read");
        page.open("");
        page.see("notice", "it is of another version than this page: load the page again");
        page.see("verdict", "Not simulated: the simulator has stopped.");
        page.see_attribute("form-name", "value", "zone-outage");
    });
}
