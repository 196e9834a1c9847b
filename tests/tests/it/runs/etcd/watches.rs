//! Watches: what is heard, and how late.

use std::sync::Arc;

use super::{Options, at, faulty, member, puts, records};
use zonefall_core::ids::NodeId;
use zonefall_core::kernel::time::{Duration, Time};
use zonefall_core::record::{ClientRecord, Record};
use zonefall_core::scenario::testing::{client, three_zones};
use zonefall_core::scenario::{
    Direction, Fault, FaultTarget, NodeCrash, NodePartition, Op, PlannedFault, ProcessKill, Scenario, Target,
};
use zonefall_core::sim::Simulation;

/// Ten puts a second for 90 s, and somebody on the third node who watches at `target`: when each event came, and how late.
fn heard(mut scenario: Scenario, target: Target) -> Vec<(Time, Duration)> {
    let watcher = zonefall_core::scenario::Client { node: Some(NodeId(2)), stop: at(200), ..client("watch", target) };
    let load = zonefall_core::scenario::Client { start: at(10), stop: at(100), node: Some(NodeId(0)), ..puts(10) };
    scenario.clients = vec![load, watcher].into();
    let event = |(when, record)| match record {
        Record::Client(ClientRecord::Request { op: Op::Watch, latency, .. }) => Some((when, latency)),
        _ => None,
    };
    records(&scenario, 1).into_iter().filter_map(event).collect()
}

fn latest(heard: &[(Time, Duration)]) -> Duration {
    heard.iter().map(|(_, latency)| *latency).max().expect("something is heard")
}

#[test]
fn watchers_hear_of_every_put() {
    let heard = heard(three_zones(), Target::Member(1));
    assert_eq!(heard.len(), 900);
    assert!(latest(&heard) < Duration::from_millis(10));
}

#[test]
fn a_short_cut_makes_events_late() {
    let cut = |lasts_s| {
        faulty(lasts_s, Fault::NodePartition(NodePartition { node: FaultTarget::Named(NodeId(2)), direction: Direction::Both }))
    };
    let heard_all = heard(cut(3), Target::Member(0));
    assert_eq!(heard_all.len(), 900);
    // Sent again 0.2, 0.6, 1.4, 3.0 and 6.2 s after the first that was lost.
    let late = latest(&heard_all);
    assert!(late >= Duration::from_secs(3) && late < Duration::from_millis(6_300), "{late}");
    // Longer than a connection may be silent: it goes on at the member on its own node, which hears of the puts when the cut is over.
    let heard_all = heard(cut(20), Target::Member(0));
    assert_eq!(heard_all.len(), 900);
    assert!(latest(&heard_all) >= Duration::from_secs(20));
}

#[test]
fn a_watch_goes_on_elsewhere_where_it_was() {
    let heard_all = heard(faulty(30, Fault::ProcessKill(ProcessKill(FaultTarget::Named(member(1))))), Target::Member(1));
    assert_eq!(heard_all.len(), 900);
    let heard_all = heard(faulty(30, Fault::NodeCrash(NodeCrash(FaultTarget::Named(NodeId(1))))), Target::Member(1));
    assert_eq!(heard_all.len(), 900);
    assert!(latest(&heard_all) > Duration::from_millis(7_900), "a dark host is missed only when its connection is closed");
}

#[test]
fn a_client_without_power_watches_again_when_it_is_back() {
    let heard = heard(faulty(20, Fault::NodeCrash(NodeCrash(FaultTarget::Named(NodeId(2))))), Target::Member(0));
    let dark = |when: Time| when > at(60) && when < at(80) + Duration::from_millis(100);
    assert!(!heard.iter().any(|(when, _)| dark(*when)));
    assert_eq!(heard.len(), 900 - 201, "what happened meanwhile it lists");
    assert!(latest(&heard) < Duration::from_millis(10));
}

#[test]
fn who_reaches_nobody_waits_for_a_change() {
    let mut scenario = three_zones();
    scenario.clients = vec![client("watch", Target::Nearest)].into();
    let crash =
        |node| PlannedFault { at: at(60), lasts: None, fault: Fault::NodeCrash(NodeCrash(FaultTarget::Named(NodeId(node)))) };
    scenario.faults = (0..3).map(crash).collect();
    let mut simulation = Simulation::new(Arc::new(scenario), 1, Options::default());
    simulation.run_until(at(70), &mut |_, _| {});
    let before = simulation.events();
    simulation.run_until(at(600), &mut |_, _| {});
    assert_eq!(simulation.events(), before);
}
