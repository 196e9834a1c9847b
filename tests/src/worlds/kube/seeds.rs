//! Seeds of random worlds: pools, control planes, timers, routing and system components.

use serde_json::{Value, json};

use super::{PARENT, Seed};
use crate::worlds::dice::{Dice, ms};
use crate::worlds::schedules::merge;

/// The seed's entry in the scenario file.
pub(super) fn file(seed: &Seed, dice: &mut Dice) -> Value {
    let mut file = json!({
        "name": seed.name, "zones": seed.zones, "allow_even_zones": seed.zones.len() == 2,
        "control_plane": control_plane(seed, dice), "pools": pools(seed, dice), "system": system(seed, dice),
        "timers": timers(dice),
    });
    if !seed.nodes.is_empty() {
        let zone = |k: usize| seed.zones[k / seed.per_zone as usize];
        let node = |(k, name): (usize, &String)| json!({"name": name, "pool": "cpu", "zone": zone(k)});
        file["nodes"] = seed.nodes.iter().enumerate().map(node).collect();
    }
    match dice.below(5) {
        0 | 1 if seed.zones.len() > 1 => file["topology_aware_routing"] = json!(true),
        2 => file["api_to_etcd"] = json!(dice.pick(&["zone", "leader"])),
        _ => {}
    }
    if dice.percent(20) {
        file["api_servers"] = api_servers(dice);
    }
    file
}

fn control_plane(seed: &Seed, dice: &mut Dice) -> Value {
    let mut own = json!({"replicas": seed.replicas, "options": etcd_options(dice)});
    if seed.hosted {
        own["zones"] = json!([PARENT]);
    }
    if dice.percent(20) {
        own["disk"] = json!({"fsync": dice.latency(2_000)});
    }
    own
}

/// Options of etcd: mostly the usual ones.
pub(super) fn etcd_options(dice: &mut Dice) -> Value {
    let mut options = json!({"pre_vote": dice.percent(70)});
    if dice.percent(25) {
        let heartbeat = dice.between(50, 500);
        let timers = json!({"heartbeat_interval": ms(heartbeat), "election_timeout": ms(heartbeat * dice.between(5, 10))});
        merge(&mut options, timers);
    }
    if dice.percent(20) {
        let few = json!({"snapshot_count": dice.between(5, 60), "catch_up_entries": dice.between(1, 20)});
        merge(&mut options, few);
    }
    options
}

fn pools(seed: &Seed, dice: &mut Dice) -> Value {
    let zones = seed.zones.len() as u64;
    let mut machine = if dice.percent(25) { json!({"cpu": 4, "memory": "16GiB"}) } else { json!({}) };
    if seed.typed {
        machine["type"] = json!("worker");
    }
    let minimum = seed.per_zone * zones;
    let mut cpu = json!({
        "name": "cpu", "minimum": minimum, "maximum": minimum + zones * dice.below(4), "machine": machine,
    });
    if dice.percent(20) {
        let (surge, unavailable) = (dice.below(3), dice.below(2));
        cpu["rollout"] = json!({"max_surge": surge, "max_unavailable": if surge == 0 { 1 } else { unavailable }});
    }
    let mut pools = vec![cpu];
    if seed.spare {
        let taint = json!({"key": "spare", "effect": dice.pick(&["no_schedule", "prefer_no_schedule", "no_execute"])});
        pools.push(json!({"name": "spare", "minimum": dice.below(2), "maximum": 2, "taints": [taint]}));
    }
    json!(pools)
}

/// System components beside, or other than, those that Gardener deploys.
fn system(seed: &Seed, dice: &mut Dice) -> Value {
    let mut components = Vec::new();
    if dice.percent(40) {
        // In many worlds these pods do not fit: the autoscaler adds machines.
        let spread = json!([{"over": dice.pick(&["zone", "host"]), "max_skew": dice.between(1, 3), "hard": dice.percent(70)}]);
        components.push(json!({
            "name": "filler", "kind": "deployment", "replicas": dice.between(1, 14), "cpu": dice.between(1, 3),
            "spread": if dice.percent(50) { spread } else { json!([]) }, "max_unavailable": dice.below(3),
            "tolerate_unreachable": ms(dice.ms(0, 600_000)),
        }));
    }
    if dice.percent(25) {
        components.push(json!({
            "name": "store", "kind": "stateful_set", "replicas": dice.between(1, 4), "volume": dice.pick(&["zonal", "regional", "none"]),
            "parallel": dice.percent(50), "anti_affinity": [{"over": dice.pick(&["zone", "host"]), "weight": 50}],
        }));
    }
    if seed.spare {
        components.push(json!({
            "name": "special", "kind": "deployment", "replicas": dice.between(1, 3), "pool": "spare", "tolerates": ["spare"],
        }));
    }
    if dice.percent(15) {
        components.push(json!({"name": "agents", "kind": "daemon_set", "cpu": 0.1}));
    }
    if dice.percent(15) {
        components.push(json!({"name": dice.pick(&["etcd-druid", "gardenlet"]), "replicas": dice.between(1, 3)}));
    }
    json!({"components": components})
}

/// Resources of API servers other than usual.
pub(super) fn api_servers(dice: &mut Dice) -> Value {
    json!({"built_in_resources": dice.between(2, 80), "custom_resources": dice.between(0, 200)})
}

/// A few timers other than usual.
pub(super) fn timers(dice: &mut Dice) -> Value {
    let mut timers = json!({});
    // Name, least and most in seconds.
    let spans: [(&str, u64, u64); 24] = [
        ("node_monitor_grace", 20, 120),
        ("api_overhead", 1, 2),
        ("control_plane_start", 5, 60),
        ("etcd_silence", 5, 60),
        ("etcd_dial", 2, 20),
        ("readiness_period", 1, 20),
        ("restart", 1, 30),
        ("boot", 10, 120),
        ("pod_grace", 5, 60),
        ("attach", 1, 60),
        ("detach", 1, 60),
        ("force_detach", 60, 600),
        ("machine_creation", 120, 1_200),
        ("machine_health", 60, 600),
        ("machine_drain", 60, 1_200),
        ("freeze_check", 10, 60),
        ("freeze_after", 10, 60),
        ("machine_create", 10, 200),
        ("machine_delete", 5, 120),
        ("provision", 120, 1_200),
        ("backoff_initial", 30, 300),
        ("shoot_care_period", 10, 120),
        ("stale_pods_after", 60, 400),
        ("outage_threshold", 60, 400),
    ];
    for (name, least, most) in spans {
        if dice.percent(12) {
            timers[name] = json!(format!("{}s", dice.between(least, most)));
        }
    }
    if dice.percent(15) {
        merge(&mut timers, json!({"lease_duration": "60s", "renew_deadline": "40s", "retry_period": "10s"}));
    }
    if dice.percent(15) {
        timers["eviction_rate"] = json!(dice.pick(&["1/s", "0.5/s", "3/min"]));
    }
    if dice.percent(10) {
        timers["requeue_at_next_check"] = json!(true);
    }
    timers
}
