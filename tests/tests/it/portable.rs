//! Native runs give the recorded values. The shipped worker is held against the same values by the browser's tests.

use zonefall_tests::portable::{differences, observed, to_golden};

#[test]
fn portable_results_are_those_recorded() {
    let now = observed();
    if std::env::var_os("ZONEFALL_BLESS").is_some() {
        let path = concat!(env!("CARGO_MANIFEST_DIR"), "/golden/trace_hashes.json");
        std::fs::write(path, to_golden(&now)).expect("the golden file can be written");
    } else {
        let differing = differences(&now);
        assert!(differing.is_empty(), "if the change is meant, `cargo xtask bless`:\n{}", differing.join("\n"));
    }
}
