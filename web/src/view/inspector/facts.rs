//! What is to be said of the selected thing now, in rows of name and value.

use zonefall_core::etcd::view::MemberView;
use zonefall_core::ids::{ClientId, KubeClusterId, MemberId, NodeId, ZoneId};
use zonefall_core::observe::access::name as client_name;
use zonefall_core::report::{LatencyReport, Report, StoryKind, StoryLine};
use zonefall_core::scenario::kube::balancers::balancers;
use zonefall_core::scenario::text;
use zonefall_core::scenario::{Load, Op, Scenario, Target};
use zonefall_core::sim::Role;
use zonefall_core::sim::view::SimulationView;

use super::interventions::touches;
use super::{Fact, access, objects};
use crate::state::Selection;
use crate::view::map::model::cut_words;
use crate::view::map::model::{MemberFace, Model, model};
use crate::view::map::shapes::sign;
use zonefall_core::scenario::text::count;

/// The thing's name and kind.
pub(crate) fn heading(is: Selection, scenario: &Scenario) -> (String, &'static str) {
    match is {
        Selection::Zone(z) => (zone_name(scenario, z), "zone"),
        Selection::Node(n) => (scenario.nodes[n].name.clone(), "node"),
        Selection::Member(m) => (scenario.member(m).name.clone(), "member"),
        Selection::Link(a, b) => (format!("{} – {}", zone_name(scenario, a), zone_name(scenario, b)), "link"),
        Selection::Client(c) => (scenario.client(c).name.clone(), "client"),
        Selection::Machine(cluster, name) => (name.text(&scenario.kube.clusters[cluster]), "machine"),
        Selection::Pod(cluster, name) => (name.text(&scenario.kube.clusters[cluster]), "pod"),
        Selection::Balancer(id, _) => (scenario.load_balancers[id].name.clone(), "load balancer"),
        Selection::ApiClients(cluster, zone, kind) => (access::group_name(cluster, zone, kind, scenario), "clients of an API"),
        Selection::ApiClient(cluster, client) => {
            (client_name(client, &scenario.kube.clusters[cluster], scenario), "client of an API")
        }
    }
}

/// Whether a line of the story is about it: a zone's also where it is about its nodes or members, a client's where its cluster serves
/// or does not.
pub(crate) fn is_about(line: &StoryLine, is: Selection, scenario: &Scenario) -> bool {
    let names = |name: &str| line.about.iter().any(|about| about == name);
    let on = |holds: &dyn Fn(NodeId) -> bool| {
        let members = scenario.etcd.iter().flat_map(|cluster| &cluster.members);
        members.into_iter().any(|member| holds(member.node) && names(&member.name))
            || scenario.nodes.iter_enumerated().any(|(id, node)| holds(id) && names(&node.name))
    };
    let balancer_of = |cluster: KubeClusterId| {
        let own = balancers(&scenario.kube.clusters[cluster]);
        own.into_iter().any(|balancer| names(&scenario.load_balancers[balancer].name))
    };
    match is {
        Selection::Member(member) => names(&scenario.member(member).name),
        Selection::Node(node) => on(&|id| id == node),
        Selection::Zone(zone) => names(&scenario.zones[zone].name) || on(&|id| scenario.nodes[id].zone == zone),
        Selection::Link(a, b) => [a, b].iter().all(|zone| names(&scenario.zones[*zone].name)),
        Selection::Balancer(id, _) => names(&scenario.load_balancers[id].name),
        Selection::ApiClients(cluster, ..) => names(&scenario.kube.clusters[cluster].name) || balancer_of(cluster),
        Selection::ApiClient(cluster, _) => balancer_of(cluster) || line.text.contains(&heading(is, scenario).0),
        Selection::Machine(..) | Selection::Pod(..) => {
            let name = heading(is, scenario).0;
            names(&name) || line.text.contains(&name)
        }
        Selection::Client(client) => {
            let cluster = &scenario.etcd[scenario.client(client).etcd].name;
            matches!(line.kind, StoryKind::Availability | StoryKind::Loss) && line.cluster.as_ref() == Some(cluster)
        }
    }
}

fn zone_name(scenario: &Scenario, z: ZoneId) -> String {
    scenario.zones[z].name.clone()
}

/// What is to be said of it.
pub(crate) fn facts(is: Selection, scenario: &Scenario, view: &SimulationView, report: Option<&Report>) -> Vec<Fact> {
    let model = model(scenario, Some(view), None, |_| true);
    let mut facts = match is {
        Selection::Zone(z) => with(zone(z, scenario, &model), objects::in_zone(z, scenario, view)),
        Selection::Node(n) => with(node(n, scenario, &model), objects::node(n, scenario, view)),
        Selection::Member(m) => member(m, scenario, view, &model),
        Selection::Link(a, b) => link(a, b, &model),
        Selection::Client(c) => client(c, scenario, view, report),
        Selection::Machine(cluster, name) => objects::machine(cluster, name, scenario, view),
        Selection::Pod(cluster, name) => objects::pod(cluster, name, scenario, view),
        Selection::Balancer(id, _) => access::balancer(id, scenario, view),
        Selection::ApiClients(cluster, zone, kind) => access::group((cluster, zone, kind), scenario, view),
        Selection::ApiClient(cluster, id) => access::client(cluster, id, scenario, view),
    };
    let faults = view.faults.iter().filter(|active| touches(&active.fault, is, scenario));
    facts.extend(faults.map(|active| ("fault", active.fault.kind().ongoing(scenario), "bad")));
    facts
}

fn with(mut facts: Vec<Fact>, more: Vec<Fact>) -> Vec<Fact> {
    facts.extend(more);
    facts
}

fn member(id: MemberId, scenario: &Scenario, view: &SimulationView, model: &Model) -> Vec<Fact> {
    let (cluster, index) = (id.cluster, id.index as usize);
    let now = &view.etcd[cluster].members[index];
    let face = &model.members[cluster][index];
    let node = &scenario.nodes[scenario.member(id).node];
    let tone = if now.status.down.is_some() { "bad" } else { "" };
    let mut facts = vec![
        ("role", format!("{} {} · term {}", sign(face.shape), face.role, now.status.term), tone),
        ("cluster", scenario.etcd[cluster].name.clone(), ""),
        ("zone", zone_name(scenario, node.zone), ""),
        ("node", node.name.clone(), ""),
        ("log", format!("{} · committed {}", count(now.status.last_index), count(now.status.committed)), ""),
        ("behind", behind(now), if now.behind > 1_000 { "warn" } else { "" }),
        ("database", text::bytes(now.status.database_bytes), ""),
    ];
    if now.status.down.is_none() {
        let follows = now.follows.map(|leader| scenario.etcd[cluster].members[leader as usize].name.clone());
        if now.status.role != Role::Leader {
            facts.push(("follows", follows.unwrap_or_else(|| "no member".to_owned()), ""));
        }
        facts.push(("next", next(now, view, scenario, id), ""));
        facts.extend(now.writing.then(|| ("disk", "writing".to_owned(), "")));
    }
    facts.extend(links_of(id, scenario, model));
    facts
}

fn behind(now: &MemberView) -> String {
    if now.behind == 0 { "up to date".to_owned() } else { format!("{} entries", count(now.behind)) }
}

/// The next timer in words.
fn next(now: &MemberView, view: &SimulationView, scenario: &Scenario, id: MemberId) -> String {
    if now.status.role == Role::Leader {
        let every = scenario.etcd[id.cluster].options.heartbeat_interval;
        return format!("sends heartbeats every {}", text::duration(every));
    }
    match now.campaigns_at {
        Some(at) => format!("campaigns in {} unless the leader sends a heartbeat", text::duration(at.since(view.at))),
        None => "waits for the leader".to_owned(),
    }
}

/// The state of the links between a member's zone and those of the others.
fn links_of(id: MemberId, scenario: &Scenario, model: &Model) -> Vec<Fact> {
    let home = scenario.zone_of(id);
    let peers = 0..scenario.etcd[id.cluster].members.len() as u8;
    let has_peer = |zone: &ZoneId| peers.clone().any(|index| scenario.zone_of(MemberId { index, ..id }) == *zone);
    let others = scenario.zones.keys().filter(|zone| *zone != home && has_peer(zone));
    let link = |zone: ZoneId| {
        let face = model.links.iter().find(|l| (l.a, l.b) == (home.min(zone), home.max(zone)))?;
        let name = zone_name(scenario, zone);
        Some(match (face.cut, &face.degraded) {
            (Some(cut), _) => ("link", format!("to {name}: {cut}"), "bad"),
            (None, Some(worse)) => ("link", format!("to {name}: {worse}"), "warn"),
            (None, None) => ("link", format!("to {name}: {}", face.delay), ""),
        })
    };
    others.filter_map(link).collect()
}

fn node(id: NodeId, scenario: &Scenario, model: &Model) -> Vec<Fact> {
    let face = &model.nodes[id];
    let on_it = |f: &&MemberFace| scenario.member(f.id).node == id;
    let members: Vec<String> =
        model.members.iter().flatten().filter(on_it).map(|f| format!("{} {}", sign(f.shape), f.name)).collect();
    vec![
        power(face.powered),
        ("zone", zone_name(scenario, scenario.nodes[id].zone), ""),
        ("network", face.cut.map_or("open", cut_words).to_owned(), if face.cut.is_some() { "bad" } else { "" }),
        ("members", if members.is_empty() { "none".to_owned() } else { members.join(", ") }, ""),
    ]
}

fn zone(id: ZoneId, scenario: &Scenario, model: &Model) -> Vec<Fact> {
    let face = &model.zones[id];
    let nodes = scenario.nodes.iter().filter(|n| n.zone == id).count();
    let members = model.members.iter().flatten().filter(|f| scenario.zone_of(f.id) == id).count();
    let clients = scenario.clients.iter().filter(|c| c.server.is_none() && c.zone == id).count();
    vec![
        power(!face.dark),
        ("region", scenario.regions[scenario.zones[id].region as usize].clone(), ""),
        ("network", face.cut.map_or("open", cut_words).to_owned(), if face.cut.is_some() { "bad" } else { "" }),
        ("holds", [of(nodes, "node"), of(members, "member"), of(clients, "client")].join(", "), ""),
    ]
}

fn of(count: usize, what: &str) -> String {
    if count == 1 { format!("1 {what}") } else { format!("{count} {what}s") }
}

fn power(on: bool) -> Fact {
    if on { ("power", "✓ on".to_owned(), "good") } else { ("power", "✕ none".to_owned(), "bad") }
}

fn link(a: ZoneId, b: ZoneId, model: &Model) -> Vec<Fact> {
    let Some(face) = model.links.iter().find(|l| (l.a, l.b) == (a, b)) else { return Vec::new() };
    let state = match (face.cut, &face.degraded) {
        (Some(cut), _) => ("state", cut.to_owned(), "bad"),
        (None, Some(worse)) => ("state", worse.clone(), "warn"),
        (None, None) => ("state", "✓ healthy".to_owned(), "good"),
    };
    vec![("delay", format!("{} one way, typically", face.delay), ""), state]
}

fn client(id: ClientId, scenario: &Scenario, view: &SimulationView, report: Option<&Report>) -> Vec<Fact> {
    let client = scenario.client(id);
    let cluster = &scenario.etcd[client.etcd];
    let (whom, how) = whom(client.target, cluster);
    let often = match client.load {
        Load::Open { interval, .. } if interval.as_secs_f64() <= 1.0 => {
            format!("{} per second", (10.0 / interval.as_secs_f64()).round() / 10.0)
        }
        Load::Open { interval, .. } => format!("one every {}", text::duration(interval)),
        Load::Closed { connections } => format!("{} at a time", of(connections as usize, "connection")),
    };
    let gives_up = match client.retries {
        0 => format!("after {}", text::duration(client.timeout)),
        tries => {
            format!("after {}, with {}", text::duration(client.timeout), of(tries as usize, "more try").replace("trys", "tries"))
        }
    };
    let mut facts = vec![
        ("asks", text::op(client.op).to_owned(), ""),
        ("whom", how, ""),
        ("how often", often, ""),
        ("gives up", gives_up, ""),
        ("cluster", cluster.name.clone(), ""),
        ("zone", zone_name(scenario, client.zone), ""),
    ];
    facts.extend(size(client.op).map(|size| ("size", size, "")));
    if let Some(report) = report {
        let path = zonefall_plots::latency::path(text::op(client.op), &zone_name(scenario, client.zone), whom);
        facts.extend(latency(report, &cluster.name, &path, view));
    }
    facts
}

/// Whom a client asks: as the report calls it, and in words.
fn whom(target: Target, cluster: &zonefall_core::scenario::EtcdClusterSpec) -> (&str, String) {
    match target {
        Target::Leader => ("leader", "the leader".to_owned()),
        Target::Follower => ("follower", "a follower".to_owned()),
        Target::Nearest => ("nearest", "the nearest member".to_owned()),
        Target::All => ("all", "all members (round robin)".to_owned()),
        Target::Member(index) => {
            let name = &cluster.members[index as usize].name;
            (name, name.clone())
        }
    }
}

fn size(op: Op) -> Option<String> {
    let bytes = |n: u32| text::bytes(n.into());
    match op {
        Op::Put { value_bytes, .. } | Op::Txn { value_bytes, .. } => Some(format!("{} each", bytes(value_bytes))),
        Op::Range { keys, value_bytes, .. } => Some(format!("{} of {}", of(keys as usize, "key"), bytes(value_bytes))),
        Op::Delete { keys, .. } => Some(of(keys as usize, "key")),
        Op::Grant(_) | Op::Watch => None,
    }
}

/// How requests of its kind fare: around now, and in the whole run.
fn latency(report: &Report, cluster: &str, label: &str, view: &SimulationView) -> Vec<Fact> {
    let three = |of: [Option<f64>; 3]| {
        let ms = of.map(|v| v.map_or("none".to_owned(), |v| format!("{v:.1}")));
        if of == [None; 3] { "no answers".to_owned() } else { format!("{} ms", ms.join(" / ")) }
    };
    let mut rows = zonefall_plots::latency::at(report, None, cluster, view.at.as_secs_f64()).into_iter();
    let Some((_, now, _)) = rows.find(|(name, ..)| name == label) else { return Vec::new() };
    let all =
        report.etcd.get(cluster).and_then(|etcd| etcd.latency.iter().find(|row| zonefall_plots::latency::label(row) == label));
    let whole = |row: &LatencyReport| {
        let done = format!("{} done, {} timed out, {} failed", count(row.count), count(row.timed_out), count(row.failed));
        let tone = if row.timed_out + row.failed > 0 { "warn" } else { "" };
        [("p50 / p90 / p99", three([row.p50_ms, row.p90_ms, row.p99_ms]), ""), ("requests", done, tone)]
    };
    let now = ("… now", three(now), if now == [None; 3] { "warn" } else { "" });
    all.into_iter().flat_map(whole).chain([now]).collect()
}
