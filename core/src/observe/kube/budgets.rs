//! Budgets of evictions: how many pods evictions took at a time, and of how many zones. A pod is disrupted from the eviction that was granted,
//! or its deletion by a drain that had timed out, until the pod that takes its place is ready, or as many of its workload are ready as are
//! wanted, or it is not wanted any more. In its place comes a pod of its name, or the next one of its ReplicaSet.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use super::rollouts::zone_of;
use crate::ids::{KubeClusterId, WorkloadId, ZoneId};
use crate::kernel::time::{Duration, Time};
use crate::kube::describe::node_name;
use crate::kube::name::{NodeName, PodName, PodTag};
use crate::kube::record::{KubeRecord, PodFact};
use crate::kube::spec::{Budget, PodSelector, Task};
use crate::report::{BudgetReport, length, seconds};
use crate::scenario::Scenario;
use crate::scenario::text;

/// Follows the budgets of all clusters without Gardener.
#[derive(Clone, Debug)]
pub struct Budgets {
    scenario: Arc<Scenario>,
    rows: Vec<Row>,
    /// Places of the rows of a workload.
    of: BTreeMap<(KubeClusterId, WorkloadId), Vec<usize>>,
    nodes: BTreeMap<(KubeClusterId, PodName), NodeName>,
    /// When pods of Deployments were created that have not been ready yet.
    created: BTreeMap<(KubeClusterId, PodName), Time>,
    ready: BTreeMap<(KubeClusterId, WorkloadId), BTreeSet<PodName>>,
    /// Pods wanted of workloads that were scaled.
    scaled: BTreeMap<(KubeClusterId, WorkloadId), u32>,
}

#[derive(Clone, Debug)]
struct Row {
    cluster: KubeClusterId,
    name: String,
    kind: &'static str,
    granted: u32,
    refused: u32,
    disrupted: Vec<Disruption>,
    counted: Time,
    most: u32,
    zones: u32,
    several: Duration,
    /// When evictions first disrupted a second zone, and what was disrupted then; as long as they have not, when that was with the help of
    /// drains that had timed out.
    second: Option<(Time, Vec<Disruption>)>,
}

/// A pod that was taken away.
#[derive(Clone, Copy, Debug)]
struct Disruption {
    pod: PodName,
    node: NodeName,
    zone: ZoneId,
    at: Time,
    /// A drain that had timed out deleted it, where no budget is asked.
    by_force: bool,
}

/// How many zones pods were in.
fn zones(disrupted: &[Disruption]) -> u32 {
    disrupted.iter().map(|disruption| disruption.zone).collect::<BTreeSet<_>>().len() as u32
}

impl Budgets {
    /// No pod was evicted yet.
    pub fn new(scenario: &Arc<Scenario>) -> Self {
        let (mut rows, mut of) = (Vec::new(), BTreeMap::<_, Vec<_>>::new());
        for (cluster, spec) in scenario.kube.clusters.iter_enumerated() {
            let named = spec.budgets.iter().map(|Budget { name, pods, .. }| (name, pods, "PodDisruptionBudget"));
            let zone = spec.zone_aware.budgets.iter().map(|budget| (&budget.name, &budget.pods, "ZoneDisruptionBudget"));
            for (name, pods, kind) in named.chain(zone) {
                let selected = |pods: &PodSelector| -> Vec<WorkloadId> {
                    spec.workloads.iter_enumerated().filter(|(_, workload)| pods.selects(workload)).map(|(id, _)| id).collect()
                };
                for id in selected(pods) {
                    of.entry((cluster, id)).or_default().push(rows.len());
                }
                rows.push(Row {
                    cluster,
                    name: name.clone(),
                    kind,
                    granted: 0,
                    refused: 0,
                    disrupted: Vec::new(),
                    counted: Time::ZERO,
                    most: 0,
                    zones: 0,
                    several: Duration::ZERO,
                    second: None,
                });
            }
        }
        let (nodes, created, ready, scaled) = Default::default();
        Self { scenario: Arc::clone(scenario), rows, of, nodes, created, ready, scaled }
    }

    /// Whether a record is about a pod that a budget selects.
    pub fn follows(&self, cluster: KubeClusterId, record: &KubeRecord) -> bool {
        let workload = match *record {
            KubeRecord::Pod(name, _) => name.workload,
            KubeRecord::Operation(Task::ScaleWorkload(scale)) => scale.workload,
            _ => return false,
        };
        self.of.contains_key(&(cluster, workload))
    }

    /// Takes note of a record about a pod that a budget selects.
    pub fn record(&mut self, at: Time, cluster: KubeClusterId, record: &KubeRecord) {
        if let KubeRecord::Operation(Task::ScaleWorkload(scale)) = *record {
            self.scaled.insert((cluster, scale.workload), scale.replicas);
            let is_unwanted = |pod: PodName| matches!(pod.tag, PodTag::Ordinal(ordinal) if ordinal >= scale.replicas);
            self.back(at, cluster, scale.workload, |of| is_unwanted(of.pod));
        }
        let KubeRecord::Pod(name, fact) = *record else { return };
        let key = (cluster, name.workload);
        match fact {
            PodFact::Created if matches!(name.tag, PodTag::Replica { .. }) => drop(self.created.insert((cluster, name), at)),
            PodFact::Bound(node) => drop(self.nodes.insert((cluster, name), node)),
            PodFact::Evicted(true) | PodFact::ForceDeleted => {
                let granted = u32::from(fact != PodFact::ForceDeleted);
                self.of[&key].iter().for_each(|row| self.rows[*row].granted += granted);
                let Some(node) = self.nodes.get(&(cluster, name)).copied() else { return };
                let zone = zone_of(node, &self.scenario.kube.clusters[cluster], &self.scenario);
                let disruption = Disruption { pod: name, node, zone, at, by_force: fact == PodFact::ForceDeleted };
                self.of[&key].iter().for_each(|row| self.rows[*row].disrupt(disruption));
            }
            PodFact::Evicted(false) | PodFact::Denied | PodFact::SeveralBudgets => {
                self.of[&key].iter().for_each(|row| self.rows[*row].refused += 1);
            }
            PodFact::Ready(true) => {
                self.ready.entry(key).or_default().insert(name);
                let created = self.created.remove(&(cluster, name));
                let of_its_set = move |pod: PodName| {
                    matches!(
                        (pod.tag, name.tag),
                        (PodTag::Replica { template: a, .. }, PodTag::Replica { template: b, .. }) if a == b
                    )
                };
                let mut follows = created.is_some();
                self.back(at, cluster, name.workload, move |of| {
                    let is_next = follows && of_its_set(of.pod) && Some(of.at) <= created;
                    follows &= !is_next;
                    of.pod == name || is_next
                });
            }
            PodFact::Ready(false) | PodFact::Terminating => drop(self.ready.entry(key).or_default().remove(&name)),
            PodFact::Removed => {
                self.ready.entry(key).or_default().remove(&name);
                self.created.remove(&(cluster, name));
            }
            _ => {}
        }
    }

    /// Pods of a workload are disrupted no longer: those of which `is_back` says so (the one disrupted first is asked first), and if as many
    /// are ready as are wanted, all of them.
    fn back(&mut self, at: Time, cluster: KubeClusterId, id: WorkloadId, is_back: impl FnMut(&Disruption) -> bool + Clone) {
        let key = (cluster, id);
        let wanted = self.scaled.get(&key).copied().unwrap_or(self.scenario.kube.clusters[cluster].workloads[id].replicas);
        let all = self.ready.get(&key).map_or(0, BTreeSet::len) >= wanted as usize;
        for row in &self.of[&key] {
            let (row, mut is_back) = (&mut self.rows[*row], is_back.clone());
            row.count(at);
            row.disrupted.retain(|of| of.pod.workload != id || !(is_back(of) || all));
        }
    }

    /// All of them, cluster by cluster, as they stand `now`.
    pub fn rows(&self, now: Time) -> Vec<BudgetReport> {
        self.rows.iter().map(|row| row.report(now, &self.scenario)).collect()
    }
}

impl Row {
    fn count(&mut self, at: Time) {
        if zones(&self.disrupted) > 1 {
            self.several = self.several + at.since(self.counted);
        }
        self.counted = at;
    }

    /// A pod was taken away.
    fn disrupt(&mut self, disruption: Disruption) {
        self.count(disruption.at);
        self.disrupted.retain(|of| of.pod != disruption.pod);
        self.disrupted.push(disruption);
        self.most = self.most.max(self.disrupted.len() as u32);
        self.zones = self.zones.max(zones(&self.disrupted));
        let evicted: Vec<Disruption> = self.disrupted.iter().filter(|of| !of.by_force).copied().collect();
        if zones(&evicted) > 1 && self.second.as_ref().is_none_or(|(_, before)| before.iter().any(|of| of.by_force)) {
            self.second = Some((disruption.at, evicted));
        } else if zones(&self.disrupted) > 1 && self.second.is_none() {
            self.second = Some((disruption.at, self.disrupted.clone()));
        }
    }

    fn report(&self, now: Time, scenario: &Scenario) -> BudgetReport {
        let spec = &scenario.kube.clusters[self.cluster];
        let mut counted = self.clone();
        counted.count(now);
        let second = self.second.as_ref().map(|(at, all)| {
            let pods = |by_force: bool| {
                let mut of: Vec<_> = all.iter().filter(|of| of.by_force == by_force).collect();
                of.sort_by_key(|of| of.pod);
                let pods = of.iter().map(|of| format!("{} in {}", of.pod.text(spec), scenario.zones[of.zone].name));
                text::list(&pods.collect::<Vec<_>>())
            };
            let (evicted, forced) = (pods(false), pods(true));
            let nodes: BTreeSet<_> = all.iter().filter(|of| of.by_force).map(|of| of.node).collect();
            let nodes: Vec<_> = nodes.into_iter().map(|node| node_name(node, spec, scenario)).collect();
            let drains = if nodes.len() == 1 { "drain" } else { "drains" };
            let drained = || format!("the {drains} of {} had timed out and deleted {forced} by force", text::list(&nodes));
            let what = match (evicted.is_empty(), forced.is_empty()) {
                (_, true) => format!("evictions had taken {evicted}"),
                (true, false) => drained(),
                (false, false) => format!("evictions had taken {evicted}, and {}", drained()),
            };
            format!("at {} {what}", text::clock(seconds(*at)))
        });
        BudgetReport {
            cluster: spec.name.clone(),
            budget: self.name.clone(),
            kind: self.kind.to_owned(),
            granted: self.granted,
            refused: self.refused,
            most_disrupted: self.most,
            zones_disrupted: self.zones,
            several_zones_s: length(counted.several),
            second_zone_by_force: self.second.as_ref().is_some_and(|(_, all)| all.iter().any(|of| of.by_force)),
            second_zone: second,
        }
    }
}
