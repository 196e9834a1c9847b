//! A scenario of one's own: by form, as JSON, with what is wrong in its place.

use zonefall_browser::page::story;
use zonefall_core::scenario::{MAX_BYTES, Scenario};

use crate::helpers::{open_and_watch, raise, scenario, see_done};

#[test]
fn two_zones_are_built_by_form_and_lose_quorum() {
    story(|page| {
        open_and_watch(page);
        page.click("new-topology");
        page.choose("new-regions", "1");
        page.choose("new-zones", "2");
        page.choose("new-members", "3");
        page.click("new-build");
        page.see_attribute("form-name", "value", "2-zones-3-members");
        raise(page, "scenario");
        page.fill("form-duration", "8m");
        page.press("Enter");
        see_done(page);
        page.see("verdict", "Quorum was lost for 5 min.");
        page.see_among(".lanes .writes .outage title", "writes unavailable for 5 min");
        let text = page.attribute("form-duration", "value");
        assert_eq!(text.as_deref(), Some("8m"));
        page.click("tab-json");
        page.see_attribute_has("json", "value", "\"duration\": \"8m\"");
        page.click("document-undo");
        page.see_attribute_has("json", "value", "\"duration\": \"10m\"");
        page.click("document-redo");
        page.see_attribute_has("json", "value", "\"duration\": \"8m\"");
    });
}

#[test]
fn json_is_edited_into_an_error_and_the_field_says_what_is_wrong() {
    story(|page| {
        open_and_watch(page);
        raise(page, "scenario");
        page.click("tab-json");
        let wrong = scenario("zone-outage").replace("\"rate\": \"100/s\"", "\"rate\": \"100\"");
        let said = Scenario::from_json(&wrong).expect_err("a rate has a unit").to_string();
        page.fill("json", &wrong);
        page.see("problems", "1 problem: the last valid scenario keeps running");
        let place = page.see("problem", "clients[0].rate");
        assert!(said.contains(place.trim_start_matches("clients[0].rate").trim()), "the page says {place:?}, the CLI {said:?}");
        page.see_attribute("json", "aria-invalid", "true");
        page.see_among(".json-lines .bad", "✕");
        page.click("tab-form");
        page.click("problem");
        page.wait_for("the field", || page.focused().filter(|id| id == "form-clients-0-rate"));
        page.see("form-clients-0-rate-error", "its unit must be one of");
        page.see_attribute("form-clients-0-rate", "aria-invalid", "true");
        page.fill("form-clients-0-rate", "100/s");
        page.press("Enter");
        page.see_no("problems");
        page.click("tab-json");
        page.fill("json", "{\"name\": ");
        page.see("problem", "line 1");
        page.click("document-undo");
        page.see_no("problems");
        page.see("verdict", "etcd-main-2 was elected");
    });
}

/// Some fifty files that are none of ours: each gets a message, and the page goes on.
#[test]
fn files_that_are_no_scenarios_are_refused() {
    story(|page| {
        open_and_watch(page);
        raise(page, "scenario");
        let text = scenario("two-zones-big").trim_end();
        let mut files: Vec<Vec<u8>> = vec![
            Vec::new(),
            b"null".to_vec(),
            b"[]".to_vec(),
            b"{}".to_vec(),
            b"\xff\xd8\xff\xe0".to_vec(),
            vec![b'['; 100_000],
            vec![b' '; MAX_BYTES + 1],
            b"<!doctype html><script>alert(1)</script>".to_vec(),
            br#"{"name": "<img src=x onerror=alert(1)>"}"#.to_vec(),
            text.replace("\"10m\"", "\"1e999h\"").into_bytes(),
        ];
        // Cut off anywhere it is no JSON; with a byte that is no UTF-8 anywhere it is no text.
        files.extend((1..=20).map(|part| text.as_bytes()[..text.len() * part / 21].to_vec()));
        files.extend((1..=20).map(|part| {
            let mut bytes = text.as_bytes().to_vec();
            bytes[text.len() * part / 21] = 0xff;
            bytes
        }));
        for (number, file) in files.iter().enumerate() {
            page.choose_file("file-open", &format!("file-{number}.json"), file);
            let said = page.see("notice", "");
            assert!(
                ["not a scenario", "has errors", "Cannot", "too large"].iter().any(|word| said.contains(word)),
                "file {number}: {said}"
            );
            page.click("dismiss");
            page.see_no("notice");
        }
        page.choose_file("file-open", "good.json", text.as_bytes());
        see_done(page);
        page.see("verdict", "Quorum was lost for 10 min.");
        page.see_no("problems");
    });
}
