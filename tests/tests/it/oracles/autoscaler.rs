//! `ca_balance_backoff_cases.json`: new nodes spread over groups, and groups that failed left alone (cluster autoscaler,
//! `balancing_processor_test.go`, `exponential_backoff_test.go`).

use std::collections::BTreeMap;

use serde::Deserialize;
use serde_json::Value;
use zonefall_core::autoscaler::backoff::{Backoff, Options};
use zonefall_core::autoscaler::balance::{NodeGroup, balance};

use super::Outcome;
use super::seconds::{at, seconds};

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct File {
    #[serde(rename = "source", default)]
    _source: String,
    #[serde(rename = "balance_rule", default)]
    _balance_rule: String,
    #[serde(rename = "group_format", default)]
    _group_format: String,
    #[serde(rename = "backoff_rule", default)]
    _backoff_rule: String,
    #[serde(default)]
    balance: Vec<Value>,
    #[serde(default)]
    backoff: Vec<Value>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Balance {
    /// Name, least, most and current size.
    groups: Vec<(String, u32, u32, u32)>,
    add: u32,
    /// New sizes of those that change.
    want: BTreeMap<String, u32>,
}

#[derive(Deserialize)]
#[serde(untagged)]
enum Failures {
    One(OneGroup),
    Several(SeveralGroups),
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct OneGroup {
    initial_s: f64,
    max_s: f64,
    fails_s: Vec<f64>,
    /// When, and whether it is backed off then.
    checks: Vec<(f64, bool)>,
    #[serde(rename = "note", default)]
    _note: String,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct SeveralGroups {
    reset_s: f64,
    fails_s: BTreeMap<String, f64>,
    /// When, and how many of them are not forgotten then.
    stale_at: Vec<(f64, usize)>,
    #[serde(rename = "note", default)]
    _note: String,
}

pub(super) fn run(text: &str) -> Outcome {
    let mut outcome = Outcome::default();
    let Some(file) = outcome.parse::<File>(text) else { return outcome };
    for (k, row) in file.balance.iter().enumerate() {
        outcome.row(&format!("balance[{k}]"), row, check_balance);
    }
    for (k, row) in file.backoff.iter().enumerate() {
        outcome.row(&format!("backoff[{k}]"), row, |case: &Failures| match case {
            Failures::One(case) => check_backoff(case),
            Failures::Several(case) => check_stale(case),
        });
    }
    outcome
}

fn check_balance(case: &Balance) -> Result<(), String> {
    let groups: Vec<NodeGroup> = case.groups.iter().map(|(_, _, max, size)| NodeGroup { size: *size, max: *max }).collect();
    let sizes = balance(&groups, case.add);
    let changed = case.groups.iter().zip(sizes).filter(|((.., before), after)| before != after);
    let found: BTreeMap<String, u32> = changed.map(|((name, ..), after)| (name.clone(), after)).collect();
    if found == case.want { Ok(()) } else { Err(format!("found {found:?}, wanted {:?}", case.want)) }
}

/// A check sees all failures up to its moment.
fn check_backoff(case: &OneGroup) -> Result<(), String> {
    let options = Options { initial: seconds(case.initial_s)?, max: seconds(case.max_s)?, ..Options::default() };
    let fails = case.fails_s.iter().map(|&s| at(s)).collect::<Result<Vec<_>, _>>()?;
    if !fails.is_sorted() {
        return Err("failures out of order".to_owned());
    }
    for &(s, want) in &case.checks {
        let now = at(s)?;
        let before = fails.iter().take_while(|fail| **fail <= now);
        let entry = before.fold(None, |past, fail| Some(Backoff::after_failure(past, *fail, &options)));
        let found = entry.is_some_and(|entry| entry.holds(now));
        if found != want {
            return Err(format!("at {s} s: found {found}, wanted {want}"));
        }
    }
    Ok(())
}

fn check_stale(case: &SeveralGroups) -> Result<(), String> {
    let options = Options { reset: seconds(case.reset_s)?, ..Options::default() };
    let fails = case.fails_s.values().map(|&s| at(s)).collect::<Result<Vec<_>, _>>()?;
    for &(s, want) in &case.stale_at {
        let now = at(s)?;
        let entries = fails.iter().map(|fail| Backoff::after_failure(None, *fail, &options));
        let found = entries.filter(|entry| !entry.is_stale(now, &options)).count();
        if found != want {
            return Err(format!("at {s} s: found {found}, wanted {want}"));
        }
    }
    Ok(())
}
