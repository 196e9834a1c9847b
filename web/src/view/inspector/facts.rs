//! What is to be said of the selected thing now, in rows of name and value.

use zonefall_core::etcd::picture::MemberPicture;
use zonefall_core::ids::{MemberId, NodeId, ZoneId};
use zonefall_core::observe::words;
use zonefall_core::scenario::Scenario;
use zonefall_core::sim::Role;
use zonefall_core::sim::picture::Picture;

use super::deeds::touches;
use crate::state::Selection;
use crate::view::map::model::cut_words;
use crate::view::map::model::{MemberFace, Model, model};
use crate::view::map::shapes::sign;
use crate::view::words::count;

/// Name, value, and the class of its colour.
type Fact = (&'static str, String, &'static str);

/// The thing's name and kind.
pub(crate) fn heading(is: Selection, scenario: &Scenario) -> (String, &'static str) {
    match is {
        Selection::Zone(z) => (zone_name(scenario, z), "zone"),
        Selection::Node(n) => (scenario.nodes[n.0 as usize].name.clone(), "node"),
        Selection::Member(m) => (scenario.member(m).name.clone(), "member"),
        Selection::Link(a, b) => (format!("{} – {}", zone_name(scenario, a), zone_name(scenario, b)), "link"),
    }
}

/// The names that lines of the story may call it by.
pub(crate) fn names(is: Selection, scenario: &Scenario) -> Vec<String> {
    match is {
        Selection::Link(a, b) => {
            let (a, b) = (zone_name(scenario, a), zone_name(scenario, b));
            vec![format!("{a} - {b}"), format!("{b} - {a}")]
        }
        Selection::Zone(_) | Selection::Node(_) | Selection::Member(_) => vec![heading(is, scenario).0],
    }
}

fn zone_name(scenario: &Scenario, z: ZoneId) -> String {
    scenario.zones[z.0 as usize].name.clone()
}

/// What is to be said of it.
pub(crate) fn facts(is: Selection, scenario: &Scenario, picture: &Picture) -> Vec<Fact> {
    let model = model(scenario, Some(picture), None);
    let mut facts = match is {
        Selection::Zone(z) => zone(z, scenario, &model),
        Selection::Node(n) => node(n, scenario, &model),
        Selection::Member(m) => member(m, scenario, picture, &model),
        Selection::Link(a, b) => link(a, b, &model),
    };
    let faults = picture.faults.iter().filter(|active| touches(&active.fault, is, scenario));
    facts.extend(faults.map(|active| ("fault", words::goes_on(&active.fault, scenario), "bad")));
    facts
}

fn member(id: MemberId, scenario: &Scenario, picture: &Picture, model: &Model) -> Vec<Fact> {
    let (cluster, index) = (id.cluster.0 as usize, id.index as usize);
    let now = &picture.etcd[cluster].members[index];
    let face = &model.members[cluster][index];
    let node = &scenario.nodes[scenario.member(id).node.0 as usize];
    let tone = if now.down.is_some() { "bad" } else { "" };
    let mut facts = vec![
        ("role", format!("{} {} · term {}", sign(face.shape), face.role, now.status.term), tone),
        ("cluster", scenario.etcd[cluster].name.clone(), ""),
        ("zone", zone_name(scenario, node.zone), ""),
        ("node", node.name.clone(), ""),
        ("log", format!("{} · committed {}", count(now.status.last_index), count(now.status.committed)), ""),
        ("behind", behind(now), if now.behind > 1_000 { "warn" } else { "" }),
        ("database", words::bytes(now.status.database_bytes), ""),
    ];
    if now.down.is_none() {
        let follows = now.follows.map(|leader| scenario.etcd[cluster].members[leader as usize].name.clone());
        if now.status.role != Role::Leader {
            facts.push(("follows", follows.unwrap_or_else(|| "nobody".to_owned()), ""));
        }
        facts.push(("next", next(now, picture, scenario, id), ""));
        facts.extend(now.writing.then(|| ("disk", "a write is under way".to_owned(), "")));
    }
    facts.extend(links_of(id, scenario, model));
    facts
}

fn behind(now: &MemberPicture) -> String {
    if now.behind == 0 { "has everything".to_owned() } else { format!("{} entries", count(now.behind)) }
}

/// The next timer in words.
fn next(now: &MemberPicture, picture: &Picture, scenario: &Scenario, id: MemberId) -> String {
    if now.status.role == Role::Leader {
        let every = scenario.etcd[id.cluster.0 as usize].options.heartbeat_interval;
        return format!("a heartbeat to each follower every {}", words::duration(every));
    }
    match now.campaigns_at {
        Some(at) => format!("calls an election in {} unless it hears the leader", words::duration(at.since(picture.at))),
        None => "waits for the leader".to_owned(),
    }
}

/// The state of the links between a member's zone and those of the others.
fn links_of(id: MemberId, scenario: &Scenario, model: &Model) -> Vec<Fact> {
    let home = scenario.zone_of(id);
    let mut others: Vec<ZoneId> = (0..scenario.etcd[id.cluster.0 as usize].members.len() as u8)
        .map(|index| scenario.zone_of(MemberId { index, ..id }))
        .filter(|zone| *zone != home)
        .collect();
    others.sort();
    others.dedup();
    let link = |zone: ZoneId| {
        let face = model.links.iter().find(|l| (l.a, l.b) == (home.min(zone), home.max(zone)))?;
        let name = zone_name(scenario, zone);
        Some(match (face.cut, &face.degraded) {
            (Some(cut), _) => ("link", format!("to {name}: {cut}"), "bad"),
            (None, Some(worse)) => ("link", format!("to {name}: {worse}"), "warn"),
            (None, None) => ("link", format!("to {name}: {}", face.delay), ""),
        })
    };
    others.into_iter().filter_map(link).collect()
}

fn node(id: NodeId, scenario: &Scenario, model: &Model) -> Vec<Fact> {
    let face = &model.nodes[id.0 as usize];
    let on_it = |f: &&MemberFace| scenario.member(f.id).node == id;
    let members: Vec<String> =
        model.members.iter().flatten().filter(on_it).map(|f| format!("{} {}", sign(f.shape), f.name)).collect();
    vec![
        power(face.powered),
        ("zone", zone_name(scenario, scenario.nodes[id.0 as usize].zone), ""),
        ("network", face.cut.map_or("open", cut_words).to_owned(), if face.cut.is_some() { "bad" } else { "" }),
        ("members", if members.is_empty() { "none".to_owned() } else { members.join(", ") }, ""),
    ]
}

fn zone(id: ZoneId, scenario: &Scenario, model: &Model) -> Vec<Fact> {
    let face = &model.zones[id.0 as usize];
    let nodes = scenario.nodes.iter().filter(|n| n.zone == id).count();
    let members = model.members.iter().flatten().filter(|f| scenario.zone_of(f.id) == id).count();
    let clients = scenario.clients.iter().filter(|c| c.zone == id).count();
    vec![
        power(!face.dark),
        ("region", scenario.regions[scenario.zones[id.0 as usize].region as usize].clone(), ""),
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
        (None, None) => ("state", "✓ well".to_owned(), "good"),
    };
    vec![("delay", format!("{} one way, usually", face.delay), ""), state]
}
