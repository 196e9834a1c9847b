//! Leader completeness: if a log entry is committed in a given term, then that entry is present in the logs of the leaders of all
//! higher-numbered terms (§5.4, Figure 3). And the rule it rests on: a leader counts replicas only for entries of its own term; older
//! ones are committed with them (§5.4.2, Figure 8).
//!
//! "Committed in term T" is the term of the first member that said so: its leader's. A candidate whose votes were long under way may
//! learn that it won term T after term T+1 has committed; nothing is asked of it. The other way round, what an old leader commits late
//! must already be in the log of the newer one, and that is checked when the old one says so.

use std::collections::BTreeMap;

use super::Property;
use super::logs::{At, Entry, Logs};
use crate::ids::MemberId;
use crate::record::{EtcdRecord, RaftRecord, Record};

/// The highest index committed in each term, and its entry.
#[derive(Clone, Debug, Default)]
pub(super) struct LeaderCompleteness {
    committed: BTreeMap<u64, (u64, Option<Entry>)>,
}

impl LeaderCompleteness {
    /// A new leader has all that was committed in lower terms. The highest such entry stands for all before it: its hash covers them.
    fn led(&self, member: MemberId, term: u64, logs: &Logs) -> Result<(), String> {
        let highest = self.committed.range(..term).map(|(committed_in, (index, entry))| (*index, *entry, *committed_in));
        let Some((index, entry, committed_in)) = highest.max_by_key(|(index, ..)| *index) else { return Ok(()) };
        if logs.of(member.index).at(index).contradicts(entry) {
            let who = logs.name(member.index);
            return Err(format!("{who} leads term {term} without entry {index}, committed in term {committed_in}"));
        }
        Ok(())
    }

    fn committed(&mut self, member: MemberId, term: u64, index: u64, logs: &Logs) -> Result<(), String> {
        let log = logs.of(member.index);
        let who = logs.name(member.index);
        let entry = match log.at(index) {
            At::Nothing => return Err(format!("{who} commits entry {index}, and its log ends at {}", log.last())),
            At::Unknown => None,
            At::Entry(entry) => Some(entry),
        };
        if let Some(entry) = entry.filter(|e| logs.leads(member.index) == Some(term) && e.term != term) {
            return Err(format!("{who}, leader of term {term}, committed entry {index} of term {} by counting", entry.term));
        }
        if index > logs.committed() {
            let highest = self.committed.entry(term).or_insert((index, entry));
            if index > highest.0 {
                *highest = (index, entry);
            }
            newer_leader_has(term, index, entry, logs)?;
        }
        Ok(())
    }
}

impl Property for LeaderCompleteness {
    const NAME: &'static str = "leader completeness";

    fn check(&mut self, record: &Record, logs: &Logs) -> Result<(), String> {
        match record {
            Record::Etcd(EtcdRecord::Raft(RaftRecord::Led { member, term, .. })) => self.led(*member, *term, logs),
            Record::Etcd(EtcdRecord::Raft(RaftRecord::Committed { member, term, index })) => {
                self.committed(*member, *term, *index, logs)
            }
            _ => Ok(()),
        }
    }
}

/// Whether a leader of a higher term has what a lower one commits now.
fn newer_leader_has(term: u64, index: u64, entry: Option<Entry>, logs: &Logs) -> Result<(), String> {
    match logs.leader() {
        Some((leader, newer)) if newer > term && logs.of(leader).at(index).contradicts(entry) => {
            let leader = logs.name(leader);
            Err(format!("{leader} leads term {newer} without entry {index}, committed in term {term}"))
        }
        _ => Ok(()),
    }
}
