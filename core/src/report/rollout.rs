//! The part of a report that is about rollouts, and about budgets of evictions.

use serde::{Deserialize, Serialize};

/// A rollout of a workload: from when it was asked for until all of its pods have the revision and are ready, or the next one begins.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct RolloutReport {
    /// The cluster it runs in.
    pub cluster: String,
    /// The workload.
    pub workload: String,
    /// It goes back to the revision before.
    pub rollback: bool,
    /// A pipeline began it, because an alarm rang.
    pub automatic: bool,
    /// Revision that its pods are to have: 0 is that of the start.
    pub revision: u32,
    /// Something is wrong with that revision.
    pub bad: bool,
    /// When it was asked for, in seconds.
    pub requested_s: f64,
    /// From `requested_s` until it was complete, the next one began, or the run ended, in seconds.
    pub duration_s: f64,
    /// All pods were ready and had the revision; of a StatefulSet those from the `partition` of its `update` on.
    pub completed: bool,
    /// What it waited for at last, in plain words; null: nothing is known.
    pub waits_for: Option<String>,
    /// Pods deleted at one moment, in order.
    pub batches: Vec<BatchReport>,
    /// The ordinals of the batches of its own controllers, zone by zone: `[[28], [27, 22]], [[29, 26]]`; empty for a Deployment.
    pub sequence: String,
    /// Pods of this revision that ever ran, if something is wrong with it.
    pub exposed_pods: u32,
    /// Zones that these were in.
    pub exposed_zones: u32,
    /// Time that they ran, summed over pods, in seconds.
    pub exposed_pod_s: f64,
    /// Most pods that had been ready and were not at one moment, missing ones included.
    pub most_unavailable: u32,
    /// Most zones that such pods had been ready in.
    pub zones_disrupted: u32,
    /// Time in which they were in several, in seconds.
    pub several_zones_s: f64,
    /// Pods that its ZoneAwareUpdate deleted and would have kept if its cache had not been stale (`stale_cache`); a pod counts each time.
    #[serde(default)]
    pub stale_deletions: u32,
    /// Requests that failed, as the time in which all of them would have, in seconds: shares of them fail by revision, and all of them where
    /// no pod serves, or of a replicated store no majority. Counted until `duration_s` is over, or with a bad revision until the next rollout.
    pub failed_s: f64,
    /// Requests that a revision answered later than others would have, likewise.
    pub slow_s: f64,
    /// When a Deployment had made no progress for its `progress_deadline`, in seconds; null: it always made some in time.
    pub deadline_exceeded_s: Option<f64>,
    /// Times in which the alarm of its ZoneAwareUpdate paused it, in order.
    #[serde(default)]
    pub paused_by_alarm: Vec<PauseReport>,
    /// Times without quorum of a replicated store, in order, until `duration_s` is over, or with a bad revision until the next rollout: no
    /// majority of the wanted pods served and replicated with each other.
    pub quorum_lost: Vec<QuorumLossReport>,
}

/// A time in which an alarm paused a rollout.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct PauseReport {
    /// Its start, in seconds.
    pub from_s: f64,
    /// How long it lasted, in seconds; if it did not end, until the next rollout began or the run ended.
    pub duration_s: f64,
}

/// A time in which a replicated store had no quorum, whether it was rolled out then or not.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct StoreLossReport {
    /// The cluster it runs in.
    pub cluster: String,
    /// The workload.
    pub workload: String,
    /// Its start, in seconds.
    pub from_s: f64,
    /// How long it lasted, in seconds; if it did not end, until the end of the run.
    pub duration_s: f64,
    /// What happened then, and which pods did not serve already, as in [`QuorumLossReport::cause`].
    pub cause: String,
}

/// The part of a time without quorum that belongs to a rollout.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct QuorumLossReport {
    /// Its start, in seconds.
    pub from_s: f64,
    /// How long it lasted, in seconds; if it did not end, until the end of the run.
    pub duration_s: f64,
    /// What happened then, and which pods did not serve already: `ZoneAwareUpdate deleted db-2 while db-1 was not ready`, `the drain of zb-1
    /// evicted db-1 while db-0 was without power on za-1 in za`.
    pub cause: String,
}

/// Pods of a workload that were deleted at one moment.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct BatchReport {
    /// When, in seconds.
    pub at_s: f64,
    /// Who did it: `ZoneAwareUpdate`, `StatefulSet controller`, `Deployment controller`, `eviction`, `taint eviction`, `pod garbage collector` or
    /// `machine drain` (one that had timed out).
    pub by: String,
    /// Zones that the pods were in, each once.
    pub zones: Vec<String>,
    /// The pods, in order.
    pub pods: Vec<String>,
}

/// What a budget let evictions do.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct BudgetReport {
    /// The cluster it is in.
    pub cluster: String,
    /// Its name.
    pub budget: String,
    /// `PodDisruptionBudget` or `ZoneDisruptionBudget`.
    pub kind: String,
    /// Evictions of its pods that were granted.
    pub granted: u32,
    /// Requests for evictions of its pods that were refused, by whichever budget.
    pub refused: u32,
    /// Most pods that were evicted, or deleted because a drain had timed out, and not ready again at one moment.
    pub most_disrupted: u32,
    /// Most zones that such pods were in.
    pub zones_disrupted: u32,
    /// Time in which they were in several, in seconds.
    pub several_zones_s: f64,
    /// The eviction that first disrupted a second zone, or the deletion by a drain that had timed out if no eviction did, in words; null:
    /// none did.
    pub second_zone: Option<String>,
    /// A drain that had timed out had part in that: it deletes pods by force, and asks no budget.
    #[serde(default)]
    pub second_zone_by_force: bool,
}
