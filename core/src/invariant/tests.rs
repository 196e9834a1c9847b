//! Hand-written streams for each property: one that keeps it, one that breaks it (the properties of Figure 3 in the raft paper).

use super::*;
use crate::ids::EtcdId;
use crate::observe::testing::{CLUSTER, member, three_zones};
use crate::record::{EtcdRecord, RaftRecord as R, StopReason};
use crate::scenario::MemberChange;

/// The properties a stream breaks, in order and without repeats.
fn broken(records: &[Record]) -> Vec<&'static str> {
    let mut scenario = three_zones();
    scenario.etcd[EtcdId(0)].revision = 10;
    let mut fourth = scenario.etcd[EtcdId(0)].members[2].clone();
    (fourth.name, fourth.initial) = ("etcd-main-3".into(), false);
    scenario.etcd[EtcdId(0)].members.push(fourth);
    let mut all = Invariants::new(&Arc::new(scenario));
    for (i, record) in records.iter().enumerate() {
        all.record(Time::from_nanos(i as u64), record);
    }
    let mut names: Vec<_> = all.violations().iter().map(|v| v.property).collect();
    names.dedup();
    names
}

fn append(m: u8, index: u64, term: u64, chain: u64) -> Record {
    Record::Etcd(EtcdRecord::Raft(R::Appended { member: member(m), index, term, chain }))
}

fn commit(m: u8, term: u64, index: u64) -> Record {
    Record::Etcd(EtcdRecord::Raft(R::Committed { member: member(m), term, index }))
}

fn apply(m: u8, index: u64, term: u64, chain: u64) -> Record {
    Record::Etcd(EtcdRecord::Raft(R::Applied { member: member(m), index, term, chain }))
}

fn led(m: u8, term: u64, last: u64) -> Record {
    Record::Etcd(EtcdRecord::Raft(R::Led { member: member(m), term, last }))
}

fn vote(m: u8, term: u64, candidate: u8) -> Record {
    hard_state(m, term, Some(candidate))
}

fn hard_state(m: u8, term: u64, vote: Option<u8>) -> Record {
    Record::Etcd(EtcdRecord::Raft(R::HardState { member: member(m), term, vote, synced: false }))
}

fn synced(m: u8, term: u64, vote: Option<u8>) -> Record {
    Record::Etcd(EtcdRecord::Raft(R::HardState { member: member(m), term, vote, synced: true }))
}

fn promise(m: u8, term: u64, candidate: u8) -> Record {
    Record::Etcd(EtcdRecord::Raft(R::Promised { member: member(m), term, candidate }))
}

fn truncate(m: u8, from: u64) -> Record {
    Record::Etcd(EtcdRecord::Raft(R::Truncated { member: member(m), from }))
}

fn restore(m: u8, index: u64, term: u64, chain: u64) -> Record {
    Record::Etcd(EtcdRecord::Raft(R::Restored { member: member(m), index, term, chain }))
}

fn wiped(m: u8) -> Record {
    Record::Etcd(EtcdRecord::Raft(R::Wiped { member: member(m) }))
}

fn stops(m: u8, reason: StopReason) -> Record {
    Record::Etcd(EtcdRecord::MemberStopped { member: member(m), reason })
}

/// Entry 11 of term 2 on the given members, committed and applied by them.
fn eleven(on: &[u8]) -> Vec<Record> {
    let mut all: Vec<_> = on.iter().map(|m| append(*m, 11, 2, 0x11)).collect();
    all.extend(on.iter().flat_map(|m| [commit(*m, 2, 11), apply(*m, 11, 2, 0x11)]));
    all
}

fn check(start: &[Record], rest: &[Record], expected: &[&str]) {
    let stream: Vec<_> = start.iter().chain(rest).cloned().collect();
    assert_eq!(broken(&stream), expected, "{rest:?}");
}

#[test]
fn one_leader_per_term() {
    let elected = |m, term| Record::Etcd(EtcdRecord::Elected { member: member(m), term });
    check(&[], &[led(0, 2, 10), elected(0, 2), led(1, 3, 10), elected(1, 3)], &[]);
    check(&[], &[elected(0, 2), elected(1, 2)], &["election safety"]);
    check(&[], &[led(0, 2, 10), led(1, 2, 10)], &["election safety"]);
}

#[test]
fn one_vote_per_term_that_a_restart_does_not_forget() {
    check(&[], &[vote(2, 5, 0), vote(2, 5, 0), vote(2, 6, 1)], &[]);
    check(&[], &[vote(2, 5, 0), vote(2, 5, 1)], &["election safety"]);
    check(&[], &[vote(2, 5, 0), vote(2, 4, 1)], &["election safety"]);
    check(&[], &[vote(2, 5, 0), hard_state(2, 5, None)], &["election safety"]);
    check(&[], &[hard_state(2, 5, None), vote(2, 5, 0), hard_state(2, 6, None)], &[]);
    check(&[], &[vote(2, 5, 0), stops(2, StopReason::Killed), vote(2, 5, 1)], &["election safety"]);
    // The vote may not have been synced, and then nobody heard of it.
    check(&[], &[vote(2, 5, 0), stops(2, StopReason::PowerLost), vote(2, 5, 1), vote(2, 6, 1)], &[]);
}

#[test]
fn vote_that_was_synced_outlives_a_power_loss() {
    let told = [vote(2, 5, 0), synced(2, 5, Some(0)), promise(2, 5, 0)];
    check(&told, &[promise(2, 5, 0), vote(2, 6, 1), synced(2, 6, Some(1)), promise(2, 6, 1)], &[]);
    for reason in [StopReason::PowerLost, StopReason::VolumeDetached, StopReason::Killed] {
        check(&told, &[stops(2, reason), promise(2, 5, 0)], &[]);
        check(&told, &[stops(2, reason), vote(2, 5, 1)], &["election safety"]);
        check(&told, &[stops(2, reason), vote(2, 4, 0)], &["election safety"]);
    }
    // What was written and not synced went with the power; what was synced before it stays.
    check(&told, &[vote(2, 6, 1), stops(2, StopReason::PowerLost), vote(2, 6, 0)], &[]);
    check(&told, &[vote(2, 6, 1), stops(2, StopReason::PowerLost), vote(2, 5, 1)], &["election safety"]);
}

#[test]
fn vote_is_on_disk_before_it_is_told() {
    check(&[], &[promise(2, 5, 0)], &["election safety"]);
    check(&[vote(2, 5, 0)], &[promise(2, 5, 0)], &["election safety"]);
    check(&[vote(2, 4, 0), synced(2, 4, Some(0)), vote(2, 5, 0)], &[promise(2, 5, 0)], &["election safety"]);
    check(&[hard_state(2, 5, None), synced(2, 5, None)], &[promise(2, 5, 0)], &["election safety"]);
    // Who has a later term on disk votes in the earlier one no more.
    check(&[hard_state(2, 6, None), synced(2, 6, None)], &[promise(2, 5, 0)], &[]);
    // Two votes of one term in one write: the disk has the second only, and others are told both.
    check(&[vote(2, 5, 1), synced(2, 5, Some(1))], &[promise(2, 5, 0), promise(2, 5, 1)], &["election safety"]);
    check(&[hard_state(2, 6, None), synced(2, 6, None)], &[promise(2, 5, 0), promise(2, 5, 1)], &["election safety"]);
}

#[test]
fn same_index_and_term_same_log() {
    check(&[], &[append(0, 11, 2, 1), append(1, 11, 2, 1), append(2, 11, 3, 7), append(2, 12, 3, 8)], &[]);
    check(&[], &[append(0, 11, 2, 1), append(1, 11, 2, 9)], &["log matching"]);
    // A conflict is resolved by truncation; a snapshot replaces a log.
    check(&[], &[append(1, 11, 2, 1), truncate(1, 11), append(1, 11, 3, 7)], &[]);
    check(&[], &[append(1, 11, 2, 1), append(1, 11, 3, 7)], &["log matching"]);
    check(&[], &[append(0, 11, 2, 1), append(0, 12, 2, 2), restore(2, 12, 2, 2), append(2, 13, 2, 3)], &[]);
    check(&[], &[append(0, 11, 2, 1), append(0, 12, 2, 2), restore(2, 12, 2, 9)], &["log matching"]);
    // Holes, and terms that go down.
    check(&[], &[append(0, 12, 2, 1)], &["log matching"]);
    check(&[], &[append(0, 11, 3, 1), append(0, 12, 2, 1)], &["log matching"]);
}

#[test]
fn leaders_have_what_was_committed() {
    let start = [vec![led(0, 2, 10)], eleven(&[0, 1])].concat();
    check(&start, &[led(1, 3, 11)], &[]);
    check(&start, &[led(2, 3, 10)], &["leader completeness"]);
    // Votes long under way: a leader of a lower term owes nothing.
    check(&start, &[led(2, 1, 10)], &[]);
    // The old leader hears late that its entry is on a majority: the newer leader has it, or something is wrong.
    let late = [led(0, 2, 10), append(0, 11, 2, 1), append(1, 11, 2, 1), led(1, 3, 11), commit(0, 2, 11)];
    check(&[], &late, &[]);
    let late = [led(0, 2, 10), append(0, 11, 2, 1), append(1, 11, 2, 1), led(2, 3, 10), commit(0, 2, 11)];
    check(&[], &late, &["leader completeness"]);
}

#[test]
fn old_terms_are_not_committed_by_counting() {
    // Figure 8: the leader of term 4 replicates entry 11 of term 2 to a majority.
    let start = [append(0, 11, 2, 1), led(0, 4, 11), append(1, 11, 2, 1)];
    check(&start, &[commit(0, 4, 11)], &["leader completeness"]);
    check(&start, &[append(0, 12, 4, 2), append(1, 12, 4, 2), commit(0, 4, 12), commit(1, 4, 11), commit(1, 4, 12)], &[]);
    check(&[], &[append(0, 11, 2, 1), commit(0, 2, 12)], &["leader completeness"]);
}

#[test]
fn nobody_applies_or_commits_something_else() {
    let start = eleven(&[0, 1]);
    // A restart applies again.
    check(&start, &[apply(0, 11, 2, 0x11), append(2, 11, 2, 0x11), commit(2, 2, 11), apply(2, 11, 2, 0x11)], &[]);
    check(&start, &[apply(2, 11, 3, 0x99)], &["state machine safety"]);
    check(&start, &[append(2, 11, 3, 0x99), commit(2, 3, 11)], &["state machine safety"]);
    check(&start, &[restore(2, 11, 2, 0x11)], &[]);
    check(&start, &[restore(2, 11, 3, 0x99)], &["state machine safety"]);
}

#[test]
fn a_commit_needs_a_majority() {
    check(&[], &[append(0, 11, 2, 1), commit(0, 2, 11)], &["durability"]);
    check(&[], &[append(0, 11, 2, 1), append(2, 11, 2, 1), commit(0, 2, 11)], &[]);
    // With a fourth voter three are needed.
    let added = Record::Etcd(EtcdRecord::Membership { change: MemberChange::Add(member(3)), refused: None });
    let two = [append(0, 11, 2, 1), append(2, 11, 2, 1), commit(0, 2, 11)];
    check(&[added], &two, &["durability"]);
}

#[test]
fn crashes_lose_nothing_that_was_committed() {
    let start = eleven(&[0, 1]);
    // What was not committed may go with the power; so may what a third had not synced.
    check(&start, &[append(0, 12, 2, 2), truncate(0, 12), append(2, 11, 2, 0x11), truncate(2, 11)], &[]);
    check(&start, &[truncate(1, 11)], &["durability"]);
    check(&start, &[append(2, 11, 2, 0x11), truncate(1, 11)], &[]);
    check(&start, &[restore(1, 10, 1, 0x10)], &["durability"]);
}

#[test]
fn lost_disks_excuse_as_many_copies_as_they_held() {
    let start = eleven(&[0, 1, 2]);
    check(&start, &[wiped(1)], &[]);
    check(&start, &[wiped(1), wiped(0)], &[]);
    check(&start, &[wiped(1), truncate(0, 11), truncate(2, 11)], &["durability"]);
    let lost = Record::Etcd(EtcdRecord::DataLost { cluster: CLUSTER, entries: 1 });
    check(&start, &[wiped(1), wiped(0), wiped(2), lost.clone()], &[]);
    check(&start, &[wiped(1), lost], &["durability"]);
    // The lost one is removed and a new member takes its place with a snapshot.
    let change = |change| Record::Etcd(EtcdRecord::Membership { change, refused: None });
    let replaced = [
        wiped(1),
        change(MemberChange::Remove(member(1))),
        change(MemberChange::Add(member(3))),
        restore(3, 11, 2, 0x11),
        append(0, 12, 2, 2),
        append(3, 12, 2, 2),
        commit(0, 2, 12),
        commit(3, 2, 12),
        truncate(2, 12),
    ];
    check(&start, &replaced, &[]);
}

#[test]
fn one_process_per_member() {
    let starts = |m| Record::Etcd(EtcdRecord::MemberStarted(member(m)));
    check(&[starts(0)], &[starts(1), stops(0, StopReason::Killed), starts(0)], &[]);
    check(&[starts(0)], &[starts(0)], &["one process per member"]);
}
