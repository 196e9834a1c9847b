//! Makes the schema that is published, and that every program reads, from the types of scenario files.

use serde_json::{Map, Value, json};

use crate::raw::RawScenario;
use crate::schema;

/// `ZONEFALL_BLESS=1` writes the file anew. Whatever else was built with the file as it was fails until it is built again.
#[test]
fn the_published_schema_is_fresh() {
    let file = concat!(env!("CARGO_MANIFEST_DIR"), "/../../scenarios/schema.json");
    let made = made();
    let fresh = serde_json::to_string_pretty(&made).expect("a schema is JSON") + "\n";
    if std::env::var_os("ZONEFALL_BLESS").is_some() {
        std::fs::write(file, &fresh).expect("the schema can be written");
    }
    let stored = std::fs::read_to_string(file).unwrap_or_default();
    assert!(stored == fresh, "scenarios/schema.json is stale: run the tests with ZONEFALL_BLESS=1");
    assert!(schema() == made, "this was built with the schema as it was: run the tests once more");
}

fn made() -> Value {
    let mut schema = schemars::schema_for!(RawScenario).to_value();
    close(&mut schema);
    schema
}

/// Forbids unknown fields everywhere. Where a struct flattens an enum, schemars leaves the struct's fields beside the enum's
/// `oneOf`; they move into each of its branches, so that each branch is complete and editors complete it.
fn close(schema: &mut Value) {
    match schema {
        Value::Array(items) => items.iter_mut().for_each(close),
        Value::Object(map) => {
            map.values_mut().for_each(close);
            describe(map);
            distribute(map);
            if map.get("properties").is_some_and(Value::is_object) && map.contains_key("type") {
                map.insert("additionalProperties".to_owned(), json!(false));
            }
        }
        Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) => {}
    }
}

/// schemars describes the variant of an enum, editors show what describes the field.
fn describe(map: &mut Map<String, Value>) {
    let Some(description) = map.get("description").cloned() else { return };
    if let Some(Value::Object(fields)) = map.get_mut("properties")
        && fields.len() == 1
        && let Some(field) = fields.values_mut().next()
    {
        if *field == json!(true) {
            *field = json!({}); // anything
        }
        let Some(field) = field.as_object_mut() else { return };
        field.entry("description").or_insert(description);
    }
}

fn distribute(map: &mut Map<String, Value>) {
    if !(map.contains_key("properties") && map.contains_key("oneOf")) {
        return;
    }
    let fields = map.shift_remove("properties").unwrap_or_default();
    let required = map.shift_remove("required").unwrap_or_default();
    map.shift_remove("type");
    let Some(Value::Array(branches)) = map.get_mut("oneOf") else { return };
    for branch in branches.iter_mut().filter_map(Value::as_object_mut) {
        let mut all = fields.as_object().cloned().unwrap_or_default();
        if let Some(Value::Object(own)) = branch.shift_remove("properties") {
            all.extend(own);
        }
        let mut must = required.as_array().cloned().unwrap_or_default();
        if let Some(Value::Array(own)) = branch.shift_remove("required") {
            must.extend(own);
        }
        branch.insert("properties".to_owned(), Value::Object(all));
        branch.insert("required".to_owned(), Value::Array(must));
    }
}
