//! What is to be said of load balancers and of the clients of APIs.

use yew::prelude::*;
use zonefall_core::access::alt_svc::alternatives::{BLOCK, Block};
use zonefall_core::access::alt_svc::client::Attempt;
use zonefall_core::access::cluster::view::{
    AccessView, AlternativeView, BalancerView, ClientKind, ClientView, ConnectionsView, RequestTarget, ServerState,
};
use zonefall_core::access::origin::node;
use zonefall_core::access::record::{ConnectionState, Dialled};
use zonefall_core::ids::{BalancerId, KubeClusterId, ZoneId};
use zonefall_core::kernel::time::Time;
use zonefall_core::kube::ctx::ApiClient;
use zonefall_core::observe::access::name;
use zonefall_core::scenario::access::CheckKind;
use zonefall_core::scenario::kube::KubeClusterSpec;
use zonefall_core::scenario::{Scenario, text};
use zonefall_core::sim::view::SimulationView;

use super::Fact;
use crate::state::{Action, Selection};
use crate::view::map::access::{self, WayKind, found_sign, found_words, groups, true_sign, true_words, way_kind};

/// Clients of a group that are listed.
const MOST_LISTED: usize = 50;

/// Clients of a kind in a zone: `balancer: kubelets in za`.
pub(super) fn group_name(cluster: KubeClusterId, zone: ZoneId, kind: ClientKind, scenario: &Scenario) -> String {
    format!("{} in {}", access::group_name(cluster, kind, scenario), scenario.zones[zone].name)
}

/// A load balancer.
pub(super) fn balancer(id: BalancerId, scenario: &Scenario, view: &SimulationView) -> Vec<Fact> {
    let spec = &scenario.load_balancers[id];
    let zones: Vec<&str> = spec.zones.iter().map(|zone| scenario.zones[*zone].name.as_str()).collect();
    let tests = match spec.check.kind {
        CheckKind::Tcp => "whether the port accepts connections",
        CheckKind::Readyz => "/readyz",
    };
    let every = text::duration(spec.check.interval);
    let thresholds = format!("unhealthy after {}, healthy after {}", spec.check.fall, spec.check.rise);
    let mut facts = vec![("nodes in", zones.join(", "), ""), ("checks", format!("{tests}, every {every}; {thresholds}"), "")];
    let Some((access, balancer)) = access::of_balancer(view, id) else { return facts };
    let cluster = &scenario.kube.clusters[access.cluster];
    facts.push(("cluster", cluster.name.clone(), ""));
    facts.extend(
        (0..access.targets.len())
            .filter(|key| access.targets[*key].is_target)
            .map(|key| ("target", target((access, balancer), key, cluster, scenario), tone((access, balancer), key))),
    );
    let waits = balancer.nodes.iter().map(|node| node.wait).max().unwrap_or_default();
    let waits_long = waits >= scenario.probe.deadline;
    facts.push(("longest wait", text::duration(waits), if waits_long { "bad" } else { "" }));
    for (place, connections) in (0..).zip(&balancer.nodes).filter_map(|(place, node)| Some((place, node.connections?))) {
        let ConnectionsView { accepted, waiting, limit } = connections;
        let waits = if waiting > 0 { format!(", {waiting} in its backlog") } else { String::new() };
        let words = format!("{accepted} of {limit} {}{waits}", text::node_of_balancer(scenario, id, place));
        facts.push(("connections", words, if accepted >= limit { "bad" } else { "" }));
    }
    let own = || access.clients.iter().filter(|client| client.origin == id);
    let through = own().filter(|client| way_kind(client.state) == Some(WayKind::Through)).count();
    facts.push(("clients through it", format!("{through} of {}", own().count()), ""));
    facts
}

fn tone((access, balancer): (&AccessView, &BalancerView), key: usize) -> &'static str {
    let truth = access.targets[key].state;
    if balancer.nodes.iter().any(|node| found_sign(node.found[key]) != true_sign(truth)) {
        "warn"
    } else if truth == ServerState::Answers {
        "good"
    } else {
        "bad"
    }
}

/// A target as each node has found it, and as it is: `c-0: found ✕ unhealthy in za, ✓ healthy in zb; true ✓ it answers`.
fn target(
    (access, balancer): (&AccessView, &BalancerView),
    key: usize,
    cluster: &KubeClusterSpec,
    scenario: &Scenario,
) -> String {
    let zones = &scenario.load_balancers[balancer.balancer].zones;
    let nodes = || balancer.nodes.iter().zip(zones);
    let found = |node: usize| balancer.nodes[node].found[key];
    let words = |node: usize| format!("{} {}", found_sign(found(node)), found_words(found(node)));
    let agree = (1..zones.len()).all(|node| found(node) == found(0));
    let seen = if agree {
        words(0)
    } else {
        let each = zones.iter().enumerate().map(|(node, zone)| format!("{} in {}", words(node), scenario.zones[*zone].name));
        each.collect::<Vec<_>>().join(", ")
    };
    let out_of_reach: Vec<&str> =
        nodes().filter(|(node, _)| !node.reaches[key]).map(|(_, zone)| scenario.zones[*zone].name.as_str()).collect();
    let reach = match out_of_reach.len() {
        0 => String::new(),
        all if all == zones.len() => ", out of the balancer's reach".to_owned(),
        _ => format!(", out of reach from {}", out_of_reach.join(", ")),
    };
    let truth = access.targets[key];
    let listed = if truth.is_listed { "" } else { ", not listed as an endpoint" };
    let host = &scenario.nodes[cluster.control_plane[key]].name;
    format!("{host}: found {seen}; true {} {}{reach}{listed}", true_sign(truth.state), true_words(truth.state))
}

/// Clients of one kind in one zone.
pub(super) fn group(
    (cluster, zone, kind): (KubeClusterId, ZoneId, ClientKind),
    scenario: &Scenario,
    view: &SimulationView,
) -> Vec<Fact> {
    let mut facts =
        vec![("cluster", scenario.kube.clusters[cluster].name.clone(), ""), ("zone", scenario.zones[zone].name.clone(), "")];
    let clients = of_group((cluster, zone, kind), view);
    let is_served = |client: &&&ClientView| matches!(client.state, ConnectionState::Open { .. });
    let (all, served) = (clients.len(), clients.iter().filter(is_served).count());
    let tone = if served == all { "good" } else { "bad" };
    facts.insert(0, ("served", format!("{} {served} of {all}", if served == all { "✓" } else { "✕" }), tone));
    for (wanted, _, words) in WayKind::ALL {
        let count = clients.iter().filter(|client| way_kind(client.state) == Some(wanted)).count();
        facts.extend(
            (count > 0).then(|| ("connections", format!("{count} {words}"), if wanted == WayKind::Lost { "bad" } else { "" })),
        );
    }
    let none = clients.iter().filter(|client| way_kind(client.state).is_none()).count();
    facts.extend((none > 0).then(|| ("connections", format!("{none} without one"), "bad")));
    facts
}

fn of_group((cluster, zone, kind): (KubeClusterId, ZoneId, ClientKind), view: &SimulationView) -> Vec<&ClientView> {
    let access = access::of_cluster(view, cluster);
    access.and_then(|access| groups(access).remove(&(zone, kind))).unwrap_or_default()
}

/// Buttons for the clients of a group, which is selected.
pub(super) fn members(is: Selection, scenario: &Scenario, view: &SimulationView, dispatch: &Callback<Action>) -> Html {
    let Selection::ApiClients(cluster, zone, kind) = is else { return Html::default() };
    let clients = of_group((cluster, zone, kind), view);
    let item = |client: &&ClientView| {
        let (id, spec) = (client.client, &scenario.kube.clusters[cluster]);
        let onclick = dispatch.reform(move |_: MouseEvent| Action::Select(Some(Selection::ApiClient(cluster, id))));
        let state = connection(client.state).1;
        let name = name(id, spec, scenario);
        html! { <li><button class="line" {onclick} data-testid={format!("client-{name}")}><span>{ format!("{name}: {state}") }</span></button></li> }
    };
    let more = clients.len().saturating_sub(MOST_LISTED);
    html! {
        <>
            <h3>{ "Clients" }</h3>
            <ol class="lines">{ for clients.iter().take(MOST_LISTED).map(item) }</ol>
            if more > 0 { <p class="quiet">{ format!("and {more} more") }</p> }
        </>
    }
}

/// A client of an API.
pub(super) fn client(cluster: KubeClusterId, id: ApiClient, scenario: &Scenario, view: &SimulationView) -> Vec<Fact> {
    let spec = &scenario.kube.clusters[cluster];
    let node = node(id, spec).map(|node| &scenario.nodes[node]);
    let place = |facts: &mut Vec<Fact>| {
        facts.push(("cluster", spec.name.clone(), ""));
        facts.extend(node.map(|node| ("node", node.name.clone(), "")));
        facts.extend(node.map(|node| ("zone", scenario.zones[node.zone].name.clone(), "")));
    };
    let Some(client) = access::client(view, cluster, id) else {
        let mut facts = vec![("connection", "✕ does not run at this moment".to_owned(), "bad")];
        place(&mut facts);
        return facts;
    };
    let (tone, words) = connection(client.state);
    let sign = if tone == "good" { "✓" } else { "✕" };
    let mut facts = vec![("connection", format!("{sign} {words}"), tone)];
    let server = |key: u32| scenario.nodes[spec.control_plane[key as usize]].name.clone();
    let balancer_name = &scenario.load_balancers[client.origin].name;
    if let Some((key, _)) = client.state.other_end() {
        facts.push(("API server", server(key), ""));
        let way = match (client.through, client.request) {
            (Some(node), _) => {
                format!("through {balancer_name}, its node {}", text::node_of_balancer(scenario, client.origin, node))
            }
            (None, Some(RequestTarget::Alternative(_))) => format!("straight to an alternative, without {balancer_name}"),
            (None, Some(RequestTarget::Server(_))) => format!("straight: its dialer knows the address, without {balancer_name}"),
            (None, _) if client.addresses.as_ref().is_some_and(|own| own.is_resolver && !own.servers.is_empty()) => {
                format!("straight: the DNS in its process has the address, without {balancer_name}")
            }
            (None, _) => format!("straight: packets to {balancer_name} stay on the host"),
        };
        facts.push(("way", way, ""));
    }
    if client.dials == Some(Dialled::AtLimit) {
        facts.push(("dials", format!("{balancer_name}, which accepts no further connections"), "bad"));
    }
    match client.request {
        None => facts.push(("request", "waits to dial again".to_owned(), "")),
        Some(RequestTarget::Origin | RequestTarget::Server(_)) => {
            facts.push(("request", format!("as it is, to the original host {balancer_name}"), ""));
        }
        Some(RequestTarget::Alternative(key)) => facts.extend(rewritten(server(key))),
    }
    for alternative in &client.alternatives {
        let (words, tone) = alternative_words(alternative, client, view.at);
        facts.push(("alternative", format!("{}: {words}", server(alternative.server)), tone));
    }
    if let Some(own) = &client.addresses {
        let names: Vec<String> = own.servers.iter().map(|key| server(*key)).collect();
        let known = if names.is_empty() { "none: the original host is dialled".to_owned() } else { names.join(", ") };
        facts.push((if own.is_resolver { "in-memory DNS" } else { "custom dialer" }, known, ""));
    } else if client.alternatives.is_empty() {
        let why = if client.uses_alternatives { "none known" } else { "it uses none" };
        facts.push(("alternatives", why.to_owned(), ""));
    }
    place(&mut facts);
    facts
}

/// What a request to an alternative says instead of the original host.
fn rewritten(server: String) -> Vec<Fact> {
    let attempt = Attempt { to: server, is_alternative: true };
    let Some(request) = attempt.rewritten() else { return Vec::new() };
    vec![
        ("request", format!("rewritten, to {}", request.url_host), ""),
        ("Host, :authority", request.host.to_owned(), ""),
        ("server name", format!("{} (SNI)", request.server_name), ""),
        ("Alt-Used", request.alt_used.clone(), ""),
    ]
}

/// State of a connection: class of its colour, and words.
fn connection(state: ConnectionState) -> (&'static str, &'static str) {
    match state {
        ConnectionState::Open { .. } => ("good", "open"),
        ConnectionState::Unanswered { .. } => ("bad", "open, but the server returns errors: etcd does not answer it"),
        ConnectionState::Silent { .. } => ("bad", "silent: no packet passes, which the client has not noticed"),
        ConnectionState::Late { .. } => ("bad", "open, but responses take longer than requests wait"),
        ConnectionState::None => ("bad", "none"),
    }
}

/// State of an alternative in words, and the class of its colour.
fn alternative_words(alternative: &AlternativeView, client: &ClientView, now: Time) -> (String, &'static str) {
    let local = if alternative.is_local { ", on its own host" } else { "" };
    let is_used = client.request == Some(RequestTarget::Alternative(alternative.server));
    let (words, tone) = match alternative.block {
        Block::Forever => ("✕ blocked for ever: its certificate was refused".to_owned(), "bad"),
        Block::Since(error) if alternative.block.holds(now) => {
            (format!("△ blocked for another {} after an error", text::duration((error + BLOCK).since(now))), "warn")
        }
        _ if alternative.is_last => ("✓ in use, kept while it answers".to_owned(), "good"),
        _ if is_used => ("✓ in use".to_owned(), "good"),
        Block::Since(_) | Block::Free => ("free".to_owned(), ""),
    };
    (format!("{words}{local}"), tone)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::view::map::access::tests::at;
    use zonefall_core::ids::NodeKey;
    use zonefall_core::kernel::time::Duration;

    fn values<'a>(facts: &'a [Fact], name: &str) -> Vec<&'a str> {
        facts.iter().filter(|(other, ..)| *other == name).map(|(_, value, _)| value.as_str()).collect()
    }

    #[test]
    fn balancer_that_is_cut_off_has_another_view_than_the_truth() {
        let (scenario, view) = at("lb-partitioned", 400);
        let facts = balancer(BalancerId(0), &scenario, &view);
        let target = values(&facts, "target")[0];
        let expected = "balancer-control-plane-0: found ✕ unhealthy; true ✓ it answers, out of the balancer's reach";
        assert_eq!(target, expected);
        assert_eq!(values(&facts, "clients through it"), ["0 of 15"]);
    }

    #[test]
    fn client_with_alternatives_says_where_its_request_goes() {
        let (scenario, view) = at("lb-partitioned", 400);
        let of = |cluster: u16| client(KubeClusterId(cluster), ApiClient::Kubelet(NodeKey(4)), &scenario, &view);
        let without = of(0);
        assert_eq!(values(&without, "connection"), ["✕ none"]);
        assert_eq!(values(&without, "alternatives"), ["it uses none"]);
        let with = of(1);
        assert_eq!(values(&with, "connection"), ["✓ open"]);
        assert_eq!(values(&with, "way"), ["straight to an alternative, without lb-alt-svc"]);
        assert_eq!(values(&with, "Host, :authority"), ["kubernetes.default"]);
        assert_eq!(values(&with, "Alt-Used"), values(&with, "API server"));
        assert_eq!(values(&with, "alternative").len(), 3);
        assert_eq!(values(&with, "alternative").iter().filter(|words| words.contains("in use, kept")).count(), 1);
    }

    #[test]
    fn client_that_reads_addresses_says_which_and_how_it_uses_them() {
        let (scenario, view) = at("lb-custom-dialer", 400);
        let scheduler = |cluster: u16| {
            let access = access::of_cluster(&view, KubeClusterId(cluster)).expect("it has a balancer");
            let mut components = access.clients.iter().filter(|client| matches!(client.client, ApiClient::Candidate(..)));
            // The first led, and has started anew.
            client(KubeClusterId(cluster), components.nth(1).expect("there are three").client, &scenario, &view)
        };
        for (cluster, name, way) in [
            (2, "custom dialer", "straight: its dialer knows the address, without lb-custom-dialer"),
            (3, "in-memory DNS", "straight: the DNS in its process has the address, without lb-in-memory-dns"),
        ] {
            let facts = scheduler(cluster);
            assert_eq!(values(&facts, "way"), [way]);
            assert_eq!(values(&facts, name)[0].split(", ").count(), 3, "{facts:?}");
            assert!(values(&facts, "request")[0].starts_with("as it is"), "{facts:?}");
            assert!(values(&facts, "alternatives").is_empty(), "{facts:?}");
        }
    }

    #[test]
    fn alternatives_are_in_use_blocked_or_free() {
        let of = |block: Block, is_last: bool, is_local: bool| {
            let alternative = AlternativeView { server: 0, is_local, is_last, block };
            let client = ClientView {
                origin: BalancerId(0),
                client: ApiClient::Kubelet(NodeKey(0)),
                zone: ZoneId(0),
                state: ConnectionState::None,
                through: None,
                dials: None,
                request: None,
                alternatives: vec![alternative],
                uses_alternatives: true,
                addresses: None,
            };
            alternative_words(&alternative, &client, Time::ZERO + Duration::from_secs(105)).0
        };
        let error = Block::Since(Time::ZERO + Duration::from_secs(100));
        assert_eq!(of(error, false, true), "△ blocked for another 15 s after an error, on its own host");
        assert_eq!(of(Block::Since(Time::ZERO), false, false), "free");
        assert_eq!(of(Block::Forever, false, false), "✕ blocked for ever: its certificate was refused");
        assert_eq!(of(Block::Free, true, false), "✓ in use, kept while it answers");
    }

    #[test]
    fn group_counts_its_clients_by_the_way_of_their_requests() {
        let (scenario, view) = at("lb-partitioned", 310);
        let facts = group((KubeClusterId(0), ZoneId(0), ClientKind::Kubelets), &scenario, &view);
        assert_eq!(values(&facts, "served"), ["✕ 0 of 3"]);
        assert_eq!(values(&facts, "connections"), ["3 failing"]);
    }
}
