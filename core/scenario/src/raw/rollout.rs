//! Rollouts: how pods are replaced, what is wrong with a revision, and the zone-aware controllers.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::kube::zone_aware::{Rollback, ZoneBudgetAdmission};
use crate::units::int_or_percent::IntOrPercent;
use crate::units::{Name, Probability, Span};

/// Where defaults of the zone-aware controllers come from.
const SOURCE: &str = "aws/zone-aware-controllers-for-k8s: api/v1";

/// How a StatefulSet replaces pods of older revisions (`updateStrategy`).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct RawUpdate {
    /// Somebody else deletes them (`OnDelete`), such as a `zone_aware_updates`; otherwise the StatefulSet controller does, from the highest
    /// ordinal down.
    #[serde(default)]
    #[schemars(extend("x-source" = "kubernetes: StatefulSetUpdateStrategy"))]
    pub on_delete: bool,
    /// Pods with lower ordinals keep the old revision (`rollingUpdate.partition`).
    #[serde(default)]
    #[schemars(range(max = 1_000), extend("x-source" = "kubernetes: RollingUpdateStatefulSetStrategy"))]
    pub partition: u32,
    /// Pods that may be unavailable at a time, with the feature `MaxUnavailableStatefulSet`; a percentage is of the replicas and rounded
    /// down, but at least one is meant.
    #[serde(default)]
    #[schemars(extend("x-default" = "without that feature, one after the other", "x-source" = "kubernetes: alpha since 1.24"))]
    pub max_unavailable: Option<IntOrPercent>,
}

/// What is wrong with a revision of a workload.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct RawRevision {
    /// Its pods never become ready.
    #[serde(default)]
    #[schemars(extend("x-source" = "nothing is wrong with it"))]
    pub never_ready: bool,
    /// The process of each of its pods crashes when it has run for so long (with a memory leak: until its memory is used up), and again
    /// after each restart: 10 s later, then twice as late each time, at most 5 min.
    #[serde(default)]
    #[schemars(extend("x-min" = "1s", "x-max" = "30d", "x-default" = "never", "x-source" = "nothing is wrong with it"))]
    pub crashes_after: Option<Span>,
    /// Share of requests that its ready pods fail, from 0 to 1.
    #[serde(default)]
    #[schemars(extend("x-default" = "none", "x-source" = "nothing is wrong with it"))]
    pub error_rate: Option<Probability>,
    /// They do so from when they have been ready for so long.
    #[serde(default)]
    #[schemars(extend("x-max" = "30d", "x-default" = "0s", "x-source" = "assumed: it shows at once"))]
    pub errors_after: Option<Span>,
    /// Latency that its pods add to each request that they answer.
    #[serde(default)]
    #[schemars(extend("x-min" = "1us", "x-max" = "1h", "x-default" = "no later", "x-source" = "nothing is wrong with it"))]
    pub latency: Option<Span>,
    /// A pod adds `latency` from when it has been ready for this long.
    #[serde(default)]
    #[schemars(extend("x-max" = "30d", "x-default" = "0s", "x-source" = "assumed: it shows at once"))]
    pub latency_after: Option<Span>,
    /// Share of all requests to the workload that fails while pods of this and of another revision are ready, from 0 to 1: each is right
    /// alone, and they break together.
    #[serde(default)]
    #[schemars(extend("x-default" = "none", "x-source" = "nothing is wrong with it"))]
    pub error_rate_beside_others: Option<Probability>,
    /// Its pods do not replicate with pods of other revisions. Only for a workload with `quorum`: more than half of the pods wanted must be
    /// ready pods of this revision alone, or ready pods of the other revisions. Ready pods outside that majority fail all their requests.
    #[serde(default)]
    #[schemars(extend("x-source" = "nothing is wrong with it"))]
    pub own_quorum: bool,
}

/// A `ZoneAwareUpdate`: the pods of a StatefulSet with `update.on_delete` are replaced zone after zone, in alphabetical order, from the
/// highest ordinal down; the next ones when all are ready again.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct RawZoneAwareUpdate {
    /// Name of the StatefulSet.
    pub workload: String,
    /// Pods that may be deleted in one step; a percentage is of all replicas, and rounded up.
    pub max_unavailable: IntOrPercent,
    /// A step may delete this many times the pods of the one before, beginning with one; 0: always as many as may be.
    #[serde(default = "exponential_factor")]
    #[schemars(range(min = 0, max = 1_000), extend("x-source" = SOURCE))]
    pub exponential_factor: f64,
    /// Name of the alarm that pauses the rollout.
    #[serde(default)]
    #[schemars(extend("x-default" = "none", "x-source" = SOURCE))]
    pub pause_rollout_alarm: Option<String>,
    /// The alarm is not asked.
    #[serde(default)]
    #[schemars(extend("x-source" = SOURCE))]
    pub ignore_alarm: bool,
    /// Time from the moment when the last pod of the workload became ready to the first deletion in the next zone; the alarm is asked again
    /// then. The real controller has no such field: it models operators who roll out zone after zone by hand.
    #[serde(default)]
    #[schemars(extend("x-max" = "30d", "x-default" = "0s", "x-source" = "aws/zone-aware-controllers-for-k8s: it does not wait between zones"))]
    pub bake_time: Option<Span>,
    /// Nothing is deleted, and all else is done.
    #[serde(default)]
    #[schemars(extend("x-source" = SOURCE))]
    pub dry_run: bool,
    /// Which pods go first when another revision is rolled out before the last one was.
    #[serde(default)]
    #[schemars(extend("x-source" = "aws/zone-aware-controllers-for-k8s: controllers/zau_controller.go; its README says otherwise"))]
    pub rollback: Rollback,
}

const fn exponential_factor() -> f64 {
    2.0
}

/// A `ZoneDisruptionBudget`: several pods may be disrupted at a time if they are in the same zone.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct RawZoneDisruptionBudget {
    /// Its name.
    pub name: Name,
    /// Selector of its pods, by their labels: `app=db`. They must be of StatefulSets.
    #[schemars(length(max = 4_000))]
    pub pods: String,
    /// Pods of one zone that may be unavailable; a percentage is of all pods wanted, not of those of the zone, and rounded up.
    pub max_unavailable: IntOrPercent,
    /// Who admits evictions.
    #[serde(default)]
    #[schemars(extend("x-source" = "aws/zone-aware-controllers-for-k8s: webhooks/eviction_webhook.go"))]
    pub zdb: ZoneBudgetAdmission,
}

/// A pipeline that rolls a workload back (`kubectl rollout undo`) when an alarm rings during or after a rollout. It rolls each rollout back at
/// most once, and never rolls back a rollback or a paused rollout.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct RawAutomaticRollback {
    /// Name of the workload.
    pub workload: String,
    /// Name of the alarm.
    pub alarm: String,
    /// Time between two evaluations of the alarm; the first is this long after the rollout was asked for.
    #[serde(default = "period")]
    #[schemars(extend("x-min" = "1s", "x-max" = "1d", "x-source" = "assumed: as often as an alarm is evaluated"))]
    pub interval: Span,
    /// How long after the rollout was asked for the pipeline evaluates the alarm, also when the rollout is complete.
    #[serde(rename = "for", default)]
    #[schemars(extend("x-min" = "1s", "x-max" = "30d", "x-default" = "1h", "x-source" = "assumed"))]
    pub lasts: Option<Span>,
}

/// An alarm that may pause a rollout, or have it rolled back.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct RawAlarm {
    /// Its name.
    pub name: Name,
    /// While it rings, whatever happens.
    #[serde(default)]
    #[schemars(length(max = 1_000))]
    pub rings: Vec<RawRinging>,
    /// It rings while requests to a workload fail.
    #[serde(default)]
    #[schemars(extend("x-default" = "only as `rings` says", "x-source" = "nothing is measured"))]
    pub error_rate: Option<RawErrorRateAlarm>,
    /// It also rings while bad revisions add too much latency to the requests to a workload.
    #[serde(default)]
    #[schemars(extend("x-default" = "only as `rings` says", "x-source" = "nothing is measured"))]
    pub latency: Option<RawLatencyAlarm>,
}

/// A time during which an alarm rings.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct RawRinging {
    /// When it starts.
    #[schemars(extend("x-max" = "3650d"))]
    pub at: Span,
    /// How long it lasts.
    #[serde(rename = "for", default)]
    #[schemars(extend("x-min" = "1ns", "x-max" = "3650d", "x-default" = "to the end of the run", "x-source" = "an alarm that nobody stops"))]
    pub lasts: Option<Span>,
}

/// An alarm that rings while too many requests fail. The ready pods of the workload get equal shares of the requests.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct RawErrorRateAlarm {
    /// Name of the workload.
    pub workload: String,
    /// Share of failed requests from which it rings, from 0 to 1.
    pub threshold: Probability,
    /// The share is that of this long until now.
    #[serde(default = "period")]
    #[schemars(extend("x-min" = "1s", "x-max" = "1d", "x-source" = "CloudWatch: a metric's usual period"))]
    pub period: Span,
}

/// An alarm that rings while requests take long. The ready pods of the workload get equal shares of the requests.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct RawLatencyAlarm {
    /// Name of the workload.
    pub workload: String,
    /// Mean latency that bad revisions add to answered requests, from which it rings. (Not their whole latency, and not that of failed
    /// requests.)
    #[schemars(extend("x-min" = "1us", "x-max" = "1h"))]
    pub threshold: Span,
    /// The mean is that of this long until now.
    #[serde(default = "period")]
    #[schemars(extend("x-min" = "1s", "x-max" = "1d", "x-source" = "CloudWatch: a metric's usual period"))]
    pub period: Span,
}

const fn period() -> Span {
    Span(zonefall_kernel::time::Duration::from_secs(60))
}
