//! Election safety: at most one leader can be elected in a given term (§5.2, Figure 3); which rests on each member voting at most once
//! per term, and remembering it on disk before anybody is told (§5.2, Figure 2).
//!
//! ```text
//! cast in memory --write--> HardState --fsync--> HardState, synced --told to others--> Promised
//!   lost by a kill           lost with the power                   never lost
//! ```
//!
//! A vote counts from its write on. One that still waits behind a slow write when its process ends was told to nobody, and the next
//! process may cast another. What was written and not synced may be gone after a power loss; what is told to others is on disk.

use std::collections::BTreeMap;

use super::Property;
use super::logs::Logs;
use crate::ids::MemberId;
use crate::record::{EtcdRecord, RaftRecord, Record, StopReason};

/// Who won which term; each member's last votes.
#[derive(Clone, Debug, Default)]
pub(super) struct ElectionSafety {
    winners: BTreeMap<u64, u8>,
    votes: BTreeMap<u8, Votes>,
}

#[derive(Clone, Copy, Debug, Default)]
struct Votes {
    /// Term and vote as last written: what a killed process keeps.
    written: Option<Vote>,
    /// Those that are kept without power, too.
    synced: Option<Vote>,
    /// The last vote that others were told.
    promised: Option<Vote>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Vote {
    term: u64,
    candidate: Option<u8>,
}

impl Vote {
    /// Whether the same member may have `next` later: a higher term, or a vote where it had none.
    fn permits(self, next: Self) -> bool {
        self.term < next.term || (self.term == next.term && (self.candidate.is_none() || self.candidate == next.candidate))
    }

    /// Whether a member with this on its disk never votes otherwise than `promised` in that term.
    fn keeps(self, promised: Self) -> bool {
        self.term > promised.term || self == promised
    }
}

impl ElectionSafety {
    fn won(&mut self, member: MemberId, term: u64, logs: &Logs) -> Result<(), String> {
        let winner = *self.winners.entry(term).or_insert(member.index);
        if winner == member.index {
            return Ok(());
        }
        Err(format!("{} and {} were both elected in term {term}", logs.name(winner), logs.name(member.index)))
    }

    fn written(&mut self, member: MemberId, vote: Vote, logs: &Logs) -> Result<(), String> {
        let before = self.votes.entry(member.index).or_default().written.replace(vote);
        let broken = before.filter(|before| !before.permits(vote));
        broken.map_or(Ok(()), |before| Err(describe(member, before, vote, logs)))
    }

    fn promised(&mut self, member: MemberId, vote: Vote, logs: &Logs) -> Result<(), String> {
        let votes = self.votes.entry(member.index).or_default();
        if let Some(before) = votes.promised.replace(vote).filter(|before| !before.permits(vote)) {
            return Err(describe(member, before, vote, logs));
        }
        if votes.synced.is_some_and(|synced| synced.keeps(vote)) {
            return Ok(());
        }
        Err(format!("{} told its vote in term {} before its disk had it", logs.name(member.index), vote.term))
    }

    fn stopped(&mut self, member: MemberId, reason: StopReason) {
        self.votes.entry(member.index).and_modify(|votes| match reason {
            StopReason::PowerLost | StopReason::VolumeDetached => votes.written = votes.synced,
            _ => votes.synced = votes.written,
        });
    }
}

fn describe(member: MemberId, before: Vote, vote: Vote, logs: &Logs) -> String {
    let voter = logs.name(member.index);
    let name = |vote: Vote| vote.candidate.map_or("nobody", |candidate| logs.name(candidate));
    if before.term == vote.term {
        format!("{voter} voted for both {} and {} in term {}", name(before), name(vote), vote.term)
    } else {
        format!("{voter} was in term {} after it had been in term {}", vote.term, before.term)
    }
}

impl Property for ElectionSafety {
    const NAME: &'static str = "election safety";

    fn check(&mut self, record: &Record, logs: &Logs) -> Result<(), String> {
        match *record {
            Record::Etcd(EtcdRecord::Elected { member, term } | EtcdRecord::Raft(RaftRecord::Led { member, term, .. })) => {
                self.won(member, term, logs)
            }
            Record::Etcd(EtcdRecord::Raft(RaftRecord::HardState { member, term, vote, synced: false })) => {
                self.written(member, Vote { term, candidate: vote }, logs)
            }
            Record::Etcd(EtcdRecord::Raft(RaftRecord::HardState { member, term, vote, synced: true })) => {
                self.votes.entry(member.index).or_default().synced = Some(Vote { term, candidate: vote });
                Ok(())
            }
            Record::Etcd(EtcdRecord::Raft(RaftRecord::Promised { member, term, candidate })) => {
                self.promised(member, Vote { term, candidate: Some(candidate) }, logs)
            }
            Record::Etcd(EtcdRecord::MemberStopped { member, reason }) => {
                self.stopped(member, reason);
                Ok(())
            }
            _ => Ok(()),
        }
    }
}
