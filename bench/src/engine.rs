//! The engine: simulated seconds per second of a three-member cluster, message by message and at rest.

use zonefall_bench_wasm::engine::{Stepping, run, scenario};

use crate::measure::{Samples, goal, head, spread, timed};

/// Three zones, a member in each; one process writes at 100/s.
const BUSY: &str = include_str!("../scenarios/busy.json");
/// The same without the process.
const IDLE: &str = include_str!("../scenarios/idle.json");

const YEAR_S: u64 = 365 * 86_400;

struct Case {
    name: &'static str,
    text: &'static str,
    stepping: Stepping,
    seconds: u64,
    /// Simulated seconds per second, at least.
    goal: Option<f64>,
}

/// Prints the figures; `scale` stretches what is simulated message by message.
pub(crate) fn bench(rounds: u64, scale: u64) {
    let cases = [
        Case {
            name: "100 PUT/s, message by message",
            text: BUSY,
            stepping: Stepping::EveryEvent,
            seconds: 600 * scale,
            goal: None,
        },
        Case { name: "100 PUT/s, fast", text: BUSY, stepping: Stepping::FastForward, seconds: 600 * scale, goal: None },
        Case {
            name: "idle, message by message",
            text: IDLE,
            stepping: Stepping::EveryEvent,
            seconds: 36_000 * scale,
            goal: Some(150_000.0),
        },
        Case {
            name: "idle, fast, a year",
            text: IDLE,
            stepping: Stepping::FastForward,
            seconds: YEAR_S,
            goal: Some(YEAR_S as f64),
        },
    ];
    let mut samples = [const { Vec::new() }; 4];
    for _ in 0..rounds {
        for (case, samples) in cases.iter().zip(&mut samples) {
            let scenario = scenario(case.text);
            samples.push(timed(|| run(&scenario, case.seconds, case.stepping)));
        }
    }
    println!("\nThe engine, a cluster of three members");
    head("", "sim s/s", "aim; events, events/s");
    for (case, samples) in cases.iter().zip(samples) {
        let events = samples[0].1.events;
        assert!(samples.iter().all(|(_, outcome)| *outcome == samples[0].1), "the same seed gave another run");
        let mut speed = Samples::default();
        for (took, _) in &samples {
            speed.push(case.seconds as f64 / took.as_secs_f64());
        }
        let rate = speed.median() / case.seconds as f64 * events as f64;
        let verdict = case.goal.map_or(String::new(), |least| format!("{least} {}; ", goal(speed.median() >= least)));
        println!("  {:<34} {}  {verdict}{events}, {rate:.0}", case.name, spread(&speed, 0));
    }
    println!("  (a year's aim is a second: {YEAR_S} sim s/s)");
}
