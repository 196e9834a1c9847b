//! Rollouts of workloads: who deleted which pods, who ran a bad revision and for how long, and how many zones were without a pod at once.
//!
//! Followed are workloads with an [`Update`] of their own: records of their pods name the revision.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use crate::ids::{KubeClusterId, WorkloadId, ZoneId};
use crate::kernel::time::{Duration, Time};
use crate::kube::name::{NodeName, PodName, PodTag};
use crate::kube::record::{KubeRecord, PodFact};
use crate::kube::spec::update::Update;
use crate::kube::spec::{self, Kind, KubeClusterSpec, Task};
use crate::report::{BatchReport, RolloutReport, length, seconds};
use crate::rollout::alarm::failed;
use crate::rollout::record::RolloutRecord;
use crate::scenario::Scenario;

/// Follows the rollouts of all clusters.
#[derive(Clone, Debug)]
pub struct Rollouts {
    scenario: Arc<Scenario>,
    workloads: BTreeMap<(KubeClusterId, WorkloadId), Workload>,
    rows: Vec<Row>,
    /// Pods that a zone-aware update deletes next, by cluster.
    by_zone_aware: BTreeMap<KubeClusterId, u16>,
    /// A pod whose eviction was granted just now.
    evicted: Option<(KubeClusterId, PodName)>,
}

/// A workload that is followed.
#[derive(Clone, Debug, Default)]
struct Workload {
    /// Pods wanted.
    replicas: u32,
    pods: BTreeMap<PodName, Pod>,
    /// Zones of pods, also of those that are gone.
    zones: BTreeMap<PodName, ZoneId>,
    /// Revisions made, the current one, and the one before.
    revisions: (u32, u32, u32),
    /// Its last rollout.
    row: Option<usize>,
    /// What the zone-aware update of it does.
    verdict: Option<&'static str>,
    /// Until when its row has been counted.
    counted: Time,
}

#[derive(Clone, Copy, Debug, Default)]
struct Pod {
    revision: u32,
    started: Option<Time>,
    ready: Option<Time>,
    terminating: bool,
}

#[derive(Clone, Debug)]
struct Row {
    cluster: KubeClusterId,
    workload: WorkloadId,
    rollback: bool,
    revision: u32,
    asked: Time,
    ended: Option<Time>,
    completed: bool,
    waits_for: Option<&'static str>,
    batches: Vec<Batch>,
    /// Pods that ran with a bad revision, and for how long those did that are gone.
    exposed: (BTreeSet<PodName>, Duration),
    exposed_zones: BTreeSet<ZoneId>,
    most_unavailable: u32,
    zones_disrupted: u32,
    several_zones: Duration,
    failed_s: f64,
}

#[derive(Clone, Debug)]
struct Batch {
    at: Time,
    by: &'static str,
    pods: Vec<(PodName, Option<ZoneId>)>,
}

const ZONE_AWARE: &str = "ZoneAwareUpdate";
const EVICTION: &str = "eviction";

impl Rollouts {
    /// Nothing was rolled out yet.
    pub fn new(scenario: &Arc<Scenario>) -> Self {
        let of_cluster = |(cluster, spec): (KubeClusterId, &KubeClusterSpec)| {
            let followed = spec.workloads.iter_enumerated().filter(|(_, workload)| workload.update != Update::default());
            let new = |(id, workload): (WorkloadId, &spec::Workload)| {
                ((cluster, id), Workload { replicas: workload.replicas, ..Workload::default() })
            };
            followed.map(new).collect::<Vec<_>>()
        };
        let workloads = scenario.kube.clusters.iter_enumerated().flat_map(of_cluster).collect();
        let (rows, by_zone_aware, evicted) = (Vec::new(), BTreeMap::new(), None);
        Self { scenario: Arc::clone(scenario), workloads, rows, by_zone_aware, evicted }
    }

    /// Whether a record is about a workload that is followed.
    pub fn follows(&self, cluster: KubeClusterId, record: &KubeRecord) -> bool {
        let workload = match *record {
            KubeRecord::Pod(name, _) => name.workload,
            KubeRecord::Operation(Task::RollComponent(workload) | Task::RollBackComponent(workload)) => workload,
            KubeRecord::Operation(Task::ScaleWorkload(scale)) => scale.workload,
            _ => return false,
        };
        self.workloads.contains_key(&(cluster, workload))
    }

    /// Takes note of a record of a zone-aware update.
    pub fn zone_aware(&mut self, cluster: KubeClusterId, record: RolloutRecord) {
        match record {
            RolloutRecord::Step { pods, .. } => drop(self.by_zone_aware.insert(cluster, pods)),
            RolloutRecord::Verdict(update, verdict) => {
                let workload = self.scenario.kube.clusters[cluster].zone_aware.updates[usize::from(update)].workload;
                let Some(workload) = self.workloads.get_mut(&(cluster, workload)) else { return };
                workload.verdict = Some(verdict.describe());
                if let Some(row) = workload.row {
                    self.rows[row].waits_for = workload.verdict;
                }
            }
        }
    }

    /// Takes note of a record about a workload that is followed.
    pub fn record(&mut self, at: Time, cluster: KubeClusterId, record: &KubeRecord) {
        match *record {
            KubeRecord::Operation(Task::RollComponent(workload)) => self.begin(at, cluster, workload, false),
            KubeRecord::Operation(Task::RollBackComponent(workload)) => self.begin(at, cluster, workload, true),
            KubeRecord::Operation(Task::ScaleWorkload(scale)) => {
                self.count(at, cluster, scale.workload);
                self.workloads.get_mut(&(cluster, scale.workload)).expect("it is followed").replicas = scale.replicas;
                self.judge(at, cluster, scale.workload);
            }
            KubeRecord::Pod(name, fact) => {
                self.count(at, cluster, name.workload);
                self.pod(at, cluster, name, fact);
                self.judge(at, cluster, name.workload);
            }
            _ => {}
        }
    }

    fn begin(&mut self, at: Time, cluster: KubeClusterId, id: WorkloadId, rollback: bool) {
        self.count(at, cluster, id);
        let (next, workload) = (self.rows.len(), self.workloads.get_mut(&(cluster, id)).expect("it is followed"));
        let (made, current, previous) = workload.revisions;
        workload.revisions = match rollback {
            false => (made + 1, made + 1, current),
            true if made == 0 => return,
            true => (made, previous, current),
        };
        let waits_for = workload.verdict;
        if let Some(row) = workload.row.replace(next) {
            self.rows[row].ended.get_or_insert(at);
        }
        self.rows.push(Row {
            cluster,
            workload: id,
            rollback,
            revision: workload.revisions.1,
            asked: at,
            ended: None,
            completed: false,
            waits_for,
            batches: Vec::new(),
            exposed: (BTreeSet::new(), Duration::ZERO),
            exposed_zones: BTreeSet::new(),
            most_unavailable: 0,
            zones_disrupted: 0,
            several_zones: Duration::ZERO,
            failed_s: 0.0,
        });
        // A rollback may find no pod to replace.
        self.judge(at, cluster, id);
    }

    fn pod(&mut self, at: Time, cluster: KubeClusterId, name: PodName, fact: PodFact) {
        let spec = &self.scenario.kube.clusters[cluster];
        let workload = self.workloads.get_mut(&(cluster, name.workload)).expect("it is followed");
        match fact {
            PodFact::Created => drop(workload.pods.insert(name, Pod::default())),
            PodFact::Bound(node) => drop(workload.zones.insert(name, zone_of(node, spec, &self.scenario))),
            PodFact::Evicted(true) => self.evicted = Some((cluster, name)),
            PodFact::Terminating => self.deleted(at, cluster, name),
            PodFact::Removed => {
                if let Some(Pod { revision, started: Some(since), .. }) = workload.pods.remove(&name) {
                    self.ran(cluster, name, revision, at.since(since));
                }
            }
            _ => {
                let Some(pod) = workload.pods.get_mut(&name) else { return };
                match fact {
                    PodFact::Revision(number) => pod.revision = number,
                    PodFact::Ready(ready) => pod.ready = ready.then_some(at),
                    PodFact::Started { .. } => {
                        pod.started = pod.started.or(Some(at));
                        let revision = pod.revision;
                        self.ran(cluster, name, revision, Duration::ZERO);
                    }
                    _ => {}
                }
            }
        }
    }

    /// A pod runs, or ran for so long until it was gone.
    fn ran(&mut self, cluster: KubeClusterId, name: PodName, revision: u32, lasted: Duration) {
        let spec = &self.scenario.kube.clusters[cluster].workloads[name.workload];
        let is_its =
            |row: &&mut Row| row.cluster == cluster && row.workload == name.workload && row.revision == revision && !row.rollback;
        if spec.update.revision(revision).is_bad()
            && let Some(row) = self.rows.iter_mut().find(is_its)
        {
            row.exposed.0.insert(name);
            row.exposed.1 = row.exposed.1 + lasted;
            row.exposed_zones.extend(self.workloads[&(cluster, name.workload)].zones.get(&name));
        }
    }

    fn deleted(&mut self, at: Time, cluster: KubeClusterId, name: PodName) {
        let workload = self.workloads.get_mut(&(cluster, name.workload)).expect("it is followed");
        if let Some(pod) = workload.pods.get_mut(&name) {
            pod.terminating = true;
        }
        let zone = workload.zones.get(&name).copied();
        let row = workload.row;
        let steps = self.by_zone_aware.get_mut(&cluster).filter(|left| **left > 0);
        let by = if self.evicted.take() == Some((cluster, name)) {
            EVICTION
        } else if let Some(left) = steps {
            *left -= 1;
            ZONE_AWARE
        } else if self.scenario.kube.clusters[cluster].workloads[name.workload].kind == Kind::Deployment {
            "Deployment controller"
        } else {
            "StatefulSet controller"
        };
        let Some(row) = row.map(|row| &mut self.rows[row]).filter(|row| row.ended.is_none()) else { return };
        match row.batches.last_mut().filter(|batch| batch.at == at && batch.by == by) {
            Some(batch) => batch.pods.push((name, zone)),
            None => row.batches.push(Batch { at, by, pods: vec![(name, zone)] }),
        }
    }

    /// Counts what has been so since the last change of a workload.
    fn count(&mut self, at: Time, cluster: KubeClusterId, id: WorkloadId) {
        let update = &self.scenario.kube.clusters[cluster].workloads[id].update;
        let workload = self.workloads.get_mut(&(cluster, id)).expect("it is followed");
        let from = std::mem::replace(&mut workload.counted, at);
        let Some(row) = workload.row.map(|row| &mut self.rows[row]).filter(|_| at > from) else { return };
        let ready = workload.pods.values().filter(|pod| !pod.terminating).filter_map(|pod| Some((pod.revision, pod.ready?)));
        row.failed_s += failed(&ready.collect::<Vec<_>>(), from, at, update);
        if row.ended.is_some() {
            return;
        }
        let (unavailable, zones) = workload.unavailable(id);
        row.most_unavailable = row.most_unavailable.max(unavailable);
        row.zones_disrupted = row.zones_disrupted.max(zones);
        if zones > 1 {
            row.several_zones = row.several_zones + at.since(from);
        }
    }

    /// Whether the rollout of a workload is complete.
    fn judge(&mut self, at: Time, cluster: KubeClusterId, id: WorkloadId) {
        let workload = &self.workloads[&(cluster, id)];
        let Some(row) = workload.row.map(|row| &mut self.rows[row]).filter(|row| row.ended.is_none()) else { return };
        let is_done = |pod: &Pod| pod.revision == row.revision && pod.ready.is_some() && !pod.terminating;
        if workload.pods.len() == workload.replicas as usize && workload.pods.values().all(is_done) {
            (row.ended, row.completed) = (Some(at), true);
        }
    }

    /// All of them, in the order they were asked for, as they stand `now`.
    pub fn rows(&self, now: Time) -> Vec<RolloutReport> {
        let mut counted = self.clone();
        for (cluster, workload) in self.workloads.keys() {
            counted.count(now, *cluster, *workload);
        }
        counted.rows.iter().map(|row| row.report(now, &counted)).collect()
    }
}

/// Zone of a node.
pub(super) fn zone_of(node: NodeName, spec: &KubeClusterSpec, scenario: &Scenario) -> ZoneId {
    match node {
        NodeName::Given(key) => scenario.nodes[spec.nodes[key].node].zone,
        NodeName::Machine(machine) => spec.machine_deployments[machine.deployment].zone,
    }
}

impl Workload {
    /// Wanted pods that are missing or not ready, and zones of these; none while as many as wanted are ready, beside new ones that start.
    fn unavailable(&self, id: WorkloadId) -> (u32, u32) {
        let is_up = |pod: &Pod| pod.ready.is_some() && !pod.terminating;
        let up = self.pods.values().filter(|pod| is_up(pod)).count() as u32;
        if up >= self.replicas {
            return (0, 0);
        }
        let is_wanted = |name: &PodName| !matches!(name.tag, PodTag::Ordinal(ordinal) if ordinal >= self.replicas);
        let down = self.pods.iter().filter(|(name, pod)| !is_up(pod) && is_wanted(name)).map(|(name, _)| *name);
        let names = (0..self.replicas).map(|ordinal| PodName { workload: id, tag: PodTag::Ordinal(ordinal) });
        let missing = names.filter(|name| !self.pods.contains_key(name));
        let zones: BTreeSet<_> = down.chain(missing).filter_map(|name| self.zones.get(&name)).collect();
        (self.replicas - up, zones.len() as u32)
    }
}

impl Row {
    fn report(&self, now: Time, all: &Rollouts) -> RolloutReport {
        let spec = &all.scenario.kube.clusters[self.cluster];
        let workload = &spec.workloads[self.workload];
        let bad = workload.update.revision(self.revision).is_bad();
        let runs = |pod: &&Pod| bad && !self.rollback && pod.revision == self.revision;
        let of_pods = all.workloads[&(self.cluster, self.workload)].pods.values().filter(runs).filter_map(|pod| pod.started);
        let running: f64 = of_pods.map(|since| length(now.since(since))).sum();
        let batch = |batch: &Batch| {
            let zones: BTreeSet<_> = batch.pods.iter().filter_map(|(_, zone)| *zone).collect();
            BatchReport {
                at_s: seconds(batch.at),
                by: batch.by.to_owned(),
                zones: zones.into_iter().map(|zone| all.scenario.zones[zone].name.clone()).collect(),
                pods: batch.pods.iter().map(|(name, _)| name.text(spec)).collect(),
            }
        };
        RolloutReport {
            cluster: spec.name.clone(),
            workload: workload.name.clone(),
            rollback: self.rollback,
            revision: self.revision,
            bad,
            requested_s: seconds(self.asked),
            duration_s: length(self.ended.unwrap_or(now).since(self.asked)),
            completed: self.completed,
            waits_for: self.waits_for.filter(|_| !self.completed).map(str::to_owned),
            batches: self.batches.iter().map(batch).collect(),
            sequence: self.sequence(),
            exposed_pods: self.exposed.0.len() as u32,
            exposed_zones: self.exposed_zones.len() as u32,
            exposed_pod_s: length(self.exposed.1) + running,
            most_unavailable: self.most_unavailable,
            zones_disrupted: self.zones_disrupted,
            several_zones_s: length(self.several_zones),
            failed_s: self.failed_s,
        }
    }

    /// As the README of ZoneAwareUpdate writes it: `[[28], [27, 22]], [[29, 26]]`.
    fn sequence(&self) -> String {
        let mut zones: Vec<(Option<ZoneId>, Vec<String>)> = Vec::new();
        for batch in self.batches.iter().filter(|batch| batch.by != EVICTION) {
            let ordinal = |(name, _): &(PodName, Option<ZoneId>)| match name.tag {
                PodTag::Ordinal(ordinal) => Some(ordinal.to_string()),
                PodTag::Replica { .. } | PodTag::Agent(_) => None,
            };
            let Some(ordinals) = batch.pods.iter().map(ordinal).collect::<Option<Vec<_>>>() else { return String::new() };
            let (zone, text) = (batch.pods.first().and_then(|(_, zone)| *zone), format!("[{}]", ordinals.join(", ")));
            match zones.last_mut().filter(|(last, _)| *last == zone) {
                Some((_, batches)) => batches.push(text),
                None => zones.push((zone, vec![text])),
            }
        }
        zones.into_iter().map(|(_, batches)| format!("[{}]", batches.join(", "))).collect::<Vec<_>>().join(", ")
    }
}
