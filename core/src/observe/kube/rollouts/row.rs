//! A row of the table of rollouts.

use std::collections::BTreeSet;

use super::workload::{Batch, Loss, Pod};
use super::{DEPLOYMENT, Rollouts, STATEFUL_SET, ZONE_AWARE};
use crate::ids::{KubeClusterId, WorkloadId, ZoneId};
use crate::kernel::time::{Duration, Time};
use crate::kube::name::{PodName, PodTag};
use crate::report::{BatchReport, PauseReport, QuorumLossReport, RolloutReport, length, seconds};
use crate::rollout::service::Met;

#[derive(Clone, Debug)]
pub(super) struct Row {
    pub(super) cluster: KubeClusterId,
    pub(super) workload: WorkloadId,
    pub(super) rollback: bool,
    pub(super) automatic: bool,
    pub(super) revision: u32,
    pub(super) asked: Time,
    pub(super) ended: Option<Time>,
    /// When the next rollout of its workload began.
    pub(super) superseded: Option<Time>,
    pub(super) completed: bool,
    /// What it waited for when it was superseded, or the report was made.
    pub(super) waits_for: Option<String>,
    pub(super) batches: Vec<Batch>,
    /// Pods that ran with a bad revision, and for how long those did that are gone.
    pub(super) exposed: (BTreeSet<PodName>, Duration),
    pub(super) exposed_zones: BTreeSet<ZoneId>,
    pub(super) most_unavailable: u32,
    pub(super) zones_disrupted: u32,
    pub(super) several_zones: Duration,
    pub(super) stale_deletions: u32,
    pub(super) met: Met,
    /// When it last made progress, or will.
    pub(super) progressed: Time,
    pub(super) deadline_exceeded: Option<Time>,
    /// When its alarm paused it, and until when.
    pub(super) pauses: Vec<(Time, Option<Time>)>,
}

impl Row {
    /// Its ZoneAwareUpdate has looked: its alarm pauses it, or does not.
    pub(super) fn is_paused(&mut self, at: Time, paused: bool) {
        match self.pauses.last_mut() {
            Some((_, to @ None)) if !paused => *to = Some(at),
            Some((_, None)) => {}
            _ if paused => self.pauses.push((at, None)),
            _ => {}
        }
    }

    /// As it stands `now`.
    pub(super) fn report(&self, now: Time, all: &Rollouts) -> RolloutReport {
        let spec = &all.scenario.kube.clusters[self.cluster];
        let workload = &spec.workloads[self.workload];
        let bad = workload.update.revision(self.revision).is_bad();
        let brought = all.brought(self.cluster, self.workload, self.revision).map(|row| &all.rows[row]);
        let is_last = brought.is_some_and(|row| std::ptr::eq(row, self));
        let runs = |pod: &&Pod| bad && is_last && pod.revision == self.revision;
        let followed = &all.workloads[&(self.cluster, self.workload)];
        let of_pods = followed.pods.values().filter(runs).filter_map(|pod| pod.started);
        let running: f64 = of_pods.map(|since| length(now.since(since))).sum();
        // What is wrong with a revision may show after its rollout.
        let until = if bad { self.superseded } else { self.ended };
        let quorum_loss = |loss: &Loss| {
            let (from, to) = (loss.from.max(self.asked), loss.to.unwrap_or(now).min(until.unwrap_or(now)));
            let row =
                || QuorumLossReport { from_s: seconds(from), duration_s: length(to.since(from)), cause: loss.cause.clone() };
            (from < to).then(row)
        };
        let pause = |&(from, to): &(Time, Option<Time>)| {
            let to = to.or(self.superseded).unwrap_or(now);
            PauseReport { from_s: seconds(from), duration_s: length(to.since(from)) }
        };
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
            automatic: self.automatic,
            revision: self.revision,
            bad,
            requested_s: seconds(self.asked),
            duration_s: length(self.ended.unwrap_or(now).since(self.asked)),
            completed: self.completed,
            waits_for: self.waits_for.clone().filter(|_| !self.completed),
            batches: self.batches.iter().map(batch).collect(),
            sequence: self.sequence(),
            exposed_pods: self.exposed.0.len() as u32,
            exposed_zones: self.exposed_zones.len() as u32,
            exposed_pod_s: length(self.exposed.1) + running,
            most_unavailable: self.most_unavailable,
            zones_disrupted: self.zones_disrupted,
            several_zones_s: length(self.several_zones),
            stale_deletions: self.stale_deletions,
            failed_s: self.met.failed,
            slow_s: self.met.slow,
            deadline_exceeded_s: self.deadline_exceeded.map(seconds),
            paused_by_alarm: self.pauses.iter().map(pause).collect(),
            quorum_lost: followed.losses.iter().filter_map(quorum_loss).collect(),
        }
    }

    /// As the README of ZoneAwareUpdate writes it: `[[28], [27, 22]], [[29, 26]]`.
    fn sequence(&self) -> String {
        let mut zones: Vec<(Option<ZoneId>, Vec<String>)> = Vec::new();
        for batch in self.batches.iter().filter(|batch| [ZONE_AWARE, STATEFUL_SET, DEPLOYMENT].contains(&batch.by)) {
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
