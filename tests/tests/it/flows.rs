//! What control planes send, as rates and request by request: two ways to the same bytes.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use serde_json::{Value, json};
use zonefall_core::ids::{Endpoint, KubeClusterId, ZoneId};
use zonefall_core::kernel::time::{Duration, Time};
use zonefall_core::network::ledger::{Class, Volume};
use zonefall_core::network::wire::Burst;
use zonefall_core::run::{lasting, run};
use zonefall_core::scenario::kube::gardener::FailureTolerance;
use zonefall_core::scenario::{Scenario, bundled};
use zonefall_core::sim::{LinkTotals, Options, Simulation, Stepping};

use zonefall_tests::worlds::dice::{Dice, ms};

/// How far the two may be apart, as a share.
const TOLERANCE: f64 = 0.02;
/// Random worlds.
const WORLDS: u64 = 40;
const ZONES: [&str; 3] = ["za", "zb", "zc"];
const NODES: [&str; 6] = ["node-a1", "node-a2", "node-b1", "node-b2", "node-c1", "node-c2"];
/// Workers and hosts of the control plane of the cluster without Gardener.
const HOSTS: [&str; 5] = ["worker-a1", "worker-b2", "plain-control-plane-0", "plain-control-plane-1", "plain-control-plane-2"];
const HOUR: Duration = Duration::from_secs(3_600);

/// A bundled scenario whose shoots and clusters are in use, changed.
pub(crate) fn in_use(name: &str, change: impl FnOnce(&mut Value)) -> Scenario {
    let bundled = bundled().iter().find(|bundled| bundled.name == name).expect("it is bundled");
    let mut file: Value = serde_json::from_str(bundled.json).expect("it is JSON");
    for owner in ["shoots", "clusters"] {
        let all = file.get_mut(owner).and_then(Value::as_array_mut);
        all.into_iter().flatten().for_each(|own| own["use"] = json!({}));
    }
    file["expect"] = json!([]);
    file["observe_at"] = json!([]);
    change(&mut file);
    Scenario::from_json(&file.to_string()).unwrap_or_else(|errors| panic!("{name}: {errors:?}"))
}

fn until(simulation: &mut Simulation, at: Time) {
    simulation.run_until(at, &mut |_, _| {});
}

fn apart(flows: u64, requests: u64) -> f64 {
    (flows as f64 / requests as f64 - 1.0).abs()
}

type Pairs = BTreeMap<(ZoneId, ZoneId), u64>;

/// Bytes on the wire by zone pair, of the links of some clusters.
fn pairs(simulation: &Simulation, clusters: &BTreeSet<KubeClusterId>) -> Pairs {
    let scenario = simulation.scenario();
    let names: BTreeSet<_> = clusters
        .iter()
        .map(|id| scenario.kube.clusters[*id].name.clone())
        .flat_map(|home| (0_u16..).zip(&scenario.etcd).filter(move |(_, own)| own.name.starts_with(&format!("{home}/"))))
        .map(|(id, _)| id)
        .collect();
    let counts = |link: &&LinkTotals| match link.from {
        Endpoint::Member(member) => names.contains(&member.cluster.0),
        Endpoint::Servers(cluster) | Endpoint::Components(cluster) | Endpoint::Outside(cluster) | Endpoint::Users(cluster) => {
            clusters.contains(&cluster)
        }
        Endpoint::Client(_) => false,
    };
    let mut pairs = Pairs::new();
    for link in simulation.links().iter().filter(counts) {
        *pairs.entry(link.zones).or_default() += link.wire_bytes;
    }
    pairs
}

fn less(after: &Pairs, before: &Pairs) -> Pairs {
    after.iter().map(|(zones, bytes)| (*zones, bytes - before.get(zones).copied().unwrap_or(0))).collect()
}

/// A month of 200 shoots as flows, with its outage; an hour in the middle of it once as flows and once, of some shoots of each kind,
/// request by request: bytes between each two zones agree.
#[test]
fn an_hour_of_a_month_is_the_same_request_by_request() {
    let day = |scenario: Scenario| lasting(&scenario, Duration::from_secs(30 * 86_400));
    let scenario = Arc::new(day(in_use("many-shoots", |file| {
        file["traffic"] = json!("requests");
        file["duration"] = json!("3h");
    })));
    let shoots = &scenario.kube.shoots;
    let all: BTreeSet<KubeClusterId> =
        shoots.iter().filter_map(|shoot| shoot.hosted.as_ref()).map(|hosted| hosted.cluster).collect();
    let two = |tolerance| shoots.iter().filter(move |shoot| shoot.tolerance == tolerance).skip(10).take(2);
    let some: BTreeSet<KubeClusterId> = FailureTolerance::ALL
        .into_iter()
        .flat_map(two)
        .map(|shoot| shoot.hosted.as_ref().expect("it is hosted").cluster)
        .collect();
    let mut simulation = Simulation::new(Arc::clone(&scenario), 1, Options::default());
    for cluster in &all {
        simulation.send_each_request(*cluster, false);
    }
    let from = Time::ZERO + Duration::from_secs(15 * 86_400);
    until(&mut simulation, from);
    let hour = |each: bool| {
        let mut simulation = simulation.clone();
        for cluster in &some {
            simulation.send_each_request(*cluster, each);
        }
        let before = pairs(&simulation, &some);
        until(&mut simulation, from + HOUR);
        less(&pairs(&simulation, &some), &before)
    };
    let (flows, requests) = (hour(false), hour(true));
    assert!(flows.len() >= 9, "three zones talk: {flows:?}");
    for (zones, bytes) in &requests {
        let off = apart(flows[zones], *bytes);
        assert!(off < TOLERANCE, "{zones:?}: {} as flows, {bytes} request by request: {:.2} %", flows[zones], off * 100.0);
    }
    until(&mut simulation, Time::ZERO + scenario.duration);
}

/// All that is asked of etcd and said between members, by what it is, in an hour.
fn messages(scenario: impl Fn(&str) -> Scenario) {
    let run = |traffic: &str| {
        let mut simulation = Simulation::new(Arc::new(scenario(traffic)), 1, Options::default());
        until(&mut simulation, Time::ZERO + HOUR);
        simulation.messages().rows().collect::<BTreeMap<Class, Volume>>()
    };
    let (flows, requests) = (run("flows"), run("requests"));
    // But for elections and the like, of which there are a few.
    for (class, volume) in requests.iter().filter(|(_, volume)| volume.count > 1_000) {
        for (flow, sent) in [(flows[class].count, volume.count), (flows[class].wire.bytes, volume.wire.bytes)] {
            let off = apart(flow, sent);
            assert!(off < TOLERANCE, "{class:?}: {flow} as flows, {sent} request by request: {:.2} %", off * 100.0);
        }
    }
}

/// Requests of every kind, and control planes that stay as they are.
#[test]
fn messages_are_the_same_request_by_request() {
    messages(|traffic| {
        in_use("cost-of-tolerance", |file| {
            file["traffic"] = json!(traffic);
            file["duration"] = json!("1h");
            for shoot in file["shoots"].as_array_mut().expect("shoots") {
                shoot["count"] = json!(2);
                shoot["use"] = json!({"requests": [
                    {"name": "new", "verb": "create", "rate": "1/s", "object": "4KiB", "watchers": 2},
                    {"name": "gone", "verb": "delete", "rate": "1/s", "object": "4KiB"},
                    {"name": "all-of-a-kind", "verb": "list", "rate": "2/s", "objects": 20, "selected": 1, "from": "kube-scheduler"},
                ]});
            }
        })
    });
}

/// A cluster without Gardener: its API servers each ask the member on their own host, and a zone fails on the way.
#[test]
fn messages_of_a_cluster_are_the_same_request_by_request() {
    for api_to_etcd in ["local", "any"] {
        messages(|traffic| {
            in_use("plain-cluster", |file| {
                file["traffic"] = json!(traffic);
                let cluster = &mut file["clusters"][0];
                cluster["api_to_etcd"] = json!(api_to_etcd);
                cluster["use"] = json!({"requests": [
                    {"name": "new", "verb": "create", "rate": "10/s", "object": "4KiB", "watchers": 2},
                    {"name": "all-of-a-kind", "verb": "list", "rate": "2/s", "objects": 20, "selected": 1, "from": "kube-scheduler"},
                ]});
            })
        });
    }
}

/// A control plane that gets more servers and standbys on the way: what they ask of their own comes with them.
#[test]
fn messages_are_the_same_while_a_control_plane_grows() {
    messages(|traffic| in_use("ha-upgrade", |file| file["traffic"] = json!(traffic)));
}

/// Looking on the way changes no byte: what flows is never rounded.
#[test]
fn flows_do_not_depend_on_stops() {
    let scenario = Arc::new(in_use("cost-of-tolerance", |file| file["duration"] = json!("2h")));
    let end = Time::ZERO + HOUR * 2;
    let run = |stops: u64| {
        let mut simulation = Simulation::new(Arc::clone(&scenario), 1, Options::default());
        for k in 1..=stops {
            until(&mut simulation, Time::ZERO + Duration::from_nanos(7_200_000_000_000 / stops * k));
            simulation.links();
        }
        until(&mut simulation, end);
        simulation.links()
    };
    assert_eq!(run(1), run(997));
}

/// Under faults that come as they like, nothing that changes what flows goes unnoticed (an assertion of every look), no byte is lost
/// between messages and links, and skipped heartbeats change nothing.
#[test]
fn faults_change_flows_at_once() {
    let stories = [("node-failure-zone", "shoots", &NODES[..]), ("plain-cluster", "clusters", &HOSTS[..])];
    for (story, owner, nodes, number) in stories.into_iter().flat_map(|(a, b, c)| (0..WORLDS).map(move |k| (a, b, c, k))) {
        let mut dice = Dice::new("flows", number);
        let scenario = Arc::new(in_use(story, |file| {
            let fault = |dice: &mut Dice| {
                let mut fault = json!({"at": ms(dice.ms(1_000, 3_000_000)), "for": ms(dice.ms(100, 1_000_000))});
                let (place, kinds): (&str, &[&str]) = if dice.percent(50) {
                    ("zone", &["zone_power", "zone_partition"])
                } else {
                    ("node", &["node_crash", "node_partition"])
                };
                fault["kind"] = json!(dice.pick(kinds));
                fault[place] = json!(dice.pick(if place == "zone" { &ZONES[..] } else { nodes }));
                fault
            };
            file["faults"] = (0..dice.between(1, 4)).map(|_| fault(&mut dice)).collect();
            // Left out, they are the nodes of the cluster.
            let nodes = Some(dice.below(50)).filter(|_| owner == "shoots" || dice.percent(20));
            file[owner][0]["use"] = json!({"nodes": nodes, "requests": [
                {"name": "users", "verb": "list", "rate": "2/s", "objects": 300, "selected": 5},
                {"name": "controllers", "verb": "update", "rate": "5/s", "from": "kube-scheduler", "watchers": 3},
                {"name": "cached", "verb": "get", "rate": "50/s", "cached": true},
            ]});
        }));
        let report = |stepping| {
            let options = Options { stepping, ..Options::default() };
            let mut report = run(&scenario, number, options, &mut |_, _| {}, &mut |_| {});
            report.events = 0;
            report
        };
        let fast = report(Stepping::FastForward);
        assert_eq!(fast.violations, [], "world {number} of {story}");
        assert_eq!(fast, report(Stepping::EveryEvent), "world {number} of {story}");
    }
}

/// A control plane that moves to another seed is asked through that one's load balancer, from the moment it is bound to it.
#[test]
fn a_control_plane_that_moves_is_asked_elsewhere() {
    for traffic in ["flows", "requests"] {
        let scenario = Arc::new(in_use("control-plane-migration", |file| file["traffic"] = json!(traffic)));
        let report = run(&scenario, 1, Options::default(), &mut |_, _| {}, &mut |_| {});
        assert_eq!(report.violations, [], "{traffic}");
    }
}

/// GEP-20's appendix prints ~84 for the six links between the members of etcd-main at rest: KiB/s of IP packets in the busiest 20 s of a
/// minute (docs/validation.md says how it is read). To which members the API servers are connected is chance: the mean of several runs.
#[test]
fn a_control_plane_at_rest_sends_what_is_published() {
    const PUBLISHED: f64 = 84.0 * 1_024.0;
    const SEEDS: u64 = 20;
    let scenario = Arc::new(in_use("zone-outage-option-1", |file| {
        (file["clients"], file["faults"], file["duration"]) = (json!([]), json!([]), json!("10m"));
    }));
    let etcd = scenario.etcd.position(|own| own.name == "shoot--garden--shop/etcd-main").expect("it is the shoot's");
    let busiest = |seed: u64| -> f64 {
        let mut simulation = Simulation::new(Arc::clone(&scenario), seed, Options::default());
        until(&mut simulation, Time::ZERO + scenario.duration);
        let links = simulation.links().into_iter().filter(|link| {
            let of_it = |end| matches!(end, Endpoint::Member(member) if member.cluster == etcd);
            of_it(link.from) && of_it(link.to)
        });
        links.map(|link| link.peak_wire_bytes_per_s * ip_bytes(&link) as f64 / link.wire_bytes as f64).sum()
    };
    let mean = (1..=SEEDS).map(busiest).sum::<f64>() / SEEDS as f64;
    assert!((mean / PUBLISHED - 1.0).abs() < 0.15, "{} KiB/s", mean / 1_024.0);
}

fn ip_bytes(link: &LinkTotals) -> u64 {
    Burst { packets: link.packets, bytes: link.wire_bytes }.ip_bytes()
}
