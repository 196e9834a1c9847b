//! Rollouts of workloads: who deleted which pods, who ran a bad revision and for how long, and how many zones were without a pod at once.
//!
//! Followed are workloads with an [`Update`] of their own, or a pipeline: records of their pods name the revision.

mod row;

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use crate::ids::{KubeClusterId, WorkloadId, ZoneId};
use crate::kernel::time::{Duration, Time};
use crate::kube::name::{NodeName, PodName, PodTag};
use crate::kube::record::{KubeRecord, PodFact};
use crate::kube::spec::update::{PROGRESS_DEADLINE, Update};
use crate::kube::spec::{self, Kind, KubeClusterSpec, Task};
use crate::report::RolloutReport;
use crate::rollout::record::RolloutRecord;
use crate::rollout::service::{Met, ReadyPods};
use crate::scenario::{Scenario, text};
use row::{Batch, EVICTION, Row};

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
    /// Its rollout is paused.
    paused: bool,
    /// Its ready pods can answer requests.
    answers: bool,
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

const ZONE_AWARE: &str = "ZoneAwareUpdate";

impl Rollouts {
    /// Nothing was rolled out yet.
    pub fn new(scenario: &Arc<Scenario>) -> Self {
        let of_cluster = |(cluster, spec): (KubeClusterId, &KubeClusterSpec)| {
            let is_followed = |id: WorkloadId, workload: &spec::Workload| {
                workload.update != Update::default() || spec.zone_aware.may_roll_back(id)
            };
            let followed = spec.workloads.iter_enumerated().filter(|(id, workload)| is_followed(*id, workload));
            let new = |(id, workload): (WorkloadId, &spec::Workload)| {
                ((cluster, id), Workload { replicas: workload.replicas, ..Workload::default() })
            };
            followed.map(new).collect::<Vec<_>>()
        };
        let workloads = scenario.kube.clusters.iter_enumerated().flat_map(of_cluster).collect();
        let (rows, by_zone_aware, ended_by) = (Vec::new(), BTreeMap::new(), None);
        Self { scenario: Arc::clone(scenario), workloads, rows, by_zone_aware, ended_by }
    }

    /// Whether a record is about a workload that is followed.
    pub fn follows(&self, cluster: KubeClusterId, record: &KubeRecord) -> bool {
        let workload = match *record {
            KubeRecord::Pod(name, _) => name.workload,
            KubeRecord::Operation(
                Task::RollComponent(workload)
                | Task::RollBackComponent(workload)
                | Task::PauseRollout(workload)
                | Task::ResumeRollout(workload),
            ) => workload,
            KubeRecord::Operation(Task::ScaleWorkload(scale)) => scale.workload,
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
            KubeRecord::Operation(task @ (Task::PauseRollout(id) | Task::ResumeRollout(id))) => {
                self.count(at, cluster, id);
                let workload = self.workloads.get_mut(&(cluster, id)).expect("it is followed");
                workload.paused = matches!(task, Task::PauseRollout(_));
                if let Some(row) = workload.row {
                    self.rows[row].progressed = at;
                }
            }
            KubeRecord::Operation(Task::ScaleWorkload(scale)) => {
                self.count(at, cluster, scale.workload);
                self.workloads.get_mut(&(cluster, scale.workload)).expect("it is followed").replicas = scale.replicas;
                self.judge(at, cluster, scale.workload);
                let cause = |all: &Self| {
                    let what = format!("scaled to {} pods", scale.replicas);
                    all.while_others_are_down(what, cluster, scale.workload, &[])
                };
                self.watch_quorum(at, cluster, scale.workload, cause);
            }
            KubeRecord::Pod(name, fact) => {
                self.count(at, cluster, name.workload);
                self.pod(at, cluster, name, fact);
                self.judge(at, cluster, name.workload);
                self.watch_quorum(at, cluster, name.workload, |all| all.pod_cause(at, cluster, name, fact));
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
        let mut quorum_lost = Vec::new();
        if let Some(row) = workload.row.replace(next) {
            let before = &mut self.rows[row];
            before.ended.get_or_insert(at);
            // A loss that lasts goes on in the new row.
            quorum_lost
                .extend(before.quorum_lost.last().filter(|(_, to, _)| to.is_none()).map(|(.., cause)| (at, None, cause.clone())));
            before.quorum_is_back(at);
        }
        self.rows.push(Row {
            cluster,
            workload: id,
            rollback,
            automatic: false,
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
            stale_deletions: 0,
            met: Met::default(),
            progressed: at,
            deadline_exceeded: None,
            quorum_lost,
            last_end: None,
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
            PodFact::Evicted(true) => self.ended_by = Some((cluster, name, EVICTION)),
            PodFact::TaintEvicted => self.ended_by = Some((cluster, name, "taint eviction")),
            PodFact::GarbageCollected => self.ended_by = Some((cluster, name, "pod garbage collector")),
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
        let mut revision = None;
        if let Some(pod) = workload.pods.get_mut(&name) {
            pod.terminating = true;
            revision = Some(pod.revision);
        }
        let zone = workload.zones.get(&name).copied();
        let row = workload.row;
        let steps = self.by_zone_aware.get_mut(&cluster).filter(|left| **left > 0);
        let ended_by = self.ended_by.take().filter(|(of, pod, _)| (*of, *pod) == (cluster, name));
        let by = if let Some((.., by)) = ended_by {
            by
        } else if let Some(left) = steps {
            *left -= 1;
            ZONE_AWARE
        } else if self.scenario.kube.clusters[cluster].workloads[name.workload].kind == Kind::Deployment {
            "Deployment controller"
        } else {
            "StatefulSet controller"
        };
        let Some(row) = row.map(|row| &mut self.rows[row]) else { return };
        row.last_end = Some((at, by));
        if row.ended.is_some() {
            return;
        }
        if revision != Some(row.revision) {
            row.progressed = row.progressed.max(at);
        }
        match row.batches.last_mut().filter(|batch| batch.at == at && batch.by == by) {
            Some(batch) => batch.pods.push((name, zone)),
            None => row.batches.push(Batch { at, by, pods: vec![(name, zone)] }),
        }
    }

    /// A rollout that `is_meant` goes on.
    fn progress(&mut self, at: Time, cluster: KubeClusterId, id: WorkloadId, is_meant: impl Fn(&Row) -> bool) {
        let row = self.workloads[&(cluster, id)].row.map(|row| &mut self.rows[row]);
        if let Some(row) = row.filter(|row| is_meant(row)) {
            row.progressed = row.progressed.max(at);
        }
    }

    /// Whether a replicated store has lost its quorum now, and by what `cause`, or has it again.
    fn watch_quorum(&mut self, at: Time, cluster: KubeClusterId, id: WorkloadId, cause: impl FnOnce(&Self) -> String) {
        let update = &self.scenario.kube.clusters[cluster].workloads[id].update;
        if !update.quorum {
            return;
        }
        let workload = self.workloads.get_mut(&(cluster, id)).expect("it is followed");
        let answers = workload.ready().answer(update);
        if std::mem::replace(&mut workload.answers, answers) == answers {
            return;
        }
        let Some(row) = workload.row else { return };
        if answers {
            self.rows[row].quorum_is_back(at);
        } else {
            let cause = cause(self);
            self.rows[row].quorum_lost.push((at, None, cause));
        }
    }

    /// What a fact of a pod says of a quorum that is lost with it.
    fn pod_cause(&self, at: Time, cluster: KubeClusterId, name: PodName, fact: PodFact) -> String {
        let (spec, workload) = (&self.scenario.kube.clusters[cluster], &self.workloads[&(cluster, name.workload)]);
        let row = workload.row.map(|row| &self.rows[row]);
        let end = row.and_then(|row| row.last_end).filter(|(when, _)| *when == at && fact == PodFact::Terminating);
        let batch = row.and_then(|row| row.batches.last()).filter(|batch| batch.at == at && end.is_some());
        let gone = batch.map_or_else(|| vec![name], |batch| batch.pods.iter().map(|(pod, _)| *pod).collect());
        let what = match end {
            Some((_, by)) => format!("{by} deleted {}", names(&gone, spec)),
            None => format!("{} was not ready any more", name.text(spec)),
        };
        self.while_others_are_down(what, cluster, name.workload, &gone)
    }

    /// `what`, and which pods wanted were missing or not ready besides these: ` while db-1 was not ready`.
    fn while_others_are_down(&self, what: String, cluster: KubeClusterId, id: WorkloadId, gone: &[PodName]) -> String {
        let spec = &self.scenario.kube.clusters[cluster];
        let down = self.workloads[&(cluster, id)].down(id);
        let others: Vec<PodName> = down.into_iter().filter(|pod| !gone.contains(pod)).collect();
        let were = if others.len() == 1 { "was" } else { "were" };
        if others.is_empty() { what } else { format!("{what} while {} {were} not ready", names(&others, spec)) }
    }

    /// Counts what has been so since the last change of a workload.
    fn count(&mut self, at: Time, cluster: KubeClusterId, id: WorkloadId) {
        let spec = &self.scenario.kube.clusters[cluster].workloads[id];
        let workload = self.workloads.get_mut(&(cluster, id)).expect("it is followed");
        let from = std::mem::replace(&mut workload.counted, at);
        let Some(row) = workload.row.map(|row| &mut self.rows[row]).filter(|_| at > from) else { return };
        row.met += workload.ready().met(from, at, &spec.update);
        if row.ended.is_some() {
            return;
        }
        let available = workload.available(row.revision, &spec.update, at);
        row.progressed = available.last.map_or(row.progressed, |last| last.max(row.progressed));
        if spec.kind == Kind::Deployment && available.are_all {
            // Since its last pod became available (`DeploymentComplete`).
            (row.ended, row.completed) = (available.last.map(|last| last.max(from)).or(Some(from)), true);
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
        let update = if spec.kind == Kind::Deployment { &spec.update } else { &Update::default() };
        if workload.available(row.revision, update, at).are_all {
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

/// Pods of a revision that are available.
#[derive(Clone, Copy, Debug)]
struct Available {
    /// When the last of them became so.
    last: Option<Time>,
    /// They are all the pods that there are, and as many as are wanted.
    are_all: bool,
}

const fn is_up(pod: &Pod) -> bool {
    pod.ready.is_some() && !pod.terminating
}

impl Workload {
    /// Wanted pods that are missing or not ready, and zones of these; none while as many as wanted are ready, beside new ones that start.
    fn unavailable(&self, id: WorkloadId) -> (u32, u32) {
        let up = self.pods.values().filter(|pod| is_up(pod)).count() as u32;
        if up >= self.replicas {
            return (0, 0);
        }
        let zones: BTreeSet<_> = self.down(id).into_iter().filter_map(|name| self.zones.get(&name)).collect();
        (self.replicas - up, zones.len() as u32)
    }

    /// Wanted pods that are missing or not ready. (Of a Deployment those that are there: missing ones have no names.)
    fn down(&self, id: WorkloadId) -> Vec<PodName> {
        let is_wanted = |name: &PodName| !matches!(name.tag, PodTag::Ordinal(ordinal) if ordinal >= self.replicas);
        let down = self.pods.iter().filter(|(name, pod)| !is_up(pod) && is_wanted(name)).map(|(name, _)| *name);
        let names = (0..self.replicas).map(|ordinal| PodName { workload: id, tag: PodTag::Ordinal(ordinal) });
        let is_set = self.zones.keys().any(|name| matches!(name.tag, PodTag::Ordinal(_)));
        let missing = names.filter(|name| is_set && !self.pods.contains_key(name));
        down.chain(missing).collect()
    }

    /// Its pods of a revision that are available by then.
    fn available(&self, revision: u32, update: &Update, by: Time) -> Available {
        let of = self.pods.values().filter(|pod| pod.revision == revision && is_up(pod));
        let times = of.filter_map(|pod| Some(pod.ready? + update.min_ready)).filter(|at| *at <= by);
        let (count, last) = times.fold((0, None), |(count, last), at| (count + 1, last.max(Some(at))));
        Available { last, are_all: count == self.pods.len() && count == self.replicas as usize }
    }

    /// Its pods that serve.
    fn ready(&self) -> ReadyPods {
        let ready = self.pods.values().filter(|pod| is_up(pod)).filter_map(|pod| Some((pod.revision, pod.ready?)));
        ReadyPods { wanted: self.replicas, pods: ready.collect() }
    }
}
