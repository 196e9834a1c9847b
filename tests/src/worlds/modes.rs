//! Random etcd scenarios for comparisons: one cluster of one to five members, sometimes a second one, busy or idle for minutes, with and
//! without faults; and active-passive clusters.

use serde_json::{Value, json};

use super::cards;
use super::dice::{Dice, ms};
use super::schedules::{World, costly, costs, merge, network, options};

/// The scenario with this number: like those of the fuzz tests, but calmer, longer and of more shapes.
pub fn scenario(number: u64) -> Value {
    made(&mut Dice::new("modes", number), number, false)
}

/// The same, of a cluster of two of which one serves.
pub fn pair(number: u64) -> Value {
    made(&mut Dice::new("pairs", number), number, true)
}

fn made(dice: &mut Dice, number: u64, passive: bool) -> Value {
    let members = if passive { 2 } else { dice.between(1, 5) };
    let zones = dice.between(1, 3);
    let nodes = dice.between(1, members);
    let active = if dice.percent(30) { dice.between(10_000, 40_000) } else { dice.between(60_000, 600_000) };
    let world = World { members, zones, nodes, active, longest: active / 3 };
    // Members of a pair come and go by its controller alone.
    let (operations, transient) = if passive { (json!([]), Vec::new()) } else { world.operations(dice) };
    let quiet = dice.percent(25);
    let mut clusters = vec![cluster(dice, "etcd", "m", members, nodes)];
    if passive {
        clusters[0]["mode"] = mode(dice);
        clusters[0]["members"].as_array_mut().into_iter().flatten().for_each(plain);
    }
    if dice.percent(30) {
        let others = dice.between(1, 3);
        clusters.push(cluster(dice, "other", "q", others, nodes));
    }
    let mut more = Dice::new("costs", number);
    for cluster in &mut clusters {
        merge(&mut cluster["options"], costs(&mut more));
        if passive {
            cluster["options"]["answers_before_sync"] = json!(false);
        }
    }
    let mut operations = if quiet { json!([]) } else { operations };
    for operation in operations.as_array_mut().into_iter().flatten() {
        operation["etcd"] = json!("etcd");
    }
    let mut file = json!({
        "name": format!("{}-{number}", if passive { "pairs" } else { "modes" }),
        "seed": dice.below(1 << 32),
        "duration": ms(active),
        "topology": {
            "regions": [{"name": "r", "zones": (0..zones).map(|z| format!("z{z}")).collect::<Vec<_>>()}],
            "nodes": (0..nodes).map(|k| json!({"name": format!("n{k}"), "zone": format!("z{}", k * k % zones)})).collect::<Vec<_>>(),
        },
        "network": network(dice),
        "clients": costly((0..dice.below(4)).map(|k| client(dice, k, &clusters, zones, active)).collect(), &mut more),
        "faults": if quiet { json!([]) } else { world.faults(&operations, &transient, dice) },
        "operations": operations,
        "etcd": clusters,
    });
    let mut more = Dice::new("space", number);
    if more.percent(40) {
        let members: Vec<String> = (0..members).map(|k| format!("m{k}")).filter(|name| !transient.contains(name)).collect();
        let work = super::space::operations("etcd", &members, active, None, &mut more);
        file["operations"].as_array_mut().into_iter().for_each(|all| all.extend(work.clone()));
        file["etcd"][0]["options"]["quota_backend_bytes"] = json!(format!("{}kB", more.between(1_049, 40_000)));
    }
    if dice.percent(20) {
        file["random_faults"] = json!([{
            "nodes": "all", "every": {"exponential": ms(active / 2)}, "repair": {"lognormal": {"median": "5s", "sigma": 1.0}},
        }]);
    }
    far(&mut file, &world, number);
    cards::add(&mut file, number);
    file
}

/// In some worlds two zones are so far apart that much changes while a message is under way. In half of them a zone was cut off for so long
/// before that streams were closed, and a member loses its disk soon after. (Draws of its own, as of the cards.)
fn far(file: &mut Value, world: &World, number: u64) {
    let mut dice = Dice::new("far", number);
    if world.zones < 2 || dice.percent(75) {
        return;
    }
    let (at, delay) = (dice.below(world.active / 2), dice.between(300, 4_000));
    let mut faults = vec![json!({"at": ms(at), "kind": "link_degraded", "between": ["z0", "z1"], "delay": ms(delay)})];
    let cut = dice.between(6_000, 20_000);
    let lost = at + cut + dice.below(4 * delay);
    if dice.percent(50) && lost < world.active {
        let (zone, member) = (format!("z{}", dice.below(2)), format!("m{}", dice.below(world.members)));
        faults.push(json!({"at": ms(at), "for": ms(cut), "kind": "zone_partition", "zone": zone}));
        faults.push(json!({"at": ms(lost), "for": ms(dice.between(20, 1_000)), "kind": "volume_lost", "volume": member}));
    }
    file["faults"].as_array_mut().into_iter().for_each(|all| all.append(&mut faults));
}

fn cluster(dice: &mut Dice, name: &str, prefix: &str, members: u64, nodes: u64) -> Value {
    let mut list: Vec<Value> =
        (0..members).map(|k| json!({"name": format!("{prefix}{k}"), "node": format!("n{}", dice.below(nodes))})).collect();
    let last = list.len() - 1;
    if last > 0 && dice.percent(25) {
        list[last]["learner"] = json!(true);
    }
    if last > 1 && dice.percent(25) {
        list[last]["behind"] = json!({"revision": dice.between(1, 90), "database": "1MB"});
    }
    let mut initial = json!({"revision": 100, "database": format!("{}kB", dice.between(1, 60_000))});
    if dice.percent(20) {
        initial["leader"] = json!("none");
    }
    json!({
        "name": name, "members": list, "initial": initial,
        "options": if dice.percent(50) { options(dice) } else { json!({"pre_vote": dice.percent(50)}) },
        "disk": {"fsync": dice.latency(1_000)},
    })
}

/// An active-passive mode.
fn mode(dice: &mut Dice) -> Value {
    let mut timers = json!({"check_period": ms(dice.between(100, 20_000)), "failures": dice.between(1, 3)});
    if dice.percent(40) {
        timers["controller_zone"] = json!("z0");
    }
    if dice.percent(40) {
        return json!({"learner": timers});
    }
    let bucket = json!({
        "delta_snapshot_period": ms(dice.between(1_000, 60_000)), "full_snapshot_period": ms(dice.between(5_000, 200_000)),
        "poll_period": ms(dice.between(500, 30_000)), "restore_bandwidth": format!("{}kB/s", dice.between(100, 50_000)),
    });
    merge(&mut timers, bucket);
    json!({"hot_standby": timers})
}

/// A member that is neither a learner nor behind: the mode says who is.
fn plain(member: &mut Value) {
    for field in ["learner", "behind"] {
        member.as_object_mut().and_then(|member| member.remove(field));
    }
}

fn client(dice: &mut Dice, k: u64, clusters: &[Value], zones: u64, active: u64) -> Value {
    let cluster = &clusters[dice.below(clusters.len() as u64) as usize];
    let mut client = json!({
        "name": format!("c{k}"), "etcd": cluster["name"], "zone": format!("z{}", dice.below(zones)),
        "target": dice.pick(&["leader", "follower", "nearest", "all"]),
        "timeout": ms(dice.between(300, 7_000)), "retries": dice.below(4),
        "start": ms(dice.below(active)),
    });
    let op = match dice.below(6) {
        0 => json!({"op": "range"}),
        1 => json!({"op": "range", "consistency": "serializable"}),
        2 => json!({"op": "delete"}),
        3 => json!({"op": "watch"}),
        _ => json!({"op": "put", "value": format!("{}B", dice.between(1, 20_000))}),
    };
    let watches = op["op"] == "watch";
    merge(&mut client, op);
    if !watches {
        let rate = dice.pick(&["2/min", "0.3/s", "1/s", "1/s", "5/s", "20/s"]);
        let arrivals = dice.pick(&["even", "poisson"]);
        merge(&mut client, json!({"rate": rate, "arrivals": arrivals}));
    }
    client
}
