//! The part of a report that is about disks which pods use by name.

use serde::{Deserialize, Serialize};

/// A disk that the pod of a workload uses by name.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct DiskReport {
    /// The cluster.
    pub cluster: String,
    /// The workload.
    pub component: String,
    /// Name of the disk.
    pub disk: String,
    /// Zones in which there is a disk of that name.
    pub zones: Vec<String>,
    /// Calls to the cloud that look up the zone of the disk.
    pub lookup_calls: u32,
    /// Result of the lookup: `found`; `not_found` or `ambiguous`: the PersistentVolume was rejected; `disabled`: the plugin PersistentVolumeLabel
    /// is off; `direct_mount`: there is no PersistentVolume.
    pub lookup: String,
    /// Zone label of the PersistentVolume; null: it has none.
    pub label_zone: Option<String>,
    /// Zones in which the pod attached a disk of that name, in order. A second zone means another disk, with other data.
    pub attached_zones: Vec<String>,
    /// Placements on a node that could not attach the disk: each counts once, however often it is retried.
    pub failed_attachments: u32,
}
