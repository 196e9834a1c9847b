//! `raft_quorum_cases.json`: committed indices and votes of majorities and joint majorities (`etcd-io/raft/quorum/testdata`).

use std::collections::BTreeMap;

use serde::Deserialize;
use serde_json::Value;
use zonefall_core::etcd::raft::quorum::{Members, Quorum, VoteResult};

use super::Outcome;

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct File {
    #[serde(rename = "source", default)]
    _source: String,
    #[serde(rename = "notes", default)]
    _notes: String,
    cases: Vec<Value>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Case {
    #[serde(default)]
    file: String,
    #[serde(default)]
    line: u64,
    cmd: Command,
    #[serde(default)]
    cfg: Vec<String>,
    cfgj: Option<Half>,
    idx: Option<Vec<String>>,
    votes: Option<Vec<String>>,
    expected: String,
}

#[derive(Deserialize)]
#[serde(rename_all = "lowercase")]
enum Command {
    Committed,
    Vote,
}

/// The outgoing half of a joint configuration.
#[derive(Deserialize)]
#[serde(untagged)]
enum Half {
    Zero(Zero),
    Voters(Vec<String>),
}

/// Explicitly there, and empty.
#[derive(Deserialize)]
#[serde(rename_all = "lowercase")]
enum Zero {
    Zero,
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
    let found = match (&case.cmd, &case.idx, &case.votes) {
        (Command::Committed, idx, None) => committed(case, idx.as_deref().unwrap_or_default())?,
        (Command::Vote, None, votes) => vote(case, votes.as_deref().unwrap_or_default())?,
        (Command::Committed, _, Some(_)) => return Err("`committed` takes `idx`, not `votes`".to_owned()),
        (Command::Vote, Some(_), _) => return Err("`vote` takes `votes`, not `idx`".to_owned()),
    };
    // Before the sign of infinity the original says why it is infinite.
    let wanted = case.expected.strip_prefix("<empty majority quorum>").unwrap_or(&case.expected);
    if found == wanted { Ok(()) } else { Err(format!("{} line {}: found {found}, wanted {wanted}", case.file, case.line)) }
}

fn committed(case: &Case, idx: &[String]) -> Result<String, String> {
    let parse = |word: &str| match word {
        "_" => Ok(0),
        index => index.parse::<u64>().map_err(|_| format!("{index:?} is no index")),
    };
    let (quorum, acked) = read(case, idx, parse)?;
    let index = quorum.committed(|voter| acked[voter as usize]);
    Ok(if index == u64::MAX { "∞".to_owned() } else { index.to_string() })
}

fn vote(case: &Case, votes: &[String]) -> Result<String, String> {
    let parse = |word: &str| match word {
        "_" => Ok(None),
        "y" => Ok(Some(true)),
        "n" => Ok(Some(false)),
        other => Err(format!("{other:?} is no vote")),
    };
    let (quorum, votes) = read(case, votes, parse)?;
    let result = match quorum.vote(|voter| votes[voter as usize]) {
        VoteResult::Won => "VoteWon",
        VoteResult::Lost => "VoteLost",
        VoteResult::Pending => "VotePending",
    };
    Ok(result.to_owned())
}

/// The quorum, and what each voter says: voters are numbered as they first appear, in `cfg` and then in `cfgj`, and say their words
/// in this order.
fn read<T>(case: &Case, words: &[String], parse: impl Fn(&str) -> Result<T, String>) -> Result<(Quorum, Vec<T>), String> {
    let mut numbers = BTreeMap::new();
    let mut half = |ids: &[String]| -> Result<Members, String> {
        let mut members = Members::EMPTY;
        for id in ids {
            let id: u64 = id.parse().map_err(|_| format!("{id:?} is no id"))?;
            let next = numbers.len();
            let number = *numbers.entry(id).or_insert(next);
            if number >= 64 {
                return Err("more voters than a set of members holds".to_owned());
            }
            members.insert(number as u8);
        }
        Ok(members)
    };
    let incoming = half(&case.cfg)?;
    let outgoing = match &case.cfgj {
        Some(Half::Voters(ids)) => half(ids)?,
        Some(Half::Zero(Zero::Zero)) | None => Members::EMPTY,
    };
    if words.len() != numbers.len() {
        return Err(format!("{} values for {} voters", words.len(), numbers.len()));
    }
    let said = words.iter().map(|word| parse(word)).collect::<Result<_, _>>()?;
    Ok((Quorum { incoming, outgoing }, said))
}
