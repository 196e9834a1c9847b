//! `mcm_meltdown_cases.json`: which machine is given up (machine-controller-manager, `machine_util_test.go`).

use serde::Deserialize;
use serde_json::Value;
use zonefall_core::gardener::machine::meltdown::{Judgement, Sibling, judge};
use zonefall_core::kernel::time::Duration;
use zonefall_core::kube::machine::Phase;
use zonefall_core::kube::spec::machine::MachineTimers;

use super::Outcome;

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct File {
    #[serde(rename = "source", default)]
    _source: String,
    #[serde(rename = "rule", default)]
    _rule: String,
    #[serde(rename = "format", default)]
    _format: String,
    cases: Vec<Value>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Case {
    machines: Vec<Machine>,
    #[serde(default)]
    lock_held: bool,
    want: Want,
    retry_s: Option<u64>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Machine {
    deployment: String,
    /// Machines of all machine sets of a deployment count.
    #[serde(rename = "machine_set")]
    _machine_set: String,
    phase: Phase,
    #[serde(default)]
    unknown_for_s: u64,
    #[serde(default)]
    preserved: bool,
}

#[derive(Clone, Copy, Debug, Deserialize, PartialEq)]
enum Want {
    Failed,
    Unknown,
}

pub(super) fn run(text: &str) -> Outcome {
    let mut outcome = Outcome::default();
    let Some(file) = outcome.parse::<File>(text) else { return outcome };
    for (k, row) in file.cases.iter().enumerate() {
        outcome.row(&format!("cases[{k}]"), row, check);
    }
    outcome
}

fn check(case: &Case) -> Result<(), String> {
    let target =
        case.machines.first().filter(|machine| machine.phase == Phase::Unknown).ok_or("the first machine is not Unknown")?;
    let siblings = case.machines.iter().filter(|machine| machine.deployment == target.deployment);
    let siblings: Vec<_> = siblings.map(|one| Sibling { phase: one.phase, preserved: one.preserved }).collect();
    let judgement = judge(Duration::from_secs(target.unknown_for_s), MachineTimers::default().health, &siblings, case.lock_held);
    let want = match case.want {
        Want::Failed => Judgement::Failed,
        Want::Unknown => Judgement::Wait(Duration::from_secs(case.retry_s.ok_or("no `retry_s`")?)),
    };
    if judgement == want { Ok(()) } else { Err(format!("found {judgement:?}, wanted {want:?}")) }
}
