//! Random schedules of the fuzz tests: a cluster of three or five members, some load, and all that can go wrong ([`super::faults`]).
//!
//! ```text
//!  0 ........ faults and operations ........ calm ..... the last client puts ... end
//! ```
//!
//! Every fault but a lost volume is over when the calm begins: then the cluster must work again, if a majority kept its disks.

use serde_json::{Value, json};

use super::cards;
use super::dice::{Dice, ms};

/// Milliseconds without faults at the end.
pub const CALM: u64 = 20_000;
/// The client that must be served in the end.
pub const LAST: &str = "last";
/// Milliseconds from its start to the end.
const LAST_PUTS: u64 = 5_000;

/// The schedule with this number, as a scenario file.
pub fn schedule(number: u64) -> Value {
    let mut dice = Dice::new("fuzz", number);
    let members = 3 + number % 2 * 2;
    let zones = dice.between(1, 3);
    // One node each, or two members on one.
    let nodes = if dice.percent(10) { members - 1 } else { members };
    let active = dice.between(8_000, 25_000);
    let world = World { members, zones, nodes, active, longest: 12_000 };
    let node = |k: u64| json!({"name": format!("n{k}"), "zone": format!("z{}", k % zones)});
    let member = |k: u64| json!({"name": format!("m{k}"), "node": format!("n{}", k % nodes)});
    let (operations, transient) = world.operations(&mut dice);
    let faults = world.faults(&operations, &transient, &mut dice);
    let mut file = json!({
        "name": format!("fuzz-{number}"),
        "seed": dice.below(1 << 32),
        "duration": ms(active + CALM),
        "topology": {
            "regions": [{"name": "r", "zones": (0..zones).map(|z| format!("z{z}")).collect::<Vec<_>>()}],
            "nodes": (0..nodes).map(node).collect::<Vec<_>>(),
        },
        "network": network(&mut dice),
        "etcd": [{
            "name": "etcd",
            "members": (0..members).map(member).collect::<Vec<_>>(),
            "options": with(options(&mut dice), costs(&mut Dice::new("costs", number))),
            "disk": {"fsync": dice.latency(2_000)},
            "initial": initial(&mut dice),
        }],
        "clients": costly(world.clients(&mut dice), &mut Dice::new("processes", number)),
        "faults": faults,
        "operations": operations,
    });
    cards::add(&mut file, number);
    space(&mut file, &world, &transient, &mut Dice::new("space", number));
    file
}

/// A quota that the load may reach, where members neither come nor go; and work on databases.
fn space(file: &mut Value, world: &World, transient: &[String], dice: &mut Dice) {
    let limited = transient.is_empty() && dice.percent(40);
    if limited {
        let initial = file["etcd"][0]["initial"]["database"].as_str().and_then(|size| size.strip_suffix("kB")?.parse().ok());
        let quota = initial.unwrap_or(0).max(1_049) + dice.between(50, 1_500);
        file["etcd"][0]["options"]["quota_backend_bytes"] = json!(format!("{quota}kB"));
    }
    if limited || dice.percent(20) {
        let members: Vec<String> = (0..world.members).map(|k| format!("m{k}")).filter(|name| !transient.contains(name)).collect();
        let calm = limited.then_some(world.active + CALM - LAST_PUTS);
        let more = super::space::operations("etcd", &members, world.active, calm, dice);
        file["operations"].as_array_mut().into_iter().for_each(|all| all.extend(more.clone()));
    }
}

/// What a schedule plays in.
pub struct World {
    /// Members of the cluster, `m0` and so on.
    pub members: u64,
    /// Zones, `z0` and so on.
    pub zones: u64,
    /// Nodes, `n0` and so on.
    pub nodes: u64,
    /// Milliseconds in which things go wrong.
    pub active: u64,
    /// Longest fault, in milliseconds.
    pub longest: u64,
}

/// Delays, jitter and loss between zones.
pub fn network(dice: &mut Dice) -> Value {
    let delay = dice.ms(0, 15);
    let loss = if dice.percent(10) { 0.01 } else { 0.0 };
    json!({
        "same_zone": {"delay": "100us", "jitter": dice.latency(20)},
        "cross_zone": {"delay": ms(delay), "jitter": dice.latency(200), "loss": loss},
        "tls": dice.percent(50),
    })
}

/// Timers and limits of etcd.
pub fn options(dice: &mut Dice) -> Value {
    let heartbeat = dice.between(40, 200);
    let mut options = json!({
        "heartbeat_interval": ms(heartbeat),
        "election_timeout": ms(heartbeat * dice.between(5, 10)),
        "pre_vote": dice.percent(50),
        "check_quorum": dice.percent(85),
        "snapshot_count": dice.between(5, 60),
        "catch_up_entries": dice.between(1, 20),
        "max_inflight": dice.between(1, 8),
        "start_up": ms(dice.ms(0, 1_000)),
        "strict_reconfig_check": dice.percent(50),
        "max_learners": 2,
    });
    if dice.percent(25) {
        options["tick"] = json!(ms(dice.between(1, heartbeat)));
    }
    if dice.percent(25) {
        // One entry in each append: more of them under way, or the load is more than a slow path carries.
        options["max_append_bytes"] = json!("1500B");
        options["max_inflight"] = json!(64);
    }
    options
}

/// What requests and the database cost, in some worlds.
pub fn costs(dice: &mut Dice) -> Value {
    let mut costs = json!({});
    if dice.percent(30) {
        costs["cost"] = json!({
            "cores": dice.between(1, 3), "per_request": format!("{}us", dice.below(3_000)), "per_mib": ms(dice.below(500)),
            "per_mib_read": ms(dice.below(500)), "per_key": format!("{}us", dice.below(50)), "write": ms(dice.below(10)),
        });
    }
    if dice.percent(30) {
        costs["backend"] = json!({"interval": ms(dice.ms(1, 500)), "limit": dice.between(1, 30), "syncs": dice.below(4)});
    }
    if dice.percent(10) {
        costs["answers_before_sync"] = json!(true);
    }
    costs
}

/// What requests cost a client, in some worlds.
pub fn process(dice: &mut Dice) -> Value {
    if !dice.percent(20) {
        return json!({});
    }
    let [per_request, rpc_overhead] = [0, 1].map(|_| format!("{}us", dice.below(5_000)));
    json!({"process": {"per_request": per_request, "per_mib": ms(dice.below(100)), "rpc_overhead": rpc_overhead}})
}

fn initial(dice: &mut Dice) -> Value {
    let mut initial = json!({"revision": dice.between(1, 100), "database": format!("{}kB", dice.between(1, 30_000))});
    if dice.percent(20) {
        initial["leader"] = json!("none");
    }
    initial
}

impl World {
    fn clients(&self, dice: &mut Dice) -> Value {
        let end = self.active + CALM;
        let mut clients = vec![json!({
            "name": LAST, "zone": "z0", "op": "put", "value": "100B", "rate": "2/s", "timeout": "2s", "start": ms(end - LAST_PUTS),
        })];
        for k in 0..dice.between(1, 3) {
            let op = match dice.below(6) {
                0 => json!({"op": "range", "consistency": dice.pick(&["linearizable", "serializable"])}),
                1 => json!({"op": "delete", "keys": 3}),
                2 => json!({"op": "watch"}),
                _ => json!({"op": "put", "value": format!("{}B", dice.between(1, 4_000))}),
            };
            let target = match dice.below(5) {
                0 => format!("m{}", dice.below(self.members)),
                1 => "follower".to_owned(),
                2 => "nearest".to_owned(),
                3 => "leader".to_owned(),
                _ => "all".to_owned(),
            };
            let mut client = json!({
                "name": format!("c{k}"), "zone": format!("z{}", dice.below(self.zones)), "target": target,
                "timeout": ms(dice.between(200, 5_000)), "retries": dice.below(3),
            });
            if op["op"] != "watch" {
                client["rate"] = json!(format!("{}/s", dice.between(1, 12)));
                client["arrivals"] = json!(dice.pick(&["even", "poisson"]));
            }
            merge(&mut client, op);
            clients.push(client);
        }
        json!(clients)
    }

    /// Changes of membership, sensible and not; and the names of members that come or go.
    pub fn operations(&self, dice: &mut Dice) -> (Value, Vec<String>) {
        if dice.percent(60) {
            return (json!([]), Vec::new());
        }
        let mut operations = Vec::new();
        let mut present: Vec<String> = (0..self.members).map(|k| format!("m{k}")).collect();
        let mut transient = Vec::new();
        let mut at = dice.below(self.active / 2);
        for k in 0..dice.between(1, 5) {
            let full = operations.len() as u64 + self.members >= 9;
            if (full || dice.percent(50)) && present.len() > 2 {
                let name = present.swap_remove(dice.below(present.len() as u64) as usize);
                operations.push(json!({"at": ms(at), "remove_member": name}));
                transient.push(name);
            } else if !full {
                let (name, learner) = (format!("x{k}"), dice.percent(50));
                let node = format!("n{}", dice.below(self.nodes));
                operations.push(json!({"at": ms(at), "add_member": {"name": name, "node": node, "learner": learner}}));
                if learner && dice.percent(80) {
                    at = (at + dice.below(4_000)).min(self.active - 1);
                    operations.push(json!({"at": ms(at), "promote_member": name}));
                }
                if !learner {
                    present.push(name.clone());
                }
                transient.push(name);
            }
            at = (at + dice.ms(0, 8_000)).min(self.active - 1);
        }
        (json!(operations), transient)
    }
}

/// Clients, some of which cost something.
pub fn costly(clients: Value, dice: &mut Dice) -> Value {
    let Value::Array(clients) = clients else { return clients };
    json!(clients.into_iter().map(|client| with(client, process(dice))).collect::<Vec<_>>())
}

/// Milliseconds, as [`ms`] wrote them.
pub fn millis(span: &Value) -> u64 {
    span.as_str().and_then(|span| span.strip_suffix("ms")).and_then(|number| number.parse().ok()).unwrap_or(0)
}

/// The object with more fields; those it has already are replaced.
pub fn with(mut object: Value, more: Value) -> Value {
    merge(&mut object, more);
    object
}

/// Adds fields to an object; those it has already are replaced.
pub fn merge(object: &mut Value, more: Value) {
    if let (Value::Object(object), Value::Object(more)) = (object, more) {
        object.extend(more);
    }
}
