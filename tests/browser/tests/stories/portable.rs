//! The worker as it is shipped gives the traces that are recorded natively.

use zonefall_browser::node::Worker;
use zonefall_tests::portable::{recorded, runs};
use zonefall_web::engine::protocol::LoadId;

#[test]
fn the_shipped_worker_gives_the_recorded_traces() {
    let recorded = recorded();
    let (runs, workers) = (runs(), 2);
    let check = |first: usize| {
        let mut worker = Worker::start().unwrap_or_else(|error| panic!("{error:#}"));
        let mut differing = Vec::new();
        for (load, run) in (1..).zip(runs.iter().skip(first).step_by(workers)) {
            let key = run.key();
            let found = worker.run(LoadId(load), run.text, run.seed).unwrap_or_else(|error| panic!("{key}: {error:#}"));
            if recorded.get(&key) != Some(&found.trace_hash) {
                differing.push(format!("{key}: recorded {:?}, now {}", recorded.get(&key), found.trace_hash));
            }
        }
        differing
    };
    let differing: Vec<String> = std::thread::scope(|scope| {
        let workers: Vec<_> = (0..workers).map(|first| scope.spawn(move || check(first))).collect();
        workers.into_iter().flat_map(|worker| worker.join().expect("it says what is wrong")).collect()
    });
    assert!(differing.is_empty(), "wasm and native differ, or the golden file is stale:\n{}", differing.join("\n"));
}
