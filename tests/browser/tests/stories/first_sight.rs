//! What one sees first: what Zonefall is, what the scenario is about, and the way to a topology of one's own.

use serde_json::json;
use zonefall_browser::page::{Page, story};

use crate::access::no_barriers;
use crate::helpers::{lower, open_and_watch, open_done, raise, see_done, tool};
use crate::touching::no_small_target;

#[test]
fn the_page_says_what_it_is_and_what_the_scenario_is_about() {
    const IN_SIGHT: &str = "const box = document.querySelector('[data-testid=what]').getBoundingClientRect();
        return box.height > 0 && box.top >= 0 && box.bottom <= innerHeight";
    story(|page| {
        open_and_watch(page);
        raise(page, "scenario");
        page.see(
            "what",
            "Zonefall simulates what happens to a Kubernetes control plane when a zone, a node, a link or a disk fails",
        );
        assert_eq!(page.run(IN_SIGHT, &[]), json!(true), "it is in sight");
        let short = page.see("description", "The textbook set-up of a highly available control plane");
        assert!(!short.contains("To see"), "{short}");
        page.tab_to("description-more");
        page.press("Enter");
        page.see_attribute("description-more", "aria-expanded", "true");
        page.see("description", "To see");
        no_barriers(page, "a whole description");
        lower(page, "scenario");
        tool(page, "help");
        page.see("help-overlay", "Zonefall simulates");
        page.press("Escape");
        // On a telephone the entry of the menu is no longer there.
        page.wait_for("the focus", || page.focused().filter(|id| ["help", "export"].contains(&id.as_str())));
        // Another scenario has another one.
        page.choose("scenario-chooser", "two-zones-big");
        see_done(page);
        raise(page, "scenario");
        page.see("description", "GEP-20's argument against two zones");
    });
}

/// Waits until the dialog is there, and its first field.
fn see_dialog(page: &Page) {
    page.see("new-topology-dialog", "New topology");
    page.see("new-outcome", "Quorum is 2 of 3: 1 can fail. The loss of the zone with 2 members stops writes.");
}

#[test]
fn a_topology_is_made_with_the_pointer() {
    story(|page| {
        open_and_watch(page);
        page.click("new-topology");
        see_dialog(page);
        no_barriers(page, "a new topology");
        if page.is_phone() {
            no_small_target(page, "a new topology");
        }
        page.choose("new-zones", "3");
        page.see("new-outcome", "Writes survive the loss of any zone.");
        page.choose("new-tolerance", "node: one zone");
        page.see("new-outcome", "Writes survive the loss of any node, but not that of the zone.");
        page.fill("new-round-trip", "soon");
        page.see("new-topology-dialog", "Not a duration: \"soon\". Use 2m, 1.3s or 1h30m");
        assert_eq!(page.run("return document.querySelector('[data-testid=new-build]').disabled", &[]), json!(true));
        no_barriers(page, "a round trip that is none");
        page.fill("new-round-trip", "8ms");
        page.click("new-build");
        page.see_no("new-topology-dialog");
        see_done(page);
        page.see_attribute("form-name", "value", "3-zones-3-members");
        page.see_attribute_has("map-link-region-1a-region-1b", "aria-label", "4 ms");
        page.see("verdict", "Writes");
    });
}

#[test]
fn a_topology_is_made_with_keys_alone() {
    story(|page| {
        open_and_watch(page);
        page.tab_to("new-topology");
        page.press("Enter");
        see_dialog(page);
        page.press("Escape");
        page.see_no("new-topology-dialog");
        page.wait_for("the button again", || page.focused().filter(|id| id == "new-topology"));
        page.press("Control+k");
        page.fill("palette-input", "new topology");
        page.press("Enter");
        see_dialog(page);
        page.tab_to("new-members");
        page.press("5");
        page.see("new-outcome", "Quorum is 3 of 5");
        page.tab_to("new-round-trip");
        for key in "2ms".chars() {
            page.press(&key.to_string());
        }
        page.press("Enter");
        page.see_no("new-topology-dialog");
        page.see_attribute("form-name", "value", "2-zones-5-members");
        see_done(page);
        page.see_attribute_has("map-link-region-1a-region-1b", "aria-label", "1 ms");
    });
}

#[test]
fn a_link_that_is_opened_has_its_description_too() {
    story(|page| {
        open_done(page, "slow-disk");
        raise(page, "scenario");
        page.see("description", "A volume that has used up its burst credits");
    });
}
