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
    /// Calls to the cloud to find its zone for a label.
    pub calls: u32,
    /// `labelled`; `not_found` or `ambiguous`: the volume was refused; `not_labelled`: nobody labels volumes; `mounted_directly`: there is no
    /// volume that a label could be put on.
    pub label: String,
    /// The zone that the label names; null: none.
    pub labelled: Option<String>,
    /// Zones in which a disk of that name was attached, in order. Two of them: two disks.
    pub used: Vec<String>,
    /// Times that it was not there on the node that the pod was given.
    pub attach_failed: u32,
}
