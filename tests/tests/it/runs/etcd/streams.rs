//! Connections between members: when they are closed, and how soon they are there again.

use std::sync::Arc;

use super::{CLUSTER, at, check_modes, member, puts, records};
use zonefall_core::etcd::raft::progress::State;
use zonefall_core::ids::ZoneId;
use zonefall_core::kernel::time::{Duration, Time};
use zonefall_core::record::{ClientRecord, EtcdRecord, Record, RequestResult};
use zonefall_core::scenario::testing::three_zones;
use zonefall_core::scenario::{Fault, FaultTarget, LinkChange, LinkDegraded, MemberChange, Operation, PlannedFault, ProcessKill};
use zonefall_core::sim::{Options, Simulation};

#[test]
fn a_follower_that_was_sent_a_database_finds_what_follows_it() {
    let kill = |at_s, lasts_s| {
        let lasts = Some(Duration::from_secs(lasts_s));
        PlannedFault { at: at(at_s), lasts, fault: Fault::ProcessKill(ProcessKill(FaultTarget::Named(member(2)))) }
    };
    let mut scenario = three_zones();
    let options = &mut scenario.etcd[CLUSTER].options;
    (options.snapshot_count, options.catch_up_entries) = (100, 50);
    scenario.clients = vec![zonefall_core::scenario::Client { stop: at(200), ..puts(20) }].into();
    // Each time it misses more than is kept behind a snapshot; the second time half a minute has not passed since it got one.
    scenario.faults = vec![kill(60, 20), kill(85, 10), kill(130, 10)];
    let sent = |(when, record): (Time, Record)| {
        matches!(record, Record::Etcd(EtcdRecord::SnapshotStarted { .. })).then_some(when.as_nanos() / 1_000_000_000)
    };
    assert_eq!(records(&scenario, 1).into_iter().filter_map(sent).collect::<Vec<_>>(), [80, 140]);
}

#[test]
fn a_newcomer_is_found_as_soon_as_it_serves() {
    let mut scenario = three_zones();
    let newcomer = zonefall_core::scenario::Member { initial: false, ..scenario.etcd[CLUSTER].members[2].clone() };
    scenario.etcd[CLUSTER].members.push(newcomer);
    scenario.operations = vec![Operation { at: at(60), change: MemberChange::Add(member(3)) }];
    let all = records(&scenario, 1);
    let served =
        all.iter().find(|(_, record)| *record == Record::Etcd(EtcdRecord::MemberStarted(member(3)))).expect("it starts").0;
    let found =
        all.iter().filter(|(_, record)| matches!(record, Record::Etcd(EtcdRecord::PeerFound { from, .. }) if *from == member(3)));
    let waited: Vec<Duration> = found.map(|(when, _)| when.since(served)).collect();
    assert!(waited.len() == 3 && waited.iter().all(|waited| *waited < Duration::from_millis(110)), "{waited:?}");
}

#[test]
fn a_sender_learns_of_a_reset_when_it_arrives() {
    let mut scenario = three_zones();
    for path in &mut scenario.network.paths {
        path.delay = Duration::from_millis(200);
    }
    scenario.clients = vec![puts(100)].into();
    let mut simulation = Simulation::new(Arc::new(scenario), 1, Options::default());
    simulation.run_until(at(60), &mut |_, _| {});
    simulation.inject(&Fault::ProcessKill(ProcessKill(FaultTarget::Named(member(2)))), None);
    for (after_ms, state) in [(190, State::Replicate), (230, State::Probe)] {
        simulation.run_until(at(60) + Duration::from_millis(after_ms), &mut |_, _| {});
        let leader = simulation.etcd_clusters()[CLUSTER].server(0).expect("it runs");
        assert_eq!(leader.raft.progress[2].state, state, "{after_ms} ms after the follower's end");
    }
}

#[test]
fn what_waits_for_a_slow_link_goes_on_at_its_usual_speed_once_it_is_mended() {
    let change = LinkChange { delay: Duration::ZERO, loss: 0.0, bytes_per_s: Some(1_000) };
    let mut scenario = three_zones();
    scenario.clients = vec![puts(20)].into();
    let slow = |b| PlannedFault {
        at: at(60),
        lasts: Some(Duration::from_secs(60)),
        fault: Fault::LinkDegraded(LinkDegraded { a: ZoneId(0), b: ZoneId(b), change }),
    };
    scenario.faults = vec![slow(1), slow(2)];
    for seed in 0..5 {
        check_modes(&scenario, seed);
        let put = |(when, record): &(Time, Record)| match record {
            Record::Client(ClientRecord::Request { latency, result, .. }) => Some((*when, *latency, *result)),
            _ => None,
        };
        let puts: Vec<_> = records(&scenario, seed).iter().filter_map(put).collect();
        let slow = |&&(when, latency, _): &&(Time, Duration, RequestResult)| when < at(120) && latency > Duration::from_secs(5);
        assert!(puts.iter().filter(slow).count() > 100, "seed {seed}: 20 KiB do not pass in a second");
        for (when, latency, result) in puts.iter().filter(|(when, ..)| *when > at(127)) {
            assert!(*result == RequestResult::Ok && *latency < Duration::from_millis(50), "seed {seed}: {latency} at {when:?}");
        }
    }
}
