//! Native runs of bundled scenarios give the recorded values, and what each says in `expect` comes out, with every invariant on. (The
//! shipped worker is held against the same values by the browser's tests.)

use std::sync::Arc;

use zonefall_core::report::Report;
use zonefall_core::run::run_checked;
use zonefall_core::scenario::{Scenario, bundled};
use zonefall_core::sim::Options;
use zonefall_tests::effort;
use zonefall_tests::portable::{differences, observed, to_golden};

#[test]
fn portable_results_are_those_recorded_and_expected() {
    let mut failures = Vec::new();
    let now = observed(&mut |run, scenario, report| failures.extend(failed(run.scenario, run.seed, scenario, report)));
    if std::env::var_os("ZONEFALL_BLESS").is_some() {
        let path = concat!(env!("CARGO_MANIFEST_DIR"), "/golden/trace_hashes.json");
        std::fs::write(path, to_golden(&now)).expect("the golden file can be written");
    } else {
        let differing = differences(&now);
        assert!(differing.is_empty(), "if the change is meant, `cargo xtask bless`:\n{}", differing.join("\n"));
    }
    // With `--deep` under more seeds than are recorded.
    for file in bundled() {
        let scenario = Arc::new(Scenario::from_json(file.json).expect("bundled scenarios are valid"));
        for seed in [2, 3, 5, 8].into_iter().take(effort(0, 4)) {
            let report = run_checked(&scenario, seed, Options::default(), &mut |_, _| {});
            failures.extend(failed(file.name, seed, &scenario, &report));
        }
    }
    assert!(failures.is_empty(), "{}", failures.join("\n"));
}

/// What did not come out as the scenario says, in words.
fn failed(name: &str, seed: u64, scenario: &Scenario, report: &Report) -> Vec<String> {
    let again = format!("zonefall run scenarios/{name}.json --seed {seed}");
    assert_eq!(report.violations.len(), 0, "{again}: {:?}", report.violations);
    bytes_are_conserved(report, &again);
    let json = report.to_json();
    let outcomes = scenario.expect.iter().map(|expectation| expectation.check(&json)).filter(|outcome| !outcome.ok);
    outcomes.map(|one| format!("{again}: {}: found {}, wanted {}", one.text, one.actual, one.expected)).collect()
}

/// What is sent, what travels between endpoints and what travels between zones are counted apart, and are the same.
fn bytes_are_conserved(report: &Report, again: &str) {
    let sent = report.messages.iter().fold([0; 3], |sum, row| add(sum, [row.bytes, row.wire_bytes, row.packets]));
    let links = report.links.iter().fold([0; 3], |sum, link| add(sum, [link.bytes, link.wire_bytes, link.packets]));
    let pairs = report.zone_pairs.iter().fold([0; 3], |sum, pair| add(sum, [pair.bytes, pair.wire_bytes, 0]));
    assert_eq!(sent, links, "{again}: messages and links");
    assert_eq!(sent[..2], pairs[..2], "{again}: messages and zone pairs");
}

fn add(sum: [u64; 3], more: [u64; 3]) -> [u64; 3] {
    std::array::from_fn(|k| sum[k] + more[k])
}
