//! Shoots that are asked to survive more than they do at the start.

use crate::kube::gardener::FailureTolerance;
use crate::raw::{RawChange, RawScenario};
use zonefall_kernel::time::Time;

/// A change that is asked for.
pub(super) struct Asked<'a> {
    /// Its place among the file's operations.
    pub(super) operation: usize,
    pub(super) at: Time,
    pub(super) shoot: &'a str,
    pub(super) to: FailureTolerance,
}

/// All of them, as the file has them.
pub(super) fn asked(raw: &RawScenario) -> Vec<Asked<'_>> {
    let changes = raw.operations.iter().map(|operation| (Time::ZERO + operation.at.0, &operation.change));
    let asked = changes.enumerate().filter_map(|(operation, (at, change))| match change {
        RawChange::SetFailureTolerance { shoot, to } => Some(Asked { operation, at, shoot, to: *to }),
        _ => None,
    });
    asked.collect()
}
