//! Native and wasm give the same: both are held against the recorded values.

use zonefall_tests::portable::{GOLDEN, observed, to_golden};

#[cfg(not(target_arch = "wasm32"))]
#[test]
fn portable_results_are_those_recorded() {
    let now = to_golden(&observed());
    if std::env::var_os("ZONEFALL_BLESS").is_some() {
        let path = concat!(env!("CARGO_MANIFEST_DIR"), "/golden/trace_hashes.json");
        std::fs::write(path, &now).expect("the golden file can be written");
    } else {
        assert_eq!(now, GOLDEN, "if the change is meant: cargo xtask bless");
    }
}

#[cfg(target_arch = "wasm32")]
#[wasm_bindgen_test::wasm_bindgen_test]
fn wasm_results_are_those_recorded_natively() {
    assert_eq!(to_golden(&observed()), GOLDEN, "wasm and native differ (or the golden file is stale)");
}
