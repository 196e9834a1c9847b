//! The kernel on an M/M/1 queue: events per second, and the mean wait beside theory.

use zonefall_bench_wasm::mm1::{BATCHES, LAMBDA, MU, Outcome, run};

use crate::measure::{Samples, head, spread, timed};

/// Student's t for 39 degrees of freedom: 99 % lie within.
const T_99: f64 = 2.708;

/// Prints the figures.
///
/// # Panics
/// When theory's mean wait lies outside the 99 % confidence interval of the simulated one.
pub(crate) fn bench(rounds: u64, customers: u64) {
    let mut seconds_per_event = Samples::default();
    let mut last = None;
    for _ in 0..rounds {
        let (took, outcome) = timed(|| run(customers));
        seconds_per_event.push(took.as_secs_f64() / outcome.events as f64);
        last = Some(outcome);
    }
    let outcome = last.expect("at least one round");
    println!("\nM/M/1 on the kernel, rho = {}: {} events a round", LAMBDA / MU, outcome.events);
    let millions = seconds_per_event.inverse();
    head("", "events/s", "");
    println!("  {:<34} {}", "randomness and logarithms included", spread(&millions, 0));
    check(&outcome);
}

fn check(outcome: &Outcome) {
    let theory = LAMBDA / MU / (MU - LAMBDA);
    // The first batch begins with an empty line.
    let batches = &outcome.wait_s[1..];
    let n = (BATCHES - 1) as f64;
    let mean = batches.iter().sum::<f64>() / n;
    let variance = batches.iter().map(|wait| (wait - mean).powi(2)).sum::<f64>() / (n - 1.0);
    let half = T_99 * (variance / n).sqrt();
    println!("  mean wait in line {mean:.3} s +- {half:.3} s (99 %), theory rho / (mu - lambda) = {theory:.3} s");
    assert!((mean - theory).abs() <= half, "the mean wait contradicts theory: the kernel or its randomness is wrong");
}
