//! Requests of further clients: none is lost or counted twice, and each ends as its connection and its limits say.

use std::collections::BTreeMap;

use proptest::prelude::*;
use proptest::sample::select;

use super::{Change, DIALER, LB, RESOLVER, balancers, changes, happen, limits};
use crate::record::{AccessRecord, ConnectionState, RequestResult};
use crate::testing::{Bench, ID, at, scenario_with};
use zonefall_kernel::periodic::Stepping;
use zonefall_kernel::time::{Duration, Time};
use zonefall_kube::ctx::ApiClient;
use zonefall_scenario::ids::{ApiClientId, BalancerId, FaultId, ZoneId};
use zonefall_scenario::{Direction, Fault, LbDown, LbThrottled, Vantage};

/// Clients with and without timeouts, limits and ends.
pub(super) const CLIENTS: &str = r#"[
    {"name": "sdn", "rate": "1/s", "response": "10kB", "response_sizes": "exponential", "timeout": "7s"},
    {"name": "operator", "rate": "2/s", "qps": "1/s", "burst": 5, "runs_on": "workers", "alternatives": "none"},
    {"name": "gather", "rate": "5/s", "requests": 50, "start": "20s", "runs_on": "control_plane", "in_cluster_network": false}
]"#;

/// Requests that are over: when, of which process, how, and after how long.
pub(super) fn over(records: &[(Time, AccessRecord)]) -> impl Iterator<Item = (Time, ApiClient, RequestResult, Duration)> {
    records.iter().filter_map(|(at, record)| match record {
        AccessRecord::Request { client, result, after } => Some((*at, *client, *result, *after)),
        _ => None,
    })
}

pub(super) fn count(records: &[(Time, AccessRecord)], result: RequestResult) -> usize {
    over(records).filter(|(_, _, other, _)| *other == result).count()
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(100))]

    #[test]
    fn each_request_is_over_once_or_in_flight(
        balancer in balancers(), changes in changes(), seed in 0_u64..1_000,
        alternatives in select(vec!["null", "\"text\"", "\"code\"", DIALER, RESOLVER]), goaway in select(vec![0.0, 0.02]),
        limit in limits(), relays in any::<bool>(),
    ) {
        // A process that stops forgets its requests.
        let changes: Vec<(u64, Change)> = changes.into_iter().filter(|(_, change)| !matches!(change, Change::Client(_))).collect();
        let mut scenario = scenario_with(&balancer, alternatives, CLIENTS);
        scenario.kube.clusters[ID].access.as_mut().expect("it has one").goaway_chance = goaway;
        let balancer = &mut scenario.load_balancers[LB];
        (balancer.connection_limit, balancer.relays) = (limit, relays);
        let mut bench = Bench::new(scenario, seed, Stepping::FastForward);
        happen(&mut bench, &changes, &mut |_| ());
        let mut ended: BTreeMap<ApiClient, u64> = BTreeMap::new();
        for (_, client, result, after) in over(&bench.records) {
            *ended.entry(client).or_default() += 1;
            let ApiClient::Further(id, _) = client else { panic!("{client:?} has no requests") };
            let timeout = Duration::from_secs(7);
            match (id, result) {
                (ApiClientId(0), RequestResult::TimedOut) => prop_assert_eq!(after, timeout),
                (ApiClientId(0), _) => prop_assert!(after <= timeout),
                (_, result) => prop_assert!(result != RequestResult::TimedOut),
            }
        }
        for (client, requests) in &bench.access.requests {
            let ended = ended.get(client).copied().unwrap_or(0);
            prop_assert_eq!(requests.made(), ended + requests.in_flight() as u64, "{:?}", client);
        }
        for client in &bench.access.done {
            prop_assert_eq!(ended.get(client), Some(&50), "{:?}", client);
        }
    }
}

fn bench(balancer: &str, alternatives: &str, client: &str) -> Bench {
    let clients = format!(r#"[{{"name": "sdn", "nodes": ["c-control-plane-0"]{client}}}]"#);
    Bench::new(scenario_with(balancer, alternatives, &clients), 1, Stepping::FastForward)
}

#[test]
fn requests_beyond_qps_and_burst_wait_in_the_client() {
    let mut bench = bench("", "null", r#", "rate": "1000/s", "requests": 100, "qps": "5/s", "burst": 10"#);
    bench.run(Duration::from_secs(60));
    let times: Vec<Time> = over(&bench.records).map(|(at, ..)| at).collect();
    assert_eq!(times.len(), 100);
    let at_once = times.iter().filter(|time| **time < at(0) + Duration::from_millis(150)).count();
    assert_eq!(at_once, 10);
    // 90 more at 5/s.
    let last = times[99].since(at(0)).as_secs_f64();
    assert!((17.9..18.2).contains(&last), "{last} s");
}

/// A connection that its server has closed in order still carries what is queued at the balancer, and nothing of what was sent later waits for
/// it but over the same connection; what times out there holds nobody up for longer than its own response would have.
#[test]
fn responses_of_two_connections_overtake_each_other() {
    let client = r#", "rate": "30/s", "response": "20kB", "timeout": "3s""#;
    for seed in 0..20 {
        let clients = format!(r#"[{{"name": "sdn", "runs_on": "workers"{client}}}]"#);
        let mut scenario = scenario_with(r#", "bandwidth": "400kB/s""#, "null", &clients);
        scenario.kube.clusters[ID].access.as_mut().expect("it has one").goaway_chance = 0.01;
        let mut bench = Bench::new(scenario, seed, Stepping::FastForward);
        // The bench sees to it that nothing is due in the past.
        bench.run(Duration::from_secs(200));
        assert!(count(&bench.records, RequestResult::TimedOut) > 1_000, "seed {seed}");
        assert!(over(&bench.records).all(|(.., after)| after <= Duration::from_secs(3)), "seed {seed}");
    }
}

/// What nobody waits for any more leaves the queue with all else once the bandwidth is back.
#[test]
fn what_has_timed_out_holds_nobody_up_once_the_bandwidth_is_back() {
    let mut bench = bench("", "null", r#", "rate": "30/s", "response": "20kB", "timeout": "3s""#);
    let throttled = Fault::LbThrottled(LbThrottled { balancer: BalancerId(0), bytes_per_s: 50_000 });
    bench.fault(FaultId(1), &throttled, true);
    bench.run(Duration::from_secs(100));
    assert!(count(&bench.records, RequestResult::TimedOut) > 2_000);
    bench.fault(FaultId(1), &throttled, false);
    bench.run(Duration::from_secs(1));
    let before = bench.records.len();
    bench.run(Duration::from_secs(20));
    let later = &bench.records[before..];
    assert!(count(later, RequestResult::Answered) > 500 && count(later, RequestResult::TimedOut) == 0, "{:?}", later.len());
}

#[test]
fn requests_of_a_dead_balancer_are_lost_with_the_connection_or_wait_for_the_next_alternative() {
    let requests = |alternatives: &str, client: &str| {
        let mut bench = bench(r#", "zones": ["a"]"#, alternatives, client);
        bench.run(Duration::from_secs(10));
        bench.fault(FaultId(1), &Fault::LbDown(LbDown(BalancerId(0))), true);
        bench.run(Duration::from_secs(600));
        bench
    };
    let plain = requests("null", r#", "rate": "2/s""#);
    let lost = over(&plain.records).find(|(_, _, result, _)| *result == RequestResult::ConnectionLost);
    // Requests on the silent connection end with it; those after them with the dial.
    assert!(lost.is_some_and(|(time, ..)| time >= at(44) && time <= at(55)), "{lost:?}");
    assert!(count(&plain.records, RequestResult::ConnectionLost) > 1_000);
    let impatient = requests("null", r#", "rate": "2/s", "timeout": "5s""#);
    assert!(count(&impatient.records, RequestResult::TimedOut) > 1_000);
    let warm = requests("\"text\"", r#", "rate": "2/s""#);
    assert_eq!(count(&warm.records, RequestResult::Answered), over(&warm.records).count());
}

#[test]
fn silent_alternatives_cost_a_silent_connection_and_a_dial_for_each_further_one() {
    for (silent, timeout, most) in [(1, "", 45.1), (2, "", 75.1), (1, r#", "timeout": "9s""#, 9.1)] {
        let clients = format!(r#"[{{"name": "sdn", "runs_on": "workers", "rate": "5/s"{timeout}}}]"#);
        for seed in 0..20 {
            let mut bench = Bench::new(scenario_with("", "\"text\"", &clients), seed, Stepping::FastForward);
            bench.run(Duration::from_secs(100));
            let client = *bench.access.requests.keys().next().expect("they run");
            let ConnectionState::Open { server, .. } = bench.access.connection_state(client) else {
                panic!("{client:?} is warm")
            };
            for key in (0..silent).map(|k| (server + k) % 3) {
                let host = Bench::server(&bench.scenario, key).host;
                bench.net.partition_host(host, Direction::Both, true);
                // Nor does etcd answer it, so that it is not listed any more.
                bench.view.servers.iter_mut().filter(|it| it.key == key).for_each(|it| (it.answers, it.readyz) = (false, false));
            }
            bench.update();
            bench.run(Duration::from_secs(300));
            let own = over(&bench.records).filter(|(time, other, ..)| *other == client && *time > at(100));
            let longest = own.map(|(_, _, _, after)| after).max().expect("it goes on").as_secs_f64();
            assert!((5.0..most).contains(&longest), "{silent} silent, seed {seed}: {longest} s");
            assert!(matches!(bench.access.connection_state(client), ConnectionState::Open { .. }));
        }
    }
}

#[test]
fn throttled_balancer_makes_kubelets_late_and_a_repaired_one_no_longer() {
    let client = r#", "rate": "10/s", "response": "100kB""#;
    let mut bench = bench(r#", "zones": ["a"]"#, "null", client);
    bench.run(Duration::from_secs(10));
    let throttled = Fault::LbThrottled(LbThrottled { balancer: BalancerId(0), bytes_per_s: 500_000 });
    bench.fault(FaultId(1), &throttled, true);
    // Twice as much comes as passes: a response that leaves after t has waited for half of it, and one that joins then waits for t.
    bench.run(Duration::from_secs(40));
    let late = |bench: &Bench| {
        let is_late = |state| matches!(state, ConnectionState::Late { .. });
        bench.clients().filter(|(_, client)| is_late(client.connection_state())).count()
    };
    assert_eq!(late(&bench), 6);
    let zone = Vantage::Zone(ZoneId(0));
    assert!(super::new_connections::served(&bench, zone) < 1e-9, "new clients wait as long");
    let first = bench
        .records
        .iter()
        .find(|(_, record)| matches!(record, AccessRecord::Client { state: ConnectionState::Late { .. }, .. }));
    let after = first.map(|(time, _)| time.since(at(10)).as_secs_f64()).expect("they are late");
    assert!((9.0..13.0).contains(&after), "{after} s");
    bench.fault(FaultId(1), &throttled, false);
    bench.run(Duration::from_secs(2));
    assert_eq!(late(&bench), 0);
    assert!(over(&bench.records).all(|(_, _, result, _)| result == RequestResult::Answered));
}

#[test]
fn process_that_starts_learns_of_alternatives_with_its_first_response() {
    let mut bench = bench("", "\"text\"", r#", "rate": "1/s", "start": "10s""#);
    bench.run(Duration::from_secs(60));
    let opened = bench.records.iter().filter_map(|(time, record)| match record {
        AccessRecord::Client { client: ApiClient::Further(..), state: ConnectionState::Open { through, .. } } => {
            Some((*time, *through))
        }
        _ => None,
    });
    let [(first, true), (second, false)] = opened.collect::<Vec<_>>()[..] else {
        panic!("first the balancer, then its own server")
    };
    let answered = over(&bench.records).next().expect("they are answered").0;
    assert!(first < answered && answered < second, "{first:?}, {answered:?}, {second:?}");
}

#[test]
fn process_outside_the_cluster_network_finds_alternatives_silent() {
    let fared = |inside: bool| {
        let client = format!(r#", "rate": "1/s", "timeout": "60s", "start": "10s", "in_cluster_network": {inside}"#);
        let mut bench = bench("", "\"text\"", &client);
        bench.run(Duration::from_secs(120));
        over(&bench.records).map(|(_, _, _, after)| after).max().expect("some are over")
    };
    assert!(fared(true) < Duration::from_millis(100));
    // It hears of alternatives with its first response, and each takes a dial of 30 s.
    assert!(fared(false) > Duration::from_secs(29), "{:?}", fared(false));
}

/// From outside the cluster network, by the prototype: a request that finds no alternative blocked goes to one, waits in vain, and blocks
/// them all for 20 s; only those made within that time go to the balancer. (The bounds are four standard deviations around what a loop over
/// `RoundTrip` alone finds.)
#[test]
fn prototype_chooses_with_each_request_and_what_an_alternative_does_not_answer_times_out() {
    let clients = [("often", "1/s"), ("rarely", "12/h"), ("by-the-minute", "1/min")].map(|(name, rate)| {
        format!(r#"{{"name": "{name}", "rate": "{rate}", "timeout": "5s", "runs_on": "workers", "in_cluster_network": false}}"#)
    });
    let mut bench = Bench::new(scenario_with("", "\"code\"", &format!("[{}]", clients.join(","))), 1, Stepping::FastForward);
    bench.run(Duration::from_secs(8 * 3_600));
    assert_eq!(count(&bench.records, RequestResult::ConnectionLost), 0);
    for (id, range) in [(0, 0.21..0.25), (1, 0.88..0.99), (2, 0.71..0.81)] {
        let own = || over(&bench.records).filter(|(_, client, ..)| matches!(client, ApiClient::Further(of, _) if of.0 == id));
        let failed = own().filter(|(_, _, result, _)| *result != RequestResult::Answered);
        let share = failed.count() as f64 / own().count() as f64;
        assert!(range.contains(&share), "client {id}: {share}");
    }
}

/// The prototype has blocked all alternatives for 20 s when a request timed out, and its original host is down, too.
#[test]
fn request_leaves_a_silent_original_host_once_an_alternative_is_free() {
    let clients = r#"[{"name": "sdn", "rate": "10/s", "timeout": "4s", "runs_on": "workers"}]"#;
    for seed in 0..10 {
        let mut bench = Bench::new(scenario_with("", "\"code\"", clients), seed, Stepping::FastForward);
        bench.run(Duration::from_secs(100));
        let client = *bench.access.requests.keys().next().expect("they run");
        let Some((server, false)) = bench.access.connection_state(client).other_end() else { panic!("{client:?} is warm") };
        bench.net.partition_host(Bench::server(&bench.scenario, server).host, Direction::Both, true);
        bench.fault(FaultId(1), &Fault::LbDown(LbDown(BalancerId(0))), true);
        bench.run(Duration::from_secs(60));
        let answered = over(&bench.records).filter(|(_, id, result, _)| *id == client && *result == RequestResult::Answered);
        let times: Vec<Time> = answered.map(|(time, ..)| time).collect();
        let longest = times.windows(2).map(|pair| pair[1].since(pair[0])).max().expect("some").as_secs_f64();
        eprintln!(
            "seed {seed} {longest} {:?}",
            times.windows(2).filter(|pair| pair[1].since(pair[0]).as_secs_f64() > 20.0).collect::<Vec<_>>()
        );
        assert!((24.0..26.0).contains(&longest), "seed {seed}: {longest} s");
    }
}

#[test]
fn process_that_asks_rarely_asks_the_original_host_once_its_list_is_old() {
    // Two of three gaps are longer than the shutdown delay of 70 s. After the first of these the client knows nothing but the host that is down.
    let clients = r#"[{"name": "rare", "rate": "20/h", "timeout": "10s", "runs_on": "workers"}]"#;
    for (alternatives, range) in [("\"text\"", 0.99..1.01), ("\"code\"", 0.0..0.001)] {
        let mut bench = Bench::new(scenario_with("", alternatives, clients), 1, Stepping::FastForward);
        bench.run(Duration::from_secs(100));
        bench.fault(FaultId(1), &Fault::LbDown(LbDown(BalancerId(0))), true);
        let from = bench.records.len();
        bench.run(Duration::from_secs(20 * 3_600));
        let all = over(&bench.records[from..]).count();
        assert!(all > 1_000, "{all}");
        let failed = 1.0 - count(&bench.records[from..], RequestResult::Answered) as f64 / all as f64;
        assert!(range.contains(&failed), "{alternatives}: {failed}");
    }
}

#[test]
fn timeout_of_a_request_begins_when_the_limit_of_the_rate_lets_it_go() {
    let clients =
        r#"[{"name": "sdn", "rate": "4/s", "qps": "1/s", "burst": 1, "requests": 300, "timeout": "2s", "runs_on": "workers"}]"#;
    let mut bench = Bench::new(scenario_with("", "null", clients), 1, Stepping::FastForward);
    bench.run(Duration::from_secs(600));
    assert_eq!(count(&bench.records, RequestResult::Answered), 3 * 300);
    let longest = over(&bench.records).map(|(.., after)| after).max().expect("some");
    assert!(longest > Duration::from_secs(200), "the last of them has waited for its turn: {longest:?}");
}
