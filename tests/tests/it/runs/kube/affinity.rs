//! Pods that like or dislike each other, nodes they would rather not be on, and volumes that find no room.

use std::cell::Cell;

use proptest::prelude::*;

use super::world::{KUBE_CLUSTER, Seen, act, at, broken, crash, over, run, run_with, secs, with, workload, world, zone_label};
use zonefall_core::ids::{NodeKey, WorkloadId};
use zonefall_core::kernel::rng::Purpose;
use zonefall_core::kube::controller::placement::{Demand, place};
use zonefall_core::kube::controller::scheduler::Scheduler;
use zonefall_core::kube::name::PodName;
use zonefall_core::kube::record::{PodFact, Reason};
use zonefall_core::kube::rule::labels::{Condition, NodeAffinity, Requirement, Symbol};
use zonefall_core::kube::rule::taints::{Effect, Taint};
use zonefall_core::kube::spec::placement::{Affinity, PodAffinity, Term};
use zonefall_core::kube::spec::{Kind, VolumeTemplate, Workload};
use zonefall_core::scenario::Scenario;

/// Pods of another workload.
fn term(key: Symbol, about: &Workload) -> Term {
    Term { key, selector: about.selector.clone() }
}

fn required(term: Term) -> Affinity {
    Affinity { required: vec![term], preferred: Vec::new() }
}

fn preferred(weight: u32, term: Term) -> Affinity {
    Affinity { required: Vec::new(), preferred: vec![(weight, term)] }
}

fn near(near: Affinity) -> PodAffinity {
    PodAffinity { affinity: near, ..PodAffinity::default() }
}

fn away(away: Affinity) -> PodAffinity {
    PodAffinity { anti_affinity: away, ..PodAffinity::default() }
}

/// Why pods of a workload found no node.
fn refused(seen: &Seen, app: u32) -> Vec<Reason> {
    let of = |pod: &PodName| pod.workload.0 == app;
    let pods = seen.pods(|fact| matches!(fact, PodFact::Unschedulable(_)));
    let reasons = pods.into_iter().filter(|(_, pod)| of(pod)).flat_map(|(_, pod)| seen.of(pod));
    reasons.filter_map(|(_, fact)| if let PodFact::Unschedulable(reason) = fact { Some(reason) } else { None }).collect()
}

/// The nodes of a workload's pods at the start.
fn nodes(seen: &Seen, app: u32, of: u32) -> Vec<u32> {
    let on = |node: u32| seen.first_pods_on(NodeKey(node)).into_iter().filter(|pod| pod.workload.0 == app).map(move |_| node);
    (0..of).flat_map(on).collect()
}

fn two_workloads(nodes_per_zone: &[u32], first: Workload, second: Workload) -> Scenario {
    with(with(world(nodes_per_zone), first), second)
}

#[test]
fn those_that_keep_out_of_each_others_zone_wait_for_a_zone() {
    for seed in 0..5 {
        let mut web = workload("web", 0, 4);
        web.pod_affinity = away(required(term(Symbol::ZONE, &web)));
        let seen = run(&with(world(&[2, 2, 2]), web), seed);
        let zones: Vec<u32> = nodes(&seen, 0, 6).into_iter().map(|node| node / 2).collect();
        assert_eq!((zones, refused(&seen, 0)), (vec![0, 1, 2], vec![Reason::PodAntiAffinity]), "seed {seed}");
    }
}

#[test]
fn a_dislike_of_those_that_are_there_counts() {
    let mut lonely = workload("lonely", 0, 2);
    let web = workload("web", 1, 1);
    lonely.pod_affinity = away(required(term(Symbol::HOSTNAME, &web)));
    let seen = run(&two_workloads(&[2], lonely.clone(), web.clone()), 1);
    assert_eq!((nodes(&seen, 0, 2), nodes(&seen, 1, 2)), (vec![0, 1], vec![]));
    assert_eq!(refused(&seen, 1), [Reason::ExistingAntiAffinity]);
    // The other way round only those that dislike wait.
    let mut web = workload("web", 0, 2);
    let mut lonely = workload("lonely", 1, 1);
    lonely.pod_affinity = away(required(term(Symbol::HOSTNAME, &web)));
    web.pod_affinity = away(preferred(100, term(Symbol::HOSTNAME, &web)));
    let seen = run(&two_workloads(&[2], web, lonely), 1);
    assert_eq!((nodes(&seen, 0, 2), refused(&seen, 1)), (vec![0, 1], vec![Reason::PodAntiAffinity]));
}

#[test]
fn a_series_stays_in_the_zone_of_its_first() {
    for seed in 0..5 {
        let mut web = workload("web", 0, 4);
        web.pod_affinity = near(required(term(Symbol::ZONE, &web)));
        let seen = run(&with(world(&[2, 2, 2]), web), seed);
        let zones: Vec<u32> = nodes(&seen, 0, 6).into_iter().map(|node| node / 2).collect();
        assert!(zones.len() == 4 && zones.iter().all(|zone| *zone == zones[0]), "seed {seed}: {zones:?}");
    }
    let (other, mut web) = (workload("other", 1, 0), workload("web", 0, 1));
    web.pod_affinity = near(required(term(Symbol::ZONE, &other)));
    let seen = run(&two_workloads(&[1, 1], web, other), 1);
    assert_eq!(refused(&seen, 0), [Reason::PodAffinity], "nobody it must be near to is there");
}

#[test]
fn preferences_draw_and_push() {
    for seed in 0..5 {
        // Spreading alone would take the zone that is empty.
        let anchor = Workload { affinity: in_zone(1), ..workload("anchor", 0, 1) };
        let mut web = workload("web", 1, 1);
        web.pod_affinity = near(preferred(10, term(Symbol::ZONE, &anchor)));
        let seen = run(&two_workloads(&[1, 1, 1], anchor.clone(), web.clone()), seed);
        assert_eq!((nodes(&seen, 0, 3), nodes(&seen, 1, 3)), (vec![1], vec![1]), "drawn under seed {seed}");
        web.pod_affinity = away(preferred(10, term(Symbol::ZONE, &anchor)));
        let seen = run(&two_workloads(&[1, 1], anchor, web), seed);
        assert_eq!(nodes(&seen, 1, 2), [0], "pushed under seed {seed}");
    }
}

fn in_zone(zone: u32) -> NodeAffinity {
    NodeAffinity(vec![vec![Requirement { key: Symbol::ZONE, is: Condition::In(vec![zone_label(zone)]) }]])
}

#[test]
fn a_node_that_repels_is_the_last_choice() {
    let mut scenario = with(world(&[3]), workload("web", 0, 1));
    let taint = Taint { key: Symbol(500), value: None, effect: Effect::PreferNoSchedule };
    for node in [NodeKey(0), NodeKey(2)] {
        scenario.kube.clusters[KUBE_CLUSTER].nodes[node].template.taints.push(taint);
    }
    for seed in 0..5 {
        assert_eq!(nodes(&run(&scenario, seed), 0, 3), [1], "seed {seed}");
    }
    scenario.kube.clusters[KUBE_CLUSTER].nodes[NodeKey(1)].template.taints = vec![Taint { effect: Effect::NoSchedule, ..taint }];
    assert_eq!(nodes(&run(&scenario, 1), 0, 3).len(), 1, "better than nowhere");
}

#[test]
fn a_node_takes_so_many_volumes() {
    let mut set = workload("set", 0, 5);
    (set.kind, set.volume) = (Kind::StatefulSet { parallel: true }, Some(VolumeTemplate::new(true, 1 << 30)));
    let mut scenario = two_workloads(&[1, 1], set, workload("web", 1, 4));
    scenario.kube.clusters[KUBE_CLUSTER].nodes.iter_mut().for_each(|node| node.template.volumes = 2);
    let seen = run(&scenario, 1);
    assert_eq!(nodes(&seen, 0, 2), [0, 0, 1, 1]);
    assert_eq!(
        (refused(&seen, 0), nodes(&seen, 1, 2).len()),
        (vec![Reason::VolumeLimit], 4),
        "pods without volumes are no matter"
    );
}

/// Workloads that leave no room for each other, each with another reason to wait, on nodes that come and go.
fn crowd(crashes: &[(u64, u32, u64)]) -> Scenario {
    let mut scenario = world(&[2, 2, 1]);
    scenario.duration = secs(2_400);
    let mut spread = workload("spread", 0, 5);
    spread.spread = vec![over(Symbol::ZONE, 1, &spread), over(Symbol::HOSTNAME, 1, &spread)];
    let mut apart = workload("apart", 1, 4);
    apart.pod_affinity = away(required(term(Symbol::ZONE, &apart)));
    let mut series = workload("series", 2, 3);
    series.pod_affinity = near(required(term(Symbol::ZONE, &series)));
    let mut shy = workload("shy", 3, 2);
    shy.pod_affinity = away(required(term(Symbol::HOSTNAME, &series)));
    let mut set = workload("set", 4, 3);
    (set.kind, set.volume) = (Kind::StatefulSet { parallel: true }, Some(VolumeTemplate::new(false, 1 << 30)));
    let [mut bulk, mut large] = [workload("bulk", 5, 2), workload("large", 6, 5)];
    (bulk.requests.cpu_milli, large.requests.cpu_milli) = (5_500, 5_500);
    for one in [spread, apart, series, shy, set, bulk, large] {
        scenario = with(scenario, one);
    }
    scenario.kube.clusters[KUBE_CLUSTER].nodes.iter_mut().for_each(|node| node.template.volumes = 1);
    for (at, node, lasts) in crashes {
        let fault = crash(&scenario, NodeKey(*node));
        scenario = broken(scenario, *at, Some(*lasts), fault);
    }
    scenario
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(12))]

    /// Whoever is not looked at would be refused.
    #[test]
    fn no_pod_sleeps_that_could_be_placed(
        seed in 0..100_u64,
        crashes in prop::collection::vec((1..900_u64, 0..5_u32, 100..900_u64), 1..4),
        less in 0..60_usize,
    ) {
        let scenario = crowd(&crashes);
        let unschedulable = Cell::new(0);
        act(&scenario, seed, |cluster, k, ctx| {
            if k == less {
                for id in [2, 5] {
                    cluster.store_mut().set_desired(WorkloadId(id), 0);
                }
            }
            for id in cluster.get::<Scheduler>().unschedulable() {
                let pod = cluster.store().pod(id).expect("a pod that waits is there");
                let mut tie = ctx.draws(Purpose::Tie, 0).draw(0);
                let placed = place(Demand::of(pod, cluster.store()), ctx.spec, cluster.store(), &mut tie);
                assert!(placed.is_err(), "{pod:?} could be on {placed:?} at {:?}", ctx.now);
                unschedulable.set(unschedulable.get() + 1);
            }
        }, (10..2_400).step_by(15));
        prop_assert!(unschedulable.get() > 0, "nobody waits");
    }
}

#[test]
fn who_waits_for_company_is_looked_at_when_it_comes() {
    let (anchor, mut web) = (workload("anchor", 0, 0), workload("web", 1, 1));
    web.pod_affinity = near(required(term(Symbol::ZONE, &anchor)));
    let seen = run_with(&two_workloads(&[1, 1], anchor, web), 1, &[(1_000, 1)]);
    let bound = seen.pods(|fact| matches!(fact, PodFact::Bound(_)));
    let [(first, anchor), (second, web)] = bound[..] else { panic!("{bound:?}") };
    assert_eq!((anchor.workload.0, web.workload.0), (0, 1));
    assert!(first >= at(1_000) && second.since(first) < secs(1), "{first:?}, {second:?}");
    assert_eq!(seen.node_of(anchor), seen.node_of(web));
}
