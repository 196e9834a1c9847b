//! What members say to each other, with the reason for each kind.

use crate::database::Database;
use crate::raft::batch::Batch;
use crate::raft::quorum::{Members, Quorum};

/// A raft message (`raftpb.Message`). Fields a kind does not use are zero.
#[derive(Clone, Debug)]
pub struct Message {
    /// What it is.
    pub kind: Kind,
    /// Member that sent the message.
    pub from: u8,
    /// Member that receives the message.
    pub to: u8,
    /// The sender's term; 0 for messages that take no part in terms ([`Kind::Propose`], [`Kind::ReadIndex`]).
    pub term: u64,
    /// Term of the entry at `index` (appends, votes), or of the hint (rejections).
    pub log_term: u64,
    /// Entry the append follows, last entry of a candidate, acknowledged index, read index.
    pub index: u64,
    /// The leader's commit index.
    pub commit: u64,
    /// A refusal.
    pub reject: bool,
    /// Where the follower's log may match.
    pub hint: u64,
    /// Read-index rounds: the round; a forced vote: 1. Zero: none.
    pub context: u64,
    /// Entries to append, or to propose.
    pub entries: Batch,
    /// The database, for [`Kind::Snapshot`].
    pub snapshot: Option<Box<Snapshot>>,
}

/// Kinds of message.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, serde::Serialize, serde::Deserialize)]
pub enum Kind {
    /// Would you vote for me? Asked before the term is raised, so that a member which cannot win does not disturb a leader.
    PreVote,
    /// Answer to it; carries the term asked for when granted, the voter's own when not.
    PreVoteResponse,
    /// Vote for me.
    Vote,
    /// Answer to it.
    VoteResponse,
    /// Entries to append, or none to tell how far is committed.
    Append,
    /// Acknowledges entries up to `index`, or refuses and hints where to try next.
    AppendResponse,
    /// I still lead; resets election clocks. With a context: confirms the leader to pending reads.
    Heartbeat,
    /// Answer to it.
    HeartbeatResponse,
    /// The whole database, for a follower whose next entry was compacted away.
    Snapshot,
    /// A proposal on its way to the leader.
    Propose,
    /// Which index must I have applied to answer a linearizable read?
    ReadIndex,
    /// Answer to it.
    ReadIndexResponse,
    /// Campaign at once: you take over (leadership transfer).
    TimeoutNow,
}

/// What a snapshot stands for.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Snapshot {
    /// Last index applied to it.
    pub index: u64,
    /// Term of that entry.
    pub term: u64,
    /// Hash of the log up to it.
    pub chain: u64,
    /// Voters then.
    pub voters: Quorum,
    /// Learners then.
    pub learners: Members,
    /// The database.
    pub database: Database,
}

impl Message {
    /// A message of `kind`, everything else zero.
    pub fn new(kind: Kind, from: u8, to: u8) -> Self {
        Self {
            kind,
            from,
            to,
            term: 0,
            log_term: 0,
            index: 0,
            commit: 0,
            reject: false,
            hint: 0,
            context: 0,
            entries: Batch::default(),
            snapshot: None,
        }
    }

    /// Candidate that the sender tells others it votes for: itself where it asks for votes, whom it answers where it grants one.
    pub const fn promised_vote(&self) -> Option<u8> {
        match self.kind {
            Kind::Vote => Some(self.from),
            Kind::VoteResponse if !self.reject => Some(self.to),
            _ => None,
        }
    }
}
