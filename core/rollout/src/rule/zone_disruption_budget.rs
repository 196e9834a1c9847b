//! ZoneDisruptionBudget: how many pods of which zone may be evicted, and whether this one may (`controllers/zdb_controller.go`,
//! `webhooks/eviction_webhook.go`).
//!
//! The controller writes a number for each zone; the webhook that is asked about an eviction lowers the number of the pod's zone, and only
//! that. Until the controller has looked again, the numbers of other zones still allow evictions there. [`admit_strict`] is a webhook
//! that is not caught out: it looks at the pods themselves.

use std::collections::BTreeMap;

use zonefall_kernel::time::{Duration, Time};
use zonefall_kube::rule::budget::{Health, MAX_RECORDS};
use zonefall_kube::rule::eviction_records::{EvictionRecords, TIMEOUT};
use zonefall_scenario::units::int_or_percent::IntOrPercent;

#[cfg(test)]
mod tests;

/// Time after which an eviction that was admitted is counted no more: that of PodDisruptionBudgets.
pub const DELETION_TIMEOUT: Duration = TIMEOUT;

/// A pod that a budget selects.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Pod<Zone, Name> {
    /// Its name.
    pub name: Name,
    /// Zone of its node, if that is known.
    pub zone: Option<Zone>,
    /// It is in phase Running and has the condition Ready.
    pub is_ready: bool,
    /// It is terminating.
    pub is_terminating: bool,
}

/// What the controller knows of a zone.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct ZoneStatus {
    /// Pods there, with its share of those that are wanted and do not exist (`expectedPods`).
    pub expected: u32,
    /// Healthy pods there should be (`desiredHealthy`).
    pub desired: u32,
    /// Pods that are ready, stay, and were not evicted a moment ago (`currentHealthy`).
    pub healthy: u32,
    /// All other pods that exist (`currentUnhealthy`).
    pub unhealthy: u32,
    /// Pods that may be evicted (`disruptionsAllowed`), a signed number as in the API.
    pub allowed: i64,
}

/// Status of a budget.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Status<Zone: Ord, Name: Ord> {
    /// Zones that have pods.
    pub zones: BTreeMap<Zone, ZoneStatus>,
    /// Evictions that were admitted and whose pods have not gone yet (`disruptedPods`).
    pub records: EvictionRecords<Name>,
}

impl<Zone: Ord + Clone, Name: Ord + Clone> Default for Status<Zone, Name> {
    fn default() -> Self {
        Self::new()
    }
}

impl<Zone: Ord + Clone, Name: Ord + Clone> Status<Zone, Name> {
    /// The controller has not looked yet.
    pub const fn new() -> Self {
        Self { zones: BTreeMap::new(), records: EvictionRecords::new() }
    }

    /// The status after a look at the pods. `wanted`: pods that the controllers of these pods want in all, of which `max_unavailable` may
    /// be a percentage, rounded up.
    #[must_use]
    pub fn renewed(&self, max_unavailable: IntOrPercent, wanted: u32, pods: &[Pod<Zone, Name>], now: Time) -> Self {
        let records = self.records.kept(pods.iter().map(|pod| (pod.name.clone(), pod.is_terminating)), now);
        let mut zones = BTreeMap::<Zone, ZoneStatus>::new();
        for pod in pods {
            let Some(zone) = &pod.zone else { continue };
            let zone = zones.entry(zone.clone()).or_default();
            zone.expected += 1;
            let is_healthy = pod.is_ready && !pod.is_terminating && !records.is_disrupted(&pod.name, now);
            *(if is_healthy { &mut zone.healthy } else { &mut zone.unhealthy }) += 1;
        }
        spread_missing(&mut zones, wanted);
        let disrupted: Vec<Zone> = zones.iter().filter(|(_, zone)| zone.unhealthy > 0).map(|(zone, _)| zone.clone()).collect();
        let max_unavailable = max_unavailable.of_rounded_up(wanted);
        for (name, zone) in &mut zones {
            zone.desired = zone.expected.saturating_sub(max_unavailable);
            zone.allowed = match &disrupted[..] {
                [] => zone.healthy.saturating_sub(zone.desired).into(),
                [only] if only == name => zone.healthy.saturating_sub(zone.desired).into(),
                _ => 0,
            };
        }
        Self { zones, records }
    }

    /// The webhook has admitted the eviction of a pod.
    pub fn spend(&mut self, pod: Name, zone: &Zone, now: Time) {
        self.zones.entry(zone.clone()).or_default().allowed -= 1;
        self.records.add(pod, now);
    }
}

/// Adds pods that are wanted and do not exist, or whose zone is not known, to the zones: one to each in turn, to those with the fewest pods
/// first. (Of equals the program takes any, here the first by name is meant.)
fn spread_missing<Zone: Ord>(zones: &mut BTreeMap<Zone, ZoneStatus>, wanted: u32) {
    let known: u32 = zones.values().map(|zone| zone.expected).sum();
    let (missing, count) = (wanted.saturating_sub(known), zones.len() as u32);
    let mut fewest_first: Vec<&mut ZoneStatus> = zones.values_mut().collect();
    fewest_first.sort_by_key(|zone| zone.expected);
    for (place, zone) in (0..).zip(fewest_first) {
        zone.expected += missing / count + u32::from(place < missing % count);
    }
}

/// A request that the API server shows the webhook.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Request {
    /// Something is created.
    pub is_create: bool,
    /// It is about the subresource `eviction`.
    pub is_eviction: bool,
    /// Nothing is to be changed by it.
    pub dry_run: bool,
}

/// A budget as the webhook finds it, for one pod.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Budget {
    /// Evictions are admitted whatever it says.
    pub dry_run: bool,
    /// The controller has seen the budget as it is now (`observedGeneration`).
    pub is_current: bool,
    /// Evictions that it allows in the zone of the pod; `None`: there is no number, or the zone is not known.
    pub allowed: Option<i64>,
    /// The eviction of the pod was admitted before.
    pub is_recorded: bool,
    /// Recorded evictions.
    pub records: usize,
}

/// The webhook's answer, and why (the label of its metric).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Admission {
    /// Nothing is created: admitted.
    NoCreateRequest,
    /// No eviction: admitted.
    NoEvictionRequest,
    /// The pod cannot be read: denied.
    GetPodError,
    /// The pod does not run, or is terminating: admitted.
    CanIgnoreZdb,
    /// The pod is not ready: admitted.
    NotReadyPod,
    /// No budget selects the pod: admitted.
    NoZdb,
    /// It was admitted before, and is again.
    AlreadyDisrupted,
    /// The budget allows none: denied.
    DeniedByZdb,
    /// Admitted only because it is a dry run.
    DryRun,
    /// The budget allows it: admitted.
    DisruptionAllowed {
        /// It is recorded, and the budget allows one fewer in the zone.
        spends: bool,
    },
}

impl Admission {
    /// Whether the eviction may go on.
    pub const fn is_admitted(self) -> bool {
        !matches!(self, Self::GetPodError | Self::DeniedByZdb)
    }
}

/// Whether a request may go on. `pod`: what the pod does, unless it cannot be read; `budget`: the first that selects it.
pub fn admit(request: Request, pod: Option<Health>, budget: Option<Budget>) -> Admission {
    let denied = |dry_run, why| if dry_run { Admission::DryRun } else { why };
    if !request.is_create {
        return Admission::NoCreateRequest;
    }
    if !request.is_eviction {
        return Admission::NoEvictionRequest;
    }
    match pod {
        None => return denied(request.dry_run, Admission::GetPodError),
        Some(Health::Gone) => return Admission::CanIgnoreZdb,
        Some(Health::NotReady) => return Admission::NotReadyPod,
        Some(Health::Ready) => {}
    }
    let Some(budget) = budget else { return Admission::NoZdb };
    let dry_run = request.dry_run || budget.dry_run;
    if budget.is_recorded {
        Admission::AlreadyDisrupted
    } else if budget.is_current && budget.allowed.is_some_and(|allowed| allowed > 0) && budget.records <= MAX_RECORDS {
        Admission::DisruptionAllowed { spends: !dry_run }
    } else {
        denied(dry_run, Admission::DeniedByZdb)
    }
}

/// The pods of a budget as they are at this moment.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Disruption<'a, Zone: Ord> {
    /// Pods that are not ready, on their way out, or wanted and do not exist, by zone; no zone with none.
    pub unavailable: &'a BTreeMap<Zone, u32>,
    /// The same of pods whose zone nobody knows.
    pub missing: u32,
}

/// Whether a pod of a zone may be evicted, so that never pods of two zones are disrupted by evictions: all that are unavailable
/// must be of its zone, and no more than `max_unavailable`. `is_ready`: with the pod there is one more of them.
pub fn admit_strict<Zone: Ord>(zone: &Zone, is_ready: bool, disruption: Disruption<'_, Zone>, max_unavailable: u32) -> bool {
    let elsewhere = disruption.missing > 0 || disruption.unavailable.keys().any(|other| other != zone);
    let all: u32 = disruption.unavailable.values().sum();
    !elsewhere && (!is_ready || all < max_unavailable)
}
