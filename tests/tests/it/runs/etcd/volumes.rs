//! Volumes that go, come back empty, and pass from a member to its successor.

use std::sync::Arc;

use super::{CLUSTER, at, check_modes, faulty, full, member, puts, records, report};
use zonefall_core::ids::{NodeId, VolumeId};
use zonefall_core::kernel::dist::Latency;
use zonefall_core::kernel::time::{Duration, Time};
use zonefall_core::record::{EtcdRecord, RaftRecord, Record, RefuseReason};
use zonefall_core::run::run_checked;
use zonefall_core::scenario::{
    DiskSlow, Fault, FaultTarget, MemberChange, NodeCrash, Operation, PlannedFault, Scenario, VolumeLost,
};

fn lost(at_s: u64, lasts_s: u64) -> PlannedFault {
    PlannedFault {
        at: at(at_s),
        lasts: Some(Duration::from_secs(lasts_s)),
        fault: Fault::VolumeLost(VolumeLost(FaultTarget::Named(VolumeId(2)))),
    }
}

/// When and why members were refused.
fn refusals(scenario: &Scenario) -> Vec<(Time, RefuseReason)> {
    let refused = |(when, record)| match record {
        Record::Etcd(EtcdRecord::MemberRefused { reason, .. }) => Some((when, reason)),
        _ => None,
    };
    records(scenario, 1).into_iter().filter_map(refused).collect()
}

#[test]
fn a_volume_is_back_when_the_last_fault_that_took_it_is_over() {
    let mut scenario = faulty(60, Fault::VolumeLost(VolumeLost(FaultTarget::Named(VolumeId(2)))));
    scenario.faults.push(lost(70, 60));
    assert_eq!(refusals(&scenario), [(at(130), RefuseReason::LostData)]);
    // One within the other.
    scenario.faults[1] = lost(70, 20);
    assert_eq!(refusals(&scenario), [(at(120), RefuseReason::LostData)]);
}

/// The third member is removed and a successor added, on the same volume.
fn succeeded(scenario: &mut Scenario, removed_s: u64, added_s: u64) {
    let mut successor = scenario.etcd[CLUSTER].members[2].clone();
    successor.initial = false;
    scenario.etcd[CLUSTER].members.push(successor);
    scenario.operations = vec![
        Operation { at: at(removed_s), change: MemberChange::Remove(member(2)) },
        Operation { at: at(added_s), change: MemberChange::Add(member(3)) },
    ];
}

#[test]
fn a_successor_joins_when_its_volume_is_back() {
    let mut scenario = faulty(60, Fault::VolumeLost(VolumeLost(FaultTarget::Named(VolumeId(2)))));
    succeeded(&mut scenario, 80, 81);
    let all = records(&scenario, 1);
    let second = |when: Time| when.as_nanos() / 1_000_000_000;
    let refused = |(when, record): &(Time, Record)| match record {
        Record::Etcd(EtcdRecord::MemberRefused { member: who, reason }) => Some((second(*when), who.index, *reason)),
        _ => None,
    };
    assert_eq!(all.iter().filter_map(refused).collect::<Vec<_>>(), [(81, 3, RefuseReason::NoVolume)]);
    let started = |(when, record): &(Time, Record)| {
        (*record == Record::Etcd(EtcdRecord::MemberStarted(member(3)))).then_some(second(*when))
    };
    assert_eq!(all.iter().filter_map(started).collect::<Vec<_>>(), [120], "half a second after its volume was back");
}

#[test]
fn a_successor_inherits_a_slow_disk() {
    let catches_up_in = |slow_for_s| {
        let add = Duration::from_secs(1);
        let mut scenario =
            faulty(slow_for_s, Fault::DiskSlow(DiskSlow { volume: FaultTarget::Named(VolumeId(2)), add, factor: 1.0 }));
        succeeded(&mut scenario, 80, 81);
        let caught_up = |(when, record)| match record {
            Record::Etcd(EtcdRecord::CaughtUp { member: who, .. }) if who == member(3) => Some(when),
            _ => None,
        };
        records(&scenario, 1).into_iter().find_map(caught_up).expect("it catches up").since(at(81))
    };
    let (slow, quick) = (catches_up_in(60), catches_up_in(10));
    assert!(slow > quick, "{slow} on the slow disk, {quick} on the same once it was over");
}

#[test]
fn writes_that_a_stalled_disk_held_up_end_soon_after_it_is_healthy() {
    // Two faults, neither over before the other: each write begun under both would take 20 minutes and more.
    let slow = |add_s, factor| {
        let add = Duration::from_secs(add_s);
        Fault::DiskSlow(DiskSlow { volume: FaultTarget::Named(VolumeId(2)), add, factor })
    };
    let mut scenario = faulty(4, slow(600, 2.0));
    scenario.faults.push(PlannedFault { at: at(61), lasts: Some(Duration::from_secs(5)), fault: slow(600, 10.0) });
    scenario.clients = vec![puts(20)].into();
    let mut applied = Vec::new();
    run_checked(&Arc::new(scenario.clone()), 1, full(), &mut |when, record: &Record| {
        if let Record::Etcd(EtcdRecord::Raft(RaftRecord::Applied { member: who, index, .. })) = *record {
            applied.push((when, who, index));
        }
    });
    let last = |who, until| {
        let before = applied.iter().filter(|(when, m, _)| *m == member(who) && *when < until);
        before.map(|(.., index)| *index).max().expect("it applies")
    };
    let behind = |until| last(0, until).saturating_sub(last(2, until));
    assert!(behind(at(66)) > 50, "it is behind while its disk is stalled: {}", behind(at(66)));
    assert!(behind(at(67)) < 10, "and not a second after: {}", behind(at(67)));
    check_modes(&scenario, 1);
}

#[test]
fn what_is_applied_again_after_a_power_loss_grows_the_database_once() {
    let mut scenario = faulty(1, Fault::NodeCrash(NodeCrash(FaultTarget::Named(NodeId(1)))));
    // The follower applies what it is told is committed while its own disk is still at it.
    scenario.volumes[VolumeId(1)].disk.fsync = Latency::Constant(Duration::from_millis(300));
    scenario.clients = vec![zonefall_core::scenario::Client { start: at(55), stop: at(61), ..puts(100) }].into();
    let report = report(scenario, full(), 1);
    let sizes: Vec<u64> = report.etcd["etcd-main"].members.iter().map(|member| member.database_bytes).collect();
    assert_eq!(sizes, [sizes[0]; 3]);
}
