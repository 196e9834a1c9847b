//! A month of a thousand control planes that survive the loss of a zone, and one of a cluster that grows and shrinks each day; each with
//! the loss of a zone.

use std::sync::Arc;
use std::time::Instant;

use serde_json::{Value, json};
use zonefall_core::run::run;
use zonefall_core::scenario::Scenario;
use zonefall_core::sim::Options;

use crate::landscape::{forget_peak, peak_mib};
use crate::measure::{Samples, goal, head, spread};

/// What a month may cost.
struct Goal {
    /// Wall seconds, at most.
    seconds: f64,
    /// MiB, at most.
    mib: u64,
}

/// Prints wall time, memory and events.
pub(crate) fn bench(rounds: u64) {
    println!("\nA month with a zone outage of 2 h (wall time)");
    head("", "s", "aim; events, most memory in MiB");
    measure("1,000 shoots of tolerance `zone`", &shoots(), rounds, &Goal { seconds: 10.0, mib: 1024 });
    let aim = Goal { seconds: 10.0, mib: 512 };
    let half = measure("500 nodes, 2,500 pods", &nodes(5), rounds, &aim);
    let whole = measure("500 nodes, 5,000 pods", &nodes(10), rounds, &aim);
    let ratio = whole.ratio(&half);
    println!("  {:<34} {ratio:.2} times the time: aim at most 2 {}", "twice the pods", goal(ratio <= 2.0));
}

/// Prints what runs of a scenario cost, and gives their wall times.
fn measure(name: &str, scenario: &Value, rounds: u64, aim: &Goal) -> Samples {
    let scenario = Arc::new(Scenario::from_json(&scenario.to_string()).expect("the scenario is valid"));
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
    let Goal { seconds, mib } = aim;
    let memory = peak_mib();
    let verdict = goal(wall.median() <= *seconds && memory.is_some_and(|peak| peak <= *mib));
    let memory = memory.map_or_else(|| "?".to_owned(), |peak| peak.to_string());
    println!("  {name:<34} {}  {seconds} s, {mib} MiB {verdict}; {events}, {memory}", spread(&wall, 2));
    wall
}

/// Five seeds over three zones, with a control plane elsewhere and room for all shoots.
fn shoots() -> Value {
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

/// A cluster of 500 nodes in three zones, full of pods; by day a tenth more of them, for which the autoscaler makes nodes and takes them
/// away at night.
fn nodes(pods_per_node: u32) -> Value {
    const REPLICAS: u32 = 100;
    let zones = ["za", "zb", "zc"];
    let names: Vec<String> = (0..500 * pods_per_node / REPLICAS).map(|k| format!("app-{k}")).collect();
    let workload = |name: &String| json!({"name": name, "kind": "deployment", "replicas": REPLICAS, "cpu": 7.5 / f64::from(pods_per_node), "memory": "1GiB"});
    let scale = |hour: u32, name: &String, replicas: u32| json!({"at": format!("{hour}h"), "scale_workload": {"cluster": "c", "workload": name, "replicas": replicas}});
    let growing = || names.iter().step_by(2);
    let day = |day: u32| {
        let up = growing().map(move |name| scale(24 * day + 8, name, REPLICAS * 6 / 5));
        up.chain(growing().map(move |name| scale(24 * day + 20, name, REPLICAS)))
    };
    json!({
        "name": "month-of-nodes",
        "duration": "30d",
        "topology": {"regions": [{"name": "r", "zones": zones}]},
        "clusters": [{
            "name": "c", "zones": zones, "control_plane_nodes": false,
            "components": ["kube_controller_manager", "kube_scheduler", "machine_controller_manager", "cluster_autoscaler"],
            "pools": [{"name": "worker", "minimum": 250, "start": 500, "maximum": 1_000}],
            "workloads": names.iter().map(workload).collect::<Vec<_>>(),
            "controllers": {"cluster_autoscaler": {"sizing": "lax_greedy", "scale_down": {}}},
        }],
        "operations": (0..30).flat_map(day).collect::<Vec<_>>(),
        "faults": [{"at": "362h", "for": "2h", "kind": "zone_power", "zone": "za"}],
    })
}
