//! Machines for pods that find no node.

use proptest::prelude::*;

use super::machines::{cloud, with_machines};
use super::world::{
    KUBE_CLUSTER, NAMESPACE, Seen, at, broken, crash, cut_zone, run, run_as, secs, with, workload, world, zone_label,
};
use zonefall_core::ids::{MachineDeploymentId, NodeKey, ZoneId};
use zonefall_core::kernel::time::{Duration, Time};
use zonefall_core::kube::machine::Phase;
use zonefall_core::kube::name::{NodeName, PodTag};
use zonefall_core::kube::record::{KubeRecord, MachineFact, PodFact, Reason};
use zonefall_core::kube::rule::labels::{Condition, NodeAffinity, Requirement, Symbol};
use zonefall_core::kube::spec::autoscaler::Drainability;
use zonefall_core::kube::spec::{Kind, MemberRange, Resources, VolumeTemplate, Workload};
use zonefall_core::scenario::{CloudAnswer, CloudApi, Fault, FaultTarget, Scenario, ZonePower};
use zonefall_core::sim::Stepping;

/// Pods of which a node takes one.
pub(super) fn large(app: u32, replicas: u32) -> Workload {
    let requests = Resources { cpu_milli: 6_000, memory: 1 << 30, pods: 1 };
    Workload { requests, ..workload("large", app, replicas) }
}

/// The same, in one zone only.
pub(super) fn in_zone(zone: u32, workload: Workload) -> Workload {
    let here = Requirement { key: Symbol::ZONE, is: Condition::In(vec![zone_label(zone)]) };
    Workload { affinity: NodeAffinity(vec![vec![here]]), ..workload }
}

pub(super) fn scaled(seen: &Seen) -> Vec<(Time, MachineDeploymentId, u32)> {
    let scaled = |(at, record): &(Time, KubeRecord)| match record {
        KubeRecord::MachineDeploymentScaled(deployment, desired) => Some((*at, *deployment, *desired)),
        _ => None,
    };
    seen.0.iter().filter_map(scaled).collect()
}

#[test]
fn the_largest_pods_are_packed_first() {
    let of = |name: &str, app: u32, cpu_milli: u64| {
        let requests = Resources { cpu_milli, memory: 1 << 30, pods: 1 };
        Workload { requests, ..workload(name, app, 2) }
    };
    // The existing node has no room for any of them; a new one has for one small pod and one big one.
    let scenario = with(with(with(world(&[1]), large(0, 1)), of("small", 1, 3_000)), of("big", 2, 4_000));
    let seen = run(&with_machines(scenario, 4), 1);
    assert_eq!(seen.made().len(), 2, "{:?}", scaled(&seen));
}

#[test]
fn pods_without_room_get_nodes() {
    let mut daemon = workload("agent", 1, 0);
    (daemon.kind, daemon.requests.cpu_milli) = (Kind::DaemonSet, 1_000);
    let scenario = with_machines(with(with(world(&[2, 1, 1]), large(0, 7)), daemon), 4);
    let seen = run(&scenario, 1);
    // Three pods find no node: one scan is enough, as all three fit on new nodes of one deployment, whichever.
    let [(when, _, desired)] = scaled(&seen)[..] else { panic!("{:?}", scaled(&seen)) };
    assert!(when <= at(10) && desired >= 4, "{desired} at {when:?}");
    assert_eq!(seen.made().len(), 3);
    // Each takes one of them, and an agent.
    let mut on_new = seen.pods(|fact| matches!(fact, PodFact::Bound(NodeName::Machine(_))));
    assert_eq!(on_new.len(), 6);
    on_new.retain(|(_, pod)| pod.workload.0 == 0);
    assert_eq!(on_new.len(), 3);
    // A call, power, boot; not at every scan again.
    assert!(on_new.iter().all(|(bound, _)| bound.since(when) > secs(150) && bound.since(when) < secs(160)));
    // No node takes a pod that is larger than all of it: nothing is tried.
    let mut too_large = large(0, 5);
    too_large.requests.cpu_milli = 7_500;
    let mut agent = workload("agent", 1, 0);
    (agent.kind, agent.requests.cpu_milli) = (Kind::DaemonSet, 1_000);
    let seen = run(&with_machines(with(with(world(&[2, 1, 1]), too_large), agent), 4), 1);
    assert!(scaled(&seen).is_empty() && seen.made().is_empty());
    assert!(!seen.pods(|fact| fact == PodFact::Unschedulable(Reason::Resources)).is_empty());
}

#[test]
fn the_deployment_that_wastes_least_and_no_more_than_its_maximum() {
    let mut scenario = with_machines(with(world(&[1, 1, 1]), large(0, 6)), 4);
    // Nodes of the last one are just large enough.
    let deployment = &mut scenario.kube.clusters[KUBE_CLUSTER].machine_deployments[MachineDeploymentId(2)];
    deployment.template.allocatable = Resources { cpu_milli: 6_000, memory: 1 << 30, pods: 110 };
    deployment.maximum = 3;
    let seen = run(&scenario, 1);
    let steps = scaled(&seen);
    assert_eq!((steps[0].1, steps[0].2), (MachineDeploymentId(2), 3), "{steps:?}");
    // The third pod gets a node of another, at the next scan.
    assert!(steps.len() == 2 && steps[1].2 == 2 && steps[1].0.since(steps[0].0) == secs(10), "{steps:?}");
    assert_eq!(seen.made().len(), 3);
}

/// The listing of GEP-20 has machines 25 minutes apart: 20 until one is taken back, 5 until the next is tried.
#[test]
fn twenty_five_minutes() {
    for seed in 0..5 {
        let scenario = with_machines(with(world(&[1, 1, 1]), in_zone(0, large(0, 2))), 4);
        let mut scenario = broken(scenario, 0, None, cloud(Some(CloudAnswer::Refused), None));
        scenario.duration = secs(2 * 3_600);
        let seen = run(&scenario, seed);
        let made: Vec<Time> = seen.made().iter().map(|(when, _)| *when).collect();
        let gaps: Vec<Duration> = made.windows(2).map(|pair| pair[1].since(pair[0])).collect();
        // Then 20 + 10, then 20 + 20.
        for (gap, minutes) in gaps.iter().zip([25, 30, 40]) {
            assert!(*gap >= secs(minutes * 60) && *gap < secs(minutes * 60 + 21), "{gaps:?}");
        }
        assert!(gaps.len() >= 3);
        let desired: Vec<u32> = scaled(&seen).iter().map(|(.., desired)| *desired).collect();
        assert_eq!(desired[..7], [2, 1, 2, 1, 2, 1, 2]);
    }
}

#[test]
fn a_deployment_that_fails_makes_room_for_another() {
    let scenario = with_machines(with(world(&[1, 1, 1]), large(0, 4)), 4);
    let fault = |zone| {
        Fault::CloudApi(CloudApi {
            zone: Some(ZoneId(zone)),
            create: Some(CloudAnswer::Refused),
            delete: None,
            attach: None,
            error_rate: 1.0,
        })
    };
    let scenario = broken(broken(scenario, 0, None, fault(0)), 0, None, fault(1));
    for seed in 0..6 {
        let seen = run(&scenario, seed);
        let last = *scaled(&seen).last().unwrap();
        assert_eq!((last.1, last.2), (MachineDeploymentId(2), 2), "seed {seed}: {:?}", scaled(&seen));
        assert_eq!(seen.pods(|fact| matches!(fact, PodFact::Bound(NodeName::Machine(_)))).len(), 1);
    }
}

#[test]
fn nothing_is_done_while_too_many_nodes_are_unready() {
    for (others, is_active) in [(4, false), (5, true)] {
        let mut scenario = with_machines(with(world(&[4, others]), large(0, 4 + others)), 8);
        // Their machines stay as they are.
        scenario.kube.clusters[KUBE_CLUSTER].timers.machines.health = secs(100_000);
        let seen = run(&broken(scenario, 100, None, cut_zone(ZoneId(0))), 1);
        assert_eq!(!scaled(&seen).is_empty(), is_active, "{others}");
        assert_eq!(seen.tainted().len(), 4);
    }
}

/// A cluster that gets nodes and loses them, in `(from, lasts, kind, which)`, seconds each.
fn grows_while_broken(zones: [u32; 3], pods: u32, minimum: u32, provision_s: u64, faults: &[(u64, u64, u8, u32)]) -> Scenario {
    let mut scenario = with(with(world(&zones), large(0, pods)), in_zone(0, workload("db", 1, 2)));
    scenario = with_machines(scenario, 5);
    let cluster = &mut scenario.kube.clusters[KUBE_CLUSTER];
    cluster.machine_deployments.iter_mut().for_each(|deployment| deployment.minimum = minimum);
    cluster.control_plane_namespaces = vec![NAMESPACE];
    cluster.timers.autoscaler.provision = secs(provision_s);
    let nodes: u32 = zones.iter().sum();
    for &(from, lasts, kind, which) in faults {
        let zone = ZoneId(which as u16 % 3);
        let fault = match kind {
            0 => crash(&scenario, NodeKey(which % nodes)),
            1 => cut_zone(zone),
            2 => Fault::ZonePower(ZonePower(FaultTarget::Named(zone))),
            3 => cloud(Some(CloudAnswer::Unavailable), None),
            4 => cloud(Some(CloudAnswer::OutOfStock), Some(CloudAnswer::Refused)),
            _ => cloud(Some(CloudAnswer::Refused), Some(CloudAnswer::Unavailable)),
        };
        scenario = broken(scenario, from, Some(lasts), fault);
    }
    scenario.duration = secs(5_400);
    scenario
}

/// A machine is gone at the very instant at which the kubelet of another joins.
#[test]
fn machines_and_kubelets_at_one_instant() {
    let faults = [(2_964, 1_459, 1, 0), (1_003, 2_213, 3, 0), (1_541, 1_826, 2, 0), (1_378, 704, 0, 3)];
    run(&grows_while_broken([3, 1, 1], 9, 0, 1_190, &faults), 15_761_565_972_889_158_966);
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(32))]
    #[test]
    fn scans_left_out_and_pauses_change_nothing(
        seed: u64, zones in prop::array::uniform3(1..4u32), pods in 1..10u32, minimum in 0..3u32, provision_s in 100..1_300u64,
        faults in prop::collection::vec((0..3_000u64, 1..2_500u64, 0..6u8, 0..12u32), 1..6),
    ) {
        let scenario = grows_while_broken(zones, pods, minimum, provision_s, &faults);
        let seen = run(&scenario, seed);
        prop_assert_eq!(&seen, &run_as(&scenario, seed, Stepping::FastForward, 7));
        prop_assert!(scaled(&seen).iter().all(|(.., desired)| *desired <= 5));
    }
}

/// The listing of GEP-20's outage in small: a zone is cut off and the cloud takes no calls. A pod whose volume is in that zone asks for
/// a machine that cannot be made; for as long as that is tried, the old one of the same deployment is not given up.
#[test]
fn pods_of_a_dead_zone_ask_for_machines_in_vain() {
    let db = Workload {
        kind: Kind::StatefulSet { parallel: true },
        volume: Some(VolumeTemplate::new(false, 1 << 30)),
        placed: vec![(PodTag::Ordinal(0), NodeKey(0))],
        member_range: MemberRange::default(),
        drainability: Drainability::default(),
        ..workload("db", 1, 1)
    };
    let mut scenario = with_machines(with(with(world(&[1, 1, 1]), workload("web", 0, 3)), db), 2);
    scenario.kube.clusters[KUBE_CLUSTER].control_plane_namespaces = vec![NAMESPACE];
    let scenario = broken(scenario, 600, None, cut_zone(ZoneId(0)));
    let mut scenario = broken(scenario, 600, None, cloud(Some(CloudAnswer::Refused), Some(CloudAnswer::Refused)));
    scenario.duration = secs(3_000);
    // Whoever is given up first would win otherwise.
    scenario.kube.clusters[KUBE_CLUSTER].timers.machines.health = secs(20 * 60);
    for seed in 0..10 {
        let seen = run(&scenario, seed);
        assert_eq!(
            scaled(&seen).first().map(|(_, deployment, desired)| (*deployment, *desired)),
            Some((MachineDeploymentId(0), 2))
        );
        assert!(scaled(&seen).iter().all(|(_, deployment, _)| *deployment == MachineDeploymentId(0)));
        let old = scenario.kube.clusters[KUBE_CLUSTER].nodes[NodeKey(0)].machine.unwrap();
        assert!(
            seen.machines().iter().all(|(_, name, _)| name.deployment == MachineDeploymentId(0)),
            "other zones' machines stay as they are"
        );
        let last = |name| seen.machines().into_iter().rfind(|(_, own, _)| *own == name).map(|(.., fact)| fact);
        // 2 min until the node is unknown, 5 until its pods leave, 5 to 6 until one is gone, 20 until the new machine is taken back.
        let (made, new) = seen.made()[0];
        assert!(made > at(600 + 700) && made < at(600 + 810), "{made:?}");
        assert_eq!(last(new), Some(MachineFact::Phase(Phase::Terminating)));
        assert_eq!(last(old), Some(MachineFact::Phase(Phase::Unknown)));
        // Stale pods are gone; of those on other nodes none was touched.
        let terminating = seen.pods(|fact| fact == PodFact::Terminating);
        assert_eq!(terminating.len(), 2);
        assert_eq!(seen.pods(|fact| fact == PodFact::Removed).len(), 2);
    }
}
