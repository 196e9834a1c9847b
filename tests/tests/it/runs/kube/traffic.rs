//! What is sent in and around a cluster whose API servers run on hosts, by hand, and beside a shoot's.

use std::collections::BTreeMap;
use std::sync::Arc;

use serde_json::{Value, json};

use zonefall_core::ids::{Endpoint, KubeClusterId, ZoneId};
use zonefall_core::kernel::time::{Duration, Time};
use zonefall_core::network::ledger::{Class, Volume};
use zonefall_core::scenario::Scenario;
use zonefall_core::sim::{Options, Simulation};

const CLUSTER: KubeClusterId = KubeClusterId(0);
/// Bytes around the body of a request or an answer.
const FRAMES: u64 = 60;
const HOUR_S: u64 = 3_600;

/// A cluster with a host of its control plane and two nodes in each of three zones, with such a `use`.
fn cluster(usage: &Value, faults: &Value) -> Value {
    json!({
        "name": "used", "duration": "1h",
        "topology": {"regions": [{"name": "r", "zones": ["za", "zb", "zc"]}]},
        "clusters": [{
            "name": "c", "zones": ["za", "zb", "zc"], "use": usage,
            "pools": [{"name": "w", "minimum": 6, "maximum": 6}],
        }],
        "faults": faults,
    })
}

/// A shoot with an API server in each of three zones, with such a `use`.
fn shoot(usage: &Value) -> Value {
    json!({
        "name": "used", "duration": "1h",
        "topology": {"regions": [{"name": "r", "zones": ["za", "zb", "zc"]}]},
        "seeds": [{"name": "s", "zones": ["za", "zb", "zc"], "pools": [{"name": "w", "minimum": 9, "maximum": 9}]}],
        "shoots": [{
            "name": "c", "failure_tolerance": "zone", "use": usage,
            "components": [{"name": "kube-apiserver", "replicas": 3}],
        }],
    })
}

/// An hour of a scenario, in which all of what a cluster asks flows.
fn an_hour(file: &Value, cluster: KubeClusterId) -> Simulation {
    let scenario = Scenario::from_json(&file.to_string()).unwrap_or_else(|errors| panic!("{errors}"));
    let mut simulation = Simulation::new(Arc::new(scenario), 1, Options::default());
    simulation.send_each_request(cluster, false);
    simulation.run_until(Time::ZERO + Duration::from_secs(HOUR_S), &mut |_, _| {});
    simulation
}

/// Application bytes of all links from one kind of endpoint to another, by their zones.
fn bytes(simulation: &Simulation, from: fn(Endpoint) -> bool, to: fn(Endpoint) -> bool) -> BTreeMap<(u16, u16), u64> {
    let mut bytes = BTreeMap::new();
    for link in simulation.links().iter().filter(|link| from(link.from) && to(link.to)) {
        *bytes.entry((link.zones.0.0, link.zones.1.0)).or_default() += link.bytes;
    }
    bytes
}

const fn is_server(end: Endpoint) -> bool {
    matches!(end, Endpoint::Servers(CLUSTER))
}

const fn is_component(end: Endpoint) -> bool {
    matches!(end, Endpoint::Components(CLUSTER))
}

const fn is_user(end: Endpoint) -> bool {
    matches!(end, Endpoint::Users(CLUSTER))
}

const fn is_member(end: Endpoint) -> bool {
    matches!(end, Endpoint::Member(_))
}

fn each_pair(value: u64) -> BTreeMap<(u16, u16), u64> {
    (0..3).flat_map(|a| (0..3).map(move |b| ((a, b), value))).collect()
}

fn within_zones(value: u64) -> BTreeMap<(u16, u16), u64> {
    (0..3).map(|zone| ((zone, zone), value)).collect()
}

/// By hand: of nine updates of 2 KiB each second from users in three zones to three API servers, one is for each pair; those of the scheduler
/// go to the API server on the host of each of its three processes, and from there to the member on that host.
#[test]
fn users_ask_every_api_server_and_components_the_one_on_their_host() {
    let usage = json!({"idle": false, "requests": [
        {"name": "users", "verb": "update", "rate": "9/s", "object": "2KiB", "watchers": 0},
        {"name": "binds", "verb": "update", "rate": "9/s", "object": "1KiB", "watchers": 0, "from": "kube-scheduler"},
    ]});
    let simulation = an_hour(&cluster(&usage, &json!([])), CLUSTER);
    let users = each_pair(HOUR_S * (2_048 + FRAMES));
    assert_eq!(bytes(&simulation, is_user, is_server), users, "what the users ask");
    assert_eq!(bytes(&simulation, is_server, is_user), users, "what they are answered");
    let scheduler = within_zones(3 * HOUR_S * (1_024 + FRAMES));
    assert_eq!(bytes(&simulation, is_component, is_server), scheduler);
    assert_eq!(bytes(&simulation, is_server, is_component), scheduler);
    let to_etcd = bytes(&simulation, is_server, is_member);
    assert!(to_etcd.len() == 3 && to_etcd.keys().all(|(from, to)| from == to), "{to_etcd:?}");
    assert_eq!(simulation.balanced(), 0, "there is no load balancer");
    // Where API servers talk to any member, components ask any API server.
    let mut file = cluster(&usage, &json!([]));
    file["clusters"][0]["api_to_etcd"] = json!("any");
    let simulation = an_hour(&file, CLUSTER);
    assert_eq!(bytes(&simulation, is_component, is_server), each_pair(HOUR_S * (1_024 + FRAMES)));
}

/// By hand: each kubelet, of two workers and a host in each zone, renews a lease of 450 bytes every 10 s, and writes an event of 700 bytes every 300 s. Those of a zone that is
/// without power for the last 40 of 60 min do not.
#[test]
fn kubelets_ask_while_the_api_answers_them() {
    let faults = json!([{"at": "20m", "kind": "zone_power", "zone": "za"}]);
    let simulation = an_hour(&cluster(&json!({}), &faults), CLUSTER);
    let mut asked: BTreeMap<u16, u64> = BTreeMap::new();
    for ((from, _), bytes) in bytes(&simulation, is_user, is_server) {
        *asked.entry(from).or_default() += bytes;
    }
    let nodes = |seconds: u64| 3 * (seconds * (450 + FRAMES) / 10 + seconds * (700 + FRAMES) / 300);
    for (zone, seconds) in [(0, 1_200), (1, HOUR_S), (2, HOUR_S)] {
        // An election of etcd at most stands in between.
        let (least, most) = (nodes(seconds - 4), nodes(seconds));
        assert!((least..=most).contains(&asked[&zone]), "zone {zone}: {} of {least} to {most}", asked[&zone]);
    }
    // So many nodes as a file says are in each zone alike, with power or without.
    let simulation = an_hour(&cluster(&json!({"nodes": 9}), &json!([])), CLUSTER);
    let total: u64 = bytes(&simulation, is_user, is_server).values().sum();
    assert!(total.abs_diff(3 * nodes(HOUR_S)) <= 9, "{total}");
}

/// What is asked of etcd, and sent to those who watch, does not depend on what an API server runs in.
#[test]
fn a_cluster_asks_what_a_shoot_asks() {
    let usage = json!({"idle": false, "requests": [
        {"name": "users", "verb": "update", "rate": "3/s", "object": "2KiB", "watchers": 2},
        {"name": "lists", "verb": "list", "rate": "1/s", "objects": 9, "selected": 3, "from": "kube-scheduler"},
        {"name": "new", "verb": "create", "rate": "1/s", "from": "kube-controller-manager"},
        {"name": "cached", "verb": "get", "rate": "5/s", "cached": true},
    ]});
    let of = |file: Value, cluster: KubeClusterId| {
        let rows = an_hour(&file, cluster).messages().rows().collect::<BTreeMap<Class, Volume>>();
        let asked =
            [Class::ApiRequest, Class::ApiAnswer, Class::ApiEvent, Class::EtcdRequest, Class::EtcdAnswer, Class::WatchEvent];
        asked.map(|class| (class, rows[&class].count, rows[&class].bytes))
    };
    let (cluster, shoot) = (of(cluster(&usage, &json!([])), CLUSTER), of(shoot(&usage), KubeClusterId(1)));
    for ((class, count, bytes), (_, others, other_bytes)) in cluster.into_iter().zip(shoot) {
        // Each of some ten links is rounded.
        assert!(count > 1_000 && count.abs_diff(others) <= 30 && bytes.abs_diff(other_bytes) <= 30, "{class:?}");
    }
}

/// A component that a cluster does not have, and an etcd of events, ask and are asked nothing; events are in its only etcd.
#[test]
fn nothing_is_asked_by_what_is_not_there() {
    let file = cluster(&json!({}), &json!([]));
    let scenario = Scenario::from_json(&file.to_string()).unwrap_or_else(|errors| panic!("{errors}"));
    let what: Vec<&str> = scenario.kube.clusters[CLUSTER].requests.iter().map(|own| own.what.as_str()).collect();
    assert!(what.contains(&"events") && what.contains(&"leaders renew"), "{what:?}");
    let missing = ["CSI", "gardener-resource-manager", "check the etcd of events"];
    assert!(!what.iter().any(|what| missing.iter().any(|part| what.contains(part))), "{what:?}");
    let simulation = an_hour(&file, CLUSTER);
    assert!(simulation.links().iter().all(|link| [link.zones.0, link.zones.1].iter().all(|zone| *zone < ZoneId(3))));
    // Three hosts and nine kubelets: every second 2 renewals, half a status and 0.9 node leases, 0.03 events, and of each API server 0.1
    // renewals of its own lease, each of which grants one, and a lease for the events of a minute.
    let rows = simulation.messages().rows().collect::<BTreeMap<Class, Volume>>();
    let reads = 2.0 + 2.0 * 1.25 + 9.0 + 3.0 * (0.2 + 0.1) + 0.2;
    let asked = HOUR_S as f64 * (2.0 + 0.5 + 0.9 + 0.03 + 3.0 * (2.0 * 0.1 + 1.0 / 60.0) + reads);
    let found = rows[&Class::EtcdRequest].count as f64;
    assert!((found / asked - 1.0).abs() < 1e-3, "{found} of {asked}");
}
