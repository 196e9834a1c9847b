//! Election safety: at most one leader can be elected in a given term (§5.2, Figure 3); which rests on each member voting at most once
//! per term, and remembering it on disk (§5.2, Figure 2).
//!
//! A vote that was cast less than an fsync before a power loss may be forgotten, because nobody was told of it. Votes are recorded when
//! they are cast, so that no two of one term can hide in one write; when they were synced the records do not say. So the last vote
//! before a power loss may be cast anew; one before a kill or a stop may not.

use std::collections::BTreeMap;

use super::Property;
use super::logs::Logs;
use crate::ids::MemberId;
use crate::record::{EtcdRecord, RaftRecord, Record, StopReason};

/// Who won which term; each member's last vote.
#[derive(Clone, Debug, Default)]
pub(super) struct ElectionSafety {
    winners: BTreeMap<u64, u8>,
    votes: BTreeMap<u8, Vote>,
}

#[derive(Clone, Copy, Debug)]
struct Vote {
    term: u64,
    candidate: u8,
    /// The power went after it: it may not have reached the disk.
    in_doubt: bool,
}

impl ElectionSafety {
    fn won(&mut self, member: MemberId, term: u64, logs: &Logs) -> Result<(), String> {
        let winner = *self.winners.entry(term).or_insert(member.index);
        if winner == member.index {
            return Ok(());
        }
        Err(format!("{} and {} were both elected in term {term}", logs.name(winner), logs.name(member.index)))
    }

    fn voted(&mut self, member: MemberId, term: u64, candidate: u8, logs: &Logs) -> Result<(), String> {
        let before = self.votes.insert(member.index, Vote { term, candidate, in_doubt: false });
        let Some(before) = before.filter(|v| !v.in_doubt) else { return Ok(()) };
        let voter = logs.name(member.index);
        if before.term > term {
            return Err(format!("{voter} voted in term {term} after it had voted in term {}", before.term));
        }
        if before.term == term && before.candidate != candidate {
            let (a, b) = (logs.name(before.candidate), logs.name(candidate));
            return Err(format!("{voter} voted for both {a} and {b} in term {term}"));
        }
        Ok(())
    }
}

impl Property for ElectionSafety {
    const NAME: &'static str = "election safety";

    fn check(&mut self, record: &Record, logs: &Logs) -> Result<(), String> {
        match record {
            Record::Etcd(EtcdRecord::Elected { member, term } | EtcdRecord::Raft(RaftRecord::Led { member, term, .. })) => {
                self.won(*member, *term, logs)
            }
            Record::Etcd(EtcdRecord::Raft(RaftRecord::Voted { member, term, candidate })) => {
                self.voted(*member, *term, *candidate, logs)
            }
            Record::Etcd(EtcdRecord::MemberStopped { member, reason: StopReason::PowerLost | StopReason::VolumeDetached }) => {
                self.votes.entry(member.index).and_modify(|v| v.in_doubt = true);
                Ok(())
            }
            _ => Ok(()),
        }
    }
}
