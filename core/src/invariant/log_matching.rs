//! Log matching: if two logs contain an entry with the same index and term, then the logs are identical in all entries up through that
//! index (§5.3, Figure 3). An entry's `chain` is the hash of everything up through it, so the property is: same index and term, same
//! chain, whoever appended it and whenever.
//!
//! With it goes what makes a log a log: an append comes right after the last entry (what it replaces must have been truncated first),
//! and terms never decrease along it.

use smallvec::SmallVec;

use super::Property;
use super::logs::{At, Entry, Logs};
use super::table::Table;
use crate::ids::MemberId;
use crate::record::{EtcdRecord, RaftRecord, Record};

/// The entries ever seen at each index of the window.
#[derive(Clone, Debug, Default)]
pub(super) struct LogMatching {
    /// By index; nearly always one entry.
    seen: Table<SmallVec<[Entry; 1]>>,
}

impl LogMatching {
    fn saw(&mut self, index: u64, entry: Entry, who: &str) -> Result<(), String> {
        let Some(seen) = self.seen.get_mut(index) else {
            // Before the window: forgotten. After it: new.
            if self.seen.end().is_none_or(|end| index >= end) {
                self.seen.push(index, SmallVec::from_elem(entry, 1));
            }
            return Ok(());
        };
        let Entry { term, chain } = entry;
        match seen.iter().find(|e| e.term == term) {
            None => {
                seen.push(entry);
                Ok(())
            }
            Some(same) if same.chain == chain => Ok(()),
            Some(_) => Err(format!("the log of {who} has entry {index} of term {term} like another's, but differs before it")),
        }
    }

    /// A member has lost its entries from an index on. Who votes alone leads before its term is written (raft's `campaign`): without power
    /// it loses the term with the entries, and nobody was told of either. It may lead in that term again, and append others.
    fn lost(&mut self, member: MemberId, from: u64, logs: &Logs) {
        let log = logs.of(member.index);
        if logs.voters_of(member.index).count() > 1 {
            return;
        }
        for index in from..=log.last() {
            if let (At::Entry(lost), Some(seen)) = (log.at(index), self.seen.get_mut(index)) {
                seen.retain(|entry| *entry != lost);
            }
        }
    }
}

impl Property for LogMatching {
    const NAME: &'static str = "log matching";

    fn check(&mut self, record: &Record, logs: &Logs) -> Result<(), String> {
        match record {
            Record::Etcd(EtcdRecord::Raft(RaftRecord::Appended { member, index, term, chain })) => {
                follows(logs, *member, *index, *term)?;
                self.saw(*index, Entry { term: *term, chain: *chain }, logs.name(member.index))
            }
            Record::Etcd(EtcdRecord::Raft(
                RaftRecord::Restored { member, index, term, chain } | RaftRecord::Flowed { member, index, term, chain },
            )) => self.saw(*index, Entry { term: *term, chain: *chain }, logs.name(member.index)),
            Record::Etcd(EtcdRecord::Raft(RaftRecord::Truncated { member, from })) => {
                self.lost(*member, *from, logs);
                Ok(())
            }
            _ => Ok(()),
        }
    }
}

/// Whether an entry fits behind a log's last one.
fn follows(logs: &Logs, member: MemberId, index: u64, term: u64) -> Result<(), String> {
    let (log, who) = (logs.of(member.index), logs.name(member.index));
    if index != log.last() + 1 {
        return Err(format!("{who} appended entry {index} to a log that ends at {}", log.last()));
    }
    match log.at(log.last()) {
        At::Entry(last) if last.term > term => {
            Err(format!("{who} appended entry {index} of term {term} behind one of term {}", last.term))
        }
        _ => Ok(()),
    }
}
