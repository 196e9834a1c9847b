//! ZoneAwareUpdate: which pods of a StatefulSet are deleted next, so that they come back with the new revision
//! (`controllers/zau_controller.go`).
//!
//! ```text
//!  nothing is terminating, all new pods are ready
//!    --> old pods by zone, zones in alphabetical order, the highest ordinal first
//!    --> the first factor^step of the first zone, at most maxUnavailable, are deleted; the step grows
//! ```

use std::cmp::Reverse;
use std::collections::{BTreeMap, BTreeSet};

use serde::{Deserialize, Serialize};
use zonefall_kernel::time::{Duration, Time};
use zonefall_kernel::traced;
pub use zonefall_kube::spec::zone_aware::{Rollback, ZoneAwareUpdate};

#[cfg(test)]
mod tests;

/// A paused rollout is looked at again after so long (`requeueInterval`).
pub const REQUEUE: Duration = Duration::from_secs(10);

/// The StatefulSet.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct StatefulSet<Revision> {
    /// Its update strategy is `OnDelete`.
    pub on_delete: bool,
    /// Pods that there are (`status.replicas`).
    pub replicas: u32,
    /// Those of them that are ready (`status.readyReplicas`).
    pub ready_replicas: u32,
    /// The revision that all pods are to have (`status.updateRevision`).
    pub update_revision: Revision,
}

/// A pod of the StatefulSet.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Pod<Zone> {
    /// Its number.
    pub ordinal: u32,
    /// Zone of its node, if that is known.
    pub zone: Option<Zone>,
    /// Its revision.
    pub revision: PodRevision,
    /// It is in phase Running and has the condition Ready.
    pub is_ready: bool,
    /// It is terminating.
    pub is_terminating: bool,
}

/// Revision of a pod.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum PodRevision {
    /// It has no label that says so.
    Unlabelled,
    /// The one that all pods are to have.
    New,
    /// An older one that all pods had once.
    Old,
    /// One whose rollout did not finish before the next began, and that the pod has had since then.
    Unfinished(Time),
}

impl PodRevision {
    const fn is_old(self) -> bool {
        matches!(self, Self::Old | Self::Unfinished(_))
    }
}

/// Status of a ZoneAwareUpdate.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Status<Zone: Ord, Revision> {
    /// Steps taken with this revision (`updateStep`).
    pub update_step: u32,
    /// Revision of the last step or pause (`updateRevision`); `None`: there was none yet.
    pub update_revision: Option<Revision>,
    /// Pods that the last step deleted (`deletedReplicas`).
    pub deleted_replicas: u32,
    /// Pods of older revisions by zone, as the last step found them (`oldReplicas`).
    pub old_replicas: BTreeMap<Zone, u32>,
    /// The alarm holds the rollout up (`pausedRollout`).
    pub paused: bool,
}

impl<Zone: Ord, Revision> Default for Status<Zone, Revision> {
    fn default() -> Self {
        Self::new()
    }
}

impl<Zone: Ord, Revision> Status<Zone, Revision> {
    /// Nothing was rolled out yet.
    pub const fn new() -> Self {
        Self { update_step: 0, update_revision: None, deleted_replicas: 0, old_replicas: BTreeMap::new(), paused: false }
    }
}

/// State of the alarm that pauses a rollout (`pauseRolloutAlarm`).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Alarm {
    /// All is well.
    Ok,
    /// It rings.
    Alarm,
    /// Too little is known to say.
    InsufficientData,
    /// There is no answer.
    Unreadable,
}

/// What one pass of the controller comes to.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum Verdict {
    /// The update strategy is not `OnDelete`: somebody else replaces the pods.
    NotOnDelete,
    /// It waits for a pod that is terminating.
    Terminating,
    /// It waits for a pod of the new revision that is not ready: without any time-out.
    NewPodNotReady,
    /// All pods are of the new revision.
    Done,
    /// It waits, because old pods of several zones are not ready.
    SeveralZonesNotReady,
    /// It waits, because pods are not ready, and none of them is an old one in the zone whose turn it is.
    OtherZoneNotReady,
    /// The alarm rings.
    Paused,
    /// The alarm cannot be read.
    AlarmUnreadable,
    /// No zone of an old pod is known. (The program takes the first of no zones and crashes.)
    NoZone,
    /// Pods are deleted.
    Deletes,
    /// Pods would be deleted, but for the dry run.
    DryRun,
    /// `maxUnavailable` is 0, or an `exponentialFactor` below 1 has come to no pod.
    NothingAllowed,
    /// The zone before is to serve for a while. (The program never waits so; people do.)
    Bakes,
}

traced! {
    enum Verdict {
        NotOnDelete = 0,
        Terminating = 1,
        NewPodNotReady = 2,
        Done = 3,
        SeveralZonesNotReady = 4,
        OtherZoneNotReady = 5,
        Paused = 6,
        AlarmUnreadable = 7,
        NoZone = 8,
        Deletes = 9,
        DryRun = 10,
        NothingAllowed = 11,
        Bakes = 12,
    }
}

impl Verdict {
    /// Whether the pass ends with an error.
    pub const fn is_error(self) -> bool {
        matches!(self, Self::AlarmUnreadable | Self::NoZone)
    }
}

/// One pass of the controller.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Step<Zone: Ord, Revision> {
    /// What it comes to.
    pub verdict: Verdict,
    /// Ordinals of the pods that are deleted, in order.
    pub deleted: Vec<u32>,
    /// The status afterwards.
    pub status: Status<Zone, Revision>,
    /// After how long the controller looks again on its own.
    pub requeue: Option<Duration>,
}

/// Most pods that a step may delete: the whole part of factor^step, and at most `max_unavailable`. A factor of 0: `max_unavailable`.
pub fn max_delete(max_unavailable: u32, update_step: u32, exponential_factor: f64) -> u32 {
    // The program compares with zero just like this.
    if exponential_factor.abs() <= 0.0 {
        return max_unavailable;
    }
    // `as` cuts what is larger, and what is below zero.
    let grown = libm::pow(exponential_factor, update_step.into()).min(f64::from(i32::MAX)) as u32;
    grown.min(max_unavailable)
}

/// Old pods by zone in the status, when these numbers were found now: zones that it knows and that have none left count zero.
pub fn old_replicas<Zone: Ord + Clone>(before: &BTreeMap<Zone, u32>, found: &BTreeMap<Zone, u32>) -> BTreeMap<Zone, u32> {
    let done = before.keys().map(|zone| (zone.clone(), 0));
    done.chain(found.iter().map(|(zone, count)| (zone.clone(), *count))).collect()
}

/// One pass of the controller over the pods of its StatefulSet, in any order. `alarm`: its state, if one is configured.
pub fn step<Zone: Ord + Clone, Revision: Clone + PartialEq>(
    update: &ZoneAwareUpdate,
    set: &StatefulSet<Revision>,
    pods: &[Pod<Zone>],
    status: &Status<Zone, Revision>,
    alarm: Option<Alarm>,
) -> Step<Zone, Revision> {
    let unchanged = |verdict| Step { verdict, deleted: Vec::new(), status: status.clone(), requeue: None };
    if !set.on_delete && !update.dry_run {
        return unchanged(Verdict::NotOnDelete);
    }
    if pods.iter().any(|pod| pod.is_terminating) {
        return unchanged(Verdict::Terminating);
    }
    if pods.iter().any(|pod| pod.revision == PodRevision::New && !pod.is_ready) {
        return unchanged(Verdict::NewPodNotReady);
    }
    let old: Vec<&Pod<Zone>> = pods.iter().filter(|pod| pod.revision.is_old()).collect();
    let counts = count_by_zone(&old);
    let next = |update_step, deleted_replicas, paused| Status {
        update_step,
        update_revision: Some(set.update_revision.clone()),
        deleted_replicas,
        old_replicas: old_replicas(&status.old_replicas, &counts),
        paused,
    };
    if old.is_empty() {
        return Step { status: next(0, 0, false), ..unchanged(Verdict::Done) };
    }
    let not_ready: Vec<&Pod<Zone>> = old.iter().copied().filter(|pod| !pod.is_ready).collect();
    let is_whole = set.replicas == set.ready_replicas && not_ready.is_empty();
    let zone = match next_zone(update.rollback, &old, &not_ready, is_whole) {
        Ok(zone) => zone,
        Err(verdict) => return unchanged(verdict),
    };
    if is_whole && !update.ignore_alarm {
        match alarm {
            Some(Alarm::Unreadable) => return unchanged(Verdict::AlarmUnreadable),
            Some(Alarm::Alarm) => {
                let status = next(status.update_step, status.deleted_replicas, true);
                return Step { status, requeue: Some(REQUEUE), ..unchanged(Verdict::Paused) };
            }
            Some(Alarm::Ok | Alarm::InsufficientData) | None => {}
        }
    }
    let is_same = status.update_revision.as_ref() == Some(&set.update_revision);
    let update_step = if is_same { status.update_step } else { 0 };
    let candidates = in_order(update.rollback, if is_whole { old } else { not_ready }, zone);
    let max_unavailable = update.max_unavailable.of_rounded_up(set.replicas);
    let most = max_delete(max_unavailable, update_step, update.exponential_factor) as usize;
    let chosen: Vec<u32> = candidates.into_iter().take(most).collect();
    let status = next(update_step.saturating_add(1), chosen.len() as u32, false);
    let (verdict, deleted) = match update.dry_run {
        _ if chosen.is_empty() => (Verdict::NothingAllowed, chosen),
        true => (Verdict::DryRun, Vec::new()),
        false => (Verdict::Deletes, chosen),
    };
    Step { verdict, deleted, status, requeue: None }
}

fn count_by_zone<Zone: Ord + Clone>(pods: &[&Pod<Zone>]) -> BTreeMap<Zone, u32> {
    let mut counts = BTreeMap::new();
    for zone in pods.iter().filter_map(|pod| pod.zone.clone()) {
        *counts.entry(zone).or_default() += 1;
    }
    counts
}

/// The zone whose turn it is: of old pods the first by name; by the README that of the pod that was updated last, if any rollout did not
/// finish. While pods are not ready, it is the turn of a zone only if they are all in it. (The README does not speak of these; the zone
/// that holds them comes first then, whichever it is: so the rollout is not stuck.)
fn next_zone<'a, Zone: Ord>(
    rollback: Rollback,
    old: &[&'a Pod<Zone>],
    not_ready: &[&'a Pod<Zone>],
    is_whole: bool,
) -> Result<&'a Zone, Verdict> {
    let zones = |pods: &[&'a Pod<Zone>]| -> BTreeSet<&'a Zone> { pods.iter().filter_map(|pod| pod.zone.as_ref()).collect() };
    let first = *zones(old).first().ok_or(Verdict::NoZone)?;
    let unfinished = |pod: &&'a Pod<Zone>| match pod.revision {
        PodRevision::Unfinished(since) => Some((since, pod.zone.as_ref()?)),
        _ => None,
    };
    let latest = old.iter().filter_map(unfinished).max_by_key(|(since, zone)| (*since, Reverse(*zone)));
    if is_whole {
        return Ok(match (rollback, latest) {
            (Rollback::Readme, Some((_, zone))) => zone,
            (Rollback::Readme, None) | (Rollback::Code, _) => first,
        });
    }
    let unready_zones = zones(not_ready);
    match unready_zones.first() {
        Some(_) if unready_zones.len() > 1 => Err(Verdict::SeveralZonesNotReady),
        Some(zone) if rollback == Rollback::Readme && latest.is_some() => Ok(zone),
        Some(zone) if *zone == first => Ok(zone),
        _ => Err(Verdict::OtherZoneNotReady),
    }
}

/// Ordinals of the pods of a zone in the order in which they go: from the highest down; by the README those that were updated last before,
/// and the others not in the same step.
fn in_order<Zone: Ord>(rollback: Rollback, pods: Vec<&Pod<Zone>>, zone: &Zone) -> Vec<u32> {
    let mut pods: Vec<_> = pods.into_iter().filter(|pod| pod.zone.as_ref() == Some(zone)).collect();
    let updated = |pod: &&Pod<Zone>| match (rollback, pod.revision) {
        (Rollback::Readme, PodRevision::Unfinished(since)) => Some(since),
        _ => None,
    };
    pods.sort_by_key(|pod| Reverse((updated(pod), pod.ordinal)));
    if pods.first().is_some_and(|pod| updated(pod).is_some()) {
        pods.retain(|pod| updated(pod).is_some());
    }
    pods.into_iter().map(|pod| pod.ordinal).collect()
}
