//! Hand-written record streams and the outages they must tell.

use std::sync::Arc;

use crate::ids::{FaultId, NodeId, VolumeId, ZoneId};
use crate::observe::Observer;
use crate::observe::availability::Availability;
use crate::observe::testing::{CLUSTER, at, fault, member, service, three_zones};
use crate::record::{Record, Service, StepDownReason, StopReason};
use crate::report::OutageKind;
use crate::scenario::{Aim, Direction, Fault, MemberChange};

/// The outages a stream must tell, as `(kind, from, to, cause)`, at minute ten.
fn check(records: &[(u64, Record)], expected: &[(OutageKind, f64, f64, &str)]) {
    let mut availability = Availability::new(&Arc::new(three_zones()));
    for (ms, record) in records {
        availability.record(at(*ms), record);
    }
    let outages = availability.outages(CLUSTER, at(600_000));
    let got: Vec<_> = outages.iter().map(|o| (o.kind, o.from_s, o.to_s, o.cause.as_str())).collect();
    assert_eq!(got, expected);
}

fn stops(ms: u64, m: u8, reason: StopReason) -> (u64, Record) {
    (ms, Record::MemberStopped { member: member(m), reason })
}

fn serves(ms: u64, m: u8) -> (u64, Record) {
    (ms, Record::MemberStarted(member(m)))
}

fn elected(ms: u64, m: u8, term: u64) -> (u64, Record) {
    (ms, Record::Elected { member: member(m), term })
}

fn steps_down(ms: u64, m: u8, reason: StepDownReason) -> (u64, Record) {
    (ms, Record::SteppedDown { member: member(m), term: 2, reason })
}

fn over(ms: u64, id: u32) -> (u64, Record) {
    (ms, Record::FaultEnded(FaultId(id)))
}

fn zone(z: u16) -> Fault {
    Fault::ZonePower(Aim::Named(ZoneId(z)))
}

const WRITE: OutageKind = OutageKind::Write;

#[test]
fn the_leaders_zone_goes_dark() {
    check(
        &[
            fault(0, 60_000, zone(0)),
            // Before the record of the process: the order within an instant does not matter.
            service(60_000, Service::Write, false),
            stops(60_000, 0, StopReason::PowerLost),
            elected(61_300, 2, 3),
            service(61_303, Service::Write, true),
        ],
        &[(WRITE, 60.0, 61.303, "zone z-a lost power; leader etcd-main-0 gone; etcd-main-2 elected after 1.3 s")],
    );
}

#[test]
fn a_leader_cut_off_steps_down() {
    let cut = Fault::NodeCut { node: Aim::Named(NodeId(0)), direction: Direction::Both };
    let zone_cut = Fault::ZoneCut { zone: Aim::Named(ZoneId(0)), direction: Direction::In };
    let after = [
        service(60_000, Service::Write, false),
        steps_down(61_400, 0, StepDownReason::QuorumInactive),
        elected(61_600, 1, 3),
        service(61_603, Service::Write, true),
    ];
    let told = |cut, cause| {
        let stream: Vec<_> = std::iter::once(fault(0, 60_000, cut)).chain(after.iter().cloned()).collect();
        check(&stream, &[(WRITE, 60.0, 61.603, cause)]);
    };
    told(cut, "etcd-main-0 cut off; stepped down after 1.4 s; etcd-main-1 elected after 1.6 s");
    told(
        zone_cut,
        "zone z-a cut off (nothing gets in); leader etcd-main-0 stepped down after 1.4 s; etcd-main-1 elected after 1.6 s",
    );
}

#[test]
fn a_leader_cut_off_may_be_replaced_before_it_knows() {
    check(
        &[
            fault(0, 60_000, Fault::ZoneCut { zone: Aim::Named(ZoneId(0)), direction: Direction::Both }),
            service(60_000, Service::Write, false),
            elected(61_600, 1, 3),
            service(61_603, Service::Write, true),
            steps_down(61_700, 0, StepDownReason::QuorumInactive),
        ],
        &[(WRITE, 60.0, 61.603, "zone z-a cut off; leader etcd-main-0 out of reach; etcd-main-1 elected after 1.6 s")],
    );
}

#[test]
fn quorum_goes_and_comes_back() {
    check(
        &[
            fault(0, 10_000, zone(1)),
            stops(10_000, 1, StopReason::PowerLost),
            fault(1, 60_000, zone(0)),
            stops(60_000, 0, StopReason::PowerLost),
            service(60_000, Service::Quorum, false),
            service(60_000, Service::Write, false),
            over(120_000, 1),
            serves(120_500, 0),
            service(120_501, Service::Quorum, true),
            elected(121_800, 2, 4),
            service(121_803, Service::Write, true),
        ],
        &[
            (
                OutageKind::Quorum,
                60.0,
                120.501,
                "zone z-a lost power; zone z-b still without power; 2 of 3 voters down; etcd-main-0 serves again after 60.5 s",
            ),
            (
                WRITE,
                60.0,
                121.803,
                "zone z-a lost power; zone z-b still without power; leader etcd-main-0 gone; quorum lost; 2 of 3 voters down; \
                 etcd-main-0 serves again after 60.5 s; etcd-main-2 elected after 61.8 s",
            ),
        ],
    );
}

#[test]
fn an_outage_may_outlast_the_run() {
    check(
        &[
            fault(0, 500_000, Fault::VolumeLost(Aim::Named(VolumeId(1)))),
            stops(500_000, 1, StopReason::VolumeLost),
            fault(1, 550_000, Fault::ProcessKill(Aim::Named(member(2)))),
            stops(550_000, 2, StopReason::Killed),
            service(550_000, Service::Quorum, false),
        ],
        &[(
            OutageKind::Quorum,
            550.0,
            600.0,
            "etcd-main-2 was killed; disk of etcd-main-1 still gone; 2 of 3 voters down; not over at the end of the run",
        )],
    );
}

#[test]
fn a_returning_member_a_removal_and_a_slow_disk_are_causes_too() {
    let cut = Fault::NodeCut { node: Aim::Named(NodeId(2)), direction: Direction::Both };
    let slow =
        Fault::DiskSlow { volume: Aim::Named(VolumeId(0)), add: crate::kernel::time::Duration::from_millis(1_500), factor: 1.0 };
    check(
        &[
            fault(0, 10_000, cut),
            over(50_000, 0),
            steps_down(50_100, 0, StepDownReason::HigherTerm),
            service(50_100, Service::Write, false),
            elected(51_500, 0, 9),
            service(51_502, Service::Write, true),
            (200_000, Record::Membership { change: MemberChange::Remove(member(0)), refused: None }),
            steps_down(200_000, 0, StepDownReason::Removed),
            service(200_000, Service::Write, false),
            elected(201_000, 1, 10),
            service(201_002, Service::Write, true),
            fault(1, 300_000, slow),
            service(300_000, Service::Write, false),
            over(330_000, 1),
            service(330_000, Service::Write, true),
        ],
        &[
            (
                WRITE,
                50.1,
                51.502,
                "node node-c can be reached again; leader etcd-main-0 stepped down (a higher term was about); \
                 etcd-main-0 elected after 1.4 s",
            ),
            (
                WRITE,
                200.0,
                201.002,
                "membership changed (remove etcd-main-0); leader etcd-main-0 stepped down (it was removed); \
                 etcd-main-1 elected after 1 s",
            ),
            (
                WRITE,
                300.0,
                330.0,
                "disk of etcd-main-0 got slow (1.5 s more per fsync); disk of etcd-main-0 is as fast as before after 30 s",
            ),
        ],
    );
}

#[test]
#[expect(clippy::float_cmp, reason = "seconds of a report are exact")]
fn time_adds_up_and_outages_of_no_length_are_none() {
    let mut availability = Availability::new(&Arc::new(three_zones()));
    for (ms, record) in [
        service(1_000, Service::Write, false),
        service(1_000, Service::Write, true),
        service(2_000, Service::Write, false),
        service(3_500, Service::Write, true),
        service(599_000, Service::Write, false),
    ] {
        availability.record(at(ms), &record);
    }
    assert_eq!(availability.gone_s(CLUSTER, Service::Write, at(600_000)), 2.5);
    assert_eq!(availability.gone_s(CLUSTER, Service::Quorum, at(600_000)), 0.0);
    assert_eq!(availability.outages(CLUSTER, at(600_000)).len(), 2);
}
