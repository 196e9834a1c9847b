//! Clients that read the addresses of API servers themselves: with a custom dialer or an in-memory DNS.

use std::collections::BTreeMap;

use proptest::prelude::*;
use proptest::sample::select;

use super::requests::{count, over};
use super::{Change, DIALER, RESOLVER, balancers, changes, happen};
use crate::client::Client;
use crate::record::{AccessRecord, ConnectionState, RequestResult};
use crate::testing::{Bench, at, scenario_with};
use zonefall_kernel::periodic::Stepping;
use zonefall_kernel::time::{Duration, Time};
use zonefall_kube::ctx::ApiClient;
use zonefall_scenario::ids::{BalancerId, FaultId};
use zonefall_scenario::{Direction, Fault, LbDown};

const DOWN: Fault = Fault::LbDown(LbDown(BalancerId(0)));

fn bench(way: &str, clients: &str) -> Bench {
    Bench::new(scenario_with("", way, clients), 1, Stepping::FastForward)
}

fn is_straight(client: &Client) -> bool {
    matches!(client.connection_state(), ConnectionState::Open { through: false, .. })
}

/// The longest time without a connection that answers, of any kubelet, with the balancer down from 10 s to 610 s.
fn longest_outage(way: &str) -> Duration {
    let mut bench = bench(way, "[]");
    bench.run(Duration::from_secs(10));
    bench.fault(FaultId(1), &DOWN, true);
    bench.run(Duration::from_secs(600));
    bench.fault(FaultId(1), &DOWN, false);
    bench.run(Duration::from_secs(60));
    let (mut since, mut longest) = (BTreeMap::new(), Duration::ZERO);
    for (at, record) in &bench.records {
        let AccessRecord::Client { client, state } = record else { continue };
        if let ConnectionState::Open { .. } = state {
            longest = longest.max(since.remove(client).map_or(Duration::ZERO, |from| at.since(from)));
        } else {
            since.entry(*client).or_insert(*at);
        }
    }
    assert!(since.is_empty(), "{since:?}");
    longest
}

#[test]
fn dialer_goes_on_where_its_silent_connection_has_been_closed_and_a_resolver_has_no_outage() {
    let s = Duration::from_secs;
    assert!((s(600)..s(650)).contains(&longest_outage("null")));
    let dialer = longest_outage(DIALER);
    assert!((s(35)..=s(45)).contains(&dialer), "{dialer:?}");
    assert_eq!(longest_outage(RESOLVER), Duration::ZERO);
    // With a dialer of their own that is wrapped, or overrides a resolver.
    assert_eq!(longest_outage(r#""custom_dialer""#), dialer);
    assert_eq!(longest_outage(r#""in_memory_dns""#), longest_outage("null"));
}

#[test]
fn resolver_prefers_the_server_on_its_host_and_a_dialer_the_last_one() {
    let mut resolvers = bench(RESOLVER, "[]");
    resolvers.run(Duration::from_secs(1));
    assert!(resolvers.clients().all(|(_, client)| is_straight(client)));
    let own = |client: &Client| (0..3).find(|key| Bench::server(&resolvers.scenario, *key).host == client.host());
    let local = resolvers.clients().filter_map(|(_, client)| Some((own(client)?, client.connection_state().other_end()?.0)));
    let local: Vec<(u32, u32)> = local.collect();
    assert_eq!(local.len(), 3);
    assert!(local.iter().all(|(own, server)| own == server), "{local:?}");

    let mut dialers = bench(DIALER, "[]");
    dialers.fault(FaultId(1), &DOWN, true);
    dialers.run(Duration::from_secs(60));
    let servers =
        |bench: &Bench| -> Vec<_> { bench.clients().map(|(_, client)| client.connection_state().other_end()).collect() };
    let first = servers(&dialers);
    assert!(dialers.clients().all(|(_, client)| is_straight(client)));
    // Its kernel refuses the address of a process that has just been replaced, and the dialer is back with the next back-off.
    for key in 0..3 {
        dialers.view.servers.retain(|server| server.key != key);
        dialers.view.servers.push(Bench::server(&dialers.scenario, key));
        dialers.view.servers.sort_by_key(|server| server.key);
    }
    dialers.update();
    dialers.run(Duration::from_secs(60));
    assert_eq!(servers(&dialers), first);
}

#[test]
fn silent_addresses_cost_a_dialer_30_s_each_and_a_resolver_a_share() {
    for (way, shares) in [(DIALER, [30, 30]), (RESOLVER, [10, 10])] {
        let mut bench = bench(way, "[]");
        bench.fault(FaultId(1), &DOWN, true);
        bench.run(Duration::from_secs(60));
        let workers: Vec<ApiClient> = bench
            .clients()
            .filter(|(_, client)| (0..3).all(|key| Bench::server(&bench.scenario, key).host != client.host()))
            .map(|(id, _)| id)
            .collect();
        let (id, server) = (
            workers[0],
            bench.access.client(workers[0]).and_then(|client| client.connection_state().other_end()).expect("it is connected").0,
        );
        // All hosts fall silent but one that the client is not connected to.
        let open = (server + 1) % 3;
        for key in (0..3).filter(|key| *key != open) {
            bench.net.partition_host(Bench::server(&bench.scenario, key).host, Direction::Both, true);
        }
        bench.update();
        let from = bench.now;
        while !matches!(bench.access.connection_state(id), ConnectionState::None) {
            assert!(bench.step(from + Duration::from_secs(60)), "{way}: its connection is closed");
        }
        let closed = bench.now;
        while !matches!(bench.access.connection_state(id), ConnectionState::Open { .. }) {
            assert!(bench.step(closed + Duration::from_secs(300)), "{way}: it connects again");
        }
        // The last one is the first for a dialer; the other two are in random order.
        let took = bench.now.since(closed).as_secs_f64();
        let expected: Vec<f64> =
            (0..=2).map(|silent| shares.iter().chain(&[10]).take(silent).map(|share| f64::from(*share)).sum()).collect();
        let is_one = expected.iter().any(|expected| (took - expected).abs() < 0.5);
        assert!(is_one, "{way}: {took}, expected one of {expected:?}");
        assert!(took >= f64::from(shares[0]) || way == RESOLVER, "{way}: {took}");
    }
}

#[test]
fn resolver_answers_with_addresses_that_fail_for_five_minutes_and_then_with_the_original_host() {
    let clients = r#"[{"name": "outside", "runs_on": "workers", "rate": "2/s", "start": "60s", "in_cluster_network": false}]"#;
    let mut bench = bench(RESOLVER, clients);
    bench.run(Duration::from_secs(60 + 295));
    assert_eq!(count(&bench.records, RequestResult::Answered), 0, "it reads addresses that it does not reach");
    assert!(count(&bench.records, RequestResult::ConnectionLost) > 1_000);
    bench.run(Duration::from_secs(400));
    let answered: Vec<Time> =
        over(&bench.records).filter(|(_, _, result, _)| *result == RequestResult::Answered).map(|(at, ..)| at).collect();
    let first = answered.first().copied().expect("the original host answers");
    assert!((at(360)..at(440)).contains(&first), "{first:?}");
    // It reads them again, and stays with the connection that it has.
    assert!(
        bench
            .access
            .requests
            .keys()
            .all(|id| matches!(bench.access.connection_state(*id), ConnectionState::Open { through: true, .. }))
    );
    let known = |id| bench.access.client(id).and_then(Client::book).map(|book| book.known().to_vec());
    assert!(bench.access.requests.keys().all(|id| known(*id) == Some(vec![0, 1, 2])));
}

#[test]
fn replaced_server_is_dialled_once_it_has_been_read() {
    for (way, period) in [(DIALER, 60), (RESOLVER, 10)] {
        let mut bench = bench(way, "[]");
        bench.view.servers.retain(|server| server.key != 2);
        bench.update();
        bench.run(Duration::from_secs(60 + period));
        let known = |bench: &Bench| -> Vec<Vec<u32>> {
            bench.clients().filter_map(|(_, client)| client.book()).map(|book| book.known().to_vec()).collect()
        };
        assert_eq!(known(&bench), [[0, 1]; 6], "{way}");
        bench.view.servers.push(Bench::server(&bench.scenario, 2));
        bench.update();
        assert_eq!(known(&bench), [[0, 1]; 6], "{way}: a stale answer until the next read");
        bench.run(Duration::from_secs(period));
        assert_eq!(known(&bench), [[0, 1, 2]; 6], "{way}");
    }
}

/// What a client has read, and where it is, after the event before.
#[derive(Clone)]
struct Before {
    known: Vec<u32>,
    read: Time,
    is_open: bool,
}

/// Looks after each event whether a client has read anything but the endpoints, over no connection or too often.
fn follow_reads(bench: &Bench, period: Duration, seen: &mut BTreeMap<ApiClient, Before>) {
    seen.retain(|id, _| bench.access.client(*id).is_some());
    for (id, client) in bench.clients() {
        let known = client.book().expect("it reads addresses").known().to_vec();
        let is_open = matches!(client.connection_state(), ConnectionState::Open { .. });
        let before = seen.get(&id).cloned();
        let has_read = before.as_ref().is_none_or(|before| before.known != known) && !known.is_empty();
        if has_read {
            assert_eq!(known, bench.access.endpoints(), "{id:?} at {:?}", bench.now);
        }
        if let Some(before) = before.as_ref().filter(|before| has_read && !before.known.is_empty()) {
            assert!(before.is_open || is_open, "{id:?} has read over no connection at {:?}", bench.now);
            assert!(before.read == Time::ZERO || bench.now >= before.read + period, "{id:?} reads too often at {:?}", bench.now);
        }
        let read = if has_read { bench.now } else { before.map_or(bench.now, |before| before.read) };
        seen.insert(id, Before { known, read, is_open });
    }
}

/// Which keys the clients dialled have been told at all, by what each has known at any time.
fn dialled_and_told(bench: &Bench, all: &mut BTreeMap<ApiClient, [Vec<u32>; 2]>) {
    for (id, client) in bench.clients() {
        let [dialled, told] = all.entry(id).or_default();
        told.extend(client.book().expect("it reads addresses").known());
        // What stays on its host was not dialled by its address.
        let on_host = |key: &u32| bench.view.servers.iter().any(|server| server.key == *key && server.host == client.host());
        dialled.extend(client.dialled_server().filter(|key| !on_host(key)));
        assert!(dialled.iter().all(|key| told.contains(key)), "{id:?} dials what nobody told it: {client:?}");
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(100))]

    #[test]
    fn client_dials_no_address_that_it_has_not_read(
        balancer in balancers(), changes in changes(), seed in 0_u64..1_000,
        (way, period) in select(vec![(DIALER, 60), (RESOLVER, 10)]),
    ) {
        let mut bench = Bench::new(scenario_with(&balancer, way, "[]"), seed, Stepping::FastForward);
        let (mut seen, mut all) = (BTreeMap::new(), BTreeMap::new());
        happen(&mut bench, &changes, &mut |bench| {
            follow_reads(bench, Duration::from_secs(period), &mut seen);
            dialled_and_told(bench, &mut all);
        });
    }

    /// Programs on a host of the control plane whose packets to the balancer stay there have its server's address, and no other.
    #[test]
    fn client_with_one_address_is_a_plain_client_of_it(
        changes in changes(), seed in 0_u64..1_000, way in select(vec![DIALER, RESOLVER]),
    ) {
        let clients = r#"[{"name": "own", "nodes": ["c-control-plane-0"], "rate": "1/s", "timeout": "7s"}]"#;
        let fits = |change: &Change| matches!(change, Change::Server(0) | Change::Etcd(0) | Change::Readyz(0) | Change::Balancer(0..5));
        let changes: Vec<(u64, Change)> = changes.into_iter().filter(|(_, change)| fits(change)).collect();
        let records = |way: &str| {
            let mut bench = Bench::new(scenario_with(r#", "loopback": "stays_on_host""#, way, clients), seed, Stepping::FastForward);
            bench.view.servers.truncate(1);
            bench.update();
            bench.run(Duration::from_secs(120));
            happen(&mut bench, &changes, &mut |_| ());
            let host = Bench::server(&bench.scenario, 0).host;
            let own: Vec<ApiClient> = bench.view.clients.iter().filter(|(_, on)| *on == host).map(|(id, _)| *id).collect();
            assert_eq!(own.len(), 1);
            let is_own = |client: &ApiClient| own.contains(client) || matches!(client, ApiClient::Further(..));
            let all = bench.records.into_iter().filter(|(_, record)| match record {
                AccessRecord::Client { client, .. } | AccessRecord::Request { client, .. } => is_own(client),
                _ => false,
            });
            all.collect::<Vec<_>>()
        };
        let plain = records("null");
        prop_assert!(plain.len() > 50);
        prop_assert_eq!(records(way), plain);
    }
}

#[test]
fn resolver_outside_the_cluster_network_that_has_been_running_for_long_is_connected_through_the_balancer() {
    let outside = r#"[{"name": "outside", "rate": "1/s", "alternatives": "in_memory_dns", "in_cluster_network": false}]"#;
    let mut bench = bench("null", outside);
    bench.run(Duration::from_secs(1));
    let mut states = bench.access.requests.keys().map(|id| bench.access.connection_state(*id));
    assert!(states.all(|state| matches!(state, ConnectionState::Open { through: true, .. })));
    assert!(!bench.access.requests.is_empty());
}
