//! Means over many seeds beside what queueing theory and arithmetic say: each lies in the interval that 99 % of such means lie in.

use crate::balancer::detection::{HealthCheck, TargetChange};
use crate::balancer::health::{Health, Thresholds};
use crate::record::{AccessRecord, ConnectionState, RequestResult};
use crate::testing::{Bench, at, scenario, scenario_with};
use zonefall_kernel::periodic::Stepping;
use zonefall_kernel::time::Duration;
use zonefall_kube::ctx::ApiClient;
use zonefall_network::Network;
use zonefall_scenario::Direction;

const SEEDS: u64 = 200;

/// So many standard errors hold 99 % of normally distributed means.
const WIDTH: f64 = 2.576;

/// Holds the mean of a figure, over all seeds, against its expectation.
fn holds(what: &str, expected: f64, figure: impl Fn(u64) -> f64) {
    let all: Vec<f64> = (0..SEEDS).map(figure).collect();
    let mean = all.iter().sum::<f64>() / SEEDS as f64;
    let variance = all.iter().map(|one| (one - mean) * (one - mean)).sum::<f64>() / (SEEDS - 1) as f64;
    let error = (variance / SEEDS as f64).sqrt();
    println!("{what}: {mean:.6} expected {expected:.6}, standard error {error:.6}");
    assert!(
        (mean - expected).abs() <= WIDTH * error,
        "{what}: {mean} is {:.1} standard errors from {expected}",
        (mean - expected) / error
    );
}

#[test]
fn responses_of_a_throttled_balancer_wait_as_in_an_m_g_1_queue() {
    for (sizes, second_moment, load) in [("constant", 1.0, 0.5), ("exponential", 2.0, 0.5), ("exponential", 2.0, 0.7)] {
        // 10,000 responses of 10 kB in the mean, 50 a second.
        let (rate, requests) = (50.0, 10_000_u64);
        let service = load / rate;
        let bandwidth = (10_000.0 / service) as u64;
        let clients = format!(
            r#"[{{"name": "sdn", "nodes": ["c-control-plane-0"], "rate": "50/s", "requests": {requests}, "response": "10kB", "response_sizes": "{sizes}"}}]"#
        );
        let scenario = scenario_with(&format!(r#", "zones": ["a"], "bandwidth": "{bandwidth}B/s""#), "null", &clients);
        // Pollaczek and Khinchine.
        let waits = rate * second_moment * service * service / (2.0 * (1.0 - load));
        holds(&format!("{sizes}, load {load}: seconds beside the way"), waits + service, |seed| {
            let mut bench = Bench::new(scenario.clone(), seed, Stepping::FastForward);
            bench.run(Duration::from_secs(400));
            let way = way(&bench);
            let (mut sum, mut count) = (0.0, 0);
            for (_, record) in &bench.records {
                if let AccessRecord::Request { result: RequestResult::Answered, after, .. } = record {
                    sum += after.as_secs_f64() - way;
                    count += 1;
                }
            }
            assert_eq!(count, requests);
            sum / count as f64
        });
    }
}

#[test]
fn balancer_that_checks_tcp_only_sends_one_client_in_three_to_the_server_that_is_not_ready() {
    let clients = r#"[{"name": "sdn", "rate": "10/s"}]"#;
    let scenario = scenario_with(r#", "check": {"kind": "tcp"}"#, "null", clients);
    holds("share of requests that fail", 1.0 / 3.0, |seed| {
        let mut bench = Bench::new(scenario.clone(), seed, Stepping::FastForward);
        bench.view.servers.iter_mut().filter(|server| server.key == 1).for_each(|server| {
            (server.answers, server.readyz) = (false, false);
        });
        bench.update();
        bench.run(Duration::from_secs(180));
        let results: Vec<RequestResult> = bench
            .records
            .iter()
            .filter_map(|(_, record)| match record {
                AccessRecord::Request { result, .. } => Some(*result),
                _ => None,
            })
            .collect();
        assert!(results.len() >= 10_000, "{} requests", results.len());
        results.iter().filter(|result| **result == RequestResult::Error).count() as f64 / results.len() as f64
    });
}

#[test]
fn time_to_detect_a_change_is_that_of_the_checks() {
    let (interval, timeout, thresholds) = (10, 4, Thresholds { rise: 2, fall: 3, first_rise: 1 });
    let check = HealthCheck { interval: Duration::from_secs(interval), timeout: Duration::from_secs(timeout), thresholds };
    let scenario = scenario(r#", "zones": ["a"], "check": {"interval": "10s", "timeout": "4s", "rise": 2, "fall": 3}"#, "null");
    for change in [TargetChange::Refuses, TargetChange::FallsSilent, TargetChange::Answers] {
        // The next check comes after half an interval in the mean.
        let expected = check.detection_time(Duration::from_secs(interval) / 2, change).as_secs_f64();
        holds(&format!("seconds to detect: {change:?}"), expected, |seed| {
            let mut bench = Bench::new(scenario.clone(), seed, Stepping::FastForward);
            let host = Bench::server(&bench.scenario, 1).host;
            bench.run(Duration::from_secs(100));
            match change {
                TargetChange::FallsSilent => bench.net.partition_host(host, Direction::Both, true),
                TargetChange::Refuses | TargetChange::Answers => drop(bench.view.servers.remove(1)),
            }
            bench.update();
            let (from, health) = if change == TargetChange::Answers {
                bench.run(Duration::from_secs(100));
                let back = Bench::server(&bench.scenario, 1);
                bench.view.servers.insert(1, back);
                bench.update();
                (at(200), Health::Healthy)
            } else {
                (at(100), Health::Unhealthy)
            };
            bench.run(Duration::from_secs(100));
            let found = bench.records.iter().find(|(time, record)| {
                *time > from && matches!(record, AccessRecord::Target { target: 1, health: other, .. } if *other == health)
            });
            found.expect("it is detected").0.since(from).as_secs_f64()
        });
    }
}

/// Seconds of the way from its only further client, on the first host, to its server and back.
fn way(bench: &Bench) -> f64 {
    let open = bench.records.iter().find_map(|(_, record)| match record {
        AccessRecord::Client { client: ApiClient::Further(..), state: ConnectionState::Open { server, .. } } => Some(*server),
        _ => None,
    });
    let [from, to] = [0, open.expect("it connects")].map(|key| Bench::server(&bench.scenario, key).host);
    let balancer = bench.access.balancers()[0].id();
    let node = Network::hosts_of_balancer(balancer, &bench.scenario)[0];
    let hops = bench.scenario.load_balancers[balancer].hop_latency * 2;
    (bench.net.round_trip(from, node) + bench.net.round_trip(node, to) + hops).as_secs_f64()
}
