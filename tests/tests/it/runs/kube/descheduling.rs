//! Pods that a zone outage drove out, and what spreads them again.

use super::world::{KUBE_CLUSTER, at, broken, over, run, secs, watched, with, workload, world};
use zonefall_core::ids::{NodeKey, WorkloadId, ZoneId};
use zonefall_core::kube::record::PodFact;
use zonefall_core::kube::rule::labels::Symbol;
use zonefall_core::kube::spec::Workload;
use zonefall_core::kube::spec::controllers::Descheduler;
use zonefall_core::scenario::{FaultTarget, Scenario, ZonePower};
use zonefall_core::sim::Stepping;

/// Twelve pods over three zones of two nodes; zone 0 is without power from 5 min to 45 min. Nodes whose taints a pod does not tolerate are no
/// domain, so that its pods go to the other zones.
fn outage(max_unavailable: Option<u32>) -> Scenario {
    let mut deployment = workload("web", 0, 12);
    deployment.spread =
        vec![zonefall_core::kube::rule::spread::Constraint { honors_taints: true, ..over(Symbol::ZONE, 1, &deployment) }];
    let deployment = Workload { max_unavailable, ..deployment };
    let power = ZonePower(FaultTarget::Named(ZoneId(0)));
    let mut scenario = broken(with(world(&[2, 2, 2]), deployment), 300, Some(2_400), power.into());
    scenario.duration = secs(5_400);
    scenario
}

fn descheduled(mut scenario: Scenario) -> Scenario {
    scenario.kube.clusters[KUBE_CLUSTER].controllers.descheduler = Some(Descheduler::default());
    scenario
}

/// Ready pods of the Deployment in each zone at the end, and how many evictions were granted and refused. Both modes agree.
fn zones(scenario: &Scenario) -> ([usize; 3], usize, usize) {
    let seen = run(scenario, 1);
    let evicted = |granted| seen.pods(|fact| fact == PodFact::Evicted(granted)).len();
    let (mut simulation, _) = watched(scenario, 1, Stepping::FastForward);
    simulation.run_until(at(0) + scenario.duration, &mut |_, _| {});
    let store = simulation.cluster(KUBE_CLUSTER).store();
    let in_zone = |zone: u32| {
        let of_zone = |key: NodeKey| key.0 / 2 == zone;
        store.pods_of(WorkloadId(0)).filter(|(_, pod)| pod.ready && pod.node.is_some_and(of_zone)).count()
    };
    ([0, 1, 2].map(in_zone), evicted(true), evicted(false))
}

#[test]
fn descheduler_spreads_pods_again_once_the_zone_is_back() {
    assert_eq!(zones(&outage(None)), ([0, 6, 6], 0, 0), "the scheduler never moves a pod");
    assert_eq!(zones(&descheduled(outage(None))), ([4, 4, 4], 4, 0));
    // A budget lets one go at a time: an eviction that is refused is tried again at the next look.
    let (zones, evicted, refused) = zones(&descheduled(outage(Some(1))));
    assert_eq!((zones, evicted), ([4, 4, 4], 4));
    assert!(refused > 0);
}
