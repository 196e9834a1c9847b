//! The clusters that the benchmark was run against, as scenarios: one set of inputs for all rows.

use std::sync::Arc;

use zonefall_core::etcd::options::EtcdOptions;
use zonefall_core::ids::{EtcdId, ZoneId};
use zonefall_core::kernel::dist::Latency;
use zonefall_core::kernel::time::{Duration, Time};
use zonefall_core::record::{ClientRecord, Record, RequestResult};
use zonefall_core::scenario::cost::{Backend, Process, RequestCost};
use zonefall_core::scenario::{self, CERTIFICATE_BYTES, Client, Disk, Load, Network, Path, Scenario, Target};
use zonefall_core::sim::{Options, Simulation};

use super::row::{Op, Row, Topology};
use super::{Bench, Figures};
use crate::bare::Bare;
use crate::inputs::Input;

const SAME_ZONE: Input = Input::physical(
    "round trip inside a zone",
    0.15,
    "ms",
    "assumed; only its sum with two hand-overs can be told from the rows",
);
const CROSS_ZONE: Input = Input::fitted(
    "round trip between zones",
    0.352,
    "ms",
    &[215],
    "inside the 0.25 to 3.37 ms that are published for AWS zones (xkyle, 2020)",
);
const LINK: Input = Input::fitted(
    "bandwidth of a connection",
    585.0,
    "MB/s",
    &[437],
    "4.7 Gbit/s; AWS limits a flow between instances to 5 Gbit/s (AWS documentation, not verified)",
);
const VOLUME: Input =
    Input::physical("bandwidth of a volume", 128.0, "MiB/s", "gp2 volumes of up to 170 GiB (AWS documentation, not verified)");
const FSYNC: Input = Input::fitted("fsync, median (lognormal, sigma 0.3)", 712.0, "us", &[55, 110], "a service time");
const INTERVAL: Input =
    Input::policy("backend commits every", 100.0, "ms", "etcd: mvcc/backend, defaultBatchInterval (not verified)");
const LIMIT: Input = Input::policy("or after", 10_000.0, "writes", "etcd: mvcc/backend, defaultBatchLimit (not verified)");
const SYNCS: Input = Input::policy("syncs of a commit", 2.0, "", "bbolt: pages, then meta page (not verified)");
const EARLY: Input =
    Input::policy("a member alone answers before it syncs", 1.0, "(yes)", "etcd 3.4.13, before the fix of etcd-io/etcd#14370");
const HAND_OVER: Input = Input::fitted("hand-over at the end of each hop", 102.0, "us", &[217], "a service time");
const CLIENT: Input = Input::fitted("the client's process, per request", 68.0, "us", &[252], "a service time");
const CLIENT_BYTES: Input = Input::fitted("the client's process, per byte", 0.57, "ns", &[342, 437], "a service time");
const CORES: Input = Input::physical("cores of a member", 2.0, "", "assumed; only the time per key divided by it can be told");
const MEMBER: Input = Input::fitted(
    "a member's core, per request",
    50.0,
    "us",
    &[217],
    "a service time; only its sum with two hand-overs can be told from the rows",
);
const WRITE: Input = Input::fitted("a write's waits between threads", 88.0, "us", &[54], "a service time");
const APPLY: Input = Input::fitted(
    "apply of an entry",
    20.0,
    "us",
    &[54],
    "a service time; only its sum with a write's waits can be told from the rows",
);
const MEMBER_BYTES: Input = Input::fitted("a member's core, per byte", 0.66, "ns", &[342], "a service time");
const READ_BYTES: Input = Input::fitted("a member's core, per byte read", 1.65, "ns", &[342, 121], "a service time");
const KEYS: Input = Input::fitted("a member's core, per further key of a range", 2.18, "us", &[282], "a service time");
const CROWDED: Input = Input::fitted(
    "a member's time per byte where three share a zone, times",
    1.33,
    "",
    &[335],
    "cause unknown: neighbours on shared machines would do it (GEP-20: \"the zones have other workloads running\")",
);

/// All that is put in.
pub const INPUTS: [Input; 20] = [
    SAME_ZONE,
    CROSS_ZONE,
    LINK,
    VOLUME,
    FSYNC,
    INTERVAL,
    LIMIT,
    SYNCS,
    EARLY,
    HAND_OVER,
    CLIENT,
    CLIENT_BYTES,
    CORES,
    MEMBER,
    WRITE,
    APPLY,
    MEMBER_BYTES,
    READ_BYTES,
    KEYS,
    CROWDED,
];

/// Bytes of a key (the benchmark's default).
const KEY_BYTES: u32 = 8;
/// The load begins on a settled cluster.
const START: Time = Time::from_nanos(1_000_000_000);
/// No request takes so long.
const PATIENCE: Duration = Duration::from_secs(3_600);

fn us(input: &Input, times: f64) -> Duration {
    Duration::from_nanos((input.value * times * 1e3).round() as u64)
}

fn per_mib(ns_per_byte: &Input, times: f64) -> Duration {
    Duration::from_nanos((ns_per_byte.value * times * f64::from(1 << 20)).round() as u64)
}

fn path(round_trip: &Input) -> Path {
    let bytes_per_s = (LINK.value * 1e6) as u64;
    Path { delay: us(round_trip, 500.0), jitter: Latency::NONE, loss: 0.0, bytes_per_s }
}

fn options(topology: Topology) -> EtcdOptions {
    let crowd = if topology == Topology::OneZone { CROWDED.value } else { 1.0 };
    EtcdOptions {
        pre_vote: false,
        request_timeout: PATIENCE,
        rpc_overhead: us(&HAND_OVER, 1.0),
        apply: us(&APPLY, 1.0),
        cost: RequestCost {
            cores: CORES.value as u8,
            per_request: us(&MEMBER, 1.0),
            per_mib: per_mib(&MEMBER_BYTES, crowd),
            per_mib_read: per_mib(&READ_BYTES, crowd),
            per_key: us(&KEYS, 1.0),
            write: us(&WRITE, 1.0),
        },
        backend: Some(Backend { interval: us(&INTERVAL, 1e3), limit: LIMIT.value as u32, syncs: SYNCS.value as u8 }),
        answers_before_sync: EARLY.value > 0.0,
        ..EtcdOptions::default()
    }
}

/// Zones of the members, the asked one first, then the leader if that is another.
fn places(row: &Row, bench: &Bench) -> Vec<ZoneId> {
    let asked = bench.zone(&row.zone);
    match row.topology {
        Topology::Single => vec![asked],
        Topology::OneZone => vec![asked; 3],
        Topology::ThreeZones => {
            // Who leads stands beside the client, where that is free.
            let rest = bench.zones.keys().filter(|zone| *zone != asked && *zone != bench.client);
            [asked].into_iter().chain((asked != bench.client).then_some(bench.client)).chain(rest).take(3).collect()
        }
    }
}

/// A row's run.
pub fn scenario(row: &Row, bench: &Bench) -> Scenario {
    let places = places(row, bench);
    let zones = bench.zones.len();
    let paths = (0..zones * zones).map(|k| path(if k % (zones + 1) == 0 { &SAME_ZONE } else { &CROSS_ZONE })).collect();
    let disk = Disk {
        fsync: Latency::LogNormal { median: us(&FSYNC, 1.0), sigma: 0.3 },
        bytes_per_s: (VOLUME.value * f64::from(1 << 20)) as u64,
        iops: None,
    };
    Bare {
        zones: bench.zones.clone().into(),
        disk,
        network: Network { paths, same_host: path(&SAME_ZONE), tls: true, certificate_bytes: CERTIFICATE_BYTES },
        options: options(row.topology),
        leader: u8::from(!row.of_leader && places.len() > 1),
        places,
        clients: vec![client(row, bench)],
        duration: PATIENCE * 2,
    }
    .scenario()
}

fn client(row: &Row, bench: &Bench) -> Client {
    let value_bytes = row.value_bytes;
    let op = match row.op {
        Op::Put => scenario::Op::Put { key_bytes: KEY_BYTES, value_bytes },
        Op::Range { all, linearizable } => {
            let keys = if all { bench.population(value_bytes) } else { 1 };
            scenario::Op::Range { linearizable, keys, key_bytes: KEY_BYTES, value_bytes }
        }
    };
    Client {
        name: "benchmark".into(),
        etcd: EtcdId(0),
        zone: bench.client,
        node: None,
        op,
        target: Target::Member(0),
        load: Load::Closed { connections: row.clients },
        requests: Some(row.requests),
        process: Some(Process {
            per_request: us(&CLIENT, 1.0),
            per_mib: per_mib(&CLIENT_BYTES, 1.0),
            rpc_overhead: us(&HAND_OVER, 1.0),
        }),
        timeout: PATIENCE,
        silence: PATIENCE,
        retries: 0,
        start: START,
        stop: Time::MAX,
        server: None,
    }
}

/// Runs a row.
///
/// # Errors
/// Where not every request is answered.
pub fn simulate(row: &Row, bench: &Bench) -> Result<Figures, String> {
    let scenario = Arc::new(scenario(row, bench));
    let end = Time::ZERO + scenario.duration;
    let mut simulation = Simulation::new(Arc::clone(&scenario), scenario.seed, Options::default());
    let (mut answered, mut failed, mut total, mut last) = (0u64, 0u64, Duration::ZERO, START);
    while answered + failed < row.requests && simulation.now() < end {
        let until = simulation.now() + Duration::from_secs(1);
        simulation.run_until(until, &mut |when, record| match record {
            Record::Client(ClientRecord::Request { latency, result: RequestResult::Ok, .. }) => {
                answered += 1;
                total = total + *latency;
                last = when;
            }
            Record::Client(ClientRecord::Request { .. }) => failed += 1,
            _ => {}
        });
    }
    if answered < row.requests {
        return Err(format!("line {}: {answered} of {} requests are answered, {failed} fail", row.line, row.requests));
    }
    let qps = answered as f64 / last.since(START).as_secs_f64();
    Ok(Figures { qps, latency_ms: total.as_secs_f64() * 1e3 / answered as f64 })
}
