//! The replicated log: counters and sizes, never payloads.
//!
//! ```text
//!  compacted      | entries (in memory)                                   |
//!  ... offset     | offset+1 ........ applied .. committed ....... last   |
//!                 |        ...... stable ...... written ................  |
//! ```
//!
//! `written` entries are in the page cache (a killed process keeps them), `stable` ones on disk (a power loss keeps them).

use super::entries::Entries;
use zonefall_scenario::ids::ClientId;
use zonefall_scenario::{Change, Op};

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
    Grant,
    /// Deletes a range of keys.
    Delete {
        /// How many.
        keys: u32,
        /// Bytes of a key.
        key_bytes: u32,
    },
    /// Changes the membership.
    Conf(ConfChange),
}

impl Command {
    /// What a client's request becomes; `None`: it is no write.
    pub const fn of(op: Op) -> Option<Self> {
        match op {
            Op::Put { key_bytes, value_bytes } => Some(Self::Put { key_bytes, value_bytes }),
            Op::Txn { change, key_bytes, value_bytes } => Some(Self::Txn { change, key_bytes, value_bytes }),
            Op::Grant => Some(Self::Grant),
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

/// The log of one member.
#[derive(Clone, Debug)]
pub struct Log {
    entries: Entries<Entry>,
    offset: u64,
    offset_term: u64,
    offset_chain: u64,
    /// Known to be committed.
    pub committed: u64,
    /// Applied to the database.
    pub applied: u64,
    /// Written to the log file.
    pub written: u64,
    /// Synced to disk.
    pub stable: u64,
}

impl Log {
    /// A log whose first `index` entries were committed, applied and compacted long ago.
    pub fn compacted(index: u64, term: u64, chain: u64) -> Self {
        Self {
            entries: Entries::default(),
            offset: index,
            offset_term: term,
            offset_chain: chain,
            committed: index,
            applied: index,
            written: index,
            stable: index,
        }
    }

    /// Last index.
    pub fn last(&self) -> u64 {
        self.offset + self.entries.len() as u64
    }

    /// Term of the last entry.
    pub fn last_term(&self) -> u64 {
        self.entries.last().map_or(self.offset_term, |entry| entry.term)
    }

    /// First index still here.
    pub fn first(&self) -> u64 {
        self.offset + 1
    }

    /// Term of the entry at `index`; `None` if compacted or not there yet.
    pub fn term(&self, index: u64) -> Option<u64> {
        if index == self.offset { Some(self.offset_term) } else { self.get(index).map(|entry| entry.term) }
    }

    /// Hash of the log up to `index`.
    pub fn chain(&self, index: u64) -> Option<u64> {
        if index == self.offset { Some(self.offset_chain) } else { self.get(index).map(|entry| entry.chain) }
    }

    /// The entry at `index`.
    pub fn get(&self, index: u64) -> Option<&Entry> {
        self.entries.get(usize::try_from(index.checked_sub(self.offset + 1)?).ok()?)
    }

    /// Appends one entry at the end; returns its index.
    pub fn push(&mut self, term: u64, token: Token, command: Command) -> u64 {
        let before = self.entries.last().map_or(self.offset_chain, |entry| entry.chain);
        self.entries.push(Entry { term, chain: link(before, term, command, token), token, command });
        self.last()
    }

    /// Appends an entry another log holds at the next index.
    pub fn push_copy(&mut self, entry: Entry) -> u64 {
        self.entries.push(entry);
        self.last()
    }

    /// Removes the entries from `from` on.
    pub fn truncate(&mut self, from: u64) {
        assert!(from > self.committed, "entry {from} is committed (up to {}) and cannot be truncated", self.committed);
        self.drop_tail(from);
    }

    /// Like [`Log::truncate`], for entries a power loss took: what is known to be committed falls back too.
    pub fn drop_tail(&mut self, from: u64) {
        self.entries.truncate((from - self.offset - 1) as usize);
        let last = from - 1;
        self.committed = self.committed.min(last);
        self.applied = self.applied.min(last);
        self.written = self.written.min(last);
        self.stable = self.stable.min(last);
    }

    /// Forgets the entries up to and with `index`, which are applied.
    pub fn compact(&mut self, index: u64) {
        if index <= self.offset {
            return;
        }
        self.offset_term = self.term(index).expect("an applied entry is in the log");
        self.offset_chain = self.chain(index).expect("an applied entry is in the log");
        self.entries.forget((index - self.offset) as usize);
        self.offset = index;
    }

    /// Whether a log that ends so is at least as up to date as this one (raft paper, section 5.4.1).
    pub fn is_up_to_date(&self, index: u64, term: u64) -> bool {
        (term, index) >= (self.last_term(), self.last())
    }

    /// Largest index up to `index` whose term is at most `term`, with its term (0 where it was compacted).
    pub fn conflict_by_term(&self, mut index: u64, term: u64) -> (u64, u64) {
        loop {
            match self.term(index) {
                None => return (index, 0),
                Some(own) if own <= term || index == 0 => return (index, own),
                Some(_) => index -= 1,
            }
        }
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
        Command::Grant => 11,
        Command::Delete { keys, .. } => 3 | u64::from(keys) << 8,
        Command::Conf(ConfChange::AddVoter(index)) => 4 | u64::from(index) << 8,
        Command::Conf(ConfChange::AddLearner(index)) => 5 | u64::from(index) << 8,
        Command::Conf(ConfChange::Remove(index)) => 6 | u64::from(index) << 8,
    };
    let who = u64::from(token.slot) << 16 ^ u64::from(token.client.0) ^ u64::from(token.generation) << 32;
    let mut hash = before;
    for word in [term, what, who] {
        hash = (hash ^ word).wrapping_mul(0x9E37_79B9_7F4A_7C15);
        hash ^= hash >> 32;
    }
    hash
}
