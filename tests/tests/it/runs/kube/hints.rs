//! Topology hints of Services: when they come and go, and where API servers go by them. Worlds of a seed and a shoot that has an API
//! server and etcd only, their pods where the test says.

use std::collections::BTreeSet;

use proptest::prelude::*;
use serde_json::{Value, json};

use super::world::{KUBE_CLUSTER, SHOOT, Seen, at, run_everywhere, run_in, secs};
use zonefall_core::ids::{KubeClusterId, NodeId, TiSlice, WorkloadId, ZoneId};
use zonefall_core::kernel::time::Time;
use zonefall_core::kube::name::{NodeName, PodName};
use zonefall_core::kube::record::{HintsFact, KubeRecord, PodFact, Ready, Replica, ServerFact};
use zonefall_core::kube::rule::hints::NoHints;
use zonefall_core::kube::spec::{Component, Role};
use zonefall_core::scenario::{Scenario, bundled};

const ON: HintsFact = HintsFact::On;
const OVERLOAD: HintsFact = HintsFact::Off(NoHints::Overload);
const TOO_FEW: HintsFact = HintsFact::Off(NoHints::Endpoints);

/// Three nodes in each zone, `<zone>1` to `<zone>3`; the members of etcd on the first nodes of the first three zones, so many API servers
/// on the second ones, in turn. The third ones are nobody's.
fn file(zones: &[&str], servers: usize) -> Value {
    let nodes: Vec<Value> = (1..=3)
        .flat_map(|k| zones.iter().map(move |zone| json!({"name": format!("{zone}{k}"), "pool": pool(zone), "zone": zone})))
        .collect();
    let pods = |name: &str| -> Vec<Value> {
        (0..3).map(|k| json!({"name": format!("{name}-{k}"), "node": format!("{}1", zones[k])})).collect()
    };
    let name = |k: usize| format!("kube-apiserver-5f6c7d8b9-bcdf{}", ["2", "4", "5", "6", "7"][k]);
    let api: Vec<Value> =
        (0..servers).map(|k| json!({"name": name(k), "node": format!("{}2", zones[k % zones.len()])})).collect();
    let all: Vec<&str> = zones.iter().copied().chain(["parent"]).collect();
    let mut pools = vec![json!({"name": "cpu", "zones": zones[..3], "minimum": 9, "maximum": 9})];
    if zones.len() > 3 {
        pools.push(json!({"name": "more", "zones": zones[3..], "minimum": 3, "maximum": 3}));
    }
    json!({
        "name": "hints", "duration": "100m",
        "topology": {"regions": [{"name": "r", "zones": all}]},
        "seeds": [{
            "name": "seed", "zones": zones, "allow_even_zones": true, "control_plane": {"zones": ["parent"]}, "pools": pools,
            "nodes": nodes, "topology_aware_routing": true, "system": {"only_listed": true},
        }],
        "shoots": [{"name": "s", "failure_tolerance": "zone", "only_listed": true, "components": [
            {"name": "etcd-main", "pods": pods("etcd-main")},
            {"name": "kube-apiserver", "replicas": servers, "pods": api},
        ]}],
    })
}

fn pool(zone: &str) -> &'static str {
    if zone == "zd" { "more" } else { "cpu" }
}

fn parsed(file: &Value) -> Scenario {
    Scenario::from_json(&file.to_string()).unwrap_or_else(|errors| panic!("{errors}"))
}

/// `file` with two nodes of the second zone out of reach for eight minutes: of the CPUs 3 in 7 are in each of the others then.
fn without_two_nodes(mut file: Value) -> Value {
    let cut = |node: &str| json!({"at": "10m", "for": "8m", "kind": "node_partition", "node": node});
    file["faults"] = json!([cut("zb3"), cut("zb2")]);
    file
}

/// API servers of the second zone are elsewhere, so that nothing but nodes changes when that zone loses two.
fn apart(mut file: Value) -> Value {
    for pod in file["shoots"][0]["components"][1]["pods"].as_array_mut().unwrap() {
        let node = pod["node"].as_str().unwrap().replace("zb2", "zb1");
        pod["node"] = json!(node);
    }
    file
}

fn three() -> Value {
    without_two_nodes(apart(file(&["za", "zb", "zc"], 3)))
}

fn rolled(mut file: Value, at: &str, component: &str) -> Value {
    let roll = json!({"at": at, "roll_component": {"shoot": "s", "component": component}});
    match file.get_mut("operations") {
        Some(operations) => operations.as_array_mut().unwrap().push(roll),
        None => file["operations"] = json!([roll]),
    }
    file
}

/// The Services of etcd and of the API servers.
const SERVICES: [WorkloadId; 2] = [WorkloadId(0), WorkloadId(1)];

/// What was told of a Service.
fn told(seen: &Seen, of: WorkloadId) -> Vec<(Time, HintsFact)> {
    let fact = |(when, record): &(Time, KubeRecord)| match record {
        KubeRecord::Hints(service, fact) if *service == of => Some((*when, *fact)),
        _ => None,
    };
    seen.0.iter().filter_map(fact).collect()
}

/// An API server talks to a member from then on: which, its zone and that of the member.
type Link = (Time, PodName, ZoneId, Option<ZoneId>);

/// Those of the shoot.
fn links(scenario: &Scenario, seed: u64) -> Vec<Link> {
    links_of(scenario, &run_everywhere(scenario, seed), SHOOT)
}

fn links_of(scenario: &Scenario, seen: &TiSlice<KubeClusterId, Seen>, cluster: KubeClusterId) -> Vec<Link> {
    let pods = &seen[KUBE_CLUSTER];
    let spec = &scenario.kube.clusters[KUBE_CLUSTER];
    let at_node = |node: NodeId| scenario.nodes[node].zone;
    let zone = |pod: PodName| {
        let bound = pods.of(pod).into_iter().find_map(|(_, fact)| match fact {
            PodFact::Bound(NodeName::Given(node)) => Some(at_node(spec.nodes[node].node)),
            PodFact::Bound(NodeName::Machine(machine)) => Some(spec.machine_deployments[machine.deployment].zone),
            _ => None,
        });
        bound.expect("it has run")
    };
    // Members stay in the zones of their volumes.
    let members = &scenario.etcd[scenario.kube.clusters[cluster].etcd].members;
    let of_member = |index: u8| at_node(members[index as usize].node);
    let link = |(when, replica, fact): (Time, Replica, ServerFact)| match (replica, fact) {
        (Replica::Pod(_, pod), ServerFact::Etcd(member)) => Some((when, pod, zone(pod), member.map(of_member))),
        _ => None,
    };
    seen[cluster].servers().into_iter().filter_map(link).collect()
}

#[test]
fn hints_go_with_nodes_and_come_back_with_an_endpoint() {
    let scenario = parsed(&rolled(three(), "30m", "etcd-main"));
    let seen = run_in(&scenario, 1, KUBE_CLUSTER);
    let back = seen.nodes(Ready::True).last().unwrap().0;
    assert!(back >= at(18 * 60) && back < at(18 * 60 + 1), "{back:?}");
    let [etcd, api] = SERVICES.map(|service| told(&seen, service));
    let unknown = seen.nodes(Ready::Unknown)[1].0;
    for service in [&etcd, &api] {
        assert_eq!(service[0], (at(0), ON));
        assert!(service[1].1 == OVERLOAD && service[1].0 > unknown && service[1].0 < unknown + secs(1), "{service:?}");
    }
    // That the nodes are back changes nothing: nobody looks at a Service without hints.
    assert_eq!(api.len(), 2);
    // Its pods go one after the other; with all three it has hints again.
    assert!(etcd[2].1 == TOO_FEW && etcd[2].0 >= at(1_800) && etcd.last().unwrap().1 == ON, "{etcd:?}");
}

#[test]
fn another_controller_manager_begins_with_every_service() {
    let mut file = three();
    file["faults"].as_array_mut().unwrap().extend((0..3).map(|k| {
        let node = format!("seed-control-plane-{k}");
        json!({"at": format!("{}m", 30 + 10 * k), "for": "5m", "kind": "node_crash", "node": node})
    }));
    let seen = run_in(&parsed(&file), 1, KUBE_CLUSTER);
    let leases = seen.leases(Component::ControllerManager);
    let taken = leases.iter().find(|(when, holder)| *when > at(1_800) && holder.is_some()).unwrap().0;
    for told in SERVICES.map(|service| told(&seen, service)) {
        let [.., (when, ON)] = told[..] else { panic!("{told:?}") };
        assert!(told.len() == 3 && when >= taken && when < taken + secs(1), "{told:?} after {taken:?}");
    }
}

#[test]
fn new_connections_go_by_hints_and_open_ones_stay() {
    let hinted = parsed(&rolled(file(&["za", "zb", "zc"], 3), "25m", "kube-apiserver"));
    let lost = parsed(&rolled(three(), "25m", "kube-apiserver"));
    let mut crossing = 0;
    for seed in 0..6 {
        let links = [links(&hinted, seed), links(&lost, seed)];
        let new = links[1].iter().filter(|(when, ..)| *when > at(25 * 60));
        crossing += new.filter(|(_, _, zone, member)| *member != Some(*zone)).count();
        assert!(links[0].iter().all(|(_, _, zone, member)| *member == Some(*zone)), "each in its own zone: {:?}", links[0]);
        for links in links {
            assert!(links.len() == 6 && links.iter().all(|(when, ..)| *when == at(0) || *when > at(25 * 60)), "{links:?}");
        }
    }
    // Two in three of 18, drawn.
    assert!((6..18).contains(&crossing), "{crossing}");
}

/// GEP-20's disclaimer: with nodes in more than three zones there are more zones than members of etcd, so no hints; and with more than
/// three API servers one is where no member is.
#[test]
fn more_than_three_zones_are_too_many_for_three_members() {
    let zones = ["za", "zb", "zc", "zd"];
    let mut four = file(&zones, 4);
    let seen = run_in(&parsed(&four), 1, KUBE_CLUSTER);
    assert_eq!(SERVICES.map(|service| told(&seen, service)), [vec![(at(0), TOO_FEW)], vec![(at(0), ON)]]);
    let crossing = (0..6).flat_map(|seed| links(&parsed(&four), seed)).filter(|(_, _, zone, member)| *member != Some(*zone));
    assert!((12..24).contains(&crossing.count()), "three in four, drawn");
    // Each to its own zone, however many CPUs that has: but who has no member there still goes elsewhere.
    four["seeds"][0]["topology_aware_routing"] = json!(false);
    four["seeds"][0]["api_to_etcd"] = json!("zone");
    let links = links(&parsed(&four), 1);
    assert!(links.iter().all(|(_, _, zone, member)| (*member == Some(*zone)) == (zone.0 < 3)) && links.len() == 4, "{links:?}");
}

/// Their own Service has no hints: with a third of the CPUs each zone would need two of the four.
#[test]
fn more_servers_than_zones_share_members() {
    let scenario = parsed(&file(&["za", "zb", "zc"], 4));
    let seen = run_in(&scenario, 1, KUBE_CLUSTER);
    assert_eq!(SERVICES.map(|service| told(&seen, service)), [vec![(at(0), ON)], vec![(at(0), OVERLOAD)]]);
    let links = links(&scenario, 1);
    assert!(links.iter().all(|(_, _, zone, member)| *member == Some(*zone)) && links.len() == 4, "{links:?}");
}

#[test]
fn servers_that_follow_the_leader_go_with_it() {
    let mut file = file(&["za", "zb", "zc"], 3);
    file["seeds"][0]["topology_aware_routing"] = json!(false);
    file["seeds"][0]["api_to_etcd"] = json!("leader");
    file["faults"] =
        json!([{"at": "10m", "for": "1m", "kind": "process_kill", "member": {"leader_of": "shoot--garden--s/etcd-main"}}]);
    let scenario = parsed(&file);
    for seed in 0..3 {
        let links = links(&scenario, seed);
        let members = |from: u64, to: u64| {
            let mut last: Vec<(PodName, Option<ZoneId>)> = Vec::new();
            for (_, pod, _, member) in links.iter().filter(|(when, ..)| *when >= at(from) && *when < at(to)) {
                last.retain(|(of, _)| of != pod);
                last.push((*pod, *member));
            }
            last.into_iter().map(|(_, member)| member).collect::<Vec<_>>()
        };
        let (before, after) = (members(0, 600), members(600, 6_000));
        assert!(before == [before[0]; 3] && after == [after[0]; 3] && before[0] != after[0], "{links:?}");
        assert!(after[0].is_some(), "{links:?}");
    }
}

/// A member that lacks more than leaders keep turns away who has seen more, and they go to one that does not: across zones, though there
/// are hints.
#[test]
fn who_is_turned_away_goes_elsewhere() {
    let file = rolled(file(&["za", "zb", "zc"], 3), "25m", "kube-apiserver");
    let mut scenario = parsed(&file);
    let cluster = scenario.etcd.position(|cluster| cluster.name.ends_with("etcd-main")).unwrap();
    scenario.etcd[cluster].members[2].behind = Some((1_000, 8 << 30));
    for seed in 0..3 {
        let links = links(&scenario, seed);
        let (early, late): (Vec<_>, Vec<_>) = links.iter().partition(|(when, ..)| *when < at(600));
        assert!(early.len() == 3 && late.len() == 3, "who went elsewhere stays there: {links:?}");
        assert!(early.iter().all(|(_, _, zone, member)| *member == Some(*zone) || zone.0 == 2), "{links:?}");
        assert!(early.iter().all(|(.., member)| *member != Some(ZoneId(2))), "{links:?}");
        assert!(late.iter().all(|(_, _, zone, member)| *member == Some(*zone)), "{links:?}");
    }
}

#[test]
fn nothing_is_told_where_nobody_asks() {
    let mut file = three();
    file["seeds"][0]["topology_aware_routing"] = json!(false);
    let none =
        |file: &Value| run_in(&parsed(file), 1, KUBE_CLUSTER).0.iter().all(|(_, fact)| !matches!(fact, KubeRecord::Hints(..)));
    assert!(none(&file));
    // Those that do not survive a zone are in one.
    file["seeds"][0]["topology_aware_routing"] = json!(true);
    file["shoots"] = json!([{"name": "s", "failure_tolerance": "node", "only_listed": true, "components": [
        {"name": "etcd-main"}, {"name": "kube-apiserver"},
    ]}]);
    assert!(none(&file));
}

/// The scenario that comes with Zonefall, whose bill this makes: connections cross zones from the first roll of the API servers to the
/// second, not from when hints are lost until they are back.
#[test]
fn what_crosses_zones_depends_on_when_connections_were_made() {
    let bundled = bundled().iter().find(|file| file.name == "topology-hints").expect("it is bundled");
    let scenario = Scenario::from_json(bundled.json).expect("it is valid");
    let seen = run_everywhere(&scenario, 1);
    let mut links: Vec<Link> = Vec::new();
    for cluster in scenario.kube.clusters.iter_enumerated().filter(|(_, spec)| spec.name.contains("shop")).map(|(id, _)| id) {
        links.extend(links_of(&scenario, &seen, cluster));
    }
    let crossing = |from: u64, to: u64| {
        let made = links.iter().filter(|(when, ..)| *when >= at(from) && *when < at(to));
        let (same, other): (Vec<&Link>, Vec<&Link>) = made.partition(|(_, _, zone, member)| *member == Some(*zone));
        (same.len(), other.len())
    };
    let hour = 3_600;
    assert_eq!(crossing(0, hour), (9, 0), "hints are lost meanwhile: no connection is made anew");
    let (same, other) = crossing(hour, 2 * hour);
    assert!(same + other == 9 && other >= 3, "two in three, drawn: {same} and {other}");
    assert_eq!(crossing(2 * hour, 3 * hour), (0, 0), "all zones are alike again, which nobody notices");
    let (_, other) = crossing(3 * hour, 4 * hour);
    assert!(other > 0, "who talks to a member that goes is sent to any: fewer endpoints than zones have no hints");
    let (same, other) = crossing(4 * hour, 5 * hour);
    assert!(same == 9 && other == 0, "{same} and {other}");
}

#[test]
fn a_control_plane_made_to_survive_a_zone_asks_for_hints() {
    let mut file = file(&["za", "zb", "zc"], 3);
    file["shoots"] =
        json!([{"name": "s", "only_listed": true, "components": [{"name": "etcd-main"}, {"name": "kube-apiserver"}]}]);
    file["operations"] = json!([{"at": "10m", "set_failure_tolerance": {"shoot": "s", "to": "zone"}}]);
    let seen = run_in(&parsed(&file), 1, KUBE_CLUSTER);
    let told = told(&seen, SERVICES[0]);
    assert!(told[0].1 == TOO_FEW && told[0].0 >= at(600) && told.last().unwrap().1 == ON, "{told:?}");
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(12))]
    #[test]
    fn names_of_zones_mean_nothing_and_no_hint_is_left_over(
        seed: u64, roll in 20..40u64, servers in 1..5usize, names in Just(["za", "zb", "zc"]).prop_shuffle(),
    ) {
        let file = rolled(rolled(three_of(servers), &format!("{roll}m"), "etcd-main"), "45m", "kube-apiserver");
        let seen = run_in(&parsed(&file), seed, KUBE_CLUSTER);
        let mut renamed = file.to_string();
        for (k, name) in ["za", "zb", "zc"].iter().enumerate() {
            renamed = renamed.replace(name, &format!("zone {k}"));
        }
        for (k, name) in names.iter().enumerate() {
            renamed = renamed.replace(&format!("zone {k}"), name);
        }
        let renamed = Scenario::from_json(&renamed).unwrap();
        prop_assert_eq!(&seen, &run_in(&renamed, seed, KUBE_CLUSTER));
        // Hints need as many endpoints as zones, and end with the first that goes.
        for (service, spec) in renamed.kube.clusters[KUBE_CLUSTER].workloads.iter_enumerated() {
            let (mut ready, mut on) = (BTreeSet::new(), false);
            for (when, fact) in &seen.0 {
                match fact {
                    KubeRecord::Pod(pod, PodFact::Ready(true)) if pod.workload == service => drop(ready.insert(*pod)),
                    KubeRecord::Pod(pod, PodFact::Ready(false) | PodFact::Terminating) => drop(ready.remove(pod)),
                    KubeRecord::Hints(of, fact) if *of == service => {
                        on = *fact == ON;
                        prop_assert!(on == (ready.len() >= 3) || *fact == OVERLOAD, "{fact:?} with {ready:?} at {when:?}");
                    }
                    _ => {}
                }
            }
            prop_assert!(on == (matches!(spec.role, Role::Etcd(_)) || servers == 3), "of {} in the end", spec.name);
        }
    }
}

fn three_of(servers: usize) -> Value {
    without_two_nodes(apart(file(&["za", "zb", "zc"], servers)))
}
