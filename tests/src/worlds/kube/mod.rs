//! Random Kubernetes scenarios: one or two seeds, one to seven shoots, sometimes a cluster without Gardener, and what happens to them.
//!
//! ```text
//! number -> dice -> Plan (names, zones, tolerances) -> seeds | shoots | load | faults, operations -> scenario file
//! ```
//!
//! The [`Plan`] is drawn first. All other parts take their names from it, so that every file is valid.

mod api_access;
mod breaks;
mod clusters;
mod load;
mod seeds;
mod shoots;

use serde_json::{Value, json};

use super::cards;
use super::dice::{Dice, ms};
use super::schedules::{World, costs, merge, network};

/// One minute in milliseconds, the unit of all times here.
const MINUTE: u64 = 60_000;

/// Zones of the first region, without [`PARENT`].
const ZONES: [&str; 3] = ["za", "zb", "zc"];
/// The zone of the first region that holds nothing but control planes of seeds.
const PARENT: &str = "parent";
/// Zones of the second region.
const FAR: [&str; 3] = ["ya", "yb", "yc"];
/// Members of the etcd cluster outside of control planes.
const PLAIN_MEMBERS: u64 = 3;

/// The names and shapes that all parts of a world share.
struct Plan {
    /// Simulated time in milliseconds.
    length: u64,
    seeds: Vec<Seed>,
    shoots: Vec<Shoot>,
    /// Whether there is an etcd cluster outside of control planes, called `plain`.
    plain: bool,
    /// Members that are added to `plain` or removed from it.
    transient: Vec<String>,
}

/// A seed.
struct Seed {
    name: String,
    zones: Vec<&'static str>,
    /// Whether its control plane is in [`PARENT`], else in its own zones.
    hosted: bool,
    /// Hosts of its control plane.
    replicas: u64,
    /// Nodes of its pool `cpu` in each zone at the start.
    per_zone: u64,
    /// The names of these nodes; empty if the file does not list them.
    nodes: Vec<String>,
    /// Whether it has a pool `spare`, with a taint.
    spare: bool,
    /// Whether its machines are of the type `worker`, whose stock in the cloud is limited.
    typed: bool,
}

/// Shoots that are alike.
struct Shoot {
    name: String,
    count: u64,
    /// An index into the seeds; `None`: Gardener's scheduler chooses.
    seed: Option<usize>,
    tolerance: &'static str,
    recovery: &'static str,
    /// Whether its etcd clusters are active-passive.
    pair: bool,
    /// Whether it has only the components that the file lists.
    small: bool,
    /// Whether its API has load (`use`).
    used: bool,
}

/// The world with this number, as a scenario file.
pub fn world(number: u64) -> Value {
    let mut dice = Dice::new("kube", number);
    let mut plan = Plan::new(&mut dice);
    let plain = if plan.plain { plan.plain_world(&mut dice) } else { json!({}) };
    let mut file = json!({
        "name": format!("kube-{number}"),
        "seed": dice.below(1 << 32),
        "duration": ms(plan.length),
        "topology": plan.topology(),
        "seeds": plan.seeds.iter().map(|seed| seeds::file(seed, &mut dice)).collect::<Vec<_>>(),
        "shoots": plan.shoots.iter().map(|shoot| shoots::file(shoot, &mut dice)).collect::<Vec<_>>(),
        "faults": plan.faults(&mut dice),
    });
    if dice.percent(30) {
        file["network"] = network(&mut dice);
    }
    merge(&mut file, plan.load(&mut dice));
    let mut operations = plan.operations(&mut dice);
    if let Value::Object(mut plain) = plain {
        let of_members = plain.remove("operations");
        operations.extend(of_members.iter().filter_map(Value::as_array).flatten().cloned());
        merge(&mut file, Value::Object(plain));
    }
    file["operations"] = json!(operations);
    if dice.percent(10) {
        file["random_faults"] = plan.random_faults(&mut dice);
    }
    if dice.percent(20) {
        file["observe_at"] = json!([ms(dice.below(plan.length)), ms(plan.length)]);
    }
    clusters::add(&mut file, number, plan.length);
    cards::add(&mut file, number);
    space(&mut file, plan.length, &mut Dice::new("space", number));
    api_access::add(&mut file, number, plan.length);
    file
}

/// The cluster without Gardener of the world with this number, alone, if it has a load balancer.
pub fn world_with_api_access(number: u64) -> Option<Value> {
    api_access::alone(world(number))
}

/// Shoots whose databases may be full soon, and work on that of a seed.
fn space(file: &mut Value, length: u64, dice: &mut Dice) {
    for shoot in file["shoots"].as_array_mut().into_iter().flatten() {
        if dice.percent(15) {
            shoot["etcd"]["options"]["quota_backend_bytes"] = json!(format!("{}KiB", (64 << 10) + dice.between(1, 4_000)));
        }
    }
    if dice.percent(40) {
        let etcd = format!("{}/etcd", file["seeds"][0]["name"].as_str().expect("a seed has a name"));
        let work = super::space::operations(&etcd, &["etcd-0".to_owned()], length, None, dice);
        file["operations"].as_array_mut().into_iter().for_each(|all| all.extend(work.clone()));
    }
}

impl Plan {
    fn new(dice: &mut Dice) -> Self {
        let minutes = if dice.percent(65) { dice.between(20, 60) } else { dice.between(60, 180) };
        let seeds = if dice.percent(35) { 2 } else { 1 };
        let mut seeds: Vec<Seed> = (0..seeds).map(|k| Seed::new(k, dice)).collect();
        let mut shoots: Vec<Shoot> = Vec::new();
        // Few more often than many.
        let count = dice.between(1, 3) * dice.between(1, 2);
        while shoots.iter().map(|shoot| shoot.count).sum::<u64>() < count {
            let shoot = Shoot::new(shoots.len(), &seeds, dice);
            // With failure tolerance `node`, three members of etcd need three nodes in one zone.
            for seed in seeds.iter_mut().enumerate().filter(|(k, _)| shoot.seed.is_none_or(|own| own == *k)) {
                let (_, seed) = seed;
                seed.per_zone = if shoot.tolerance == "node" { 3 } else { seed.per_zone };
            }
            shoots.push(shoot);
        }
        for seed in &mut seeds {
            seed.name_nodes(dice);
        }
        Self { length: minutes * MINUTE + dice.below(MINUTE), seeds, shoots, plain: dice.percent(12), transient: Vec::new() }
    }

    /// Regions with their zones, and the nodes of `plain`.
    fn topology(&self) -> Value {
        let near: Vec<&str> = ZONES.into_iter().chain([PARENT]).collect();
        let mut regions = vec![json!({"name": "r0", "zones": near})];
        if self.zones().iter().any(|zone| FAR.contains(zone)) {
            regions.push(json!({"name": "r1", "zones": FAR}));
        }
        let nodes = if self.plain { PLAIN_MEMBERS } else { 0 };
        let node = |k: u64| json!({"name": format!("n{k}"), "zone": ZONES[k as usize]});
        json!({"regions": regions, "nodes": (0..nodes).map(node).collect::<Vec<_>>()})
    }

    /// Zones that are in use.
    fn zones(&self) -> Vec<&'static str> {
        let mut zones = vec![PARENT];
        for zone in ZONES.into_iter().chain(FAR) {
            let near = self.plain && ZONES.contains(&zone);
            if near || self.seeds.iter().any(|seed| seed.zones.contains(&zone)) {
                zones.push(zone);
            }
        }
        zones
    }

    /// The shoots whose seed the file names: each name with its entry.
    fn hosted(&self) -> Vec<(String, &Shoot)> {
        let known = self.shoots.iter().filter(|shoot| shoot.seed.is_some());
        known.flat_map(|shoot| shoot.names().into_iter().map(move |name| (name, shoot))).collect()
    }

    /// The cluster `plain`, and changes of its members.
    fn plain_world(&mut self, dice: &mut Dice) -> Value {
        let world = World { members: PLAIN_MEMBERS, zones: 3, nodes: PLAIN_MEMBERS, active: self.length, longest: self.length };
        let (mut operations, transient) = world.operations(dice);
        for operation in operations.as_array_mut().into_iter().flatten() {
            operation["etcd"] = json!("plain");
        }
        self.transient = transient;
        let member = |k: u64| json!({"name": format!("m{k}"), "node": format!("n{k}")});
        json!({
            "etcd": [{
                "name": "plain", "members": (0..PLAIN_MEMBERS).map(member).collect::<Vec<_>>(),
                "options": costs(dice), "disk": {"fsync": dice.latency(1_000)},
            }],
            "operations": operations,
        })
    }
}

impl Seed {
    fn new(k: u64, dice: &mut Dice) -> Self {
        let near = k == 0 || dice.percent(60);
        let all = if near { ZONES } else { FAR };
        let zones = match dice.below(10) {
            0 | 1 => vec![all[k as usize]],
            2 => all[..2].to_vec(),
            _ => all.to_vec(),
        };
        let replicas = if dice.percent(85) { 3 } else { 1 };
        let (hosted, per_zone) = (near && dice.percent(60), dice.between(1, 3));
        Self {
            name: format!("s{k}"),
            zones,
            hosted,
            replicas,
            per_zone,
            nodes: Vec::new(),
            spare: dice.percent(20),
            typed: dice.percent(40),
        }
    }

    fn name_nodes(&mut self, dice: &mut Dice) {
        if dice.percent(75) {
            let name = |zone: &&str| (1..=self.per_zone).map(|k| format!("{}-{zone}{k}", self.name)).collect::<Vec<_>>();
            self.nodes = self.zones.iter().flat_map(name).collect();
        }
    }
}

impl Shoot {
    fn new(k: usize, seeds: &[Seed], dice: &mut Dice) -> Self {
        let seed = dice.below(seeds.len() as u64) as usize;
        // Failure tolerance `zone` needs a seed of three zones, or of two for a pair.
        let zones = seeds[seed].zones.len();
        let tolerance = dice.pick(match zones {
            1 => &["none", "node", "node"],
            2 => &["none", "node", "zone"],
            _ => &["none", "node", "zone", "zone", "zone"],
        });
        let pair = tolerance != "none" && (dice.percent(25) || (tolerance == "zone" && zones == 2));
        let used = dice.percent(60);
        let recovery =
            dice.pick(if pair { &["wait", "redundant", "preferred"] } else { &["wait", "redundant", "preferred", "move"] });
        Self {
            name: ["a", "b", "c", "d", "e", "f"][k].to_owned(),
            count: if dice.percent(15) { 2 } else { 1 },
            seed: Some(seed).filter(|_| dice.percent(90)),
            tolerance,
            recovery,
            pair,
            small: dice.percent(35),
            used,
        }
    }

    /// The names of the shoots of this entry.
    fn names(&self) -> Vec<String> {
        let several = || (1..=self.count).map(|k| format!("{}-{k}", self.name)).collect();
        if self.count == 1 { vec![self.name.clone()] } else { several() }
    }

    /// Components that exist in any case and can be rolled out.
    fn components(&self) -> &'static [&'static str] {
        const SMALL: [&str; 4] = ["etcd-main", "kube-apiserver", "kube-controller-manager", "kube-scheduler"];
        const ALL: [&str; 9] = [
            "etcd-main",
            "kube-apiserver",
            "kube-controller-manager",
            "kube-scheduler",
            "etcd-events",
            "gardener-resource-manager",
            "machine-controller-manager",
            "prometheus",
            "vpn-seed-server",
        ];
        if self.small { &SMALL } else { &ALL }
    }
}
