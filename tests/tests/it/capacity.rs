//! `zonefall capacity` keeps its word: on random seeds the shoots that it says have room run without a pending pod, and one more does not.

use serde_json::{Value, json};
use zonefall_core::capacity::{ShootLimit, plan};
use zonefall_core::scenario::{RawScenario, Scenario};
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

/// The file with so many more shoots, as a user would write it.
fn with(file: &Value, tolerance: &str, count: u32) -> Value {
    let mut file = file.clone();
    let reference = file["capacity"]["shoot"].take();
    file["capacity"] = json!({});
    if count > 0 {
        let mut shoot = reference;
        (shoot["name"], shoot["count"], shoot["failure_tolerance"]) = (json!("more"), json!(count), json!(tolerance));
        if tolerance == "none" {
            shoot["etcd"] = json!({});
        }
        file["shoots"].as_array_mut().expect("shoots").push(shoot);
    }
    file["seeds"][0]["allocatable_shoots"] = json!(2_000);
    file
}

/// Whether it runs without a pending pod; a file that asks for more than there are nodes is not valid.
fn runs(file: &Value) -> bool {
    let scenario = match Scenario::from_json(&file.to_string()) {
        Ok(scenario) => scenario,
        Err(errors) => {
            assert!(errors.to_string().contains("there are no nodes"), "{errors}\n{file}");
            return false;
        }
    };
    let seed = scenario.seed;
    let report = simulate(scenario, seed);
    report.pods.iter().all(|pod| pod.waits_for_node().is_none())
}

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
        let starts = runs(&with(&file, "none", 0));
        let (raw, scenario) = read(&file);
        let plan = plan(&raw, &scenario).expect("it has a seed").seeds.remove(0);
        assert!(!starts || plan.hosted_without_room == 0, "seed {number}\n{file}");
        for room in plan.headroom.iter().filter(|_| starts) {
            let tolerance = room.failure_tolerance.describe();
            let ShootLimit { shoots, limiting_resources, .. } = &room.all_zones;
            let told = || format!("seed {number}, {tolerance}: {shoots} fit\n{file}");
            assert!(*shoots == 0 || runs(&with(&file, tolerance, *shoots)), "{}", told());
            let bound = limiting_resources.first().is_some_and(|figure| figure.unit == "shoots");
            assert!(bound || !runs(&with(&file, tolerance, shoots + 1)), "{}", told());
            let after = room.after_zone_loss.as_ref().map_or(0, |limit| limit.shoots);
            assert!(after <= *shoots, "{}", told());
        }
        u32::from(starts)
    });
    let (all, starts) = (found.len(), found.iter().sum::<u32>() as usize);
    assert!(starts * 2 > all, "{starts} of {all} seeds start without a pending pod");
}
