//! Control planes that are not there: what the schedulers found no place for.

use crate::kube::spec::gardener::Shoot;
use crate::report::{PendingReport, PendingShootReport};
use crate::scenario::Scenario;

/// All of them; `None`: each is there.
pub fn pending(scenario: &Scenario) -> Option<PendingReport> {
    let model = &scenario.kube;
    let row = |shoot: &Shoot| {
        let reason = shoot.pending(|seed| &model.seeds[seed].name)?;
        Some(PendingShootReport { shoot: shoot.name.clone(), failure_tolerance: shoot.tolerance, reason })
    };
    let shoots: Vec<_> = model.shoots.iter().filter_map(row).collect();
    (!shoots.is_empty()).then_some(PendingReport { control_planes: model.shoots.len() as u64, shoots })
}
