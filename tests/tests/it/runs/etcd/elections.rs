//! How soon somebody leads.

use super::{CLUSTER, records};
use zonefall_core::ids::ZoneId;
use zonefall_core::kernel::time::{Duration, Time};
use zonefall_core::record::{EtcdRecord, Record};
use zonefall_core::scenario::testing::three_zones;
use zonefall_core::scenario::{LinkChange, LinkDegraded, PlannedFault};

#[test]
fn members_that_find_two_peers_do_not_wait_a_whole_election_timeout_after_their_start() {
    // From the start of the processes to the first leader, at least and at most, over some seeds.
    let bounds = |members: usize| {
        let mut scenario = three_zones();
        scenario.etcd[CLUSTER].initial_leader = None;
        scenario.etcd[CLUSTER].members.truncate(members);
        let started = Time::ZERO + scenario.etcd[CLUSTER].options.start_up;
        let elected = |seed| {
            let all = records(&scenario, seed);
            let elected = all
                .iter()
                .find(|(_, record)| matches!(record, Record::Etcd(EtcdRecord::Elected { .. })))
                .expect("somebody leads");
            elected.0.since(started)
        };
        let times: Vec<Duration> = (0..20).map(elected).collect();
        (*times.iter().min().expect("some"), *times.iter().max().expect("some"))
    };
    let ms = Duration::from_millis;
    let (_, alone) = bounds(1);
    assert!(alone <= ms(1_010), "T - 1 of T to 2T - 1 ticks are skipped: {alone}");
    let (two, _) = bounds(2);
    assert!(two >= ms(900), "one peer is not enough: {two}");
    let (three, _) = bounds(3);
    assert!((ms(100)..ms(500)).contains(&three), "T - 2 of T to 2T - 1 ticks are skipped: {three}");
}

/// A leader checks every second (10 ticks) whether a majority answered since its last check. Paths that get 0.9 s longer each way are silent for
/// 1.8 s: too long for 9 of the 10 beats at which it may check, whenever that happens.
#[test]
fn a_leader_that_has_long_led_checks_its_quorum_at_any_moment_of_the_second() {
    let deposed_of_40 = |at_ms: u64| {
        let change = LinkChange { delay: Duration::from_millis(900), loss: 0.0, bytes_per_s: None };
        let slow = |b| PlannedFault {
            at: Time::ZERO + Duration::from_millis(at_ms),
            lasts: None,
            fault: LinkDegraded { a: ZoneId(0), b: ZoneId(b), change }.into(),
        };
        let mut scenario = three_zones();
        scenario.duration = Duration::from_secs(65);
        scenario.faults.extend([1, 2].map(slow));
        let deposed = |seed: &u64| {
            let is_end = |record: &Record| matches!(record, Record::Etcd(EtcdRecord::SteppedDown { .. }));
            records(&scenario, *seed).iter().any(|(_, record)| is_end(record))
        };
        (0..40).filter(deposed).count()
    };
    for at_ms in [60_000, 60_300, 60_700] {
        let deposed = deposed_of_40(at_ms);
        assert!((28..40).contains(&deposed), "of 40, 36 are expected: {deposed} at {at_ms} ms");
    }
}
