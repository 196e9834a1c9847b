//! Faults of random schedules of etcd: which kinds a schedule has, what they hit, and how they follow each other.
//!
//! Each schedule leaves some kinds of fault out, and has its own habits: how often a fault hits the leader, how often it begins while the
//! one before is not over, how often members change under a partition. What needs two faults of one kind at once, or the same thing hit
//! three times, is rare where everything happens everywhere (Groce et al., "Swarm Testing", ISSTA 2012).

use serde_json::{Value, json};

use super::dice::{Dice, ms};
use super::schedules::{World, millis, with};

/// A kind of fault, with its share.
const KINDS: [(Kind, u64); 10] = [
    (Kind::NodeCrash, 3),
    (Kind::ProcessKill, 3),
    (Kind::GracefulStop, 2),
    (Kind::ProcessPause, 2),
    (Kind::ZonePower, 1),
    (Kind::ZonePartition, 2),
    (Kind::NodePartition, 3),
    (Kind::Link, 2),
    (Kind::DiskSlow, 2),
    (Kind::VolumeLost, 1),
];

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Kind {
    NodeCrash,
    ProcessKill,
    GracefulStop,
    ProcessPause,
    ZonePower,
    ZonePartition,
    NodePartition,
    Link,
    DiskSlow,
    VolumeLost,
}

/// The fields that say what a fault hits.
const TARGETS: [&str; 5] = ["member", "node", "volume", "zone", "between"];

/// Habits of one schedule.
struct Habits {
    kinds: Vec<(Kind, u64)>,
    /// How many of a hundred targets are the leader's.
    leaders: u64,
    /// How many of a hundred faults begin before the one before is over.
    overlap: u64,
}

impl Habits {
    fn draw(dice: &mut Dice) -> Self {
        let kinds = dice.swarm(&KINDS);
        let [leaders, overlap] = [[10, 40, 80], [10, 40, 80]].map(|habits| habits[dice.below(3) as usize]);
        Self { kinds, leaders, overlap }
    }

    /// A thing by name, or that of the leader.
    fn aim(&self, dice: &mut Dice, prefix: &str, count: u64) -> Value {
        if dice.percent(self.leaders) { json!({"leader_of": "etcd"}) } else { json!(format!("{prefix}{}", dice.below(count))) }
    }
}

impl World {
    /// Faults, some of which overlap; `operations` change the membership, and `transient` are members that come or go by them.
    pub fn faults(&self, operations: &Value, transient: &[String], dice: &mut Dice) -> Value {
        let habits = Habits::draw(dice);
        let mut faults: Vec<(Kind, Value)> = Vec::new();
        for _ in 0..dice.between(1, 8) {
            let next = match faults.last() {
                Some(last) if dice.percent(habits.overlap) => self.overlapping(last, &habits, transient, dice),
                _ => {
                    let (at, kind) = (dice.below(self.active - 100), dice.weighted(&habits.kinds));
                    (kind, self.lasting(at, self.longest, self.fault(kind, &habits, transient, dice), dice))
                }
            };
            faults.push(next);
        }
        let mut faults: Vec<Value> = faults.into_iter().map(|(_, fault)| fault).collect();
        if let Some(change) = operations.get(0)
            && dice.percent(50)
        {
            faults.push(self.partition_around(millis(&change["at"]), dice));
        }
        json!(faults)
    }

    /// A fault that begins while `last` is not over, or on its heels; often of the same kind, and then often on the same thing.
    fn overlapping(
        &self,
        (last_kind, last): &(Kind, Value),
        habits: &Habits,
        transient: &[String],
        dice: &mut Dice,
    ) -> (Kind, Value) {
        // What happens depends most on what happened just before.
        let (within, longest) = if dice.percent(50) { (2_000, 3_000) } else { (millis(&last["for"]) + 500, self.longest) };
        let at = (millis(&last["at"]) + dice.below(within)).min(self.active - 100);
        let kind = if dice.percent(40) { *last_kind } else { dice.weighted(&habits.kinds) };
        let mut fault = self.fault(kind, habits, transient, dice);
        if kind == *last_kind && dice.percent(50) {
            for target in TARGETS.into_iter().filter(|target| last.get(target).is_some()) {
                fault[target] = last[target].clone();
            }
        }
        (kind, self.lasting(at, longest, fault, dice))
    }

    /// A node is cut off before a change of membership, and hears of it later.
    fn partition_around(&self, change: u64, dice: &mut Dice) -> Value {
        let at = change.saturating_sub(dice.below(5_000)).min(self.active - 100);
        let lasts = (change.saturating_sub(at) + dice.ms(20, self.longest)).min(self.active - at);
        let node = format!("n{}", dice.below(self.nodes));
        json!({"at": ms(at), "for": ms(lasts), "kind": "node_partition", "node": node, "direction": "both"})
    }

    /// The fault from a moment on, for some time, `longest` at most. A lost volume may be lost for good.
    fn lasting(&self, at: u64, longest: u64, fault: Value, dice: &mut Dice) -> Value {
        let lasts = dice.ms(20, longest.min(self.longest).max(20)).min(self.active - at);
        let for_good = fault["kind"] == "volume_lost" && dice.percent(50);
        with(if for_good { json!({"at": ms(at)}) } else { json!({"at": ms(at), "for": ms(lasts)}) }, fault)
    }

    fn fault(&self, kind: Kind, habits: &Habits, transient: &[String], dice: &mut Dice) -> Value {
        let direction = dice.pick(&["in", "out", "both"]);
        match kind {
            Kind::NodeCrash => json!({"kind": "node_crash", "node": habits.aim(dice, "n", self.nodes)}),
            Kind::ProcessKill => json!({"kind": "process_kill", "member": self.process(habits, transient, dice)}),
            Kind::GracefulStop => json!({"kind": "graceful_stop", "member": self.process(habits, transient, dice)}),
            Kind::ProcessPause => json!({"kind": "process_pause", "member": self.process(habits, transient, dice)}),
            Kind::ZonePower => json!({"kind": "zone_power", "zone": habits.aim(dice, "z", self.zones)}),
            Kind::ZonePartition => {
                json!({"kind": "zone_partition", "zone": habits.aim(dice, "z", self.zones), "direction": direction})
            }
            Kind::NodePartition => {
                json!({"kind": "node_partition", "node": habits.aim(dice, "n", self.nodes), "direction": direction})
            }
            Kind::Link => link([0, 1].map(|_| format!("z{}", dice.below(self.zones))), dice),
            Kind::DiskSlow => {
                let (add, factor) = (ms(dice.ms(1, 3_000)), dice.between(1, 10));
                json!({"kind": "disk_slow", "volume": self.volume(habits, transient, dice), "add": add, "factor": factor})
            }
            Kind::VolumeLost => json!({"kind": "volume_lost", "volume": self.volume(habits, transient, dice)}),
        }
    }

    /// A process is named only while its member is in the cluster.
    fn process(&self, habits: &Habits, transient: &[String], dice: &mut Dice) -> Value {
        let member = habits.aim(dice, "m", self.members);
        let comes_or_goes = transient.iter().any(|name| member == *name);
        if comes_or_goes { json!({"leader_of": "etcd"}) } else { member }
    }

    fn volume(&self, habits: &Habits, transient: &[String], dice: &mut Dice) -> Value {
        if !transient.is_empty() && dice.percent(30) {
            return json!(transient[dice.below(transient.len() as u64) as usize]);
        }
        habits.aim(dice, "m", self.members)
    }
}

/// Between two zones, which may be the same, nothing gets through, or little.
pub fn link(between: [impl serde::Serialize; 2], dice: &mut Dice) -> Value {
    let between = json!(between);
    match (dice.between(0, 30), ms(dice.ms(1, 2_000))) {
        (25.., _) => json!({"kind": "link_partition", "between": between}),
        (24, delay) => json!({"kind": "link_degraded", "between": between, "delay": delay, "loss": 1}),
        (loss, delay) => json!({"kind": "link_degraded", "between": between, "delay": delay, "loss": loss as f64 / 100.0}),
    }
}
