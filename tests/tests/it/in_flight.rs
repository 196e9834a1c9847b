//! API servers whose etcd answers nobody fill up with requests that wait, and turn away what else comes.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use serde_json::json;
use zonefall_core::kernel::time::{Duration, Time};
use zonefall_core::network::ledger::Class;
use zonefall_core::record::{ClientRecord, Record, RequestResult};
use zonefall_core::report::Consistency;
use zonefall_core::run::run;
use zonefall_core::scenario::{Direction, Fault, FaultTarget, NodePartition, Op, PlannedFault, Scenario};
use zonefall_core::sim::{Options, Simulation};

use crate::flows::in_use;

/// Places of each API server for what changes nothing and what does.
const LIMITS: [u64; 2] = [60, 20];
/// Reads, and writes, that each of the three API servers is asked in a second.
const RATE: u64 = 10;
/// etcd gives up on a request after this (`etcd[].options.request_timeout`).
const TIMEOUT: Duration = Duration::from_secs(7);
/// From when to when etcd has no quorum.
const OUTAGE: [Duration; 2] = [Duration::from_secs(60), Duration::from_secs(1_260)];

/// Two of three members are dead for 20 min. Nobody asks but users, and the API servers' readiness is looked at too seldom to matter.
fn without_quorum() -> Scenario {
    in_use("node-failure-zone", |file| {
        file["traffic"] = json!("requests");
        file["duration"] = json!("30m");
        let kill = |member: &str| {
            let member = format!("shoot--garden--shop/etcd-main/{member}");
            json!({"at": "1m", "for": "20m", "kind": "process_kill", "member": member})
        };
        file["faults"] = json!([kill("etcd-main-0"), kill("etcd-main-1")]);
        file["seeds"][0]["timers"] = json!({"readiness_period": "1h"});
        file["shoots"][0]["use"] = json!({
            "idle": false,
            "inflight": {"reads": LIMITS[0], "writes": LIMITS[1]},
            "requests": [
                {"name": "gets", "verb": "get", "rate": "30/s"},
                {"name": "updates", "verb": "update", "rate": "30/s"},
                {"name": "cached", "verb": "get", "rate": "1000/s", "cached": true},
            ],
        });
    })
}

/// A request that ended: when it began, how long it took, and how.
type Ended = (Time, Duration, RequestResult);

/// What each API server was asked, by whether it is to change something, in the order in which it was.
fn asked(scenario: &Arc<Scenario>, seed: u64) -> BTreeMap<(u32, bool), Vec<Ended>> {
    let mut asked: BTreeMap<_, Vec<Ended>> = BTreeMap::new();
    let mut simulation = Simulation::new(Arc::clone(scenario), seed, Options::default());
    simulation.run_until(Time::ZERO + scenario.duration, &mut |at, record| {
        let Record::Client(ClientRecord::Request { client, op, latency, result, .. }) = record else { return };
        let part = scenario.client(*client).server.expect("nobody else asks");
        // The seed's API is asked, too, while its etcd is disturbed.
        if *op != Op::Watch && !part.while_disturbed {
            let began = Time::ZERO + at.since(Time::ZERO + *latency);
            asked.entry((part.server, matches!(op, Op::Txn { .. }))).or_default().push((began, *latency, *result));
        }
    });
    for own in asked.values_mut() {
        own.sort_by_key(|(began, ..)| *began);
    }
    asked
}

/// The share of requests that find `places` taken by an offered `load`, the requests that would be in flight if all were let in: Erlang's
/// loss formula. It holds whatever the time that each takes is like.
fn erlang(places: u64, load: f64) -> f64 {
    (1..=places).fold(1.0, |lost, k| load * lost / (k as f64 + load * lost))
}

#[test]
fn a_server_whose_etcd_has_no_quorum_fills_up() {
    let scenario = Arc::new(without_quorum());
    let [from, to] = OUTAGE.map(|at| Time::ZERO + at);
    for seed in 1..=3 {
        let asked = asked(&scenario, seed);
        assert_eq!(asked.len(), 6, "reads and writes of three servers");
        for ((server, writes), all) in asked {
            let what = format!("seed {seed}: server {server}, writes: {writes}");
            let limit = LIMITS[usize::from(writes)] as usize;
            // The server's first requests without a quorum take its places, in limit / rate seconds; none is free until the first is given up.
            let since: Vec<&Ended> = all.iter().filter(|(began, ..)| (from..to).contains(began)).collect();
            let full = since[limit - 1].0.since(from).as_secs_f64();
            let expected = limit as f64 / RATE as f64;
            let spread = 4.0 * (limit as f64).sqrt() / RATE as f64;
            assert!((full - expected).abs() < spread, "{what}: full after {full} s, not {expected} s");
            assert!(
                since[..limit].iter().all(|(_, took, result)| (*took, *result) == (TIMEOUT, RequestResult::TimedOut)),
                "{what}"
            );
            let freed = since[0].0 + TIMEOUT;
            let meanwhile: Vec<_> = since[limit..].iter().take_while(|(began, ..)| *began < freed).collect();
            assert!(!meanwhile.is_empty(), "{what}");
            assert!(
                meanwhile.iter().all(|(_, took, result)| (*took, *result) == (Duration::ZERO, RequestResult::Rejected)),
                "{what}"
            );
            // From then on as many are turned away as Erlang says.
            let settled: Vec<_> = since.iter().filter(|(began, ..)| *began >= from + TIMEOUT * 10).collect();
            let rejected = settled.iter().filter(|(.., result)| *result == RequestResult::Rejected).count();
            let (share, law) =
                (rejected as f64 / settled.len() as f64, erlang(limit as u64, RATE as f64 * TIMEOUT.as_secs_f64()));
            assert!((share - law).abs() < 0.02, "{what}: {share} of {} are turned away, not {law}", settled.len());
            // At no time are more let in than there are places.
            let let_in: Vec<Time> =
                since.iter().filter(|(.., result)| *result != RequestResult::Rejected).map(|own| own.0).collect();
            assert!(let_in.windows(limit + 1).all(|own| own[limit].since(own[0]) >= TIMEOUT), "{what}");
            // Before, and when those that waited are gone, nothing is turned away.
            let quiet = |began: Time| began < from || began >= to + TIMEOUT * 4;
            let rest: Vec<_> = all.iter().filter(|(began, ..)| quiet(*began)).collect();
            assert!(rest.len() > 3_000 && rest.iter().all(|(.., result)| *result != RequestResult::Rejected), "{what}");
        }
    }
}

/// A node with a member of etcd is cut off: the connections that a server has with it hear nothing, and requests that take them wait,
/// until the keep-alive says so (30 s and 10 s). The others go on: two of three, by what is drawn for each of 66 resources.
#[test]
fn a_server_keeps_clients_waiting_on_connections_to_a_member_out_of_reach() {
    const SEEDS: u64 = 8;
    let mut scenario = without_quorum();
    let node = scenario.node("node-a1").expect("it has a member");
    let cut = Fault::NodePartition(NodePartition { node: FaultTarget::Named(node), direction: Direction::Both });
    scenario.faults = vec![PlannedFault { fault: cut, ..scenario.faults[0].clone() }];
    scenario.duration = Duration::from_secs(120);
    let scenario = Arc::new(scenario);
    let mut shares = Vec::new();
    for seed in 1..=SEEDS {
        let mut cut_off = BTreeSet::new();
        for ((server, writes), all) in asked(&scenario, seed) {
            // An election is over, and what waited for it; no connection has been given up.
            let window = Time::ZERO + Duration::from_secs(72)..Time::ZERO + Duration::from_secs(92);
            // Those that wait take places, so that others are turned away.
            let let_in = |result: &RequestResult| *result != RequestResult::Rejected;
            let within: Vec<_> = all.iter().filter(|(began, _, result)| window.contains(began) && let_in(result)).collect();
            let done = within.iter().filter(|(.., result)| *result == RequestResult::Ok).count();
            let share = done as f64 / within.len() as f64;
            let what = format!("seed {seed}: server {server}, writes: {writes}: {done} of {}", within.len());
            if done == 0 {
                cut_off.insert(server);
                continue;
            }
            // 66 resources and some 190 requests: four standard deviations of both.
            assert!((share - 2.0 / 3.0).abs() < 0.27, "{what}");
            shares.push(share);
        }
        assert!(cut_off.len() <= 1, "seed {seed}: only one server can be on the node that is cut off, not {cut_off:?}");
    }
    let mean = shares.iter().sum::<f64>() / shares.len() as f64;
    assert!(shares.len() >= 3 * SEEDS as usize && (mean - 2.0 / 3.0).abs() < 0.06, "{mean}");
}

/// The report counts what was turned away, and etcd has never heard of it.
#[test]
fn what_is_turned_away_is_counted_and_never_sent() {
    let scenario = Arc::new(without_quorum());
    let report = run(&scenario, 1, Options::default(), &mut |_, _| {}, &mut |_| {});
    assert_eq!(report.violations, []);
    let etcd = &report.etcd["shoot--garden--shop/etcd-main"];
    let rows: u64 = etcd.latency.iter().map(|row| row.rejected).sum();
    assert_eq!(rows, etcd.requests.rejected);
    let requests = &etcd.requests;
    let sent: u64 = report.messages.iter().filter(|row| row.class == Class::EtcdRequest).map(|row| row.count).sum();
    let watched: u64 = etcd.latency.iter().filter(|row| row.consistency == Consistency::Serializable).map(|row| row.count).sum();
    let ended = requests.ok - watched + requests.timed_out + requests.failed;
    assert!(requests.rejected > 10_000 && sent.abs_diff(ended) < 10, "{requests:?}, {sent} sent");
}
