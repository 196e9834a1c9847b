//! Shoots of random worlds: etcd, components and load on the API.

use serde_json::{Value, json};

use super::Shoot;
use super::seeds::{api_servers, etcd_options};
use crate::worlds::dice::{Dice, ms};
use crate::worlds::schedules::merge;

/// The entry in the scenario file.
pub(super) fn file(shoot: &Shoot, dice: &mut Dice) -> Value {
    let mut file = json!({
        "name": shoot.name, "count": shoot.count, "failure_tolerance": shoot.tolerance, "recovery": shoot.recovery,
        "only_listed": shoot.small, "components": components(shoot, dice), "etcd": etcd(shoot, dice),
    });
    if let Some(seed) = shoot.seed {
        file["seed"] = json!(format!("s{seed}"));
    }
    if dice.percent(20) {
        file["api_servers"] = api_servers(dice);
        if dice.percent(40) {
            file["api_servers"]["shutdown_delay"] = json!(format!("{}s", dice.between(0, 90)));
        }
    }
    if shoot.used {
        file["use"] = usage(dice);
    }
    file
}

fn etcd(shoot: &Shoot, dice: &mut Dice) -> Value {
    let mut etcd = json!({"options": etcd_options(dice)});
    if shoot.pair {
        etcd["mode"] = mode(dice);
    }
    if dice.percent(40) {
        let mut initial = json!({"revision": dice.between(1, 1_000_000), "database": format!("{}MB", dice.between(1, 800))});
        match dice.below(5) {
            0 => initial["leader"] = json!("none"),
            1 => initial["leader"] = json!("etcd-main-0"),
            _ => {}
        }
        etcd["initial"] = initial;
    }
    if dice.percent(20) {
        etcd["disk"] = json!({"fsync": dice.latency(2_000)});
    }
    // Scenarios with both are refused: a regional volume goes where its pod goes.
    if shoot.recovery != "move" && dice.percent(20) {
        etcd["volumes"] = json!("regional");
    }
    etcd
}

/// An active-passive mode.
fn mode(dice: &mut Dice) -> Value {
    let mut timers = json!({"check_period": ms(dice.between(1_000, 20_000)), "failures": dice.between(1, 4)});
    if dice.percent(40) {
        return json!({"learner": timers});
    }
    if dice.percent(60) {
        let bucket = json!({
            "delta_snapshot_period": ms(dice.between(10_000, 400_000)),
            "full_snapshot_period": ms(dice.between(600_000, 4_000_000)),
            "poll_period": ms(dice.between(1_000, 90_000)),
        });
        merge(&mut timers, bucket);
    }
    json!({"hot_standby": timers})
}

/// Components other than, or beside, those that Gardener deploys.
fn components(shoot: &Shoot, dice: &mut Dice) -> Value {
    let mut api = json!({"name": "kube-apiserver"});
    if dice.percent(20) {
        api["replicas"] = json!(dice.between(1, 4));
    }
    if dice.percent(20) {
        api["tolerate_unreachable"] = json!(ms(dice.ms(0, 600_000)));
    }
    let mut main = json!({"name": "etcd-main"});
    if dice.percent(15) {
        main["volume_size"] = json!(format!("{}GiB", dice.between(5, 100)));
    }
    let mut all = vec![main, api];
    if shoot.small {
        all.extend(shoot.components()[2..].iter().map(|name| json!({"name": name})));
        if dice.percent(50) {
            all.push(json!({"name": "etcd-events"}));
        }
    }
    if dice.percent(25) {
        all.push(json!({
            "name": "extension", "kind": "deployment", "replicas": dice.between(1, 5), "cpu": 0.5,
            "spread": [{
                "over": dice.pick(&["zone", "host"]), "max_skew": dice.between(1, 2), "hard": dice.percent(60),
                "per_rollout": dice.percent(50),
            }],
            "rollout": {"max_surge": dice.pick(&["25%", "50%"]), "max_unavailable": dice.pick(&["0%", "25%"])},
        }));
    }
    if dice.percent(20) {
        all.push(json!({
            "name": "database", "kind": "stateful_set", "replicas": dice.between(1, 3), "volume": "zonal",
            "anti_affinity": [{"over": "host"}], "pool": "cpu", "stop": ms(dice.ms(0, 40_000)),
        }));
    }
    json!(all)
}

/// Load on the API.
pub(super) fn usage(dice: &mut Dice) -> Value {
    let mut requests = Vec::new();
    if dice.percent(40) {
        requests.push(json!({"name": "lists", "verb": "list", "rate": format!("{}/min", dice.between(1, 30)), "objects": 200}));
    }
    if dice.percent(40) {
        let (verb, rate) = (dice.pick(&["create", "update", "patch", "delete"]), format!("{}/min", dice.between(1, 120)));
        requests.push(json!({"name": "writes", "verb": verb, "rate": rate, "object": "3KiB", "watchers": dice.below(4)}));
    }
    if dice.percent(25) {
        requests.push(json!({
            "name": "cached", "verb": "get", "rate": "2/s", "cached": dice.percent(70), "from": "kube-controller-manager",
        }));
    }
    json!({"nodes": dice.below(30), "idle": dice.percent(80), "requests": requests})
}
