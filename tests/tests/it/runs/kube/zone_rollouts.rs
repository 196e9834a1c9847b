//! Zone-aware rollouts in clusters of any shape, read record by record: zones with other numbers of pods, percentages, rollouts that
//! interrupt each other, and random faults.

use std::collections::BTreeMap;

use serde_json::{Value, json};

use super::world::{KUBE_CLUSTER, watched};
use super::zone_aware::{cluster_in, scenario};
use zonefall_core::ids::{FaultId, ZoneId};
use zonefall_core::invariant::Checker;
use zonefall_core::kernel::time::Time;
use zonefall_core::kube::name::{NodeName, PodName};
use zonefall_core::kube::record::{KubeRecord, PodFact};
use zonefall_core::kube::spec::Task;
use zonefall_core::record::Record;
use zonefall_core::rollout::record::RolloutRecord;
use zonefall_core::rollout::rule::zone_aware_update::Verdict;
use zonefall_core::scenario::{Fault, Scenario};
use zonefall_core::sim::Stepping;
use zonefall_tests::numbers;
use zonefall_tests::worlds::dice::Dice;

const ZONES: [&str; 5] = ["za", "zb", "zc", "zd", "ze"];

/// A rollout that is drawn.
struct Case {
    scenario: Scenario,
    max_unavailable: Most,
    factor: u32,
    readme: bool,
    /// No revision is bad, and nothing but rollouts happens.
    is_quiet: bool,
}

/// Pods that a step may delete.
#[derive(Clone, Copy)]
enum Most {
    Pods(u64),
    Percent(u64),
}

impl Most {
    fn draw(dice: &mut Dice) -> Self {
        if dice.percent(50) { Self::Pods(dice.between(1, 8)) } else { Self::Percent(dice.between(1, 60)) }
    }

    fn json(self) -> Value {
        match self {
            Self::Pods(pods) => json!(pods),
            Self::Percent(percent) => json!(format!("{percent}%")),
        }
    }

    /// A percentage is rounded up.
    const fn of(self, pods: u64) -> u64 {
        match self {
            Self::Pods(pods) => pods,
            Self::Percent(percent) => (pods * percent).div_ceil(100),
        }
    }
}

/// From 5 to 60 pods in 2 to 5 zones: the first zone drawn has one, another has many.
fn sizes(dice: &mut Dice) -> Vec<u64> {
    let zones = dice.between(2, 5) as usize;
    let mut sizes: Vec<u64> = (0..zones).map(|_| dice.between(1, 6)).collect();
    let one = dice.below(zones as u64) as usize;
    sizes[one] = 1;
    sizes[(one + 1) % zones] = dice.between(4, 40);
    sizes
}

fn case(number: u64) -> Case {
    let mut dice = Dice::new("zone rollouts", number);
    let sizes = sizes(&mut dice);
    let zones = &ZONES[..sizes.len()];
    let mut places: Vec<String> = Vec::new();
    for (zone, size) in zones.iter().zip(&sizes) {
        places.extend((0..*size).map(|k| format!("{zone}-{}", k % 3 + 1)));
    }
    // Ordinals in any order.
    for k in (1..places.len()).rev() {
        places.swap(k, dice.below(k as u64 + 1) as usize);
    }
    let pods: Vec<Value> =
        (0..).zip(&places).map(|(k, node): (u32, _)| json!({"name": format!("db-{k}"), "node": node})).collect();
    let is_quiet = dice.percent(40);
    let mut revision = || match dice.below(if is_quiet { 1 } else { 5 }) {
        0..=1 => json!({}),
        2 => json!({"never_ready": true}),
        3 => json!({"crashes_after": "40s"}),
        _ => json!({"error_rate": "5%"}),
    };
    let revisions = [revision(), revision()];
    let db = json!({
        "name": "db", "kind": "stateful_set", "replicas": pods.len(), "parallel": dice.percent(70), "volume": "zonal", "cpu": 0.02,
        "memory": "16MiB", "image": "1MiB", "start": format!("{}s", dice.between(2, 9)), "pods": pods, "update": {"on_delete": true},
        "revisions": revisions,
    });
    let (max_unavailable, factor, readme) = (Most::draw(&mut dice), dice.below(4) as u32, dice.percent(60));
    let update = json!({
        "workload": "db", "max_unavailable": max_unavailable.json(), "exponential_factor": factor,
        "rollback": if readme { "readme" } else { "code" },
    });
    let cluster = cluster_in(zones, 3, json!({"workloads": [db], "zone_aware_updates": [update]}));
    let at = |second: u64| format!("{second}s");
    let of_db = |second: u64, kind: &str| json!({"at": at(second), kind: {"cluster": "c", "component": "db"}});
    let next = 60 + dice.between(5, 120);
    let last = next + dice.between(1, 120);
    let kinds =
        if dice.percent(50) { ["roll_component", "roll_back_component"] } else { ["roll_back_component", "roll_component"] };
    let mut operations = vec![of_db(60, "roll_component"), of_db(next, kinds[0]), of_db(last, kinds[1])];
    let mut faults = Vec::new();
    let node = |dice: &mut Dice| format!("{}-{}", dice.pick(zones), dice.between(1, 3));
    if !is_quiet {
        let node_of = node(&mut dice);
        operations.push(json!({"at": at(60 + dice.below(200)), "drain_node": {"cluster": "c", "node": node_of}}));
        let scaled = json!({"cluster": "c", "workload": "db", "replicas": dice.between(3, 60)});
        if dice.percent(30) {
            operations.push(json!({"at": at(60 + dice.below(200)), "scale_workload": scaled}));
        }
        let kind = dice.pick(&["node_crash", "node_partition"]);
        faults.push(json!({"at": at(60 + dice.below(200)), "for": "5m", "kind": kind, "node": node(&mut dice)}));
        if dice.percent(50) {
            // Most often pods are all ready before the first rollout; later some are on their way, and a stale cache waits for them.
            let begins = *dice.pick(&[&60, &60, &next, &last]) - dice.between(1, 5);
            let lasts = at(dice.between(1, 90));
            faults.push(json!({"at": at(begins), "for": lasts, "kind": "stale_cache", "cluster": "c"}));
        }
    }
    let scenario = scenario(cluster, json!(operations), json!(faults));
    Case { scenario, max_unavailable, factor, readme, is_quiet }
}

/// A pod as records tell of it.
#[derive(Clone, Copy, Default)]
struct Pod {
    zone: Option<ZoneId>,
    revision: u32,
    created: Time,
    ready: bool,
}

/// What is known of the StatefulSet.
#[derive(Default)]
struct Watcher {
    pods: BTreeMap<PodName, Pod>,
    /// Zones of pods, also of those that are gone.
    zones: BTreeMap<PodName, ZoneId>,
    made: u32,
    current: u32,
    previous: u32,
    /// The last revision that all pods had; `None`: nobody saw whether they did, because the cache was stale.
    settled: Option<u32>,
    /// Steps with a revision, since the last rollout that ended.
    steps: (u32, u32),
    /// Pods that the step deletes next, the pods that there were at its beginning, and those that it has deleted.
    step: Option<(u16, BTreeMap<PodName, Pod>, Vec<PodName>)>,
    taken: usize,
    interrupted: usize,
    /// The fault that holds up the watch of pods, and whether one did so since the last step that was counted.
    stale: Option<FaultId>,
    was_stale: bool,
    /// Steps taken meanwhile that broke a rule.
    broken: usize,
}

impl Watcher {
    fn record(&mut self, at: Time, record: &Record, case: &Case) {
        match *record {
            Record::Kube(KUBE_CLUSTER, KubeRecord::Operation(Task::RollComponent(_))) => {
                self.made += 1;
                (self.previous, self.current) = (self.current, self.made);
            }
            Record::Kube(KUBE_CLUSTER, KubeRecord::Operation(Task::RollBackComponent(_))) => {
                (self.previous, self.current) = (self.current, self.previous);
            }
            Record::Rollout(_, RolloutRecord::Verdict(_, Verdict::Done)) => {
                (self.settled, self.steps) = (self.stale.is_none().then_some(self.current), (0, 0));
            }
            Record::FaultStarted(ref fault) if matches!(fault.fault, Fault::StaleCache(_)) => {
                (self.stale, self.was_stale) = (Some(fault.id), true);
            }
            Record::FaultEnded(id) if self.stale == Some(id) => self.stale = None,
            Record::Rollout(_, RolloutRecord::Stale { .. }) => self.broken += 1,
            Record::Rollout(_, RolloutRecord::Step { .. }) if self.stale.is_some() => {}
            Record::Rollout(_, RolloutRecord::Step { pods, step, .. }) => {
                // Steps that deleted nothing were taken with a stale cache, too.
                let known = if self.steps.0 == self.current { self.steps.1 } else { 0 };
                let before = if std::mem::take(&mut self.was_stale) { step } else { known };
                assert_eq!(step, before, "steps with revision {}", self.current);
                self.steps = (self.current, before + 1);
                let grown = if case.factor == 0 { u64::MAX } else { u64::from(case.factor).saturating_pow(step) };
                let most = case.max_unavailable.of(self.pods.len() as u64).min(grown);
                assert!(pods > 0 && u64::from(pods) <= most, "{pods} pods, {most} at most");
                self.step = Some((pods, self.pods.clone(), Vec::new()));
            }
            Record::Kube(KUBE_CLUSTER, KubeRecord::Pod(name, fact)) => self.pod(at, name, fact, case),
            _ => {}
        }
    }

    fn pod(&mut self, at: Time, name: PodName, fact: PodFact, case: &Case) {
        if let (PodFact::Terminating, Some((left, before, deleted))) = (fact, &mut self.step) {
            deleted.push(name);
            *left -= 1;
            if *left == 0 {
                let (before, deleted) = (std::mem::take(before), std::mem::take(deleted));
                self.step = None;
                self.judge(&before, &deleted, case);
            }
        }
        if fact == PodFact::Created {
            self.pods.insert(name, Pod { zone: self.zones.get(&name).copied(), created: at, ..Pod::default() });
        }
        let Some(pod) = self.pods.get_mut(&name) else { return };
        match fact {
            PodFact::Bound(NodeName::Given(node)) => {
                let node = case.scenario.kube.clusters[KUBE_CLUSTER].nodes[node].node;
                pod.zone = Some(case.scenario.nodes[node].zone);
                self.zones.extend(pod.zone.map(|zone| (name, zone)));
            }
            PodFact::Revision(number) => pod.revision = number,
            PodFact::Ready(ready) => pod.ready = ready,
            PodFact::Removed => drop(self.pods.remove(&name)),
            _ => {}
        }
    }

    /// A step is whole.
    fn judge(&mut self, before: &BTreeMap<PodName, Pod>, deleted: &[PodName], case: &Case) {
        self.taken += 1;
        let zone = before[&deleted[0]].zone;
        assert!(zone.is_some() && deleted.iter().all(|pod| before[pod].zone == zone), "one zone");
        assert!(deleted.iter().all(|pod| before[pod].revision != self.current), "never a pod of the newest revision");
        let Some(settled) = self.settled else { return };
        let is_unfinished = |pod: &&Pod| pod.revision != self.current && pod.revision != settled;
        let latest = before.values().filter(is_unfinished).map(|pod| pod.created).max();
        let is_whole = before.values().all(|pod| pod.ready);
        match latest.filter(|_| is_whole) {
            Some(latest) if case.readme => {
                self.interrupted += 1;
                assert_eq!(before[&deleted[0]].created, latest, "the pod that was updated last goes first");
                assert!(deleted.iter().all(|pod| is_unfinished(&&before[pod])), "never-updated pods wait");
                let others =
                    before.iter().filter(|(name, pod)| pod.zone == zone && is_unfinished(pod) && !deleted.contains(name));
                let later = others.map(|(_, pod)| pod.created).max();
                assert!(deleted.iter().all(|pod| Some(before[pod].created) >= later), "later ones go first");
            }
            _ if is_whole => {
                // Zones are numbered in the order of their names.
                let first = before.values().filter(|pod| pod.revision != self.current).filter_map(|pod| pod.zone).min();
                assert_eq!(zone, first, "the first zone in order");
            }
            _ => {}
        }
    }
}

/// What a step does while the cache of pods is stale is exempt, and nothing else is.
#[test]
fn each_step_of_random_rollouts_keeps_to_one_zone_its_limit_and_its_order() {
    let (mut taken, mut interrupted, mut broken) = (0, 0, 0);
    for number in numbers(100, 1_000) {
        let case = case(number);
        let (mut simulation, mut invariants) = watched(&case.scenario, number, Stepping::FastForward);
        let mut watcher = Watcher { settled: Some(0), ..Watcher::default() };
        let mut records = Vec::new();
        simulation.run_until(Time::ZERO + case.scenario.duration, &mut |at, record: &Record| {
            invariants.record(at, record);
            records.push((at, record.clone()));
        });
        assert_eq!(invariants.violations(), [], "case {number}");
        println!("case {number}");
        for (at, record) in &records {
            watcher.record(*at, record, &case);
        }
        if case.is_quiet {
            assert!(watcher.pods.values().all(|pod| pod.ready && pod.revision == watcher.current), "case {number} ends");
        }
        taken += watcher.taken;
        interrupted += watcher.interrupted;
        broken += watcher.broken;
    }
    assert!(broken > 0, "a stale cache breaks rules");
    assert!(taken > 1_000 && interrupted > 60, "{taken} steps, {interrupted} of them back from a rollout that was interrupted");
}
