//! Budgets of evictions: how many pods evictions took at a time, and of how many zones. A pod is disrupted from the eviction that was granted,
//! or its deletion by a drain that had timed out, until a pod of its name is ready again, or as many of its workload are ready as are wanted.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use super::rollouts::zone_of;
use crate::ids::{KubeClusterId, WorkloadId, ZoneId};
use crate::kernel::time::{Duration, Time};
use crate::kube::name::PodName;
use crate::kube::record::{KubeRecord, PodFact};
use crate::kube::spec::{Budget, PodSelector, Task};
use crate::report::{BudgetReport, length};
use crate::scenario::Scenario;
use crate::scenario::text;

/// Follows the budgets of all clusters without Gardener.
#[derive(Clone, Debug)]
pub struct Budgets {
    scenario: Arc<Scenario>,
    rows: Vec<Row>,
    /// Places of the rows of a workload.
    of: BTreeMap<(KubeClusterId, WorkloadId), Vec<usize>>,
    zones: BTreeMap<(KubeClusterId, PodName), ZoneId>,
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
    disrupted: BTreeMap<PodName, ZoneId>,
    counted: Time,
    most: u32,
    zones: u32,
    several: Duration,
    /// Evicted pods with their zones when a second zone was disrupted first.
    second: Option<(Time, Vec<(PodName, ZoneId)>)>,
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
                    disrupted: BTreeMap::new(),
                    counted: Time::ZERO,
                    most: 0,
                    zones: 0,
                    several: Duration::ZERO,
                    second: None,
                });
            }
        }
        let (zones, ready, scaled) = Default::default();
        Self { scenario: Arc::clone(scenario), rows, of, zones, ready, scaled }
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
        }
        let KubeRecord::Pod(name, fact) = *record else { return };
        let key = (cluster, name.workload);
        let spec = &self.scenario.kube.clusters[cluster];
        let rows = self.of[&key].iter();
        match fact {
            PodFact::Bound(node) => drop(self.zones.insert((cluster, name), zone_of(node, spec, &self.scenario))),
            PodFact::Evicted(true) | PodFact::ForceDeleted => {
                let (zone, granted) = (self.zones.get(&(cluster, name)).copied(), fact != PodFact::ForceDeleted);
                rows.for_each(|row| self.rows[*row].disrupt(at, name, zone, granted));
            }
            PodFact::Evicted(false) | PodFact::Denied | PodFact::SeveralBudgets => {
                rows.for_each(|row| self.rows[*row].refused += 1);
            }
            PodFact::Ready(is_ready) => {
                let ready = self.ready.entry(key).or_default();
                if is_ready {
                    ready.insert(name);
                } else {
                    ready.remove(&name);
                }
                let wanted = self.scaled.get(&key).copied().unwrap_or(spec.workloads[name.workload].replicas);
                let all = ready.len() >= wanted as usize;
                let is_back = |pod: &PodName| is_ready && (*pod == name || (all && pod.workload == name.workload));
                rows.for_each(|row| self.rows[*row].back(at, is_back));
            }
            PodFact::Terminating | PodFact::Removed => {
                self.ready.entry(key).or_default().remove(&name);
            }
            _ => {}
        }
    }

    /// All of them, cluster by cluster, as they stand `now`.
    pub fn rows(&self, now: Time) -> Vec<BudgetReport> {
        self.rows.iter().map(|row| row.report(now, &self.scenario)).collect()
    }
}

impl Row {
    fn zones(&self) -> u32 {
        self.disrupted.values().collect::<BTreeSet<_>>().len() as u32
    }

    fn count(&mut self, at: Time) {
        if self.zones() > 1 {
            self.several = self.several + at.since(self.counted);
        }
        self.counted = at;
    }

    /// An eviction of a pod was `granted`, or it was deleted by force.
    fn disrupt(&mut self, at: Time, name: PodName, zone: Option<ZoneId>, granted: bool) {
        self.count(at);
        self.granted += u32::from(granted);
        if let Some(zone) = zone {
            self.disrupted.insert(name, zone);
        }
        self.most = self.most.max(self.disrupted.len() as u32);
        self.zones = self.zones.max(self.zones());
        if self.zones() > 1 && self.second.is_none() {
            self.second = Some((at, self.disrupted.iter().map(|(name, zone)| (*name, *zone)).collect()));
        }
    }

    fn back(&mut self, at: Time, is_back: impl Fn(&PodName) -> bool) {
        if self.disrupted.keys().any(&is_back) {
            self.count(at);
            self.disrupted.retain(|name, _| !is_back(name));
        }
    }

    fn report(&self, now: Time, scenario: &Scenario) -> BudgetReport {
        let spec = &scenario.kube.clusters[self.cluster];
        let mut counted = self.clone();
        counted.count(now);
        let second = self.second.as_ref().map(|(at, pods)| {
            let pods: Vec<_> =
                pods.iter().map(|(pod, zone)| format!("{} in {}", pod.text(spec), scenario.zones[*zone].name)).collect();
            format!("at {} evictions had taken {}", text::duration(at.since(Time::ZERO)), text::list(&pods))
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
            second_zone: second,
        }
    }
}
