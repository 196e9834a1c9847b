//! The database on the volume: what is applied is committed in batches (`mvcc/backend/backend.go`, `bbolt`).
//!
//! ```text
//!  apply, apply, ... --interval or limit--> commit: shares the volume with the log, then syncs --> apply what has waited
//! ```
//!
//! Each byte is written twice, to the log and to the database: a stream of large values has half the volume. And while a commit holds
//! the lock, nothing is applied and nothing read. [`backend_commit`](super::backend_commit) decides when.

use crate::command_bytes::database_growth;
use crate::raft::entry::{Command, Token};
use zonefall_kernel::time::Time;

/// What a process has applied and not committed.
#[derive(Clone, Debug)]
pub struct Backend {
    /// Bytes written since the last commit.
    pub(super) dirty: u64,
    /// Writes since the last commit.
    pub(super) operations: u32,
    /// The timer was last set.
    pub(super) since: Time,
    /// Reads that wait for its end.
    pub(super) waiting: Vec<Token>,
    /// It is being rewritten without its free pages, and since when.
    pub(super) defragmenting: Option<Time>,
    /// It is to be, once the commit under way is done.
    pub(super) defragments_next: bool,
}

impl Backend {
    /// Of a process that starts now.
    pub fn new(now: Time) -> Self {
        Self { dirty: 0, operations: 0, since: now, waiting: Vec::new(), defragmenting: None, defragments_next: false }
    }

    /// A read comes while it is locked.
    pub fn wait(&mut self, token: Token) {
        self.waiting.push(token);
    }

    /// A command was applied `count` times.
    pub fn applied(&mut self, command: Command, count: u64) {
        let bytes = database_growth(command).grows;
        self.dirty += bytes * count;
        self.operations += if bytes > 0 { count as u32 } else { 0 };
    }
}
