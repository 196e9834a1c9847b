//! `zonefall capacity` keeps its word: on random seeds the shoots that it says have room run without a pending pod, and one more does not;
//! what it says of a lost zone and of numbers of nodes likewise.

use std::sync::Arc;

use serde_json::{Value, json};
use zonefall_core::Simulation;
use zonefall_core::capacity::{ShootLimit, is_short, plan, plan_nodes};
use zonefall_core::kernel::time::{Duration, Time};
use zonefall_core::scenario::{RawScenario, Scenario};
use zonefall_core::sim::Options;
use zonefall_core::simulate;
use zonefall_tests::numbers;
use zonefall_tests::threads::of_numbers;
use zonefall_tests::worlds::dice::Dice;

/// Seeds: usually, and thoroughly.
const SEEDS: [usize; 2] = [300, 20_000];

/// A seed of any shape, with all its machines there, and a control plane that is planned.
fn landscape(dice: &mut Dice) -> Value {
    let zones = &["a", "b", "c"][..(1 + dice.below(4)).min(3) as usize];
    let nodes = zones.len() as u64 * dice.between(2, 4);
    let mode = dice.pick(&["quorum", "hot_standby", "learner"]);
    let mode = if mode == "quorum" { json!(mode) } else { json!({ mode: {} }) };
    let mut components = vec![
        json!({"name": "etcd-main", "cpu": dice.between(1, 15) as f64 / 10.0, "memory": "1GiB"}),
        json!({"name": "kube-apiserver", "cpu": dice.between(1, 30) as f64 / 10.0, "memory": "1GiB"}),
    ];
    if dice.percent(50) {
        let replicas = dice.between(1, 3);
        components
            .push(json!({"name": "kube-controller-manager", "cpu": dice.between(1, 20) as f64 / 10.0, "replicas": replicas}));
    }
    if dice.percent(30) {
        components.push(json!({"name": "loki", "cpu": dice.between(1, 20) as f64 / 10.0}));
    }
    json!({
        "name": "landscape", "duration": "30s", "seed": dice.below(1_000),
        "topology": {"regions": [{"name": "r", "zones": ["a", "b", "c", "parent"]}]},
        "seeds": [{
            "name": "seed", "zones": zones, "allow_even_zones": true, "control_plane": {"zones": ["parent"]},
            "allocatable_shoots": dice.between(4, 12), "system": {"only_listed": dice.percent(60)},
            "pools": [{
                "name": "cpu", "minimum": nodes, "maximum": nodes, "rollout": {"max_surge": 0, "max_unavailable": 1},
                "machine": {"cpu": dice.between(4, 16), "memory": "32GiB", "volumes": dice.between(2, 12)},
            }],
        }],
        "shoots": if dice.percent(30) { json!([hosted(dice)]) } else { json!([]) },
        "capacity": {
            "demand": {"none": dice.below(4), "node": dice.below(3), "zone": dice.below(3)},
            "shoot": {"only_listed": true, "components": components, "etcd": {"mode": mode}},
        },
    })
}

/// Shoots that are there.
fn hosted(dice: &mut Dice) -> Value {
    let cpu = dice.between(1, 20) as f64 / 10.0;
    json!({"name": "there", "count": dice.between(1, 3), "only_listed": true, "components": [
        {"name": "etcd-main", "cpu": 0.5}, {"name": "kube-apiserver", "cpu": cpu},
    ]})
}

/// The file with a number of further shoots of each failure tolerance, as a user would write it.
fn with(file: &Value, more: &[(&str, u32)]) -> Value {
    let mut file = file.clone();
    let reference = file["capacity"]["shoot"].take();
    file["capacity"] = json!({});
    for (tolerance, count) in more.iter().filter(|(_, count)| *count > 0) {
        let mut shoot = reference.clone();
        (shoot["name"], shoot["count"], shoot["failure_tolerance"]) =
            (json!(format!("more-{tolerance}")), json!(count), json!(tolerance));
        if *tolerance == "none" {
            shoot["etcd"] = json!({});
        }
        file["shoots"].as_array_mut().expect("shoots").push(shoot);
    }
    file["seeds"][0]["allocatable_shoots"] = json!(2_000);
    file
}

/// The same with this number of nodes.
fn of_nodes(file: &Value, nodes: u32) -> Value {
    let mut file = file.clone();
    let pool = &mut file["seeds"][0]["pools"][0];
    (pool["minimum"], pool["maximum"]) = (json!(nodes), json!(nodes));
    file
}

/// The scenario of a file; a file whose members of etcd have fewer nodes than they need is not valid.
fn if_members_have_nodes(file: &Value) -> Option<Scenario> {
    let read = Scenario::from_json(&file.to_string());
    read.map_err(|errors| assert!(errors.to_string().contains("there are no nodes"), "{errors}\n{file}")).ok()
}

/// Whether all its control planes are created and it runs without a pending pod.
fn runs(file: &Value) -> bool {
    let Some(scenario) = if_members_have_nodes(file) else { return false };
    let seed = scenario.seed;
    let report = simulate(scenario, seed);
    report.pending.is_none() && report.pods.iter().all(|pod| pod.waits_for_node().is_none())
}

/// Whether pods wait, after a zone has lost its power and all pods there have been evicted and then deleted by force, that further machines
/// in the other zones would take. No machine has been replaced by then.
fn is_short_without(file: &Value, zone: &str) -> bool {
    let mut file = file.clone();
    file["duration"] = json!("1h");
    file["faults"] = json!([{"at": "30s", "for": "2h", "kind": "zone_power", "zone": zone}]);
    let Some(scenario) = if_members_have_nodes(&file) else { return true };
    let cluster = scenario.kube.seeds.first().expect("it has a seed").cluster;
    let lost = scenario.zones.iter_enumerated().find(|(_, own)| own.name == zone).map(|(id, _)| id).expect("a zone");
    let seed = scenario.seed;
    let mut run = Simulation::new(Arc::new(scenario), seed, Options::default());
    run.run_until(Time::ZERO + EVICTED, &mut |_, _| {});
    run.act(cluster, |cluster, ctx| {
        let store = cluster.store_mut();
        let pods: Vec<_> = store.nodes().filter(|(_, node)| node.zone == lost).flat_map(|(_, node)| node.pods.clone()).collect();
        for pod in pods {
            store.terminate(pod, ctx);
            if store.pod(pod).is_some() {
                store.remove(pod, ctx);
            }
        }
    });
    run.run_until(Time::ZERO + EVICTED + Duration::from_secs(60), &mut |_, _| {});
    is_short(&run, cluster, Some(lost))
}

/// By then a node that has lost its power has been tainted (40 s), and its pods evicted (5 min), with one node in ten seconds.
const EVICTED: Duration = Duration::from_secs(510);

fn read(file: &Value) -> (RawScenario, Scenario) {
    let text = file.to_string();
    let scenario = Scenario::from_json(&text).unwrap_or_else(|errors| panic!("{errors}\n{text}"));
    (RawScenario::from_json(&text).expect("it is valid"), scenario)
}

#[test]
fn what_fits_runs_without_a_pending_pod_and_one_more_does_not() {
    let [usual, thorough] = SEEDS;
    let found = of_numbers(&numbers(usual, thorough), |number| {
        let mut dice = Dice::new("capacity", number);
        let file = landscape(&mut dice);
        let Ok(_) = Scenario::from_json(&file.to_string()) else { return 0 };
        // What the seed runs for itself may have no room, and then nothing has.
        let starts = runs(&with(&file, &[]));
        let (raw, scenario) = read(&file);
        let plan = plan(&raw, &scenario).expect("it has a seed").seeds.remove(0);
        assert!(!starts || plan.hosted_without_room == 0, "seed {number}\n{file}");
        for room in plan.headroom.iter().filter(|_| starts) {
            let tolerance = room.failure_tolerance.describe();
            let ShootLimit { shoots, limiting_resources, .. } = &room.all_zones;
            let told = || format!("seed {number}, {tolerance}: {shoots} fit\n{file}");
            assert!(*shoots == 0 || runs(&with(&file, &[(tolerance, *shoots)])), "{}", told());
            let bound = limiting_resources.first().is_some_and(|figure| figure.unit == "shoots");
            assert!(bound || !runs(&with(&file, &[(tolerance, shoots + 1)])), "{}", told());
            let after = room.after_zone_loss.as_ref().map_or(0, |limit| limit.shoots);
            assert!(after <= *shoots, "{}", told());
        }
        u32::from(starts)
    });
    let (all, starts) = (found.len(), found.iter().sum::<u32>() as usize);
    assert!(starts * 2 > all, "{starts} of {all} seeds start without a pending pod");
}

/// Seeds that lose a zone, and seeds whose nodes are counted: usually, and thoroughly.
const FURTHER: [usize; 2] = [100, 20_000];

/// The names that files have for failure tolerances.
const TOLERANCES: [&str; 3] = ["none", "node", "zone"];

/// Which node takes a pod depends on the order in which pods are evicted, so at the limit a run may differ from the plan, by a shoot as a rule.
#[test]
fn what_fits_after_the_loss_of_a_zone_finds_nodes_in_the_others_and_one_more_does_not() {
    let [usual, thorough] = FURTHER;
    let found = of_numbers(&numbers(usual, thorough), |number| {
        let mut dice = Dice::new("capacity after the loss of a zone", number);
        let file = landscape(&mut dice);
        if Scenario::from_json(&file.to_string()).is_err() || !runs(&with(&file, &[])) {
            return [0; 3];
        }
        let (raw, scenario) = read(&file);
        let plan = plan(&raw, &scenario).expect("it has a seed").seeds.remove(0);
        let zones = file["seeds"][0]["zones"].as_array().expect("zones");
        let mut found = [0; 3];
        for room in &plan.headroom {
            let Some(ShootLimit { shoots, zone: worst, .. }) = &room.after_zone_loss else { continue };
            let tolerance = room.failure_tolerance.describe();
            let is_short = |shoots, zone| shoots > 0 && is_short_without(&with(&file, &[(tolerance, shoots)]), zone);
            let any = zones[dice.below(zones.len() as u64) as usize].as_str().expect("a name");
            let mut compare = |holds: bool, but_for_a_shoot: &dyn Fn() -> bool| {
                let how = if holds {
                    0
                } else if but_for_a_shoot() {
                    1
                } else {
                    2
                };
                found[how] += 1;
            };
            if *shoots > 0 {
                compare(!is_short(*shoots, any), &|| !is_short(shoots - 1, any));
            }
            if let Some(worst) = worst {
                compare(is_short(shoots + 1, worst), &|| is_short(shoots + 2, worst));
            }
        }
        found
    });
    let sum = |how: usize| found.iter().map(|one| one[how]).sum::<u32>();
    let [exact, close, far] = [0, 1, 2].map(sum);
    let told = format!("{exact} limits hold in runs, {close} but for a shoot, {far} do not");
    println!("{told}");
    assert!(exact > 9 * (close + far) && exact > 100 * far, "{told}");
}

#[test]
fn a_demand_fits_the_nodes_that_it_is_said_to_need_and_no_fewer() {
    let [usual, thorough] = FURTHER;
    let found = of_numbers(&numbers(usual, thorough), |number| {
        let mut dice = Dice::new("nodes for a demand", number);
        let mut file = landscape(&mut dice);
        // With few nodes what the seed runs for itself waits for more of them.
        file["seeds"][0]["system"] = json!({"only_listed": true});
        let Ok(scenario) = Scenario::from_json(&file.to_string()) else { return 0 };
        let raw = RawScenario::from_json(&file.to_string()).expect("it is valid");
        let needed = plan_nodes(&raw, &scenario).expect("it has a pool").pools.remove(0).needed;
        // Shoots that are there are on seeds of their own.
        file["shoots"] = json!([]);
        let demand = TOLERANCES.map(|tolerance| file["capacity"]["demand"][tolerance].as_u64().expect("a number") as u32);
        let [none, node, zone] = [0, 1, 2].map(|k| [(TOLERANCES[k], demand[k])]);
        let kinds = [(&none[..], needed.none), (&node[..], needed.node), (&zone[..], needed.zone)];
        let mut counted = 0;
        for (more, nodes) in kinds {
            let Some(nodes) = nodes.filter(|nodes| *nodes > 1) else { continue };
            let told = || format!("seed {number}: {more:?} need {nodes} nodes\n{file}");
            assert!(runs(&of_nodes(&with(&file, more), nodes)), "{}", told());
            assert!(!runs(&of_nodes(&with(&file, more), nodes - 1)), "{}", told());
            counted += 1;
        }
        counted
    });
    let counted: u32 = found.iter().sum();
    assert!(counted as usize > found.len(), "{counted} numbers of nodes were looked at");
}
