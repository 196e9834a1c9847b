//! What API access has on the map at one moment: nodes of load balancers, groups of clients, and the ways of their requests.
//!
//! ```text
//!  clients of a zone --through--> node of the load balancer      found ✓✕✓ (health checks)   true ✓✓✓ (API servers)
//!        '----------straight----> host of an API server
//! ```

use std::collections::BTreeMap;

use zonefall_core::access::balancer::health::Health;
use zonefall_core::access::cluster::view::{AccessView, BalancerView, ClientKind, ClientView, ServerState};
use zonefall_core::access::record::ConnectionState;
use zonefall_core::ids::{BalancerId, KubeClusterId, NodeId, TiVec, ZoneId};
use zonefall_core::kube::ctx::ApiClient;
use zonefall_core::scenario::fault::Hit;
use zonefall_core::scenario::{Scenario, text};
use zonefall_core::sim::view::SimulationView;

use crate::state::Selection;

/// Things of API access in one zone that are drawn; the table has all.
const MOST_IN_ZONE: usize = 12;

/// A node of a load balancer, or clients of one kind in one zone.
#[derive(Clone, Debug, PartialEq)]
pub struct AccessFace {
    /// Object that it selects.
    pub is: Selection,
    /// Its name.
    pub name: String,
    /// Name of its zone.
    pub zone: String,
    /// What is written beside the name.
    pub note: String,
    /// Of a balancer: what it has found of its targets, and what they are.
    pub targets: Option<[String; 2]>,
    /// Class of its colour.
    pub tone: &'static str,
    /// What a sighted person does not see of it, in words.
    pub details: String,
}

/// How requests travel.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum WayKind {
    /// Through the load balancer.
    Through,
    /// Straight to an API server.
    Straight,
    /// On a connection without a useful response.
    Lost,
}

impl WayKind {
    /// All of them, with their class and the words for them.
    pub const ALL: [(Self, &'static str, &'static str); 3] = [
        (Self::Through, "through", "through balancer"),
        (Self::Straight, "straight", "straight"),
        (Self::Lost, "lost", "failing"),
    ];

    /// Its class.
    pub fn class(self) -> &'static str {
        Self::ALL[self as usize].1
    }
}

/// Where connections end.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum WayEnd {
    /// At a node of a load balancer.
    Balancer(BalancerId, u16),
    /// At the host of an API server.
    Host(NodeId),
}

/// Connections of a group of clients that end at the same place.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct AccessWay {
    /// The group.
    pub from: Selection,
    /// Their other end.
    pub to: WayEnd,
    /// How requests travel.
    pub kind: WayKind,
    /// Number of clients.
    pub count: usize,
}

/// Clients by kind.
type Groups<'a> = BTreeMap<(ZoneId, ClientKind), Vec<&'a ClientView>>;

/// The clients of a cluster, by zone and kind.
pub fn groups(access: &AccessView) -> Groups<'_> {
    let mut groups = Groups::new();
    for client in &access.clients {
        groups.entry((client.zone, ClientKind::of(client.client))).or_default().push(client);
    }
    groups
}

/// A client at this moment.
pub fn client(view: &SimulationView, cluster: KubeClusterId, id: ApiClient) -> Option<&ClientView> {
    of_cluster(view, cluster)?.clients.iter().find(|client| client.client == id)
}

/// A load balancer at this moment, and the API access that it is part of.
pub fn of_balancer(view: &SimulationView, id: BalancerId) -> Option<(&AccessView, &BalancerView)> {
    view.access.iter().find_map(|access| Some((access, access.balancer(id)?)))
}

/// API access of a cluster at this moment.
pub fn of_cluster(view: &SimulationView, cluster: KubeClusterId) -> Option<&AccessView> {
    view.access.iter().find(|access| access.cluster == cluster)
}

/// The thing of the map that shows a selected one: a client is drawn with its group.
pub fn shown_as(is: Selection, view: Option<&SimulationView>) -> Selection {
    let Selection::ApiClient(cluster, id) = is else { return is };
    let zone = view.and_then(|view| client(view, cluster, id)).map(|client| client.zone);
    zone.map_or(is, |zone| Selection::ApiClients(cluster, zone, ClientKind::of(id)))
}

/// What there is in each zone: nodes of balancers, then groups of clients.
pub fn in_zones(scenario: &Scenario, view: Option<&SimulationView>) -> TiVec<ZoneId, Vec<Selection>> {
    let mut zones: TiVec<ZoneId, Vec<Selection>> = vec![Vec::new(); scenario.zones.len()].into();
    for (id, balancer) in scenario.load_balancers.iter_enumerated() {
        for (node, zone) in (0..).zip(&balancer.zones) {
            zones[*zone].push(Selection::Balancer(id, node));
        }
    }
    for access in view.iter().flat_map(|view| &view.access) {
        for (zone, kind) in groups(access).into_keys() {
            zones[zone].push(Selection::ApiClients(access.cluster, zone, kind));
        }
    }
    zones.iter_mut().for_each(|zone| zone.truncate(MOST_IN_ZONE));
    zones
}

/// All faces, in no order of the map.
pub fn faces(scenario: &Scenario, view: Option<&SimulationView>) -> Vec<AccessFace> {
    let balancers = scenario
        .load_balancers
        .iter_enumerated()
        .flat_map(|(id, balancer)| (0..balancer.zones.len() as u16).map(move |node| balancer_face(id, node, scenario, view)));
    let all = view.iter().flat_map(|view| &view.access);
    let groups = all
        .flat_map(|access| groups(access).into_iter().map(move |(key, clients)| clients_face(access, key, &clients, scenario)));
    balancers.chain(groups).collect()
}

fn balancer_face(id: BalancerId, node: u16, scenario: &Scenario, view: Option<&SimulationView>) -> AccessFace {
    let balancer = &scenario.load_balancers[id];
    let access = view.and_then(|view| of_balancer(view, id));
    let found = access.map(|(_, balancer)| &balancer.nodes[usize::from(node)].found);
    let faults = view
        .map_or(0, |view| view.faults.iter().filter(|active| active.fault.kind().hits().contains(&Hit::Balancer(id))).count());
    let note = match faults {
        0 => String::new(),
        1 => "△ 1 fault".to_owned(),
        more => format!("△ {more} faults"),
    };
    let targets = access.zip(found).map(|((access, _), found)| {
        let targets = || found.iter().zip(&access.targets).filter(|(_, target)| target.is_target);
        let found: String = targets().map(|(health, _)| found_sign(*health)).collect();
        let truth: String = targets().map(|(_, target)| true_sign(target.state)).collect();
        [format!("found {found}"), format!("true {truth}")]
    });
    let differs = access.zip(found).is_some_and(|((access, _), found)| {
        found.iter().zip(&access.targets).any(|(found, target)| target.is_target && found_sign(*found) != true_sign(target.state))
    });
    let zone = &scenario.zones[balancer.zones[usize::from(node)]].name;
    let details = access.zip(found).map_or_else(String::new, |((access, _), found)| targets_in_words(access, found, scenario));
    AccessFace {
        is: Selection::Balancer(id, node),
        name: balancer.name.clone(),
        note,
        targets,
        tone: if faults > 0 {
            "bad"
        } else if differs {
            "warn"
        } else {
            ""
        },
        details: format!("load balancer in {zone}{details}"),
        zone: zone.clone(),
    }
}

/// What a node of a balancer has found of each target, and what that is.
fn targets_in_words(access: &AccessView, found: &[Health], scenario: &Scenario) -> String {
    let hosts = &scenario.kube.clusters[access.cluster].control_plane;
    let all = found.iter().zip(&access.targets).zip(hosts).filter(|((_, target), _)| target.is_target);
    let words = all.map(|((found, target), host)| {
        format!(", {} found {}, {}", scenario.nodes[*host].name, found_words(*found), true_words(target.state))
    });
    words.collect()
}

/// Health in a word.
pub fn found_words(health: Health) -> &'static str {
    match health {
        Health::Initial => "new",
        Health::Healthy => "healthy",
        Health::Unhealthy => "unhealthy",
    }
}

/// State of an API server in words.
pub fn true_words(state: ServerState) -> &'static str {
    match state {
        ServerState::Answers => "it answers",
        ServerState::ReturnsErrors => "it returns errors: etcd does not answer it",
        ServerState::DoesNotListen => "it accepts no connections",
    }
}

/// Health as a sign.
pub fn found_sign(health: Health) -> char {
    match health {
        Health::Initial => '○',
        Health::Healthy => '✓',
        Health::Unhealthy => '✕',
    }
}

/// State of an API server as a sign.
pub fn true_sign(state: ServerState) -> char {
    match state {
        ServerState::Answers => '✓',
        ServerState::ReturnsErrors => '△',
        ServerState::DoesNotListen => '✕',
    }
}

fn clients_face(
    access: &AccessView,
    (zone, kind): (ZoneId, ClientKind),
    clients: &[&ClientView],
    scenario: &Scenario,
) -> AccessFace {
    let is_served = |client: &&&ClientView| matches!(client.state, ConnectionState::Open { .. });
    let (all, served) = (clients.len(), clients.iter().filter(is_served).count());
    let (sign, tone) = if served == all { ("✓", "good") } else { ("✕", "bad") };
    let count = |wanted: WayKind| clients.iter().filter(|client| way_kind(client.state) == Some(wanted)).count();
    let spec = &scenario.kube.clusters[access.cluster];
    let mut origins: Vec<BalancerId> = clients.iter().map(|client| client.origin).collect();
    origins.sort_unstable();
    origins.dedup();
    let balancers = text::list(&origins.iter().map(|id| scenario.load_balancers[*id].name.as_str()).collect::<Vec<_>>());
    AccessFace {
        is: Selection::ApiClients(access.cluster, zone, kind),
        name: group_name(access.cluster, kind, scenario),
        zone: scenario.zones[zone].name.clone(),
        note: format!("{sign} {} of {}", text::count(served as u64), text::count(all as u64)),
        targets: None,
        tone,
        details: format!(
            "clients of {} in {}, connected to an API server that answers: {} through {balancers}, {} straight",
            spec.name,
            scenario.zones[zone].name,
            count(WayKind::Through),
            count(WayKind::Straight)
        ),
    }
}

/// Name of a kind of clients: `balancer: kubelets`; without the cluster where only one has API access.
pub fn group_name(cluster: KubeClusterId, kind: ClientKind, scenario: &Scenario) -> String {
    let spec = &scenario.kube.clusters[cluster];
    let kind = match kind {
        ClientKind::Kubelets => "kubelets",
        ClientKind::Components => "components",
        ClientKind::Further(id) => &spec.api_clients[id].name,
    };
    let several = scenario.kube.clusters.iter().filter(|cluster| cluster.access.is_some()).count() > 1;
    if several { format!("{}: {kind}", spec.name) } else { kind.to_owned() }
}

/// How the requests of a client travel; `None`: it has no connection.
pub const fn way_kind(state: ConnectionState) -> Option<WayKind> {
    match state {
        ConnectionState::None => None,
        ConnectionState::Open { through: true, .. } => Some(WayKind::Through),
        ConnectionState::Open { through: false, .. } => Some(WayKind::Straight),
        ConnectionState::Unanswered { .. } | ConnectionState::Silent { .. } | ConnectionState::Late { .. } => Some(WayKind::Lost),
    }
}

/// The ways of the requests of all clients, those of a group that end at the same place in one.
pub fn ways(scenario: &Scenario, view: &SimulationView) -> Vec<AccessWay> {
    let mut ways = Vec::new();
    for access in &view.access {
        let hosts = &scenario.kube.clusters[access.cluster].control_plane;
        for ((zone, kind), clients) in groups(access) {
            let mut ends: BTreeMap<(WayEnd, WayKind), usize> = BTreeMap::new();
            for client in clients {
                if let (Some(way), Some((server, _))) = (way_kind(client.state), client.state.other_end()) {
                    let straight = WayEnd::Host(hosts[server as usize]);
                    // A balancer on each node is not on the map: the way goes on to the server.
                    let is_drawn = |_: &u16| scenario.load_balancers[client.origin].machines.is_empty();
                    let end = client.through.filter(is_drawn).map_or(straight, |node| WayEnd::Balancer(client.origin, node));
                    *ends.entry((end, way)).or_default() += 1;
                }
            }
            let from = Selection::ApiClients(access.cluster, zone, kind);
            ways.extend(ends.into_iter().map(|((to, kind), count)| AccessWay { from, to, kind, count }));
        }
    }
    ways
}

#[cfg(test)]
pub(in crate::view) mod tests {
    use std::sync::Arc;

    use super::*;
    use zonefall_core::kernel::time::{Duration, Time};
    use zonefall_core::scenario::bundled;
    use zonefall_core::sim::{Options, Simulation};

    /// A bundled story and its view at a time, in seconds.
    pub(in crate::view) fn at(name: &str, s: u64) -> (Arc<Scenario>, SimulationView) {
        let scenario = bundled().iter().find(|scenario| scenario.name == name).unwrap();
        let scenario = Arc::new(Scenario::from_json(scenario.json).unwrap());
        let mut simulation = Simulation::new(Arc::clone(&scenario), 1, Options::default());
        simulation.run_until(Time::ZERO + Duration::from_secs(s), &mut |_, _| {});
        let view = simulation.view();
        (scenario, view)
    }

    fn face(name: &str, faces: &[AccessFace]) -> AccessFace {
        faces.iter().find(|face| face.name == name).cloned().unwrap_or_else(|| panic!("no {name} in {faces:?}"))
    }

    #[test]
    fn balancer_that_is_cut_off_finds_servers_unhealthy_that_answer() {
        let (scenario, before) = at("lb-partitioned", 290);
        let targets = |found: &str| Some([format!("found {found}"), "true ✓✓✓".to_owned()]);
        let balancer = face("lb-balancer", &faces(&scenario, Some(&before)));
        assert_eq!((balancer.targets, balancer.note.as_str(), balancer.tone), (targets("✓✓✓"), "", ""));
        let (scenario, during) = at("lb-partitioned", 400);
        let faces = faces(&scenario, Some(&during));
        let balancer = face("lb-balancer", &faces);
        assert_eq!((balancer.targets, balancer.note.as_str(), balancer.tone), (targets("✕✕✕"), "△ 1 fault", "bad"));
        assert!(balancer.details.contains("balancer-control-plane-0 found unhealthy, it answers"), "{}", balancer.details);
        let clients = face("balancer: kubelets", &faces);
        assert_eq!((clients.note.as_str(), clients.tone), ("✕ 0 of 3", "bad"));
        assert_eq!(face("alt-svc: kubelets", &faces).note, "✓ 3 of 3");
    }

    #[test]
    fn ways_end_at_the_balancer_or_at_a_server() {
        let (scenario, before) = at("lb-partitioned", 290);
        let all = ways(&scenario, &before);
        let of = |cluster: &str| {
            let is_of = |way: &&AccessWay| matches!(way.from, Selection::ApiClients(id, ..) if scenario.kube.clusters[id].name == cluster);
            all.iter().filter(is_of).collect::<Vec<_>>()
        };
        let (balancer, alternatives) = (of("balancer"), of("alt-svc"));
        assert!(
            balancer.iter().all(|way| way.kind == WayKind::Through && matches!(way.to, WayEnd::Balancer(..))),
            "{balancer:?}"
        );
        assert!(
            alternatives.iter().all(|way| way.kind == WayKind::Straight && matches!(way.to, WayEnd::Host(_))),
            "{alternatives:?}"
        );
        assert_eq!(
            all.iter().map(|way| way.count).sum::<usize>(),
            before.access.iter().map(|access| access.clients.len()).sum::<usize>()
        );
        // Ten seconds after the cut their connections are silent; a minute after, there are none.
        let (scenario, silent) = at("lb-partitioned", 310);
        let lost = ways(&scenario, &silent).iter().filter(|way| way.kind == WayKind::Lost).map(|way| way.count).sum::<usize>();
        assert_eq!(lost, silent.access[0].clients.len());
        let (scenario, none) = at("lb-partitioned", 400);
        assert!(ways(&scenario, &none).iter().all(|way| way.kind == WayKind::Straight));
    }

    #[test]
    fn check_of_the_port_finds_a_server_without_etcd_healthy() {
        let (scenario, view) = at("lb-tcp-health-only", 400);
        let faces = faces(&scenario, Some(&view));
        let targets = |name: &str| face(name, &faces).targets.unwrap();
        assert_eq!(targets("lb-tcp"), ["found ✓✓✓", "true ✓△✓"]);
        assert_eq!(targets("lb-readyz"), ["found ✓✕✓", "true ✓△✓"]);
    }
}
