//! The panel as it is rendered, without a browser.

use std::rc::Rc;

use yew::{Callback, LocalServerRenderer};
use zonefall_core::scenario::{bundled, default_scenario, schema};

use super::{Configure, ConfigureProps};
use crate::state::{Start, State, Ui};

fn rendered(text: &str, as_json: bool) -> String {
    let ui = Ui { as_json, ..Ui::default() };
    let (state, _) = State::new(Start { text: text.to_owned(), ui, ..Start::default() });
    let props = ConfigureProps { state: Rc::new(state), dispatch: Callback::noop() };
    let renderer = LocalServerRenderer::<Configure>::with_props(props).hydratable(false);
    let runtime = tokio::runtime::Builder::new_current_thread().build().unwrap();
    runtime.block_on(tokio::task::LocalSet::new().run_until(renderer.render()))
}

/// The element with this `data-testid`, its tag only.
fn tag<'a>(html: &'a str, id: &str) -> &'a str {
    let at = html.find(&format!("data-testid=\"{id}\"")).unwrap_or_else(|| panic!("there is no {id}"));
    let (start, end) = (html[..at].rfind('<').unwrap(), html[at..].find('>').unwrap());
    &html[start..=at + end]
}

/// What every scenario has.
const ALWAYS: [&str; 11] = [
    "file-open",
    "file-save",
    "form-name",
    "form-duration",
    "form-regions-0-zones-0",
    "form-nodes-0-zone",
    "form-etcd-0-members-0-node",
    "form-etcd-0-members-0-remove",
    "form-nodes-add",
    "try-zone-outage",
    "what",
];

#[test]
fn every_bundled_scenario_has_all_its_fields() {
    for scenario in bundled() {
        let html = rendered(scenario.json, false);
        // Where there are seeds or clusters, their nodes and clusters of etcd need not be written down.
        let clusters = ["\"seeds\"", "\"clusters\""].iter().any(|list| scenario.json.contains(list));
        for id in ALWAYS.iter().filter(|id| !clusters || !id.contains("-0-")) {
            assert!(!tag(&html, id).is_empty(), "{}", scenario.name);
        }
        let document: serde_json::Value = serde_json::from_str(scenario.json).unwrap();
        for (list, field) in [
            ("clients", "rate"),
            ("faults", "kind"),
            ("expect", "that"),
            ("seeds", "zones"),
            ("clusters", "zones"),
            ("clusters", "workloads-0-replicas"),
            ("shoots", "failure_tolerance"),
        ] {
            let items = document[list].as_array().map_or(0, Vec::len);
            // (Not every cluster runs workloads.)
            let is_there = |k: &usize| !field.starts_with("workloads") || document[list][*k].get("workloads").is_some();
            for k in (0..items).filter(is_there) {
                assert!(!tag(&html, &format!("form-{list}-{k}-{field}")).is_empty());
            }
        }
        assert!(!html.contains("field-error"), "{}", scenario.name);
        assert!(!html.contains("choose …"), "{}: a choice that the form does not know", scenario.name);
    }
}

/// A document with one item of each kind in the list, made of what must be there.
fn one_of_each_kind(list: &str) -> serde_json::Value {
    let mut document: serde_json::Value = serde_json::from_str(default_scenario().json).unwrap();
    let kinds = schema::leaves(schema::field(schema::shared(), list).unwrap().get("items").unwrap());
    let item = |kind: &&'static serde_json::Value| {
        let tag = schema::fields(kind).filter_map(|(name, field)| Some((name.to_owned(), field.get("const")?.clone())));
        let own = schema::required(kind).map(|name| (name.to_owned(), serde_json::Value::Object(serde_json::Map::new())));
        serde_json::Value::Object(own.chain(tag).collect())
    };
    document[list] = kinds.iter().map(item).collect();
    document
}

#[test]
fn every_field_of_every_kind_of_fault_and_operation_is_in_the_form() {
    for list in ["faults", "operations"] {
        let document = one_of_each_kind(list);
        let html = rendered(&document.to_string(), false);
        let kinds = schema::leaves(schema::field(schema::shared(), list).unwrap().get("items").unwrap());
        assert!(kinds.len() > 7);
        for (k, kind) in kinds.into_iter().enumerate() {
            let title = kind["title"].as_str().expect("a kind says how it reads");
            assert!(html.contains(title), "{title}");
            for (name, field) in schema::fields(kind).filter(|(_, field)| field.get("x-form").is_none()) {
                let id = format!("data-testid=\"form-{list}-{k}-{name}");
                assert!(field.get("const").is_some() || html.contains(&id), "{title}: {name}");
            }
        }
    }
}

#[test]
fn every_other_field_of_the_schema_is_in_the_form_once() {
    let known = |name: &str| rendered(bundled().iter().find(|scenario| scenario.name == name).unwrap().json, false);
    let (etcd, gardener) = (rendered(default_scenario().json, false), known("zone-outage-option-1"));
    let item = |list: &str| schema::leaves(schema::field(schema::shared(), list).unwrap().get("items").unwrap())[0];
    for (html, prefix, object) in [
        (&etcd, "form-".to_owned(), schema::shared()),
        (&etcd, "form-etcd-0-".to_owned(), item("etcd")),
        (&gardener, "form-seeds-0-".to_owned(), item("seeds")),
        (&gardener, "form-shoots-0-".to_owned(), item("shoots")),
    ] {
        // Zones, delays and nodes have sections of other names.
        let is_here = |name: &&str| !["$schema", "topology", "network"].contains(name);
        let fields = schema::fields(object).filter(|(_, field)| field.get("x-form").is_none());
        for name in fields.map(|(name, _)| name).filter(is_here) {
            let id = format!("id=\"{prefix}{name}");
            let section = format!("data-testid=\"section-{name}");
            assert!(html.contains(&id) || html.contains(&section), "{prefix}{name}");
        }
    }
    for html in [etcd, gardener] {
        let mut ids: Vec<&str> = html.split(" id=\"").skip(1).filter_map(|rest| rest.split('"').next()).collect();
        let count = ids.len();
        ids.sort_unstable();
        ids.dedup();
        assert_eq!(ids.len(), count, "an id twice");
    }
}

#[test]
fn every_problem_is_beside_its_field() {
    let text = default_scenario().json.replace("\"node\": \"node-b\"", "\"node\": \"node-x\"").replace("\"35m\"", "\"35\"");
    let text = text.replace("\"rate\": \"5/s\"", "\"rate\": 5").replace("zone_power", "zone_pwer");
    let html = rendered(&text, false);
    for id in ["form-duration", "form-etcd-0-members-1-node", "form-clients-1-rate", "form-faults-0-kind"] {
        let field = tag(&html, id);
        assert!(
            field.contains("aria-invalid=\"true\"") && field.contains(&format!("aria-describedby=\"{id}-error\"")),
            "{field}"
        );
        assert!(!tag(&html, &format!("{id}-error")).is_empty());
    }
    assert!(html.contains("data-testid=\"problems\""));
    assert!(tag(&html, "form").contains("fieldset") && !tag(&html, "form").contains("disabled"));
}

#[test]
fn a_text_that_is_no_json_locks_the_form_and_marks_its_line() {
    let text = default_scenario().json.replace("\"duration\": \"35m\",", "\"duration\": ,");
    assert!(tag(&rendered(&text, false), "form").contains("disabled"));
    let html = rendered(&text, true);
    let line = text.lines().position(|line| line.contains("\"duration\"")).unwrap() + 1;
    assert!(html.contains(&format!("✕ {line}\n")), "{html}");
    assert!(tag(&html, "tab-json").contains("aria-selected=\"true\""));
}

#[test]
fn an_empty_document_teaches() {
    let html = rendered("{}", false);
    assert!(tag(&html, "section-try").contains("open"));
    assert!(html.contains("data-testid=\"problems\""));
}

#[test]
fn names_have_commas_between_them() {
    let scenario = bundled().iter().find(|scenario| scenario.name == "control-plane-migration").unwrap();
    let html = rendered(scenario.json, false);
    assert!(tag(&html, "form-seeds-1-zones").contains("value=\"za, zb, zc\""), "{}", tag(&html, "form-seeds-1-zones"));
}

#[test]
fn the_etcd_of_shoots_that_survive_a_failure_has_a_mode() {
    let html = |name| rendered(bundled().iter().find(|scenario| scenario.name == name).unwrap().json, false);
    let chosen = |name| {
        let html = html(name);
        let select = html.find("data-testid=\"form-shoots-0-etcd-mode\"")?;
        let option = html[..select + html[select..].find("</select>")?].rfind("selected")?;
        Some(html[html[..option].rfind("value=\"")? + 7..option].split('"').next()?.to_owned())
    };
    assert_eq!(chosen("active-passive-standby").as_deref(), Some("hot_standby"));
    assert_eq!(chosen("zone-outage-option-1").as_deref(), Some("quorum"));
    assert_eq!(chosen("node-failure-none"), None, "one member has nobody to take over");
}
