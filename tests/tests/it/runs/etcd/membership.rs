//! Changes of membership: how each that is asked for ends.

use super::{CLUSTER, at, check_modes, faulty, member, records};
use zonefall_core::etcd::reconfiguration::is_in_sync;
use zonefall_core::ids::{NodeId, ZoneId};
use zonefall_core::kernel::time::{Duration, Time};
use zonefall_core::record::{EtcdRecord, Record, Service};
use zonefall_core::scenario::testing::three_zones;
use zonefall_core::scenario::{
    Direction, Fault, FaultTarget, GracefulStop, MemberChange, NodePartition, Operation, PlannedFault, Scenario, ZonePower,
};

const TIMED_OUT: Option<&str> = Some("etcdserver: request timed out");

/// `scenario` with two members more that may be added, and these operations.
fn asked(mut scenario: Scenario, operations: &[(Time, MemberChange)]) -> Scenario {
    for _ in 0..2 {
        let mut newcomer = scenario.etcd[CLUSTER].members[2].clone();
        newcomer.initial = false;
        scenario.etcd[CLUSTER].members.push(newcomer);
    }
    scenario.operations = operations.iter().map(|&(at, change)| Operation { at, change }).collect();
    scenario
}

/// The second in which each operation ended, and how.
fn ends(scenario: &Scenario, seed: u64) -> Vec<(u64, MemberChange, Option<&'static str>)> {
    let end = |(when, record): (Time, Record)| match record {
        Record::Etcd(EtcdRecord::Membership { change, refused }) => Some((when.as_nanos() / 1_000_000_000, change, refused)),
        _ => None,
    };
    records(scenario, seed).into_iter().filter_map(end).collect()
}

#[test]
fn of_two_changes_asked_at_once_the_second_times_out() {
    let (third, fourth) = (MemberChange::Add(member(3)), MemberChange::Add(member(4)));
    let scenario = asked(three_zones(), &[(at(60), third), (at(60), fourth), (at(70), fourth)]);
    assert_eq!(ends(&scenario, 1), [(60, third, None), (67, fourth, TIMED_OUT), (70, fourth, None)]);
}

#[test]
fn a_leader_that_hands_over_takes_no_change() {
    let add = MemberChange::Add(member(3));
    let scenario =
        asked(faulty(60, Fault::GracefulStop(GracefulStop(FaultTarget::OfLeader(CLUSTER)))), &[(at(60), add), (at(130), add)]);
    assert_eq!(ends(&scenario, 1), [(67, add, TIMED_OUT), (130, add, None)]);
}

#[test]
fn a_change_that_is_lost_with_its_leader_times_out() {
    let add = MemberChange::Add(member(3));
    let cut = Fault::NodePartition(NodePartition { node: FaultTarget::OfLeader(CLUSTER), direction: Direction::Both });
    let asked_s = at(60) + Duration::from_millis(500);
    let scenario = asked(faulty(30, cut), &[(asked_s, add), (at(120), add)]);
    assert_eq!(ends(&scenario, 1), [(67, add, TIMED_OUT), (120, add, None)]);
}

#[test]
fn a_change_that_timed_out_may_be_applied_yet() {
    let add = MemberChange::Add(member(3));
    let cut = |node| Fault::NodePartition(NodePartition { node: FaultTarget::Named(NodeId(node)), direction: Direction::Both });
    let mut late = 0;
    for seed in 0..8 {
        let mut scenario = asked(faulty(20, cut(1)), &[(at(60) + Duration::from_millis(100), add)]);
        scenario.faults.push(PlannedFault { fault: cut(2), ..scenario.faults[0].clone() });
        let ends = ends(&scenario, seed);
        assert_eq!(ends[0], (67, add, TIMED_OUT), "seed {seed}");
        let report = check_modes(&scenario, seed);
        assert_eq!(report.etcd["etcd-main"].members[3].up, ends.len() == 2, "seed {seed}: {ends:?}");
        late += ends.len() - 1;
    }
    assert!((1..8).contains(&late), "{late} of 8 were applied after all");
}

/// `rafthttp`'s remotes (`addRemoteFromRequest`): a member that was cut off knows none of those who are left, and answers whoever speaks to it.
/// Without its vote and its acknowledgements the newcomer that is left would have no majority. (With pre-vote: else its term has run ahead,
/// and it ignores the newcomer's `MsgVote` of a lower one, in etcd, too.)
#[test]
fn a_member_that_comes_back_answers_newcomers_that_it_does_not_know() {
    let changes = [
        (at(70), MemberChange::Add(member(3))),
        (at(80), MemberChange::Add(member(4))),
        (at(90), MemberChange::Remove(member(1))),
        (at(100), MemberChange::Remove(member(2))),
    ];
    for seed in 0..4 {
        let cut = Fault::NodePartition(NodePartition { node: FaultTarget::Named(NodeId(0)), direction: Direction::Both });
        let mut scenario = asked(faulty(100, cut), &changes);
        let etcd = &mut scenario.etcd[CLUSTER];
        etcd.members[3].node = NodeId(1);
        (etcd.options.strict_reconfig_check, etcd.options.pre_vote) = (false, true);
        let dark = Fault::ZonePower(ZonePower(FaultTarget::Named(ZoneId(1))));
        scenario.faults.push(PlannedFault { at: at(120), lasts: None, fault: dark });
        let all = records(&scenario, seed);
        let refused = |record: &Record| matches!(record, Record::Etcd(EtcdRecord::Membership { refused: Some(_), .. }));
        assert!(!all.iter().any(|(_, record)| refused(record)), "seed {seed}: all changes are applied");
        let up = |from: Time| {
            let write = |record: &Record| match record {
                Record::Etcd(EtcdRecord::Availability { service: Service::Write, up, .. }) => Some(*up),
                _ => None,
            };
            all.iter().filter(|(at, _)| *at <= from).filter_map(|(_, record)| write(record)).next_back()
        };
        assert_eq!((up(at(159)), up(at(175))), (Some(false), Some(true)), "seed {seed}");
        let known = |record: &Record| matches!(record, Record::Etcd(EtcdRecord::LeaderSeen { member: seen, leader: Some(4), .. }) if *seen == member(0));
        let first = |is: &dyn Fn(&Record) -> bool| all.iter().position(|(when, record)| *when > at(160) && is(record));
        let stream = |record: &Record| matches!(record, Record::Etcd(EtcdRecord::PeerFound { from, to }) if [*from, *to] == [member(0), member(4)]);
        let (follows, streams) = (first(&known).expect("it follows the newcomer"), first(&stream).expect("streams are made"));
        assert!(follows < streams, "seed {seed}: it is asked for its vote by POST, and answers so");
    }
}

#[test]
fn a_learner_that_was_not_in_sync_may_be_promoted_later() {
    let (add, promote) = (MemberChange::Add(member(3)), MemberChange::Promote(member(3)));
    let mut scenario = asked(three_zones(), &[(at(60), add), (at(60) + Duration::from_millis(300), promote), (at(90), promote)]);
    scenario.etcd[CLUSTER].members[3].learner = true;
    scenario.etcd[CLUSTER].revision = 1_000;
    let refused = Some("etcdserver: can only promote a learner member which is in sync with leader");
    assert_eq!(ends(&scenario, 1), [(60, add, None), (60, promote, refused), (90, promote, None)]);
}

#[test]
fn a_learner_is_in_sync_from_nine_tenths_on() {
    for (matched, leader, in_sync) in [(9, 10, true), (8, 10, false), (0, 0, true), (89, 100, false), (90, 100, true)] {
        assert_eq!(is_in_sync(matched, leader), in_sync, "{matched} of {leader}");
    }
}

/// etcd checks it only with `strict_reconfig_check`; without, raft panics where nobody is left to vote (`confchange.apply`).
#[test]
fn the_last_voter_is_not_removed() {
    for (strict, refused) in
        [(true, "etcdserver: re-configuration failed due to not enough started members"), (false, "removed all voters")]
    {
        let removed = |index| MemberChange::Remove(member(index));
        let mut scenario = asked(three_zones(), &[(at(60), removed(0)), (at(70), removed(1)), (at(80), removed(2))]);
        scenario.etcd[CLUSTER].options.strict_reconfig_check = strict;
        assert_eq!(ends(&scenario, 1), [(60, removed(0), None), (70, removed(1), None), (80, removed(2), Some(refused))]);
    }
}

/// Without a leader the member that is asked still checks whether enough are connected (`mayRemoveMember`); what it accepts is proposed
/// to nobody, and times out. A promotion waits for a leader.
#[test]
fn changes_without_a_leader_are_checked_first_and_then_time_out() {
    let (up, down) = (MemberChange::Remove(member(0)), MemberChange::Remove(member(2)));
    let promote = MemberChange::Promote(member(0));
    let mut scenario = asked(three_zones(), &[(at(90), up), (at(91), down), (at(100), promote)]);
    for zone in [1, 2] {
        let fault = Fault::ZonePower(ZonePower(FaultTarget::Named(ZoneId(zone))));
        scenario.faults.push(PlannedFault { at: at(60), lasts: None, fault });
    }
    let unhealthy = Some("etcdserver: unhealthy cluster");
    assert_eq!(ends(&scenario, 1), [(90, up, unhealthy), (98, down, TIMED_OUT), (107, promote, Some("etcdserver: no leader"))]);
}
