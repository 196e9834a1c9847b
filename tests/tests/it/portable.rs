//! Native and wasm give the same: both are held against the recorded values.

#[cfg(not(target_arch = "wasm32"))]
use zonefall_tests::portable::to_golden;
use zonefall_tests::portable::{differences, observed};

#[cfg(not(target_arch = "wasm32"))]
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

#[cfg(target_arch = "wasm32")]
#[wasm_bindgen_test::wasm_bindgen_test]
fn wasm_results_are_those_recorded_natively() {
    let differing = differences(&observed());
    assert!(differing.is_empty(), "wasm and native differ, or the golden file is stale:\n{}", differing.join("\n"));
}
