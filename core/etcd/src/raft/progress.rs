//! What a leader knows of one follower (`etcd-io/raft/tracker/progress.go`).

use std::collections::VecDeque;

/// How the leader sends to a follower.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum State {
    /// One append at a time until the place where the logs agree is found.
    Probe,
    /// Pipelined, without waiting for answers.
    Replicate,
    /// Nothing, until the snapshot with this index is there.
    Snapshot(u64),
}

/// A follower as its leader sees it.
#[derive(Clone, Debug)]
pub struct Progress {
    /// Largest index known to be in its log, on disk.
    pub matched: u64,
    /// Next index to send.
    pub next: u64,
    /// How the leader replicates to it.
    pub state: State,
    /// Wait for an answer, or a heartbeat's, before the next append.
    pub paused: bool,
    /// Heard since the last check of the quorum.
    pub recent_active: bool,
    /// Last indices of the appends under way.
    inflight: VecDeque<u64>,
}

impl Progress {
    /// Nothing known: probe from the end of the leader's log.
    pub fn new(last: u64) -> Self {
        Self { matched: 0, next: last + 1, state: State::Probe, paused: false, recent_active: false, inflight: VecDeque::new() }
    }

    fn reset(&mut self, state: State) {
        self.paused = false;
        self.state = state;
        self.inflight.clear();
    }

    /// Finds the common place again.
    pub fn become_probe(&mut self) {
        self.next = match self.state {
            State::Snapshot(pending) => (self.matched + 1).max(pending + 1),
            State::Probe | State::Replicate => self.matched + 1,
        };
        self.reset(State::Probe);
    }

    /// Pipelines from the matched place on.
    pub fn become_replicate(&mut self) {
        self.reset(State::Replicate);
        self.next = self.matched + 1;
    }

    /// Waits for a snapshot.
    pub fn become_snapshot(&mut self, index: u64) {
        self.reset(State::Snapshot(index));
        self.next = index + 1;
    }

    /// An acknowledgement of `index`; whether it is news.
    pub fn maybe_update(&mut self, index: u64) -> bool {
        if index <= self.matched {
            return false;
        }
        self.matched = index;
        self.next = self.next.max(index + 1);
        self.paused = false;
        true
    }

    /// A refusal of the append after `rejected`; whether it is news.
    pub fn maybe_decrease(&mut self, rejected: u64, hint: u64) -> bool {
        if self.state == State::Replicate {
            if rejected <= self.matched {
                return false;
            }
            self.next = self.matched + 1;
            return true;
        }
        if self.next - 1 != rejected {
            return false;
        }
        self.next = rejected.min(hint + 1).max(self.matched + 1);
        self.paused = false;
        true
    }

    /// No append may be sent now.
    pub fn is_paused(&self) -> bool {
        self.paused || matches!(self.state, State::Snapshot(_))
    }

    /// As many appends are under way as may be.
    pub fn is_full(&self, max_inflight: u32) -> bool {
        self.inflight.len() >= max_inflight as usize
    }

    /// An append with entries up to `last` (or none) has been sent.
    pub fn sent(&mut self, entries: u64, last: u64, max_inflight: u32) {
        match self.state {
            State::Replicate => {
                if entries > 0 {
                    self.next = last + 1;
                    self.inflight.push_back(last);
                }
                self.paused = self.is_full(max_inflight);
            }
            State::Probe => self.paused |= entries > 0,
            State::Snapshot(_) => unreachable!("appends wait for the snapshot"),
        }
    }

    /// Appends up to `index` have arrived.
    pub fn free_to(&mut self, index: u64) {
        while self.inflight.front().is_some_and(|&last| last <= index) {
            self.inflight.pop_front();
        }
    }

    /// No append is under way.
    pub fn is_settled(&self) -> bool {
        self.inflight.is_empty() && !self.paused && self.state == State::Replicate
    }
}
