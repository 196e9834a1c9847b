//! A workload whose rollouts are followed: its pods, and which of them serve.

use std::collections::{BTreeMap, BTreeSet};

use super::super::serving::Serving;
use crate::ids::{KubeClusterId, WorkloadId, ZoneId};
use crate::kernel::time::{Duration, Time};
use crate::kube::name::{PodName, PodTag};
use crate::kube::spec::update::{Update, UpdateStrategy};
use crate::kube::spec::{self, Kind};
use crate::rollout::rule::zone_aware_update::Verdict;
use crate::rollout::service::ReadyPods;

/// A workload that is followed.
#[derive(Clone, Debug)]
pub(super) struct Workload {
    /// Pods wanted.
    replicas: u32,
    /// Its pods have ordinals.
    is_set: bool,
    pub(super) pods: BTreeMap<PodName, Pod>,
    /// Zones of pods, also of those that are gone.
    pub(super) zones: BTreeMap<PodName, ZoneId>,
    /// Zones in which pods last served: a pod that has never served is missed nowhere.
    served_in: BTreeMap<PodName, ZoneId>,
    /// Most pods that served at once, at most as many as are wanted: as many can be missed.
    served: u32,
    /// Pods of a Deployment that served and do not any more, the latest last; at most as many as are missing.
    lost: Vec<PodName>,
    /// Pods that were asked to end at the last moment at which any was.
    pub(super) ends: Vec<Batch>,
    /// Revisions made, the current one, and the one before.
    pub(super) revisions: (u32, u32, u32),
    /// Pods of a Deployment that are to go because fewer are wanted.
    surplus: u32,
    /// Its last rollout.
    pub(super) row: Option<usize>,
    /// What the zone-aware update of it does.
    pub(super) verdict: Option<Verdict>,
    /// Its controllers have done something, or its pods have changed, since its last rollout was asked for.
    pub(super) seen: bool,
    /// Its rollout is paused.
    pub(super) paused: bool,
    /// Its ready pods can answer requests.
    pub(super) answers: bool,
    /// Times without quorum of a replicated store.
    pub(super) losses: Vec<Loss>,
    /// Until when its row has been counted.
    pub(super) counted: Time,
}

#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Pod {
    pub(super) revision: u32,
    pub(super) started: Option<Time>,
    pub(super) ready: Option<Time>,
    pub(super) terminating: bool,
    /// It serves, whatever its API knows of that.
    serves: bool,
}

impl Pod {
    const fn is_up(&self) -> bool {
        self.ready.is_some() && !self.terminating
    }

    const fn serves(&self) -> bool {
        self.serves && !self.terminating
    }
}

/// Pods that were asked to end at one moment, by one.
#[derive(Clone, Debug)]
pub(super) struct Batch {
    pub(super) at: Time,
    pub(super) by: &'static str,
    pub(super) pods: Vec<(PodName, Option<ZoneId>)>,
}

/// A pod is asked to end: one more of the last batch, or the first of another.
pub(super) fn add(batches: &mut Vec<Batch>, at: Time, by: &'static str, pod: (PodName, Option<ZoneId>)) {
    match batches.last_mut().filter(|batch| batch.at == at && batch.by == by) {
        Some(batch) => batch.pods.push(pod),
        None => batches.push(Batch { at, by, pods: vec![pod] }),
    }
}

/// A time without quorum.
#[derive(Clone, Debug)]
pub(super) struct Loss {
    pub(super) from: Time,
    /// `None`: it lasts.
    pub(super) to: Option<Time>,
    pub(super) cause: String,
}

/// Pods of a revision that are available.
#[derive(Clone, Copy, Debug)]
pub(super) struct Available {
    /// When the last of them became so.
    pub(super) last: Option<Time>,
    /// They are all the pods that are not terminating, and as many as are wanted.
    pub(super) are_all: bool,
}

impl Workload {
    /// One without pods yet.
    pub(super) fn new(spec: &spec::Workload) -> Self {
        let (pods, zones, served_in, served, lost, ends, losses) = Default::default();
        let (revisions, surplus, row, verdict, seen, paused, answers) = Default::default();
        let (replicas, is_set) = (spec.replicas, matches!(spec.kind, Kind::StatefulSet { .. }));
        let counted = Time::ZERO;
        Self {
            replicas,
            is_set,
            pods,
            zones,
            served_in,
            served,
            lost,
            ends,
            revisions,
            surplus,
            row,
            verdict,
            seen,
            paused,
            answers,
            losses,
            counted,
        }
    }

    /// Another number of pods is wanted.
    pub(super) fn scale(&mut self, replicas: u32) {
        self.surplus = (self.surplus + self.replicas).saturating_sub(replicas);
        self.replicas = replicas;
        self.served = self.served.min(replicas);
        self.served_in.retain(|name, _| !matches!(name.tag, PodTag::Ordinal(ordinal) if ordinal >= replicas));
        self.forget_replaced();
    }

    /// Whether a pod that goes is one of those that are too many because fewer are wanted.
    pub(super) fn is_scaled_away(&mut self, name: PodName) -> bool {
        if let PodTag::Ordinal(ordinal) = name.tag {
            return ordinal >= self.replicas;
        }
        let is_surplus = self.surplus > 0;
        self.surplus = self.surplus.saturating_sub(1);
        is_surplus
    }

    /// How many pods are wanted, in words.
    pub(super) fn wanted(&self) -> String {
        format!("{} {}", self.replicas, if self.replicas == 1 { "pod" } else { "pods" })
    }

    /// Whether any pod is wanted.
    pub(super) const fn is_wanted(&self) -> bool {
        self.replicas > 0
    }

    /// Whether a pod serves in truth.
    pub(super) fn serves(&self, name: PodName) -> bool {
        self.pods.get(&name).is_some_and(Pod::serves)
    }

    /// Takes note of whether a pod serves in truth.
    pub(super) fn look(&mut self, name: PodName, cluster: KubeClusterId, serving: &Serving) {
        if let Some(pod) = self.pods.get_mut(&name) {
            pod.serves = serving.serves(cluster, name);
        }
    }

    /// A revision is rolled out again: its pods that run now, and for how long each ran until then.
    pub(super) fn restart_exposure(&mut self, revision: u32, at: Time) -> impl Iterator<Item = (PodName, Duration)> {
        let of = self.pods.iter_mut().filter(move |(_, pod)| pod.revision == revision);
        of.filter_map(move |(name, pod)| Some((*name, at.since(pod.started.replace(at)?))))
    }

    /// Whether a pod serves, as its API has it.
    pub(super) fn is_up(&self, name: PodName) -> bool {
        self.pods.get(&name).is_some_and(Pod::is_up)
    }

    /// A pod that served before, or not, has changed.
    pub(super) fn pod_changed(&mut self, name: PodName, was_up: bool) {
        match (was_up, self.is_up(name)) {
            (true, false) => self.lost.push(name),
            (false, true) => {
                self.lost.retain(|lost| *lost != name);
                if let Some(zone) = self.zones.get(&name) {
                    self.served_in.insert(name, *zone);
                }
                self.served = self.served.max(self.up().min(self.replicas));
            }
            (true, true) | (false, false) => {}
        }
        self.forget_replaced();
    }

    /// A new pod takes the place of the one that was lost first.
    fn forget_replaced(&mut self) {
        let replaced = self.lost.len().saturating_sub(self.missing() as usize);
        self.lost.drain(..replaced);
    }

    /// Its pods that serve, as its API has it.
    fn up(&self) -> u32 {
        self.pods.values().filter(|pod| pod.is_up()).count() as u32
    }

    /// Pods that served beyond those that do.
    fn missing(&self) -> u32 {
        self.served.saturating_sub(self.up())
    }

    /// Wanted pods that served and do not, and the zones in which they did: of a Deployment those that served last, for new pods that start
    /// and old ones that others have replaced are not missed.
    pub(super) fn unavailable(&self, id: WorkloadId) -> (u32, u32) {
        let (down, number) = if self.is_set {
            let down: Vec<_> = self.down(id).into_iter().filter(|name| self.served_in.contains_key(name)).collect();
            let number = down.len() as u32;
            (down, number)
        } else {
            (self.lost.clone(), self.missing())
        };
        let zones: BTreeSet<_> = down.iter().filter_map(|name| self.served_in.get(name)).collect();
        (number, zones.len() as u32)
    }

    /// Names of the wanted pods of a StatefulSet. (Those of a Deployment have none before they are made.)
    fn names(&self, id: WorkloadId) -> impl Iterator<Item = PodName> {
        let number = if self.is_set { self.replicas } else { 0 };
        (0..number).map(move |ordinal| PodName { workload: id, tag: PodTag::Ordinal(ordinal) })
    }

    /// Wanted pods of a StatefulSet that are missing or not ready.
    pub(super) fn down(&self, id: WorkloadId) -> Vec<PodName> {
        self.names(id).filter(|name| !self.is_up(*name)).collect()
    }

    /// Wanted pods of a StatefulSet that do not serve in truth.
    pub(super) fn missed(&self, id: WorkloadId) -> Vec<PodName> {
        self.names(id).filter(|name| !self.serves(*name)).collect()
    }

    /// Pods of a revision that are not ready yet, or not any more.
    pub(super) fn not_up(&self, revision: u32) -> Vec<PodName> {
        let of = self.pods.iter().filter(|(_, pod)| pod.revision == revision && !pod.terminating && pod.ready.is_none());
        of.map(|(name, _)| *name).collect()
    }

    /// Pods of a revision that are ready, but not available by then.
    pub(super) fn not_available(&self, revision: u32, update: &Update, by: Time) -> Vec<PodName> {
        let is_early = |pod: &Pod| pod.ready.is_some_and(|ready| ready + update.min_ready > by);
        let of = self.pods.iter().filter(|(_, pod)| pod.revision == revision && !pod.terminating && is_early(pod));
        of.map(|(name, _)| *name).collect()
    }

    /// Whether all of the pods wanted, and no others, are ready and of a revision, but for those that the partition of the StatefulSet
    /// leaves alone (`kubectl rollout status`: "partitioned roll out complete").
    pub(super) fn has_rolled_out(&self, revision: u32, update: &Update) -> bool {
        let partition = match update.strategy {
            UpdateStrategy::RollingUpdate(rolling) => rolling.partition,
            UpdateStrategy::OnDelete => 0,
        };
        let is_left = |name: &PodName| matches!(name.tag, PodTag::Ordinal(ordinal) if ordinal < partition);
        let is_right = |(name, pod): (&PodName, &Pod)| pod.is_up() && (pod.revision == revision || is_left(name));
        self.pods.len() == self.replicas as usize && self.pods.iter().all(is_right)
    }

    /// Its pods of a revision that are available by then.
    pub(super) fn available(&self, revision: u32, update: &Update, by: Time) -> Available {
        let of = self.pods.values().filter(|pod| pod.revision == revision && pod.is_up());
        let times = of.filter_map(|pod| Some(pod.ready? + update.min_ready)).filter(|at| *at <= by);
        let (count, last) = times.fold((0, None), |(count, last), at| (count + 1, last.max(Some(at))));
        let active = self.pods.values().filter(|pod| !pod.terminating).count();
        Available { last, are_all: count == active && count == self.replicas as usize }
    }

    /// Whether a pod that stays is of another revision.
    pub(super) fn has_outdated(&self, revision: u32) -> bool {
        self.pods.values().any(|pod| !pod.terminating && pod.revision != revision)
    }

    /// Its pods that serve in truth.
    pub(super) fn ready(&self) -> ReadyPods {
        let ready = self.pods.values().filter(|pod| pod.serves()).filter_map(|pod| Some((pod.revision, pod.ready?)));
        ReadyPods { wanted: self.replicas, pods: ready.collect() }
    }
}
