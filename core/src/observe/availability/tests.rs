//! Hand-written record streams and the outages they must tell.

mod rare;
mod requests;

use std::sync::Arc;

use crate::etcd::passive::PassiveRecord;
use crate::ids::{ClientId, FaultId, MemberId, NodeId, VolumeId, ZoneId};
use crate::kernel::time::Duration;
use crate::observe::Observer;
use crate::observe::availability::Availability;
use crate::observe::testing::{CLUSTER, at, client, fault, member, service, three_zones};
use crate::record::{ClientRecord, EtcdRecord, Part, Record, RefuseReason, RequestResult, Service, StepDownReason, StopReason};
use crate::report::OutageKind;
use crate::scenario::{
    Client, Direction, DiskSlow, Fault, FaultTarget, GracefulStop, MemberChange, NodePartition, Op, ProcessKill, Target,
    VolumeLost, ZonePartition, ZonePower,
};

/// The outages a stream must tell, as `(kind, from, to, cause)`, at minute ten.
fn check(records: &[(u64, Record)], expected: &[(OutageKind, f64, f64, &str)]) {
    let mut availability = Availability::new(&Arc::new(three_zones()));
    for (ms, record) in records {
        availability.record(at(*ms), record);
    }
    let outages = availability.outages(CLUSTER, at(600_000));
    let got: Vec<_> = outages.iter().map(|o| (o.kind, o.from_s, o.to_s, o.root_cause.as_str())).collect();
    assert_eq!(got, expected);
}

fn stops(ms: u64, m: u8, reason: StopReason) -> (u64, Record) {
    (ms, Record::Etcd(EtcdRecord::MemberStopped { member: member(m), reason }))
}

fn serves(ms: u64, m: u8) -> (u64, Record) {
    (ms, Record::Etcd(EtcdRecord::MemberStarted(member(m))))
}

fn elected(ms: u64, m: u8, term: u64) -> (u64, Record) {
    (ms, Record::Etcd(EtcdRecord::Elected { member: member(m), term }))
}

fn steps_down(ms: u64, m: u8, reason: StepDownReason) -> (u64, Record) {
    (ms, Record::Etcd(EtcdRecord::SteppedDown { member: member(m), term: 2, reason }))
}

fn over(ms: u64, id: u32) -> (u64, Record) {
    (ms, Record::FaultEnded(FaultId(id)))
}

fn zone(z: u16) -> Fault {
    Fault::ZonePower(ZonePower(FaultTarget::Named(ZoneId(z))))
}

fn slow(volume: u16, ms: u64) -> Fault {
    Fault::DiskSlow(DiskSlow { volume: FaultTarget::Named(VolumeId(volume)), add: Duration::from_millis(ms), factor: 1.0 })
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
    let cut = Fault::NodePartition(NodePartition { node: FaultTarget::Named(NodeId(0)), direction: Direction::Both });
    let zone_partition = Fault::ZonePartition(ZonePartition { zone: FaultTarget::Named(ZoneId(0)), direction: Direction::In });
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
    told(
        cut,
        "leader etcd-main-0 cut off with node node-a; stepped down after 1.4 s (no majority answered); etcd-main-1 elected after 1.6 s",
    );
    told(
        zone_partition,
        "zone z-a cut off (inbound blocked); leader etcd-main-0 stepped down after 1.4 s (no majority answered); \
         etcd-main-1 elected after 1.6 s",
    );
}

#[test]
fn a_leader_cut_off_may_be_replaced_before_it_knows() {
    check(
        &[
            fault(
                0,
                60_000,
                Fault::ZonePartition(ZonePartition { zone: FaultTarget::Named(ZoneId(0)), direction: Direction::Both }),
            ),
            service(60_000, Service::Write, false),
            elected(61_600, 1, 3),
            service(61_603, Service::Write, true),
            steps_down(61_700, 0, StepDownReason::QuorumInactive),
        ],
        &[(WRITE, 60.0, 61.603, "zone z-a cut off; leader etcd-main-0 unreachable; etcd-main-1 elected after 1.6 s")],
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
                "zone z-a lost power; zone z-b still without power; 2 of 3 voters down; etcd-main-0 is running again after 60.5 s",
            ),
            (
                WRITE,
                60.0,
                121.803,
                "zone z-a lost power; zone z-b still without power; leader etcd-main-0 gone; quorum lost; 2 of 3 voters down; \
                 etcd-main-0 is running again after 60.5 s; etcd-main-2 elected after 61.8 s",
            ),
        ],
    );
}

#[test]
fn an_outage_may_outlast_the_run() {
    check(
        &[
            fault(0, 500_000, Fault::VolumeLost(VolumeLost(FaultTarget::Named(VolumeId(1))))),
            stops(500_000, 1, StopReason::VolumeLost),
            fault(1, 550_000, Fault::ProcessKill(ProcessKill(FaultTarget::Named(member(2))))),
            stops(550_000, 2, StopReason::Killed),
            service(550_000, Service::Quorum, false),
        ],
        &[(
            OutageKind::Quorum,
            550.0,
            600.0,
            "etcd-main-2 was killed; disk of etcd-main-1 still lost; 2 of 3 voters down; ongoing at the end of the run",
        )],
    );
}

/// It runs, and its stream to the leader is not there yet: the next one must not stop.
#[test]
fn a_member_that_has_just_started_does_not_make_a_majority() {
    let sees = |ms, m| (ms, Record::Etcd(EtcdRecord::LeaderSeen { member: member(m), term: 1, leader: Some(0) }));
    let told = |started: u64| {
        let records = [
            stops(10_000, 2, StopReason::Stopped),
            serves(started, 2),
            sees(60_070, 2),
            stops(60_005, 1, StopReason::Stopped),
            service(60_005, Service::Write, false),
            service(60_100, Service::Write, true),
        ];
        let mut records = records.to_vec();
        records.sort_by_key(|(ms, _)| *ms);
        let mut availability = Availability::new(&Arc::new(three_zones()));
        for (ms, record) in &records {
            availability.record(at(*ms), record);
        }
        availability.outages(CLUSTER, at(600_000)).remove(0).root_cause.clone()
    };
    let cause = told(60_000);
    assert!(cause.contains("etcd-main-2, which had started 5 ms before, did not follow the leader yet"), "{cause}");
    // It had long followed, as far as anybody knows.
    let cause = told(30_000);
    assert!(!cause.contains("which had started"), "{cause}");
}

#[test]
fn a_returning_member_a_removal_and_a_slow_disk_are_causes_too() {
    let cut = Fault::NodePartition(NodePartition { node: FaultTarget::Named(NodeId(2)), direction: Direction::Both });
    check(
        &[
            fault(0, 10_000, cut),
            over(50_000, 0),
            steps_down(50_100, 0, StepDownReason::HigherTerm),
            service(50_100, Service::Write, false),
            elected(51_500, 0, 9),
            service(51_502, Service::Write, true),
            (200_000, Record::Etcd(EtcdRecord::Membership { change: MemberChange::Remove(member(0)), refused: None })),
            steps_down(200_000, 0, StepDownReason::Removed),
            service(200_000, Service::Write, false),
            elected(201_000, 1, 10),
            service(201_002, Service::Write, true),
            fault(1, 300_000, slow(0, 1_500)),
            service(300_000, Service::Write, false),
            over(330_000, 1),
            service(330_000, Service::Write, true),
        ],
        &[
            (
                WRITE,
                50.1,
                51.502,
                "node node-c is reachable again; leader etcd-main-0 stepped down (it received a higher term); \
                 etcd-main-0 elected again after 1.4 s",
            ),
            (WRITE, 200.0, 201.002, "leader etcd-main-0 was removed from the cluster; etcd-main-1 elected after 1 s"),
            (
                WRITE,
                300.0,
                330.0,
                "disk of etcd-main-0 became slow (1.5 s more per fsync); no write arrived in that time; disk of etcd-main-0 has its normal speed again after 30 s",
            ),
        ],
    );
}

/// The cause of one write outage, from 1:00 to `to_ms`.
fn cause(before: &[(u64, Record)], after: &[(u64, Record)], to_ms: u64, expected: &str) {
    let mut stream = before.to_vec();
    stream.push(service(60_000, Service::Write, false));
    stream.extend(after.iter().cloned());
    stream.push(service(to_ms, Service::Write, true));
    check(&stream, &[(WRITE, 60.0, at(to_ms).as_secs_f64(), expected)]);
}

#[test]
fn what_hit_the_leader_is_told_in_one_clause() {
    let m0 = FaultTarget::Named(member(0));
    cause(
        &[fault(0, 60_000, Fault::ProcessKill(ProcessKill(m0))), stops(60_000, 0, StopReason::Killed)],
        &[over(60_200, 0), serves(60_700, 0), elected(61_700, 0, 3)],
        61_702,
        "leader etcd-main-0 was killed; etcd-main-0 is running again after 700 ms; etcd-main-0 elected again after 1.7 s",
    );
    cause(
        &[fault(0, 60_000, Fault::GracefulStop(GracefulStop(m0))), steps_down(60_000, 0, StepDownReason::HigherTerm)],
        &[elected(60_001, 1, 3), stops(60_001, 0, StopReason::Stopped)],
        60_003,
        "leader etcd-main-0 was stopped gracefully; transferred leadership; etcd-main-1 elected after 1 ms",
    );
    cause(
        &[fault(0, 59_000, slow(0, 2_000))],
        &[elected(61_700, 2, 3)],
        61_702,
        "disk of etcd-main-0 became slow (2 s more per fsync); leader etcd-main-0 sent no heartbeat in time; etcd-main-2 elected after 1.7 s",
    );
    cause(
        &[fault(0, 59_000, slow(0, 2_000)), elected(59_999, 2, 3), steps_down(60_000, 0, StepDownReason::HigherTerm)],
        &[],
        60_001,
        "disk of etcd-main-0 became slow (2 s more per fsync); leader etcd-main-0 replaced by etcd-main-2",
    );
}

#[test]
fn leader_behind_a_member_that_had_campaigned_for_a_later_term_steps_down_for_that() {
    let campaigns = |ms, term| (ms, Record::Etcd(EtcdRecord::Campaign { member: member(0), term, pre_vote: false }));
    let cause_of = |campaigned: u64, expected: &str| {
        let before = [campaigns(40_000, campaigned), elected(59_998, 1, 2), steps_down(60_000, 1, StepDownReason::HigherTerm)];
        cause(&before, &[elected(61_700, 1, campaigned + 1)], 61_702, expected);
    };
    let fate = "leader etcd-main-1 stepped down (it received a higher term); etcd-main-1 elected again after 1.7 s";
    cause_of(637, &format!("etcd-main-0 had campaigned for a later term (637); {fate}"));
    // One that campaigns for the very term lost this election: its term explains nothing.
    cause_of(2, &format!("no active fault; {fate}"));
}

#[test]
fn of_several_faults_the_right_one_is_the_cause() {
    let kill = |id, ms, m| {
        [fault(id, ms, Fault::ProcessKill(ProcessKill(FaultTarget::Named(member(m))))), stops(ms, m, StopReason::Killed)]
    };
    let leader_killed = kill(9, 60_000, 0);
    let with = |mut before: Vec<(u64, Record)>, expected| {
        before.extend(leader_killed.clone());
        cause(&before, &[elected(61_300, 2, 3)], 61_302, expected);
    };
    // A slow disk that was there before and is there still is no part of it; what was over before is none either.
    with(vec![fault(0, 30_000, slow(2, 5))], "leader etcd-main-0 was killed; etcd-main-2 elected after 1.3 s");
    with(vec![fault(0, 55_000, slow(2, 5))], "leader etcd-main-0 was killed; etcd-main-2 elected after 1.3 s");
    with(vec![fault(0, 50_000, slow(2, 5)), over(59_000, 0)], "leader etcd-main-0 was killed; etcd-main-2 elected after 1.3 s");
    with(
        kill(0, 55_000, 1).to_vec(),
        "leader etcd-main-0 was killed; etcd-main-1 still stopped; etcd-main-2 elected after 1.3 s",
    );
    // It is a part where the outage ends with it, or goes on long after the election.
    let before = [vec![fault(0, 30_000, slow(2, 2_000))], leader_killed.to_vec()].concat();
    let told = "leader etcd-main-0 was killed; disk of etcd-main-2 still slow;";
    cause(
        &before,
        &[elected(61_300, 2, 3), over(90_000, 0)],
        90_000,
        &format!("{told} disk of etcd-main-2 has its normal speed again after 30 s; etcd-main-2 elected after 1.3 s"),
    );
    cause(
        &before,
        &[elected(61_300, 1, 3), serves(80_000, 0)],
        80_001,
        &format!("{told} etcd-main-0 is running again after 20 s; etcd-main-1 elected after 1.3 s"),
    );
    // An operator's work counts though a fault has been there for long.
    let removed = (60_000, Record::Etcd(EtcdRecord::Membership { change: MemberChange::Remove(member(0)), refused: None }));
    cause(
        &[fault(0, 10_000, zone(1)), removed],
        &[stops(61_000, 0, StopReason::Removed), elected(61_700, 2, 3)],
        61_702,
        "leader etcd-main-0 was removed from the cluster; zone z-b still without power; etcd-main-0 stopped after 1 s; \
         etcd-main-2 elected after 1.7 s",
    );
}

#[test]
fn members_without_their_data_are_told_and_repeated_faults_counted() {
    let refused = |ms, m| (ms, Record::Etcd(EtcdRecord::MemberRefused { member: member(m), reason: RefuseReason::LostData }));
    let mut stream = vec![
        fault(0, 10_000, Fault::VolumeLost(VolumeLost(FaultTarget::Named(VolumeId(1))))),
        stops(10_000, 1, StopReason::VolumeLost),
        over(20_000, 0),
        refused(20_500, 1),
        fault(1, 60_000, zone(0)),
        stops(60_000, 0, StopReason::PowerLost),
        service(60_000, Service::Quorum, false),
    ];
    for k in 0..3 {
        stream.extend([fault(2 + k, 70_000 + u64::from(k) * 10_000, zone(2)), over(75_000 + u64::from(k) * 10_000, 2 + k)]);
    }
    check(
        &stream,
        &[(
            OutageKind::Quorum,
            60.0,
            600.0,
            "zone z-a lost power; then zone z-c lost power (3 times); etcd-main-1 does not start (its disk is empty); \
             2 of 3 voters down; zone z-c has power again after 35 s; ongoing at the end of the run",
        )],
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
    assert_eq!(availability.unavailable_s(CLUSTER, Service::Write, at(600_000)), 2.5);
    assert_eq!(availability.unavailable_s(CLUSTER, Service::Quorum, at(600_000)), 0.0);
    assert_eq!(availability.outages(CLUSTER, at(600_000)).len(), 2);
}

/// Paths that lose few packets explain nothing, unless a packet that was lost has held something up.
#[test]
fn a_lossy_path_is_a_cause_where_a_lost_packet_took_long() {
    let mut scenario = three_zones();
    scenario.network.paths.iter_mut().for_each(|path| path.loss = 0.0005);
    let scenario = Arc::new(scenario);
    let told = |lost: Option<u64>| {
        let mut availability = Availability::new(&scenario);
        if let Some(ms) = lost {
            let wait = Duration::from_millis(210);
            availability.record(at(ms), &Record::Etcd(EtcdRecord::Backlog { member: member(0), part: Part::Loss(1), wait }));
        }
        for (ms, record) in [service(60_000, Service::Write, false), elected(60_900, 1, 3), service(61_000, Service::Write, true)]
        {
            availability.record(at(ms), &record);
        }
        availability.outages(CLUSTER, at(600_000)).remove(0).root_cause
    };
    let since = "; leader etcd-main-0 sent no heartbeat in time; etcd-main-1 elected after 900 ms";
    for (lost, cause) in
        [(None, "no active fault"), (Some(1_000), "no active fault"), (Some(59_500), "0.05 % loss between z-a and z-b")]
    {
        assert_eq!(told(lost), format!("{cause}{since}"), "{lost:?}");
    }
}

/// A cluster that is unavailable for long keeps what happened to itself, not to others.
#[test]
fn a_long_outage_keeps_nothing_of_other_clusters() {
    let mut scenario = three_zones();
    let other = scenario.etcd.push_and_get_key(scenario.etcd[CLUSTER].clone());
    let mut availability = Availability::new(&Arc::new(scenario));
    let (ms, record) = service(1_000, Service::Write, false);
    availability.record(at(ms), &record);
    for second in (10..600).step_by(10) {
        let member = MemberId { cluster: other, index: 0 };
        let up = |up| Record::Etcd(EtcdRecord::Availability { cluster: other, service: Service::Quorum, up });
        let stops = Record::Etcd(EtcdRecord::MemberStopped { member, reason: StopReason::Killed });
        for record in [stops, up(false), Record::Etcd(EtcdRecord::MemberStarted(member)), up(true)] {
            availability.record(at(second * 1_000), &record);
        }
    }
    assert!(availability.causes.kept(other) < 20, "{}", availability.causes.kept(other));
}
