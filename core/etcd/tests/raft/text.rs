//! What a story shows of members, messages and logs. An entry is `index@term`.

use zonefall_etcd::raft::entry::{Command, Entry, Token};
use zonefall_etcd::raft::log::Log;
use zonefall_etcd::raft::message::{Kind, Message};
use zonefall_etcd::raft::progress::State;
use zonefall_etcd::raft::quorum::Members;
use zonefall_etcd::raft::{ConfState, Note, Raft, ReadState, Role};
use zonefall_etcd::record::StepDownReason;
use zonefall_kernel::time::Time;

/// A member's name: the first is n1.
pub(crate) fn name(index: u8) -> String {
    format!("n{}", index + 1)
}

fn names(members: Members) -> String {
    members.iter().map(name).collect::<Vec<_>>().join(" ")
}

/// What a request asked for.
pub(crate) fn label(token: Token, labels: &[String]) -> &str {
    &labels[token.slot as usize]
}

fn content<'a>(entry: &Entry, labels: &'a [String]) -> &'a str {
    if entry.command == Command::Empty { "empty" } else { label(entry.token, labels) }
}

/// A member's role, term, vote and leader.
pub(crate) fn status(raft: &Raft) -> String {
    let role = match raft.role {
        Role::Follower => "follower",
        Role::PreCandidate => "pre-candidate",
        Role::Candidate => "candidate",
        Role::Leader => "leader",
    };
    let or_none = |member: Option<u8>| member.map_or("none".to_owned(), name);
    format!("{}: {role}, term {}, vote {}, leader {}", name(raft.me), raft.term, or_none(raft.vote), or_none(raft.lead))
}

/// [`status`] with the ticks that have passed since the clock was reset, of those until an election or a check of the quorum.
pub(crate) fn status_with_clock(raft: &Raft, now: Time) -> String {
    let (passed, all) = match raft.role {
        Role::Leader => (raft.heartbeats, raft.config.election_heartbeats),
        _ => (raft.clock.elapsed(now), raft.timeout_ticks),
    };
    format!("  {}, tick {passed} of {all}", status(raft))
}

/// The membership that a member has applied.
pub(crate) fn membership(at: u8, ConfState { quorum, learners }: ConfState) -> String {
    let without_vote = if learners.is_empty() { String::new() } else { format!(", learners {}", names(learners)) };
    format!("{}: voters {}{without_vote}", name(at), names(quorum.voters()))
}

/// A read whose index a majority has confirmed.
pub(crate) fn read_state(at: u8, ReadState { context, index }: ReadState) -> String {
    format!("{} answers read {context} once it has applied {index}", name(at))
}

/// What a step noted, unless the member's status shows it.
pub(crate) fn note(note: &Note, raft: &Raft, labels: &[String]) -> Option<String> {
    let me = name(raft.me);
    Some(match *note {
        Note::Elected => return None,
        Note::Campaign { term, pre_vote: true } => format!("{me} starts a pre-vote for term {term}"),
        Note::Campaign { term, pre_vote: false } => format!("{me} campaigns for term {term}"),
        Note::SteppedDown { term, reason } => {
            let why = match reason {
                StepDownReason::HigherTerm => "there is a higher term",
                StepDownReason::QuorumInactive => "no majority is active",
                StepDownReason::Removed => "it was removed",
            };
            format!("{me} stops leading term {term}: {why}")
        }
        Note::Appended { from, to } => format!("{me} appends {}", entries(&raft.log, from, to, labels)),
        Note::Truncated { from } => format!("{me} removes its entries from {from} on"),
        Note::Restored => format!("{me} replaces its log by the snapshot up to {}", id(&raft.log, raft.log.last())),
        Note::Committed => format!("{me} commits up to {}", id(&raft.log, raft.log.committed)),
        Note::Established => format!("{me} has committed an entry of its own term"),
    })
}

fn id(log: &Log, index: u64) -> String {
    format!("{index}@{}", log.term(index).unwrap_or(0))
}

fn entries(log: &Log, from: u64, to: u64, labels: &[String]) -> String {
    let each = (from..=to).filter_map(|index| Some(entry(index, &log.get(index)?, labels)));
    each.collect::<Vec<_>>().join(", ")
}

fn entry(index: u64, entry: &Entry, labels: &[String]) -> String {
    format!("{index}@{} {}", entry.term, content(entry, labels))
}

/// A message with the fields that its kind uses.
pub(crate) fn message(message: &Message, labels: &[String]) -> String {
    let Message { kind, term, log_term, index, commit, hint, context, .. } = *message;
    let round = if context == 0 { String::new() } else { format!(", read {context}") };
    let granted = if message.reject { "rejected" } else { "granted" };
    let fields = match kind {
        Kind::Vote | Kind::PreVote => {
            let forced = if context == 0 { "" } else { ", transfer" };
            format!("term {term}, last {index}@{log_term}{forced}")
        }
        Kind::VoteResponse | Kind::PreVoteResponse => format!("term {term}, {granted}"),
        Kind::Append => {
            let new = message.entries.iter().zip(index + 1..).map(|(new, at)| entry(at, &new, labels)).collect::<Vec<_>>();
            let new = if new.is_empty() { "nothing".to_owned() } else { new.join(", ") };
            format!("term {term}, commit {commit}, after {index}@{log_term}: {new}")
        }
        Kind::AppendResponse if message.reject => format!("term {term}, rejects {index}, hint {hint}@{log_term}"),
        Kind::AppendResponse => format!("term {term}, has {index}"),
        Kind::Heartbeat => format!("term {term}, commit {commit}{round}"),
        Kind::HeartbeatResponse => format!("term {term}{round}"),
        Kind::Snapshot => {
            let snapshot = message.snapshot.as_deref().expect("a snapshot is under way with its content");
            let state = ConfState { quorum: snapshot.voters, learners: snapshot.learners };
            format!("term {term}, up to {}@{}, members {}", snapshot.index, snapshot.term, names(state.members()))
        }
        Kind::Propose => message.entries.iter().map(|entry| content(&entry, labels)).collect::<Vec<_>>().join(", "),
        Kind::ReadIndex => format!("read {context}"),
        Kind::ReadIndexResponse => format!("term {term}, read {context}, index {index}"),
        Kind::TimeoutNow => format!("term {term}"),
    };
    format!("{} -> {}  {:<17}  {fields}", name(message.from), name(message.to), format!("{kind:?}"))
}

/// The logs as a table: a column per index with term and content, a bar after what is committed.
pub(crate) fn logs<'a>(logs: impl Iterator<Item = &'a Log> + Clone, labels: &[String]) -> Vec<String> {
    let last = logs.clone().map(Log::last).max().unwrap_or(0);
    let cell = |log: &Log, index: u64| {
        let text = match log.get(index) {
            Some(entry) => format!("@{} {}", entry.term, content(&entry, labels)),
            None if index < log.first() => "..".to_owned(),
            None => String::new(),
        };
        if index == log.committed { text + " |" } else { text }
    };
    let mut lines = vec!["  ".to_owned()];
    lines.extend((0..).zip(logs.clone()).map(|(at, _)| name(at)));
    for index in 1..=last {
        let heading = std::iter::once(index.to_string());
        let column: Vec<String> = heading.chain(logs.clone().map(|log| cell(log, index))).collect();
        let width = column.iter().map(String::len).max().unwrap_or(0);
        lines.iter_mut().zip(column).for_each(|(line, cell)| line.push_str(&format!("  {cell:<width$}")));
    }
    lines.iter().map(|line| format!("  {}", line.trim_end())).collect()
}

/// What a leader knows of each other member.
pub(crate) fn progress(raft: &Raft) -> Vec<String> {
    let others = raft.conf_state.members().iter().filter(|&index| index != raft.me);
    let line = |index: u8| {
        let progress = &raft.progress[usize::from(index)];
        let state = match progress.state {
            State::Probe => "probe".to_owned(),
            State::Replicate => "replicate".to_owned(),
            State::Snapshot(up_to) => format!("snapshot up to {up_to}"),
        };
        let paused = if progress.is_paused() { ", paused" } else { "" };
        format!("  {}: {state}, match {}, next {}{paused}", name(index), progress.matched, progress.next)
    };
    others.map(line).collect()
}
