//! The laboratory in which a real etcd was measured, as a scenario (`tests/measurements/README.md`).

use serde::Deserialize;
use zonefall_core::etcd::options::EtcdOptions;
use zonefall_core::ids::{EtcdId, NodeId, ZoneId};
use zonefall_core::kernel::dist::{Latency, scale};
use zonefall_core::kernel::time::{Duration, Time};
use zonefall_core::scenario::{CERTIFICATE_BYTES, Client, Disk, Load, Network, Op, Path, Scenario, Target};

use crate::bare::Bare;

/// A row's set-up, as the files write it.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct SetUp {
    /// Members of the cluster, one node each.
    pub members: u16,
    /// One-way delay between any two.
    pub one_way_delay_ms: f64,
    /// `--heartbeat-interval`.
    pub heartbeat_ms: u64,
    /// `--election-timeout`.
    pub election_ms: u64,
    /// `--pre-vote`.
    pub pre_vote: bool,
    /// TLS between members.
    #[serde(default)]
    pub tls: bool,
    /// `wire`: bytes of packets; else application bytes.
    pub bytes: Option<String>,
    /// `idle`, `put`, `range` or `delete`.
    pub op: Option<String>,
    /// `leader` or `follower`.
    pub target: Option<String>,
    /// Requests per second, evenly spaced.
    pub rate_per_s: Option<f64>,
    /// Bytes of a value.
    pub value_bytes: Option<u32>,
    /// Bytes of a key.
    pub key_bytes: Option<u32>,
    /// `linearizable` or `serializable`.
    pub consistency: Option<String>,
    /// Probability that a packet between members is lost.
    #[serde(default)]
    pub loss: f64,
    /// `kill`, `cut`, `stop`, `pause` or `disk_slow`.
    pub fault: Option<String>,
    /// Puts per second at a follower, besides those at the leader.
    pub follower_rate_per_s: Option<f64>,
    /// Whose disk is slow: `leader`, `follower` (the one that is asked) or `all`.
    pub slow: Option<String>,
    /// Added to each fsync of a slow disk.
    pub fsync_extra_ms: Option<f64>,
    /// How long the disk is slow.
    pub slow_for_s: Option<u64>,
}

/// The set-up as a scenario without faults, `duration` long; member 0 leads.
///
/// # Panics
/// Where the set-up says something this laboratory does not know.
pub fn scenario(set_up: &SetUp, duration: Duration) -> Scenario {
    let n = set_up.members;
    let path = |delay: Duration| Path { delay, jitter: Latency::NONE, loss: 0.0, bytes_per_s: 1_250_000_000 };
    let between = Path { loss: set_up.loss, ..path(scale(Duration::from_millis(1), set_up.one_way_delay_ms)) };
    let paths = (0..n * n).map(|_| between.clone()).collect();
    // "Fast local disk". Assumed: the README has fsyncs of 0.12 ms on one machine, and about 1 ms with a tail on the other.
    let disk = Disk {
        fsync: Latency::LogNormal { median: Duration::from_micros(400), sigma: 0.5 },
        bytes_per_s: 1_000_000_000,
        iops: None,
    };
    let options = EtcdOptions {
        heartbeat_interval: Duration::from_millis(set_up.heartbeat_ms),
        election_timeout: Duration::from_millis(set_up.election_ms),
        tick: Duration::from_millis(set_up.heartbeat_ms),
        rpc_overhead: rpc_overhead(set_up),
        pre_vote: set_up.pre_vote,
        ..EtcdOptions::default()
    };
    let mut scenario = Bare {
        zones: (0..n).map(|i| format!("z{i}")).collect(),
        places: (0..n).map(ZoneId).collect(),
        disk,
        network: Network {
            paths,
            same_host: path(Duration::from_micros(20)),
            tls: set_up.tls,
            certificate_bytes: CERTIFICATE_BYTES,
        },
        options,
        leader: 0,
        clients: clients(set_up),
        duration,
    }
    .scenario();
    // Virtual links of one machine: there are no network cards.
    scenario.nodes.iter_mut().for_each(|node| node.card_bytes_per_s = u64::MAX);
    scenario
}

/// From a message's arrival until it is handled. Behind a proxy more threads wake up in turn, and those of members that idle wake up late: of
/// the 4.4 ms from SIGTERM to the new leader (`etcd-stop-more.json`), 1.5 ms are the delays of three messages and 0.5 ms two fsyncs. The 600 us
/// are fitted to that rest, so these rows do not test them; the others are assumed.
fn rpc_overhead(set_up: &SetUp) -> Duration {
    let proxied = set_up.bytes.is_none() && !set_up.tls;
    Duration::from_micros(if !proxied {
        50
    } else if set_up.fault.is_none() {
        120
    } else {
        600
    })
}

/// The member a row's load goes to.
pub fn targeted(set_up: &SetUp) -> u16 {
    match set_up.target.as_deref() {
        None | Some("leader") => 0,
        Some("follower") => 1,
        Some(other) => panic!("unknown target {other:?}"),
    }
}

/// Who asks: the member of the row, and where the row says so a follower, too.
fn clients(set_up: &SetUp) -> Vec<Client> {
    let rates = [(targeted(set_up), set_up.rate_per_s), (1, set_up.follower_rate_per_s)];
    rates.into_iter().filter_map(|(member, rate)| client(set_up, member, rate.filter(|rate| *rate > 0.0)?)).collect()
}

fn client(set_up: &SetUp, member: u16, rate: f64) -> Option<Client> {
    let (key_bytes, value_bytes) = (set_up.key_bytes.unwrap_or(8), set_up.value_bytes.unwrap_or(0));
    let linearizable = match set_up.consistency.as_deref() {
        None | Some("linearizable") => true,
        Some("serializable") => false,
        Some(other) => panic!("unknown consistency {other:?}"),
    };
    let op = match set_up.op.as_deref() {
        None | Some("idle") => return None,
        Some("put") => Op::Put { key_bytes, value_bytes },
        Some("range") => Op::Range { linearizable, keys: 1, key_bytes, value_bytes },
        Some("delete") => Op::Delete { keys: 1, key_bytes },
        Some(other) => panic!("unknown op {other:?}"),
    };
    Some(Client {
        name: format!("load-{member}"),
        etcd: EtcdId(0),
        zone: ZoneId(member),
        node: Some(NodeId(member)),
        op,
        target: Target::Member(member as u8),
        load: Load::Open { interval: Duration::from_nanos((1e9 / rate) as u64), poisson: false },
        requests: None,
        process: None,
        timeout: Duration::from_secs(if set_up.slow.is_some() { 30 } else { 5 }),
        silence: Duration::from_secs(8),
        retries: 0,
        start: Time::ZERO,
        stop: Time::MAX,
        server: None,
    })
}
