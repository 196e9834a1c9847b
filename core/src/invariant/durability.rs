//! Durability: no committed entry is lost while a majority of the voters keeps its disks.
//!
//! An entry is committed once a majority has it on disk (§5.3; persistent state is on stable storage before an answer, Figure 2), so
//! it is still on that majority after any number of crashes. What was appended but not synced may go with the power: then it did not
//! count towards the commit. Only a lost volume takes a committed entry from a disk.
//!
//! Checked: when an index becomes committed, a majority of the voters has it; and whenever a log gets shorter (truncated, replaced by a
//! snapshot, wiped), the highest committed entry is still on a majority of those who voted when it was committed, less those whose
//! volumes were lost since. A member that was removed still counts with its disk for what was committed while it voted.

use smallvec::SmallVec;

use super::Property;
use super::logs::{At, Entry, Logs};
use crate::ids::MemberId;
use crate::observe::voters::Voters;
use crate::record::{EtcdRecord, RaftRecord, Record};
use crate::scenario::EtcdClusterSpec;

/// The highest committed entry, and who must have it.
#[derive(Clone, Debug)]
pub(super) struct Durability {
    index: u64,
    /// `None`: committed before the start.
    entry: Option<Entry>,
    /// Those who voted when it was committed and had their volumes.
    holders: SmallVec<[u8; 9]>,
    majority: usize,
}

impl Durability {
    pub(super) fn new(cluster: &EtcdClusterSpec) -> Self {
        let voters = Voters::new(cluster);
        // Members that start behind do not have it and need not.
        let at_start = |i: &usize| cluster.members[*i].behind.is_none();
        let holders = voters.iter().filter(at_start).map(|i| i as u8).collect();
        Self { index: cluster.first_index(), entry: None, holders, majority: voters.majority() }
    }

    /// A member has begun a cluster of its own with its entries up to `index`.
    pub(super) fn forked(member: u8, index: u64) -> Self {
        Self { index, entry: None, holders: SmallVec::from_elem(member, 1), majority: 1 }
    }

    fn committed(&mut self, member: MemberId, index: u64, logs: &Logs) -> Result<(), String> {
        if index <= self.index {
            return Ok(());
        }
        let At::Entry(entry) = logs.of(member.index).at(index) else { return Ok(()) };
        let had = |i: u8| !logs.of(i).had(index).contradicts(Some(entry));
        let voters = logs.voters_of(member.index);
        *self = Self {
            index,
            entry: Some(entry),
            // What a volume held when it was lost may have been acknowledged before.
            holders: voters.iter().map(|i| i as u8).filter(|i| !logs.of(*i).wiped() || had(*i)).collect(),
            majority: voters.majority(),
        };
        let have = voters.iter().filter(|i| had(*i as u8)).count();
        if have >= self.majority {
            return Ok(());
        }
        let who = logs.name(member.index);
        Err(format!("{who} commits entry {index}, which {have} of {} voters have", voters.count()))
    }

    fn has(&self, member: u8, logs: &Logs) -> bool {
        !logs.of(member).at(self.index).contradicts(self.entry)
    }

    /// Whether enough members keep the entry although `member`'s log is cut to entries up to `last`, or wiped.
    fn keeps(&self, member: MemberId, last: Option<u64>, logs: &Logs) -> Result<(), String> {
        let loses = last.is_none_or(|last| last < self.index);
        if !loses || !self.has(member.index, logs) || !self.holders.contains(&member.index) {
            return Ok(());
        }
        let have = self.holders.iter().filter(|i| **i != member.index && self.has(**i, logs)).count();
        let wiped = |i: &&u8| logs.of(**i).wiped() || (last.is_none() && **i == member.index);
        let excused = self.holders.iter().filter(wiped).count();
        if have + excused >= self.majority {
            return Ok(());
        }
        let who = logs.name(member.index);
        Err(format!(
            "{who} loses entry {}, committed before; {have} members still have it, {excused} volumes were lost",
            self.index
        ))
    }

    fn data_lost(&self, entries: u64, logs: &Logs) -> Result<(), String> {
        let wiped = self.holders.iter().filter(|i| logs.of(**i).wiped()).count();
        // The voters of today may be others than those who committed it.
        let kept = logs.voters().iter().filter(|i| !logs.of(*i as u8).wiped()).count();
        if wiped >= self.majority || kept < logs.voters().majority() {
            return Ok(());
        }
        let voters = self.holders.len();
        Err(format!("{entries} committed entries are lost although only {wiped} of {voters} voters lost their volumes"))
    }
}

impl Property for Durability {
    const NAME: &'static str = "durability";

    fn check(&mut self, record: &Record, logs: &Logs) -> Result<(), String> {
        match record {
            Record::Etcd(EtcdRecord::Raft(RaftRecord::Committed { member, index, .. })) => self.committed(*member, *index, logs),
            Record::Etcd(EtcdRecord::Raft(RaftRecord::Truncated { member, from })) => {
                self.keeps(*member, Some(from.saturating_sub(1)), logs)
            }
            Record::Etcd(EtcdRecord::Raft(RaftRecord::Restored { member, index, .. })) => self.keeps(*member, Some(*index), logs),
            Record::Etcd(EtcdRecord::Raft(RaftRecord::Wiped { member })) => self.keeps(*member, None, logs),
            Record::Etcd(EtcdRecord::DataLost { entries, .. }) => self.data_lost(*entries, logs),
            _ => Ok(()),
        }
    }
}
