//! How soon somebody leads.

use super::{CLUSTER, records};
use crate::kernel::time::{Duration, Time};
use crate::record::{EtcdRecord, Record};
use crate::scenario::testing::three_zones;

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
