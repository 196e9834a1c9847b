//! A client's process: one thing at a time, and one link for all of its connections.
//!
//! ```text
//!  request --process--> link up ---path---> member ---path---> link down --process--> done
//! ```
//!
//! Each is first come, first served. That is what a benchmark saturates long before etcd: its own process with small requests, its
//! machine's link with large ones. (Events of watches pass it by.)

use crate::kernel::time::{Duration, Time};
use crate::scenario::cost::{Process as Cost, of_bytes};

/// What keeps a process and its link busy, and until when.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Process {
    /// The process.
    free: Time,
    /// Its link, to others.
    up: Time,
    /// And from them.
    down: Time,
}

impl Process {
    /// The process works on a message of `bytes` that it has at `now`: when it is done.
    pub(super) fn work(&mut self, cost: Cost, now: Time, bytes: u64) -> Time {
        self.free = self.free.max(now) + cost.per_request / 2 + of_bytes(cost.per_mib, bytes);
        self.free
    }

    /// When a message that the process has done at `from`, and the link carries in `transfer`, has left.
    pub(super) fn send(&mut self, from: Time, transfer: Duration) -> Time {
        self.up = self.up.max(from) + transfer;
        self.up
    }

    /// When a message that a member sends at `from` is through the link.
    pub(super) fn receive(&mut self, from: Time, transfer: Duration) -> Time {
        self.down = self.down.max(from) + transfer;
        self.down
    }
}
