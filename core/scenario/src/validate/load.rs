//! Clients, and how much work they make in all.

use super::etcd::only_or_named;
use crate::cost::Process;
use crate::error::{did_you_mean, one_of, quote};
use crate::ids::{EtcdId, NodeId, ZoneId};
use crate::load::{Change, Client, Load, Op, Target};
use crate::lowering::{CheckCtx, MemberLifetime, Members, Names, Topology, quoted};
use crate::raw::{RawArrivals, RawClient, RawConsistency, RawOp, RawProcess, RawScenario};
use crate::units::{Rate, Size};
use zonefall_kernel::time::{Duration, Time};

/// Requests per second of all clients with a rate.
const MAX_RATE_PER_S: f64 = 1e6;
/// Connections of all clients without one.
const MAX_CONNECTIONS: u64 = 100_000;
/// Requests of a run, estimated.
const MAX_REQUESTS: f64 = 1e10;
/// A connection in a closed loop makes no more requests per second than this (an answer takes a millisecond), estimated.
const CLOSED_LOOP_PER_S: f64 = 1e3;
/// Bytes of one answer.
const MAX_ANSWER_BYTES: u64 = 16 << 30;

pub(super) fn validate(
    ctx: &mut CheckCtx<'_>,
    raw: &RawScenario,
    topology: &Topology,
    clusters: &Names,
    members: &Members,
) -> Vec<Client> {
    let mut names = Names::new("a client");
    let mut all = Vec::new();
    let mut total = Total::default();
    for (k, client) in raw.clients.iter().enumerate() {
        let path = format!("clients[{k}]");
        names.add(ctx, &format!("{path}.name"), client.name.as_str(), k);
        let cluster = only_or_named(ctx, &path, client.etcd.as_deref(), clusters).map(EtcdId::from);
        let (zone, node) = location(ctx, &path, client, topology);
        let (start, stop) = times(ctx, &path, client);
        let load = load(ctx, &path, client);
        let lifetimes = cluster.and_then(|cluster| members.lifetimes.get(cluster));
        let target = target(ctx, &path, &client.target, start, lifetimes.map_or(&[], Vec::as_slice));
        total.add(load, client, stop.since(start));
        all.push(Client {
            name: client.name.to_string(),
            etcd: cluster.unwrap_or(EtcdId(0)),
            zone: zone.unwrap_or(ZoneId(0)),
            node,
            op: op(ctx, &path, client.op),
            target: target.unwrap_or(Target::All),
            load,
            requests: client.requests,
            process: client.process.map(process),
            timeout: client.timeout.0,
            silence: client.silence.0,
            retries: client.retries,
            start,
            stop,
            server: None,
        });
    }
    total.check(ctx);
    all
}

fn process(raw: RawProcess) -> Process {
    Process { per_request: raw.per_request.0, per_mib: raw.per_mib.0, rpc_overhead: raw.rpc_overhead.0 }
}

#[derive(Default)]
struct Total {
    rate_per_s: f64,
    connections: u64,
    requests: f64,
}

impl Total {
    fn add(&mut self, load: Load, client: &RawClient, active: Duration) {
        let most = client.requests.map_or(f64::MAX, |requests| requests as f64);
        match load {
            Load::Open { .. } => {
                let rate = client.rate.map_or(0.0, Rate::as_per_second);
                self.rate_per_s += rate;
                self.requests += (rate * active.as_secs_f64()).min(most);
            }
            Load::Closed { connections } => {
                self.connections += u64::from(connections);
                if !matches!(client.op, RawOp::Watch {}) {
                    self.requests += (f64::from(connections) * CLOSED_LOOP_PER_S * active.as_secs_f64()).min(most);
                }
            }
        }
    }

    fn check(&self, ctx: &mut CheckCtx<'_>) {
        if self.rate_per_s > MAX_RATE_PER_S {
            ctx.error("clients", format!("{}/s in all", self.rate_per_s), "at most 1000000/s of all rates together");
        }
        if self.connections > MAX_CONNECTIONS {
            ctx.error("clients", format!("{} connections in all", self.connections), format!("at most {MAX_CONNECTIONS}"));
        }
        if self.requests > MAX_REQUESTS && ctx.trusts("duration") {
            let found = format!("about {:.1e} requests in the whole run", self.requests);
            ctx.error("clients", found, "at most 1e10: a lower rate, fewer connections or a shorter run");
        }
    }
}

fn location(ctx: &mut CheckCtx<'_>, path: &str, client: &RawClient, topology: &Topology) -> (Option<ZoneId>, Option<NodeId>) {
    let zone = client.zone.as_ref().map(|name| topology.zone_names.find(ctx, &format!("{path}.zone"), name).map(ZoneId::from));
    let node = client.node.as_ref().map(|name| topology.node_names.find(ctx, &format!("{path}.node"), name).map(NodeId::from));
    let node_zone = node.flatten().and_then(|node| topology.node_zones[node]);
    if let (Some(Some(zone)), Some(node_zone), Some(name)) = (zone, node_zone, &client.node)
        && zone != node_zone
    {
        let expected = format!("{}, the zone of node {name}, or no value", quote(&topology.zones[node_zone].name));
        ctx.error(&format!("{path}.zone"), quote(client.zone.as_deref().unwrap_or_default()), expected);
    }
    if zone.is_none() && node.is_none() && topology.zones.len() > 1 {
        ctx.error(path, "neither `zone` nor `node`", "`zone` or `node`: delays depend on the location of a client");
    }
    (zone.flatten().or(node_zone), node.flatten())
}

fn times(ctx: &mut CheckCtx<'_>, path: &str, client: &RawClient) -> (Time, Time) {
    let start = Time::ZERO + client.start.0;
    let stop = client.stop.map_or(ctx.end, |stop| (Time::ZERO + stop.0).min(ctx.end));
    if start >= ctx.end {
        ctx.error(&format!("{path}.start"), quoted(client.start), "a time before the end of the run (`duration`)");
    } else if let Some(written) = client.stop
        && start >= stop
    {
        ctx.error(&format!("{path}.stop"), quoted(written), format!("a time after its start, {}", client.start));
    }
    (start, stop)
}

fn load(ctx: &mut CheckCtx<'_>, path: &str, client: &RawClient) -> Load {
    let watches = matches!(client.op, RawOp::Watch {});
    if let (Some(requests), true) = (client.requests, watches) {
        ctx.error(&format!("{path}.requests"), requests.to_string(), "no value: a watch is one request that stays open");
    }
    if let Some(rate) = client.rate {
        if watches {
            ctx.error(&format!("{path}.rate"), quoted(rate), "no rate: a watch stays open; set the number with `connections`");
        } else if client.connections.is_some() {
            ctx.error(path, "both `rate` and `connections`", "only one of the two");
        }
        if rate.interval() == Duration::MAX {
            ctx.error(&format!("{path}.rate"), quoted(rate), "more than 0");
        }
        return Load::Open { interval: rate.interval(), poisson: client.arrivals == Some(RawArrivals::Poisson) };
    }
    if client.arrivals.is_some() {
        ctx.error(&format!("{path}.arrivals"), "arrivals without a rate", "`rate` too, or no `arrivals`");
    }
    if client.connections.is_none() && !watches && ctx.trusts(&format!("{path}.rate")) {
        ctx.error(path, "neither `rate` nor `connections`", "`rate` or `connections`, such as \"rate\": \"100/s\"");
    }
    Load::Closed { connections: client.connections.unwrap_or(1) }
}

fn op(ctx: &mut CheckCtx<'_>, path: &str, raw: RawOp) -> Op {
    let bytes = |size: Size| size.0 as u32;
    match raw {
        RawOp::Put { key, value } => Op::Put { key_bytes: bytes(key), value_bytes: bytes(value) },
        RawOp::Txn { key, value } => Op::Txn { change: Change::Update, key_bytes: bytes(key), value_bytes: bytes(value) },
        RawOp::Range { key, value, keys, consistency } => {
            if (key.0 + value.0).saturating_mul(u64::from(keys)) > MAX_ANSWER_BYTES {
                ctx.error(&format!("{path}.keys"), keys.to_string(), format!("answers of at most {}", Size(MAX_ANSWER_BYTES)));
            }
            let linearizable = consistency == RawConsistency::Linearizable;
            Op::Range { linearizable, keys, key_bytes: bytes(key), value_bytes: bytes(value) }
        }
        RawOp::Delete { key, keys } => Op::Delete { keys, key_bytes: bytes(key) },
        RawOp::Watch {} => Op::Watch,
    }
}

fn target(ctx: &mut CheckCtx<'_>, path: &str, raw: &str, start: Time, lifetimes: &[MemberLifetime]) -> Option<Target> {
    match raw {
        "leader" => return Some(Target::Leader),
        "follower" => return Some(Target::Follower),
        "nearest" => return Some(Target::Nearest),
        "all" => return Some(Target::All),
        _ => {}
    }
    // The member of that name when the client starts; one that is added later will do.
    let named = |life: &&MemberLifetime| life.name == raw;
    let found = lifetimes.iter().rev().find(|life| named(life) && life.covers(start)).or_else(|| lifetimes.iter().find(named));
    if found.is_none() && !lifetimes.is_empty() {
        let known =
            || ["leader", "follower", "nearest", "all"].into_iter().chain(lifetimes.iter().map(|life| life.name.as_str()));
        let hint = if ctx.errors.suggests() { did_you_mean(raw, known()) } else { String::new() };
        ctx.error(&format!("{path}.target"), quote(raw), format!("{}{hint}", one_of(known())));
    }
    found.map(|life| Target::Member(life.id.index))
}
