//! Words of these stories: what a person does on this page, in one.

use std::io::{Read, Write};
use std::path::Path;

use base64::Engine;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use flate2::Compression;
use flate2::read::DeflateDecoder;
use flate2::write::DeflateEncoder;
use tempfile::TempDir;
use zonefall_browser::page::Page;
use zonefall_browser::server::names;
use zonefall_core::scenario::bundled;

/// The text of a scenario that comes with Zonefall.
pub(crate) fn scenario(name: &str) -> &'static str {
    bundled().iter().find(|scenario| scenario.name == name).unwrap_or_else(|| panic!("there is no {name}")).json
}

/// The link to a scenario, written by another hand than the page's: the form of links is a promise.
pub(crate) fn link(text: &str) -> String {
    format!("#z1.{}", pack(text))
}

/// The link to a scenario with a bookmark.
pub(crate) fn link_with_bookmark(text: &str, bookmark: &str) -> String {
    format!("{}.{}", link(text), pack(bookmark))
}

/// What is in a part of a link; nothing where that is damaged.
pub(crate) fn unpack(part: &str) -> String {
    let mut text = String::new();
    let packed = URL_SAFE_NO_PAD.decode(part).unwrap_or_default();
    DeflateDecoder::new(&packed[..]).read_to_string(&mut text).map_or_else(|_| String::new(), |_| text)
}

fn pack(text: &str) -> String {
    let mut packed = DeflateEncoder::new(Vec::new(), Compression::best());
    packed.write_all(text.as_bytes()).expect("memory takes it");
    URL_SAFE_NO_PAD.encode(packed.finish().expect("memory takes it"))
}

/// Opens the page, and waits until the first scenario has played to its outage, paused, and is known to its end.
pub(crate) fn open_and_watch(page: &Page) {
    page.open("");
    page.see_first_view();
    see_paused(page);
    see_done(page);
}

/// Opens a scenario and waits until it is known to its end; where the playhead is by then is left open.
pub(crate) fn open_done(page: &Page, name: &str) {
    page.open(&link(scenario(name)));
    page.see_first_view();
    see_done(page);
}

/// Waits until the run is known to its end.
pub(crate) fn see_done(page: &Page) {
    page.see("verdict", "Writes");
    page.see_no("so-far");
}

/// Waits until nothing plays.
pub(crate) fn see_paused(page: &Page) {
    page.see_attribute("play", "aria-label", "Play");
}

/// Stops what plays. Looks and clicks in one step: between the two the page may stop by itself, at an outage, and a click would
/// start it again.
pub(crate) fn pause(page: &Page) {
    const PAUSE: &str = "document.querySelector('[data-testid=play][aria-label=Pause]')?.click()";
    page.run(PAUSE, &[]);
    see_paused(page);
}

/// Presses a button of the top line that a telephone has in a menu.
pub(crate) fn tool(page: &Page, id: &str) {
    if !page.is_there(id) {
        page.click("export");
    }
    page.click(id);
}

/// Where the playhead is, in seconds.
pub(crate) fn playhead_s(page: &Page) -> f64 {
    page.attribute("scrubber", "aria-valuenow").and_then(|text| text.parse().ok()).expect("the playhead is somewhere")
}

/// Types a time into the clock's field.
pub(crate) fn go_to(page: &Page, time: &str) {
    page.fill("time", time);
    page.press("Enter");
}

/// Has a panel on the screen: a telephone shows it as a sheet, that of the inspector by itself when something is chosen on the map.
pub(crate) fn raise(page: &Page, panel: &str) {
    if page.is_phone() {
        if page.attribute(&format!("panel-{panel}"), "data-up").as_deref() != Some("true") {
            page.click(&format!("sheet-{panel}"));
        }
        page.see_attribute(&format!("panel-{panel}"), "data-up", "true");
    }
}

/// And takes it away again.
pub(crate) fn lower(page: &Page, panel: &str) {
    if page.is_phone() {
        page.click_on(&format!("[data-testid='panel-{panel}'] .lower"));
        page.see_attribute(&format!("panel-{panel}"), "data-up", "false");
    }
}

/// A copy of the files of a page.
pub(crate) fn copy(from: &Path) -> TempDir {
    let folder = TempDir::new().expect("a folder");
    for name in names(from).expect("the page is built") {
        let to = folder.path().join(&name);
        std::fs::create_dir_all(to.parent().expect("it is in a folder")).expect("a folder");
        std::fs::copy(from.join(name), to).expect("a copy");
    }
    folder
}
