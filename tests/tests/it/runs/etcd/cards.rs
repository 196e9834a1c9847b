//! Network cards: what hosts carry, who shares it, and what waits for it.

use super::*;
use zonefall_core::scenario::Client;

const MB: u64 = 1_000_000;
const MIB: u32 = 1 << 20;

/// Reads of so many MiB from one member, over so many connections.
fn readers(name: &str, index: u8, connections: u32) -> Client {
    let op = Op::Range { linearizable: false, keys: 1, key_bytes: 8, value_bytes: MIB };
    let load = Load::Closed { connections };
    Client { op, load, timeout: Duration::from_secs(7), ..client(name, Target::Member(index)) }
}

/// The network card of one node is this fast.
fn with_card(mut scenario: Scenario, node: u16, bytes_per_s: u64) -> Scenario {
    scenario.nodes[NodeId(node)].card_bytes_per_s = bytes_per_s;
    scenario
}

/// Values that clients have read between 10 s and 20 s, in bytes per second, of each client.
fn read_per_s(mut scenario: Scenario) -> Vec<u64> {
    scenario.duration = Duration::from_secs(20);
    scenario.etcd[CLUSTER].options.apply = Duration::ZERO;
    let mut bytes = vec![0; scenario.clients.len()];
    for (when, record) in records(&scenario, 1) {
        if let Record::Client(ClientRecord::Request { client, result: RequestResult::Ok, .. }) = record
            && when >= at(10)
        {
            bytes[usize::from(client.0)] += u64::from(MIB);
        }
    }
    bytes.into_iter().map(|bytes| bytes / 10).collect()
}

/// Of what a card carries headers and TLS take 5 %.
fn assert_near(found: u64, card: u64) {
    assert!((card * 94 / 100..card * 96 / 100).contains(&found), "{found} B/s of values over {card} B/s");
}

#[test]
fn all_connections_to_a_member_share_its_card() {
    let mut scenario = three_zones();
    scenario.network.paths.iter_mut().for_each(|path| path.bytes_per_s = 625 * MB);
    scenario.clients = vec![readers("reader", 0, 100)].into();
    // Each connection alone would have the path's 5 Gbit/s.
    assert_near(read_per_s(with_card(scenario, 0, 625 * MB))[0], 625 * MB);
}

#[test]
fn members_on_one_host_share_its_card() {
    let mut scenario = with_card(three_zones(), 1, 200 * MB);
    scenario.clients = vec![readers("one", 1, 20), readers("other", 2, 20)].into();
    let apart = read_per_s(scenario.clone());
    assert_near(apart[0], 200 * MB);
    assert!(apart[1] > 800 * MB, "{apart:?}");
    scenario.etcd[CLUSTER].members[2].node = NodeId(1);
    let together = read_per_s(scenario);
    assert_near(together.iter().sum(), 200 * MB);
    assert!(together.iter().all(|each| *each > 90 * MB), "{together:?}");
}

#[test]
fn large_requests_of_a_host_share_its_card() {
    let mut scenario = with_card(three_zones(), 2, 50 * MB);
    let op = Op::Put { key_bytes: 8, value_bytes: MIB };
    scenario.clients = vec![Client { op, node: Some(NodeId(2)), zone: ZoneId(2), ..readers("writer", 0, 20) }].into();
    let found = read_per_s(scenario);
    // The member there sends acknowledgements besides.
    assert_near(found[0], 50 * MB);
}

/// Short packets pass the queue: the leader keeps its followers, and puts are answered in time, though answers queue for seconds.
#[test]
fn bulk_on_the_leaders_card_costs_neither_heartbeats_nor_small_writes() {
    let mut scenario = with_card(three_zones(), 0, 20 * MB);
    scenario.duration = Duration::from_secs(60);
    scenario.clients = vec![readers("reader", 0, 100), puts(20)].into();
    let report = check_modes(&scenario, 1);
    assert_eq!(report.etcd["etcd-main"].leader_changes, 0);
    let (mut slowest_read, mut slowest_put) = (Duration::ZERO, Duration::ZERO);
    for (_, record) in records(&scenario, 1) {
        if let Record::Client(ClientRecord::Request { client, latency, .. }) = record {
            let slowest = if client == ClientId(0) { &mut slowest_read } else { &mut slowest_put };
            *slowest = latency.max(*slowest);
        }
    }
    assert!(slowest_read > Duration::from_secs(5), "{slowest_read:?}");
    assert!(slowest_put < Duration::from_millis(20), "{slowest_put:?}");
}

#[test]
fn a_database_and_answers_share_the_senders_card() {
    let received = |connections: u32| {
        let mut scenario = with_card(three_zones(), 0, 200 * MB);
        scenario.duration = Duration::from_secs(120);
        scenario.etcd[CLUSTER].members[2].behind = Some((100_000, 500 << 20));
        scenario.etcd[CLUSTER].revision = 200_000;
        scenario.etcd[CLUSTER].database_bytes = 500 << 20;
        scenario.clients = if connections > 0 { vec![readers("reader", 0, connections)].into() } else { TiVec::default() };
        let (mut began, mut ended) = (None, None);
        for (when, record) in records(&scenario, 1) {
            match record {
                Record::Etcd(EtcdRecord::SnapshotStarted { .. }) => began = began.or(Some(when)),
                Record::Etcd(EtcdRecord::SnapshotFinished { ok: true, .. }) => ended = ended.or(Some(when)),
                _ => {}
            }
        }
        ended.expect("it arrived").since(began.expect("it is sent")).as_secs_f64()
    };
    // 500 MiB and 5 % of headers at 200 MB/s; as one of four flows a quarter of that.
    let (alone, shared) = (received(0), received(3));
    assert!((2.5..2.9).contains(&alone), "{alone} s");
    assert!((9.5..12.0).contains(&shared), "{shared} s");
}
