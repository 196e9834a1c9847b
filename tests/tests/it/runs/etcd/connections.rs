//! Connections of clients: a member that falls silent is asked until the keep-alive has found out, and again when it is back.

use super::*;
use zonefall_core::record::Delay;
use zonefall_core::scenario::Node;
use zonefall_core::scenario::{Client, ProcessPause};

const START: u64 = 60;
const LASTS: u64 = 100;

/// One of the requests of the only client: when it was made and by whom it was answered, or not.
struct Asked {
    made: Time,
    latency: Duration,
    member: u8,
    ok: bool,
}

/// Ten puts a second from the second zone, where `fault` keeps the member from being heard; its leader is in the first.
fn asked(fault: Fault, client: Client, seed: u64) -> Vec<Asked> {
    let mut scenario = faulty(LASTS, fault);
    // Within its zone: the member there is the nearest.
    scenario.network.paths[4].delay = Duration::from_micros(100);
    scenario.clients = vec![Client { zone: ZoneId(1), ..client }].into();
    check_modes(&scenario, seed);
    let asked = |(at, record): (Time, Record)| match record {
        Record::Client(ClientRecord::Request { latency, member, result, .. }) => {
            Some(Asked { made: at - latency, latency, member: member.index, ok: result == RequestResult::Ok })
        }
        _ => None,
    };
    records(&scenario, seed).into_iter().filter_map(asked).collect()
}

fn silences() -> [Fault; 4] {
    let cut = |direction| Fault::NodePartition(NodePartition { node: FaultTarget::Named(NodeId(1)), direction });
    [
        Fault::NodeCrash(NodeCrash(FaultTarget::Named(NodeId(1)))),
        cut(Direction::In),
        cut(Direction::Out),
        Fault::ProcessPause(ProcessPause(FaultTarget::Named(member(1)))),
    ]
}

#[test]
fn requests_go_to_others_once_a_silent_connection_is_closed() {
    let second = Duration::from_secs(1);
    for (seed, fault) in (0..).zip(silences()) {
        for target in [Target::Nearest, Target::All, Target::Member(1)] {
            let all = asked(fault.clone(), Client { target, ..puts(10) }, seed);
            assert!(all.iter().all(|asked| asked.ok), "{fault:?}, {target:?}: others answer");
            // One that is back has first to catch up.
            let during = all.iter().filter(|asked| asked.made < at(START + LASTS));
            let late: Vec<Time> = during.filter(|asked| asked.latency > second).map(|asked| asked.made).collect();
            let closed = at(START) + Duration::from_secs(8);
            let (first, last) = (late.first().expect("some wait"), late.last().expect("some wait"));
            assert!((at(START) - second..at(START) + second / 2).contains(first), "{fault:?}, {target:?}: first {first:?}");
            assert!((closed - second * 2..closed + second / 2).contains(last), "{fault:?}, {target:?}: last {last:?}");
            // Dials are up to two minutes apart.
            let back = all.iter().find(|asked| asked.made > at(START + LASTS) && asked.member == 1).expect("it is asked again");
            assert!(back.made < at(START + LASTS) + second * 130, "{fault:?}, {target:?}: {:?}", back.made);
        }
    }
}

#[test]
fn a_client_without_retries_has_one_endpoint() {
    let [crash, ..] = silences();
    let all = asked(crash, Client { target: Target::Member(1), retries: 0, ..puts(10) }, 1);
    assert!(all.iter().all(|asked| asked.member == 1));
    let during = all.iter().filter(|asked| (at(START + 1)..at(START + LASTS - 6)).contains(&asked.made));
    let during: Vec<bool> = during.map(|asked| asked.ok).collect();
    assert!(during.len() > 900 && during.iter().all(|ok| !ok), "nobody answers for it");
}

#[test]
fn a_member_whose_kernel_answers_is_left_at_once() {
    let killed = Fault::ProcessKill(ProcessKill(FaultTarget::Named(member(1))));
    let all = asked(killed, Client { target: Target::Nearest, ..puts(10) }, 1);
    assert!(all.iter().all(|asked| asked.ok && asked.latency < Duration::from_millis(100)));
    let during = all.iter().filter(|asked| (at(START + 1)..at(START + LASTS)).contains(&asked.made));
    assert!(during.into_iter().all(|asked| asked.member != 1));
    assert!(all.last().is_some_and(|asked| asked.member == 1), "it is asked again");
}

#[test]
fn where_no_connection_is_open_all_are_tried() {
    // The client's own zone is cut off: all members but its own fall silent, and that one has no leader.
    let zone = Fault::ZonePartition(ZonePartition { zone: FaultTarget::Named(ZoneId(1)), direction: Direction::Both });
    let all = asked(zone, Client { target: Target::All, ..puts(10) }, 1);
    let over = at(START + LASTS);
    let first = all.iter().find(|asked| asked.made > over + Duration::from_secs(2)).expect("the client goes on");
    assert!(first.ok, "its own member is there again, whatever the others' connections are");
    assert!(all.iter().filter(|asked| asked.made > over + Duration::from_secs(2)).all(|asked| asked.ok));
}

#[test]
fn a_request_under_way_waits_as_long_as_those_that_follow() {
    // The only one of its connection waits from the first moment on.
    let paused = Fault::ProcessPause(ProcessPause(FaultTarget::Named(member(1))));
    let load = Load::Closed { connections: 1 };
    let timeout = Duration::from_secs(60);
    let all = asked(paused, Client { target: Target::Nearest, load, timeout, stop: at(START + 20), ..puts(10) }, 1);
    let late = all.iter().map(|asked| asked.latency).max().expect("it asks");
    // etcd's own time-out for a request is shorter than the silence.
    assert!((Duration::from_secs(6)..Duration::from_millis(8_100)).contains(&late), "{late}");
    let made = |asked: &&Asked| (at(START + 9)..at(START + 20)).contains(&asked.made);
    assert!(all.iter().filter(made).count() > 1_000, "and others answer from then on");
}

#[test]
fn requests_under_way_go_on_when_their_client_begins_no_more() {
    let [crash, ..] = silences();
    let all = asked(crash, Client { target: Target::Nearest, stop: at(START + 2), ..puts(10) }, 1);
    assert!(all.iter().any(|asked| asked.latency > Duration::from_secs(5)), "some wait for the member that is gone");
    assert!(all.iter().all(|asked| asked.ok), "and others answer them");
}

#[test]
fn a_watch_leaves_a_silent_member() {
    for (seed, fault) in (0..).zip(silences()) {
        let mut scenario = faulty(LASTS, fault.clone());
        let watcher = Client { target: Target::Member(1), zone: ZoneId(2), ..client("watcher", Target::All) };
        scenario.clients = vec![puts(10), watcher].into();
        check_modes(&scenario, seed);
        let heard = records(&scenario, seed).into_iter().filter_map(|(_, record)| match record {
            Record::Client(ClientRecord::Request { op: Op::Watch, latency, .. }) => Some(latency),
            _ => None,
        });
        let late = heard.max().expect("it hears of puts");
        assert!((Duration::from_secs(6)..Duration::from_millis(8_200)).contains(&late), "{fault:?}: {late}");
    }
}

#[test]
fn a_member_that_starts_again_has_clients_when_it_has_caught_up() {
    let [crash, ..] = silences();
    let mut scenario = faulty(LASTS, crash);
    scenario.clients = vec![Client { zone: ZoneId(1), target: Target::All, ..puts(500) }].into();
    let records = records(&scenario, 1);
    let (mut caught_up, mut opened) = (None, None);
    for (at, record) in records {
        match record {
            Record::Etcd(EtcdRecord::CaughtUp { member: of, .. }) if of == member(1) => caught_up = Some(at),
            Record::Client(ClientRecord::Connection { member: of, open: true, .. }) if of == member(1) => opened = Some(at),
            _ => {}
        }
    }
    let (caught_up, opened) = (caught_up.expect("it was behind"), opened.expect("it is dialled"));
    assert!(caught_up <= opened, "{caught_up:?} {opened:?}");
}

#[test]
fn what_befalls_a_clients_own_node_is_no_outage_of_etcd() {
    let own = NodeId(3);
    let cut = Fault::NodePartition(NodePartition { node: FaultTarget::Named(own), direction: Direction::Both });
    for fault in [Fault::NodeCrash(NodeCrash(FaultTarget::Named(own))), cut] {
        let mut scenario = faulty(LASTS, fault.clone());
        let node = Node { name: "client".into(), zone: ZoneId(1), ..scenario.nodes[NodeId(1)].clone() };
        scenario.nodes.push(node);
        scenario.clients = vec![Client { zone: ZoneId(1), node: Some(own), target: Target::All, ..puts(10) }].into();
        let report = check_modes(&scenario, 1);
        let etcd = &report.etcd["etcd-main"];
        assert!(etcd.write_unavailable_s < 1e-9 && etcd.outages.is_empty(), "{fault:?}: {:?}", etcd.outages);
        assert!(etcd.requests.timed_out + etcd.requests.failed > 0, "{fault:?}: its requests fail all the same");
    }
}

#[test]
fn a_member_that_ran_when_it_was_asked_is_not_said_to_have_been_down() {
    let cut = Fault::NodePartition(NodePartition { node: FaultTarget::Named(NodeId(1)), direction: Direction::Both });
    let mut scenario = faulty(LASTS, cut);
    let killed = Fault::ProcessKill(ProcessKill(FaultTarget::Named(member(1))));
    scenario.faults.push(PlannedFault { at: at(START + 4), lasts: Some(Duration::from_secs(30)), fault: killed });
    let timeout = Duration::from_secs(7);
    scenario.clients = vec![Client { zone: ZoneId(2), target: Target::Member(1), retries: 0, timeout, ..puts(10) }].into();
    let told = |(at, record): (Time, Record)| {
        matches!(record, Record::Client(ClientRecord::Delayed { by: Delay::Down, .. })).then_some(at)
    };
    let first = records(&scenario, 1).into_iter().find_map(told).expect("it is down for those that are made later");
    // Those of the first second have timed out by 68 s, the others have failed then, with their connection.
    assert!((at(START + 15)..at(START + 16)).contains(&first), "{first:?}");
}

#[test]
fn a_member_that_starts_without_a_quorum_serves_nobody() {
    let [crash, ..] = silences();
    let mut scenario = faulty(LASTS, crash);
    let other = Fault::NodeCrash(NodeCrash(FaultTarget::Named(NodeId(2))));
    scenario.faults.push(PlannedFault { at: at(START), lasts: Some(Duration::from_secs(LASTS)), fault: other });
    let killed = Fault::ProcessKill(ProcessKill(FaultTarget::Named(member(0))));
    scenario.faults.push(PlannedFault { at: at(START + 30), lasts: Some(Duration::from_secs(5)), fault: killed });
    let op = Op::Range { linearizable: false, key_bytes: 8, keys: 1, value_bytes: 100 };
    let reads = Client { op, target: Target::Member(0), retries: 0, timeout: Duration::from_secs(20), ..puts(10) };
    scenario.clients = vec![Client { zone: ZoneId(0), ..reads }].into();
    let report = check_modes(&scenario, 1);
    let starts = at(START + 36);
    let first = |made: Time| {
        let asked = requests(&scenario, 1).into_iter().find(|(at, latency, _)| *at - *latency >= made);
        asked.map(|(_, latency, result)| (latency, result)).expect("it goes on")
    };
    assert!(
        matches!(first(at(START + 20)), (latency, RequestResult::Ok) if latency < Duration::from_millis(10)),
        "it still runs"
    );
    assert!(matches!(first(starts), (_, RequestResult::TimedOut)), "it runs again: {:?}", first(starts));
    let (waited, result) = first(at(START + LASTS - 6));
    assert!(result == RequestResult::Ok && waited > Duration::from_secs(5), "who asks waits until it has a leader: {waited}");
    let unavailable = report.etcd["etcd-main"].read_unavailable_s.serializable;
    assert!((60.0..75.0).contains(&unavailable), "from its kill until the others are back: {unavailable}");
}
