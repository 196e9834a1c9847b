//! The clusters that the appendix was metered on, as scenarios: one set of inputs for all runs.

use serde_json::{Value, json};
use zonefall_core::network::wire;
use zonefall_core::scenario::Scenario;
use zonefall_core::scenario::kube::usage::{Action, BURST_S, Basis, IDLE_LOAD, KEY_BYTES, Objects, Size, Source};

use super::Run;
use crate::inputs::{Input, Label};

/// Least seconds before anything is metered.
pub const SETTLED_S: u64 = 30;
/// When the run's request or load begins, in the first of its runs.
pub const ASKED_S: u64 = 60;
/// Runs of a load, each beginning 5 s later in a minute of the workload at rest than the one before.
pub const PHASES: u64 = 12;

const LINK: Input =
    Input::physical("bandwidth between zones", 120.0, "MiB/s", "GEP-20: \"max egress: ~120 MiB/s\" while nothing else limits");
const WINDOW: Input = Input::policy("window of the meter", 20.0, "s", "inferred: a load of 30 s shows as a pattern of 50 s");
const SERVERS: Input = Input::policy("API servers, one at each member", 3.0, "", "assumed; GEP-20: as many as zones");
const JOINING: Input = Input::policy(
    "API servers sent to a member that joins",
    0.0,
    "",
    "assumed: its pod is not ready; the third asks the leader meanwhile (rows 17 and 18 rest on it)",
);
const CERTIFICATE: Input = Input::physical(
    "certificate of a member",
    1_190.0,
    "B",
    "850 B (2,048 bits, few names) and 8 names of a peer service in \"shoot--ash-garden--mz-neem\" (which ones Gardener puts there is not verified)",
);
const KEY: Input = Input::physical(
    "key of an object",
    KEY_BYTES as f64,
    "B",
    "/registry/leases/kube-system/kube-controller-manager and the like",
);
const BULK: Input = Input::fitted(
    "segments that one ACK of a database answers",
    wire::BULK_SEGMENTS_PER_ACK as f64,
    "",
    &[16],
    "between 24 (four or five ACKs for 100 KiB, as captured) and 45 (64 KiB, most that Linux coalesces)",
);
const BURST: Input = Input::policy("length of the minutely burst", BURST_S as f64, "s", "assumed: a third of a minute");

/// All that is put in besides the workload at rest.
pub const INPUTS: [Input; 8] = [LINK, CERTIFICATE, WINDOW, SERVERS, JOINING, KEY, BULK, BURST];

/// Seconds of the meter's window.
pub const WINDOW_S: usize = WINDOW.value as usize;

/// The control plane that was metered: three nodes and API servers, and one replica of each controller (GEP-20, Other Critical Components
/// Having a Single Replica: "currently setup with a single replica").
const SIZE: Size = Size { nodes: 3, servers: 3, standbys: 0 };

/// What a fresh control plane asks of its etcd-main without user activity (events have their own), all API servers together: each a
/// Poisson process, at its rate while it asks.
pub fn at_rest() -> impl Iterator<Item = (&'static Source, Input)> {
    let asked = IDLE_LOAD.iter().filter(|source| source.objects == Objects::Main && source.per_million_s(SIZE) > 0);
    asked.map(|source| {
        let mean = source.per_million_s(SIZE) as f64 / 1e6;
        let value = if source.in_bursts { mean * 60.0 / BURST_S as f64 } else { mean };
        let (label, rows) = match source.basis {
            Basis::Policy => (Label::Policy, &[] as &[u32]),
            Basis::Fitted(rows) => (Label::Fitted, rows),
        };
        let value = (value * 1e4).round() / 1e4;
        (source, Input { what: source.what, value, unit: "/s", label, source: source.source, rows })
    })
}

fn rate(per_s: f64) -> String {
    format!("{per_s:.9}/s")
}

fn seconds(s: u64) -> String {
    format!("{s}s")
}

/// Clients that are the three API servers of a control plane at rest, for so many seconds.
fn rest(run: Run, duration_s: u64) -> Vec<Value> {
    // Nobody is sent to a member that is not ready yet.
    let ready = |member: usize| if run == Run::Resync && member == run.target() { run.leader() } else { member };
    let servers = SERVERS.value as usize;
    let mut clients = Vec::new();
    for (k, (source, input)) in at_rest().enumerate() {
        let spans: Vec<(u64, u64)> = if source.in_bursts {
            // In the middle of each minute.
            (0..duration_s / 60).map(|minute| minute * 60 + 20).map(|start| (start, start + BURST_S)).collect()
        } else {
            vec![(0, duration_s)]
        };
        for (span, (start, stop)) in spans.into_iter().enumerate() {
            clients.extend((0..servers).map(|server| {
                let mut client = json!({
                    "name": format!("rest-{k}-{span}-{server}"), "zone": zone(server), "target": member(ready(server)),
                    "rate": rate(input.value / SERVERS.value), "arrivals": "poisson",
                    "start": seconds(start), "stop": seconds(stop),
                });
                let (op, key, value) = match source.action {
                    Action::Write(bytes) | Action::Event(bytes) | Action::Keep(bytes) => ("txn", KEY_BYTES, bytes),
                    // As long as what grants one.
                    Action::Grant(_) => ("put", 8, 0),
                    Action::Read(bytes) => ("range", KEY_BYTES, bytes),
                };
                add(&mut client, json!({"op": op, "key": bytes(key), "value": bytes(value)}));
                client
            }));
            if matches!(source.action, Action::Grant(_)) {
                // The leader ends as many leases as are granted. Its requests to itself are on no link between members.
                let leader = run.leader();
                clients.push(json!({
                    "name": format!("ends-{k}"), "zone": zone(leader), "target": member(leader), "rate": rate(input.value),
                    "arrivals": "poisson", "op": "put", "key": "6B", "value": "0B",
                }));
            }
        }
    }
    clients
}

fn add(to: &mut Value, more: Value) {
    let (Value::Object(to), Value::Object(more)) = (to, more) else { unreachable!("both are objects") };
    to.extend(more);
}

fn bytes(bytes: u32) -> String {
    format!("{bytes}B")
}

fn zone(index: usize) -> String {
    format!("zone-{index}")
}

fn member(index: usize) -> String {
    format!("etcd-main-{index}")
}

/// Bytes of a line that etcdctl writes besides key and value: two line ends.
const LINE: u32 = 2;

/// What the run asks; the client that is metered comes last.
fn asked(run: Run, at_s: u64) -> Vec<Value> {
    let client = |name: &str, target: usize, what: Value| {
        let mut client = json!({"name": name, "zone": zone(0), "target": member(target), "start": seconds(at_s), "timeout": "300s", "retries": 0});
        add(&mut client, what);
        client
    };
    let puts = |target: usize, rate: &str, total: u32| {
        client("benchmark", target, json!({"op": "put", "key": "8B", "value": "1KiB", "rate": rate, "requests": total}))
    };
    let once = |what: Value| {
        let mut client = client("etcdctl", run.target(), what);
        add(&mut client, json!({"rate": "1/s", "requests": 1}));
        client
    };
    match run {
        Run::Idle | Run::Resync => Vec::new(),
        Run::PutLeader | Run::PutFollower => vec![puts(run.target(), "100/s", 3_000)],
        Run::GetLeader | Run::GetFollower => {
            const KEYS: u32 = 17_999;
            const KEY: u32 = 5;
            let value = (607 << 20) / KEYS - KEY - LINE;
            vec![once(json!({"op": "range", "keys": KEYS, "key": bytes(KEY), "value": bytes(value)}))]
        }
        Run::DeleteLeader | Run::DeleteFollower => vec![once(json!({"op": "delete", "keys": 99_999, "key": "5B"}))],
        Run::Watch => vec![puts(run.leader(), "500/s", 100_000), client("etcdctl", run.target(), json!({"op": "watch"}))],
    }
}

/// How long a run takes, in seconds, if what it asks begins at `at_s`.
const fn duration_s(run: Run, at_s: u64) -> u64 {
    at_s + match run {
        Run::Idle => 3_600,
        Run::Watch => 240,
        _ => 90,
    }
}

/// A run whose request or load begins at `at_s`, or (`without`) never comes, but for a benchmark that the request only looks at.
///
/// # Panics
/// Where it is no scenario.
pub fn scenario(run: Run, at_s: u64, without: bool) -> Scenario {
    let duration_s = duration_s(run, at_s);
    let mut clients = rest(run, duration_s);
    clients.extend(asked(run, at_s));
    if without {
        clients.pop();
    }
    let (initial, options) = match run {
        Run::Resync => (json!({"revision": 47_576, "database": "5.1GB"}), json!({"snapshot_count": 10_000})),
        Run::Watch => (json!({"revision": 970_471, "database": "673MB"}), json!({})),
        _ => (json!({"revision": 3_863, "database": "7.6MB"}), json!({})),
    };
    let mut members: Vec<Value> = (0..3).map(|k| json!({"name": member(k), "node": format!("node-{k}")})).collect();
    if run == Run::Resync {
        add(&mut members[run.target()], json!({"behind": {"revision": 1_200, "database": "14MB"}}));
    }
    let mut initial = initial;
    add(&mut initial, json!({"leader": member(run.leader())}));
    let text = json!({
        "name": "gep20-traffic",
        "title": run.describe(),
        "duration": seconds(duration_s),
        "topology": {
            "regions": [{"name": "region", "zones": [zone(0), zone(1), zone(2)]}],
            "nodes": (0..3).map(|k| json!({"name": format!("node-{k}"), "zone": zone(k)})).collect::<Vec<_>>(),
        },
        "network": {"cross_zone": {"bandwidth": format!("{}MiB/s", LINK.value)}},
        "etcd": [{"name": "etcd-main", "members": members, "options": options, "initial": initial}],
        "clients": clients,
    });
    let mut scenario = Scenario::from_json(&text.to_string()).unwrap_or_else(|errors| panic!("{run:?}: {errors:?}"));
    scenario.network.certificate_bytes = CERTIFICATE.value as u32;
    scenario
}
