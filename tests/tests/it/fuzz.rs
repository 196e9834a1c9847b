//! Thousands of random schedules of faults: no invariant breaks, nothing panics, and in the calm afterwards every cluster works.
//!
//! ```text
//! number -> schedules -> judge --fails--> shrink -> the smallest file that fails in the same way, to be run again
//! ```

pub(crate) mod judge;
pub(crate) mod shrink;

use std::fs;
use std::path::{Path, PathBuf};

use judge::{Case, Failure, Seen, judge};
use serde_json::Value;
use zonefall_core::etcd::raft::PlantedBug;
use zonefall_core::sim::Stepping;
use zonefall_tests::threads::of_numbers;
use zonefall_tests::worlds::schedules;
use zonefall_tests::{asked, is_deep};

/// Schedules that every run of the tests judges, half of them on three and half on five members.
const USUAL: usize = 2_000;
/// Schedules with `--deep`.
const THOROUGH: usize = 10_000;
/// Failing schedules that are shrunk and shown; one bug often fails many.
const MOST_SHOWN: usize = 3;

/// The schedule with this number.
fn case(number: u64) -> Case {
    let stepping = if number % 4 < 2 { Stepping::FastForward } else { Stepping::EveryEvent };
    Case { file: schedules::schedule(number), stepping, bug: None, liveness: true }
}

/// With `--deep` what fails is kept.
pub(crate) fn keep(kind: &str, name: &str, case: &Case) {
    if is_deep() {
        let text = serde_json::to_string_pretty(&case.file).expect("a file is JSON");
        fs::write(folder(kind).join(format!("{name}.json")), text).expect("regressions are kept");
    }
}

/// The smallest case that fails like this one, in words that let it be run again.
fn shrunk(number: u64, case: &Case, failure: &Failure) -> String {
    let (small, how) = shrink::shrink(judge, case, failure);
    keep("schedules", &number.to_string(), &small);
    let mode = if small.stepping == Stepping::FastForward { "on" } else { "off" };
    format!(
        "schedule {number}: {failure}\n  shrunk: {how}\n  again: zonefall run this.json --fast-forward {mode}, where this.json is\n{}",
        serde_json::to_string(&small.file).expect("a file is JSON")
    )
}

#[test]
fn random_schedules_break_nothing() {
    let numbers = asked("ZONEFALL_SCHEDULES", USUAL, THOROUGH);
    let results = of_numbers(&numbers, |number| judge(&case(number)));
    let count = results.len();
    let mut seen = Seen::default();
    let mut failed = Vec::new();
    for (number, result) in numbers.zip(results) {
        match result {
            Ok(one) => seen.add(&one),
            Err(failure) => failed.push((number, failure)),
        }
    }
    failed.iter().skip(MOST_SHOWN).for_each(|(number, _)| keep("schedules", &number.to_string(), &case(*number)));
    let shown: Vec<String> =
        failed.iter().take(MOST_SHOWN).map(|(number, failure)| shrunk(*number, &case(*number), failure)).collect();
    let list: Vec<String> = failed.iter().map(|(number, failure)| format!("  {number}: {failure}")).collect();
    assert!(failed.is_empty(), "{} of {count} schedules fail:\n{}\n\n{}", failed.len(), list.join("\n"), shown.join("\n\n"));
    println!("{seen:?}");
}

/// Schedules within which each planted bug must show.
const BOUND: usize = 500;
/// Faults and operations that a shrunk schedule may need.
const MOST_NEEDED: usize = 4;

/// A planted bug is found by the same schedules, by this property, and the schedule is shrunk to what the bug needs.
fn check_planted(bug: PlantedBug, by: &str) {
    let planted = |number: u64| Case { bug: Some(bug), liveness: false, ..case(number) };
    let found = (0..BOUND as u64).find_map(|number| match judge(&planted(number)) {
        Err(failure @ Failure::Violation { .. }) => Some((number, failure)),
        Err(_) | Ok(_) => None,
    });
    let (number, failure) = found.unwrap_or_else(|| panic!("{bug:?} breaks no invariant in {BOUND} schedules"));
    let (small, how) = shrink::shrink(judge, &planted(number), &failure);
    let shown = serde_json::to_string(&small.file).expect("a file is JSON");
    assert!(how.to_string().starts_with(by), "{bug:?}: {how}, in\n{shown}");
    assert_eq!(judge(&small).err(), Some(how.clone()), "{bug:?}: the shrunk schedule fails again, in the same way");
    let needed: usize = ["faults", "operations"].iter().map(|list| small.file[*list].as_array().map_or(0, Vec::len)).sum();
    assert!(needed <= MOST_NEEDED, "{bug:?}: {needed} faults and operations are left in\n{shown}");
    let whole = judge(&Case { bug: None, ..small });
    assert!(whole.is_ok(), "{bug:?}: without the bug: {:?}, in\n{shown}", whole.err());
    println!("{bug:?}: schedule {number}: {failure}\n  shrunk to {needed} faults and operations: {how}\n  {shown}");
}

/// What every run judges is enough: each planted bug shows in any so many schedules, not in the first ones by luck.
#[test]
fn planted_bugs_are_caught_in_twenty_of_twenty_seeds() {
    const SEEDS: usize = 20;
    let blocks = if is_deep() { 0..SEEDS } else { 0..1 };
    for bug in [PlantedBug::VoteTwice, PlantedBug::CommitOldTerm, PlantedBug::ForgetVote] {
        let caught = |block: usize| {
            let mut numbers = (block * USUAL) as u64..((block + 1) * USUAL) as u64;
            let planted = |number: u64| Case { bug: Some(bug), liveness: false, ..case(number) };
            numbers.any(|number| matches!(judge(&planted(number)), Err(Failure::Violation { .. })))
        };
        let missed: Vec<usize> = blocks.clone().filter(|block| !caught(*block)).collect();
        assert!(missed.is_empty(), "{bug:?} is not caught by {USUAL} schedules from {missed:?} times {USUAL} on");
    }
}

#[test]
fn planted_double_vote_is_caught() {
    check_planted(PlantedBug::VoteTwice, "election safety");
}

#[test]
fn planted_commit_of_an_old_term_is_caught() {
    check_planted(PlantedBug::CommitOldTerm, "leader completeness");
}

#[test]
fn planted_forgotten_vote_is_caught() {
    check_planted(PlantedBug::ForgetVote, "election safety");
}

#[test]
fn planted_promise_before_the_write_is_caught() {
    check_planted(PlantedBug::PromiseBeforeWrite, "election safety");
}

#[test]
fn planted_promise_before_the_sync_is_caught() {
    check_planted(PlantedBug::PromiseBeforeSync, "election safety");
}

/// `tests/regressions/<kind>/`.
pub(crate) fn folder(kind: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("regressions").join(kind)
}

/// The files of `tests/regressions/<kind>/`, with their paths.
pub(crate) fn regressions(kind: &str) -> Vec<(String, Value)> {
    let read = |path: PathBuf| {
        let text = fs::read_to_string(&path).expect("a file that can be read");
        (path.display().to_string(), serde_json::from_str(&text).expect("regressions are JSON"))
    };
    let files: Vec<_> =
        fs::read_dir(folder(kind)).expect("there are regressions").flatten().map(|entry| read(entry.path())).collect();
    assert!(!files.is_empty(), "no regressions");
    files
}

/// Schedules that failed once, shrunk, with what was wrong then.
#[test]
fn schedules_that_failed_once_hold() {
    for (name, file) in regressions("schedules") {
        for stepping in [Stepping::FastForward, Stepping::EveryEvent] {
            let case = Case { file: file.clone(), stepping, bug: None, liveness: true };
            if let Err(failure) = judge(&case) {
                panic!("{name}, {stepping:?}: {failure}");
            }
        }
    }
}

/// A voter that was cut off while others came and went is in a higher term than the only member that knows it, whether that one campaigns
/// or, without check-quorum, leads. Without pre-vote the two race for terms, and that is no failure; with it the voter never raises its
/// term, and a leader is elected.
#[test]
fn race_of_terms_ends_at_once_with_pre_vote() {
    for name in ["race-of-terms.json", "race-with-a-leader.json"] {
        let (_, mut file) = regressions("schedules").into_iter().find(|(path, _)| path.ends_with(name)).expect("it is there");
        for (pre_vote, races, live) in [(false, 1, 0), (true, 0, 1)] {
            file["etcd"][0]["options"]["pre_vote"] = Value::from(pre_vote);
            let seen =
                judge(&Case { file: file.clone(), stepping: Stepping::EveryEvent, bug: None, liveness: true }).expect("it holds");
            assert_eq!((seen.races, seen.live), (races, live), "{name}, pre_vote: {pre_vote}");
        }
    }
}
