//! The clusters that the appendix was metered on, as scenarios: one set of inputs for all runs.

use serde_json::{Value, json};
use zonefall_core::network::wire;
use zonefall_core::scenario::Scenario;

use super::Run;
use crate::inputs::Input;

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
const CERTIFICATE: Input = Input::physical(
    "certificate of a member",
    1_190.0,
    "B",
    "850 B (2,048 bits, few names) and 8 names of a peer service in \"shoot--ash-garden--mz-neem\" (which ones Gardener puts there is not verified)",
);
const KEY: Input =
    Input::physical("key of an object", 55.0, "B", "/registry/leases/kube-system/kube-controller-manager and the like");
const READ: Input = Input::policy("a quorum read's object", 2_048.0, "B", "assumed; no byte of it goes from member to member");
const BULK: Input = Input::fitted(
    "segments that one ACK of a database answers",
    wire::BULK_SEGMENTS_PER_ACK as f64,
    "",
    &[16],
    "between 24 (four or five ACKs for 100 KiB, as captured) and 45 (64 KiB, most that Linux coalesces)",
);
const BURST: Input = Input::policy("length of the minutely burst", 20.0, "s", "assumed: a third of a minute");

/// All that is put in besides the workload at rest.
pub const INPUTS: [Input; 8] = [LINK, CERTIFICATE, WINDOW, SERVERS, KEY, READ, BULK, BURST];

/// Seconds of the meter's window.
pub const WINDOW_S: usize = WINDOW.value as usize;

/// What a source asks of etcd.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Does {
    /// Writes an object of so many bytes, by a transaction.
    Write(u32),
    /// Grants a lease.
    Grant,
    /// Reads an object, linearizably.
    Read,
    /// The same, in a burst of [`BURST`] each minute; the rate is that of the burst.
    ReadInBursts,
}

/// A part of the workload at rest; all API servers together, a Poisson process.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Source {
    /// Does what.
    pub does: Does,
    /// Who, and how often.
    pub rate: Input,
}

const fn source(does: Does, rate: Input) -> Source {
    Source { does, rate }
}

const ELECTIONS: &str =
    "4 leases (controller-manager, scheduler, cloud-controller-manager, cluster-autoscaler), each every 2 s (defaults.csv)";

/// A fresh control plane of three nodes without user activity, its etcd-main (events have their own).
pub const REST: [Source; 12] = [
    source(Does::Write(400), Input::policy("leaders renew", 2.0, "/s", ELECTIONS)),
    source(Does::Read, Input::policy("and look before", 2.0, "/s", ELECTIONS)),
    source(
        Does::Read,
        Input::policy(
            "candidates look",
            2.5,
            "/s",
            "2 standbys of each of the 4, each every 3.2 s: 2 s with a jitter of up to 1.2 (defaults.csv)",
        ),
    ),
    source(
        Does::Write(400),
        Input::policy("CSI sidecars renew", 1.0, "/s", "5 sidecars, each every 5 s (csi-lib-utils, not verified)"),
    ),
    source(Does::Read, Input::policy("and look before", 1.0, "/s", "as often")),
    source(
        Does::Write(450),
        Input::policy("kubelets renew node leases", 0.3, "/s", "3 nodes, each every 10 s (defaults.csv); size not verified"),
    ),
    source(
        Does::Write(100),
        Input::policy("API servers renew their own leases", 0.3, "/s", "3 servers, each every 10 s (not verified)"),
    ),
    source(Does::Grant, Input::policy("with a lease of etcd", 0.3, "/s", "each renewal grants one (not verified)")),
    source(Does::Write(2_048), Input::policy("status of nodes, endpoints and the like", 0.5, "/s", "assumed")),
    source(
        Does::Read,
        Input::policy(
            "health checks of etcd, lists of leases",
            1.1,
            "/s",
            "3 servers, 2 checks in 10 s; 3 lists in 10 s; a sidecar's check each 5 s (not verified)",
        ),
    ),
    source(Does::Read, Input::fitted("other quorum reads: monitors, care controllers, admission", 6.5, "/s", &[6], "a rate")),
    source(
        Does::ReadInBursts,
        Input::fitted(
            "a controller's minutely sync (gardener-resource-manager), while it lasts",
            26.0,
            "/s",
            &[1],
            "a rate; the sync period of a minute is not verified",
        ),
    ),
];

/// As a put of that many more bytes in its key, a transaction has its very size: key and revision compared, the object put, the key read
/// where the comparison fails (apiserver `storage/etcd3/store.go`; tags and lengths of `etcdserverpb.TxnRequest` are 27 B in all, those
/// of a put 6 B).
const fn key_of_transaction(key: u32) -> u32 {
    3 * key + 27 - 6
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
    for (k, source) in REST.iter().enumerate() {
        let spans: Vec<(u64, u64)> = match source.does {
            // In the middle of each minute.
            Does::ReadInBursts => {
                let burst = BURST.value as u64;
                (0..duration_s / 60).map(|minute| minute * 60 + 20).map(|start| (start, start + burst)).collect()
            }
            _ => vec![(0, duration_s)],
        };
        for (span, (start, stop)) in spans.into_iter().enumerate() {
            clients.extend((0..servers).map(|server| {
                let mut client = json!({
                    "name": format!("rest-{k}-{span}-{server}"), "zone": zone(server), "target": member(ready(server)),
                    "rate": rate(source.rate.value / SERVERS.value), "arrivals": "poisson",
                    "start": seconds(start), "stop": seconds(stop),
                });
                let (op, key, value) = match source.does {
                    Does::Write(bytes) => ("put", key_of_transaction(KEY.value as u32), bytes),
                    Does::Grant => ("put", 8, 0),
                    Does::Read | Does::ReadInBursts => ("range", KEY.value as u32, READ.value as u32),
                };
                add(&mut client, json!({"op": op, "key": bytes(key), "value": bytes(value)}));
                client
            }));
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
        "title": run.words(),
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
