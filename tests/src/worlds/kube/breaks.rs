//! Faults of all kinds, planned and random, and operations.

use serde_json::{Value, json};

use super::{MINUTE, Plan, Shoot};
use crate::worlds::dice::{Dice, ms};
use crate::worlds::faults::link;
use crate::worlds::schedules::{merge, millis};

/// A kind of fault, with its share.
const KINDS: [(Kind, u64); 12] = [
    (Kind::ZonePower, 5),
    (Kind::ZonePartition, 4),
    (Kind::NodeCrash, 3),
    (Kind::NodePartition, 2),
    (Kind::ProcessKill, 2),
    (Kind::GracefulStop, 1),
    (Kind::ProcessPause, 1),
    (Kind::VolumeLost, 2),
    (Kind::DiskSlow, 1),
    (Kind::Link, 2),
    (Kind::StorageDegraded, 1),
    (Kind::CloudApi, 3),
];

#[derive(Clone, Copy, Debug)]
enum Kind {
    ZonePower,
    ZonePartition,
    NodeCrash,
    NodePartition,
    ProcessKill,
    GracefulStop,
    ProcessPause,
    VolumeLost,
    DiskSlow,
    Link,
    StorageDegraded,
    CloudApi,
}

impl Plan {
    /// Planned faults: most worlds have some, of some of the kinds. In some worlds most begin while the one before is not over, or shortly
    /// after.
    pub(super) fn faults(&self, dice: &mut Dice) -> Value {
        let count = if dice.percent(12) { 0 } else { dice.between(1, 5) };
        let (kinds, overlap) = (dice.swarm(&KINDS), [10, 25, 70][dice.below(3) as usize]);
        let mut faults: Vec<Value> = Vec::new();
        for _ in 0..count {
            let mut at = dice.between(MINUTE, self.length - MINUTE);
            if let Some(last) = faults.last().filter(|_| dice.percent(overlap)) {
                at = (millis(&last["at"]) + dice.below(millis(&last["for"]).max(90_000))).min(self.length - MINUTE);
            }
            let (fault, for_good) = self.fault(dice.weighted(&kinds), dice);
            let lasts = if dice.percent(50) { dice.between(500, 90_000) } else { dice.between(MINUTE, 40 * MINUTE) };
            let mut when = json!({"at": ms(at)});
            if !for_good {
                when["for"] = json!(ms(lasts));
            }
            merge(&mut when, fault);
            faults.push(when);
        }
        json!(faults)
    }

    /// A fault, and whether it lasts until the end of the run.
    fn fault(&self, kind: Kind, dice: &mut Dice) -> (Value, bool) {
        let zones = self.zones();
        let zone = dice.pick(&zones);
        let direction = dice.pick(&["both", "both", "in", "out"]);
        let for_good = dice.percent(8);
        let fault = match kind {
            Kind::ZonePower => json!({"kind": "zone_power", "zone": zone}),
            Kind::ZonePartition => json!({"kind": "zone_partition", "zone": zone, "direction": direction}),
            Kind::NodeCrash => json!({"kind": "node_crash", "node": self.node(dice)}),
            Kind::NodePartition => json!({"kind": "node_partition", "node": self.node(dice), "direction": direction}),
            Kind::ProcessKill => json!({"kind": "process_kill", "member": self.member(dice)}),
            Kind::GracefulStop => json!({"kind": "graceful_stop", "member": self.member(dice)}),
            Kind::ProcessPause => json!({"kind": "process_pause", "member": self.member(dice)}),
            Kind::VolumeLost => {
                let (volume, claimed) = self.volume(dice);
                return (json!({"kind": "volume_lost", "volume": volume}), for_good || claimed);
            }
            Kind::DiskSlow => json!({
                "kind": "disk_slow", "volume": self.volume(dice).0, "add": ms(dice.ms(1, 3_000)), "factor": dice.between(1, 10),
            }),
            Kind::Link => link([zone, dice.pick(&zones)], dice),
            Kind::StorageDegraded => {
                json!({"kind": "storage_degraded", "zone": self.storage_zone(dice), "add": ms(dice.ms(1, 2_000))})
            }
            Kind::CloudApi => cloud_api(&zones, dice),
        };
        (fault, for_good)
    }

    /// A node by its name, or the node of an etcd leader.
    fn node(&self, dice: &mut Dice) -> Value {
        let seed = &self.seeds[dice.below(self.seeds.len() as u64) as usize];
        match dice.below(4) {
            0 => json!({"leader_of": self.cluster(dice)}),
            1 => json!(format!("{}-control-plane-{}", seed.name, dice.below(seed.replicas))),
            _ if seed.nodes.is_empty() => json!({"leader_of": self.cluster(dice)}),
            _ => json!(seed.nodes[dice.below(seed.nodes.len() as u64) as usize]),
        }
    }

    /// The name of an etcd cluster.
    fn cluster(&self, dice: &mut Dice) -> String {
        let mut all: Vec<String> = self.seeds.iter().map(|seed| format!("{}/etcd", seed.name)).collect();
        all.extend(self.hosted().into_iter().map(|(name, _)| format!("shoot--garden--{name}/etcd-main")));
        all.extend(self.plain.then(|| "plain".to_owned()));
        all.swap_remove(dice.below(all.len() as u64) as usize)
    }

    /// A member of an etcd cluster: the leader, or a member that is never removed.
    fn member(&self, dice: &mut Dice) -> Value {
        let cluster = self.cluster(dice);
        if dice.percent(50) {
            return json!({"leader_of": cluster});
        }
        let name = match cluster.rsplit_once('/') {
            Some((_, set)) => format!("{set}-0"),
            None => match (0..).map(|k| format!("m{k}")).take(3).find(|name| !self.transient.contains(name)) {
                Some(name) => name,
                None => return json!({"leader_of": cluster}),
            },
        };
        json!(format!("{cluster}/{name}"))
    }

    /// A volume, and whether it is claimed by a pod: such a volume stays lost.
    fn volume(&self, dice: &mut Dice) -> (Value, bool) {
        let hosted = self.hosted();
        if hosted.is_empty() || dice.percent(30) {
            let seed = &self.seeds[dice.below(self.seeds.len() as u64) as usize];
            return (json!({"leader_of": format!("{}/etcd", seed.name)}), false);
        }
        let (name, shoot) = &hosted[dice.below(hosted.len() as u64) as usize];
        let cluster = format!("shoot--garden--{name}/etcd-main");
        let volume = if dice.percent(50) { json!(format!("{cluster}-0")) } else { json!({"leader_of": cluster}) };
        (volume, !shoot.pair)
    }

    /// A zone with volumes: there are some wherever a seed's own etcd runs.
    fn storage_zone(&self, dice: &mut Dice) -> &'static str {
        let seed = &self.seeds[dice.below(self.seeds.len() as u64) as usize];
        if seed.hosted {
            return super::PARENT;
        }
        seed.zones[dice.below(seed.replicas.min(seed.zones.len() as u64)) as usize]
    }

    /// Nodes or zones that fail at random times.
    pub(super) fn random_faults(&self, dice: &mut Dice) -> Value {
        let nodes: Vec<&String> = self.seeds.iter().flat_map(|seed| &seed.nodes).collect();
        let (every, repair) = (ms(dice.between(30, 200) * MINUTE), json!({"lognormal": {"median": "5m", "sigma": 1.0}}));
        let mut faults = json!({"every": {"exponential": every}, "repair": repair});
        if nodes.is_empty() || dice.percent(20) {
            faults["zones"] = json!([dice.pick(&self.zones())]);
        } else {
            faults["nodes"] = json!(nodes);
        }
        json!([faults])
    }

    /// Operations: changes of failure tolerance, migrations, drains and roll-outs.
    pub(super) fn operations(&self, dice: &mut Dice) -> Vec<Value> {
        let count = if dice.percent(35) { 0 } else { dice.between(1, 5) };
        // The number of members that a shoot's etcd may have over time is limited, and each migration adds some.
        let mut migrations = 0;
        let mut operations = Vec::new();
        for _ in 0..count {
            let asked = self.operation(dice, migrations < 2);
            migrations += u64::from(asked.get("migrate_shoot").is_some());
            let mut operation = json!({"at": ms(dice.between(MINUTE, self.length - MINUTE))});
            merge(&mut operation, asked);
            operations.push(operation);
        }
        operations
    }

    fn operation(&self, dice: &mut Dice, migrates: bool) -> Value {
        let seed = &self.seeds[dice.below(self.seeds.len() as u64) as usize];
        let hosted = self.hosted();
        // Scenarios with changes of active-passive control planes are refused.
        let quorums: Vec<&(String, &Shoot)> = hosted.iter().filter(|(_, shoot)| !shoot.pair).collect();
        match dice.below(10) {
            0 | 1 if !quorums.is_empty() => {
                let (name, shoot) = quorums[dice.below(quorums.len() as u64) as usize];
                // Some of these are denied when they are asked for: that is a record, too.
                let to =
                    if shoot.tolerance == "none" { dice.pick(&["node", "zone"]) } else { dice.pick(&["none", "node", "zone"]) };
                json!({"set_failure_tolerance": {"shoot": name, "to": to}})
            }
            2..5 if migrates && !quorums.is_empty() && self.seeds.len() > 1 => {
                let (name, shoot) = quorums[dice.below(quorums.len() as u64) as usize];
                let elsewhere = dice.percent(85);
                let to = shoot.seed.map_or(0, |seed| if elsewhere { 1 - seed } else { seed });
                json!({"migrate_shoot": {"shoot": name, "seed": self.seeds[to].name}})
            }
            5 if !seed.nodes.is_empty() => {
                let node = &seed.nodes[dice.below(seed.nodes.len() as u64) as usize];
                json!({"drain_node": {"seed": seed.name, "node": node}})
            }
            6 => json!({"roll_pool": {"seed": seed.name, "pool": "cpu"}}),
            7 => {
                let component = dice.pick(&["etcd-druid", "gardenlet", "istiod", "istio-ingressgateway"]);
                json!({"roll_component": {"seed": seed.name, "component": component}})
            }
            _ if hosted.is_empty() => json!({"roll_component": {"seed": seed.name, "component": "gardenlet"}}),
            _ => {
                let (name, shoot) = &hosted[dice.below(hosted.len() as u64) as usize];
                json!({"roll_component": {"shoot": name, "component": dice.pick(shoot.components())}})
            }
        }
    }
}

/// A cloud API that refuses some calls.
fn cloud_api(zones: &[&'static str], dice: &mut Dice) -> Value {
    let mut fault = json!({"kind": "cloud_api", "create": dice.pick(&["refused", "unavailable", "out_of_stock"])});
    for field in ["delete", "attach"] {
        if dice.percent(50) {
            fault[field] = json!(dice.pick(&["refused", "unavailable"]));
        }
    }
    if dice.percent(60) {
        fault["zone"] = json!(dice.pick(zones));
    }
    if dice.percent(30) {
        fault["error_rate"] = json!(dice.between(1, 100) as f64 / 100.0);
    }
    fault
}
