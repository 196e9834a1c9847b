//! Ten thousand random schedules of faults: no invariant breaks, nothing panics, and in the calm afterwards every cluster works.
//!
//! ```text
//! number -> generate -> judge --fails--> shrink -> the smallest file that fails in the same way, to be run again
//! ```

pub(crate) mod generate;
pub(crate) mod judge;
pub(crate) mod shrink;

use std::fs;
use std::ops::Range;
use std::path::Path;

use judge::{Case, Failure, Seen, judge};
use serde_json::Value;
use zonefall_core::sim::Exact;

use crate::threads::parallel;

/// Schedules, half of them on three and half on five members.
const SCHEDULES: usize = 10_000;
/// Failing schedules that are shrunk and shown; one bug often fails many.
const MOST_SHOWN: usize = 3;

/// The schedule with this number.
fn case(number: usize) -> Case {
    let exact = if number % 4 < 2 { Exact::Fast } else { Exact::Full };
    Case { file: generate::schedule(number as u64), exact, bug: None, liveness: true }
}

/// The smallest case that fails like this one, in words that let it be run again.
fn shrunk(number: usize, case: &Case, failure: &Failure) -> String {
    let (small, how) = shrink::shrink(judge, case, failure);
    let mode = if small.exact == Exact::Fast { "fast" } else { "full" };
    format!(
        "schedule {number}: {failure}\n  shrunk: {how}\n  again: zonefall run this.json --exact {mode}, where this.json is\n{}",
        serde_json::to_string(&small.file).expect("a file is JSON")
    )
}

/// All of them, or those from the first to before the last that the environment variable names: `ZONEFALL_SCHEDULES=17..18`.
fn numbers() -> Range<usize> {
    let Ok(range) = std::env::var("ZONEFALL_SCHEDULES") else { return 0..SCHEDULES };
    let bounds = range.split_once("..").and_then(|(from, to)| Some(from.parse().ok()?..to.parse().ok()?));
    bounds.unwrap_or_else(|| panic!("ZONEFALL_SCHEDULES={range}: wanted a range like 17..18"))
}

#[test]
fn ten_thousand_schedules_break_nothing() {
    let numbers = numbers();
    let count = numbers.len();
    let results = parallel(count, |k| judge(&case(numbers.start + k)));
    let mut seen = Seen::default();
    let mut failed = Vec::new();
    for (number, result) in numbers.zip(results) {
        match result {
            Ok(one) => seen.add(&one),
            Err(failure) => failed.push((number, failure)),
        }
    }
    let shown: Vec<String> =
        failed.iter().take(MOST_SHOWN).map(|(number, failure)| shrunk(*number, &case(*number), failure)).collect();
    let list: Vec<String> = failed.iter().map(|(number, failure)| format!("  {number}: {failure}")).collect();
    assert!(failed.is_empty(), "{} of {count} schedules fail:\n{}\n\n{}", failed.len(), list.join("\n"), shown.join("\n\n"));
    println!("{seen:?}");
}

/// Schedules that failed once, shrunk, with what was wrong then.
#[test]
fn schedules_that_failed_once_hold() {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("regressions");
    let mut count = 0;
    for entry in fs::read_dir(folder).expect("there are regressions").flatten() {
        let text = fs::read_to_string(entry.path()).expect("a file that can be read");
        let file: Value = serde_json::from_str(&text).expect("regressions are JSON");
        for exact in [Exact::Fast, Exact::Full] {
            let case = Case { file: file.clone(), exact, bug: None, liveness: true };
            if let Err(failure) = judge(&case) {
                panic!("{}, {exact:?}: {failure}", entry.path().display());
            }
        }
        count += 1;
    }
    assert!(count > 0, "no regressions");
}
