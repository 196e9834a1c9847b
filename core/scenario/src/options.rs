//! Every timer and size of an etcd cluster, with its default and where the default stands.

use crate::cost::{Backend, RequestCost};
use zonefall_kernel::time::Duration;

/// Timers, sizes and raft options of one etcd cluster.
///
/// Defaults are those of etcd 3.5 (`etcd-io/etcd@c34dc7ee`) unless a field says otherwise.
#[derive(Clone, Debug, PartialEq)]
pub struct EtcdOptions {
    /// `--heartbeat-interval`, 100 ms.
    pub heartbeat_interval: Duration,
    /// `--election-timeout`, 1 s; the timeout is drawn from T..2T-1 ticks at each reset of the election state.
    pub election_timeout: Duration,
    /// Width of the range the timeout is drawn from; `None`, as in etcd: as wide as the timeout itself. Not in scenario files: for
    /// models of other systems (`raft_election_oracles`).
    pub election_spread: Option<Duration>,
    /// One tick of the election clock; etcd's is the heartbeat interval. A very short one makes the timeout continuous, as in the
    /// raft thesis (`raft_election_oracles`).
    pub tick: Duration,
    /// `--pre-vote`: on from 3.5, off in 3.4.
    pub pre_vote: bool,
    /// A leader that hears no majority for an election timeout steps down, and a member that heard a leader within one ignores
    /// candidates (the lease on votes). Always on in etcd; off in the thesis.
    pub check_quorum: bool,
    /// `--snapshot-count`: entries applied between two snapshots, 100,000 (3.6: 10,000).
    pub snapshot_count: u64,
    /// Entries kept behind a snapshot for slow followers, 5,000.
    pub catch_up_entries: u64,
    /// Appends under way to one follower, 512 (`maxInflightMsgs`).
    pub max_inflight: u32,
    /// Bytes of entries in one append, 512 KiB (`maxSizePerMsg`).
    pub max_append_bytes: u64,
    /// `--max-request-bytes`, 1.5 MiB.
    pub max_request_bytes: u64,
    /// `--quota-backend-bytes`, 2 GiB: a database whose file would grow beyond it takes nothing more (`storage/quota.go`).
    pub quota_bytes: u64,
    /// A request the server cannot finish fails after this: 5 s + 2 x election timeout.
    pub request_timeout: Duration,
    /// A read index nobody confirmed is asked for again after this, 500 ms (`readIndexRetryTime`).
    pub read_index_retry: Duration,
    /// `--strict-reconfig-check`.
    pub strict_reconfig_check: bool,
    /// `--max-learners`, 1.
    pub max_learners: u8,
    /// From the start of the process to the first message, WAL replay included: 500 ms (assumed).
    pub start_up: Duration,
    /// From a message's arrival at a host to raft's step: socket, decoding, hand-overs between threads; 50 us (assumed).
    pub rpc_overhead: Duration,
    /// CPU time to apply one entry or serve one read: 20 us (assumed).
    pub apply: Duration,
    /// What requests cost a member: nothing.
    pub cost: RequestCost,
    /// How the database is written: every 100 ms or 10,000 writes, with two syncs; `None`: at once, and at no cost.
    pub backend: Option<Backend>,
    /// A member that is alone answers writes before they are on its disk: off since 3.4.21 and 3.5.5 (`etcd-io/etcd#14370`).
    pub answers_before_sync: bool,
}

impl Default for EtcdOptions {
    fn default() -> Self {
        Self {
            heartbeat_interval: Duration::from_millis(100),
            election_timeout: Duration::from_secs(1),
            election_spread: None,
            tick: Duration::from_millis(100),
            pre_vote: true,
            check_quorum: true,
            snapshot_count: 100_000,
            catch_up_entries: 5_000,
            max_inflight: 512,
            max_append_bytes: 512 * 1024,
            max_request_bytes: 1_572_864,
            quota_bytes: 2 << 30,
            request_timeout: Duration::from_secs(7),
            read_index_retry: Duration::from_millis(500),
            strict_reconfig_check: true,
            max_learners: 1,
            start_up: Duration::from_millis(500),
            rpc_overhead: Duration::from_micros(50),
            apply: Duration::from_micros(20),
            cost: RequestCost::NONE,
            backend: Some(Backend::DEFAULT),
            answers_before_sync: false,
        }
    }
}

impl EtcdOptions {
    /// Ticks of an election timeout (etcd: `ElectionMs / TickMs`), at least 1.
    pub fn election_ticks(&self) -> u64 {
        (self.election_timeout.as_nanos() / self.tick.as_nanos()).max(1)
    }

    /// Different timeouts that may be drawn, one tick apart, at least 1.
    pub fn election_spread_ticks(&self) -> u64 {
        let spread = self.election_spread.map_or(self.election_ticks(), |spread| spread.as_nanos() / self.tick.as_nanos());
        spread.max(1)
    }
}
