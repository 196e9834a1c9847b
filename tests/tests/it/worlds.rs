//! Random Kubernetes worlds: each is a valid scenario, every kind of fault and operation occurs, no invariant breaks, and a run with
//! fast-forward gives the same report as one without.

use std::collections::BTreeMap;
use std::fs;
use std::path::PathBuf;
use std::sync::Arc;

use serde_json::Value;
use zonefall_core::observe::describe::RecordDescriber;
use zonefall_core::report::Report;
use zonefall_core::run::run_checked;
use zonefall_core::scenario::Scenario;
use zonefall_core::sim::{Options, Stepping};
use zonefall_tests::quiet::quietly;
use zonefall_tests::threads::of_numbers;
use zonefall_tests::worlds::kube::{world, world_with_api_access};
use zonefall_tests::{asked, is_deep};

use crate::fuzz::judge::unexplained;
use crate::fuzz::{folder, regressions};

/// Worlds whose files are checked.
const WORLDS: u64 = 200;
/// Worlds that are simulated, once with and once without fast-forward: usually, and thoroughly.
const SIMULATED: [usize; 2] = [100, 20_000];

const FAULTS: [&str; 23] = [
    "api_server_kill",
    "api_server_stop",
    "cloud_api",
    "disk_slow",
    "graceful_stop",
    "lb_down",
    "lb_partition",
    "lb_removed",
    "lb_stale_targets",
    "lb_tcp_health_only",
    "lb_throttled",
    "lb_wrong_target",
    "link_degraded",
    "link_partition",
    "node_crash",
    "node_partition",
    "process_kill",
    "process_pause",
    "stale_cache",
    "storage_degraded",
    "volume_lost",
    "zone_partition",
    "zone_power",
];

const OPERATIONS: [&str; 15] = [
    "add_control_plane_node",
    "add_member",
    "compact",
    "defragment",
    "disarm_alarm",
    "drain_node",
    "migrate_shoot",
    "promote_member",
    "remove_control_plane_node",
    "remove_member",
    "roll_back_component",
    "roll_component",
    "roll_pool",
    "scale_workload",
    "set_failure_tolerance",
];

fn parsed(number: u64) -> Arc<Scenario> {
    let text = world(number).to_string();
    Arc::new(Scenario::from_json(&text).unwrap_or_else(|errors| panic!("world {number}: {errors}\n{text}")))
}

fn items<'a>(file: &'a Value, list: &str) -> impl Iterator<Item = &'a Value> {
    file[list].as_array().into_iter().flatten()
}

#[test]
fn generated_kubernetes_worlds_are_valid_and_have_faults_and_operations_of_all_kinds() {
    let (mut faults, mut operations) = (BTreeMap::<String, u32>::new(), BTreeMap::<String, u32>::new());
    let mut eventful = 0;
    for number in 0..WORLDS {
        parsed(number);
        let file = world(number);
        let mut happens = file.get("random_faults").is_some();
        for fault in items(&file, "faults") {
            happens = true;
            *faults.entry(fault["kind"].as_str().expect("a kind").to_owned()).or_default() += 1;
        }
        for operation in items(&file, "operations") {
            happens = true;
            let kind = OPERATIONS.into_iter().find(|kind| operation.get(kind).is_some()).expect("an operation of a known kind");
            *operations.entry(kind.to_owned()).or_default() += 1;
        }
        eventful += u64::from(happens);
    }
    assert!(faults.keys().eq(FAULTS), "each kind of fault occurs: {faults:?}");
    assert!(operations.keys().eq(OPERATIONS), "each kind of operation occurs: {operations:?}");
    assert!(eventful * 10 >= WORLDS * 9, "something happens in {eventful} of {WORLDS} worlds");
}

/// The first record that differs between fast-forward and every event.
fn first_difference(scenario: &Arc<Scenario>) -> String {
    let [fast, full] = [Stepping::FastForward, Stepping::EveryEvent].map(|stepping| {
        let (mut lines, mut describer) = (Vec::new(), RecordDescriber::new(scenario));
        let options = Options { stepping, ..Options::default() };
        run_checked(scenario, scenario.seed, options, &mut |at, record| lines.extend(describer.line(at, record)));
        lines
    });
    let place = fast.iter().zip(&full).position(|(one, other)| one != other).unwrap_or(fast.len().min(full.len()));
    let near = |lines: &[String]| lines[place.saturating_sub(2)..(place + 3).min(lines.len())].join("\n    ");
    format!("  fast-forward:\n    {}\n  every event:\n    {}", near(&fast), near(&full))
}

/// Numbers of worlds whose clusters with load balancers are simulated alone: usually, and thoroughly. One in five has one.
const API_ACCESS: [usize; 2] = [250, 5_000];

#[test]
fn clients_of_load_balancers_in_generated_worlds_break_no_invariant() {
    let [usual, thorough] = API_ACCESS;
    let all = of_numbers(&asked("ZONEFALL_API_ACCESS", usual, thorough), |number| {
        let Some(file) = world_with_api_access(number) else { return Ok(0) };
        let text = file.to_string();
        let run = || {
            let scenario = Scenario::from_json(&text).unwrap_or_else(|errors| panic!("world {number}: {errors}\n{text}"));
            judge(&Arc::new(scenario))
        };
        quietly(run).unwrap_or_else(Err).map(|_| 1).map_err(|why| {
            let kept = if is_deep() { folder("worlds") } else { PathBuf::from(env!("CARGO_TARGET_TMPDIR")) };
            let file = kept.join(format!("api-access-{number}.json"));
            fs::write(&file, &text).expect("worlds that fail are kept");
            format!(
                "world {number}: {why}\n  again: ZONEFALL_API_ACCESS={number}..{} cargo test -p zonefall-tests --test it worlds, of {}",
                number + 1,
                file.display()
            )
        })
    });
    let failed: Vec<&str> = all.iter().filter_map(|one| one.as_ref().err()).map(String::as_str).collect();
    assert!(failed.is_empty(), "{} worlds fail:\n{}", failed.len(), failed.join("\n"));
    let simulated: u64 = all.into_iter().flatten().sum();
    println!("{simulated} worlds with load balancers");
}

/// Runs a world in both modes: no invariant breaks, each outage has a cause, and the reports are equal. The events that fast-forward saves.
pub(super) fn judge(scenario: &Arc<Scenario>) -> Result<u64, String> {
    let report =
        |stepping| -> Report { run_checked(scenario, scenario.seed, Options { stepping, ..Options::default() }, &mut |_, _| {}) };
    let [fast, mut full] = [Stepping::FastForward, Stepping::EveryEvent].map(report);
    if let Some(violation) = fast.violations.first() {
        return Err(format!("{violation:?}"));
    }
    if let Some(outage) = unexplained(&fast).next() {
        return Err(format!("an outage without a cause: {outage}"));
    }
    let saved = full.events.saturating_sub(fast.events);
    full.events = fast.events;
    if fast != full {
        let first = first_difference(scenario);
        return Err(format!("fast-forward and every event differ: {}, {}\n{first}", fast.trace_hash, full.trace_hash));
    }
    let mut outages = fast.access.iter().flat_map(|row| &row.outages);
    if let Some(time) = outages.find(|time| time.cause.ends_with("no fault under way")) {
        return Err(format!("an outage of a client without a cause: {time:?}"));
    }
    Ok(saved)
}

#[test]
fn worlds_that_failed_once_hold() {
    for (name, file) in regressions("worlds") {
        let scenario = Scenario::from_json(&file.to_string()).unwrap_or_else(|errors| panic!("{name}: {errors}"));
        judge(&Arc::new(scenario)).unwrap_or_else(|why| panic!("{name}: {why}"));
    }
}

#[test]
fn generated_kubernetes_worlds_break_no_invariant() {
    let [usual, thorough] = SIMULATED;
    let all = of_numbers(&asked("ZONEFALL_WORLDS", usual, thorough), |number| {
        quietly(|| judge(&parsed(number))).unwrap_or_else(Err).map_err(|why| {
            // With `--deep` they are kept as regressions, as failing schedules are.
            let kept = if is_deep() { folder("worlds") } else { PathBuf::from(env!("CARGO_TARGET_TMPDIR")) };
            let file = kept.join(format!("world-{number}.json"));
            fs::write(&file, world(number).to_string()).expect("worlds that fail are kept");
            format!("world {number}: {why}\n  again: ZONEFALL_WORLDS={number}..{} cargo test -p zonefall-tests --test it worlds, of {}", number + 1, file.display())
        })
    });
    let failed: Vec<&str> = all.iter().filter_map(|one| one.as_ref().err()).map(String::as_str).collect();
    assert!(failed.is_empty(), "{} worlds fail:\n{}", failed.len(), failed.join("\n"));
    let count = all.len() as u64;
    let saved: u64 = all.into_iter().flatten().sum();
    assert!(saved > count * 10_000, "fast-forward saved only {saved} events of {count} worlds");
}
