//! What a client does with its connection and its dials, and when.

use std::collections::BTreeMap;

use proptest::prelude::*;
use proptest::sample::select;

use crate::client::{Client, MAX_JITTER, RequestTimings};
use crate::record::{AccessRecord, ConnectionState, RequestResult};
use crate::server::ServerView;
use crate::testing::{Bench, ID, at, scenario, scenario_with};
use zonefall_kernel::periodic::Stepping;
use zonefall_kernel::rng::{Purpose, Stream};
use zonefall_kernel::time::{Duration, Time};
use zonefall_kube::ctx::ApiClient;
use zonefall_scenario::ids::{BalancerId, FaultId};
use zonefall_scenario::{Direction, Fault, LbDown};

const DOWN: Fault = Fault::LbDown(LbDown(BalancerId(0)));

fn client(bench: &Bench, timings: RequestTimings, seed: u64) -> Client {
    let (_, host) = bench.view.clients[5];
    Client::new((host, BalancerId(0)), timings, None, Stream::new(seed, Purpose::ApiClient, 0), at(0))
}

fn timings(period: u64) -> RequestTimings {
    RequestTimings { period: Duration::from_secs(period), timeout: Duration::from_secs(period), goaway: None }
}

fn update(client: &mut Client, bench: &Bench, now: Time) -> Option<Time> {
    let ctx = bench.access.client_ctx(&bench.scenario, &bench.net, now);
    client.update(&ctx);
    client.next_due(&ctx)
}

#[test]
fn silent_connection_is_closed_45_s_after_its_last_frame() {
    let mut bench = Bench::new(scenario("", "null"), 1, Stepping::FastForward);
    for (period, least) in [(2, 43), (10, 35), (30, 15), (600, 15)] {
        let closed: Vec<Duration> = (0..200)
            .map(|seed| {
                let mut client = client(&bench, timings(period), seed);
                update(&mut client, &bench, at(0));
                assert!(matches!(client.connection_state(), ConnectionState::Open { .. }));
                bench.fault(FaultId(1), &DOWN, true);
                let end = update(&mut client, &bench, at(100)).expect("it waits");
                assert!(matches!(client.connection_state(), ConnectionState::Silent { .. }));
                update(&mut client, &bench, end);
                assert_eq!(client.connection_state(), ConnectionState::None);
                bench.fault(FaultId(1), &DOWN, false);
                end.since(at(100))
            })
            .collect();
        let (first, last) = (*closed.iter().min().expect("some"), *closed.iter().max().expect("some"));
        assert!(first >= Duration::from_secs(least) && last <= Duration::from_secs(45), "period {period}: {first:?}, {last:?}");
        assert!(
            last.as_nanos() - first.as_nanos() > period.min(30) * 900_000_000,
            "any phase of {period} s: {first:?}, {last:?}"
        );
    }
}

/// When something is due to a client that dials a balancer from 0 s on which is down, until the dial has failed, and which of its
/// addresses it dials from then on.
fn dials(zones: &str) -> Vec<(u64, usize)> {
    let mut bench = Bench::new(scenario(zones, "null"), 1, Stepping::FastForward);
    bench.fault(FaultId(1), &DOWN, true);
    let mut client = client(&bench, timings(10), 1);
    let mut next = update(&mut client, &bench, at(0));
    let mut all = Vec::new();
    while let (Some(left), Some(due)) = (client.addresses_left(), next) {
        all.push((due.as_nanos() / 1_000_000_000, left));
        next = update(&mut client, &bench, due);
    }
    all
}

#[test]
fn dial_repeats_its_syns_and_fails_after_30_s() {
    assert_eq!(dials(r#", "zones": ["a"]"#), [(1, 1), (3, 1), (7, 1), (15, 1), (30, 1)]);
}

#[test]
fn dial_gives_each_of_several_addresses_an_even_part_of_the_time() {
    assert_eq!(dials(r#", "zones": ["a", "b"]"#), [(1, 2), (3, 2), (7, 2), (15, 2), (16, 1), (18, 1), (22, 1), (30, 1)]);
    let three = [(1, 3), (3, 3), (7, 3), (10, 3), (11, 2), (13, 2), (17, 2), (20, 2), (21, 1), (23, 1), (27, 1), (30, 1)];
    assert_eq!(dials(""), three);
}

#[test]
fn path_that_is_repaired_is_found_with_the_next_syn() {
    let mut bench = Bench::new(scenario(r#", "zones": ["a"]"#, "null"), 1, Stepping::FastForward);
    bench.fault(FaultId(1), &DOWN, true);
    let mut client = client(&bench, timings(10), 1);
    update(&mut client, &bench, at(0));
    bench.fault(FaultId(1), &DOWN, false);
    let next = update(&mut client, &bench, at(4)).expect("it dials");
    assert!(next > at(7) && next < at(7) + MAX_JITTER);
    assert_eq!(client.connection_state(), ConnectionState::None);
    update(&mut client, &bench, next);
    assert!(matches!(client.connection_state(), ConnectionState::Open { .. }));
}

#[test]
fn all_syns_of_a_dial_go_to_one_target() {
    // A load balancer that relays has accepted the connection: the client waits for the TLS handshake.
    for (relays, fails) in [(false, 30), (true, 10)] {
        let mut scenario = scenario(r#", "zones": ["a", "b"], "cross_zone": true"#, "null");
        let balancer = &mut scenario.load_balancers[BalancerId(0)];
        (balancer.relays, balancer.one_address) = (relays, true);
        let mut bench = Bench::new(scenario, 1, Stepping::FastForward);
        bench.net.partition_host(Bench::server(&bench.scenario, 1).host, Direction::Both, true);
        bench.update();
        let mut silent = 0;
        for seed in 0..300 {
            let mut client = client(&bench, timings(10), seed);
            let mut next = update(&mut client, &bench, at(0));
            silent += u32::from(client.connection_state() == ConnectionState::None);
            // Its checks have not found out by then.
            while let Some(due) = next.filter(|due| client.connection_state() == ConnectionState::None && *due < at(fails)) {
                next = update(&mut client, &bench, due);
                assert_eq!(client.connection_state(), ConnectionState::None, "seed {seed}: at {due:?}");
            }
        }
        // A third of them, within four standard deviations.
        assert!((67..=133).contains(&silent), "{silent} of 300");
    }
}

/// Seconds for which a server that crashed at 100 s is still listed.
fn listed_s(alternatives: &str) -> u64 {
    let mut bench = Bench::new(scenario("", alternatives), 1, Stepping::FastForward);
    bench.run(Duration::from_secs(100));
    bench.view.servers.remove(0);
    bench.update();
    while bench.access.endpoints().contains(&0) {
        bench.run(Duration::from_secs(1));
    }
    bench.now.since(at(100)).as_nanos() / 1_000_000_000
}

#[test]
fn endpoints_follow_their_own_rules() {
    assert_eq!([r#""text""#, r#""code", "endpoints": "text""#].map(listed_s), [0, 0]);
    for by_lease in [r#""code""#, r#""text", "endpoints": "code""#] {
        assert!((5..=25).contains(&listed_s(by_lease)), "{by_lease}: {} s", listed_s(by_lease));
    }
}

#[test]
fn client_of_servers_that_all_list_only_others_moves_on_with_each_request() {
    let others = |key: u32| (0..3).filter(|other| *other != key).collect::<Vec<u32>>();
    let lists = |bench: &Bench, key: u32| bench.access.server(key).is_some_and(|server| *server.list() == others(key));
    let mut tried = 0;
    for seed in 0..20 {
        let mut bench = Bench::new(scenario("", r#""text""#), seed, Stepping::FastForward);
        // Each is not ready for a while, in turn, until its own list says so.
        for key in 0..3 {
            bench.view.servers.iter_mut().for_each(|server| server.readyz = server.key != key);
            bench.update();
            while !lists(&bench, key) {
                bench.run(Duration::from_millis(100));
            }
        }
        if (0..3).all(|key| lists(&bench, key)) {
            let before = bench.records.len();
            bench.run(Duration::from_secs(1));
            let moves = bench.records.len() - before;
            assert!(moves < 200, "{moves} moves of six clients with a request every 10 s");
            tried += 1;
        }
    }
    assert!(tried > 0, "in none did all three lists hold at a time");
}

#[test]
fn server_of_an_older_version_advertises_nothing_and_its_clients_are_none_the_worse() {
    for rules in [r#""text""#, r#""code""#] {
        let mut raw = scenario("", rules);
        let hosts = raw.kube.clusters[ID].control_plane.clone();
        raw.kube.clusters[ID].not_advertising = hosts;
        let mut bench = Bench::new(raw, 1, Stepping::FastForward);
        for pause in [1, 200] {
            bench.run(Duration::from_secs(pause));
            for (id, client) in bench.clients() {
                // They know no other address, however long they have been there.
                assert!(matches!(client.connection_state(), ConnectionState::Open { through: true, .. }), "{id:?}: {client:?}");
            }
        }
    }
}

/// What happens to a server, or to the balancer.
#[derive(Clone, Copy, Debug)]
enum Change {
    Stops(u32),
    Closes(u32),
    Returns(u32),
    IsUnready(u32, bool),
    BalancerIsDown(bool),
}

fn change() -> impl Strategy<Value = Change> {
    prop_oneof![
        (0_u32..3).prop_map(Change::Stops),
        (0_u32..3).prop_map(Change::Closes),
        (0_u32..3).prop_map(Change::Returns),
        (0_u32..3, any::<bool>()).prop_map(|(key, unready)| Change::IsUnready(key, unready)),
        any::<bool>().prop_map(Change::BalancerIsDown),
    ]
}

impl Bench {
    fn apply(&mut self, change: Change) {
        let of = |bench: &mut Self, key: u32, act: &dyn Fn(&mut ServerView)| {
            bench.view.servers.iter_mut().filter(|server| server.key == key).for_each(act);
        };
        match change {
            Change::Stops(key) => of(self, key, &|server| (server.readyz, server.stops) = (false, true)),
            Change::Closes(key) => self.view.servers.retain(|server| server.key != key),
            Change::Returns(key) => {
                if self.view.servers.iter().all(|server| server.key != key) {
                    self.view.servers.push(Self::server(&self.scenario, key));
                }
            }
            Change::IsUnready(key, unready) => of(self, key, &|server| server.readyz = !unready && !server.stops),
            Change::BalancerIsDown(begins) => return self.fault(FaultId(1), &DOWN, begins),
        }
        self.update();
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(64))]

    /// Upgrades, those that fail, and downgrades: as long as no server adds a list to its answers, record for record a plain client.
    #[test]
    fn clients_without_a_list_do_as_those_that_know_the_balancer_alone(
        changes in proptest::collection::vec((0_u64..200_000, change()), 1..12),
        rules in select(vec![r#""text""#, r#""code""#]),
        check in select(vec!["tcp", "readyz"]),
        established in select(vec!["kept", "reset", "silent"]),
        seed in 0_u64..1_000,
        stepping in select(vec![Stepping::EveryEvent, Stepping::FastForward]),
    ) {
        let balancer = format!(r#", "check": {{"kind": "{check}"}}, "established": "{established}""#);
        let records = |rules: &str| {
            let mut raw = scenario_with(&balancer, rules, r#"[{"name": "sdn", "rate": "1/s", "requests": 200}]"#);
            raw.kube.clusters[ID].not_advertising = raw.kube.clusters[ID].control_plane.clone();
            let mut bench = Bench::new(raw, seed, stepping);
            for (pause, change) in &changes {
                bench.run(Duration::from_millis(*pause));
                bench.apply(*change);
            }
            bench.run(Duration::from_secs(200));
            bench.records
        };
        prop_assert_eq!(records("null"), records(rules));
    }
}

#[test]
fn client_that_has_been_running_for_long_is_connected_at_the_start() {
    for seed in 0..50 {
        let mut bench = Bench::new(scenario(r#", "loopback": "fails""#, "null"), seed, Stepping::FastForward);
        bench.run(Duration::from_secs(1));
        assert!(bench.clients().all(|(_, client)| matches!(client.connection_state(), ConnectionState::Open { .. })));
    }
}

#[test]
fn clients_spread_over_the_servers_again_where_these_close_connections_by_chance() {
    let spread = |chance: f64| {
        let clients = r#"[{"name": "sdn", "rate": "10/s"}]"#;
        let mut raw = scenario_with(r#", "check": {"kind": "readyz"}"#, "null", clients);
        raw.kube.clusters[ID].access.as_mut().expect("it has one").goaway_chance = chance;
        let mut bench = Bench::new(raw, 1, Stepping::FastForward);
        let stopped = bench.view.servers.remove(0);
        bench.update();
        bench.run(Duration::from_secs(100));
        bench.view.servers.insert(0, stopped);
        bench.update();
        bench.run(Duration::from_secs(2_000));
        let lost = |record: &AccessRecord| matches!(record, AccessRecord::Request { result: RequestResult::ConnectionLost, .. });
        let later = bench.records.iter().filter(|(time, record)| *time > at(100) && lost(record)).count();
        let on_first = |id: &ApiClient| matches!(bench.access.connection_state(*id), ConnectionState::Open { server: 0, .. });
        (bench.access.requests.keys().filter(|id| on_first(id)).count(), later)
    };
    assert_eq!(spread(0.0), (0, 0), "none returns to a server that was restarted");
    let (back, lost) = spread(0.001);
    // Six processes, each with 20 new connections since; a third of them goes there.
    assert!((1..=5).contains(&back) && lost == 0, "{back}, {lost}");
}

#[test]
fn connection_that_was_silent_when_its_server_would_close_it_is_closed_once_packets_pass() {
    for seed in 0..50 {
        let mut bench = Bench::new(scenario("", "null"), 1, Stepping::FastForward);
        let mut client = client(&bench, RequestTimings { goaway: Some(Duration::from_secs(1)), ..timings(10) }, seed);
        update(&mut client, &bench, at(0));
        bench.fault(FaultId(1), &DOWN, true);
        update(&mut client, &bench, at(0) + Duration::from_millis(1));
        bench.fault(FaultId(1), &DOWN, false);
        let now = at(14);
        let next = update(&mut client, &bench, now).expect("its server will close it");
        assert!(next >= now, "seed {seed}: due {next:?} at {now:?}");
        update(&mut client, &bench, next);
        assert!(matches!(client.connection_state(), ConnectionState::Open { .. }));
    }
}

#[test]
fn client_leaves_a_silent_alternative_with_the_request_that_timed_out() {
    let clients = r#"[{"name": "sdn", "rate": "1/s", "timeout": "4s", "runs_on": "workers"}]"#;
    for (seed, alternatives) in [(1, "\"text\""), (2, "\"code\""), (3, "\"text\""), (4, "\"code\"")] {
        let mut bench = Bench::new(scenario_with("", alternatives, clients), seed, Stepping::FastForward);
        bench.run(Duration::from_secs(100));
        let from = bench.records.len();
        for server in bench.view.servers.clone() {
            bench.net.partition_host(server.host, Direction::Both, true);
        }
        bench.update();
        bench.run(Duration::from_secs(20));
        let later = &bench.records[from..];
        let left: BTreeMap<ApiClient, Time> = (later.iter().rev())
            .filter_map(|(at, record)| match record {
                AccessRecord::Client { client, state: ConnectionState::None } => Some((*client, *at)),
                _ => None,
            })
            .filter(|(client, _)| matches!(client, ApiClient::Further(..)))
            .collect();
        let timed_out = later.iter().rev().filter_map(|(at, record)| match record {
            AccessRecord::Request { client, result: RequestResult::TimedOut, .. } => Some((*client, *at)),
            _ => None,
        });
        let timed_out: BTreeMap<ApiClient, Time> = timed_out.collect();
        assert_eq!(left.len(), 3, "seed {seed}: {left:?}");
        assert_eq!(left, timed_out, "seed {seed}: the first of each");
    }
}
