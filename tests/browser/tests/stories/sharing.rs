//! Links: one that was shared, and some fifty that were damaged on their way.

use serde_json::json;
use zonefall_browser::page::{DESK, Page, story};

use crate::helpers::{link, link_with_bookmark, open_and_watch, pause, playhead_s, raise, scenario, see_done};

#[test]
fn a_shared_link_opens_its_scenario() {
    story(|page| {
        open_and_watch(page);
        page.choose("scenario-chooser", "two-zones-big");
        see_done(page);
        page.see("verdict", "Quorum was lost for 10 min.");
        page.click("share");
        page.see("notice", "link");
        let fragment = page.wait_for("the link in the address bar", || Some(page.fragment()).filter(|it| it.starts_with("z1.")));
        let other = Page::new(DESK);
        other.open(&format!("#{fragment}"));
        see_done(&other);
        other.see("verdict", "Quorum was lost for 10 min.");
        other.open(&link(scenario("slow-disk")));
        see_done(&other);
        other.see_attribute("form-name", "value", "slow-disk");
        other.reload();
        see_done(&other);
        other.see_attribute("form-name", "value", "slow-disk");
        assert_eq!(other.complaints(), Vec::<String>::new());
    });
}

#[test]
fn damaged_links_get_a_message_and_the_page_goes_on() {
    story(|page| {
        let good = link(scenario("two-zones-big"));
        let mut links: Vec<String> =
            ["#", "#z1.", "#z2.abc", "#z1.====", "#%00", "#<script>alert(1)</script>", "#z1.AAAA"].map(ToOwned::to_owned).into();
        links.push(format!("#z1.{}", "A".repeat(2_000_000)));
        links.push(link(&" ".repeat(20_000_000)));
        links.push(link("{\"name\": 1}"));
        links.push(link("\u{0}\u{1}"));
        links.extend((1..20).map(|part| good[..4 + (good.len() - 4) * part / 20].to_owned()));
        links.extend((1..=20).map(|part| {
            let at = 4 + (good.len() - 5) * part / 20;
            let other = if &good[at..=at] == "x" { "y" } else { "x" };
            format!("{}{other}{}", &good[..at], &good[at + 1..])
        }));
        // The first of them meets the page at its start, the others while it runs.
        page.open(&links[3]);
        page.see("notice", "This link is damaged");
        page.see("verdict", "etcd-main-2 was elected");
        let refused = links.iter().filter(|link| is_refused(page, link)).count();
        assert!(
            refused > links.len() * 9 / 10,
            "{refused} of {}: what is changed in one letter is hardly ever a scenario",
            links.len()
        );
        page.choose("scenario-chooser", "zone-outage");
        see_done(page);
        pause(page);
        let before = playhead_s(page);
        page.click("play");
        page.wait_for("the playhead to move on", || (playhead_s(page) > before).then_some(()));
    });
}

/// Whether the page says that it does not take a link that is pasted into its address bar.
fn is_refused(page: &Page, link: &str) -> bool {
    const PASTE: &str = "return new Promise(done => {
        const frames = n => n === 0 ? done(document.querySelector('[data-testid=notice]')?.textContent ?? '')
            : requestAnimationFrame(() => setTimeout(() => frames(n - 1)));
        document.querySelector('[data-testid=dismiss]')?.click();
        addEventListener('hashchange', () => frames(3), { once: true });
        location.hash = 'elsewhere';
        location.hash = arguments[0];
    })";
    let said = page.run(PASTE, &[json!(link)]);
    let said = said.as_str().unwrap_or_default();
    assert!(page.is_there("verdict"), "the page is gone after {link}");
    said.contains("link")
}

#[test]
fn what_another_version_says_of_the_view_keeps_no_scenario_away() {
    story(|page| {
        let text = scenario("two-zones-big");
        page.open(&link_with_bookmark(text, "{\"tab\": \"Gallery\", \"at_ns\": 90000000000}"));
        page.see("notice", "cannot read all that came with it: the tab.");
        page.see_attribute("form-name", "value", "two-zones-big");
        see_done(page);
        page.wait_for("the time of the link", || ((playhead_s(page) - 90.0).abs() < 1e-6).then_some(()));
        page.click("dismiss");
        raise(page, "scenario");
        let mut file: serde_json::Value = serde_json::from_str(scenario("slow-disk")).expect("it is JSON");
        file["bookmark"] = json!("2026");
        page.choose_file("file-open", "other.json", file.to_string().as_bytes());
        page.see("notice", "its branches and its view");
        page.see_attribute("form-name", "value", "slow-disk");
    });
}
