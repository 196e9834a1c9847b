//! Node groups of pools, as the cluster autoscaler had them.

use serde::{Deserialize, Serialize};

/// A pool and its node groups, one in each of its zones. Of clusters whose scenario has options of the autoscaler.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct NodePoolReport {
    /// Its cluster.
    pub cluster: String,
    /// Its name.
    pub pool: String,
    /// Nodes that it may have at least.
    pub minimum: u32,
    /// Nodes that it may have at most.
    pub maximum: u32,
    /// Its node groups, in the order of the pool's zones.
    pub groups: Vec<NodeGroupReport>,
    /// Minimum, maximum and launched nodes of each group, in their order (`0:4:1, 0:3:0`), each time that a scan found another number; at
    /// most as many as `scans`.
    pub sizes: Vec<String>,
    /// Scans that found a group changed, in order; at most 1,000.
    pub scans: Vec<NodePoolScanReport>,
    /// Scans that did not fit into `scans`.
    pub scans_omitted: u64,
    /// Most nodes that it had at a time.
    pub most_launched: u32,
    /// Nodes beyond its maximum, at most.
    pub exceeded_by: u32,
    /// Time in which it had more nodes than its maximum, in seconds.
    pub exceeded_s: f64,
    /// Time in which it had fewer nodes than its minimum, in seconds. The autoscaler does not make up for them.
    pub below_minimum_s: f64,
    /// Mean difference between its zone with most nodes and its zone with fewest, over time.
    pub mean_skew: f64,
    /// Its nodes at the end, and why each was not deleted, as the last scan that looked at it found; none where the autoscaler deletes no nodes.
    #[serde(default)]
    pub scale_down: Vec<KeptNodeReport>,
    /// Its nodes that were to be deleted and stayed, in order: since when, and why.
    #[serde(default)]
    pub scale_down_failures: Vec<KeptNodeReport>,
}

/// A node that the autoscaler did not delete.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct KeptNodeReport {
    /// Its name.
    pub node: String,
    /// Since when the reason has held, in seconds.
    pub since_s: f64,
    /// The reason, in plain words.
    pub why: String,
}

/// A node group: that of a machine deployment.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct NodeGroupReport {
    /// Name of its machine deployment.
    pub machine_deployment: String,
    /// Its zone.
    pub zone: String,
    /// The share of the pool's minimum that was distributed to it.
    pub minimum: u32,
    /// The share of the pool's maximum that was distributed to it.
    pub maximum: u32,
    /// Surge of a roll-out, its share of the pool's: a number or a percentage.
    pub max_surge: String,
    /// Unavailability of a roll-out, its share of the pool's: a number or a percentage.
    pub max_unavailable: String,
    /// Nodes at the end.
    pub launched: u32,
    /// Times for which it was left alone after a failure.
    pub back_offs: Vec<BackOffReport>,
}

/// A time for which a group was left alone.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct BackOffReport {
    /// From when, in seconds.
    pub from_s: f64,
    /// For how long, in seconds.
    pub duration_s: f64,
    /// Why, in plain words.
    pub why: String,
}

/// The groups of a pool at a scan.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct NodePoolScanReport {
    /// When, in seconds.
    pub at_s: f64,
    /// Each group.
    pub groups: Vec<NodeGroupScanReport>,
}

/// A group at a scan.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct NodeGroupScanReport {
    /// Nodes that it may have at least.
    pub minimum: u32,
    /// Nodes that it may have at most.
    pub maximum: u32,
    /// Nodes that were wanted of it at the start of the scan.
    pub target: u32,
    /// Nodes that have joined, healthy or not.
    pub launched: u32,
    /// What the scan did with it, and why, in plain words.
    pub why: String,
}
