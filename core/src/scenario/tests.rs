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
