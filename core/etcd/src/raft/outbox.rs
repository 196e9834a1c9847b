//! What a step of raft leaves behind for the server around it: messages, confirmed reads, and facts for the records.

use super::entry::Token;
use super::message::Message;

/// What a step leaves behind for the server.
#[derive(Clone, Debug, Default)]
pub struct Outbox {
    /// To be sent when the disk allows.
    pub messages: Vec<Message>,
    /// Confirmed reads.
    pub read_states: Vec<ReadState>,
    /// For the records, in order.
    pub notes: Vec<Note>,
    /// Proposals nobody took: their requests fail.
    pub dropped: Vec<Token>,
}

/// Things worth a record.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Note {
    /// Asks for votes in `term`.
    Campaign {
        /// The term.
        term: u64,
        /// Only asks whether it would win.
        pre_vote: bool,
    },
    /// It won the election of its term.
    Elected,
    /// Leads no more.
    SteppedDown {
        /// The term it led.
        term: u64,
        /// Why it steps down.
        reason: StepDownReason,
    },
    /// Entries are new.
    Appended {
        /// The first.
        from: u64,
        /// The last.
        to: u64,
    },
    /// Entries from this index on are gone.
    Truncated {
        /// First index gone.
        from: u64,
    },
    /// The log is a snapshot now.
    Restored,
    /// The commit index moved.
    Committed,
    /// As leader it has committed an entry of its own term: now it knows how far its log is committed, and serves.
    Established,
}

/// Why a leader steps down.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum StepDownReason {
    /// It heard of a higher term.
    HigherTerm,
    /// No majority answered for an election timeout.
    QuorumInactive,
    /// It was removed.
    Removed,
}

/// A read index that is confirmed for this member.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ReadState {
    /// Its number.
    pub context: u64,
    /// What must be applied before it is answered.
    pub index: u64,
}
