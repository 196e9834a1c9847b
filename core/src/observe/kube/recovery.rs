//! How what was lost came back: for each pod that stopped serving, when that was noticed, when it was replaced, and what each step
//! waited for.
//!
//! ```text
//!  lost --> detected --> evicted --> (removed) --> created --> scheduled --> attached --> started --> ready
//!           lease         toleration   StatefulSets   the replacement's own steps
//! ```
//!
//! All moments are records; none is estimated. A pod that comes back by itself, because its node did, skips what it did not need.
//! Agents of a `DaemonSet` go and come with their node and are left out.

use std::collections::BTreeMap;

use super::serving::Serving;
use crate::ids::{KubeClusterId, WorkloadId};
use crate::kernel::time::{Duration, Time};
use crate::kube::name::{NodeName, PodName, PodTag};
use crate::kube::record::{KubeRecord, Loss, NodeFact, PodFact, Ready, Reason};
use crate::scenario::Scenario;

/// Rows kept; what happens after that is counted only.
const LIMIT: usize = 10_000;

/// Why a pod stopped serving.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum LossReason {
    /// Its node did.
    Node(Loss),
    /// It was asked to end while it served: an eviction, a roll-out.
    Requested,
    /// It was deleted by force, because the drain of its node had timed out.
    DrainTimedOut,
}

/// A step of a recovery, in the order they are taken.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Step {
    /// The API knows: the node is `Unknown`.
    Detected,
    /// The pod is to end.
    Evicted,
    /// Its object is gone.
    Removed,
    /// Its replacement was made.
    Created,
    /// The replacement has a node.
    Scheduled,
    /// The replacement has its volume.
    Attached,
    /// The replacement's process runs.
    Started,
    /// It is ready.
    Ready,
}

impl Step {
    /// All, in order.
    pub const ALL: [Self; 8] = [
        Self::Detected,
        Self::Evicted,
        Self::Removed,
        Self::Created,
        Self::Scheduled,
        Self::Attached,
        Self::Started,
        Self::Ready,
    ];
}

/// One pod that stopped serving, and how it was replaced.
#[derive(Clone, Debug)]
pub struct Row {
    /// The cluster it lives in.
    pub cluster: KubeClusterId,
    /// The pod.
    pub pod: PodName,
    /// Its node.
    pub node: NodeName,
    /// Why it stopped.
    pub why: LossReason,
    /// Time of the loss.
    pub lost: Time,
    /// When each step was taken.
    pub steps: [Option<Time>; Step::ALL.len()],
    /// What took its place.
    pub replacement: Option<PodName>,
    /// On another node.
    pub moved: bool,
    /// Why no node suited the replacement, last.
    pub refused: Option<Reason>,
    /// Fewer pods are wanted now, or others took its place before: nothing does now.
    pub surplus: bool,
    /// How long its budget had refused its eviction by then.
    pub eviction_refused: Option<Duration>,
}

impl Row {
    /// When a step was taken.
    pub fn at(&self, step: Step) -> Option<Time> {
        self.steps[step as usize]
    }
}

/// Follows all losses.
#[derive(Clone, Debug, Default)]
pub struct Recovery {
    rows: Vec<Row>,
    omitted: u64,
    /// Losses that are not over: by the pod that was lost, and by the pod that takes its place.
    open: BTreeMap<(KubeClusterId, PodName), usize>,
    replacing: BTreeMap<(KubeClusterId, PodName), usize>,
    /// Of workloads that were scaled: pods wanted, and those above that which have not been deleted yet.
    scaled: BTreeMap<(KubeClusterId, WorkloadId), (u32, u32)>,
    /// Since when evictions of pods have been refused.
    refused: BTreeMap<(KubeClusterId, PodName), Time>,
}

impl Recovery {
    /// The rows, in the order of the losses.
    pub fn rows(&self) -> impl Iterator<Item = &Row> {
        // Who was asked to end and has no successor was not lost.
        let is_loss = |row: &&Row| row.why != LossReason::Requested || (row.replacement.is_some() && !row.surplus);
        self.rows.iter().filter(is_loss)
    }

    /// Losses beyond [`LIMIT`].
    pub const fn omitted(&self) -> u64 {
        self.omitted
    }

    /// Takes note of a fact, before `serving` does.
    pub fn record(&mut self, at: Time, cluster: KubeClusterId, record: &KubeRecord, serving: &Serving, scenario: &Scenario) {
        match *record {
            KubeRecord::Node(node, NodeFact::Lost(Some(loss))) => {
                for (pod, _) in serving.pods_on(cluster, node).filter(|(_, ready)| *ready) {
                    self.lose(at, cluster, pod, node, LossReason::Node(loss));
                }
            }
            KubeRecord::Node(node, NodeFact::Lost(None)) => {
                // Nobody noticed that they were cut off: they serve as before.
                for (pod, _) in serving.pods_on(cluster, node).filter(|(_, ready)| *ready) {
                    self.step(at, cluster, pod, Step::Ready);
                }
            }
            KubeRecord::Node(node, NodeFact::Ready(Ready::Unknown)) => {
                for (pod, _) in serving.pods_on(cluster, node) {
                    self.step(at, cluster, pod, Step::Detected);
                }
            }
            KubeRecord::Pod(pod, fact) if !matches!(pod.tag, PodTag::Agent(_)) => {
                self.pod(at, cluster, pod, fact, serving, scenario);
            }
            _ => {}
        }
    }

    /// A workload that was to have `at_first` pods is to have so many from now on. (Pods that have been asked to end already, and are not
    /// replaced yet, are fewer by themselves.)
    pub fn scale(&mut self, cluster: KubeClusterId, workload: WorkloadId, at_first: u32, replicas: u32) {
        let missing = self.open.iter().filter(|((of, pod), index)| {
            let row = &self.rows[**index];
            *of == cluster && pod.workload == workload && row.replacement.is_none() && row.at(Step::Evicted).is_some()
        });
        let missing = missing.count() as u32;
        let (wanted, surplus) = self.scaled.entry((cluster, workload)).or_insert((at_first, 0));
        *surplus = (*wanted + *surplus).saturating_sub(replicas + missing);
        *wanted = replicas;
    }

    /// Whether a pod that is to end is one too many.
    fn is_surplus(&mut self, cluster: KubeClusterId, pod: PodName) -> bool {
        let Some((wanted, surplus)) = self.scaled.get_mut(&(cluster, pod.workload)) else { return false };
        match pod.tag {
            PodTag::Ordinal(ordinal) => ordinal >= *wanted,
            PodTag::Replica { .. } | PodTag::Agent(_) => {
                let is_one = *surplus > 0;
                *surplus = surplus.saturating_sub(1);
                is_one
            }
        }
    }

    /// Whether a pod that is to end, of a Deployment, is not missed: as many others serve as are wanted, as a rollout has made them first.
    fn is_spare(&self, cluster: KubeClusterId, pod: PodName, wanted: u32, serving: &Serving) -> bool {
        let is_replica = matches!(pod.tag, PodTag::Replica { .. });
        is_replica && !self.open.contains_key(&(cluster, pod)) && serving.others_that_serve(cluster, pod) >= wanted
    }

    /// A pod that is to end has a successor already, if there are as many other pods as are wanted: one that is not ready yet.
    fn take_over(&mut self, at: Time, cluster: KubeClusterId, pod: PodName, wanted: u32, serving: &Serving) {
        let Some(index) = self.open.get(&(cluster, pod)).copied() else { return };
        let is_replica = matches!(pod.tag, PodTag::Replica { .. });
        if !is_replica || self.rows[index].replacement.is_some() || serving.others(cluster, pod) < wanted {
            return;
        }
        let is_free = |name: PodName| name != pod && !self.replacing.contains_key(&(cluster, name));
        let Some((next, node)) = serving.not_ready(cluster, pod.workload).find(|(name, _)| is_free(*name)) else { return };
        let row = &mut self.rows[index];
        (row.replacement, row.steps[Step::Created as usize]) = (Some(next), Some(at));
        row.steps[Step::Scheduled as usize] = node.map(|_| at);
        row.moved = node.is_some_and(|node| row.node != node);
        self.replacing.insert((cluster, next), index);
    }

    fn pod(&mut self, at: Time, cluster: KubeClusterId, pod: PodName, fact: PodFact, serving: &Serving, scenario: &Scenario) {
        let at_first = || scenario.kube.clusters[cluster].workloads[pod.workload].replicas;
        let wanted = self.scaled.get(&(cluster, pod.workload)).map_or_else(at_first, |(wanted, _)| *wanted);
        match fact {
            PodFact::Created => self.replace(at, cluster, pod),
            PodFact::Bound(node) => {
                if let Some(index) = self.replacing.get(&(cluster, pod)) {
                    let row = &mut self.rows[*index];
                    row.moved = row.node != node;
                }
                self.replacement(at, cluster, pod, Step::Scheduled);
            }
            PodFact::Unschedulable(reason) => {
                if let Some(row) = self.replacing.get(&(cluster, pod)) {
                    self.rows[*row].refused = Some(reason);
                }
            }
            PodFact::Started { .. } => self.replacement(at, cluster, pod, Step::Started),
            PodFact::Ready(true) => {
                self.step(at, cluster, pod, Step::Ready);
                self.replacement(at, cluster, pod, Step::Ready);
            }
            PodFact::Terminating if self.is_surplus(cluster, pod) || self.is_spare(cluster, pod, wanted, serving) => {
                let replaced = self.replacing.remove(&(cluster, pod));
                for index in self.open.remove(&(cluster, pod)).into_iter().chain(replaced) {
                    self.rows[index].surplus = true;
                }
            }
            PodFact::ForceDeleted => self.end(at, cluster, pod, LossReason::DrainTimedOut, serving),
            PodFact::Terminating => {
                self.end(at, cluster, pod, LossReason::Requested, serving);
                self.step(at, cluster, pod, Step::Evicted);
                self.start_over(cluster, pod);
                self.take_over(at, cluster, pod, wanted, serving);
            }
            PodFact::Removed => {
                self.refused.remove(&(cluster, pod));
                self.step(at, cluster, pod, Step::Removed);
            }
            PodFact::Evicted(false) | PodFact::Denied => drop(self.refused.entry((cluster, pod)).or_insert(at)),
            PodFact::VolumeAttached(_) => self.replacement(at, cluster, pod, Step::Attached),
            PodFact::Ready(false)
            | PodFact::AttachFailed(_)
            | PodFact::VolumeDetached { .. }
            | PodFact::OrphanedContainer(_)
            | PodFact::Evicted(true)
            | PodFact::SeveralBudgets
            | PodFact::TaintEvicted
            | PodFact::GarbageCollected
            | PodFact::Revision(_)
            | PodFact::VolumeDiscarded => {}
        }
    }

    /// A pod is asked to end: a loss, if it serves.
    fn end(&mut self, at: Time, cluster: KubeClusterId, pod: PodName, why: LossReason, serving: &Serving) {
        if serving.serves(cluster, pod)
            && let Some(node) = serving.node_of(cluster, pod)
        {
            self.lose(at, cluster, pod, node, why);
        }
    }

    fn lose(&mut self, at: Time, cluster: KubeClusterId, pod: PodName, node: NodeName, why: LossReason) {
        if matches!(pod.tag, PodTag::Agent(_)) || self.open.contains_key(&(cluster, pod)) {
            return;
        }
        if self.rows.len() == LIMIT {
            self.omitted += 1;
            return;
        }
        self.open.insert((cluster, pod), self.rows.len());
        let eviction_refused = self.refused.get(&(cluster, pod)).map(|since| at.since(*since));
        let steps = [None; Step::ALL.len()];
        self.rows.push(Row {
            cluster,
            pod,
            node,
            why,
            lost: at,
            steps,
            replacement: None,
            moved: false,
            refused: None,
            surplus: false,
            eviction_refused,
        });
    }

    /// The lost pod itself takes a step. One that is ready again, or gone with a successor on its way, is followed no longer.
    fn step(&mut self, at: Time, cluster: KubeClusterId, pod: PodName, step: Step) {
        let Some(index) = self.open.get(&(cluster, pod)).copied() else { return };
        let row = &mut self.rows[index];
        if row.replacement.is_none() || step < Step::Created {
            row.steps[step as usize].get_or_insert(at);
        }
        if step == Step::Ready || (step == Step::Removed && row.replacement.is_some()) {
            self.open.remove(&(cluster, pod));
        }
    }

    /// A new pod takes the place of the one lost first that has no successor.
    fn replace(&mut self, at: Time, cluster: KubeClusterId, pod: PodName) {
        let vacant = |row: &Row| row.replacement.is_none() && row.at(Step::Ready).is_none();
        let suits = |row: &Row| match pod.tag {
            PodTag::Ordinal(_) => row.pod == pod && row.at(Step::Removed).is_some(),
            PodTag::Replica { .. } | PodTag::Agent(_) => row.at(Step::Evicted).is_some(),
        };
        let of = |workload: WorkloadId| PodName { workload, tag: PodTag::Replica { template: 0, suffix: 0 } };
        let kin = self
            .open
            .range((cluster, of(pod.workload))..)
            .take_while(|((at, other), _)| *at == cluster && other.workload == pod.workload);
        let index = kin.map(|(_, index)| *index).filter(|index| vacant(&self.rows[*index]) && suits(&self.rows[*index])).min();
        let Some(index) = index else { return };
        let row = &mut self.rows[index];
        (row.replacement, row.steps[Step::Created as usize]) = (Some(pod), Some(at));
        let gone = row.at(Step::Removed).is_some().then_some((cluster, row.pod));
        self.replacing.insert((cluster, pod), index);
        gone.map(|gone| self.open.remove(&gone));
    }

    fn replacement(&mut self, at: Time, cluster: KubeClusterId, pod: PodName, step: Step) {
        let Some(index) = self.replacing.get(&(cluster, pod)).copied() else { return };
        self.rows[index].steps[step as usize].get_or_insert(at);
        if step == Step::Ready {
            self.replacing.remove(&(cluster, pod));
        }
    }

    /// A replacement is to end before it was ready: another must come.
    fn start_over(&mut self, cluster: KubeClusterId, pod: PodName) {
        let Some(index) = self.replacing.remove(&(cluster, pod)) else { return };
        let row = &mut self.rows[index];
        row.replacement = None;
        row.steps[Step::Created as usize..].fill(None);
        self.open.insert((cluster, row.pod), index);
    }
}
