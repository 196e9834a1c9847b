//! A run of the whole engine.

use std::sync::Arc;

use zonefall_core::kernel::time::Time;
use zonefall_core::scenario::Scenario;
pub use zonefall_core::sim::Stepping;
use zonefall_core::sim::{Options, Simulation};

/// What a run did.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Outcome {
    /// Events handled.
    pub events: u64,
    /// Over the time of every record.
    pub checksum: u64,
}

/// The scenario of that name in `scenarios/`.
pub fn zone_outage() -> Arc<Scenario> {
    scenario(include_str!("../../../scenarios/zone-outage.json"))
}

/// The scenario of a text that is known to be valid.
pub fn scenario(text: &str) -> Arc<Scenario> {
    match Scenario::from_json(text) {
        Ok(scenario) => Arc::new(scenario),
        Err(errors) => panic!("a scenario of the benchmarks is wrong: {errors}"),
    }
}

/// Runs the first `seconds` of a scenario.
pub fn run(scenario: &Arc<Scenario>, seconds: u64, stepping: Stepping) -> Outcome {
    let mut simulation = Simulation::new(Arc::clone(scenario), 1, Options { stepping, ..Options::default() });
    let mut checksum = 0_u64;
    let until = Time::from_nanos(seconds * 1_000_000_000);
    simulation.run_until(until, &mut |at, _| checksum = checksum.rotate_left(5) ^ at.as_nanos());
    Outcome { events: simulation.events(), checksum }
}
