//! What etcd refuses for want of space, and how an operator makes some.

use super::*;
use zonefall_core::report::{AlarmReport, EtcdReport, OutageKind};
use zonefall_core::scenario::{Maintenance, MaintenanceOperation};

const MIB: u64 = 1 << 20;

/// Three members whose databases have 2 MiB left; 10 puts of 1 KiB each second, and reads.
fn nearly_full(tasks: &[(u64, Maintenance)]) -> Scenario {
    let mut scenario = three_zones();
    scenario.duration = Duration::from_secs(1_200);
    scenario.etcd[CLUSTER].database_bytes = 30 * MIB;
    scenario.etcd[CLUSTER].options.quota_bytes = 32 * MIB;
    let read = Op::Range { linearizable: true, keys: 1, key_bytes: 8, value_bytes: 1_024 };
    scenario.clients = vec![puts(10), zonefall_core::scenario::Client { op: read, ..puts(10) }].into();
    let operation = |&(s, task)| MaintenanceOperation { at: at(s), cluster: CLUSTER, task };
    scenario.maintenance = tasks.iter().map(operation).collect();
    scenario
}

/// From when to when writes were unavailable, in whole seconds.
fn write_outages(report: &EtcdReport) -> Vec<(u64, u64)> {
    let writes = report.outages.iter().filter(|outage| outage.kind == OutageKind::Write);
    writes.map(|outage| (outage.from_s as u64, outage.to_s as u64)).collect()
}

fn of(report: &Report) -> &EtcdReport {
    assert!(report.violations.is_empty(), "{:?}", report.violations);
    &report.etcd["etcd-main"]
}

/// 2 MiB are 1,911 puts of 1,032 B and 64 B more, less what the last is taken to need: 191 s.
#[test]
fn writes_stop_where_the_file_reaches_its_quota_and_reads_go_on() {
    let report = check_modes(&nearly_full(&[]), 1);
    let etcd = of(&report);
    assert_eq!(write_outages(etcd), [(191, 1_200)]);
    assert!(etcd.outages[0].root_cause.starts_with("the database of etcd-main-"), "{:?}", etcd.outages);
    assert!(etcd.outages[0].root_cause.contains("exceeded its quota of 32 MiB; NOSPACE alarm; ongoing"), "{:?}", etcd.outages);
    assert_eq!(etcd.outages.len(), 1, "{:?}", etcd.outages);
    assert!(matches!(&etcd.alarms[..], [AlarmReport { completed: false, .. }]), "{:?}", etcd.alarms);
    assert!(etcd.requests.no_space.abs_diff(10_090) <= 5, "{:?}", etcd.requests);
    assert!(etcd.requests.failed + etcd.requests.timed_out == 0 && etcd.requests.ok >= 12_000 + 1_909, "{:?}", etcd.requests);
    // What is refused does not grow them. The member that was asked raises the alarm again for each.
    for member in &etcd.members {
        assert!(member.database_bytes <= 32 * MIB, "{member:?}");
    }
    assert!(etcd.members[0].last_index > 11_900, "{:?}", etcd.members);
}

#[test]
fn compaction_and_disarming_alone_are_not_enough() {
    let defragment = |s, index| (s, Maintenance::Defragment(member(index)));
    let (compact, disarm) = (|s| (s, Maintenance::Compact), |s| (s, Maintenance::DisarmAlarm));
    let check = |tasks: &[(u64, Maintenance)], expected: &[(u64, u64)], alarms: usize| {
        let report = check_modes(&nearly_full(tasks), 1);
        let etcd = of(&report);
        assert_eq!(write_outages(etcd), expected, "{tasks:?}: {:?}", etcd.outages);
        assert_eq!(etcd.alarms.len(), alarms, "{tasks:?}: {:?}", etcd.alarms);
        report
    };
    // The file stays as large: the next put (of 1 KiB, for less there is room) raises the alarm again.
    check(&[compact(300), disarm(310)], &[(191, 310), (310, 1_200)], 2);
    // Without a compaction there are no free pages.
    check(&[defragment(300, 0), defragment(305, 1), defragment(310, 2), disarm(320)], &[(191, 320), (320, 1_200)], 2);
    // Files are small, and the alarm is on.
    check(&[compact(300), defragment(301, 0), defragment(305, 1), defragment(310, 2)], &[(191, 1_200)], 1);
    // All of it: for 191 s more. One other member that is still large raises the alarm as soon as it applies a put.
    let all = [compact(300), defragment(301, 0), defragment(305, 1), defragment(310, 2), disarm(320)];
    let report = check(&all, &[(191, 320), (511, 1_200)], 2);
    assert!(of(&report).outages[0].root_cause.ends_with("; alarm disarmed after 2.1 min"), "{:?}", of(&report).outages);
    assert_eq!(of(&report).defragmentations.len(), 3);
    check(&[compact(300), defragment(301, 0), defragment(305, 1), disarm(320)], &[(191, 320), (320, 1_200)], 2);
}

/// etcd 3.4.23 took 2.4 s for 200 MB, its leader led on, and puts at others went on; here 30 MiB at 10 MiB/s.
#[test]
fn a_member_that_defragments_answers_nothing_and_leads_on() {
    let mut scenario = nearly_full(&[(60, Maintenance::Defragment(member(0)))]);
    scenario.duration = Duration::from_secs(90);
    for volume in &mut scenario.volumes {
        volume.disk.bytes_per_s = 10 * MIB;
    }
    let ask = |target, op| zonefall_core::scenario::Client { op, ..client("load", Target::Member(target)) };
    let [put, read, stale] = [
        Op::Put { key_bytes: 8, value_bytes: 8 },
        Op::Range { linearizable: true, keys: 1, key_bytes: 8, value_bytes: 8 },
        Op::Range { linearizable: false, keys: 1, key_bytes: 8, value_bytes: 8 },
    ];
    let clients = [0, 1].into_iter().flat_map(|target| [put, read, stale].map(|op| ask(target, op)));
    let load = puts(20).load;
    scenario.clients = clients.map(|client| zonefall_core::scenario::Client { load, ..client }).collect::<Vec<_>>().into();
    let report = check_modes(&scenario, 1);
    let etcd = of(&report);
    assert!((3.0..3.2).contains(&etcd.defragmentations[0].duration_s), "{:?}", etcd.defragmentations);
    assert_eq!(etcd.leader_changes, 0);
    assert_eq!(write_outages(etcd), []);
    let longest = |target: &str| {
        let rows = etcd.latency.iter().filter(|row| row.target == target);
        rows.map(|row| row.max_ms.expect("some were answered")).collect::<Vec<_>>()
    };
    assert!(longest("etcd-main-0").iter().all(|ms| (2_900.0..3_200.0).contains(ms)), "{:?}", etcd.latency);
    assert!(longest("etcd-main-1").iter().all(|ms| *ms < 100.0), "{:?}", etcd.latency);
    assert_eq!((longest("etcd-main-0").len(), longest("etcd-main-1").len()), (3, 3));
}

/// Where one member is all there is, its rewriting is an outage.
#[test]
fn a_member_alone_is_away_while_it_defragments() {
    let mut scenario = nearly_full(&[(60, Maintenance::Defragment(member(0)))]);
    scenario.etcd[CLUSTER].members.truncate(1);
    let etcd = report(scenario, full(), 1).etcd.swap_remove("etcd-main").expect("it is there");
    let first = etcd.outages.iter().filter(|outage| outage.from_s < 100.0).collect::<Vec<_>>();
    assert_eq!(first.len(), 3, "{:?}", etcd.outages);
    assert!(first.iter().all(|outage| outage.root_cause.starts_with("etcd-main-0 was defragmented")), "{first:?}");
}

#[test]
fn work_on_databases_is_refused_where_nobody_can_do_it() {
    let tasks = [(70, Maintenance::Compact), (71, Maintenance::DisarmAlarm), (72, Maintenance::Defragment(member(1)))];
    let mut scenario = nearly_full(&tasks);
    for node in [1, 2] {
        let fault = Fault::NodeCrash(NodeCrash(FaultTarget::Named(NodeId(node))));
        scenario.faults.push(PlannedFault { at: at(60), lasts: None, fault });
    }
    let report = report(scenario, full(), 1);
    let refused: Vec<_> = report.refused.iter().map(|row| (&*row.operation, &*row.reason)).collect();
    assert_eq!(
        refused,
        [
            ("etcd-main: compact all revisions", "etcdserver: request timed out"),
            ("etcd-main: disarm the NOSPACE alarm", "etcdserver: request timed out"),
            ("etcd-main: defragment etcd-main-1", "context deadline exceeded"),
        ]
    );
}

/// A member that comes back learns from its log, or from the database that it is sent, that the alarm is on.
#[test]
fn a_member_that_was_away_refuses_what_the_others_refuse() {
    for snapshot_count in [100_000, 50] {
        let mut scenario = nearly_full(&[]);
        let options = &mut scenario.etcd[CLUSTER].options;
        (options.snapshot_count, options.catch_up_entries) = (snapshot_count, snapshot_count / 10);
        let fault = Fault::NodeCrash(NodeCrash(FaultTarget::Named(NodeId(2))));
        scenario.faults.push(PlannedFault { at: at(100), lasts: Some(Duration::from_secs(300)), fault });
        let asks = zonefall_core::scenario::Client { start: at(500), ..puts(10) };
        scenario.clients.push(zonefall_core::scenario::Client { target: Target::Member(2), ..asks });
        let report = check_modes(&scenario, 1);
        let etcd = of(&report);
        assert_eq!(etcd.snapshots.len(), usize::from(snapshot_count == 50), "{:?}", etcd.snapshots);
        // One outage, which the member that comes back neither ends nor explains.
        assert_eq!(write_outages(etcd), [(191, 1_200)], "{:?}", etcd.outages);
        let cause = &etcd.outages[0].root_cause;
        assert!(
            cause.starts_with("the database of ") && cause.ends_with("; NOSPACE alarm; ongoing at the end of the run"),
            "{cause}"
        );
        let row = etcd.latency.iter().find(|row| row.target == "etcd-main-2").expect("it is asked");
        assert_eq!((row.count, row.timed_out), (0, 0), "{row:?}");
        assert!(row.failed > 6_900, "{row:?}");
        let sizes: Vec<u64> = etcd.members.iter().map(|member| member.database_bytes).collect();
        assert!(sizes.iter().all(|size| *size <= 32 * MIB), "{sizes:?}");
    }
}

/// A member that is asked for more than it can apply turns away what comes, and answers what it has taken 5,000 entries later.
#[test]
fn a_member_that_is_too_far_behind_turns_proposals_away() {
    let mut scenario = three_zones();
    scenario.duration = Duration::from_secs(30);
    scenario.etcd[CLUSTER].options.apply = Duration::from_millis(1);
    scenario.clients = vec![puts(2_000)].into();
    let report = report(scenario, full(), 1);
    let etcd = of(&report);
    // 1,000 are applied each second.
    let requests = &etcd.requests;
    assert_eq!((requests.failed, requests.timed_out), (0, 0), "{requests:?}");
    assert!(requests.too_many_requests.abs_diff(2_000 * 30 - 1_000 * 30 - 5_000) < 500, "{requests:?}");
    let longest = etcd.latency[0].max_ms.expect("some were answered");
    assert!((4_900.0..5_200.0).contains(&longest), "{longest}");
    let cause = &etcd.outages.last().expect("requests are late").root_cause;
    assert!(cause.contains("had more than 5,000 entries to apply (too many requests)"), "{:?}", etcd.outages);
}

#[test]
fn a_database_that_is_full_from_the_start_is_said_so() {
    let mut scenario = nearly_full(&[]);
    (scenario.etcd[CLUSTER].database_bytes, scenario.clients) = (33 * MIB, Vec::new().into());
    let report = check_modes(&scenario, 1);
    let [outage] = &of(&report).outages[..] else { panic!("{:?}", of(&report).outages) };
    assert_eq!(outage.root_cause, "databases have reached their quota of 32 MiB; ongoing at the end of the run");
    let said = "The database of etcd-main-0 has reached its quota of 32 MiB: it refuses what is put.";
    let verdict = report.verdict().replace('\n', " ");
    assert!(verdict.contains(said), "{verdict}");
}
