//! What becomes of an API server that is asked to stop.

use std::sync::Arc;

use super::world::{KUBE_CLUSTER, SHOOT, Seen, at, run_in, secs, with_shoot, world};
use zonefall_core::ids::WorkloadId;
use zonefall_core::kernel::time::{Duration, Time};
use zonefall_core::kube::api::Running;
use zonefall_core::kube::record::{Replica, ServerFact, Verb};
use zonefall_core::kube::spec::int_or_percent::IntOrPercent;
use zonefall_core::kube::spec::{Component, Operation, Role, Rollout, Task, Workload};
use zonefall_core::scenario::Scenario;
use zonefall_core::sim::{Options, Simulation};

/// A shoot whose API servers, so many, are replaced one after the other from 100 s on.
fn rolled(servers: u32, shutdown_delay: Option<u64>, pod_grace: u64) -> Scenario {
    let mut scenario = with_shoot(world(&[2, 2, 2]), servers);
    let seed = &mut scenario.kube.clusters[KUBE_CLUSTER];
    seed.timers.pod_grace = secs(pod_grace);
    let of_shoot = |(k, workload): (usize, &Workload)| (workload.role == Role::ApiServer(SHOOT)).then_some(WorkloadId(k as u32));
    let servers = seed.workloads.iter().enumerate().find_map(of_shoot).expect("the shoot has API servers");
    scenario.kube.clusters[SHOOT].shutdown_delay = shutdown_delay.map(secs);
    let task = Task::RollComponent(servers);
    scenario.kube.operations.push(Operation { at: at(100), cluster: KUBE_CLUSTER, task });
    scenario
}

/// Of each server that is asked to stop: when, and after what time it does what.
fn ends(seen: &Seen) -> Vec<(Time, Vec<(Duration, ServerFact)>)> {
    let facts = seen.servers();
    let stops = facts.iter().filter(|(_, _, fact)| *fact == ServerFact::Stops);
    let later = |replica: Replica, from: Time| {
        let of = facts.iter().filter(move |(when, of, _)| *of == replica && *when >= from);
        let ends = of.filter(|(_, _, fact)| matches!(fact, ServerFact::Ready(_) | ServerFact::Closes | ServerFact::Gone));
        ends.map(|(when, _, fact)| (when.since(from), *fact)).collect()
    };
    stops.map(|(when, replica, _)| (*when, later(*replica, *when))).collect()
}

#[test]
fn api_server_serves_for_its_shutdown_delay_and_is_gone_when_its_pod_has_stopped() {
    let (closed, gone) = (ServerFact::Closes, ServerFact::Gone);
    for (delay, grace, expected) in [
        // Without a delay it serves until it is gone, 2 s later.
        (None, 60, vec![(2, gone)]),
        (Some(0), 60, vec![(0, closed), (2, gone)]),
        (Some(40), 60, vec![(40, closed), (42, gone)]),
        // Its grace period ends first: in the middle of the last requests, or while it serves.
        (Some(29), 30, vec![(29, closed), (30, gone)]),
        (Some(70), 30, vec![(30, gone)]),
    ] {
        let expected: Vec<_> = expected.into_iter().map(|(after, fact)| (secs(after), fact)).collect();
        let ends = ends(&run_in(&rolled(3, delay, grace), 1, SHOOT));
        assert_eq!(ends.len(), 3, "{delay:?}: {ends:?}");
        for (_, facts) in ends {
            assert_eq!(facts, expected, "delay {delay:?}, grace {grace}");
        }
    }
}

#[test]
fn the_only_api_server_answers_until_it_closes_or_another_is_ready() {
    for (delay, lost) in [(None, Some(2)), (Some(0), Some(0)), (Some(40), None)] {
        let mut scenario = rolled(1, delay, 60);
        // The old pod stops before there is a new one.
        for workload in &mut scenario.kube.clusters[KUBE_CLUSTER].workloads {
            workload.rollout = Rollout { max_surge: IntOrPercent::Int(0), max_unavailable: IntOrPercent::Int(1) };
        }
        let seen = run_in(&scenario, 1, SHOOT);
        let [(stops, _)] = ends(&seen)[..] else { panic!("{seen:#?}") };
        let down = seen.availability(Verb::Write).into_iter().find(|(_, up)| !up);
        assert_eq!(down, lost.map(|lost| (stops + secs(lost), false)), "{delay:?}");
    }
}

#[test]
fn clients_of_an_api_server_that_stops_stay_until_it_closes_and_new_ones_go_elsewhere() {
    let scenario = rolled(3, Some(40), 60);
    let seen = run_in(&scenario, 1, SHOOT);
    let leases = seen.leases(Component::ControllerManager);
    assert_eq!(leases.len(), 1, "the leader goes on at the next server: {leases:?}");
    assert!(seen.availability(Verb::Write).is_empty());
    let (stops, _) = ends(&seen)[0];
    // Each replica is replaced as soon as a new one is ready, so that all three drain at a time.
    for (after, drains, closed) in [(1, 1, 0), (39, 3, 0), (41, 2, 1)] {
        let mut simulation = Simulation::new(Arc::new(scenario.clone()), 1, Options::default());
        simulation.run_until(stops + secs(after), &mut |_, _| {});
        let api = simulation.cluster(SHOOT).api();
        let of = |which: fn(&Running<'_>) -> bool| api.servers().filter(which).map(|server| server.key).collect::<Vec<_>>();
        let draining = of(|server| !server.readyz && server.listens && server.ready);
        assert_eq!(draining.len(), drains, "{after} s after");
        assert_eq!(of(|server| !server.readyz && !server.listens && !server.ready).len(), closed, "{after} s after");
        let serving = of(|server| server.readyz && server.listens);
        let all = [&draining[..], &serving[..]].concat();
        assert_eq!(api.for_new_connections(&all), serving, "{after} s after");
        assert_eq!(api.for_new_connections(&draining), draining, "there is no other");
    }
}
