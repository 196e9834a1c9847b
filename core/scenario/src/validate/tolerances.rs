//! Shoots that are asked to survive more than they do at the start.

use super::{Context, Names};
use crate::kube::gardener::{FailureTolerance, Shoot};
use crate::raw::{RawChange, RawScenario};
use zonefall_kernel::time::Time;

/// A change that is asked for.
pub(super) struct Asked<'a> {
    pub(super) at: Time,
    pub(super) shoot: &'a str,
    pub(super) to: FailureTolerance,
}

/// All of them, as the file has them.
pub(super) fn asked(raw: &RawScenario) -> Vec<Asked<'_>> {
    let changes = raw.operations.iter().map(|operation| (Time::ZERO + operation.at.0, &operation.change));
    let asked = changes.filter_map(|(at, change)| match change {
        RawChange::SetFailureTolerance { shoot, to } => Some(Asked { at, shoot, to: *to }),
        _ => None,
    });
    asked.collect()
}

/// Whether there are such shoots.
pub(super) fn check(cx: &mut Context<'_>, raw: &RawScenario, shoots: &[Shoot]) {
    let mut names = Names::new("a shoot");
    for (k, shoot) in shoots.iter().enumerate().filter(|(k, shoot)| shoots[..*k].iter().all(|other| other.name != shoot.name)) {
        names.add(cx, "shoots", &shoot.name, k);
    }
    for (o, operation) in raw.operations.iter().enumerate() {
        if let RawChange::SetFailureTolerance { shoot, .. } = &operation.change {
            names.find(cx, &format!("operations[{o}].set_failure_tolerance.shoot"), shoot);
        }
    }
}
