//! Ways to the API servers of a cluster without Gardener in random worlds: a load balancer, alternative services, and what breaks them.
//!
//! Its dice are its own, and all of it comes last: worlds stay what they are but for this.

use serde_json::{Value, json};

use super::MINUTE;
use crate::worlds::dice::{Dice, ms};

/// Name of the load balancer.
const NAME: &str = "lb";

/// A kind of fault, with its share.
const KINDS: [(Kind, u64); 7] = [
    (Kind::Down, 3),
    (Kind::Partition, 4),
    (Kind::TcpHealthOnly, 2),
    (Kind::StaleTargets, 2),
    (Kind::Removed, 2),
    (Kind::ApiServerKill, 4),
    (Kind::ApiServerStop, 4),
];

#[derive(Clone, Copy, Debug)]
enum Kind {
    Down,
    Partition,
    TcpHealthOnly,
    StaleTargets,
    Removed,
    ApiServerKill,
    ApiServerStop,
}

/// What faults may hit.
struct Targets {
    hosts: Vec<String>,
    /// Zones and nodes.
    places: Vec<String>,
}

/// Gives most clusters without Gardener a load balancer and clients that use it, faults of these and of API servers, and those a
/// shutdown delay.
pub(super) fn add(file: &mut Value, number: u64, length: u64) {
    let mut dice = Dice::new("ways", number);
    let Some(cluster) = file.pointer_mut("/clusters/0") else { return };
    let targets = Targets::of(cluster);
    let has_balancer = dice.percent(75);
    if has_balancer {
        cluster["api_access"] = json!({"load_balancer": NAME});
        if dice.percent(65) {
            cluster["api_access"]["alternatives"] = json!(dice.pick(&["text", "code"]));
        }
        file["load_balancers"] = json!([balancer(&targets, &mut dice)]);
    }
    let count = if dice.percent(15) { 0 } else { dice.between(1, 5) };
    let kinds = dice.swarm(&KINDS);
    let mut at = dice.between(MINUTE, length - MINUTE);
    let mut faults = Vec::new();
    for _ in 0..count {
        // Most begin while the one before lasts, or shortly after.
        at = if dice.percent(60) {
            (at + dice.below(3 * MINUTE)).min(length - MINUTE)
        } else {
            dice.between(MINUTE, length - MINUTE)
        };
        let kind = if has_balancer {
            dice.weighted(&kinds)
        } else if dice.percent(50) {
            Kind::ApiServerKill
        } else {
            Kind::ApiServerStop
        };
        let mut fault = targets.fault(kind, &mut dice);
        fault["at"] = json!(ms(at));
        if !dice.percent(6) {
            fault["for"] = json!(ms(dice.ms(500, 20 * MINUTE)));
        }
        faults.push(fault);
    }
    match &mut file["faults"] {
        Value::Array(all) => all.extend(faults),
        none => *none = json!(faults),
    }
    if dice.percent(70) {
        file["clusters"][0]["api_servers"]["shutdown_delay"] = json!(ms(dice.ms(1, 2 * MINUTE)));
    }
    if has_balancer {
        add_clients(file, number, length);
        limit_connections(file, number);
    }
}

/// Load balancers that accept fewer connections than their clients open, or as many.
fn limit_connections(file: &mut Value, number: u64) {
    let mut dice = Dice::new("connection limits", number);
    for balancer in file["load_balancers"].as_array_mut().expect("it has one") {
        if dice.percent(25) {
            balancer["connection_limit"] = json!(dice.between(1, 20));
        }
    }
}

/// Further clients, whose responses may be more than the load balancer passes on.
fn add_clients(file: &mut Value, number: u64, length: u64) {
    let mut dice = Dice::new("further clients", number);
    let advertises = file["clusters"][0]["api_access"].get("alternatives").is_some();
    let clients = (0..dice.below(3)).map(|k| {
        let kind = dice.pick(&["every_node", "control_plane", "workers"]);
        let mut client = json!({"name": format!("client-{k}"), "runs_on": kind, "rate": format!("{}/min", dice.between(1, 60))});
        let mut sometimes = |of: u64, field: &str, value: &mut dyn FnMut(&mut Dice) -> Value| {
            if dice.percent(of) {
                client[field] = value(&mut dice);
            }
        };
        sometimes(50, "timeout", &mut |dice| json!(ms(dice.ms(100, 2 * MINUTE))));
        sometimes(40, "response", &mut |dice| json!(format!("{}kB", dice.between(1, 300))));
        sometimes(40, "response_sizes", &mut |_| json!("exponential"));
        sometimes(30, "qps", &mut |dice| json!(format!("{}/min", dice.between(1, 60))));
        sometimes(30, "requests", &mut |dice| json!(dice.between(1, 200)));
        sometimes(30, "start", &mut |dice| json!(ms(dice.below(length - MINUTE))));
        sometimes(30, "alternatives", &mut |dice| {
            json!(dice.pick(if advertises {
                &["none", "text", "code", "configured"]
            } else {
                &["none", "none", "none", "configured"]
            }))
        });
        sometimes(10, "in_cluster_network", &mut |_| json!(false));
        client
    });
    file["clusters"][0]["api_clients"] = clients.collect();
    if dice.percent(30) {
        let fault = json!({
            "kind": "lb_throttled", "balancer": NAME, "bandwidth": format!("{}kB/s", dice.between(1, 300)),
            "at": ms(dice.between(MINUTE, length - MINUTE)), "for": ms(dice.ms(500, 20 * MINUTE)),
        });
        file["faults"].as_array_mut().expect("they were added before").push(fault);
    }
    if dice.percent(20) {
        let local = json!({"name": "lb-local", "profile": "haproxy"});
        file["load_balancers"].as_array_mut().expect("it has one").push(local);
        file["clusters"][0]["api_access"]["load_balancer_on_each_node"] = json!("lb-local");
        let fault = json!({
            "kind": "lb_down", "balancer": "lb-local",
            "at": ms(dice.between(MINUTE, length - MINUTE)), "for": ms(dice.ms(500, 10 * MINUTE)),
        });
        file["faults"].as_array_mut().expect("they were added before").push(fault);
    }
    let has_several = file["clusters"][0]["control_plane"]["replicas"].as_u64().is_some_and(|hosts| hosts > 1);
    if has_several && dice.percent(30) {
        let host = |k: u64| format!("{}-control-plane-{k}", text(&file["clusters"][0]["name"]));
        let fault = json!({
            "kind": "lb_wrong_target", "balancer": NAME, "target": host(0), "instead": host(1),
            "at": ms(dice.between(MINUTE, length - MINUTE)), "for": ms(dice.ms(500, 20 * MINUTE)),
        });
        file["faults"].as_array_mut().expect("they were added before").push(fault);
    }
    if dice.percent(20) {
        file["clusters"][0]["api_access"]["goaway_chance"] = json!("2%");
    }
    if dice.percent(20) {
        file["clusters"][0]["api_access"]["endpoints"] = json!(dice.pick(&["text", "code"]));
    }
    add_dialers(&mut file["clusters"][0], number);
    if advertises && dice.percent(20) {
        let host = format!("{}-control-plane-0", text(&file["clusters"][0]["name"]));
        file["clusters"][0]["api_access"]["not_advertising"] = json!([host]);
    }
}

/// Clients that read the addresses of API servers themselves, and dialers that some have already.
fn add_dialers(cluster: &mut Value, number: u64) {
    let mut dice = Dice::new("dialers", number);
    let ways = ["custom_dialer", "in_memory_dns"];
    if cluster["api_access"].get("alternatives").is_none() && dice.percent(50) {
        cluster["api_access"]["alternatives"] = json!(dice.pick(&ways));
        if dice.percent(60) {
            cluster["api_access"]["kubelet_dialer"] = json!(dice.pick(&["none", "wrapped", "exclusive"]));
        }
    }
    for client in cluster["api_clients"].as_array_mut().into_iter().flatten() {
        if dice.percent(30) {
            client["alternatives"] = json!(dice.pick(&ways));
        } else if dice.percent(20) {
            client["dialer"] = json!("exclusive");
        }
    }
}

/// The world of a number without Gardener, if it has a load balancer then: small, so that many can be simulated.
pub(super) fn alone(mut file: Value) -> Option<Value> {
    file.get("load_balancers")?;
    for list in ["seeds", "shoots", "random_faults", "cloud", "clients"] {
        file.as_object_mut().expect("a scenario is an object").remove(list);
    }
    let (cluster, topology) = (file["clusters"][0].clone(), file["topology"].clone());
    let targets = Targets::of(&cluster);
    let name = text(&cluster["name"]);
    let nodes = topology["nodes"].as_array().into_iter().flatten().map(|node| text(&node["name"]));
    let known: Vec<String> = nodes.chain(targets.places.iter().cloned()).collect();
    let is_known = |value: &Value| {
        let own = |text: &str| text == NAME || text == name || text.starts_with(&format!("{name}/")) || text == "plain";
        value.as_str().is_none_or(|text| own(text) || text.starts_with("plain/") || known.iter().any(|place| place == text))
    };
    let names = ["zone", "node", "member", "volume", "between", "balancer", "cluster", "etcd", "seed", "shoot", "leader_of"];
    // No volume is in a zone as such.
    let is_own = |fault: &Value| fault["kind"] != "storage_degraded" && all_words(fault, &names, &is_known);
    for list in ["faults", "operations"] {
        if let Some(list) = file.get_mut(list).and_then(Value::as_array_mut) {
            list.retain(is_own);
        }
    }
    Some(file)
}

/// Whether all that these fields say of a fault or an operation is fit.
fn all_words(value: &Value, fields: &[&str], is_fit: &dyn Fn(&Value) -> bool) -> bool {
    match value {
        Value::Object(object) => object.iter().all(|(field, value)| match value {
            Value::String(_) => !fields.contains(&field.as_str()) || is_fit(value),
            Value::Array(items) if fields.contains(&field.as_str()) => items.iter().all(is_fit),
            other => all_words(other, fields, is_fit),
        }),
        _ => true,
    }
}

fn text(value: &Value) -> String {
    value.as_str().expect("a name").to_owned()
}

/// A load balancer that does as its profile says, but for some of its values.
fn balancer(targets: &Targets, dice: &mut Dice) -> Value {
    let mut balancer = json!({"name": NAME, "profile": dice.pick(&["aws_nlb", "gcp_passthrough", "azure_standard", "haproxy"])});
    let mut sometimes = |of: u64, field: &str, value: &mut dyn FnMut(&mut Dice) -> Value| {
        if dice.percent(of) {
            balancer[field] = value(dice);
        }
    };
    sometimes(30, "cross_zone", &mut |dice| json!(dice.percent(50)));
    sometimes(30, "all_unhealthy", &mut |dice| json!(dice.pick(&["open", "closed"])));
    sometimes(50, "established", &mut |dice| json!(dice.pick(&["kept", "reset", "silent"])));
    sometimes(40, "loopback", &mut |dice| json!(dice.pick(&["works", "fails", "stays_on_host"])));
    sometimes(20, "hop_latency", &mut |dice| json!(ms(dice.below(20))));
    sometimes(25, "zones", &mut |dice| {
        let zones = targets.zones();
        json!(zones[..dice.between(1, zones.len() as u64) as usize])
    });
    sometimes(80, "check", &mut |dice| {
        // With a period of a second checks meet what else takes whole seconds.
        let interval = if dice.percent(50) { dice.between(1, 30) * 1_000 } else { dice.between(200, 30_000) };
        let timeout = if dice.percent(50) { interval } else { dice.between(100, interval) };
        let mut check = json!({"interval": ms(interval), "timeout": ms(timeout)});
        for field in ["rise", "fall", "first_rise"] {
            if dice.percent(70) {
                check[field] = json!(dice.between(1, 4));
            }
        }
        if dice.percent(70) {
            check["kind"] = json!(dice.pick(&["tcp", "readyz"]));
        }
        check
    });
    balancer
}

impl Targets {
    fn of(cluster: &Value) -> Self {
        let name = cluster["name"].as_str().expect("a cluster has a name");
        let replicas = cluster["control_plane"]["replicas"].as_u64().expect("it says how many hosts there are");
        let items = |list: &str| cluster[list].as_array().into_iter().flatten();
        let hosts: Vec<String> = (0..replicas).map(|k| format!("{name}-control-plane-{k}")).collect();
        let nodes = items("nodes").map(|node| text(&node["name"]));
        let places = items("zones").map(text).chain(hosts.iter().cloned()).chain(nodes).collect();
        Self { hosts, places }
    }

    fn zones(&self) -> Vec<&String> {
        self.places.iter().take_while(|place| !self.hosts.contains(place)).collect()
    }

    fn host(&self, dice: &mut Dice) -> &str {
        &self.hosts[dice.below(self.hosts.len() as u64) as usize]
    }

    fn fault(&self, kind: Kind, dice: &mut Dice) -> Value {
        match kind {
            Kind::Down => json!({"kind": "lb_down", "balancer": NAME}),
            Kind::Partition => {
                let zones = self.zones();
                let places: Vec<&String> = match dice.below(4) {
                    // From everybody.
                    0 => Vec::new(),
                    1 | 2 => zones.into_iter().filter(|_| dice.percent(60)).collect(),
                    _ => self.places[zones.len()..].iter().filter(|_| dice.percent(40)).collect(),
                };
                json!({"kind": "lb_partition", "balancer": NAME, "from": places})
            }
            Kind::TcpHealthOnly => json!({"kind": "lb_tcp_health_only", "balancer": NAME}),
            Kind::StaleTargets => json!({"kind": "lb_stale_targets", "balancer": NAME}),
            Kind::Removed => json!({"kind": "lb_removed", "balancer": NAME}),
            Kind::ApiServerKill => json!({"kind": "api_server_kill", "node": self.host(dice)}),
            Kind::ApiServerStop => json!({"kind": "api_server_stop", "node": self.host(dice)}),
        }
    }
}
