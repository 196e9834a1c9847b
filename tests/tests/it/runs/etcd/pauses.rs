//! A process that is frozen for some time.

use super::*;
use zonefall_core::scenario::ProcessPause;

fn pause(target: FaultTarget<MemberId>) -> Fault {
    Fault::ProcessPause(ProcessPause(target))
}

fn paused(lasts: Duration, target: FaultTarget<MemberId>) -> Scenario {
    let mut scenario = faulty(1, pause(target));
    scenario.faults[0].lasts = Some(lasts);
    scenario
}

#[test]
fn a_frozen_leader_is_replaced_and_follows_when_it_goes_on() {
    for seed in 0..20 {
        let scenario = paused(Duration::from_secs(10), FaultTarget::OfLeader(CLUSTER));
        let records = records(&scenario, seed);
        let elected: Vec<_> =
            records.iter().filter(|(_, record)| matches!(record, Record::Etcd(EtcdRecord::Elected { .. }))).collect();
        let [.., (when, Record::Etcd(EtcdRecord::Elected { member: new, .. }))] = elected[..] else { panic!("seed {seed}") };
        assert!(new.index != 0 && (at(60)..at(64)).contains(when), "seed {seed}: {new:?} at {when:?}");
        // It hears of the other when it goes on, not before.
        let follows = |(when, record): &(Time, Record)| match record {
            Record::Etcd(EtcdRecord::LeaderSeen { member: of, leader: Some(leader), .. })
                if *of == member(0) && *leader == new.index =>
            {
                Some(*when)
            }
            _ => None,
        };
        let follows = records.iter().find_map(follows).expect("it follows the new leader");
        assert!((at(70)..at(71)).contains(&follows), "seed {seed}: {follows:?}");
        // Its peers read nothing for 5 s, and close.
        let lost = |(when, record): &(Time, Record)| {
            matches!(record, Record::Etcd(EtcdRecord::PeerLost { from, .. }) if *from == member(0)).then_some(*when)
        };
        let lost: Vec<Time> = records.iter().filter_map(lost).collect();
        assert!(lost.len() == 2 && lost.iter().all(|when| (at(63)..at(66)).contains(when)), "seed {seed}: {lost:?}");
    }
}

#[test]
fn nothing_comes_of_a_pause_shorter_than_an_election_timeout() {
    for (seed, lasts) in (0..20).zip([100, 400, 700].into_iter().cycle()) {
        let scenario = paused(Duration::from_millis(lasts), FaultTarget::OfLeader(CLUSTER));
        let changes = |(_, record): &(Time, Record)| {
            matches!(record, Record::Etcd(EtcdRecord::Campaign { .. } | EtcdRecord::PeerLost { .. }))
        };
        assert!(!records(&scenario, seed).iter().any(changes), "seed {seed}, {lasts} ms");
    }
}

#[test]
fn a_frozen_follower_does_not_campaign_when_it_goes_on() {
    for seed in 0..20 {
        // Its election timeout is over, but of the ticks of its clock only one is left.
        let scenario = paused(Duration::from_secs(4), FaultTarget::Named(member(1)));
        let campaigns = |(_, record): &(Time, Record)| matches!(record, Record::Etcd(EtcdRecord::Campaign { .. }));
        assert!(!records(&scenario, seed).iter().any(campaigns), "seed {seed}");
    }
}

#[test]
fn requests_wait_for_a_frozen_member_and_not_for_a_killed_one() {
    let put = Op::Put { key_bytes: 8, value_bytes: 100 };
    let first = |mut scenario: Scenario| {
        scenario.clients =
            vec![zonefall_core::scenario::Client { start: at(61), stop: at(62), ..asks(put, Target::Member(1)) }].into();
        let (_, latency, result) = requests(&scenario, 1)[0];
        (latency.as_secs_f64(), result)
    };
    let (latency, result) = first(paused(Duration::from_secs(4), FaultTarget::Named(member(1))));
    assert!(result == RequestResult::Ok && (3.0..3.1).contains(&latency), "{result:?} after {latency} s");
    let (latency, result) = first(paused(Duration::from_secs(20), FaultTarget::Named(member(1))));
    assert!(result == RequestResult::TimedOut && latency > 6.9, "{result:?} after {latency} s");
    let (latency, result) = first(faulty(4, Fault::ProcessKill(ProcessKill(FaultTarget::Named(member(1))))));
    assert!(result == RequestResult::Failed && latency < 0.1, "{result:?} after {latency} s");
}

#[test]
fn pauses_are_the_same_at_rest_and_not() {
    let kill = Fault::ProcessKill(ProcessKill(FaultTarget::Named(member(0))));
    let stop = Fault::GracefulStop(GracefulStop(FaultTarget::Named(member(0))));
    let named = pause(FaultTarget::Named(member(0)));
    for seed in 0..4 {
        for other in [kill.clone(), stop.clone(), named.clone()] {
            let mut scenario = paused(Duration::from_secs(10), FaultTarget::Named(member(0)));
            scenario.clients = vec![puts(20)].into();
            scenario.faults.push(PlannedFault { at: at(64), lasts: Some(Duration::from_secs(20)), fault: other });
            check_modes(&scenario, seed);
        }
    }
}
