//! Every bundled scenario says in `expect` what must come out: it does, under several seeds, in both modes, with every invariant on.

use std::sync::Arc;

use zonefall_core::report::Report;
use zonefall_core::run::run;
use zonefall_core::scenario::{Scenario, bundled};
use zonefall_core::sim::{Exact, Options};

fn report(scenario: &Arc<Scenario>, seed: u64, exact: Exact) -> Report {
    run(scenario, seed, Options { exact, raft_records: true, ..Options::default() }, &mut |_, _| {}, &mut |_| {})
}

#[test]
fn bundled_scenarios_meet_their_expectations() {
    let mut failures = Vec::new();
    for file in bundled() {
        let scenario = Arc::new(Scenario::from_json(file.json).expect("bundled scenarios are valid"));
        for seed in [scenario.seed, 2, 3, 5, 8] {
            let report = report(&scenario, seed, Exact::Fast);
            let again = format!("zonefall run scenarios/{}.json --seed {seed}", file.name);
            assert_eq!(report.violations.len(), 0, "{again}: {:?}", report.violations);
            let json = serde_json::to_value(&report).expect("reports are JSON");
            for expectation in &scenario.expect {
                let outcome = expectation.check(&json);
                if !outcome.ok {
                    failures.push(format!("{again}: {}: found {}, wanted {}", outcome.text, outcome.found, outcome.wanted));
                }
            }
        }
    }
    assert!(failures.is_empty(), "{}", failures.join("\n"));
}

#[test]
fn both_modes_give_the_same_report_of_bundled_scenarios() {
    for file in bundled() {
        let scenario = Arc::new(Scenario::from_json(file.json).expect("bundled scenarios are valid"));
        let fast = report(&scenario, scenario.seed, Exact::Fast);
        let mut full = report(&scenario, scenario.seed, Exact::Full);
        assert!(fast.events <= full.events);
        full.events = fast.events;
        assert!(fast == full, "zonefall run scenarios/{}.json: `--exact full` and `fast` differ", file.name);
    }
}
