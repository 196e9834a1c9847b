//! Linearizable reads: a read may be answered once a majority has confirmed, after it was asked, that the leader still leads
//! (raft thesis, section 6.4; `etcd-io/raft/read_only.go`).

use std::collections::VecDeque;

use crate::raft::quorum::{Members, Quorum};

/// A read index that waits for its confirmation.
#[derive(Clone, Copy, Debug)]
pub struct Pending {
    /// Who asked.
    pub from: u8,
    /// Its number there.
    pub context: u64,
    /// The commit index when it was asked.
    pub index: u64,
    acks: Members,
}

/// The leader's queue of them.
#[derive(Clone, Debug, Default)]
pub struct ReadOnly {
    queue: VecDeque<Pending>,
}

impl ReadOnly {
    /// Asks for `index`; a repeated question changes nothing.
    pub fn add(&mut self, from: u8, context: u64, index: u64, me: u8) {
        if !self.queue.iter().any(|pending| pending.context == context) {
            self.queue.push_back(Pending { from, context, index, acks: Members::from_iter([me]) });
        }
    }

    /// The context a periodic heartbeat carries: the last question, 0 for none.
    pub fn last_context(&self) -> u64 {
        self.queue.back().map_or(0, |pending| pending.context)
    }

    /// `by` confirms the question `context`; those that are confirmed with it leave the queue.
    pub fn acknowledge(&mut self, by: u8, context: u64, voters: Quorum) -> Vec<Pending> {
        let Some(place) = self.queue.iter().position(|pending| pending.context == context) else { return Vec::new() };
        let pending = &mut self.queue[place];
        pending.acks.insert(by);
        let acks = pending.acks;
        if voters.has(|index| acks.contains(index)) { self.queue.drain(..=place).collect() } else { Vec::new() }
    }

    /// Nobody asks.
    pub fn is_empty(&self) -> bool {
        self.queue.is_empty()
    }
}
