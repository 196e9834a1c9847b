//! Stories small enough to check by hand.

use std::sync::Arc;

use super::{Exact, Options};
use crate::ids::ClusterId;
use crate::kernel::time::{Duration, Time};
use crate::observe::testing::{client, three_zones};
use crate::record::Record;
use crate::report::Report;
use crate::run::run;
use crate::scenario::{Aim, Fault, Load, Op, PlannedFault, Scenario, Target};

fn full() -> Options {
    Options { exact: Exact::Full, raft_records: true, ..Options::default() }
}

fn puts(per_s: u64) -> crate::scenario::Client {
    let load = Load::Open { interval: Duration::from_nanos(1_000_000_000 / per_s), poisson: false };
    crate::scenario::Client { op: Op::Put { key_bytes: 8, value_bytes: 1_024 }, load, ..client("load", Target::Leader) }
}

fn report(scenario: Scenario, options: Options, seed: u64) -> Report {
    run(&Arc::new(scenario), seed, options, &mut |_, _| {}, &mut |_| {})
}

/// Every story here, in both modes: the same report but for the number of events.
fn check_modes(scenario: &Scenario, seed: u64) -> Report {
    let fast = report(scenario.clone(), Options { exact: Exact::Fast, ..full() }, seed);
    let mut exact = report(scenario.clone(), full(), seed);
    assert!(fast.violations.is_empty(), "{:?}", fast.violations);
    assert!(fast.events <= exact.events);
    exact.events = fast.events;
    let (a, b) = (serde_json::to_string_pretty(&fast).unwrap(), serde_json::to_string_pretty(&exact).unwrap());
    for (line, (a, b)) in a.lines().zip(b.lines()).enumerate() {
        assert_eq!(a, b, "line {line} of the reports (fast, full) under seed {seed}: {:?}", scenario.faults);
    }
    fast
}

fn at(s: u64) -> Time {
    Time::ZERO + Duration::from_secs(s)
}

#[test]
fn rest_changes_nothing_but_the_number_of_events() {
    for seed in 0..10 {
        let mut scenario = three_zones();
        check_modes(&scenario, seed);
        let jitter = crate::kernel::dist::Latency::LogNormal { median: Duration::from_micros(50), sigma: 0.5 };
        for path in &mut scenario.network.paths {
            path.jitter = jitter.clone();
        }
        check_modes(&scenario, seed);
        let leader = ClusterId(0);
        let faults = [
            Fault::ZonePower(Aim::OfLeader(leader)),
            Fault::ProcessKill(Aim::OfLeader(leader)),
            Fault::GracefulStop(Aim::OfLeader(leader)),
            Fault::NodeCut { node: Aim::OfLeader(leader), direction: crate::scenario::Direction::Both },
            Fault::ZoneCut { zone: Aim::OfLeader(leader), direction: crate::scenario::Direction::In },
            Fault::ZoneCut { zone: Aim::OfLeader(leader), direction: crate::scenario::Direction::Out },
            Fault::DiskSlow { volume: Aim::OfLeader(leader), add: Duration::from_millis(300), factor: 2.0 },
        ];
        for fault in faults {
            scenario.faults = vec![PlannedFault { at: at(60), lasts: Some(Duration::from_secs(100)), fault }];
            check_modes(&scenario, seed);
            scenario.clients = vec![puts(1)];
            check_modes(&scenario, seed);
            scenario.clients.clear();
        }
    }
}

#[test]
fn debug_diff() {
    let mut scenario = three_zones();
    let jitter = crate::kernel::dist::Latency::LogNormal { median: Duration::from_micros(50), sigma: 0.5 };
    for path in &mut scenario.network.paths {
        path.jitter = jitter.clone();
    }
    scenario.faults = vec![PlannedFault {
        at: at(60),
        lasts: Some(Duration::from_secs(100)),
        fault: Fault::GracefulStop(Aim::OfLeader(ClusterId(0))),
    }];
    let scenario = Arc::new(scenario);
    let mut a = super::Simulation::new(scenario.clone(), 0, Options { exact: Exact::Fast, ..full() });
    let mut b = super::Simulation::new(scenario.clone(), 0, full());
    for ms in (59_900..).step_by(10).take(60_000) {
        let t = Time::ZERO + Duration::from_millis(ms);
        let (mut ra, mut rb) = (Vec::new(), Vec::new());
        a.run_until(t, &mut |at, r: &Record| ra.push(format!("{at:?} {r:?}")));
        b.run_until(t, &mut |at, r: &Record| rb.push(format!("{at:?} {r:?}")));
        for r in &ra {
            println!("{r}");
        }
        let (la, lb) = (a.links(), b.links());
        for (x, y) in la.iter().zip(&lb) {
            assert_eq!((x.from, x.to, x.bytes, x.wire_bytes), (y.from, y.to, y.bytes, y.wire_bytes), "at {t:?}");
        }
    }
}
