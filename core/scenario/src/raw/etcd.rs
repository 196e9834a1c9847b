//! etcd clusters and their options.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::topology::volume_size;
use super::{RawBackend, RawCost, RawDisk, RawMode};
use crate::etcd_member::RawMember;
use crate::options::EtcdOptions;
use crate::units::{Name, Size, Span};

/// An etcd cluster.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct RawEtcdCluster {
    /// Its name, such as `etcd-main`.
    pub name: Name,
    /// Members of the cluster at the start of the run.
    #[schemars(length(min = 1, max = 9))]
    pub members: Vec<RawMember>,
    /// How the cluster survives the loss of a member: with a quorum, or active-passive.
    #[serde(default)]
    #[schemars(extend("x-source" = "GEP-20: preferred to its active-passive options"))]
    pub mode: RawMode,
    /// Timers, sizes and raft options.
    #[serde(default)]
    pub options: RawOptions,
    /// Speed of the members' own volumes (those that are not in `topology.volumes`).
    #[serde(default)]
    pub disk: RawDisk,
    /// Size that each of these volumes is charged by.
    #[serde(default = "volume_size")]
    #[schemars(extend("x-min" = "1MiB", "x-max" = "1PiB", "x-source" = "assumed: as etcd-main of a shoot"))]
    pub volume_size: Size,
    /// State of the cluster at the start of the run.
    #[serde(default)]
    pub initial: RawInitial,
}

/// State of an etcd cluster at the start of the run.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(default)]
pub struct RawInitial {
    /// Name of the initial leader, or `none`: all members start at time zero and elect one.
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

/// Timers, sizes and raft options of an etcd cluster, named like etcd's flags.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(default)]
pub struct RawOptions {
    /// `--heartbeat-interval`.
    #[schemars(extend("x-min" = "1ms", "x-max" = "50s", "x-source" = ETCD))]
    pub heartbeat_interval: Span,
    /// `--election-timeout`, at least 5 heartbeats and at most 50 s; each member draws its timeout between one and two times this value.
    #[schemars(extend("x-min" = "1ms", "x-max" = "50s", "x-source" = ETCD))]
    pub election_timeout: Span,
    /// One tick of the election clock. A very short one makes the drawn timeout continuous, as in the raft thesis.
    #[schemars(extend("x-min" = "1us", "x-max" = "50s", "x-default" = "heartbeat_interval", "x-source" = ETCD))]
    pub tick: Option<Span>,
    /// `--pre-vote`: a member starts a pre-vote before it campaigns. Off by default in etcd 3.4.
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
    /// Maximum number of append messages in flight to one follower.
    #[schemars(range(min = 1, max = 1_000_000), extend("x-source" = "etcd-io/etcd@c34dc7ee: maxInflightMsgs"))]
    pub max_inflight: u32,
    /// Maximum size of the entries in one append message.
    #[schemars(extend("x-min" = "1B", "x-max" = "1GiB", "x-source" = "etcd-io/etcd@c34dc7ee: maxSizePerMsg"))]
    pub max_append_bytes: Size,
    /// `--max-request-bytes`.
    #[schemars(extend("x-min" = "1B", "x-max" = "1GiB", "x-source" = ETCD))]
    pub max_request_bytes: Size,
    /// `--quota-backend-bytes`: a member whose database would grow beyond it raises the NOSPACE alarm, and all members refuse what grows
    /// until an operator has disarmed it. The size of the file counts, free pages included: only `defragment` makes it smaller.
    #[schemars(extend(
        "x-min" = "1MiB",
        "x-max" = "4TiB",
        "x-default" = "2GiB; 8GiB in seeds and shoots; twice the initial database where that is more",
        "x-source" = "etcd-io/etcd@c34dc7ee: server/storage/quota.go; gardener/etcd-druid@5b90b4a7: 8Gi"
    ))]
    pub quota_backend_bytes: Option<Size>,
    /// Time after which the server fails a request that it cannot finish.
    #[schemars(extend(
        "x-min" = "1ms",
        "x-max" = "1h",
        "x-default" = "5s + 2 x election_timeout",
        "x-source" = "etcd-io/etcd@c34dc7ee: ReqTimeout"
    ))]
    pub request_timeout: Option<Span>,
    /// Time after which the server retries an unconfirmed read-index request.
    #[schemars(extend("x-min" = "1ms", "x-max" = "1h", "x-source" = "etcd-io/etcd@c34dc7ee: readIndexRetryTime"))]
    pub read_index_retry: Span,
    /// `--strict-reconfig-check`: refuse changes of membership that would lose quorum.
    #[schemars(extend("x-source" = ETCD))]
    pub strict_reconfig_check: bool,
    /// `--max-learners`.
    #[schemars(range(min = 0, max = 9), extend("x-source" = ETCD))]
    pub max_learners: u8,
    /// Time from the start of the process until it handles messages, including WAL replay.
    #[schemars(extend("x-max" = "1h", "x-source" = "assumed"))]
    pub start_up: Span,
    /// Time from the arrival of a message at the host to raft's step function: socket, decoding, switching of threads.
    #[schemars(extend("x-max" = "1s", "x-source" = "assumed"))]
    pub rpc_overhead: Span,
    /// CPU time to apply one entry or serve one read.
    #[schemars(extend("x-max" = "10s", "x-source" = "assumed"))]
    pub apply: Span,
    /// Processing time of requests in a member.
    pub cost: RawCost,
    /// How a member writes its database; `null`: at once, and at no cost.
    #[schemars(extend("x-source" = "etcd: mvcc/backend/backend.go"))]
    pub backend: Option<RawBackend>,
    /// A single-member cluster acknowledges writes before they are synced to disk, as etcd did before 3.4.21 and 3.5.5: a power loss can
    /// lose acknowledged writes.
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
            quota_backend_bytes: None,
            request_timeout: None,
            read_index_retry: Span(etcd.read_index_retry),
            strict_reconfig_check: etcd.strict_reconfig_check,
            max_learners: etcd.max_learners,
            start_up: Span(etcd.start_up),
            rpc_overhead: Span(etcd.rpc_overhead),
            apply: Span(etcd.apply),
            cost: RawCost::default(),
            backend: Some(RawBackend::default()),
            answers_before_sync: etcd.answers_before_sync,
        }
    }
}
