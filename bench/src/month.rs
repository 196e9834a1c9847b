//! A month of a thousand control planes that survive the loss of a zone, with one such loss.

use std::sync::Arc;
use std::time::Instant;

use serde_json::{Value, json};
use zonefall_core::run::run;
use zonefall_core::scenario::Scenario;
use zonefall_core::sim::Options;

use crate::landscape::{forget_peak, peak_mib};
use crate::measure::{Samples, goal, head, spread};

/// Wall seconds and MiB, at most.
const GOAL: (f64, u64) = (10.0, 1024);

/// Prints wall time, memory and events.
pub(crate) fn bench(rounds: u64) {
    println!("\nA month of 1,000 shoots of tolerance `zone`, with a zone outage of 2 h (wall time)");
    head("", "s", "aim; events, most memory in MiB");
    let scenario = Arc::new(Scenario::from_json(&month().to_string()).expect("the scenario is valid"));
    let mut wall = Samples::default();
    let mut events = 0;
    forget_peak();
    for _ in 0..rounds {
        let start = Instant::now();
        let report = run(&scenario, 1, Options::default(), &mut |_, _| {}, &mut |_| {});
        wall.push(start.elapsed().as_secs_f64());
        assert!(report.violations.is_empty(), "{:?}", report.violations);
        assert!(report.recovery.iter().all(|row| row.completed), "every pod that was lost is back");
        events = report.events;
    }
    let (seconds, mib) = GOAL;
    let memory = peak_mib();
    let verdict = goal(wall.median() <= seconds && memory.is_some_and(|peak| peak <= mib));
    let memory = memory.map_or_else(|| "?".to_owned(), |peak| peak.to_string());
    println!("  {:<34} {}  {seconds} s, {mib} MiB {verdict}; {events}, {memory}", "1,000 shoots, 30 days", spread(&wall, 2));
}

/// Five seeds over three zones, with a control plane elsewhere and room for all shoots.
fn month() -> Value {
    let zones = ["za", "zb", "zc"];
    let seed = |k: u32| {
        json!({
            "name": format!("multi-{k}"), "zones": zones, "control_plane": {"zones": ["parent"]},
            "pools": [{"name": "cpu", "minimum": 150, "maximum": 400}],
        })
    };
    json!({
        "name": "month",
        "duration": "30d",
        "topology": {"regions": [{"name": "r", "zones": ["za", "zb", "zc", "parent"]}]},
        "seeds": (1..=5).map(seed).collect::<Vec<_>>(),
        "shoots": [{"name": "zone", "count": 1_000, "failure_tolerance": "zone", "use": {}}],
        "faults": [{"at": "10d", "for": "2h", "kind": "zone_power", "zone": "za"}],
    })
}
