//! Switch-overs in small worlds: when they come, what they lose, and who stands by after them. Every run is made in both modes, with
//! every invariant on.

use std::sync::Arc;

use zonefall_core::ids::{ClientId, MemberId, VolumeId, ZoneId};
use zonefall_core::kernel::time::{Duration, Time};
use zonefall_core::record::{ClientRecord, EtcdRecord, Record};
use zonefall_core::report::{EtcdReport, FailoverReport, ReadUnavailable};
use zonefall_core::run::run_checked;
use zonefall_core::scenario::testing::{CLUSTER, at, client, member, three_zones};
use zonefall_core::scenario::{
    ActivePassive, Backup, Controller, Direction, Fault, FaultTarget, GracefulStop, Load, Op, PlannedFault, ProcessKill,
    ProcessPause, Scenario, Switching, Target, VolumeLost, ZonePartition, ZonePower,
};
use zonefall_core::sim::{Options, Role, Stepping};

use zonefall_core::etcd::passive::PassiveRecord;

const MINUTE: u64 = 60_000;
const ZONE_A: FaultTarget<ZoneId> = FaultTarget::Named(ZoneId(0));
const ZONE_B: FaultTarget<ZoneId> = FaultTarget::Named(ZoneId(1));

/// Two members in two zones, the first of which serves, and a client in the third that writes ten times a second. Half an hour.
fn world(backup: Option<Backup>) -> Scenario {
    let mut scenario = three_zones();
    scenario.duration = Duration::from_secs(1_800);
    let cluster = &mut scenario.etcd[CLUSTER];
    cluster.members.truncate(2);
    (cluster.revision, cluster.database_bytes) = (1_000, 10 << 20);
    cluster.passive = Some(ActivePassive { primary: 0, switching: Switching::default(), backup });
    cluster.members[1].learner = backup.is_none();
    let mut writer = client("writer", Target::Leader);
    writer.zone = ZoneId(2);
    writer.op = Op::Put { key_bytes: 32, value_bytes: 1_024 };
    writer.load = Load::Open { interval: Duration::from_millis(100), poisson: false };
    scenario.clients = vec![writer].into();
    scenario
}

fn hot() -> Scenario {
    world(Some(Backup::default()))
}

fn learner() -> Scenario {
    world(None)
}

fn fault(scenario: &mut Scenario, ms: u64, lasts: u64, fault: Fault) {
    let lasts = Some(Duration::from_millis(lasts));
    scenario.faults.push(PlannedFault { at: at(ms), lasts, fault });
}

/// The records of a run but for those inside raft, and its report; the same in both modes, and without violations.
fn played(scenario: Scenario, seed: u64) -> (Vec<(Time, Record)>, EtcdReport) {
    let scenario = Arc::new(scenario);
    let [fast, full] = [Stepping::FastForward, Stepping::EveryEvent].map(|stepping| {
        let options = Options { stepping, ..Options::default() };
        let mut records = Vec::new();
        let mut sink = |at: Time, record: &Record| {
            if !matches!(record, Record::Etcd(EtcdRecord::Raft(_))) {
                records.push((at, record.clone()));
            }
        };
        let report = run_checked(&scenario, seed, options, &mut sink);
        assert_eq!(report.violations, [], "seed {seed}, {stepping:?}");
        (records, report.etcd["etcd-main"].clone())
    });
    for (fast, full) in fast.0.iter().zip(&full.0) {
        assert_eq!(fast, full, "seed {seed}");
    }
    assert_eq!(fast.0.len(), full.0.len(), "seed {seed}");
    assert_eq!(fast.1, full.1, "seed {seed}");
    fast
}

fn one_switchover(report: &EtcdReport) -> &FailoverReport {
    let [one] = &report.failovers[..] else { panic!("{:?}", report.failovers) };
    assert!(one.completed, "{one:?}");
    one
}

/// Facts of the cluster with their moments in seconds.
fn facts(records: &[(Time, Record)]) -> impl Iterator<Item = (f64, PassiveRecord)> {
    records.iter().filter_map(|(at, record)| match record {
        Record::Etcd(EtcdRecord::Passive(_, fact)) => Some((at.as_secs_f64(), *fact)),
        _ => None,
    })
}

/// Requests that ended well between two moments, in seconds.
fn written(records: &[(Time, Record)], from_s: f64, to_s: f64) -> usize {
    let ok = |(at, record): &&(Time, Record)| {
        let result = zonefall_core::record::RequestResult::Ok;
        (from_s..to_s).contains(&at.as_secs_f64())
            && matches!(record, Record::Client(ClientRecord::Request { result: r, .. }) if *r == result)
    };
    records.iter().filter(ok).count()
}

#[test]
fn a_hot_standby_takes_over_with_what_the_bucket_holds() {
    for seed in 0..5 {
        let mut scenario = hot();
        fault(&mut scenario, 10 * MINUTE, 10 * MINUTE, Fault::ZonePower(ZonePower(ZONE_A)));
        let (records, report) = played(scenario, seed);
        let switch = one_switchover(&report);
        assert_eq!((switch.at_s, switch.from.as_str(), switch.to.as_str()), (600.0, "etcd-main-0", "etcd-main-1"));
        // Of three checks 30 s apart the first comes within 30 s.
        assert!((660.0..=690.0).contains(&switch.detected_s), "{switch:?}");
        // The process starts (0.5 s) and, alone, waits for the last 1 to 10 ticks of its election timeout.
        assert!((0.5..1.7).contains(&(switch.serving_s - switch.applied_s)), "{switch:?}");
        // Lost is what was committed after the last upload, and no more than a period of it.
        let uploads = facts(&records).filter(|(at, _)| *at < 600.0).filter_map(|(at, fact)| match fact {
            PassiveRecord::Uploaded { index, .. } => Some((at, index)),
            _ => None,
        });
        let (uploaded_s, index) = uploads.last().expect("two periods have passed");
        let after = written(&records, uploaded_s, 600.0) as i64;
        assert!((switch.lost_entries as i64 - after).abs() <= 3, "{after} entries after {uploaded_s} s: {switch:?}");
        assert!((300.0 - switch.lost_window_s) > -0.1 && switch.lost_window_s >= 600.0 - uploaded_s, "{switch:?}");
        assert_eq!(report.rpo.lost_entries, switch.lost_entries);
        assert_eq!(report.rpo.events[0].cause, "etcd-main-1 took over with what the backup bucket held");
        assert!(facts(&records).any(|(_, fact)| matches!(fact, PassiveRecord::Forked { index: kept, .. } if kept == index)));
        // Nobody serves until then, and no longer.
        assert!((report.write_unavailable_s - switch.duration_s).abs() < 1e-6, "{report:?}");
        assert_eq!(report.outages.iter().filter(|outage| outage.completed).count(), report.outages.len());
        assert_eq!(written(&records, 600.1, switch.serving_s), 0);
        assert!(written(&records, switch.serving_s, 1_800.0) > 10_000);
    }
}

#[test]
fn who_was_displaced_comes_back_as_the_standby() {
    let mut scenario = hot();
    fault(&mut scenario, 10 * MINUTE, 5 * MINUTE, Fault::ZonePower(ZonePower(ZONE_A)));
    fault(&mut scenario, 22 * MINUTE, 5 * MINUTE, Fault::ZonePower(ZonePower(ZONE_B)));
    let (records, report) = played(scenario, 1);
    let told: Vec<_> = facts(&records)
        .filter_map(|(at, fact)| match fact {
            PassiveRecord::Discarded { member, lost } => Some((at, member, lost)),
            _ => None,
        })
        .collect();
    let [(first, 0, 0), (second, 1, 0)] = told[..] else { panic!("{told:?}") };
    // At the first check after the power is back.
    assert!((900.0..930.0).contains(&first) && (1_620.0..1_650.0).contains(&second), "{told:?}");
    let names: Vec<_> = report.failovers.iter().map(|switch| switch.to.as_str()).collect();
    assert_eq!(names, ["etcd-main-1", "etcd-main-0"]);
    let roles: Vec<_> = report.members.iter().map(|member| (member.role, member.up)).collect();
    assert_eq!(roles, [(Role::Leader, true), (Role::Standby, false)]);
    // It has restored everything, from the full snapshot on.
    let restored = facts(&records).find_map(|(at, fact)| match fact {
        PassiveRecord::Applied { by: 0, bytes, .. } if at > first => Some(bytes),
        _ => None,
    });
    assert!(restored.is_some_and(|bytes| bytes >= 10 << 20), "{restored:?}");
    // One may be lost with somebody left; nobody; one again.
    let left: Vec<_> = report.tolerance.iter().map(|row| (row.connected, row.standbys, row.failure_tolerance)).collect();
    let once = [(0, 1, 0), (0, 0, -1), (1, 0, 0), (1, 1, 1)];
    assert_eq!(left, [&[(1, 1, 1)], &once[..], &once[..]].concat());
}

#[test]
fn the_loss_follows_the_delta_period_and_the_outage_the_checks() {
    for seed in 0..4 {
        let window = |delta_s: u64, check_s: u64, failures: u32| {
            let delta_period = Duration::from_secs(delta_s);
            let mut scenario = world(Some(Backup { delta_period, ..Backup::default() }));
            let switching =
                Switching { check_period: Duration::from_secs(check_s), failures, controller: Controller::Zone(ZoneId(2)) };
            scenario.etcd[CLUSTER].passive.as_mut().unwrap().switching = switching;
            fault(&mut scenario, 20 * MINUTE, 5 * MINUTE, Fault::ZonePower(ZonePower(ZONE_A)));
            let (_, report) = played(scenario, seed);
            let switch = one_switchover(&report).clone();
            assert!(switch.lost_window_s <= delta_s as f64 + 0.1, "{delta_s} s: {switch:?}");
            assert!((switch.lost_entries as f64 / 10.0 - switch.lost_window_s).abs() < 0.5, "{delta_s} s: {switch:?}");
            let detection = switch.detected_s - switch.at_s;
            let (least, most) = (check_s * u64::from(failures - 1), check_s * u64::from(failures));
            assert!((least as f64..=most as f64).contains(&detection), "{check_s} s x {failures}: {switch:?}");
            switch
        };
        // The phase of the uploads is a share of their period, drawn once: so is the loss.
        let (ten, one) = (window(600, 30, 3), window(60, 30, 3));
        assert!(one.lost_entries < ten.lost_entries || ten.lost_window_s < 60.0, "{one:?} {ten:?}");
        let (slow, quick) = (window(60, 30, 6), window(60, 5, 2));
        assert!(slow.duration_s > one.duration_s && one.duration_s > quick.duration_s, "{slow:?} {one:?} {quick:?}");
        assert_eq!(slow.lost_entries, quick.lost_entries, "what is lost is lost before anybody notices");
    }
}

#[test]
fn a_bucket_out_of_reach_makes_the_loss_grow() {
    let lost = |cut: bool| {
        let mut scenario = world(Some(Backup { delta_period: Duration::from_secs(60), ..Backup::default() }));
        scenario.etcd[CLUSTER].passive.as_mut().unwrap().switching.failures = 20;
        scenario.clients[ClientId(0)].zone = ZoneId(0);
        if cut {
            fault(
                &mut scenario,
                5 * MINUTE,
                5 * MINUTE,
                Fault::ZonePartition(ZonePartition { zone: ZONE_A, direction: Direction::Both }),
            );
        }
        fault(&mut scenario, 10 * MINUTE - 1, 15 * MINUTE, Fault::ZonePower(ZonePower(ZONE_A)));
        let (records, report) = played(scenario, 3);
        let failed = facts(&records).filter(|(_, fact)| matches!(fact, PassiveRecord::NotUploaded { .. })).count();
        (failed, report.rpo.lost_entries)
    };
    let (whole, cut) = (lost(false), lost(true));
    assert_eq!(whole.0, 0);
    assert!(whole.1 <= 601, "a minute of writes: {whole:?}");
    assert!((4..=5).contains(&cut.0) && (3_000..=3_601).contains(&cut.1), "five minutes and what was left of one: {cut:?}");
}

#[test]
fn who_is_cut_off_serves_those_who_have_not_heard_and_loses_what_they_wrote() {
    for backup in [Some(Backup::default()), None] {
        let mut scenario = world(backup);
        let mut inside = scenario.clients[ClientId(0)].clone();
        (inside.name, inside.zone) = ("inside".into(), ZoneId(0));
        scenario.clients.push(inside);
        fault(
            &mut scenario,
            10 * MINUTE,
            10 * MINUTE,
            Fault::ZonePartition(ZonePartition { zone: ZONE_A, direction: Direction::Both }),
        );
        let (records, report) = played(scenario, 2);
        let switch = one_switchover(&report);
        let later = facts(&records).find_map(|(at, fact)| match fact {
            PassiveRecord::Discarded { member: 0, lost } => Some((at, lost)),
            _ => None,
        });
        let (at, later) = later.expect("it is reached again");
        assert!((1_200.0..1_230.0).contains(&at), "{at}");
        // The client inside writes to it until it is gone, but nothing is heard of the switch before the network is whole.
        let meanwhile = (1_200.0 - switch.applied_s) * 10.0;
        assert!((later as f64 - meanwhile).abs() < 5.0, "{later} of {meanwhile}: {switch:?}");
        assert_eq!(report.rpo.lost_entries, switch.lost_entries + later);
        assert_eq!(
            report.rpo.events.last().unwrap().cause,
            "etcd-main-0 had continued to accept writes after another member took over"
        );
        // Everybody writes to the new one after that.
        let to_old = |(at, record): &(Time, Record)| {
            at.as_secs_f64() > 1_201.0
                && matches!(record, Record::Client(ClientRecord::Request { member: MemberId { index: 0, .. }, .. }))
        };
        assert!(!records.iter().any(to_old));
    }
}

#[test]
fn with_both_gone_nobody_takes_over_until_one_is_back() {
    // The standby goes first and comes back last: the primary goes on with all it had.
    let mut scenario = hot();
    fault(&mut scenario, 9 * MINUTE, 10 * MINUTE, Fault::ZonePower(ZonePower(ZONE_B)));
    fault(&mut scenario, 10 * MINUTE, 5 * MINUTE, Fault::ZonePower(ZonePower(ZONE_A)));
    let (records, report) = played(scenario, 1);
    assert_eq!(report.failovers, []);
    assert_eq!(report.rpo.lost_entries, 0);
    assert!((300.0..302.5).contains(&report.write_unavailable_s), "{}", report.write_unavailable_s);
    assert_eq!(facts(&records).filter(|(_, fact)| *fact == PassiveRecord::Alone { member: 0 }).count(), 1);
    // The standby is back first: it takes over at the next check.
    let mut scenario = hot();
    fault(&mut scenario, 9 * MINUTE, 4 * MINUTE, Fault::ZonePower(ZonePower(ZONE_B)));
    fault(&mut scenario, 10 * MINUTE, 15 * MINUTE, Fault::ZonePower(ZonePower(ZONE_A)));
    let (_, report) = played(scenario, 1);
    let switch = one_switchover(&report);
    assert!((780.0..=810.0).contains(&switch.detected_s), "{switch:?}");
    // The one that takes over fails while it restores: it goes on where the bucket is.
    let mut scenario = hot();
    scenario.etcd[CLUSTER].database_bytes = 8 << 30;
    scenario.etcd[CLUSTER].options.quota_bytes = 16 << 30;
    scenario.etcd[CLUSTER].passive.as_mut().unwrap().backup.as_mut().unwrap().full_period = Duration::from_secs(120);
    fault(&mut scenario, 10 * MINUTE, 15 * MINUTE, Fault::ZonePower(ZonePower(ZONE_A)));
    fault(&mut scenario, 12 * MINUTE, MINUTE, Fault::ZonePower(ZonePower(ZONE_B)));
    let (_, report) = played(scenario, 1);
    let switch = one_switchover(&report);
    assert!(switch.applied_s - switch.detected_s > 8.0 * 1_024.0 / 20.0, "{switch:?}");
}

/// A member whose disk is new asks the others who they are before it begins its log, however often its process ran on another disk.
#[test]
fn who_is_put_back_as_a_learner_dials_the_leader_itself() {
    let mut scenario = learner();
    fault(&mut scenario, 10 * MINUTE, 5 * MINUTE, Fault::ZonePower(ZonePower(ZONE_A)));
    for seed in 0..5 {
        let (records, _) = played(scenario.clone(), seed);
        let after = |is: &dyn Fn(&EtcdRecord) -> bool| {
            let etcd = |record: &Record| matches!(record, Record::Etcd(record) if is(record));
            records.iter().find(|(when, record)| *when > at(15 * MINUTE) && etcd(record)).expect("it is put back").0
        };
        let started = after(&|record| *record == EtcdRecord::MemberStarted(member(0)));
        let hears = after(&|record| *record == EtcdRecord::PeerFound { from: member(1), to: member(0) });
        eprintln!("{seed}: {started:?} {hears:?}");
        assert!(
            hears.since(started) < Duration::from_millis(20),
            "seed {seed}: it starts at {started:?} and hears the leader at {hears:?}"
        );
    }
}

#[test]
fn a_short_outage_is_waited_for() {
    for backup in [Some(Backup::default()), None] {
        let mut scenario = world(backup);
        fault(&mut scenario, 10 * MINUTE, MINUTE, Fault::GracefulStop(GracefulStop(FaultTarget::Named(member(0)))));
        let (_, report) = played(scenario, 1);
        assert_eq!(report.failovers, []);
        assert!((60.0..62.5).contains(&report.write_unavailable_s), "{}", report.write_unavailable_s);
        assert_eq!(report.rpo.lost_entries, 0);
    }
}

#[test]
fn a_learner_takes_over_with_what_it_has_heard_to_be_committed() {
    for seed in 0..5 {
        let mut scenario = learner();
        fault(&mut scenario, 10 * MINUTE, 5 * MINUTE, Fault::ZonePower(ZonePower(ZONE_A)));
        fault(&mut scenario, 22 * MINUTE, 5 * MINUTE, Fault::ZonePower(ZonePower(ZONE_B)));
        let (records, report) = played(scenario, seed);
        let [first, second] = &report.failovers[..] else { panic!("{:?}", report.failovers) };
        assert!((660.0..=690.0).contains(&first.detected_s), "{first:?}");
        assert!((first.applied_s - first.detected_s).abs() < 1e-9, "{first:?}");
        // It does not know that it is alone before it has applied so: it waits for one to two election timeouts.
        assert!((1.0..3.5).contains(&(first.serving_s - first.applied_s)), "{first:?}");
        for switch in [first, second] {
            // The commit of an entry is heard with the next append or heartbeat, both within 100 ms.
            assert!(switch.lost_entries <= 2 && switch.lost_window_s <= 0.2, "{switch:?}");
        }
        assert!((report.write_unavailable_s - first.duration_s - second.duration_s).abs() < 1e-6, "{report:?}");
        let roles: Vec<_> = report.members.iter().map(|member| (member.role, member.up)).collect();
        assert_eq!(roles, [(Role::Leader, true), (Role::Learner, true)]);
        assert_eq!(report.members[0].committed, report.members[1].committed);
        let changes = records
            .iter()
            .filter(|(_, record)| matches!(record, Record::Etcd(EtcdRecord::Membership { refused: None, .. })))
            .count();
        assert_eq!(changes, 6, "twice: promoted, the other removed and added");
    }
}

#[test]
fn a_learner_that_fell_behind_loses_all_it_missed() {
    let mut scenario = learner();
    fault(
        &mut scenario,
        5 * MINUTE,
        6 * MINUTE,
        Fault::ZonePartition(ZonePartition { zone: ZONE_B, direction: Direction::Both }),
    );
    fault(&mut scenario, 11 * MINUTE - 1, 15 * MINUTE, Fault::ZonePower(ZonePower(ZONE_A)));
    let (_, report) = played(scenario, 1);
    let switch = one_switchover(&report);
    assert!((3_590..3_620).contains(&switch.lost_entries), "six minutes: {switch:?}");
    assert!((359.0..361.0).contains(&switch.lost_window_s), "{switch:?}");
}

#[test]
fn a_lost_disk_is_lost_data_only_where_nobody_else_has_it() {
    let volume = |k: u16| Fault::VolumeLost(VolumeLost(FaultTarget::Named(VolumeId(k))));
    for (backup, most) in [(Some(Backup::default()), 3_001), (None, 2)] {
        let mut scenario = world(backup);
        fault(&mut scenario, 10 * MINUTE, MINUTE, volume(0));
        let (_, report) = played(scenario, 4);
        let switch = one_switchover(&report);
        assert_eq!(report.rpo.lost_entries, switch.lost_entries);
        assert!(switch.lost_entries <= most, "{switch:?}");
        let mut scenario = world(backup);
        fault(&mut scenario, 10 * MINUTE, MINUTE, volume(1));
        let (_, report) = played(scenario, 4);
        assert_eq!((report.failovers.len(), report.rpo.lost_entries), (0, 0));
        let stands_by = report.tolerance.last().unwrap();
        assert_eq!(stands_by.standbys, 1, "{:?}", report.tolerance);
        if backup.is_none() {
            assert_eq!(report.members[1].committed, report.members[0].committed);
        }
    }
}

#[test]
fn random_outages_are_told_the_same_in_both_modes() {
    for seed in 0..24_u64 {
        let mut scenario = if seed % 2 == 0 { hot() } else { learner() };
        let passive = scenario.etcd[CLUSTER].passive.as_mut().unwrap();
        passive.switching.controller =
            if seed % 3 > 0 { Controller::Zone(ZoneId((seed % 3) as u16)) } else { Controller::Everywhere };
        passive.switching.check_period = Duration::from_millis(1_000 + seed * 700);
        let word = |k: u64| (seed * 7 + k).wrapping_mul(0x9E37_79B9_7F4A_7C15) >> 20;
        for k in 0..8 {
            let zone = FaultTarget::Named(ZoneId((word(k) % 3) as u16));
            let what = match word(k + 100) % 5 {
                0 => Fault::ZonePartition(ZonePartition { zone, direction: Direction::Both }),
                1 => Fault::ProcessKill(ProcessKill(FaultTarget::Named(member((word(k + 200) % 2) as u8)))),
                2 => Fault::VolumeLost(VolumeLost(FaultTarget::Named(VolumeId((word(k + 200) % 2) as u16)))),
                3 => Fault::ZonePartition(ZonePartition { zone, direction: Direction::Out }),
                _ => Fault::ZonePower(ZonePower(zone)),
            };
            fault(&mut scenario, word(k + 300) % (25 * MINUTE), 1 + word(k + 400) % (6 * MINUTE), what);
        }
        let (records, report) = played(scenario, seed);
        let forked = facts(&records).filter(|(_, fact)| matches!(fact, PassiveRecord::Forked { .. })).count();
        assert!(forked <= report.failovers.len());
    }
}

/// What is frozen answers nobody: it is put back once it goes on, and not before.
#[test]
fn who_was_displaced_while_it_is_frozen_is_put_back_when_it_goes_on() {
    for mut scenario in [hot(), learner()] {
        let pause = Fault::ProcessPause(ProcessPause(FaultTarget::Named(member(0))));
        fault(&mut scenario, 10 * MINUTE, 6 * MINUTE, pause);
        let (records, report) = played(scenario, 1);
        one_switchover(&report);
        let discarded: Vec<f64> = facts(&records)
            .filter_map(|(at, fact)| matches!(fact, PassiveRecord::Discarded { member: 0, .. }).then_some(at))
            .collect();
        assert!(matches!(discarded[..], [at] if (960.0..990.0).contains(&at)), "{discarded:?}");
        let at_work = |index: u8| {
            let works = move |(at, record): &(Time, Record)| {
                let its = matches!(record, Record::Etcd(EtcdRecord::MemberStarted(of) | EtcdRecord::CaughtUp { member: of, .. }) if of.index == index);
                its.then_some(at.as_secs_f64())
            };
            records.iter().filter_map(works).filter(|at| (600.0..960.0).contains(at)).count()
        };
        assert_eq!(at_work(0), 0);
        assert!(at_work(1) > 0);
        for outage in &report.outages {
            let cause = &outage.root_cause;
            assert!(cause.contains("etcd-main-0 was paused"), "{cause}");
            assert!(!cause.contains("0 of 1 voters down") && !cause.contains("etcd-main-1 is running again"), "{cause}");
        }
    }
}

/// Inside a zone that is cut off clients have not heard of the switch-over, and the one that served them goes on: both the simulated
/// requests and the virtual probe find it.
#[test]
fn who_is_cut_off_with_the_displaced_one_has_the_service_on() {
    for mut scenario in [hot(), learner()] {
        scenario.clients[ClientId(0)].zone = ZoneId(0);
        fault(
            &mut scenario,
            10 * MINUTE,
            10 * MINUTE,
            Fault::ZonePartition(ZonePartition { zone: ZONE_A, direction: Direction::Both }),
        );
        let (records, report) = played(scenario, 1);
        assert!(written(&records, 600.0, 1_200.0) >= 5_990);
        let row = report.vantages.iter().find(|row| row.from == "z-a").expect("its zone");
        let ReadUnavailable { linearizable, serializable } = &row.read_unavailable_s;
        let longest = [row.write_unavailable_s, *linearizable, *serializable].into_iter().fold(0.0, f64::max);
        // After the cut it asks the other, while this one is put back.
        assert!(longest < 1.0, "{row:?}");
        assert!(report.write_unavailable_s > 60.0, "for all others: {}", report.write_unavailable_s);
    }
}

/// Its zone has no machine of the scenario, nor a client; it works unless that has no power.
#[test]
fn a_controller_needs_no_machine_of_the_scenario() {
    let failovers = |dark: Option<&str>| {
        let power = |at, zone| serde_json::json!({"at": at, "for": "6m", "kind": "zone_power", "zone": zone});
        let faults: Vec<_> = [power("3m", "a")].into_iter().chain(dark.map(|zone| power("170s", zone))).collect();
        let scenario = serde_json::json!({
            "name": "pair", "duration": "10m", "prices": {"books": []},
            "topology": {
                "regions": [{"name": "r", "zones": ["a", "b", "c"]}],
                "nodes": [{"name": "n0", "zone": "a"}, {"name": "n1", "zone": "b"}],
            },
            "etcd": [{
                "name": "etcd-main", "members": [{"name": "m0", "node": "n0"}, {"name": "m1", "node": "n1"}],
                "mode": {"hot_standby": {"controller_zone": "c"}},
            }],
            "faults": faults,
        });
        let scenario = Scenario::from_json(&scenario.to_string()).unwrap_or_else(|errors| panic!("{errors}"));
        played(scenario, 1).1.failovers.len()
    };
    assert_eq!((failovers(None), failovers(Some("c"))), (1, 0));
}
