//! The logs of a cluster's members, as their records tell (the properties of Figure 3 in the raft paper).
//!
//! A log is mirrored from the member's own committed index on: what lies below was compared with what the cluster had committed when
//! the member learned of it, and is then the cluster's. So each mirror is as long as the member is uncertain, not as the log is. A log
//! is what its member's *disk* will hold when all under way is written: an entry appended but not synced is in it, and leaves it with
//! [`RaftRecord::Truncated`] if the power goes first.
//!
//! Members start with the cluster's `revision` (or their own, where they start behind) committed; the hash of that prefix is not known,
//! and comparing with something unknown proves nothing and breaks nothing.

use std::collections::VecDeque;

use super::table::Table;
use crate::observe::voters::Voters;
use crate::record::{EtcdRecord, RaftRecord, Record};
use crate::scenario::EtcdClusterSpec;

/// An entry: its term, and the hash of the log up to and with it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Entry {
    /// Term it was proposed in.
    pub term: u64,
    /// Hash of the log up to and with it.
    pub chain: u64,
}

/// What a log has at an index.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum At {
    /// Nothing: the log ends before.
    Nothing,
    /// Something committed that is no longer kept, or was never seen.
    Unknown,
    /// This entry.
    Entry(Entry),
}

impl At {
    /// Whether this is surely not that entry.
    pub fn contradicts(self, entry: Option<Entry>) -> bool {
        match (self, entry) {
            (Self::Nothing, _) => true,
            (Self::Entry(a), Some(b)) => a != b,
            (Self::Unknown, _) | (Self::Entry(_), None) => false,
        }
    }
}

/// One member's log from its committed index on.
#[derive(Clone, Debug, Default)]
pub struct Log {
    /// Index of the last entry before `entries`.
    base: u64,
    /// The entry at `base`, where it was seen.
    at_base: Option<Entry>,
    entries: VecDeque<Entry>,
    /// Its volume lost everything.
    wiped: bool,
}

impl Log {
    /// Last index.
    pub fn last(&self) -> u64 {
        self.base + self.entries.len() as u64
    }

    /// What it has at an index.
    pub fn at(&self, index: u64) -> At {
        if self.wiped { At::Nothing } else { self.had(index) }
    }

    /// What it has, or had when its volume was lost.
    pub fn had(&self, index: u64) -> At {
        if index > self.last() {
            At::Nothing
        } else if index > self.base {
            At::Entry(self.entries[(index - self.base - 1) as usize])
        } else {
            self.at_base.filter(|_| index == self.base).map_or(At::Unknown, At::Entry)
        }
    }

    /// Whether its volume was lost.
    pub fn wiped(&self) -> bool {
        self.wiped
    }

    fn append(&mut self, index: u64, entry: Entry) {
        // An append over entries that were not said to be truncated, or behind a hole, is a violation of log matching; go on with it.
        self.truncate(index);
        if index != self.last() + 1 {
            *self = Self { base: index - 1, ..Self::default() };
        }
        self.entries.push_back(entry);
    }

    fn truncate(&mut self, from: u64) {
        if from <= self.base {
            *self = Self { base: from.saturating_sub(1), wiped: self.wiped, ..Self::default() };
        } else {
            self.entries.truncate((from - self.base - 1) as usize);
        }
    }

    /// Everything up to `index` is committed and compared.
    fn mark_committed(&mut self, index: u64) {
        while self.base < index {
            self.at_base = self.entries.pop_front();
            self.base += 1;
            if self.at_base.is_none() {
                self.base = index;
            }
        }
    }
}

/// The logs of one cluster, what it has committed, who votes and who leads.
#[derive(Clone, Debug)]
pub struct Logs {
    members: Vec<Log>,
    names: Vec<String>,
    voters: Voters,
    voters_before: Voters,
    /// Index of the entry that made the last change.
    changed_at: u64,
    /// Index applied last, by whomever; and by each member.
    last_applied: u64,
    applied: Vec<u64>,
    committed: u64,
    entries: Table<Option<Entry>>,
    /// The member last elected in the highest term, while its log is what it led with.
    leader: Option<(u8, u64)>,
    /// The term each member leads, while it does.
    leads: Vec<Option<u64>>,
}

impl Logs {
    /// As the cluster starts.
    pub fn new(cluster: &EtcdClusterSpec) -> Self {
        let log = |m: &crate::scenario::Member| {
            let base = if m.initial { m.behind.map_or(cluster.first_index(), |(revision, _)| revision) } else { 0 };
            Log { base, ..Log::default() }
        };
        Self {
            members: cluster.members.iter().map(log).collect(),
            names: cluster.members.iter().map(|m| m.name.clone()).collect(),
            voters: Voters::new(cluster),
            voters_before: Voters::new(cluster),
            changed_at: 0,
            last_applied: 0,
            applied: vec![0; cluster.members.len()],
            committed: cluster.first_index(),
            entries: Table::default(),
            leader: None,
            leads: vec![None; cluster.members.len()],
        }
    }

    /// A member has begun a cluster of its own with its entries up to `index`; the others have nothing in it.
    pub fn forked(cluster: &EtcdClusterSpec, fork: &Record, member: u8, index: u64) -> Self {
        let mut logs = Self::new(cluster);
        logs.members.iter_mut().for_each(|log| *log = Log::default());
        logs.members[member as usize].base = index;
        logs.committed = index;
        logs.applied[member as usize] = index;
        logs.voters.record(fork);
        logs.voters_before.record(fork);
        logs
    }

    /// A member's log.
    pub fn of(&self, member: u8) -> &Log {
        &self.members[member as usize]
    }

    /// A member's name.
    pub fn name(&self, member: u8) -> &str {
        &self.names[member as usize]
    }

    /// Who votes.
    pub fn voters(&self) -> &Voters {
        &self.voters
    }

    /// Who votes as this member knows: a change of membership counts from its application on, at each member by itself. Nobody is more
    /// than one change behind: the next is proposed when the last is committed, and appends tell so.
    pub fn voters_of(&self, member: u8) -> &Voters {
        if self.applied[member as usize] < self.changed_at { &self.voters_before } else { &self.voters }
    }

    /// The highest index known to be committed.
    pub fn committed(&self) -> u64 {
        self.committed
    }

    /// The committed entry at an index, if it was seen and is kept.
    pub fn committed_entry(&self, index: u64) -> Option<Entry> {
        *self.entries.get(index)?
    }

    /// The member elected in the highest term so far, and that term; `None` once its process is gone.
    pub fn leader(&self) -> Option<(u8, u64)> {
        self.leader
    }

    /// The term this member leads.
    pub fn leads(&self, member: u8) -> Option<u64> {
        self.leads[member as usize]
    }

    /// Takes a record of this cluster in.
    pub fn record(&mut self, record: &Record) {
        match record {
            Record::Etcd(EtcdRecord::Raft(raft)) => self.raft(*raft),
            Record::Etcd(EtcdRecord::Membership { refused: None, .. }) => {
                self.voters_before = self.voters.clone();
                self.changed_at = self.last_applied;
                self.voters.record(record);
            }
            Record::Etcd(EtcdRecord::SteppedDown { member, .. }) => self.leads[member.index as usize] = None,
            Record::Etcd(EtcdRecord::MemberStopped { member, .. }) => {
                self.leads[member.index as usize] = None;
                self.leader.take_if(|(m, _)| *m == member.index);
            }
            _ => {}
        }
    }

    fn raft(&mut self, raft: RaftRecord) {
        match raft {
            RaftRecord::Led { member, term, .. } => {
                self.leads[member.index as usize] = Some(term);
                if self.leader.is_none_or(|(_, highest)| term > highest) {
                    self.leader = Some((member.index, term));
                }
            }
            RaftRecord::Appended { member, index, term, chain } => {
                self.members[member.index as usize].append(index, Entry { term, chain });
            }
            RaftRecord::Truncated { member, from } => self.members[member.index as usize].truncate(from),
            RaftRecord::Restored { member, index, term, chain } | RaftRecord::Flowed { member, index, term, chain } => {
                self.applied[member.index as usize] = index;
                let at_base = Some(Entry { term, chain });
                self.members[member.index as usize] = Log { base: index, at_base, ..Log::default() };
            }
            RaftRecord::Committed { member, index, .. } => self.commit(member.index, index),
            RaftRecord::Wiped { member } => {
                self.members[member.index as usize].wiped = true;
            }
            RaftRecord::Applied { member, index, .. } => {
                self.applied[member.index as usize] = index;
                self.last_applied = index;
            }
            RaftRecord::HardState { .. } | RaftRecord::Promised { .. } => {}
        }
    }

    fn commit(&mut self, member: u8, index: u64) {
        let log = &mut self.members[member as usize];
        for new in self.committed + 1..=index.min(log.last()) {
            let entry = if let At::Entry(entry) = log.at(new) { Some(entry) } else { None };
            self.entries.push(new, entry);
        }
        self.committed = self.committed.max(index.min(log.last()));
        log.mark_committed(index.min(log.last()));
    }
}
