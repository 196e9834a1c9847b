//! What requests cost the processes they pass: a client's own, and a member's.

use zonefall_kernel::time::Duration;

/// What requests cost a member besides messages, disk and raft.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct RequestCost {
    /// Cores that requests are served on, each on one at a time; at least one.
    pub cores: u8,
    /// Time of a core for a request and its answer, half of it each.
    pub per_request: Duration,
    /// Time of a core for each MiB of requests and answers.
    pub per_mib: Duration,
    /// Time of a core for each MiB that is read from the database.
    pub per_mib_read: Duration,
    /// Time of a core for each further key of a range.
    pub per_key: Duration,
    /// What a write waits between the threads that propose, commit and apply it; no time of a core.
    pub write: Duration,
}

impl RequestCost {
    /// Nothing: requests are served at once.
    pub const NONE: Self = Self {
        cores: 1,
        per_request: Duration::ZERO,
        per_mib: Duration::ZERO,
        per_mib_read: Duration::ZERO,
        per_key: Duration::ZERO,
        write: Duration::ZERO,
    };

    /// Nothing costs anything.
    pub fn is_none(&self) -> bool {
        Self { cores: 1, ..*self } == Self::NONE
    }
}

/// How a member writes its database.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Backend {
    /// What was applied is committed this often.
    pub interval: Duration,
    /// Or when so many writes have been applied.
    pub limit: u32,
    /// Syncs of a commit.
    pub syncs: u8,
}

impl Backend {
    /// etcd's (`mvcc/backend/backend.go`: `defaultBatchInterval`, `defaultBatchLimit`; bbolt's `tx.go`: `write`, `writeMeta`).
    pub const DEFAULT: Self = Self { interval: Duration::from_millis(100), limit: 10_000, syncs: 2 };
}

/// What requests cost the process of a client, which does one thing at a time, and what it has one of for all of its connections.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Process {
    /// For a request and its answer, half of it each.
    pub per_request: Duration,
    /// For each MiB of requests and answers.
    pub per_mib: Duration,
    /// From a message's arrival at a host to who waits for it: a request at the member, an answer here. No time of the process.
    pub rpc_overhead: Duration,
}

/// Time for `bytes` at so much per MiB.
pub fn of_bytes(per_mib: Duration, bytes: u64) -> Duration {
    Duration::from_nanos(((u128::from(per_mib.as_nanos()) * u128::from(bytes)) >> 20) as u64)
}
