//! How the cluster autoscaler sizes, compares and grows node groups.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use zonefall_kernel::time::Duration;

use crate::units::{Probability, Span};

/// How the limits of a pool's node groups come about (GEP-24, section 3).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Sizing {
    /// Minimum and maximum of the pool are distributed over its zones, once.
    #[default]
    Static,
    /// Each group may have what the other groups leave of the pool's maximum (Lax-Greedy).
    LaxGreedy,
    /// Distributed as `static`, but a group whose share of the maximum is 0 may have 1 node until the pool has its maximum
    /// (Backward-Compatible).
    BackwardCompatible,
}

/// Which nodes of a group its pool's other groups must leave to it.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum NodeCount {
    /// Nodes that have joined: those on their way do not count.
    #[default]
    Materialized,
    /// Nodes that are wanted, as they were at the start of the scan. No group gets more than the pool has left by then, so that the pool
    /// exceeds its maximum by at most what one scan adds.
    Targets,
    /// Nodes that are wanted, read again after each node that a scan adds: the pool never exceeds its maximum.
    Live,
}

/// The cluster autoscaler, and what the report says of its node groups.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(default)]
pub struct ClusterAutoscaler {
    /// How the limits of a pool's node groups come about.
    #[schemars(extend("x-source" = "gardener: minimum and maximum of each machine deployment; GEP-24: Lax-Greedy, Backward-Compatible"))]
    pub sizing: Sizing,
    /// Which nodes count where the limits of a group depend on the other groups.
    #[schemars(extend("x-source" = "GEP-24: CountOfAllNodesMaterialized"))]
    pub count: NodeCount,
    /// Spread a scale-up over similar node groups (`balance-similar-node-groups`).
    #[schemars(extend("x-source" = "gardener: cluster_autoscaler.go; upstream: false"))]
    pub balance_similar_groups: bool,
    /// Notice at the next scan that the cloud is out of stock (`ResourceExhausted`); otherwise when the node is overdue, after `provision`.
    #[schemars(extend("x-source" = "gardener/autoscaler since v1.27.1 (#253)"))]
    pub exhausted_at_once: bool,
    /// Delete nodes that are not needed.
    #[schemars(extend("x-default" = "nodes stay", "x-source" = "assumed: enough for what a failure takes"))]
    pub scale_down: Option<ScaleDownOptions>,
}

/// When nodes are deleted that are not needed.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(default)]
pub struct ScaleDownOptions {
    /// Time for which a node must not have been needed (`scale-down-unneeded-time`; upstream 10m).
    #[schemars(extend("x-max" = "30d", "x-source" = "gardener: scaleDownUnneededTime"))]
    pub unneeded_time: Span,
    /// Time after a scale-up in which no node is deleted (`scale-down-delay-after-add`; upstream 10m).
    #[schemars(extend("x-max" = "30d", "x-source" = "gardener: scaleDownDelayAfterAdd"))]
    pub delay_after_add: Span,
    /// A node may not be needed if less of its CPU, and of its memory, is requested (`scale-down-utilization-threshold`).
    #[schemars(extend("x-source" = "gardener: scaleDownUtilizationThreshold"))]
    pub utilization_threshold: Probability,
    /// Empty nodes that are deleted in one scan at most (`max-empty-bulk-delete`). Of others, one.
    #[schemars(range(min = 1, max = 1_000), extend("x-source" = "autoscaler: config/flags/flags.go; one drain at a time in Gardener"))]
    pub max_empty_bulk_delete: u32,
}

impl Default for ScaleDownOptions {
    fn default() -> Self {
        let minutes = |count: u64| Span(Duration::from_secs(count * 60));
        Self {
            unneeded_time: minutes(30),
            delay_after_add: minutes(60),
            utilization_threshold: Probability(0.5),
            max_empty_bulk_delete: 10,
        }
    }
}

impl Default for ClusterAutoscaler {
    /// As Gardener deploys it today.
    fn default() -> Self {
        Self {
            sizing: Sizing::Static,
            count: NodeCount::Materialized,
            balance_similar_groups: true,
            exhausted_at_once: true,
            scale_down: None,
        }
    }
}
