//! Load on etcd.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::RawProcess;
use crate::units::{Name, Rate, Size, Span};
use zonefall_kernel::time::Duration;

/// A load generator that talks to one etcd cluster, at a `rate` or over a number of `connections`.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct RawClient {
    /// Its name.
    pub name: Name,
    /// The etcd cluster it talks to.
    #[serde(default)]
    #[schemars(extend("x-default" = "the only cluster there is", "x-source" = "nothing else to mean"))]
    pub etcd: Option<String>,
    /// The zone it runs in.
    #[serde(default)]
    #[schemars(extend("x-default" = "the zone of its node, or the only zone there is", "x-source" = "nothing else to mean"))]
    pub zone: Option<String>,
    /// The node it runs on, where that matters.
    #[serde(default)]
    #[schemars(extend("x-default" = "a node of its own in its zone", "x-source" = "assumed"))]
    pub node: Option<String>,
    /// What it asks.
    #[serde(flatten)]
    pub op: RawOp,
    /// Whom it asks first: `leader`, `follower`, `nearest`, `all` in turn, or a member's name.
    #[serde(default = "all")]
    #[schemars(extend("x-source" = "assumed: etcd's client goes round its endpoints"))]
    pub target: String,
    /// Requests per time, whether answers come or not.
    #[serde(default)]
    #[schemars(extend("x-max" = "1000000/s", "x-default" = "none: as its connections have answers", "x-source" = "a closed loop"))]
    pub rate: Option<Rate>,
    /// With a `rate`: at even distances, or a Poisson process.
    #[serde(default)]
    #[schemars(extend("x-default" = "even", "x-source" = "assumed: as a rate limiter lets them pass"))]
    pub arrivals: Option<RawArrivals>,
    /// Without a `rate`: connections, each with one request (or watch) under way.
    #[serde(default)]
    #[schemars(range(min = 1, max = 100_000), extend("x-default" = "1 for a watch", "x-source" = "assumed"))]
    pub connections: Option<u32>,
    /// Requests in all: when so many have been sent, it is done.
    #[serde(default)]
    #[schemars(range(min = 1, max = 10_000_000_000_u64), extend("x-default" = "as many as come until `stop`", "x-source" = "nothing else to mean"))]
    pub requests: Option<u64>,
    /// What its requests cost itself.
    #[serde(default)]
    #[schemars(extend("x-default" = "nothing, and each request has the bandwidth of the path to itself", "x-source" = "assumed"))]
    pub process: Option<RawProcess>,
    /// Gives up on a member's answer after this.
    #[serde(default = "five_seconds")]
    #[schemars(extend("x-min" = "1ms", "x-max" = "1h", "x-source" = "etcdctl --command-timeout (not verified)"))]
    pub timeout: Span,
    /// Further members it tries after a failure.
    #[serde(default = "two")]
    #[schemars(range(min = 0, max = 100), extend("x-source" = "assumed: each of three members once"))]
    pub retries: u32,
    /// First request.
    #[serde(default)]
    #[schemars(extend("x-source" = "the start of the run"))]
    pub start: Span,
    /// No request at or after this.
    #[serde(default)]
    #[schemars(extend("x-default" = "duration", "x-source" = "the end of the run"))]
    pub stop: Option<Span>,
}

fn all() -> String {
    "all".to_owned()
}

fn five_seconds() -> Span {
    Span(Duration::from_secs(5))
}

fn two() -> u32 {
    2
}

/// How requests at a rate follow each other.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum RawArrivals {
    /// At even distances.
    Even,
    /// As a Poisson process: exponential gaps.
    Poisson,
}

/// What a client asks of etcd.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(tag = "op", rename_all = "lowercase")]
pub enum RawOp {
    /// Write one key.
    Put {
        /// Size of the key.
        #[serde(default = "key")]
        #[schemars(extend("x-min" = "1B", "x-max" = "64KiB", "x-source" = "etcd's benchmark tool, --key-size (not verified)"))]
        key: Size,
        /// Size of the value.
        #[serde(default = "value")]
        #[schemars(extend("x-max" = "100MiB", "x-source" = "GEP-20: --val-size=1024"))]
        value: Size,
    },
    /// Write one key if it has not changed, as API servers do.
    Txn {
        /// Size of the key.
        #[serde(default = "key")]
        #[schemars(extend("x-min" = "1B", "x-max" = "64KiB", "x-source" = "etcd's benchmark tool, --key-size (not verified)"))]
        key: Size,
        /// Size of the value.
        #[serde(default = "value")]
        #[schemars(extend("x-max" = "100MiB", "x-source" = "GEP-20: --val-size=1024"))]
        value: Size,
    },
    /// Read keys.
    Range {
        /// Size of each key.
        #[serde(default = "key")]
        #[schemars(extend("x-min" = "1B", "x-max" = "64KiB", "x-source" = "etcd's benchmark tool, --key-size (not verified)"))]
        key: Size,
        /// Size of each value.
        #[serde(default = "value")]
        #[schemars(extend("x-max" = "100MiB", "x-source" = "GEP-20: --val-size=1024"))]
        value: Size,
        /// Keys in each answer.
        #[serde(default = "one_key")]
        #[schemars(range(min = 0, max = 10_000_000), extend("x-source" = "assumed: one object"))]
        keys: u32,
        /// Whether an answer must be the latest.
        #[serde(default)]
        #[schemars(extend("x-source" = "etcd-io/etcd@c34dc7ee: ranges are linearizable unless asked otherwise"))]
        consistency: RawConsistency,
    },
    /// Delete keys.
    Delete {
        /// Size of each key.
        #[serde(default = "key")]
        #[schemars(extend("x-min" = "1B", "x-max" = "64KiB", "x-source" = "etcd's benchmark tool, --key-size (not verified)"))]
        key: Size,
        /// Keys that each request deletes.
        #[serde(default = "one_key")]
        #[schemars(range(min = 0, max = 10_000_000), extend("x-source" = "assumed: one object"))]
        keys: u32,
    },
    /// Watch everything and receive each event.
    Watch {},
}

fn key() -> Size {
    Size(8)
}

fn value() -> Size {
    Size(1 << 10)
}

fn one_key() -> u32 {
    1
}

/// Whether a read must see the latest write.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum RawConsistency {
    /// The latest, confirmed with a majority.
    #[default]
    Linearizable,
    /// Whatever the member has, without asking anyone.
    Serializable,
}
