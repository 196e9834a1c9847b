//! What must not matter: whether periodic work is simulated message by message, and how many runs go on at a time.
//!
//! Two hundred random worlds, from one member to two clusters of five, busy or idle for minutes, whole or failing, are run in both
//! modes: the reports are the same but for the number of events. A difference is shrunk to the smallest world that shows it, and the
//! first record or byte that differs is named. Three hundred more are of active-passive clusters.

use std::sync::Arc;

use serde_json::Value;
use zonefall_core::kernel::time::Time;
use zonefall_core::record::Record;
use zonefall_core::report::Report;
use zonefall_core::run::run_checked;
use zonefall_core::scenario::Scenario;
use zonefall_core::sim::{Options, Simulation, Stepping};
use zonefall_tests::asked;
use zonefall_tests::quiet::quietly;
use zonefall_tests::threads::{of_numbers, parallel};
use zonefall_tests::worlds::modes::{pair, scenario};

use crate::fuzz::judge::{Case, Failure, Seen};
use crate::fuzz::{keep, regressions, shrink::shrink};

/// Random scenarios: usually, and thoroughly.
const SCENARIOS: [usize; 2] = [200, 5_000];
/// And those of active-passive clusters.
const PAIRS: [usize; 2] = [300, 5_000];

fn report(scenario: &Arc<Scenario>, stepping: Stepping) -> Report {
    run_checked(scenario, scenario.seed, Options { stepping, ..Options::default() }, &mut |_, _| {})
}

/// Whether both modes give the same report, but for `events`, and break no property.
fn same_in_both_modes(case: &Case) -> Result<Seen, Failure> {
    let scenario = Scenario::from_json(&case.file.to_string()).map_err(|errors| Failure::Refused(errors.to_string()))?;
    let scenario = Arc::new(scenario);
    let (fast, mut full) = quietly(|| (report(&scenario, Stepping::FastForward), report(&scenario, Stepping::EveryEvent)))
        .map_err(Failure::Panic)?;
    if let Some(broken) = fast.violations.first() {
        let at = Time::from_nanos((broken.at_s * 1e9) as u64);
        return Err(Failure::Violation { at, property: broken.property.clone(), text: broken.text.clone() });
    }
    let saved = full.events.saturating_sub(fast.events);
    full.events = fast.events;
    if fast == full {
        return Ok(Seen { events: saved, ..Seen::default() });
    }
    let difference = first_difference(&scenario).or_else(|| lines_that_differ(&fast, &full));
    Err(Failure::Differ(difference.unwrap_or_else(|| "reports that look the same as JSON".to_owned())))
}

/// The first record that only one mode gives; or the first second after which members or bytes on the links differ.
fn first_difference(scenario: &Arc<Scenario>) -> Option<String> {
    let simulation = |stepping| Simulation::new(Arc::clone(scenario), scenario.seed, Options { stepping, ..Options::default() });
    let end = Time::ZERO + scenario.duration;
    let records = |stepping| {
        let mut records = Vec::new();
        simulation(stepping).run_until(end, &mut |at, record: &Record| records.push(format!("{at:?} {record:?}")));
        records
    };
    let (fast, full) = (records(Stepping::FastForward), records(Stepping::EveryEvent));
    let same = fast.iter().zip(&full).take_while(|(a, b)| a == b).count();
    if same < fast.len().max(full.len()) {
        return Some(format!("record {same}\n    fast: {:?}\n    full: {:?}", fast.get(same), full.get(same)));
    }
    let (mut fast, mut full) = (simulation(Stepping::FastForward), simulation(Stepping::EveryEvent));
    for second in 1..=end.as_nanos() / 1_000_000_000 {
        let until = Time::from_nanos(second * 1_000_000_000);
        let state = |simulation: &mut Simulation| {
            simulation.run_until(until, &mut |_, _| {});
            let members = scenario.etcd.keys().flat_map(|id| simulation.members(id));
            let members: Vec<String> = members.map(|member| format!("{member:?}")).collect();
            members.into_iter().chain(simulation.links().iter().map(|link| format!("{link:?}"))).collect::<Vec<_>>()
        };
        let (a, b) = (state(&mut fast), state(&mut full));
        if let Some((a, b)) = a.iter().zip(&b).find(|(a, b)| a != b) {
            return Some(format!("by second {second}\n    fast: {a}\n    full: {b}"));
        }
    }
    None
}

/// The first line of the reports, as JSON, that differs.
fn lines_that_differ(fast: &Report, full: &Report) -> Option<String> {
    let text = |report| serde_json::to_string_pretty(report).expect("reports are JSON");
    let (fast, full) = (text(fast), text(full));
    let (a, b) = fast.lines().zip(full.lines()).find(|(a, b)| a != b)?;
    Some(format!("report\n    fast: {a}\n    full: {b}"))
}

#[test]
fn both_modes_give_the_same_report_of_random_scenarios() {
    same("ZONEFALL_MODES", SCENARIOS, scenario);
}

#[test]
fn both_modes_give_the_same_report_of_active_passive_clusters() {
    same("ZONEFALL_PAIRS", PAIRS, pair);
}

fn same(variable: &str, [usual, thorough]: [usize; 2], file: impl Fn(u64) -> Value + Sync) {
    let case = |number| Case { file: file(number), stepping: Stepping::FastForward, bug: None, liveness: false };
    let numbers = asked(variable, usual, thorough);
    let results = of_numbers(&numbers, |number| same_in_both_modes(&case(number)));
    let failed: Vec<(u64, Failure)> =
        numbers.zip(&results).filter_map(|(number, result)| Some((number, result.clone().err()?))).collect();
    let shown = failed.iter().take(3).map(|(number, failure)| {
        let (small, how) = shrink(same_in_both_modes, &case(*number), failure);
        keep("modes", small.file["name"].as_str().expect("a name"), &small);
        let file = serde_json::to_string(&small.file).expect("a file is JSON");
        format!(
            "scenario {number}: {failure}\n  shrunk: {how}\n  again: zonefall run this.json --fast-forward on, and off, of\n{file}"
        )
    });
    let shown: Vec<String> = shown.collect();
    let numbers: Vec<String> = failed.iter().map(|(number, failure)| format!("  {number}: {failure}")).collect();
    assert!(failed.is_empty(), "{} differ:\n{}\n\n{}", failed.len(), numbers.join("\n"), shown.join("\n\n"));
    // Else nothing ever rested, and the two modes were one. (Fewer may never rest.)
    let saved: u64 = results.iter().flatten().map(|seen| seen.events).sum();
    let least = 1_000_000 * (results.len() / usual) as u64;
    assert!(saved >= least, "fast mode saved only {saved} events");
}

/// Scenarios that differed once, shrunk, with what was wrong then.
#[test]
fn scenarios_that_differed_once_are_the_same() {
    for (name, file) in regressions("modes") {
        let case = Case { file, stepping: Stepping::FastForward, bug: None, liveness: false };
        if let Err(failure) = same_in_both_modes(&case) {
            panic!("{name}: {failure}");
        }
    }
}

#[test]
fn parallel_runs_give_the_same_traces() {
    let scenarios: Vec<Arc<Scenario>> = (0..40)
        .map(|number| Arc::new(Scenario::from_json(&scenario(number).to_string()).unwrap_or_else(|errors| panic!("{errors}"))))
        .collect();
    let hash = |number: usize| report(&scenarios[number], Stepping::FastForward).trace_hash;
    let alone: Vec<String> = (0..scenarios.len()).map(hash).collect();
    let together = parallel(scenarios.len() * 2, |number| hash(number / 2));
    for (number, pair) in together.chunks(2).enumerate() {
        assert_eq!(pair, [alone[number].as_str(), &alone[number]], "scenario {number}: the trace depends on what else runs");
    }
}
