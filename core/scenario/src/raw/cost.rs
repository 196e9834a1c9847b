//! What requests cost the processes they pass. Nothing, where a scenario says nothing.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::units::Span;
use zonefall_kernel::time::Duration;

/// What requests cost a member of etcd.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(default)]
pub struct RawCost {
    /// Cores that requests are served on, first come, first served.
    #[schemars(range(min = 1, max = 64), extend("x-source" = "assumed"))]
    pub cores: u8,
    /// Time of a core for a request and its answer.
    #[schemars(extend("x-max" = "10s", "x-source" = "assumed: too little to show"))]
    pub per_request: Span,
    /// Time of a core for each MiB of requests and answers.
    #[schemars(extend("x-max" = "10s", "x-source" = "assumed: too little to show"))]
    pub per_mib: Span,
    /// Time of a core for each MiB that is read from the database.
    #[schemars(extend("x-max" = "10s", "x-source" = "assumed: too little to show"))]
    pub per_mib_read: Span,
    /// Time of a core for each further key of a range.
    #[schemars(extend("x-max" = "1s", "x-source" = "assumed: too little to show"))]
    pub per_key: Span,
    /// What a write waits between the threads that propose, commit and apply it.
    #[schemars(extend("x-max" = "1s", "x-source" = "assumed: too little to show"))]
    pub write: Span,
}

impl Default for RawCost {
    fn default() -> Self {
        let [per_request, per_mib, per_mib_read, per_key, write] = [Span::default(); 5];
        Self { cores: 1, per_request, per_mib, per_mib_read, per_key, write }
    }
}

/// How a member writes its database: what is applied is kept in memory and committed to the volume every so often. A commit shares the
/// volume's bandwidth with the log, and nothing is applied or read meanwhile.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(default)]
pub struct RawBackend {
    /// `--backend-batch-interval`.
    #[schemars(extend("x-min" = "1ms", "x-max" = "1h", "x-source" = "etcd: mvcc/backend/backend.go, defaultBatchInterval (not verified)"))]
    pub interval: Span,
    /// `--backend-batch-limit`: so many writes are committed at once.
    #[schemars(range(min = 1, max = 10_000_000), extend("x-source" = "etcd: mvcc/backend/backend.go, defaultBatchLimit (not verified)"))]
    pub limit: u32,
    /// Syncs of a commit: pages, then the page that makes them count.
    #[schemars(range(min = 0, max = 10), extend("x-source" = "bbolt: tx.go, write and writeMeta (not verified)"))]
    pub syncs: u8,
}

impl Default for RawBackend {
    fn default() -> Self {
        Self { interval: Span(Duration::from_millis(100)), limit: 10_000, syncs: 2 }
    }
}

/// A client's process: it does one thing at a time, and all of its connections share one link.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(default)]
#[derive(Default)]
pub struct RawProcess {
    /// Time of the process for a request and its answer.
    #[schemars(extend("x-max" = "10s", "x-source" = "assumed: too little to show"))]
    pub per_request: Span,
    /// Time of the process for each MiB of requests and answers.
    #[schemars(extend("x-max" = "10s", "x-source" = "assumed: too little to show"))]
    pub per_mib: Span,
    /// From a message's arrival at a host to who waits for it: a request at the member, an answer here.
    #[schemars(extend("x-max" = "1s", "x-source" = "assumed: too little to show"))]
    pub rpc_overhead: Span,
}
