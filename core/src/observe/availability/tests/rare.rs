//! Causes that only random worlds had seen, pinned one by one.

use super::requests::{asked, writes};
use super::*;

#[test]
fn a_fault_in_a_zone_that_a_member_has_left_meanwhile_is_the_cause() {
    let moved = |ms| (ms, Record::Etcd(EtcdRecord::MemberMoved { member: member(0), zone: ZoneId(1) }));
    let told = |moves: u64, begins: u64| {
        let stream = [
            fault(0, 60_000, zone(0)),
            stops(60_000, 0, StopReason::PowerLost),
            elected(61_300, 2, 3),
            moved(moves),
            service(begins, Service::Write, false),
            serves(begins + 40_000, 0),
            service(begins + 40_000, Service::Write, true),
        ];
        let mut stream = Vec::from(stream);
        stream.sort_by_key(|(ms, _)| *ms);
        let mut availability = Availability::new(&Arc::new(three_zones()));
        for (ms, record) in &stream {
            availability.record(at(*ms), record);
        }
        availability.outages(CLUSTER, at(600_000)).remove(0).root_cause
    };
    let while_there = told(90_000, 60_000);
    assert!(while_there.starts_with("zone z-a lost power; leader etcd-main-0 gone; "), "{while_there}");
    // Whoever has left a zone is not hit there any more.
    let after = told(90_000, 100_000);
    assert!(after.starts_with("no active fault; "), "{after}");
}

#[test]
fn a_takeover_in_a_pair_is_a_cause() {
    let silent = Duration::from_secs(30);
    let takes_over = |ms| (ms, Record::Etcd(EtcdRecord::Passive(CLUSTER, PassiveRecord::Detected { from: 0, to: 1, silent })));
    let told = "etcd-main-1 started to take over from etcd-main-0, which had not answered for 30 s";
    let of = |detected: u64| {
        let down = [service(60_000, Service::ReadSerializable, false), service(65_000, Service::ReadSerializable, true)];
        let mut availability = Availability::new(&Arc::new(three_zones()));
        let (ms, record) = takes_over(detected);
        availability.record(at(ms), &record);
        for (ms, record) in &down {
            availability.record(at(*ms), record);
        }
        availability.outages(CLUSTER, at(600_000)).remove(0).root_cause
    };
    assert_eq!(of(60_000), told);
    assert_eq!(of(50_000), told);
    assert_eq!(of(49_999), "no active fault", "one that was long before explains nothing");
}

/// Deletes fill a database without a put that would raise the alarm: members refuse all the same.
#[test]
fn a_database_that_deletes_fill_is_a_cause() {
    let reached = |ms| (ms, Record::Etcd(EtcdRecord::QuotaReached { member: member(1), bytes: 3 << 30 }));
    let refuses = [service(60_000, Service::Write, false), service(90_000, Service::Write, true)];
    let told = |cause: &str, records: &[(u64, Record)]| check(records, &[(WRITE, 60.0, 90.0, cause)]);
    let [down, up] = refuses.clone();
    told("databases have reached their quota of 2 GiB", &[reached(60_000), down.clone(), up.clone()]);
    // What happens at the same instant may be told in any order.
    told("databases have reached their quota of 2 GiB", &[down.clone(), reached(60_000), up.clone()]);
    told("no active fault", &[reached(30_000), down, up]);
    // Reads are answered.
    let reads = [service(60_000, Service::ReadLinearizable, false), service(90_000, Service::ReadLinearizable, true)];
    let [down, up] = reads;
    check(&[reached(60_000), down, up], &[(OutageKind::ReadLinearizable, 60.0, 90.0, "no active fault")]);
}

/// Requests that end between 60 and 66 s after they were late, and then one in time.
fn late_writes(before: &[(u64, Record)], meanwhile: &[(u64, Record)]) -> String {
    let late = asked(60_000, 66_000, RequestResult::TimedOut);
    let after = asked(66_500, 66_510, RequestResult::Ok);
    let (_, rows) = writes(Target::All, &[before, meanwhile, &[late, after]].concat());
    assert_eq!(rows.len(), 1, "{rows:?}");
    rows[0].2.clone()
}

/// A member that receives an entry in a snapshot does not answer the client that proposed it.
#[test]
fn a_voter_that_gets_entries_with_a_snapshot_is_a_cause() {
    let connected = (0, Record::Etcd(EtcdRecord::ConnectedVoters { cluster: CLUSTER, connected: 3, voters: 3 }));
    let sent = |ms, to| (ms, Record::Etcd(EtcdRecord::SnapshotStarted { from: member(0), to: member(to), bytes: 1 << 30 }));
    let arrived = |ms, to| (ms, Record::Etcd(EtcdRecord::SnapshotFinished { from: member(0), to: member(to), ok: true }));
    let told = late_writes(&[connected.clone(), sent(59_000, 1)], &[arrived(64_000, 1)]);
    assert_eq!(told, "etcd-main-1 received a snapshot of 1 GiB for 5 s");
    // One that was there before, or was sent when the requests had been made for long, has no part in it.
    let before = late_writes(&[connected.clone(), sent(50_000, 1)], &[arrived(59_000, 1)]);
    assert_eq!(before, "no active fault");
    let afterwards = late_writes(std::slice::from_ref(&connected), &[sent(65_000, 1), arrived(65_500, 1)]);
    assert_eq!(afterwards, "no active fault");
}

#[test]
fn a_voter_that_knows_no_leader_is_a_cause_of_late_requests() {
    let sees = |ms, m, leader| (ms, Record::Etcd(EtcdRecord::LeaderSeen { member: member(m), term: 2, leader }));
    let told = late_writes(&[sees(59_000, 1, None)], &[sees(60_400, 1, Some(0))]);
    assert_eq!(told, "etcd-main-1 had no leader for 1.4 s");
    // It stops before it finds one.
    let stopped = late_writes(&[sees(59_000, 1, None)], &[stops(61_000, 1, StopReason::Killed), serves(61_000, 1)]);
    assert!(stopped.starts_with("etcd-main-1 had no leader for 2 s"), "{stopped}");
    // It has had one again before.
    assert_eq!(late_writes(&[sees(58_000, 1, None), sees(59_000, 1, Some(0))], &[]), "no active fault");
}
