//! How the cluster autoscaler sizes, compares and grows node groups.

use regex_lite::{Regex, RegexBuilder};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use zonefall_kernel::time::Duration;

use super::KubeClusterSpec;
use crate::units::{Probability, Size, Span};

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

/// How one of the node groups that could grow is chosen (`expander`).
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Expander {
    /// One is drawn.
    Random,
    /// Those that take the most pods.
    MostPods,
    /// Those whose new nodes leave the smallest part of their CPU and memory unrequested.
    LeastWaste,
    /// Those that take the fewest nodes.
    LeastNodes,
    /// Those of the highest of `priorities`; where none of them has a priority, all.
    Priority,
}

/// Node groups of one priority: an entry of the ConfigMap `cluster-autoscaler-priority-expander`.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct GroupPriority {
    /// The priority: the highest comes first.
    #[schemars(range(max = 1_000_000))]
    pub priority: u32,
    /// Regular expressions: a group has the priority if one of them is found in the name of its machine deployment (`cluster-pool-z1`).
    /// `^` and `$` stand for its ends.
    #[schemars(length(min = 1, max = 100), inner(length(max = 400)))]
    pub groups: Vec<String>,
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
    /// How one of the groups that could grow is chosen: each entry leaves those that it finds best to the next, and of those that the last
    /// one leaves one is drawn. `random` is the last, if it is given.
    #[schemars(
        length(min = 1, max = 5),
        extend("x-source" = "gardener: defaults_shoot.go, least-waste; autoscaler: config/flags/flags.go, least-waste, in older versions random")
    )]
    pub expander: Vec<Expander>,
    /// Priorities of groups, for the expander `priority`. A group that several entries name has the highest of these.
    #[schemars(length(max = 50))]
    pub priorities: Vec<GroupPriority>,
    /// Nodes that the cluster may have in all, those without a node group included: no group grows beyond. Nodes that are not ready do not
    /// count. 0: no such limit (`max-nodes-total`).
    #[schemars(range(max = 100_000), extend("x-source" = "autoscaler: config/flags/flags.go"))]
    pub max_nodes_total: u32,
    /// CPUs that all nodes may have together (the maximum of `cores-total`). 0: no group grows.
    #[schemars(range(max = 100_000_000), extend("x-source" = "autoscaler: config.DefaultMaxClusterCores"))]
    pub cores_total: u32,
    /// Memory that all nodes may have together (the maximum of `memory-total`). 0: no group grows.
    #[schemars(extend("x-source" = "autoscaler: config.DefaultMaxClusterMemory"))]
    pub memory_total: Size,
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
    /// Empty nodes that are deleted in one scan at most (`max-empty-bulk-delete`).
    #[schemars(range(min = 1, max = 1_000), extend("x-source" = "autoscaler: config/flags/flags.go"))]
    pub max_empty_bulk_delete: u32,
    /// Nodes that are being deleted at a time at most (`max-scale-down-parallelism`).
    #[schemars(range(min = 1, max = 1_000), extend("x-source" = "autoscaler: config/flags/flags.go; gardener: defaults_shoot.go"))]
    pub max_scale_down_parallelism: u32,
    /// Nodes with pods among them at most (`max-drain-parallelism`).
    #[schemars(range(min = 1, max = 1_000), extend("x-source" = "autoscaler: config/flags/flags.go; gardener: defaults_shoot.go"))]
    pub max_drain_parallelism: u32,
    /// Time for which an eviction that is refused is tried again, every 10 s, before the node stays (`max-pod-eviction-time`).
    #[schemars(extend("x-max" = "1d", "x-source" = "autoscaler: config/flags/flags.go"))]
    pub max_pod_eviction_time: Span,
    /// Time that evicted pods have to end, and 30 s more, before the node stays (`max-graceful-termination-sec`).
    #[schemars(extend("x-max" = "1d", "x-source" = "gardener: maxGracefulTerminationSeconds; autoscaler: config/flags/flags.go"))]
    pub max_graceful_termination: Span,
    /// A node stays while a pod on it has local storage (`skip-nodes-with-local-storage`; upstream true).
    #[schemars(extend("x-source" = "gardener: cluster_autoscaler.go"))]
    pub skip_nodes_with_local_storage: bool,
    /// A node stays while a pod of `kube-system` without a budget is on it (`skip-nodes-with-system-pods`; upstream true).
    #[schemars(extend("x-source" = "gardener: cluster_autoscaler.go"))]
    pub skip_nodes_with_system_pods: bool,
    /// A node stays while a pod on it belongs to a custom controller (`skip-nodes-with-custom-controller-pods`).
    #[schemars(extend("x-source" = "autoscaler: config/flags/flags.go"))]
    pub skip_nodes_with_custom_controller_pods: bool,
}

/// What pods say about the scale-down of their node (`cluster-autoscaler/simulator/drainability/rules`). Only the autoscaler reads it.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(default)]
pub struct Drainability {
    /// They have a volume `emptyDir` or `hostPath`.
    #[schemars(extend("x-source" = "nothing else is known of their volumes"))]
    pub local_storage: bool,
    /// Their annotation `cluster-autoscaler.kubernetes.io/safe-to-evict`: `true` lifts what else would keep their node, and `false` keeps it.
    #[schemars(extend("x-default" = "none", "x-source" = "autoscaler: FAQ.md"))]
    pub safe_to_evict: Option<bool>,
    /// They are in the namespace `kube-system`.
    #[schemars(extend("x-source" = "workloads are in another namespace"))]
    pub kube_system: bool,
    /// What their owner reference names.
    #[schemars(extend("x-source" = "kubernetes: ownerReferences"))]
    pub owner: PodOwner,
}

/// What the owner reference of a pod names, as far as the autoscaler cares. Here pods are created again in any case.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum PodOwner {
    /// A controller of Kubernetes.
    #[default]
    Kubernetes,
    /// A controller of another kind.
    Custom,
    /// Nothing: it is a bare pod.
    None,
}

impl Default for ScaleDownOptions {
    fn default() -> Self {
        let minutes = |count: u64| Span(Duration::from_secs(count * 60));
        Self {
            unneeded_time: minutes(30),
            delay_after_add: minutes(60),
            utilization_threshold: Probability(0.5),
            max_empty_bulk_delete: 10,
            max_scale_down_parallelism: 10,
            max_drain_parallelism: 1,
            max_pod_eviction_time: minutes(2),
            max_graceful_termination: minutes(10),
            skip_nodes_with_local_storage: false,
            skip_nodes_with_system_pods: false,
            skip_nodes_with_custom_controller_pods: true,
        }
    }
}

impl ClusterAutoscaler {
    /// Priorities of the groups with these names: the highest whose patterns match; `None` if none does.
    pub fn priorities_of<'a>(&self, groups: impl Iterator<Item = &'a str>) -> Vec<Option<u32>> {
        let patterns = |entry: &GroupPriority| entry.groups.iter().filter_map(|pattern| group_pattern(pattern)).collect();
        let entries: Vec<(u32, Vec<Regex>)> = self.priorities.iter().map(|entry| (entry.priority, patterns(entry))).collect();
        let of = |group: &str| {
            let matching = entries.iter().filter(|(_, patterns)| patterns.iter().any(|pattern| pattern.is_match(group)));
            matching.map(|(priority, _)| *priority).max()
        };
        groups.map(of).collect()
    }
}

impl KubeClusterSpec {
    /// How the autoscaler sizes node groups.
    pub fn sizing(&self) -> Sizing {
        self.controllers.cluster_autoscaler.as_ref().map_or(Sizing::Static, |options| options.sizing)
    }
}

/// A regular expression for names of node groups; `None`: it is none, or one that takes more than 32 KiB.
pub(crate) fn group_pattern(pattern: &str) -> Option<Regex> {
    RegexBuilder::new(pattern).size_limit(32 << 10).build().ok()
}

impl Default for ClusterAutoscaler {
    /// As Gardener deploys it today.
    fn default() -> Self {
        Self {
            sizing: Sizing::Static,
            count: NodeCount::Materialized,
            balance_similar_groups: true,
            exhausted_at_once: true,
            expander: vec![Expander::LeastWaste],
            priorities: Vec::new(),
            max_nodes_total: 0,
            cores_total: 5_000 * 64,
            memory_total: Size((5_000 * 64 * 20) << 30),
            scale_down: None,
        }
    }
}
