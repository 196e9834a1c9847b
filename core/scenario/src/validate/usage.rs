//! What asks the APIs of shoots and of clusters without Gardener.

use std::sync::Arc;

use crate::error::quote;
use crate::etcd::EtcdClusterSpec;
use crate::ids::{EtcdId, KubeClusterId, TiSlice, ZoneId};
use crate::kube::fairness::request::ApiCall;
use crate::kube::fairness::{FairnessChoice, FlowControl};
use crate::kube::gardener::Shoot;
use crate::kube::usage::{
    COMPACTION_INTERVAL, Caller, Each, InFlight, KEY_BYTES, Objects, Requests, WATCHER, idle_load, stacked_idle_load,
};
use crate::kube::{Component, KubeClusterSpec, KubeModel, Role, Workload};
use crate::load::{ApiServerClient, Change, Client, Load, Op, Target};
use crate::lowering::{CheckCtx, quoted};
use crate::raw::{RawInFlight, RawRequests, RawScenario, RawTraffic, RawUsage, RawVerb};
use crate::text;
use crate::units::Size;
use zonefall_kernel::time::{Duration, Time};

/// Worker nodes of a shoot (GEP-20: traffic of a fresh shoot).
const NODES: u32 = 3;
/// Objects that a list reads (assumed).
const OBJECTS: u32 = 500;
/// Components that are told of a write (assumed: one controller).
const WATCHERS: u32 = 1;
/// Most bytes that one list reads from etcd.
const MAX_LIST_BYTES: u64 = 1 << 30;
/// Most bytes of all requests of one kind in a run.
const MAX_BYTES: u128 = 1_000_000_000_000_000;
/// Most bytes of all requests of a run, ...
const MAX_TOTAL_BYTES: u128 = 1_000_000_000_000_000_000;
/// ... for which what is written is taken to be sent so often: asked and forwarded, appended by two, and told to three or four API servers,
/// with what it was.
const COPIES: u128 = 16;
/// Most requests of a run that is simulated request by request.
const MAX_REQUESTS: u128 = 100_000_000;
/// An API server waits for etcd as long as its caller may wait for it (`--request-timeout`); etcd's own time-out is mostly sooner.
const REQUEST_TIMEOUT: Duration = Duration::from_secs(60);
/// Most parts of what API servers ask then: each has a place among the hosts.
const MAX_CLIENTS: usize = 20_000;
/// Control planes of which requests are sampled where their traffic flows, spread evenly over the file's.
const SAMPLED: usize = 16;
/// Most samples of a run, and of a kind of requests in a million seconds: one in ten.
const SAMPLES: u64 = 20_000;
const SAMPLE_PER_MILLION_S: u64 = 100_000;
/// Most requests of a kind in a million seconds that are simulated while an etcd is disturbed (fifty a second; 500 of all that might be), and
/// in the time between two heartbeats: of more, one would be under way at nearly every heartbeat, so that the group could not go back to rest.
const DISTURBED_PER_MILLION_S: u64 = 50_000_000;
const ALL_DISTURBED_PER_MILLION_S: u64 = 500_000_000;
const DISTURBED_PER_HEARTBEAT: u64 = 5;
/// Control planes whose requests are simulated then, spread evenly over the file's.
const DISTURBED: usize = 1_000;

/// What the use of a shoot's API asks, all of its control plane together.
pub(super) fn of_shoot<'a>(
    ctx: &mut CheckCtx<'_>,
    path: &str,
    raw: &RawUsage,
    components: impl Iterator<Item = &'a Workload>,
) -> Vec<Requests> {
    let components: Vec<&str> = components.map(|workload| workload.name.as_str()).collect();
    requests(ctx, path, raw, &components, idle_load(raw.nodes.unwrap_or(NODES)))
}

/// What the use of the API of a cluster without Gardener asks.
pub(super) fn of_cluster(ctx: &mut CheckCtx<'_>, path: &str, raw: &RawUsage, components: &[Component]) -> Vec<Requests> {
    let components: Vec<&str> = components.iter().map(|component| component.name()).collect();
    requests(ctx, path, raw, &components, stacked_idle_load(raw.nodes))
}

/// What is asked of the etcd of a shoot's control plane that is not in use.
pub(super) fn behind_shoot<'a>(components: impl Iterator<Item = &'a Workload>) -> Vec<Requests> {
    let components: Vec<&str> = components.map(|workload| workload.name.as_str()).collect();
    background(&components, idle_load(NODES))
}

/// The same of a cluster without Gardener, or of a seed.
pub(super) fn behind_cluster(components: &[Component]) -> Vec<Requests> {
    let components: Vec<&str> = components.iter().map(|component| component.name()).collect();
    background(&components, stacked_idle_load(None))
}

fn background(components: &[&str], idle: Vec<Requests>) -> Vec<Requests> {
    idle.into_iter().filter(|own| is_there(own, components)).collect()
}

/// A component that is not there asks nothing.
fn is_there(own: &Requests, components: &[&str]) -> bool {
    !matches!(&own.by, Caller::Component(name) if !components.contains(&name.as_str()))
}

fn requests(ctx: &mut CheckCtx<'_>, path: &str, raw: &RawUsage, components: &[&str], idle: Vec<Requests>) -> Vec<Requests> {
    let is_watched = components.contains(&WATCHER);
    let mut all: Vec<Requests> = idle.into_iter().filter(|own| raw.idle && is_there(own, components)).collect();
    for (k, own) in raw.requests.iter().enumerate() {
        let path = format!("{path}.use.requests[{k}]");
        if let Some(from) = own.from.as_ref().filter(|from| !components.contains(&from.as_str())) {
            ctx.error(&format!("{path}.from"), quote(from.as_str()), "a component of this control plane, or nothing");
        }
        if raw.requests[..k].iter().any(|other| other.name == own.name) {
            ctx.error(&format!("{path}.name"), quote(own.name.as_str()), "a name of its own");
        }
        all.push(asked(ctx, &path, own, is_watched));
    }
    all.retain(|own| own.per_million_s > 0);
    for own in all.iter_mut().filter(|own| own.by != Caller::Server) {
        own.retries = raw.retries;
    }
    all
}

/// Warns of an initial database in which there is no room for what its writes supersede before it is compacted away: it would hold no
/// object.
pub(super) fn warn_of_small_database(ctx: &mut CheckCtx<'_>, path: &str, database: Size, requests: &[Requests]) {
    let superseded = |own: &Requests| match own.etcd {
        Some((Objects::Main, Op::Txn { change: Change::Update | Change::Own | Change::Delete, key_bytes, value_bytes })) => {
            u128::from(own.per_million_s) * u128::from(key_bytes + value_bytes)
        }
        _ => 0,
    };
    let per_million_s: u128 = requests.iter().map(superseded).sum();
    let kept = per_million_s * u128::from(2 * COMPACTION_INTERVAL.as_nanos()) / 1_000_000_000_000_000;
    if u128::from(database.0) <= kept {
        let expected =
            format!("more than {}, which its writes supersede in two compaction intervals (10 min)", text::bytes(kept as u64));
        ctx.warn(&format!("{path}.initial.database"), quoted(database), expected);
    }
}

/// What an API server works on at a time.
pub(super) const fn in_flight(raw: &RawUsage) -> InFlight {
    let RawInFlight { reads, writes } = raw.inflight;
    InFlight { reads, writes }
}

/// Priority and Fairness of an API server.
pub(super) fn fairness(raw: &RawUsage) -> Option<Arc<FlowControl>> {
    raw.fairness.flow_control().map(Arc::new)
}

/// Limits of requests in flight, and what is done beyond them, are for requests.
pub(super) fn limits(ctx: &mut CheckCtx<'_>, raw: &RawScenario) {
    let shoots = raw.shoots.iter().enumerate().map(|(k, shoot)| (format!("shoots[{k}]"), &shoot.usage));
    let clusters = raw.clusters.iter().enumerate().map(|(k, cluster)| (format!("clusters[{k}]"), &cluster.usage));
    for (path, usage) in shoots.chain(clusters).filter_map(|(path, usage)| Some((path, usage.as_ref()?))) {
        let RawInFlight { reads, writes } = usage.inflight;
        if usage.fairness != FairnessChoice::Off && reads + writes == 0 {
            let expected = "`reads` and `writes` that add up to 1 at least: with `fairness` their sum is the number of seats";
            ctx.error(&format!("{path}.use.inflight"), "0", expected);
        }
        let none = RawUsage::default();
        for (field, found, is_given) in [
            ("inflight", "limits", usage.inflight != none.inflight),
            ("fairness", "Priority and Fairness", usage.fairness != none.fairness),
            ("retries", "retries", usage.retries != none.retries),
        ] {
            if is_given && raw.traffic == RawTraffic::Flows {
                let expected = "no limit, or \"traffic\": \"requests\": rates are never queued";
                ctx.error(&format!("{path}.use.{field}"), found, expected);
            }
        }
    }
}

/// Whether a file says of requests what their verb does not know.
fn check(ctx: &mut CheckCtx<'_>, path: &str, raw: &RawRequests, is_watched: bool) {
    let (lists, reads) = (raw.verb == RawVerb::List, matches!(raw.verb, RawVerb::Get | RawVerb::List));
    let objects = raw.objects.unwrap_or(OBJECTS);
    if let (Some(objects), false) = (raw.objects, lists) {
        ctx.error(
            &format!("{path}.objects"),
            objects.to_string(),
            "`objects` only for a list: every other request is about one object",
        );
    } else if lists && raw.object.0 * u64::from(objects) > MAX_LIST_BYTES {
        ctx.error(&format!("{path}.objects"), objects.to_string(), "lists of at most 1GiB");
    }
    if raw.user.as_deref() == Some("") {
        ctx.error(&format!("{path}.user"), "no character", "the name of a user");
    }
    if raw.selected.is_some() && !lists {
        ctx.error(&format!("{path}.selected"), "a selector", "a selector only for a list");
    } else if let Some(selected) = raw.selected.filter(|selected| *selected > objects) {
        ctx.error(&format!("{path}.selected"), selected.to_string(), format!("at most `objects`, {objects}"));
    }
    if raw.cached && !reads {
        ctx.error(&format!("{path}.cached"), "true", "`cached` only for a get or list: writes go to etcd");
    }
    if let (Some(told), true) = (raw.watchers, reads) {
        ctx.error(
            &format!("{path}.watchers"),
            told.to_string(),
            "`watchers` only for writes: a get or list causes no watch events",
        );
    } else if let Some(told @ 1..) = raw.watchers.filter(|_| !is_watched) {
        let expected = format!("0, or the component {WATCHER}, which stands for all watchers");
        ctx.error(&format!("{path}.watchers"), told.to_string(), expected);
    }
}

fn asked(ctx: &mut CheckCtx<'_>, path: &str, raw: &RawRequests, is_watched: bool) -> Requests {
    check(ctx, path, raw, is_watched);
    let lists = raw.verb == RawVerb::List;
    let (object, objects) = (raw.object.0 as u32, raw.objects.unwrap_or(OBJECTS));
    let selected = raw.selected.unwrap_or(objects);
    let is_told = is_watched && !matches!(raw.verb, RawVerb::Get | RawVerb::List);
    let watchers = if is_told { raw.watchers.unwrap_or(WATCHERS) } else { 0 };
    let range = |keys| Op::Range { linearizable: true, keys, key_bytes: KEY_BYTES, value_bytes: object };
    let write = |change| Op::Txn { change, key_bytes: KEY_BYTES, value_bytes: object };
    let (op, question, answer) = match raw.verb {
        RawVerb::Get => (range(1), 0, u64::from(object)),
        // etcd knows no labels: the API server reads all, and picks.
        RawVerb::List => (range(objects), 0, u64::from(object) * u64::from(selected)),
        RawVerb::Create => (write(Change::Create), object, object.into()),
        RawVerb::Update | RawVerb::Patch => (write(Change::Update), object, object.into()),
        RawVerb::Delete => (write(Change::Delete), 0, object.into()),
    };
    let copies = u128::from(objects) * u128::from(lists) + u128::from(watchers) + 3;
    let per_million_s = copies * u128::from(object) * u128::from(raw.rate.per_million_s());
    if ctx.end != Time::MAX && per_million_s * u128::from(ctx.end.as_nanos()) / 1_000_000_000_000_000 > MAX_BYTES {
        let expected = "a lower rate, or fewer or smaller objects: at most a petabyte in the whole run";
        ctx.error(&format!("{path}.rate"), raw.rate.to_string(), expected);
    }
    Requests {
        what: raw.name.to_string(),
        by: raw.from.as_ref().map_or(Caller::Outside, |from| Caller::Component(from.to_string())),
        etcd: (!raw.cached).then_some((Objects::Main, op)),
        per_million_s: raw.rate.per_million_s(),
        each: Each::Cluster,
        burst: 1,
        one_by_one: 0,
        while_disturbed: 0,
        question,
        answer,
        watchers,
        call: call(raw),
        retries: 0,
    }
}

fn call(raw: &RawRequests) -> ApiCall {
    let of_component = || raw.from.as_ref().map(|from| ApiCall::user_of_component(from.as_str()));
    let user = raw.user.clone().or_else(of_component).unwrap_or_else(|| "user".to_owned());
    ApiCall { user, users: 1, verb: raw.verb.name(), resource: raw.resource }
}

/// All that flows in a run is counted in 64 bits.
pub(super) fn bound(ctx: &mut CheckCtx<'_>, raw: &RawScenario, kube: &KubeModel) {
    let bytes = |own: &Requests| {
        let etcd = match own.etcd.map(|(_, op)| op) {
            Some(Op::Txn { key_bytes, value_bytes, .. }) => COPIES * u128::from(key_bytes + value_bytes),
            Some(Op::Range { keys, key_bytes, value_bytes, .. }) => u128::from(keys) * u128::from(key_bytes + value_bytes),
            _ => 0,
        };
        u128::from(own.per_million_s) * (etcd + u128::from(own.question) + u128::from(own.answer) * u128::from(own.watchers + 1))
    };
    let per_million_s: u128 = kube.clusters.iter().flat_map(|cluster| &cluster.requests).map(bytes).sum();
    let total = per_million_s * u128::from(raw.duration.0.as_nanos()) / 1_000_000_000_000_000;
    if total > MAX_TOTAL_BYTES {
        let found = format!("requests that send some {total} bytes");
        let list = if raw.shoots.is_empty() { "clusters" } else { "shoots" };
        ctx.error(list, found, "fewer or smaller requests, or a shorter run: at most 1 EB in total");
    }
}

/// What is asked of etcd request by request: all of it where the file wants that, otherwise a sample, for the time it takes, and more while
/// an etcd is disturbed, for whether it is answered in time.
pub(super) fn sample(ctx: &CheckCtx<'_>, raw: &RawScenario, etcd: &TiSlice<EtcdId, EtcdClusterSpec>, kube: &mut KubeModel) {
    let in_use: Vec<_> = kube.clusters.keys().filter(|cluster| !kube.clusters[*cluster].requests.is_empty()).collect();
    if raw.traffic == RawTraffic::Requests {
        let all = kube.clusters.iter_mut().flat_map(|cluster| &mut cluster.requests);
        all.filter(|own| own.etcd.is_some()).for_each(|own| own.one_by_one = own.per_million_s);
    } else {
        let sampled = evenly(&in_use, SAMPLED);
        let in_run = u128::from(SAMPLES) * 1_000_000_000_000_000 / u128::from(ctx.end.as_nanos().max(1));
        let most = (in_run / (2 * sampled.len().max(1)) as u128).min(SAMPLE_PER_MILLION_S.into()) as u64;
        for cluster in sampled {
            for own in most_frequent(&mut kube.clusters[cluster]) {
                own.one_by_one = (own.per_million_s / 2).min(most);
            }
        }
    }
    let flowing = |cluster: &KubeClusterSpec| cluster.asked().iter().any(|own| own.one_by_one < own.per_million_s);
    let flowing: Vec<_> = kube.clusters.iter_enumerated().filter(|(_, cluster)| flowing(cluster)).map(|(id, _)| id).collect();
    let all = ALL_DISTURBED_PER_MILLION_S / flowing.len().max(1) as u64;
    for cluster in evenly(&flowing, DISTURBED) {
        let cluster = &mut kube.clusters[cluster];
        // Of a shoot that cannot be as it is written there may be none.
        let heartbeat = etcd.get(cluster.etcd).map_or(1, |etcd| etcd.options.heartbeat_interval.as_nanos().max(1));
        let most = DISTURBED_PER_MILLION_S.min(all).min(DISTURBED_PER_HEARTBEAT * 1_000_000_000_000_000 / heartbeat);
        for own in most_frequent(cluster) {
            own.while_disturbed = (own.per_million_s - own.one_by_one).min(most);
        }
    }
}

/// So many of them at most.
fn evenly(all: &[KubeClusterId], most: usize) -> Vec<KubeClusterId> {
    all.iter().copied().step_by(all.len().div_ceil(most).max(1)).collect()
}

/// The most frequent read of etcd-main and the most frequent write, of those that there is one source of.
fn most_frequent(cluster: &mut KubeClusterSpec) -> impl Iterator<Item = &mut Requests> {
    let asked = cluster.asked_mut();
    let place = |writes: bool| {
        let of_kind = |own: &Requests| {
            let of_main = own.etcd.filter(|(objects, _)| *objects == Objects::Main);
            own.each == Each::Cluster && of_main.is_some_and(|(_, op)| matches!(op, Op::Txn { .. }) == writes)
        };
        let all = asked.iter().enumerate().filter(|(_, own)| of_kind(own));
        all.max_by_key(|(_, own)| own.per_million_s).map(|(place, _)| place)
    };
    let places = [false, true].map(place);
    asked.iter_mut().enumerate().filter(move |(place, _)| places.contains(&Some(*place))).map(|(_, own)| own)
}

/// The parts of API servers that ask etcd request by request: of each server and kind of requests a client, and one that watches where
/// all is asked so; behind them those that ask while their etcd is disturbed.
pub(super) fn clients(ctx: &mut CheckCtx<'_>, raw: &RawScenario, kube: &mut KubeModel) -> Vec<Client> {
    let (mut all, mut all_while_disturbed) = (Vec::new(), Vec::new());
    let mut per_million_s = 0;
    let shoots = kube.shoots.iter().filter_map(|shoot| Some((shoot.hosted.as_ref()?.cluster, most(shoot, kube))));
    let on_hosts = kube.clusters.iter_enumerated().filter(|(_, cluster)| !cluster.is_hosted());
    let on_hosts = on_hosts.map(|(id, cluster)| (id, (cluster.control_plane.len() as u32, None)));
    for (id, (servers, of_events)) in on_hosts.chain(shoots) {
        let cluster = &kube.clusters[id];
        let mut own_while_disturbed = Vec::new();
        let client = |what: &str, etcd, (op, load), part: ApiServerClient| Client {
            name: format!("{}/kube-apiserver {}: {what}", cluster.name, part.server),
            etcd,
            zone: ZoneId(0),
            node: None,
            op,
            target: Target::All,
            load,
            requests: None,
            process: None,
            timeout: REQUEST_TIMEOUT,
            silence: cluster.timers.etcd_silence,
            retries: 0,
            start: Time::ZERO,
            stop: ctx.end,
            server: Some(part),
        };
        let part = |server| ApiServerClient { cluster: id, server, requests: None, limit: None, while_disturbed: false };
        for (k, own) in (0..).zip(cluster.asked()) {
            let Some((objects, op)) = own.etcd else { continue };
            let Some(etcd) = (if objects == Objects::Main { Some(cluster.etcd) } else { of_events }) else { continue };
            let times = match own.each {
                Each::Cluster => 1,
                Each::Server | Each::Standby => servers.max(1),
                Each::Node => most_nodes(cluster),
            };
            per_million_s += u128::from(own.one_by_one) * u128::from(times);
            // A sample alone fills no server.
            let is_limited = raw.traffic == RawTraffic::Requests && cluster.fairness.is_none();
            let limit = cluster.in_flight.limit(&own.by, op).filter(|_| is_limited);
            for (clients, rate, while_disturbed) in
                [(&mut all, own.one_by_one, false), (&mut own_while_disturbed, own.while_disturbed, true)]
            {
                if let Some(interval) = 1_000_000_000_000_000_u64.checked_div(rate) {
                    let what = if while_disturbed { format!("{}, while etcd is disturbed", own.what) } else { own.what.clone() };
                    let load = Load::Open { interval: Duration::from_nanos(interval), poisson: true };
                    let part = |server| ApiServerClient { requests: Some(k), limit, while_disturbed, ..part(server) };
                    clients.extend((0..servers).map(|server| client(&what, etcd, (op, load), part(server))));
                }
            }
        }
        if raw.traffic == RawTraffic::Requests && !cluster.requests.is_empty() {
            let watch = (Op::Watch, Load::Closed { connections: 1 });
            all.extend((0..servers).map(|server| client("watch", cluster.etcd, watch, part(server))));
        }
        all_while_disturbed.push((id, own_while_disturbed));
    }
    let requests = per_million_s * u128::from(raw.duration.0.as_nanos()) / 1_000_000_000_000_000;
    if requests > MAX_REQUESTS || all.len() > MAX_CLIENTS {
        let found = format!("requests, of which there would be {requests}, by {} parts of API servers", all.len());
        let expected = format!("flows; or a shorter run of fewer shoots: at most {MAX_REQUESTS} requests by {MAX_CLIENTS} parts");
        ctx.error("traffic", found, expected);
        all.clear();
    }
    for (id, own) in all_while_disturbed {
        if all.len() + own.len() <= MAX_CLIENTS {
            all.extend(own);
        } else {
            kube.clusters[id].asked_mut().iter_mut().for_each(|own| own.while_disturbed = 0);
        }
    }
    all
}

/// How many nodes a cluster may have at a time.
fn most_nodes(cluster: &KubeClusterSpec) -> u32 {
    let machines: u32 = cluster.machine_deployments.iter().map(|deployment| deployment.maximum).sum();
    machines + cluster.nodes.len() as u32
}

/// How many API servers a shoot may have at a time, in all forms it may take and while they are rolled out; and its etcd for events.
fn most(shoot: &Shoot, kube: &KubeModel) -> (u32, Option<EtcdId>) {
    let (mut servers, mut events) = (0, None);
    for place in shoot.places() {
        let workloads = &kube.clusters[kube.seeds[place.seed].cluster].workloads;
        let now = place.workloads.iter().map(|id| &workloads[*id]);
        for workload in now.chain(place.forms.iter().flat_map(|(_, form)| form)) {
            match workload.role {
                Role::ApiServer(of) if of == place.cluster => {
                    servers = servers.max(workload.replicas + workload.rollout.max_surge.of_rounded_up(workload.replicas));
                }
                Role::Etcd(etcd) if etcd != kube.clusters[place.cluster].etcd => events = Some(etcd),
                _ => {}
            }
        }
    }
    (servers, events)
}
