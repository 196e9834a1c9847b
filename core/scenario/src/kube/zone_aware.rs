//! Zone Aware Controllers for Kubernetes (github.com/aws/zone-aware-controllers-for-k8s): how a StatefulSet is rolled out zone after zone, and
//! how many pods of which zone may be evicted.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::PodSelector;
use super::int_or_percent::IntOrPercent;
use crate::ids::WorkloadId;
use zonefall_kernel::time::{Duration, Time};

/// What the zone-aware controllers of a cluster look after.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct ZoneAware {
    /// StatefulSets that are rolled out zone after zone; each at most once.
    pub updates: Vec<ZoneUpdate>,
    /// Budgets of evictions by zone.
    pub budgets: Vec<ZoneBudget>,
    /// Alarms that may pause a rollout, or have it rolled back.
    pub alarms: Vec<AlarmSpec>,
    /// Pipelines that roll workloads back; at most one for each workload.
    pub rollbacks: Vec<AutomaticRollback>,
}

/// A pipeline that watches the rollouts of a workload, and rolls one back (`kubectl rollout undo`) while an alarm rings.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct AutomaticRollback {
    /// The workload.
    pub workload: WorkloadId,
    /// The alarm, by its place among [`ZoneAware::alarms`].
    pub alarm: u16,
    /// How often it looks, from the rollout on.
    pub interval: Duration,
    /// So long after the rollout was asked for it looks for the last time.
    pub lasts: Duration,
}

/// A `ZoneAwareUpdate`.
#[derive(Clone, Debug, PartialEq)]
pub struct ZoneUpdate {
    /// The StatefulSet.
    pub workload: WorkloadId,
    /// How it is rolled out.
    pub options: ZoneAwareUpdate,
    /// The alarm that pauses the rollout, by its place among [`ZoneAware::alarms`].
    pub alarm: Option<u16>,
    /// Least time from when the last pod became ready to the first deletion in the next zone. (The real controller has none.)
    pub bake_time: Duration,
}

/// How a StatefulSet is rolled out zone after zone.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct ZoneAwareUpdate {
    /// Pods that may be deleted in one step; a percentage is of all replicas that there are, and rounded up.
    pub max_unavailable: IntOrPercent,
    /// Each step may delete so many times the pods of the one before (`exponentialFactor`); 0: always as many as may be.
    pub exponential_factor: f64,
    /// The alarm is not asked.
    pub ignore_alarm: bool,
    /// Nothing is deleted, and all else is done.
    pub dry_run: bool,
    /// What comes first when another revision is to be rolled out before the last one was.
    pub rollback: Rollback,
}

/// Pods that are replaced first when a rollout did not finish before the next one began.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Rollback {
    /// Those of the first zone in order, from the highest ordinal down, as always: what the program does.
    #[default]
    Code,
    /// Those that were updated last, which the README promises.
    Readme,
}

/// A `ZoneDisruptionBudget`.
#[derive(Clone, Debug, PartialEq)]
pub struct ZoneBudget {
    /// Its name.
    pub name: String,
    /// Its pods.
    pub pods: PodSelector,
    /// Pods of one zone that may be unavailable; a percentage is of all pods wanted, not of those of the zone, and rounded up.
    pub max_unavailable: IntOrPercent,
    /// Who admits evictions.
    pub admission: ZoneBudgetAdmission,
}

/// Who admits evictions of the pods of a `ZoneDisruptionBudget`.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum ZoneBudgetAdmission {
    /// The program's webhook: it reads the status that the controller wrote, lowers the number of the pod's zone only, and lets pods pass
    /// that are not ready.
    #[default]
    Code,
    /// One that looks at the pods themselves: never two zones at once.
    Strict,
}

/// An alarm.
#[derive(Clone, Debug, PartialEq)]
pub struct AlarmSpec {
    /// Its name.
    pub name: String,
    /// While it rings because the scenario says so.
    pub rings: Vec<(Time, Time)>,
    /// It also rings while requests fail.
    pub error_rate: Option<ErrorRateAlarm>,
    /// It also rings while requests take long.
    pub latency: Option<LatencyAlarm>,
}

/// An alarm that rings while too many requests to the ready pods of a workload fail.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct ErrorRateAlarm {
    /// The workload; its ready pods get equal shares of the requests.
    pub workload: WorkloadId,
    /// Share of failed requests from which it rings, from 0 to 1.
    pub threshold: f64,
    /// The share is that of this long until now.
    pub period: Duration,
}

/// An alarm that rings while requests to a workload take long.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct LatencyAlarm {
    /// The workload; its ready pods get equal shares of the requests.
    pub workload: WorkloadId,
    /// Mean time that revisions add, from which it rings.
    pub threshold: Duration,
    /// The mean is that of this long until now.
    pub period: Duration,
}
