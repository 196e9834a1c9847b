//! Rollouts of workloads: who deleted which pods, who ran a bad revision and for how long, and how many zones were without a pod at once.
//!
//! Followed are workloads whose [`Update`](crate::kube::spec::update::Update) is not the usual one: records of their pods name the revision.

mod quorum;
mod row;
mod waits;
mod workload;

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use super::serving::Serving;
use crate::ids::{KubeClusterId, WorkloadId, ZoneId};
use crate::kernel::time::{Duration, Time};
use crate::kube::name::{NodeName, PodName};
use crate::kube::record::{KubeRecord, NodeFact, PodFact};
use crate::kube::spec::update::PROGRESS_DEADLINE;
use crate::kube::spec::{Kind, KubeClusterSpec, Task};
use crate::report::RolloutReport;
use crate::rollout::record::RolloutRecord;
use crate::rollout::rule::zone_aware_update::Verdict;
use crate::rollout::service::Met;
use crate::scenario::{Scenario, text};
use row::Row;
use workload::{Pod, Workload, add};

/// Follows the rollouts of all clusters.
#[derive(Clone, Debug)]
pub struct Rollouts {
    scenario: Arc<Scenario>,
    workloads: BTreeMap<(KubeClusterId, WorkloadId), Workload>,
    rows: Vec<Row>,
    /// Pods that a zone-aware update deletes next, by cluster.
    by_zone_aware: BTreeMap<KubeClusterId, u16>,
    /// A pod that somebody else than its controller ends just now, and who.
    ended_by: Option<(KubeClusterId, PodName, &'static str)>,
    /// What operators asked for that evicts pods.
    tasks: Vec<(KubeClusterId, Task)>,
}

const EVICTION: &str = "eviction";
const MACHINE_DRAIN: &str = "machine drain";
/// Not in a batch of a rollout.
const SCALING: &str = "scaling";
const ZONE_AWARE: &str = "ZoneAwareUpdate";
const DEPLOYMENT: &str = "Deployment controller";
const STATEFUL_SET: &str = "StatefulSet controller";

impl Rollouts {
    /// Nothing was rolled out yet.
    pub fn new(scenario: &Arc<Scenario>) -> Self {
        let of_cluster = |(cluster, spec): (KubeClusterId, &KubeClusterSpec)| {
            let followed = spec.workloads.iter_enumerated().filter(|(_, workload)| workload.update.is_recorded());
            followed.map(|(id, workload)| ((cluster, id), Workload::new(workload))).collect::<Vec<_>>()
        };
        let workloads = scenario.kube.clusters.iter_enumerated().flat_map(of_cluster).collect();
        let (rows, by_zone_aware, ended_by, tasks) = Default::default();
        Self { scenario: Arc::clone(scenario), workloads, rows, by_zone_aware, ended_by, tasks }
    }

    /// Whether a record is about a workload that is followed.
    pub fn follows(&self, cluster: KubeClusterId, record: &KubeRecord) -> bool {
        let workload = match *record {
            KubeRecord::Pod(name, _) => name.workload,
            KubeRecord::Operation(Task::ScaleWorkload(scale)) => scale.workload,
            KubeRecord::Node(_, NodeFact::Lost(_))
            | KubeRecord::Operation(Task::DrainNode(_) | Task::RollMachines(_) | Task::Deschedule(_)) => {
                return self.workloads.keys().any(|(of, _)| *of == cluster);
            }
            KubeRecord::Operation(task) => match task.rolls() {
                Some(workload) => workload,
                None => return false,
            },
            _ => return false,
        };
        self.workloads.contains_key(&(cluster, workload))
    }

    /// Takes note of a record of the controllers of rollouts.
    pub fn rollout(&mut self, at: Time, cluster: KubeClusterId, record: RolloutRecord) {
        match record {
            RolloutRecord::Step { pods, .. } => drop(self.by_zone_aware.insert(cluster, pods)),
            RolloutRecord::RolledBack(workload) => {
                if self.workloads.contains_key(&(cluster, workload)) {
                    self.begin(at, cluster, workload, true);
                    self.rows.last_mut().expect("it has begun").automatic = true;
                }
            }
            RolloutRecord::Stale { update, pods } => {
                let workload = self.scenario.kube.clusters[cluster].zone_aware.updates[usize::from(update)].workload;
                if let Some(row) = self.workloads.get(&(cluster, workload)).and_then(|workload| workload.row) {
                    self.rows[row].stale_deletions += u32::from(pods);
                }
            }
            RolloutRecord::Verdict(update, verdict) => {
                let workload = self.scenario.kube.clusters[cluster].zone_aware.updates[usize::from(update)].workload;
                let Some(workload) = self.workloads.get_mut(&(cluster, workload)) else { return };
                (workload.verdict, workload.seen) = (Some(verdict), true);
                if let Some(row) = workload.row {
                    self.rows[row].is_paused(at, verdict == Verdict::Paused);
                }
            }
        }
    }

    /// Takes note of a record about a workload that is followed, after `serving` has.
    pub fn record(&mut self, at: Time, cluster: KubeClusterId, record: &KubeRecord, serving: &Serving) {
        match *record {
            KubeRecord::Operation(Task::RollComponent(workload)) => self.begin(at, cluster, workload, false),
            KubeRecord::Operation(Task::RollBackComponent(workload)) => self.begin(at, cluster, workload, true),
            KubeRecord::Operation(task @ (Task::PauseRollout(id) | Task::ResumeRollout(id))) => {
                self.count(at, cluster, id);
                let workload = self.workload(cluster, id);
                workload.paused = matches!(task, Task::PauseRollout(_));
                if let Some(row) = workload.row {
                    self.rows[row].progressed = at;
                }
            }
            KubeRecord::Operation(task @ (Task::DrainNode(_) | Task::RollMachines(_) | Task::Deschedule(_))) => {
                self.tasks.push((cluster, task));
            }
            KubeRecord::Operation(Task::ScaleWorkload(scale)) => {
                self.count(at, cluster, scale.workload);
                self.workloads.get_mut(&(cluster, scale.workload)).expect("it is followed").scale(scale.replicas);
                self.judge(at, cluster, scale.workload);
                let cause = |all: &Self| {
                    let what = format!("scaled to {} pods", scale.replicas);
                    all.while_others_are_down(what, cluster, scale.workload, &[], serving)
                };
                self.watch_quorum(at, cluster, scale.workload, cause);
            }
            KubeRecord::Pod(name, fact) => {
                self.count(at, cluster, name.workload);
                self.pod(at, cluster, name, fact);
                self.judge(at, cluster, name.workload);
                self.workload(cluster, name.workload).look(name, cluster, serving);
                self.watch_quorum(at, cluster, name.workload, |all| all.pod_cause(at, cluster, name, fact, serving));
            }
            KubeRecord::Node(node, NodeFact::Lost(lost)) => self.node_changed(at, cluster, node, lost, serving),
            _ => {}
        }
    }

    fn workload(&mut self, cluster: KubeClusterId, id: WorkloadId) -> &mut Workload {
        self.workloads.get_mut(&(cluster, id)).expect("it is followed")
    }

    fn begin(&mut self, at: Time, cluster: KubeClusterId, id: WorkloadId, rollback: bool) {
        self.count(at, cluster, id);
        let waits_for = self.waits_for(at, cluster, id).filter(|_| !self.is_unseen(at, cluster, id));
        let (next, workload) = (self.rows.len(), self.workload(cluster, id));
        let (made, current, previous) = workload.revisions;
        workload.revisions = match rollback {
            false => (made + 1, made + 1, current),
            true if made == 0 => return,
            true => (made, previous, current),
        };
        let revision = workload.revisions.1;
        let again: Vec<(PodName, Duration)> = workload.restart_exposure(revision, at).collect();
        for (name, lasted) in &again {
            self.ran(cluster, *name, revision, *lasted);
        }
        let workload = self.workload(cluster, id);
        workload.seen = false;
        // Who is paused stays so until it looks again.
        let pauses = if workload.verdict == Some(Verdict::Paused) { vec![(at, None)] } else { Vec::new() };
        if let Some(row) = workload.row.replace(next) {
            self.rows[row].waits_for = waits_for;
            self.rows[row].ended.get_or_insert(at);
            self.rows[row].superseded = Some(at);
        }
        self.rows.push(Row {
            cluster,
            workload: id,
            rollback,
            automatic: false,
            revision,
            asked: at,
            ended: None,
            superseded: None,
            completed: false,
            waits_for: None,
            batches: Vec::new(),
            exposed: (BTreeSet::new(), Duration::ZERO),
            exposed_zones: BTreeSet::new(),
            most_unavailable: 0,
            zones_disrupted: 0,
            several_zones: Duration::ZERO,
            stale_deletions: 0,
            met: Met::default(),
            progressed: at,
            deadline_exceeded: None,
            pauses,
        });
        for (name, _) in again {
            self.ran(cluster, name, revision, Duration::ZERO);
        }
        // A rollback may find no pod to replace.
        self.judge(at, cluster, id);
    }

    fn pod(&mut self, at: Time, cluster: KubeClusterId, name: PodName, fact: PodFact) {
        let spec = &self.scenario.kube.clusters[cluster];
        let workload = self.workloads.get_mut(&(cluster, name.workload)).expect("it is followed");
        let was_up = workload.is_up(name);
        workload.seen = true;
        match fact {
            PodFact::Created => drop(workload.pods.insert(name, Pod::default())),
            PodFact::Bound(node) => drop(workload.zones.insert(name, zone_of(node, spec, &self.scenario))),
            PodFact::Evicted(true) => self.ended_by = Some((cluster, name, EVICTION)),
            PodFact::TaintEvicted => self.ended_by = Some((cluster, name, "taint eviction")),
            PodFact::GarbageCollected => self.ended_by = Some((cluster, name, "pod garbage collector")),
            PodFact::ForceDeleted => self.ended_by = Some((cluster, name, MACHINE_DRAIN)),
            PodFact::Terminating => self.deleted(at, cluster, name),
            PodFact::Removed => {
                self.ended_by = None;
                if let Some(Pod { revision, started: Some(since), .. }) = workload.pods.remove(&name) {
                    self.ran(cluster, name, revision, at.since(since));
                }
            }
            _ => {
                let Some(pod) = workload.pods.get_mut(&name) else { return };
                match fact {
                    PodFact::Revision(number) => {
                        pod.revision = number;
                        self.progress(at, cluster, name.workload, |row| row.revision == number);
                    }
                    PodFact::Ready(ready) => {
                        pod.ready = ready.then_some(at);
                        if ready {
                            self.progress(at, cluster, name.workload, |_| true);
                        }
                    }
                    PodFact::Started { .. } => {
                        pod.started = pod.started.or(Some(at));
                        let revision = pod.revision;
                        self.ran(cluster, name, revision, Duration::ZERO);
                    }
                    _ => {}
                }
            }
        }
        self.workloads.get_mut(&(cluster, name.workload)).expect("it is followed").pod_changed(name, was_up);
    }

    /// The rollout that brought a revision last.
    fn brought(&self, cluster: KubeClusterId, id: WorkloadId, revision: u32) -> Option<usize> {
        self.rows.iter().rposition(|row| row.cluster == cluster && row.workload == id && row.revision == revision)
    }

    /// A pod runs, or ran for so long until it was gone, or its revision was rolled out again.
    fn ran(&mut self, cluster: KubeClusterId, name: PodName, revision: u32, lasted: Duration) {
        let spec = &self.scenario.kube.clusters[cluster].workloads[name.workload];
        if spec.update.revision(revision).is_bad()
            && let Some(row) = self.brought(cluster, name.workload, revision)
        {
            let row = &mut self.rows[row];
            row.exposed.0.insert(name);
            row.exposed.1 = row.exposed.1 + lasted;
            row.exposed_zones.extend(self.workloads[&(cluster, name.workload)].zones.get(&name));
        }
    }

    fn deleted(&mut self, at: Time, cluster: KubeClusterId, name: PodName) {
        let workload = self.workloads.get_mut(&(cluster, name.workload)).expect("it is followed");
        let mut revision = None;
        if let Some(pod) = workload.pods.get_mut(&name) {
            pod.terminating = true;
            revision = Some(pod.revision);
        }
        let zone = workload.zones.get(&name).copied();
        let steps = self.by_zone_aware.get_mut(&cluster).filter(|left| **left > 0);
        let ended_by = self.ended_by.take().filter(|(of, pod, _)| (*of, *pod) == (cluster, name));
        let by = if let Some((.., by)) = ended_by {
            by
        } else if let Some(left) = steps {
            *left -= 1;
            ZONE_AWARE
        } else if self.scenario.kube.clusters[cluster].workloads[name.workload].kind == Kind::Deployment {
            DEPLOYMENT
        } else {
            STATEFUL_SET
        };
        let workload = self.workloads.get_mut(&(cluster, name.workload)).expect("it is followed");
        let is_scaled_away = workload.is_scaled_away(name) && [DEPLOYMENT, STATEFUL_SET].contains(&by);
        workload.ends.retain(|batch| batch.at == at);
        add(&mut workload.ends, at, if is_scaled_away { SCALING } else { by }, (name, zone));
        let Some(row) = workload.row.map(|row| &mut self.rows[row]).filter(|row| row.ended.is_none() && !is_scaled_away) else {
            return;
        };
        if revision != Some(row.revision) {
            row.progressed = row.progressed.max(at);
        }
        add(&mut row.batches, at, by, (name, zone));
    }

    /// A rollout that `is_meant` goes on.
    fn progress(&mut self, at: Time, cluster: KubeClusterId, id: WorkloadId, is_meant: impl Fn(&Row) -> bool) {
        let row = self.workloads[&(cluster, id)].row.map(|row| &mut self.rows[row]);
        if let Some(row) = row.filter(|row| is_meant(row)) {
            row.progressed = row.progressed.max(at);
        }
    }

    /// Counts what has been so since the last change of a workload.
    fn count(&mut self, at: Time, cluster: KubeClusterId, id: WorkloadId) {
        let spec = &self.scenario.kube.clusters[cluster].workloads[id];
        let workload = self.workloads.get_mut(&(cluster, id)).expect("it is followed");
        let from = std::mem::replace(&mut workload.counted, at);
        let Some(row) = workload.row.map(|row| &mut self.rows[row]).filter(|_| at > from) else { return };
        if row.ended.is_none() {
            let available = workload.available(row.revision, &spec.update, at);
            row.progressed = available.last.map_or(row.progressed, |last| last.max(row.progressed));
            if spec.kind == Kind::Deployment && available.are_all {
                // Since its last pod became available (`DeploymentComplete`).
                (row.ended, row.completed) = (available.last.map(|last| last.max(from)).or(Some(from)), true);
            }
        }
        // What is wrong with a revision may show after its rollout.
        let is_bad = spec.update.revision(row.revision).is_bad();
        let until = row.ended.filter(|_| !is_bad).unwrap_or(at);
        if until > from {
            row.met += workload.ready().met(from, until, &spec.update);
        }
        if row.ended.is_some() {
            return;
        }
        let deadline = row.progressed + spec.update.progress_deadline.unwrap_or(PROGRESS_DEADLINE);
        if spec.kind == Kind::Deployment && !workload.paused && deadline < at {
            row.deadline_exceeded.get_or_insert(deadline);
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
        let (workload, spec) = (&self.workloads[&(cluster, id)], &self.scenario.kube.clusters[cluster].workloads[id]);
        let Some(row) = workload.row.map(|row| &mut self.rows[row]).filter(|row| row.ended.is_none()) else { return };
        // A Deployment waits for pods to be available, a StatefulSet for ready ones (`kubectl rollout status`).
        let is_complete = match spec.kind {
            Kind::Deployment => workload.available(row.revision, &spec.update, at).are_all,
            Kind::StatefulSet { .. } | Kind::DaemonSet => workload.has_rolled_out(row.revision, &spec.update),
        };
        if is_complete {
            (row.ended, row.completed) = (Some(at), true);
        }
    }

    /// All of them, in the order they were asked for, as they stand `now`.
    pub fn rows(&self, now: Time) -> Vec<RolloutReport> {
        let mut counted = self.clone();
        for (cluster, workload) in self.workloads.keys() {
            counted.count(now, *cluster, *workload);
            if let Some(row) = self.workloads[&(*cluster, *workload)].row {
                counted.rows[row].waits_for = self.waits_for(now, *cluster, *workload);
            }
        }
        counted.rows.iter().map(|row| row.report(now, &counted)).collect()
    }
}

/// Pods in a list.
fn names(pods: &[PodName], spec: &KubeClusterSpec) -> String {
    text::list(&pods.iter().map(|pod| pod.text(spec)).collect::<Vec<_>>())
}

/// Zone of a node.
pub(super) fn zone_of(node: NodeName, spec: &KubeClusterSpec, scenario: &Scenario) -> ZoneId {
    match node {
        NodeName::Given(key) => scenario.nodes[spec.nodes[key].node].zone,
        NodeName::Machine(machine) => spec.machine_deployments[machine.deployment].zone,
    }
}
