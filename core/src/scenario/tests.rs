//! The file format as its users meet it.

use serde_json::Value;

use super::*;

/// The errors of a file, one a line; empty if there are none.
fn errors_of(text: &str) -> String {
    Scenario::from_json(text).err().map_or_else(String::new, |errors| errors.to_string())
}

#[test]
fn bundled_scenarios_are_valid() {
    for Bundled { name, json } in bundled() {
        let scenario = Scenario::from_json(json).unwrap_or_else(|errors| panic!("{name}:\n{errors}"));
        assert_eq!(scenario.name, *name);
        assert!(!scenario.expect.is_empty() && !scenario.description.is_empty() && !scenario.title.is_empty());
    }
}

/// `ZONEFALL_BLESS=1` writes the file anew.
#[test]
fn the_published_schema_is_fresh() {
    let file = concat!(env!("CARGO_MANIFEST_DIR"), "/../scenarios/schema.json");
    let fresh = serde_json::to_string_pretty(&schema()).expect("a schema is JSON") + "\n";
    #[expect(clippy::disallowed_methods, reason = "a test may read its environment and its files")]
    if std::env::var_os("ZONEFALL_BLESS").is_some() {
        std::fs::write(file, &fresh).expect("the schema can be written");
    }
    let stored = std::fs::read_to_string(file).unwrap_or_default();
    assert!(stored == fresh, "scenarios/schema.json is stale: run the tests with ZONEFALL_BLESS=1");
}
