//! Volumes that go, come back empty, and pass from a member to its successor.

use super::{at, faulty, records};
use crate::ids::VolumeId;
use crate::kernel::time::{Duration, Time};
use crate::record::{Record, RefuseReason};
use crate::scenario::{Aim, Fault, PlannedFault, Scenario};

fn lost(at_s: u64, lasts_s: u64) -> PlannedFault {
    PlannedFault { at: at(at_s), lasts: Some(Duration::from_secs(lasts_s)), fault: Fault::VolumeLost(Aim::Named(VolumeId(2))) }
}

/// When and why members were refused.
fn refusals(scenario: &Scenario) -> Vec<(Time, RefuseReason)> {
    let refused = |(when, record)| match record {
        Record::MemberRefused { reason, .. } => Some((when, reason)),
        _ => None,
    };
    records(scenario, 1).into_iter().filter_map(refused).collect()
}

#[test]
fn a_volume_is_back_when_the_last_fault_that_took_it_is_over() {
    let mut scenario = faulty(60, Fault::VolumeLost(Aim::Named(VolumeId(2))));
    scenario.faults.push(lost(70, 60));
    assert_eq!(refusals(&scenario), [(at(130), RefuseReason::LostData)]);
    // One within the other.
    scenario.faults[1] = lost(70, 20);
    assert_eq!(refusals(&scenario), [(at(120), RefuseReason::LostData)]);
}
