//! The published schema of scenario files is the one the types give.

use zonefall_core::scenario::schema;

/// `ZONEFALL_BLESS=1` writes the file anew.
#[test]
fn the_published_schema_is_fresh() {
    let file = concat!(env!("CARGO_MANIFEST_DIR"), "/../scenarios/schema.json");
    let fresh = serde_json::to_string_pretty(&schema()).expect("a schema is JSON") + "\n";
    if std::env::var_os("ZONEFALL_BLESS").is_some() {
        std::fs::write(file, &fresh).expect("the schema can be written");
    }
    let stored = std::fs::read_to_string(file).unwrap_or_default();
    assert!(stored == fresh, "scenarios/schema.json is stale: cargo xtask bless");
}
