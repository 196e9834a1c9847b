//! After one visit the page needs its host no more; and what is shown is always of one version.

use std::path::Path;
use std::process::Command;

use tempfile::TempDir;
use zonefall_browser::driver::SiteData;
use zonefall_browser::given;
use zonefall_browser::page::{DESK, PHONE, Page};

use crate::helpers::{copy, open_done, see_done};

/// Waits until the service worker has all it needs.
fn see_kept(page: &Page) {
    const ACTIVE: &str = "return navigator.serviceWorker.getRegistration().then(found => found?.active?.state === 'activated')";
    page.wait_for("the service worker", || (page.run(ACTIVE, &[]) == true).then_some(()));
}

#[test]
fn after_one_visit_the_page_needs_no_host() {
    for view in [DESK, PHONE] {
        let page = Page::with_service_worker(view, SiteData::Allowed);
        page.open("");
        page.see_first_view();
        see_kept(&page);
        let sent = page.server().sent();
        let programs: Vec<_> = sent.iter().filter(|(path, _)| path.ends_with("_bg.wasm")).collect();
        assert_eq!(programs.len(), 2, "each program is sent once: {programs:?}");
        page.server().stop();
        page.reload();
        page.see_first_view();
        see_done(&page);
        page.see("verdict", "etcd-main-2 was elected");
        // Another visit, to a scenario that it has not simulated yet.
        open_done(&page, "five-members");
        page.see_attribute("form-name", "value", "five-members");
        assert_eq!(page.complaints(), Vec::<String>::new());
    }
}

/// A version of the page that differs in three files.
fn next_version() -> TempDir {
    const MARK: &str = "document.documentElement.dataset.version = 'next';\n";
    let folder = copy(&given("ZONEFALL_PAGE"));
    edit(&folder.path().join("index.html"), |html| html.replace("<title>Zonefall", "<title>Zonefall, next"));
    edit(&folder.path().join("loader.js"), |script| format!("{MARK}{script}"));
    edit(&folder.path().join("zonefall-engine.js"), |script| format!("// next\n{script}"));
    let list = include_str!("../../../../xtask/src/list.mjs");
    let mut node = Command::new(given("ZONEFALL_NODE"));
    let status = node.args(["--input-type=module", "--eval", list]).arg(folder.path()).status().expect("node starts");
    assert!(status.success());
    folder
}

fn edit(path: &Path, change: impl FnOnce(String) -> String) {
    let text = std::fs::read_to_string(path).expect("the page has this file");
    std::fs::write(path, change(text)).expect("it is ours");
}

/// Loads the page again, and waits until it is of a version in both files.
#[track_caller]
fn see_after_reload(page: &Page, version: &str) {
    page.reload();
    page.see_first_view();
    let found = page.run("return [document.title, document.documentElement.dataset.version ?? ''].join()", &[]);
    assert_eq!(found, version);
}

#[test]
fn a_new_version_is_seen_on_the_next_visit_and_never_mixed_with_the_old_one() {
    const LIST: &str = "files.json";
    const OLD: &str = "Zonefall,";
    const NEXT: &str = "Zonefall, next,next";
    let (old, next) = (given("ZONEFALL_PAGE"), next_version());
    let page = Page::with_service_worker(DESK, SiteData::Allowed);
    let deploy = |folder: &Path| page.server().deploy(folder).expect("the folder can be read");
    let with_list_of = |files: &Path, list: &Path| {
        let folder = copy(files);
        std::fs::copy(list.join(LIST), folder.path().join(LIST)).expect("a copy");
        folder
    };
    page.open("");
    page.see_first_view();
    see_kept(&page);
    // The list has been replaced, nothing else yet; or all but the list.
    for (files, list) in [(&*old, next.path()), (next.path(), &*old)] {
        deploy(with_list_of(files, list).path());
        see_after_reload(&page, OLD);
    }
    deploy(next.path());
    see_after_reload(&page, NEXT);
    deploy(&old);
    see_after_reload(&page, OLD);
    deploy(next.path());
    see_after_reload(&page, NEXT);
    page.server().stop();
    see_after_reload(&page, NEXT);
}

#[test]
fn a_page_that_is_open_stays_with_its_version() {
    const OPEN: &str = "window.other = window.open(location.href)";
    const OTHER: &str = "return window.other.document.querySelector('#map-scene .member') && window.other.document.title";
    const SCRIPTS: &str =
        "return Promise.all(['loader.js', 'zonefall-engine.js'].map(name => fetch(name).then(response => response.text())))
        .then(scripts => scripts.join())";
    const NOTES: &str = "return caches.keys().then(all => caches.open(all.find(name => name.endsWith('notes'))))
        .then(notes => notes.keys()).then(all => all.length)";
    let next = next_version();
    let page = Page::with_service_worker(DESK, SiteData::Allowed);
    page.open("");
    page.see_first_view();
    see_kept(&page);
    see_after_reload(&page, "Zonefall,");
    // Noted: the page, its worker, and what was shown last.
    page.wait_for("three notes", || (page.run(NOTES, &[]) == 3).then_some(()));
    page.server().deploy(next.path()).expect("the folder can be read");
    page.run(OPEN, &[]);
    page.wait_for("the next version", || (page.run(OTHER, &[]) == "Zonefall, next").then_some(()));
    let scripts = page.run(SCRIPTS, &[]);
    assert!(scripts.as_str().is_some_and(|text| !text.contains("'next'") && !text.contains("// next")), "{scripts}");
    page.run("window.other.close()", &[]);
    assert_eq!(page.complaints(), Vec::<String>::new());
}

#[test]
fn a_host_without_a_list_always_serves_the_page_itself() {
    let (listed, unlisted) = (given("ZONEFALL_PAGE"), next_version());
    std::fs::remove_file(unlisted.path().join("files.json")).expect("it was there");
    let page = Page::with_service_worker(DESK, SiteData::Allowed);
    page.open("");
    page.see_first_view();
    see_kept(&page);
    for (folder, title) in [(unlisted.path(), "Zonefall, next"), (&*listed, "Zonefall"), (unlisted.path(), "Zonefall, next")] {
        page.server().deploy(folder).expect("the folder can be read");
        page.reload();
        page.see_first_view();
        assert_eq!(page.run("return document.title", &[]), title);
    }
}

#[test]
fn a_page_that_cannot_be_kept_works_and_says_nothing_about_it() {
    const NOTE: &str = "
        const register = window.ServiceWorkerContainer?.prototype.register;
        if (register) ServiceWorkerContainer.prototype.register = function (...all) {
            const registered = register.apply(this, all);
            registered.then(() => { window.registered = 'yes'; }, error => { window.registered = error.name; });
            return registered;
        };";
    let page = Page::with_service_worker(PHONE, SiteData::Blocked);
    let source = serde_json::json!({ "source": NOTE });
    page.driver().cdp("Page.addScriptToEvaluateOnNewDocument", &source).expect("Chromium takes it");
    page.open("");
    page.see_first_view();
    let registered = page.wait_for("an attempt", || page.run("return window.registered", &[]).as_str().map(ToOwned::to_owned));
    assert_ne!(registered, "yes");
    assert_eq!(page.complaints(), Vec::<String>::new());
}
