//! Latency of puts while packets are lost between the members.

use std::sync::Arc;

use super::{Figure, Outcome, Place, Row, files, judged};
use zonefall_core::client::record::{ClientRecord, RequestResult};
use zonefall_core::kernel::rng::{Purpose, Stream};
use zonefall_core::kernel::time::{Duration, Time};
use zonefall_core::record::{EtcdRecord, Record};
use zonefall_core::sim::{Options, Simulation};
use zonefall_tests::laboratory::{SetUp, scenario};

/// Runs of a row, one for each seed.
const SEEDS: u64 = 5;

/// The README names no bound for failed puts: their shares may differ by so much.
const MOST_FAILED: f64 = 0.01;

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

/// What the runs of a row show.
struct Runs {
    /// Sorted latencies of puts that were answered, ms.
    latencies: Vec<f64>,
    /// Share of puts that failed.
    failed: f64,
    /// Share of runs in which another member led.
    leader_changed: f64,
}

fn simulate(set_up: &SetUp) -> Runs {
    const WARM_UP: Time = Time::from_nanos(2_000_000_000);
    let rate = set_up.rate_per_s.expect("a load has a rate");
    let lab = Arc::new(scenario(set_up, Duration::from_secs(if rate < 50.0 { 102 } else { 62 })));
    let (mut latencies, mut failed, mut changed) = (Vec::new(), 0_usize, 0);
    for seed in 1..=SEEDS {
        let draws = Stream::new(seed, Purpose::Arrival, 7);
        let mut elected = false;
        Simulation::new(Arc::clone(&lab), seed, Options::default()).run_until(Time::ZERO + lab.duration, &mut |now, record| {
            elected |= now > WARM_UP && matches!(record, Record::Etcd(EtcdRecord::Elected { .. }));
            match record {
                Record::Client(ClientRecord::Request { result: RequestResult::Ok, latency, .. }) if now > WARM_UP => {
                    latencies.push(latency.as_secs_f64() * 1e3 + beside(draws.draw(latencies.len() as u64).unit()));
                }
                Record::Client(ClientRecord::Request { .. }) if now > WARM_UP => failed += 1,
                _ => {}
            }
        });
        changed += u64::from(elected);
    }
    latencies.sort_by(f64::total_cmp);
    let failed = failed as f64 / (failed + latencies.len()).max(1) as f64;
    Runs { latencies, failed, leader_changed: changed as f64 / SEEDS as f64 }
}

/// Puts that failed, and leaders that changed, where the row says how it was.
fn check_events(row: &Row, runs: &Runs, failures: &mut Vec<(&'static str, String)>) {
    let measured = |figure: &str| if let Some(Figure::Value(value)) = row.measured.get(figure) { Some(*value) } else { None };
    let measured_failed = measured("errors").map_or(0.0, |errors| errors / measured("requests").unwrap_or(1.0).max(1.0));
    if (runs.failed - measured_failed).abs() > MOST_FAILED {
        failures.push(("errors", format!("{:.1} % measured, {:.1} % simulated", measured_failed * 100.0, runs.failed * 100.0)));
    }
    if let Some(Figure::Flag(changed)) = row.measured.get("leader_changed")
        && *changed != (runs.leader_changed > 0.5)
    {
        failures.push(("leader", format!("another member led in {:.0} % of the runs", runs.leader_changed * 100.0)));
    }
}

/// `usual`: the median without loss at this rate, measured and simulated; `None`: no row says it, and medians are compared as they are.
fn outcome(row: &Row, usual: Option<[f64; 2]>) -> Outcome {
    let runs = simulate(&row.set_up);
    let (mut cells, mut failures) = (Vec::new(), Vec::new());
    // The median is compared above that without loss, the tail as it is.
    for (name, share, usual, factor, slack) in
        [("p50", 0.5, usual, 1.25, 1.0), ("p90", 0.9, None, 2.0, 5.0), ("p99", 0.99, None, 3.0, 20.0)]
    {
        let Some(measured) = row.values("latency_ms").and_then(|values| values.get(name)).copied() else {
            cells.push(String::new());
            continue;
        };
        if runs.latencies.is_empty() {
            cells.push(format!("{measured} / none answered"));
            failures.push((name, "no put was answered".to_owned()));
            continue;
        }
        let simulated = quantile(&runs.latencies, share);
        cells.push(format!("{measured} / {simulated:.1}"));
        let [usual, simulated_usual] = usual.unwrap_or_default();
        let (measured, simulated) = (measured - usual, simulated - simulated_usual);
        let near = if factor < 2.0 {
            (simulated - measured).abs() <= (factor - 1.0) * measured
        } else {
            simulated <= measured * factor && measured <= simulated * factor
        };
        if !near && (simulated - measured).abs() > slack {
            failures.push((name, String::new()));
        }
    }
    check_events(row, &runs, &mut failures);
    let what = format!("{}/s, {} % lost", row.set_up.rate_per_s.unwrap_or(0.0), row.set_up.loss * 100.0);
    Outcome { what, cells, failures }
}

/// The median without loss at a row's rate, measured and simulated, of a row in any file.
fn usual(of: &Row, all: &[Row]) -> Option<[f64; 2]> {
    let is_like = |row: &&Row| {
        let key = |row: &Row| (row.set_up.rate_per_s, row.set_up.members, row.set_up.value_bytes, row.set_up.tls);
        row.set_up.loss == 0.0 && key(row) == key(of)
    };
    let without = all.iter().filter(|row| row.values("latency_ms").is_some()).find(is_like)?;
    let measured = *without.values("latency_ms")?.get("p50")?;
    let simulated = simulate(&without.set_up).latencies;
    (!simulated.is_empty()).then(|| [measured, quantile(&simulated, 0.5)])
}

/// Each row of each file.
pub(super) fn outcomes() -> Vec<(Place, Outcome)> {
    let all: Vec<Row> = files().into_values().flatten().collect();
    judged(|row| row.values("latency_ms").is_some(), |row| outcome(row, usual(row, &all)))
}

/// A row of a rate without a row without loss, and with failed puts, is judged like any other.
#[test]
fn rows_under_loss_are_compared_without_a_row_that_loses_nothing() {
    let row = |latency: f64, errors: u64| -> Row {
        let text = format!(
            r#"{{"set_up": {{"members": 3, "one_way_delay_ms": 0.03, "heartbeat_ms": 100, "election_ms": 1000, "pre_vote": false, "tls": true,
            "op": "put", "target": "leader", "rate_per_s": 20, "value_bytes": 1024, "key_bytes": 8, "loss": 0.01}},
            "measured": {{"requests": 1000, "errors": {errors}, "leader_changed": false, "latency_ms": {{"p50": {latency}}}}}}}"#
        );
        serde_json::from_str(&text).expect("a row")
    };
    let failures =
        |row: &Row| -> Vec<&str> { outcome(row, usual(row, &[])).failures.iter().map(|(figure, _)| *figure).collect() };
    assert_eq!(failures(&row(3.6, 0)), [""; 0]);
    assert_eq!(failures(&row(60.0, 0)), ["p50"]);
    assert_eq!(failures(&row(3.6, 500)), ["errors"]);
}
