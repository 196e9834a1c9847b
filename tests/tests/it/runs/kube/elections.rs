//! Who leads, and when somebody else does.

use std::sync::Arc;

use proptest::prelude::*;

use super::world::{KUBE_CLUSTER, SHOOT, Seen, at, broken, crash, hosted, run, run_in, secs, with, with_shoot, workload, world};
use zonefall_core::ids::NodeId;
use zonefall_core::kernel::time::{Duration, Time};
use zonefall_core::kube::ctx::{ProcessChange, ProcessStatus, Program};
use zonefall_core::kube::record::{KubeRecord, PodFact, Replica};
use zonefall_core::kube::spec::Component;
use zonefall_core::network::Network;
use zonefall_core::record::Record;
use zonefall_core::record::StopReason;
use zonefall_core::scenario::{Direction, Fault, FaultTarget, NodeCrash, NodePartition, Scenario};
use zonefall_core::sim::{Options, Simulation};

const MANAGER: Component = Component::ControllerManager;

/// Three hosts, in a zone each, of which the first leads.
fn three_hosts() -> Scenario {
    hosted(with(world(&[2, 2, 2]), workload("web", 0, 6)), 3)
}

fn leader_of(scenario: &Scenario) -> NodeId {
    scenario.kube.clusters[KUBE_CLUSTER].control_plane[0]
}

/// Leases of a component after the start.
fn later(seen: &Seen, of: Component) -> Vec<(Time, Option<Replica>)> {
    seen.leases(of)[1..].to_vec()
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(48))]
    #[test]
    fn a_lease_is_taken_over_when_its_timers_say_so(
        seed: u64, lost in 20_000..60_000u64, retry in 500..5_000u64, retries in 2..8u64, more in 1..30_000u64, dies: bool,
    ) {
        let mut scenario = three_hosts();
        let timers = &mut scenario.kube.clusters[KUBE_CLUSTER].timers;
        timers.retry_period = Duration::from_millis(retry);
        timers.renew_deadline = timers.retry_period * retries;
        timers.lease_duration = timers.renew_deadline + Duration::from_millis(more);
        let (retry, renew, lease) = (timers.retry_period, timers.renew_deadline, timers.lease_duration);
        let host = FaultTarget::Named(leader_of(&scenario));
        let fault =
            if dies { Fault::NodeCrash(NodeCrash(host)) } else { Fault::NodePartition(NodePartition { node: host, direction: Direction::Both }) };
        scenario = broken(scenario, 0, None, fault);
        let lost = Time::ZERO + Duration::from_millis(lost);
        scenario.faults[0].at = lost;
        scenario.duration = secs(300);
        let seen = run(&scenario, seed);
        for component in Component::ALL {
            let [(gone, None), (taken, Some(Replica::Host(by)))] = later(&seen, component)[..] else {
                panic!("{component:?}: {:?}", later(&seen, component))
            };
            prop_assert!(by != leader_of(&scenario));
            if dies {
                prop_assert_eq!(gone, lost);
            } else {
                // It tries again a retry period after its last renewal, and for a renew deadline from then on.
                prop_assert!(gone >= lost + renew && gone <= lost + renew + retry, "{:?} gives up at {:?}", component, gone);
                prop_assert!(taken >= gone);
            }
            // The last renewal was up to a period before. Seen within a period and its jitter, and again as long until the next try.
            let gap = retry * 22 / 10;
            prop_assert!(taken + retry >= lost + lease && taken <= lost + lease + gap * 2, "{:?} at {:?}", component, taken);
        }
    }
}

/// Longer cuts lose a lease, shorter ones do not, whatever the phase.
#[test]
fn a_holder_that_is_back_in_time_goes_on() {
    let scenario = three_hosts();
    let cut = |lasts| {
        let fault =
            Fault::NodePartition(NodePartition { node: FaultTarget::Named(leader_of(&scenario)), direction: Direction::Both });
        broken(scenario.clone(), 100, Some(lasts), fault)
    };
    for seed in 0..10 {
        // It renews in the last 2 s before the cut, and gives up 12 s after that. Until then an attempt is always waiting for its reply.
        assert!(later(&run(&cut(10), seed), MANAGER).is_empty(), "seed {seed}");
        assert_eq!(later(&run(&cut(12), seed), MANAGER).len(), 2, "seed {seed}");
    }
}

#[test]
fn the_only_process_waits_for_its_own_lease() {
    let scenario = hosted(world(&[1, 1, 1]), 1);
    let fault =
        Fault::NodePartition(NodePartition { node: FaultTarget::Named(leader_of(&scenario)), direction: Direction::Both });
    for seed in 0..10 {
        let seen = run(&broken(scenario.clone(), 100, Some(12), fault.clone()), seed);
        let [(lost, None), (taken, Some(_))] = later(&seen, MANAGER)[..] else { panic!("{:?}", later(&seen, MANAGER)) };
        // It starts anew after 10 s and is somebody else then, who has never seen the lease before.
        let wait = taken.since(lost + secs(10));
        assert!(wait >= secs(15) && wait <= secs(15) + Duration::from_millis(4_400), "{wait:?}");
    }
}

#[test]
fn a_renewal_that_takes_more_than_half_of_its_deadline_counts_where_it_has_no_time_out() {
    let mut scenario = three_hosts();
    let timers = &mut scenario.kube.clusters[KUBE_CLUSTER].timers;
    timers.api_overhead = Duration::from_millis(1_500);
    (timers.lease_duration, timers.renew_deadline, timers.retry_period) = (secs(4), Duration::from_millis(2_500), secs(1));
    let leads = |time_out: bool| {
        let mut scenario = scenario.clone();
        scenario.kube.clusters[KUBE_CLUSTER].timers.renewals_time_out = time_out;
        matches!(run(&scenario, 1).leases(MANAGER)[..], [(_, Some(_))])
    };
    assert_eq!([true, false].map(leads), [false, true]);
}

#[test]
fn pods_lead_too() {
    let scenario = with_shoot(world(&[2, 2, 2]), 3);
    let [(_, Some(Replica::Pod(KUBE_CLUSTER, leader)))] = run_in(&scenario, 1, SHOOT).leases(MANAGER)[..] else {
        panic!("nobody leads")
    };
    let node = run(&scenario, 1).node_of(leader).unwrap();
    let scenario = broken(scenario.clone(), 100, None, crash(&scenario, node));
    let seen = run_in(&scenario, 1, SHOOT);
    let [(lost, None), (taken, Some(Replica::Pod(KUBE_CLUSTER, next)))] = later(&seen, MANAGER)[..] else { panic!("{seen:#?}") };
    assert!(lost == at(100) && next != leader && taken > at(113) && taken < at(124), "{taken:?}");
    // Where there is one only, its replacement leads; the lease has run out long before.
    let scenario = with_shoot(world(&[2, 2, 2]), 1);
    let [(_, Some(Replica::Pod(_, leader)))] = run_in(&scenario, 1, SHOOT).leases(MANAGER)[..] else { panic!("nobody leads") };
    let node = run(&scenario, 1).node_of(leader).unwrap();
    let scenario = broken(scenario.clone(), 100, None, crash(&scenario, node));
    let (seed, seen) = (run(&scenario, 1), run_in(&scenario, 1, SHOOT));
    let [(_, None), (taken, Some(Replica::Pod(_, next)))] = later(&seen, MANAGER)[..] else { panic!("{seen:#?}") };
    let ready = seed.of(next).into_iter().find(|(_, fact)| *fact == PodFact::Ready(true)).unwrap().0;
    assert!(taken >= ready + secs(15) && taken < ready + secs(20), "{ready:?}, {taken:?}");
}

/// A holder that is asked to stop gives its lease away: nobody waits for the lease to run out.
#[test]
fn a_graceful_stop_gives_the_lease_away() {
    let scenario = three_hosts();
    for process in [ProcessChange::Stops, ProcessChange::Gone(StopReason::Killed)] {
        let mut simulation = Simulation::new(Arc::new(scenario.clone()), 1, Options::default());
        let mut leases = Vec::new();
        let mut sink = |when, record: &Record| {
            if let Record::Kube(KUBE_CLUSTER, KubeRecord::Lease(MANAGER, holder)) = record {
                leases.push((when, *holder));
            }
        };
        simulation.run_until(at(100), &mut sink);
        let node = leader_of(&scenario);
        let (replica, host) = (Replica::Host(node), Network::host_of(node));
        simulation.process_changed(&ProcessStatus {
            cluster: KUBE_CLUSTER,
            program: Program::Controller(MANAGER),
            key: 0,
            replica,
            host,
            process,
        });
        simulation.run_until(at(200), &mut sink);
        let [_, (lost, None), (taken, Some(_))] = leases[..] else { panic!("{leases:?}") };
        assert_eq!(lost, at(100));
        let wait = taken.since(lost);
        match process {
            ProcessChange::Stops => assert!(wait < Duration::from_millis(4_400), "{wait:?}"),
            _ => assert!(wait > secs(13), "{wait:?}"),
        }
    }
}
