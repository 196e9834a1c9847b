//! The database on the volume, and the member that answers too early.

use super::*;
use zonefall_core::ids::{ClientId, VolumeId};
use zonefall_core::kernel::dist::Latency;
use zonefall_core::record::ClientRecord;
use zonefall_core::scenario::Client;
use zonefall_core::scenario::cost::Backend;

const BACKEND: Backend = Backend { interval: Duration::from_millis(100), limit: 10_000, syncs: 2 };
const MIB: u32 = 1 << 20;

const fn ms(ms: u64) -> Duration {
    Duration::from_millis(ms)
}

/// One member whose volume takes 100 MiB/s and syncs in a millisecond, whose database costs nothing, and one connection that puts values of `bytes`
/// from a node whose network card does not hold it up.
fn alone(bytes: u32) -> Scenario {
    let mut scenario = three_zones();
    scenario.etcd[CLUSTER].members.truncate(1);
    scenario.etcd[CLUSTER].options.backend = None;
    scenario.volumes[VolumeId(0)].disk =
        zonefall_core::scenario::Disk { fsync: Latency::Constant(ms(1)), bytes_per_s: 100 << 20, iops: None };
    let op = Op::Put { key_bytes: 8, value_bytes: bytes };
    let load = Load::Closed { connections: 1 };
    let (node, zone) = (Some(NodeId(1)), ZoneId(1));
    scenario.nodes[NodeId(1)].card_bytes_per_s = 1 << 40;
    scenario.clients = vec![Client { op, load, node, zone, stop: at(10), ..client("load", Target::Leader) }].into();
    scenario.duration = Duration::from_secs(20);
    scenario
}

/// Latencies in milliseconds, in order.
fn latencies(scenario: &Scenario) -> Vec<f64> {
    let mut all = Vec::new();
    let mut simulation = zonefall_core::sim::Simulation::new(Arc::new(scenario.clone()), 1, full());
    simulation.run_until(at(60), &mut |_, record| {
        if let Record::Client(ClientRecord::Request { latency, result: RequestResult::Ok, .. }) = record {
            all.push(latency.as_secs_f64() * 1e3);
        }
    });
    all
}

#[test]
fn large_values_have_half_the_volume_where_the_database_is_written_too() {
    let mut scenario = alone(MIB);
    // 10 ms for the log, 1 to sync, 3 on the way and at the member.
    let puts = latencies(&scenario).len();
    assert!((700..800).contains(&puts), "{puts}");
    scenario.clients[ClientId(0)].load = Load::Closed { connections: 50 };
    let puts = latencies(&scenario).len();
    assert!((980..=1_020).contains(&puts), "{puts}: the volume takes 100/s, the last batch is answered after the end");
    scenario.etcd[CLUSTER].options.backend = Some(BACKEND);
    let puts = latencies(&scenario).len();
    assert!((480..=570).contains(&puts), "{puts}: each is written twice, and up to 50 are answered after the end");
}

/// The first put is committed when 100 ms are over, and that takes 100 ms of transfer and two syncs; what is put meanwhile waits.
#[test]
fn nothing_is_applied_or_read_while_a_commit_holds_the_lock() {
    let mut scenario = alone(100 << 10);
    scenario.volumes[VolumeId(0)].disk.bytes_per_s = 1 << 20;
    let one = |start: Time, op: Op| Client { start, requests: Some(1), op, ..scenario.clients[ClientId(0)].clone() };
    let put = scenario.clients[ClientId(0)].op;
    let read = Op::Range { linearizable: false, keys: 1, key_bytes: 8, value_bytes: 8 };
    let small = Op::Put { key_bytes: 8, value_bytes: 8 };
    let long_after = Time::ZERO + ms(350);
    scenario.clients = vec![one(Time::ZERO, put), one(long_after, read), one(long_after, small)].into();
    let without = latencies(&scenario);
    assert!(without[1..].iter().all(|latency| *latency < 4.0), "{without:?}");
    scenario.etcd[CLUSTER].options.backend = Some(BACKEND);
    let with = latencies(&scenario);
    // Put and applied by 100 ms, when the timer rings; the commit ends some 98 ms of transfer and 2 ms later.
    assert!((with[0] - without[0]).abs() < 1e-6);
    assert!(with[1..].iter().all(|latency| *latency < 4.0), "{with:?}");
    for client in &mut scenario.clients[ClientId(1)..] {
        client.start = Time::ZERO + ms(150);
    }
    // Both wait for the end of the commit, near 200 ms; the small put has its turn on the volume before.
    let with = latencies(&scenario);
    assert!(with[1..].iter().all(|latency| (45.0..60.0).contains(latency)), "{with:?}");
}

/// Small writes are bound by operations, large ones by bytes.
#[test]
fn a_volume_has_so_many_operations() {
    let mut small = alone(8);
    small.volumes[VolumeId(0)].disk.iops = Some(100);
    // An operation takes 10 ms, then the sync 1, and 1 on the way.
    let latency = latencies(&small)[10];
    assert!((11.9..12.5).contains(&latency), "{latency} ms");
    let mut large = alone(MIB);
    let without = latencies(&large)[10];
    large.volumes[VolumeId(0)].disk.iops = Some(1_000);
    assert!((latencies(&large)[10] - without).abs() < 1e-6, "5 operations take 5 ms, a MiB takes 10");
    large.volumes[VolumeId(0)].disk.iops = Some(250);
    assert!(latencies(&large)[10] > without + 9.0, "5 operations take 20 ms");
}

#[test]
fn a_batch_that_is_full_is_committed_at_once() {
    let mut scenario = alone(8);
    scenario.clients[ClientId(0)].load = Load::Closed { connections: 200 };
    scenario.volumes[VolumeId(0)].disk.fsync = Latency::Constant(ms(20));
    scenario.etcd[CLUSTER].options.backend = Some(Backend { interval: Duration::from_secs(3_600), limit: 10_000, syncs: 2 });
    let never = latencies(&scenario).len();
    scenario.etcd[CLUSTER].options.backend = Some(Backend { limit: 100, syncs: 6, ..BACKEND });
    let often = latencies(&scenario).len();
    assert!(often < never / 2, "{often} puts, {never} where nothing is committed");
}

/// A put at a follower whose disk takes 100 ms: half a write until its own turn, the write after which it is forwarded, the write under way
/// when it comes back committed, and its own write, before which nothing of it is applied.
#[test]
fn a_follower_applies_nothing_that_it_has_not_written() {
    let mut scenario = three_zones();
    scenario.etcd[CLUSTER].options.backend = None;
    scenario.volumes[VolumeId(1)].disk.fsync = Latency::Constant(ms(100));
    scenario.clients =
        vec![Client { stop: at(30), ..puts(50) }, Client { target: Target::Member(1), stop: at(30), ..puts(7) }].into();
    scenario.duration = Duration::from_secs(40);
    let mut slow: Vec<f64> = latencies(&scenario).into_iter().filter(|latency| *latency > 20.0).collect();
    slow.sort_by(f64::total_cmp);
    let median = slow[slow.len() / 2];
    assert!(slow.len() > 200 && (335.0..375.0).contains(&median), "{} puts, {median} ms", slow.len());
}

#[test]
fn commits_are_the_same_at_rest_and_not() {
    for seed in 0..4 {
        let mut scenario = three_zones();
        scenario.etcd[CLUSTER].options.backend = Some(BACKEND);
        scenario.clients = vec![Client { stop: at(40), ..puts(3) }, Client { start: at(50), stop: at(52), ..puts(400) }].into();
        let kill = Fault::ProcessKill(ProcessKill(FaultTarget::OfLeader(EtcdId(0))));
        scenario.faults = vec![PlannedFault { at: at(51), lasts: Some(ms(900)), fault: kill }];
        scenario.volumes[VolumeId(1)].disk.bytes_per_s = 1 << 20;
        check_modes(&scenario, seed);
    }
}

#[test]
fn who_answers_before_it_syncs_is_fast_and_forgets() {
    let mut scenario = alone(256);
    scenario.volumes[VolumeId(0)].disk.fsync = Latency::Constant(ms(90));
    scenario.clients[ClientId(0)].load = puts(10).load;
    let honest = latencies(&scenario)[10];
    scenario.etcd[CLUSTER].options.answers_before_sync = true;
    let early = latencies(&scenario)[10];
    assert!(honest > 90.0 && early < 2.0, "{early} ms, {honest} ms if it syncs first");

    let crash = Fault::NodeCrash(NodeCrash(FaultTarget::Named(NodeId(0))));
    scenario.faults = vec![PlannedFault { at: at(5) - ms(50), lasts: Some(Duration::from_secs(1)), fault: crash }];
    let lost = |scenario: &Scenario| {
        let report = check_modes(scenario, 1);
        let json = serde_json::to_value(&report).unwrap();
        json["etcd"]["etcd-main"]["rpo"]["lost_entries"].as_u64().unwrap()
    };
    assert!(lost(&scenario) > 0);
    scenario.etcd[CLUSTER].options.answers_before_sync = false;
    assert_eq!(lost(&scenario), 0);
    // Three of them wait for a quorum's disks whatever they would do alone.
    let mut three = three_zones();
    three.clients = vec![Client { stop: at(20), ..puts(100) }].into();
    three.faults = vec![PlannedFault {
        at: at(5),
        lasts: Some(Duration::from_secs(1)),
        fault: Fault::NodeCrash(NodeCrash(FaultTarget::Named(NodeId(0)))),
    }];
    let total = |scenario: &Scenario| latencies(scenario).iter().sum::<f64>();
    let before = total(&three);
    three.etcd[CLUSTER].options.answers_before_sync = true;
    assert!((before - total(&three)).abs() < 1e-6);
    assert_eq!(lost(&three), 0);
}
