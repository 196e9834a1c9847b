//! `etcd_membership_cases.json`: which changes of membership etcd's strict check lets pass (`membership/cluster_test.go`).

use std::collections::BTreeMap;

use serde::Deserialize;
use serde_json::Value;
use zonefall_core::etcd::reconfiguration::{View, may_add_voter, may_promote, may_remove_voter};

use super::Outcome;

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct File {
    #[serde(rename = "source", default)]
    _source: String,
    #[serde(rename = "note", default)]
    _note: String,
    /// By the name of etcd's own test.
    cases: BTreeMap<String, Vec<Value>>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Case {
    members: Vec<Member>,
    target: Option<u64>,
    want: bool,
    #[serde(default)]
    why: String,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Member {
    id: u64,
    started: bool,
    learner: bool,
}

pub(super) fn run(text: &str) -> Outcome {
    let mut outcome = Outcome::default();
    let Some(file) = outcome.parse::<File>(text) else { return outcome };
    for (test, rows) in &file.cases {
        for (k, row) in rows.iter().enumerate() {
            outcome.row(&format!("cases.{test}[{k}]"), row, |case| check(test, case));
        }
    }
    outcome
}

fn check(test: &str, case: &Case) -> Result<(), String> {
    let views: Vec<View> = case.members.iter().map(|m| View { started: m.started, learner: m.learner }).collect();
    let target = || case.target.ok_or("no `target`");
    let found = match test {
        "TestIsReadyToAddVotingMember" if case.target.is_some() => return Err("a `target` that is not in the cluster yet".into()),
        "TestIsReadyToAddVotingMember" => may_add_voter(&views),
        // Nobody is left out where nobody has the target's id.
        "TestIsReadyToRemoveVotingMember" => {
            let target = target()?;
            may_remove_voter(&views, case.members.iter().position(|m| m.id == target).unwrap_or(views.len()))
        }
        "TestIsReadyToPromoteMember" => {
            target()?;
            may_promote(&views)
        }
        unknown => return Err(format!("nobody knows what {unknown} tests")),
    };
    if found == case.want { Ok(()) } else { Err(format!("found {found}, wanted {}: {}", case.want, case.why)) }
}
