//! etcd clusters and their options.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::{RawBackend, RawCost, RawDisk, RawMode};
use crate::options::EtcdOptions;
use crate::units::{Name, Size, Span};

/// An etcd cluster.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct RawEtcdCluster {
    /// Its name, such as `etcd-main`.
    pub name: Name,
    /// The members it starts with.
    #[schemars(length(min = 1, max = 9))]
    pub members: Vec<RawMember>,
    /// What keeps it going when a member is lost: a majority of its voters, or another that takes over.
    #[serde(default)]
    #[schemars(extend("x-source" = "GEP-20: preferred to its active-passive options"))]
    pub mode: RawMode,
    /// Timers, sizes and dialect.
    #[serde(default)]
    pub options: RawOptions,
    /// Speed of its members' own volumes (those that are not named in `topology.volumes`).
    #[serde(default)]
    pub disk: RawDisk,
    /// What it looks like when the run starts.
    #[serde(default)]
    pub initial: RawInitial,
}

/// A member of an etcd cluster.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct RawMember {
    /// Its name, such as `etcd-main-0`.
    pub name: Name,
    /// The node its process runs on.
    pub node: String,
    /// The volume its data is on, in the zone of its node.
    #[serde(default)]
    #[schemars(extend(
        "x-default" = "a volume of its own, named after it, in the zone of its node",
        "x-source" = "one volume claim per pod of a StatefulSet"
    ))]
    pub volume: Option<String>,
    /// Without a vote.
    #[serde(default)]
    #[schemars(extend("x-source" = "etcd-io/etcd@c34dc7ee: member add without --learner"))]
    pub learner: bool,
    /// Starts behind the cluster; only for members that are there from the start.
    #[serde(default)]
    pub behind: Option<RawBehind>,
}

/// How far a member is when the run starts.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct RawBehind {
    /// Its own revision, below the cluster's.
    pub revision: u64,
    /// Its own database.
    #[schemars(extend("x-max" = "1TiB"))]
    pub database: Size,
}

/// What a cluster looks like when the run starts.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(default)]
pub struct RawInitial {
    /// The member that leads, or `none`: all start at time zero and elect one.
    #[schemars(extend("x-default" = "the first member that has a vote and is not behind", "x-source" = "a settled cluster"))]
    pub leader: Option<String>,
    /// Log index and revision that every member has committed and applied (unless it is `behind`).
    #[schemars(range(min = 1, max = 1_000_000_000_000_u64), extend("x-source" = "assumed: a cluster in use"))]
    pub revision: u64,
    /// Size of the database.
    #[schemars(extend("x-max" = "1TiB", "x-source" = "assumed: a small control plane"))]
    pub database: Size,
}

impl Default for RawInitial {
    fn default() -> Self {
        Self { leader: None, revision: 10_000, database: Size(64 << 20) }
    }
}

/// Where etcd's own defaults were read.
const ETCD: &str = "etcd-io/etcd@c34dc7ee (3.5)";

/// Timers, sizes and dialect of an etcd cluster, named as etcd's flags are.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(default)]
pub struct RawOptions {
    /// `--heartbeat-interval`.
    #[schemars(extend("x-min" = "1ms", "x-max" = "50s", "x-source" = ETCD))]
    pub heartbeat_interval: Span,
    /// `--election-timeout`, at least 5 heartbeats and at most 50 s; each election timer is drawn between one and two of it.
    #[schemars(extend("x-min" = "1ms", "x-max" = "50s", "x-source" = ETCD))]
    pub election_timeout: Span,
    /// One tick of the election clock. A very short one makes the drawn timeout continuous, as in the raft thesis.
    #[schemars(extend("x-min" = "1us", "x-max" = "50s", "x-default" = "heartbeat_interval", "x-source" = ETCD))]
    pub tick: Option<Span>,
    /// `--pre-vote`: ask whether an election would be won before disturbing the leader. Off by default in etcd 3.4.
    #[schemars(extend("x-source" = ETCD))]
    pub pre_vote: bool,
    /// A leader without a majority steps down, and votes honour the leader's lease. Always on in etcd; off in the raft thesis.
    #[schemars(extend("x-source" = ETCD))]
    pub check_quorum: bool,
    /// `--snapshot-count`: entries applied between two snapshots. 10,000 in etcd 3.6 and in etcd-druid.
    #[schemars(range(min = 1, max = 1_000_000), extend("x-source" = ETCD))]
    pub snapshot_count: u64,
    /// Entries kept behind a snapshot for slow followers.
    #[schemars(range(min = 1, max = 1_000_000), extend("x-source" = ETCD))]
    pub catch_up_entries: u64,
    /// Appends under way to one follower.
    #[schemars(range(min = 1, max = 1_000_000), extend("x-source" = "etcd-io/etcd@c34dc7ee: maxInflightMsgs"))]
    pub max_inflight: u32,
    /// Entries in one append.
    #[schemars(extend("x-min" = "1B", "x-max" = "1GiB", "x-source" = "etcd-io/etcd@c34dc7ee: maxSizePerMsg"))]
    pub max_append_bytes: Size,
    /// `--max-request-bytes`.
    #[schemars(extend("x-min" = "1B", "x-max" = "1GiB", "x-source" = ETCD))]
    pub max_request_bytes: Size,
    /// A request that the server cannot finish fails after this.
    #[schemars(extend(
        "x-min" = "1ms",
        "x-max" = "1h",
        "x-default" = "5s + 2 x election_timeout",
        "x-source" = "etcd-io/etcd@c34dc7ee: ReqTimeout"
    ))]
    pub request_timeout: Option<Span>,
    /// A read index that nobody confirmed is asked for again after this.
    #[schemars(extend("x-min" = "1ms", "x-max" = "1h", "x-source" = "etcd-io/etcd@c34dc7ee: readIndexRetryTime"))]
    pub read_index_retry: Span,
    /// `--strict-reconfig-check`: refuse changes of membership that would lose quorum.
    #[schemars(extend("x-source" = ETCD))]
    pub strict_reconfig_check: bool,
    /// `--max-learners`.
    #[schemars(range(min = 0, max = 9), extend("x-source" = ETCD))]
    pub max_learners: u8,
    /// From the start of the process to its first message, WAL replay included.
    #[schemars(extend("x-max" = "1h", "x-source" = "assumed"))]
    pub start_up: Span,
    /// From a message's arrival at a host to raft's step: socket, decoding, hand-overs between threads.
    #[schemars(extend("x-max" = "1s", "x-source" = "assumed"))]
    pub rpc_overhead: Span,
    /// CPU time to apply one entry or serve one read.
    #[schemars(extend("x-max" = "10s", "x-source" = "assumed"))]
    pub apply: Span,
    /// What requests cost a member.
    pub cost: RawCost,
    /// How the database is written.
    #[schemars(extend("x-default" = "at once, and at no cost", "x-source" = "assumed: small values"))]
    pub backend: Option<RawBackend>,
    /// A member that is alone answers writes before they are on its disk, as etcd did before 3.4.21 and 3.5.5: a power loss may take them.
    #[schemars(extend("x-source" = "etcd-io/etcd#14370"))]
    pub answers_before_sync: bool,
}

impl Default for RawOptions {
    fn default() -> Self {
        let etcd = EtcdOptions::default();
        Self {
            heartbeat_interval: Span(etcd.heartbeat_interval),
            election_timeout: Span(etcd.election_timeout),
            tick: None,
            pre_vote: etcd.pre_vote,
            check_quorum: etcd.check_quorum,
            snapshot_count: etcd.snapshot_count,
            catch_up_entries: etcd.catch_up_entries,
            max_inflight: etcd.max_inflight,
            max_append_bytes: Size(etcd.max_append_bytes),
            max_request_bytes: Size(etcd.max_request_bytes),
            request_timeout: None,
            read_index_retry: Span(etcd.read_index_retry),
            strict_reconfig_check: etcd.strict_reconfig_check,
            max_learners: etcd.max_learners,
            start_up: Span(etcd.start_up),
            rpc_overhead: Span(etcd.rpc_overhead),
            apply: Span(etcd.apply),
            cost: RawCost::default(),
            backend: None,
            answers_before_sync: etcd.answers_before_sync,
        }
    }
}
