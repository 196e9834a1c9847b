//! What requests cost the processes they pass. Nothing, where a scenario says nothing.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::cost::Backend;
use crate::units::Span;

/// Processing time of requests in an etcd member.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(default)]
pub struct RawCost {
    /// Number of cores that serve requests, first come, first served.
    #[schemars(range(min = 1, max = 64), extend("x-source" = "assumed"))]
    pub cores: u8,
    /// CPU time for a request and its response.
    #[schemars(extend("x-max" = "10s", "x-source" = "assumed: too little to show"))]
    pub per_request: Span,
    /// CPU time for each MiB of requests and responses.
    #[schemars(extend("x-max" = "10s", "x-source" = "assumed: too little to show"))]
    pub per_mib: Span,
    /// CPU time for each MiB that is read from the database.
    #[schemars(extend("x-max" = "10s", "x-source" = "assumed: too little to show"))]
    pub per_mib_read: Span,
    /// CPU time for each key of a range after the first.
    #[schemars(extend("x-max" = "1s", "x-source" = "assumed: too little to show"))]
    pub per_key: Span,
    /// Time that a write waits between the threads that propose, commit and apply it.
    #[schemars(extend("x-max" = "1s", "x-source" = "assumed: too little to show"))]
    pub write: Span,
}

impl Default for RawCost {
    fn default() -> Self {
        let [per_request, per_mib, per_mib_read, per_key, write] = [Span::default(); 5];
        Self { cores: 1, per_request, per_mib, per_mib_read, per_key, write }
    }
}

/// How a member writes its database: applied entries are kept in memory and committed to the volume in batches. A commit shares the
/// volume's bandwidth with the log, and nothing is applied or read meanwhile.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(default)]
pub struct RawBackend {
    /// `--backend-batch-interval`.
    #[schemars(extend("x-min" = "1ms", "x-max" = "1h", "x-source" = "etcd: mvcc/backend/backend.go, defaultBatchInterval (not verified)"))]
    pub interval: Span,
    /// `--backend-batch-limit`: number of writes after which a batch is committed.
    #[schemars(range(min = 1, max = 10_000_000), extend("x-source" = "etcd: mvcc/backend/backend.go, defaultBatchLimit (not verified)"))]
    pub limit: u32,
    /// Number of fsyncs per commit: the data pages, then the meta page.
    #[schemars(range(min = 0, max = 10), extend("x-source" = "bbolt: tx.go, write and writeMeta (not verified)"))]
    pub syncs: u8,
}

impl Default for RawBackend {
    fn default() -> Self {
        let Backend { interval, limit, syncs } = Backend::DEFAULT;
        Self { interval: Span(interval), limit, syncs }
    }
}

/// A client's process: it handles one request or response at a time, and all of its connections share one link.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(default)]
#[derive(Default)]
pub struct RawProcess {
    /// CPU time for a request and its response.
    #[schemars(extend("x-max" = "10s", "x-source" = "assumed: too little to show"))]
    pub per_request: Span,
    /// CPU time for each MiB of requests and responses.
    #[schemars(extend("x-max" = "10s", "x-source" = "assumed: too little to show"))]
    pub per_mib: Span,
    /// Time from the arrival of a message at the host until the process receives it: a request at the member, a response at the client.
    #[schemars(extend("x-max" = "1s", "x-source" = "assumed: too little to show"))]
    pub rpc_overhead: Span,
}
