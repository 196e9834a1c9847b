//! State machine safety: if a server has applied a log entry at a given index to its state machine, no other server will ever apply a
//! different log entry for the same index (§5.4.3, Figure 3).
//!
//! Committing is promising to apply, so a commit is compared too, and so is a snapshot: restoring one applies all it covers. A restart
//! may apply again what it had applied; it must be the same.

use super::Property;
use super::logs::{At, Entry, Logs};
use super::table::Table;
use crate::ids::MemberId;
use crate::record::{EtcdRecord, RaftRecord, Record};

/// What was applied at each index of the window.
#[derive(Clone, Debug, Default)]
pub(super) struct StateMachineSafety {
    applied: Table<Entry>,
}

impl StateMachineSafety {
    fn applied(&mut self, member: MemberId, index: u64, entry: Entry, logs: &Logs) -> Result<(), String> {
        let who = logs.name(member.index);
        if let Some(first) = self.applied.get(index).or(logs.committed_entry(index).as_ref())
            && *first != entry
        {
            let (a, b) = (entry.term, first.term);
            return Err(format!("{who} applied entry {index} of term {a}, another member a different one of term {b}"));
        }
        if self.applied.end().is_none_or(|end| index >= end) {
            self.applied.push(index, entry);
        }
        Ok(())
    }
}

impl Property for StateMachineSafety {
    const NAME: &'static str = "state machine safety";

    fn check(&mut self, record: &Record, logs: &Logs) -> Result<(), String> {
        match record {
            Record::Etcd(EtcdRecord::Raft(
                RaftRecord::Applied { member, index, term, chain }
                | RaftRecord::Flowed { member, index, term, chain }
                | RaftRecord::Restored { member, index, term, chain },
            )) => self.applied(*member, *index, Entry { term: *term, chain: *chain }, logs),
            Record::Etcd(EtcdRecord::Raft(RaftRecord::Committed { member, index, .. })) => {
                let (Some(first), At::Entry(own)) = (logs.committed_entry(*index), logs.of(member.index).at(*index)) else {
                    return Ok(());
                };
                if first == own {
                    return Ok(());
                }
                let who = logs.name(member.index);
                let (a, b) = (own.term, first.term);
                Err(format!("{who} committed entry {index} of term {a}, another member a different one of term {b}"))
            }
            _ => Ok(()),
        }
    }
}
