//! Nothing stands in anyone's way: axe-core finds nothing serious, in light and dark, in the page's main states.

use zonefall_browser::page::{Page, Theme, story};

use crate::helpers::{go_to, lower, open_and_watch, open_done, pause, raise, tool};

/// Checks the page as it is now.
#[track_caller]
pub(crate) fn no_barriers(page: &Page, state: &str) {
    for theme in [Theme::Light, Theme::Dark] {
        page.theme(theme);
        let barriers = page.barriers();
        assert!(barriers.is_empty(), "{state}, {theme:?}:\n{}", barriers.join("\n"));
    }
}

#[test]
fn not_at_the_start_nor_in_a_tab() {
    story(|page| {
        open_and_watch(page);
        no_barriers(page, "at the start");
        for tab in ["availability", "latency", "traffic", "cost", "report"] {
            page.click(&format!("tab-{tab}"));
            no_barriers(page, tab);
        }
        tool(page, "tables");
        page.see("map-tables", "etcd-main-2");
        for tab in ["availability", "latency", "traffic", "events"] {
            page.click(&format!("tab-{tab}"));
            no_barriers(page, &format!("tables, {tab}"));
        }
    });
}

#[test]
fn not_in_the_inspector_nor_above_the_page() {
    story(|page| {
        open_and_watch(page);
        for thing in ["map-zone-eu-west-1a", "map-node-node-b"] {
            page.click_on(&format!("[data-testid='{thing}'] .name"));
            raise(page, "inspector");
            page.see("inspector", "");
            no_barriers(page, thing);
            lower(page, "inspector");
        }
        page.click("map-member-etcd-main-2");
        raise(page, "inspector");
        no_barriers(page, "a member");
        lower(page, "inspector");
        page.click("export");
        page.see("export-json", "Report");
        no_barriers(page, "the menu");
        page.click("help");
        page.see("help-overlay", "Keys");
        no_barriers(page, "help");
        page.press("Escape");
        page.see_no("help-overlay");
        page.press("Control+k");
        page.see("palette", "Play or pause");
        no_barriers(page, "the list of commands");
        page.press("Escape");
        page.see_no("palette");
    });
}

#[test]
fn not_in_the_form_nor_in_the_text() {
    story(|page| {
        open_and_watch(page);
        raise(page, "scenario");
        page.run("document.querySelectorAll('.configure details').forEach(one => { one.open = true; })", &[]);
        no_barriers(page, "the form");
        page.click("tab-json");
        no_barriers(page, "the text");
        page.fill("json", "{\"name\": 1, \"duration\": \"1\"}");
        page.see("problems", "problems");
        no_barriers(page, "the text with errors");
        page.click("tab-form");
        page.run("document.querySelectorAll('.configure details').forEach(one => { one.open = true; })", &[]);
        no_barriers(page, "the form with errors");
    });
}

#[test]
fn not_where_there_is_kubernetes() {
    story(|page| {
        open_done(page, "eu-west-1a-outage");
        pause(page);
        go_to(page, "50:00");
        page.see_attribute_has("map-pod-etcd-main-1", "aria-label", "no node");
        no_barriers(page, "pods on the map");
        page.click("map-pod-etcd-main-1");
        raise(page, "inspector");
        no_barriers(page, "a pod");
        lower(page, "inspector");
        page.click("tab-recovery");
        page.click("component-kube-apiserver");
        no_barriers(page, "recovery");
        tool(page, "tables");
        page.see("map-tables", "its volume is in another zone");
        no_barriers(page, "tables");
    });
}

#[test]
fn keys_skip_to_the_map() {
    const MOST: usize = 15;
    story(|page| {
        open_and_watch(page);
        page.run("document.activeElement.blur()", &[]);
        let stops = (0..MOST).find(|_| {
            page.press("Tab");
            page.focused().as_deref() == Some("skip-to-map")
        });
        assert!(stops.is_some(), "{MOST} stops before the way to the map");
        page.press("Enter");
        page.wait_for("the map", || page.focused().filter(|id| id.starts_with("map-zone-")));
        page.press("Control+k");
        for (typed, command) in [
            ("share", "Share"),
            ("new", "New topology"),
            ("export", "Export"),
            ("power off eu-west-1b", "Power off: zone eu-west-1b"),
            ("kill etcd-main-1", "member etcd-main-1"),
            ("link eu-west-1a", "link eu-west-1a – eu-west-1b"),
        ] {
            page.fill("palette-input", typed);
            page.see_among("[data-testid=command]", command);
        }
    });
}
