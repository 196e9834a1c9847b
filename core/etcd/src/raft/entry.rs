//! An entry of the log: who wants what, and the hash of everything up to it.

use zonefall_scenario::ids::ClientId;
use zonefall_scenario::{Change, Lease, Op};

/// One entry.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Entry {
    /// Term in which a leader appended it.
    pub term: u64,
    /// Hash of the log up to and with this entry: equal where two logs are equal up to here.
    pub chain: u64,
    /// Which request waits for it; [`Token::NONE`] for none.
    pub token: Token,
    /// What it does when applied.
    pub command: Command,
}

/// A request at the member that took it: slot and generation in its client's list of requests.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Token {
    /// Slot of the request at its client.
    pub slot: u32,
    /// Generation of the slot.
    pub generation: u32,
    /// Whose request it is.
    pub client: ClientId,
    /// The member that will answer.
    pub member: u8,
}

impl Token {
    /// Nobody waits.
    pub const NONE: Self = Self { slot: u32::MAX, generation: 0, client: ClientId(u16::MAX), member: u8::MAX };
}

/// What an entry does.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Command {
    /// Nothing: a new leader's first entry.
    Empty,
    /// Writes a key.
    Put {
        /// Bytes of the key.
        key_bytes: u32,
        /// Bytes of the value.
        value_bytes: u32,
    },
    /// Writes a key if it has not changed.
    Txn {
        /// What becomes of it.
        change: Change,
        /// Bytes of the key.
        key_bytes: u32,
        /// Bytes of the value.
        value_bytes: u32,
    },
    /// Grants a lease.
    Grant(Lease),
    /// Ends a lease, and deletes its keys.
    Revoke {
        /// Bytes the database grows by.
        grows: u32,
        /// Bytes of the revisions that it supersedes.
        supersedes: u32,
    },
    /// Deletes a range of keys.
    Delete {
        /// How many.
        keys: u32,
        /// Bytes of a key.
        key_bytes: u32,
    },
    /// Changes the membership.
    Conf(ConfChange),
    /// One of the writes that flow ([`flow`](crate::flow)): what they are on average.
    Flowing {
        /// Bytes of the request, encoded.
        request_bytes: u32,
        /// Bytes the database grows by.
        grows: u32,
        /// Bytes of the revisions that it supersedes.
        supersedes: u32,
    },
    /// Frees the revisions that were superseded before the compaction before it.
    Compact,
    /// Frees all revisions that were superseded.
    CompactAll,
    /// The database of this member is full: the NOSPACE alarm.
    Alarm(u8),
    /// The alarm is off.
    Disarm,
}

impl Command {
    /// What a client's request becomes; `None`: it is no write.
    pub const fn of(op: Op) -> Option<Self> {
        match op {
            Op::Put { key_bytes, value_bytes } => Some(Self::Put { key_bytes, value_bytes }),
            Op::Txn { change, key_bytes, value_bytes } => Some(Self::Txn { change, key_bytes, value_bytes }),
            Op::Grant(lease) => Some(Self::Grant(lease)),
            Op::Delete { keys, key_bytes } => Some(Self::Delete { keys, key_bytes }),
            Op::Range { .. } | Op::Watch => None,
        }
    }
}

/// A change of one member (`raftpb.ConfChange`).
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum ConfChange {
    /// A new voter, or a learner that gets its vote.
    AddVoter(u8),
    /// A new learner.
    AddLearner(u8),
    /// The member is removed.
    Remove(u8),
}

impl Entry {
    /// An entry behind one of this hash.
    pub(super) fn after(before: u64, term: u64, token: Token, command: Command) -> Self {
        Self { term, chain: link(before, term, command, token), token, command }
    }

    /// The entry `places` behind this one in a run; at 0 the entry itself.
    pub(super) fn later(&self, places: u64) -> Self {
        let step = self.flow_step().unwrap_or_default();
        Self { chain: self.chain.wrapping_add(step.wrapping_mul(places)), ..*self }
    }

    /// What its hash has more than that of the entry before, if it flows.
    pub(super) fn flow_step(&self) -> Option<u64> {
        let Command::Flowing { request_bytes, grows, supersedes } = self.command else { return None };
        let what = u64::from(request_bytes) << 32 | u64::from(grows);
        Some(mix(mix(self.term, what), supersedes.into()) | 1)
    }
}

/// Hash of a log that ends with this entry.
fn link(before: u64, term: u64, command: Command, token: Token) -> u64 {
    let what = match command {
        Command::Empty => 1,
        Command::Put { key_bytes, value_bytes } => 2 | u64::from(key_bytes) << 8 ^ u64::from(value_bytes) << 32,
        Command::Txn { change, key_bytes, value_bytes } => {
            (7 + change as u64) | u64::from(key_bytes) << 8 ^ u64::from(value_bytes) << 32
        }
        Command::Grant(_) => 11,
        Command::Delete { keys, .. } => 3 | u64::from(keys) << 8,
        Command::Conf(ConfChange::AddVoter(index)) => 4 | u64::from(index) << 8,
        Command::Conf(ConfChange::AddLearner(index)) => 5 | u64::from(index) << 8,
        Command::Conf(ConfChange::Remove(index)) => 6 | u64::from(index) << 8,
        Command::Compact => 12,
        Command::CompactAll => 13,
        Command::Alarm(index) => 14 + (u64::from(index) << 8),
        Command::Disarm => 15,
        Command::Revoke { grows, supersedes } => 16 | u64::from(grows) << 8 ^ u64::from(supersedes) << 32,
        Command::Flowing { .. } => {
            let entry = Entry { term, chain: 0, token, command };
            return before.wrapping_add(entry.flow_step().expect("it flows"));
        }
    };
    let who = u64::from(token.slot) << 16 ^ u64::from(token.client.0) ^ u64::from(token.generation) << 32;
    [term, what, who].into_iter().fold(before, mix)
}

fn mix(hash: u64, word: u64) -> u64 {
    let hash = (hash ^ word).wrapping_mul(0x9E37_79B9_7F4A_7C15);
    hash ^ hash >> 32
}
