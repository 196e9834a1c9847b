//! Latency of puts while packets are lost between the members.

use std::sync::Arc;

use super::{Outcome, Row, files};
use zonefall_core::client::record::{ClientRecord, RequestResult};
use zonefall_core::kernel::rng::{Purpose, Stream};
use zonefall_core::kernel::time::{Duration, Time};
use zonefall_core::record::Record;
use zonefall_core::sim::{Options, Simulation};
use zonefall_tests::laboratory::{SetUp, scenario};

/// Runs of a row, one for each seed.
const SEEDS: u64 = 5;

/// What an HTTP client beside a member waits for besides etcd: share of its requests, and ms. Fitted: the mean of the rows without loss (p50
/// 3.46 ms, p90 5.35, p99 12.4, p99.9 56, most 78), each less 0.7 ms, which the laboratory's etcd takes.
const BESIDE: [(f64, f64); 6] = [(0.0, 1.8), (0.5, 2.7), (0.9, 4.6), (0.99, 11.7), (0.999, 55.0), (1.0, 77.0)];

/// The wait that this share of requests does not exceed, ms.
pub(super) fn beside(share: f64) -> f64 {
    let upper = BESIDE.partition_point(|(below, _)| *below <= share).min(BESIDE.len() - 1);
    let [(from, least), (to, most)] = [BESIDE[upper - 1], BESIDE[upper]];
    least + (most - least) * (share - from) / (to - from)
}

/// Of sorted values.
pub(super) fn quantile(sample: &[f64], share: f64) -> f64 {
    sample[((sample.len() as f64 * share) as usize).min(sample.len() - 1)]
}

/// Sorted latencies of puts, ms.
fn simulate(set_up: &SetUp) -> Vec<f64> {
    const WARM_UP: Time = Time::from_nanos(2_000_000_000);
    let rate = set_up.rate_per_s.expect("a load has a rate");
    let lab = Arc::new(scenario(set_up, Duration::from_secs(if rate < 50.0 { 102 } else { 62 })));
    let mut latencies = Vec::new();
    for seed in 1..=SEEDS {
        let draws = Stream::new(seed, Purpose::Arrival, 7);
        Simulation::new(Arc::clone(&lab), seed, Options::default()).run_until(Time::ZERO + lab.duration, &mut |now, record| {
            if let Record::Client(ClientRecord::Request { latency, result, .. }) = record
                && now > WARM_UP
            {
                assert_eq!(*result, RequestResult::Ok, "seed {seed}, {set_up:?}");
                latencies.push(latency.as_secs_f64() * 1e3 + beside(draws.draw(latencies.len() as u64).unit()));
            }
        });
    }
    latencies.sort_by(f64::total_cmp);
    latencies
}

fn outcome(row: &Row, usual: [f64; 2]) -> Outcome {
    let simulated = simulate(&row.set_up);
    let (mut cells, mut failures) = (Vec::new(), Vec::new());
    // The median is compared above that without loss, the tail as it is.
    for (name, share, [usual, simulated_usual], factor, slack) in
        [("p50", 0.5, usual, 1.25, 1.0), ("p90", 0.9, [0.0; 2], 2.0, 5.0), ("p99", 0.99, [0.0; 2], 3.0, 20.0)]
    {
        let (measured, simulated) = (row.values("latency_ms").expect("a row under loss")[name], quantile(&simulated, share));
        cells.push(format!("{measured} / {simulated:.1}"));
        let (measured, simulated) = (measured - usual, simulated - simulated_usual);
        let near = if factor < 2.0 {
            (simulated - measured).abs() <= (factor - 1.0) * measured
        } else {
            simulated <= measured * factor && measured <= simulated * factor
        };
        if !near && (simulated - measured).abs() > slack {
            failures.push(name.to_owned());
        }
    }
    let what = format!("{}/s, {} % lost", row.set_up.rate_per_s.unwrap_or(0.0), row.set_up.loss * 100.0);
    Outcome { what, cells, failures }
}

/// Each row of each file.
pub(super) fn outcomes() -> Vec<Outcome> {
    let files = files();
    let rows: Vec<&Row> = files.values().flatten().filter(|row| row.values("latency_ms").is_some()).collect();
    let usual = |of: &Row| {
        let without = rows.iter().find(|row| row.set_up.loss == 0.0 && row.set_up.rate_per_s == of.set_up.rate_per_s);
        let without = without.expect("a row of the same rate without loss");
        [without.values("latency_ms").expect("a row under loss")["p50"], quantile(&simulate(&without.set_up), 0.5)]
    };
    rows.iter().map(|row| outcome(row, usual(row))).collect()
}
