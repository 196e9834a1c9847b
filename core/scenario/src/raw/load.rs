//! Load on etcd.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::RawProcess;
use crate::units::{Name, Rate, Size, Span};
use zonefall_kernel::time::Duration;

/// A client of one etcd cluster that sends requests at a `rate` or over a number of `connections`.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct RawClient {
    /// Its name.
    pub name: Name,
    /// Name of the etcd cluster.
    #[serde(default)]
    #[schemars(extend("x-default" = "the only cluster there is", "x-source" = "the only possible meaning"))]
    pub etcd: Option<String>,
    /// Zone of the client.
    #[serde(default)]
    #[schemars(extend("x-default" = "the zone of its node, or the only zone there is", "x-source" = "the only possible meaning"))]
    pub zone: Option<String>,
    /// Node of the client, instead of only a zone.
    #[serde(default)]
    #[schemars(extend("x-default" = "a node of its own in its zone", "x-source" = "assumed"))]
    pub node: Option<String>,
    /// Kind of request.
    #[serde(flatten)]
    pub op: RawOp,
    /// Member that receives the first attempt of a request: `leader`, `follower`, `nearest`, `all` (round robin), or a member's name.
    #[serde(default = "all")]
    #[schemars(extend("x-source" = "assumed: etcd's client goes round its endpoints"))]
    pub target: String,
    /// Request rate, independent of responses (open loop).
    #[serde(default)]
    #[schemars(extend("x-max" = "1000000/s", "x-default" = "none: as its connections have answers", "x-source" = "a closed loop"))]
    pub rate: Option<Rate>,
    /// Arrival process of the requests, with a `rate`.
    #[serde(default)]
    #[schemars(extend("x-default" = "even", "x-source" = "assumed: as a rate limiter lets them pass"))]
    pub arrivals: Option<RawArrivals>,
    /// Number of connections, each with one request or watch in flight (closed loop); instead of a `rate`.
    #[serde(default)]
    #[schemars(range(min = 1, max = 100_000), extend("x-default" = "1 for a watch", "x-source" = "assumed"))]
    pub connections: Option<u32>,
    /// Total number of requests, after which the client stops.
    #[serde(default)]
    #[schemars(range(min = 1, max = 10_000_000_000_u64), extend("x-default" = "unlimited until `stop`", "x-source" = "the only possible meaning"))]
    pub requests: Option<u64>,
    /// Processing time of requests in the client.
    #[serde(default)]
    #[schemars(extend("x-default" = "nothing, and each request has the bandwidth of the path to itself", "x-source" = "assumed"))]
    pub process: Option<RawProcess>,
    /// Timeout of each attempt.
    #[serde(default = "five_seconds")]
    #[schemars(extend("x-min" = "1ms", "x-max" = "1h", "x-source" = "etcdctl --command-timeout (not verified)"))]
    pub timeout: Span,
    /// Time after which the client closes its connection with a member that it hears nothing from, and asks others: keep-alive time plus
    /// keep-alive timeout. (With `retries` 0 and a member's name as `target` there are no others.)
    #[serde(default = "eight_seconds")]
    #[schemars(extend("x-min" = "1ms", "x-max" = "1h", "x-source" = "etcdctl --keepalive-time 2s and --keepalive-timeout 6s"))]
    pub silence: Span,
    /// Number of retries after a failure, each with another member.
    #[serde(default = "two")]
    #[schemars(range(min = 0, max = 100), extend("x-source" = "assumed: each of three members once"))]
    pub retries: u32,
    /// Time of the first request.
    #[serde(default)]
    #[schemars(extend("x-source" = "the start of the run"))]
    pub start: Span,
    /// Time from which no request is sent.
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

fn eight_seconds() -> Span {
    Span(Duration::from_secs(8))
}

fn two() -> u32 {
    2
}

/// Arrival process of requests.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum RawArrivals {
    /// Equal intervals.
    Even,
    /// Poisson process: exponential intervals.
    Poisson,
}

/// Kind of request to etcd.
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
        /// Number of keys in each response.
        #[serde(default = "one_key")]
        #[schemars(range(min = 0, max = 10_000_000), extend("x-source" = "assumed: one object"))]
        keys: u32,
        /// Consistency of the read.
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
        /// Number of keys that each request deletes.
        #[serde(default = "one_key")]
        #[schemars(range(min = 0, max = 10_000_000), extend("x-source" = "assumed: one object"))]
        keys: u32,
    },
    /// Watch all keys and receive every event.
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

/// Consistency of a read.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum RawConsistency {
    /// The latest state, confirmed by a majority.
    #[default]
    Linearizable,
    /// The state of one member, without confirmation; it may be stale.
    Serializable,
}
