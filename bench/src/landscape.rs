//! A landscape of seeds and control planes: a day with a zone outage, for ever more of them.

use std::sync::Arc;
use std::time::Instant;

use serde_json::{Value, json};
use zonefall_core::kernel::time::Time;
use zonefall_core::run::Run;
use zonefall_core::scenario::Scenario;
use zonefall_core::sim::Options;

use crate::measure::{Samples, goal, head, spread};

/// 200 shoots in five seeds.
const LANDSCAPE: &str = include_str!("../../scenarios/many-shoots.json");

/// Wall seconds for 200 shoots, at most.
const GOAL: f64 = 5.0;

/// Prints wall time and memory for 50, 100, 200 and 400 shoots, without invariants and with all of them.
pub(crate) fn bench(rounds: u64) {
    println!("\nA landscape: a day with a zone outage (wall time)");
    head("", "s", "aim; events, most memory in MiB");
    let mut medians = Vec::new();
    for invariants in [false, true] {
        for shoots in [50, 100, 200, 400] {
            let scenario = landscape(shoots);
            let mut wall = Samples::default();
            let mut events = 0;
            forget_peak();
            for _ in 0..rounds {
                let start = Instant::now();
                let mut run = if invariants { Run::checked } else { Run::new }(&scenario, 1, Options::default());
                run.advance(Time::ZERO + scenario.duration, &mut |_, _| {});
                let report = run.report();
                wall.push(start.elapsed().as_secs_f64());
                assert!(report.violations.is_empty(), "{:?}", report.violations);
                assert!(report.recovery.iter().all(|row| row.completed), "every pod that was lost is back");
                events = report.events;
            }
            let memory = peak_mib().map_or_else(|| "?".to_owned(), |mib| mib.to_string());
            let verdict = if shoots == 200 { format!("{GOAL} {}; ", goal(wall.median() <= GOAL)) } else { String::new() };
            let name = format!("{shoots} shoots{}", if invariants { ", all invariants" } else { "" });
            println!("  {name:<34} {}  {verdict}{events}, {memory}", spread(&wall, 2));
            medians.push(wall.median());
        }
    }
    println!("  (400 shoots take {:.1} times what 200 take; linear is 2)", medians[3] / medians[2]);
}

/// The bundled landscape with another number of shoots, and machines for them.
fn landscape(shoots: u64) -> Arc<Scenario> {
    let mut file: Value = serde_json::from_str(LANDSCAPE).expect("the scenario is JSON");
    let scaled = |value: &mut Value| *value = json!((value.as_u64().expect("a number") * shoots).div_ceil(200).max(3));
    for seed in file["seeds"].as_array_mut().expect("seeds") {
        for bound in ["minimum", "maximum"] {
            scaled(&mut seed["pools"][0][bound]);
        }
    }
    file["shoots"].as_array_mut().expect("shoots").iter_mut().for_each(|own| scaled(&mut own["count"]));
    file["expect"] = json!([]);
    Arc::new(Scenario::from_json(&file.to_string()).expect("the scenario is valid"))
}

/// From here on the peak is counted anew, where the platform lets a process do that.
pub(crate) fn forget_peak() {
    let _ = std::fs::write("/proc/self/clear_refs", "5");
}

/// The most memory this process has had.
pub(crate) fn peak_mib() -> Option<u64> {
    let status = std::fs::read_to_string("/proc/self/status").ok()?;
    let line = status.lines().find_map(|line| line.strip_prefix("VmHWM:"))?;
    line.trim().strip_suffix(" kB")?.parse::<u64>().ok().map(|kib| kib / 1024)
}
