//! Stories small enough to check by hand.

mod backend;
mod cards;
mod connections;
mod costs;
mod elections;
mod links;
mod membership;
mod passive;
mod pauses;
mod space;
mod streams;
mod unasked;
mod volumes;
mod watches;

use std::sync::Arc;

use zonefall_core::ids::{ClientId, EtcdId, MemberId, NodeId, TiVec, VolumeId, ZoneId};
use zonefall_core::kernel::time::{Duration, Time};
use zonefall_core::record::{ClientRecord, EtcdRecord, RaftRecord, Record, RefuseReason, RequestResult};
use zonefall_core::report::Report;
use zonefall_core::run::run_checked;
use zonefall_core::scenario::testing::{client, three_zones};
use zonefall_core::scenario::{
    Direction, DiskSlow, Fault, FaultTarget, GracefulStop, Load, MemberChange, NodeCrash, NodePartition, Op, Operation,
    PlannedFault, ProcessKill, Scenario, Target, VolumeLost, ZonePartition, ZonePower,
};
use zonefall_core::sim::{Options, Stepping};

fn full() -> Options {
    Options { stepping: Stepping::EveryEvent, ..Options::default() }
}

fn puts(per_s: u64) -> zonefall_core::scenario::Client {
    let load = Load::Open { interval: Duration::from_nanos(1_000_000_000 / per_s), poisson: false };
    zonefall_core::scenario::Client { op: Op::Put { key_bytes: 8, value_bytes: 1_024 }, load, ..client("load", Target::Leader) }
}

fn report(scenario: Scenario, options: Options, seed: u64) -> Report {
    run_checked(&Arc::new(scenario), seed, options, &mut |_, _| {})
}

/// Every story here, in both modes: the same report but for the number of events.
fn check_modes(scenario: &Scenario, seed: u64) -> Report {
    let fast = report(scenario.clone(), Options { stepping: Stepping::FastForward, ..full() }, seed);
    let mut stepping = report(scenario.clone(), full(), seed);
    assert!(fast.violations.is_empty(), "{:?}", fast.violations);
    assert!(fast.events <= stepping.events);
    stepping.events = fast.events;
    let (a, b) = (serde_json::to_string_pretty(&fast).unwrap(), serde_json::to_string_pretty(&stepping).unwrap());
    for (line, (a, b)) in a.lines().zip(b.lines()).enumerate() {
        assert_eq!(a, b, "line {line} of the reports (fast, full) under seed {seed}: {:?}", scenario.faults);
    }
    fast
}

fn at(s: u64) -> Time {
    Time::ZERO + Duration::from_secs(s)
}

#[test]
fn rest_changes_nothing_but_the_number_of_events() {
    for seed in 0..10 {
        let mut scenario = three_zones();
        check_modes(&scenario, seed);
        let jitter = zonefall_core::kernel::dist::Latency::LogNormal { median: Duration::from_micros(50), sigma: 0.5 };
        for path in &mut scenario.network.paths {
            path.jitter = jitter.clone();
        }
        check_modes(&scenario, seed);
        let leader = EtcdId(0);
        let faults = [
            Fault::ZonePower(ZonePower(FaultTarget::OfLeader(leader))),
            Fault::ProcessKill(ProcessKill(FaultTarget::OfLeader(leader))),
            Fault::GracefulStop(GracefulStop(FaultTarget::OfLeader(leader))),
            Fault::NodePartition(NodePartition {
                node: FaultTarget::OfLeader(leader),
                direction: zonefall_core::scenario::Direction::Both,
            }),
            Fault::ZonePartition(ZonePartition {
                zone: FaultTarget::OfLeader(leader),
                direction: zonefall_core::scenario::Direction::In,
            }),
            Fault::ZonePartition(ZonePartition {
                zone: FaultTarget::OfLeader(leader),
                direction: zonefall_core::scenario::Direction::Out,
            }),
            Fault::DiskSlow(DiskSlow { volume: FaultTarget::OfLeader(leader), add: Duration::from_millis(300), factor: 2.0 }),
        ];
        for fault in faults {
            scenario.faults = vec![PlannedFault { at: at(60), lasts: Some(Duration::from_secs(100)), fault }];
            check_modes(&scenario, seed);
            scenario.clients = vec![puts(1)].into();
            check_modes(&scenario, seed);
            scenario.clients.clear();
        }
    }
}

const CLUSTER: EtcdId = EtcdId(0);

fn member(index: u8) -> MemberId {
    MemberId { cluster: CLUSTER, index }
}

/// The records of a run, without raft's own.
fn records(scenario: &Scenario, seed: u64) -> Vec<(Time, Record)> {
    let mut all = Vec::new();
    let mut sink = |at, record: &Record| {
        if !matches!(record, Record::Etcd(EtcdRecord::Raft(_))) {
            all.push((at, record.clone()));
        }
    };
    let report = run_checked(&Arc::new(scenario.clone()), seed, full(), &mut sink);
    assert!(report.violations.is_empty(), "{:?}", report.violations);
    all
}

fn faulty(lasts_s: u64, fault: Fault) -> Scenario {
    let mut scenario = three_zones();
    scenario.faults = vec![PlannedFault { at: at(60), lasts: Some(Duration::from_secs(lasts_s)), fault }];
    scenario
}

/// Requests of the only client: how each ended, and how long it took.
fn requests(scenario: &Scenario, seed: u64) -> Vec<(Time, Duration, RequestResult)> {
    let request = |(at, record)| match record {
        Record::Client(ClientRecord::Request { latency, result, .. }) => Some((at, latency, result)),
        _ => None,
    };
    records(scenario, seed).into_iter().filter_map(request).collect()
}

/// Once a second from the 61st, at `target`, from the third zone.
fn asks(op: Op, target: Target) -> zonefall_core::scenario::Client {
    zonefall_core::scenario::Client {
        op,
        zone: ZoneId(2),
        start: at(61),
        retries: 0,
        ..zonefall_core::scenario::Client { target, ..puts(1) }
    }
}

#[test]
fn sigterm_hands_leadership_over_and_sigkill_costs_an_election() {
    for seed in 0..20 {
        let gone = |fault| report(faulty(60, fault), full(), seed).etcd["etcd-main"].write_unavailable_s;
        let handed = gone(Fault::GracefulStop(GracefulStop(FaultTarget::OfLeader(CLUSTER))));
        let killed = gone(Fault::ProcessKill(ProcessKill(FaultTarget::OfLeader(CLUSTER))));
        assert!(handed < 0.02, "seed {seed}: {handed} s");
        assert!((0.8..4.0).contains(&killed), "seed {seed}: {killed} s");
    }
}

#[test]
fn a_proposal_waits_where_no_leader_is_known_and_times_out_on_its_way_to_a_dead_one() {
    let put = Op::Put { key_bytes: 8, value_bytes: 100 };
    let mut scenario = faulty(30, Fault::ZonePower(ZonePower(FaultTarget::OfLeader(CLUSTER))));
    // In the first second the follower still believes in the dead leader.
    let early = zonefall_core::scenario::Client {
        start: at(60) + Duration::from_millis(1),
        stop: at(60) + Duration::from_millis(2),
        ..asks(put, Target::Member(1))
    };
    scenario.clients = vec![early].into();
    let (_, latency, result) = requests(&scenario, 1)[0];
    assert_eq!((latency, result), (Duration::from_secs(7), RequestResult::TimedOut));
    // With two of three gone, the last one learns that it has no leader, and what it takes waits until there is one.
    let two = |lasts| PlannedFault {
        at: at(60),
        lasts: Some(Duration::from_secs(lasts)),
        fault: Fault::NodeCrash(NodeCrash(FaultTarget::Named(NodeId(1)))),
    };
    scenario.faults.push(two(12));
    scenario.faults[0].lasts = Some(Duration::from_secs(12));
    scenario.clients =
        vec![zonefall_core::scenario::Client { start: at(70), stop: at(71), ..asks(put, Target::Member(2)) }].into();
    let (_, latency, result) = requests(&scenario, 1)[0];
    assert_eq!(result, RequestResult::Ok);
    assert!(latency > Duration::from_secs(2), "waited {latency}");
}

#[test]
fn a_member_alone_answers_serializable_reads_only() {
    let range = |linearizable| Op::Range { linearizable, keys: 1, key_bytes: 8, value_bytes: 100 };
    for (linearizable, expected) in [(false, RequestResult::Ok), (true, RequestResult::TimedOut)] {
        let mut scenario = faulty(60, Fault::NodeCrash(NodeCrash(FaultTarget::Named(NodeId(0)))));
        scenario.faults.push(PlannedFault {
            fault: Fault::NodeCrash(NodeCrash(FaultTarget::Named(NodeId(1)))),
            ..scenario.faults[0].clone()
        });
        scenario.clients =
            vec![zonefall_core::scenario::Client { stop: at(100), ..asks(range(linearizable), Target::Member(2)) }].into();
        let all = requests(&scenario, 3);
        assert!(all.len() > 30 && all.iter().all(|(_, _, result)| *result == expected), "{linearizable}: {all:?}");
    }
}

#[test]
fn learners_serve_serializable_reads_only_and_do_not_vote() {
    let range = |linearizable| Op::Range { linearizable, keys: 1, key_bytes: 8, value_bytes: 100 };
    let mut scenario = faulty(60, Fault::NodeCrash(NodeCrash(FaultTarget::OfLeader(CLUSTER))));
    scenario.etcd[CLUSTER].members[2].learner = true;
    scenario.clients =
        vec![zonefall_core::scenario::Client { start: at(10), stop: at(50), ..asks(range(true), Target::Member(2)) }].into();
    assert!(requests(&scenario, 1).iter().all(|(_, _, result)| *result == RequestResult::Failed));
    scenario.clients[ClientId(0)].op = range(false);
    assert!(requests(&scenario, 1).iter().all(|(_, _, result)| *result == RequestResult::Ok));
    scenario.network.paths[8].delay = Duration::from_micros(100);
    // Who does not name it takes it for what it serves, and a voter for the rest.
    for (linearizable, member) in [(false, 2), (true, 0)] {
        scenario.clients[ClientId(0)] = zonefall_core::scenario::Client {
            target: Target::Nearest,
            op: range(linearizable),
            ..scenario.clients[ClientId(0)].clone()
        };
        let all = records(&scenario, 1);
        let mut asked = all.iter().filter_map(|(_, record)| match record {
            Record::Client(ClientRecord::Request { member, result: RequestResult::Ok, .. }) => Some(member.index),
            _ => None,
        });
        assert!(asked.next().is_some() && asked.all(|index| index == member), "linearizable: {linearizable}");
    }
    // Of two voters one is left: no quorum, whatever the learner thinks.
    let report = report(scenario, full(), 1);
    assert!(report.etcd["etcd-main"].quorum_lost_s > 59.0);
}

#[test]
fn a_lost_volume_needs_remove_and_add() {
    let mut scenario = faulty(60, Fault::VolumeLost(VolumeLost(FaultTarget::Named(VolumeId(2)))));
    scenario.clients = vec![puts(10)].into();
    let refused = |all: &[(Time, Record)]| {
        all.iter()
            .any(|(_, record)| matches!(record, Record::Etcd(EtcdRecord::MemberRefused { reason: RefuseReason::LostData, .. })))
    };
    let all = records(&scenario, 1);
    assert!(refused(&all), "an empty disk under the old name is refused");
    let mut successor = scenario.etcd[CLUSTER].members[2].clone();
    successor.initial = false;
    scenario.etcd[CLUSTER].members.push(successor);
    scenario.operations = vec![
        Operation { at: at(130), change: MemberChange::Remove(member(2)) },
        Operation { at: at(131), change: MemberChange::Add(member(3)) },
    ];
    let all = records(&scenario, 1);
    let applied =
        all.iter().filter(|(_, record)| matches!(record, Record::Etcd(EtcdRecord::Membership { refused: None, .. }))).count();
    assert_eq!(applied, 2);
    let report = report(scenario, full(), 1);
    let members = &report.etcd["etcd-main"].members;
    assert!(members[3].up && members[3].committed + 5 > members[0].committed, "{members:?}");
    assert_eq!(members[2].role, zonefall_core::sim::Role::Absent);
}

#[test]
fn a_member_that_is_down_at_the_end_is_in_the_verdict() {
    let mut scenario = faulty(10, Fault::VolumeLost(VolumeLost(FaultTarget::Named(VolumeId(2)))));
    let lost = "etcd-main-2 was down at the end; the loss of one more voter costs the quorum. \
                It has lost its data, and starts when it is removed and added again.";
    let verdict = report(scenario.clone(), full(), 1).verdict();
    assert!(verdict.contains(lost), "{verdict}");
    let killed = Fault::ProcessKill(ProcessKill(FaultTarget::Named(member(1))));
    scenario.faults.push(PlannedFault { at: at(80), lasts: None, fault: killed });
    let both = "etcd-main-1 and etcd-main-2 were down at the end. etcd-main-2 has lost its data, and starts when it is removed";
    let verdict = report(scenario.clone(), full(), 1).verdict();
    assert!(verdict.contains(both), "{verdict}");
    scenario.faults.clear();
    let verdict = report(scenario, full(), 1).verdict();
    assert!(!verdict.contains("down at the end"), "{verdict}");
}

#[test]
fn a_power_loss_drops_what_was_not_synced_and_a_kill_only_what_was_not_written() {
    // The follower's disk is so slow that its first write is still being synced, and all later entries wait in memory.
    let first_lost = |fault| {
        let mut scenario = faulty(1, fault);
        scenario.volumes[VolumeId(1)].disk.fsync = zonefall_core::kernel::dist::Latency::Constant(Duration::from_secs(5));
        scenario.clients =
            vec![zonefall_core::scenario::Client { start: at(59), stop: at(59) + Duration::from_millis(10), ..puts(1000) }]
                .into();
        let mut first = None;
        let mut sink = |when: Time, record: &Record| match record {
            Record::Etcd(EtcdRecord::Raft(RaftRecord::Truncated { member: gone, from }))
                if when == at(60) && *gone == member(1) =>
            {
                first = Some(*from);
            }
            _ => {}
        };
        run_checked(&Arc::new(scenario), 1, full(), &mut sink);
        first
    };
    // The settled log ends at 1: entry 2 was written first.
    assert_eq!(first_lost(Fault::NodeCrash(NodeCrash(FaultTarget::Named(NodeId(1))))), Some(2));
    assert_eq!(first_lost(Fault::ProcessKill(ProcessKill(FaultTarget::Named(member(1))))), Some(3));
}

#[test]
fn a_leader_whose_disk_stalls_beats_no_more_and_is_replaced() {
    let stall =
        |s| Fault::DiskSlow(DiskSlow { volume: FaultTarget::OfLeader(CLUSTER), add: Duration::from_secs(s), factor: 1.0 });
    let changes = |fault| {
        let mut scenario = faulty(60, fault);
        scenario.clients = vec![puts(10)].into();
        report(scenario, full(), 5).etcd["etcd-main"].leader_changes
    };
    assert_eq!(
        changes(Fault::DiskSlow(DiskSlow {
            volume: FaultTarget::OfLeader(CLUSTER),
            add: Duration::from_millis(50),
            factor: 1.0
        })),
        0
    );
    assert!(changes(stall(10)) >= 1);
}

#[test]
fn a_cut_is_noticed_late_and_a_kill_at_once() {
    let lost = |fault| {
        let found = |(when, record)| {
            matches!(record, Record::Etcd(EtcdRecord::PeerLost { from, .. }) if from == member(0)).then_some(when)
        };
        records(&faulty(60, fault), 1).into_iter().find_map(found).expect("the silent peer is noticed").since(at(60))
    };
    let killed = lost(Fault::ProcessKill(ProcessKill(FaultTarget::Named(member(0)))));
    let cut = lost(Fault::NodePartition(NodePartition { node: FaultTarget::Named(NodeId(0)), direction: Direction::Both }));
    assert!(killed < Duration::from_millis(2), "{killed}");
    assert!(cut > Duration::from_secs(3) && cut <= Duration::from_secs(5), "{cut}");
}

#[test]
fn a_short_cut_is_ridden_out_by_retransmission() {
    let mut scenario =
        faulty(1, Fault::NodePartition(NodePartition { node: FaultTarget::Named(NodeId(2)), direction: Direction::Both }));
    scenario.faults[0].lasts = Some(Duration::from_millis(700));
    scenario.clients = vec![puts(100)].into();
    let all = records(&scenario, 1);
    assert!(
        !all.iter().any(|(_, record)| matches!(
            record,
            Record::Etcd(EtcdRecord::PeerLost { .. } | EtcdRecord::Elected { term: 2.., .. })
        ))
    );
    let report = report(scenario, full(), 1);
    let members = &report.etcd["etcd-main"].members;
    assert!(members[2].committed + 5 > members[0].committed, "{members:?}");
}
