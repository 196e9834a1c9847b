//! Pods that like or dislike each other, nodes they would rather not be on, and volumes that find no room.

use super::world::{Seen, run, with, workload, world, zone_label};
use crate::ids::NodeKey;
use crate::kube::name::PodName;
use crate::kube::record::{PodFact, Reason};
use crate::kube::rule::labels::{Condition, NodeAffinity, Requirement, Symbol};
use crate::kube::rule::taints::{Effect, Taint};
use crate::kube::spec::placement::{Affinity, PodAffinity, Term};
use crate::kube::spec::{Kind, VolumeTemplate, Workload};
use crate::scenario::Scenario;

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
    PodAffinity { near, ..PodAffinity::default() }
}

fn away(away: Affinity) -> PodAffinity {
    PodAffinity { away, ..PodAffinity::default() }
}

/// Why pods of a workload found no node.
fn refused(seen: &Seen, app: u32) -> Vec<Reason> {
    let of = |pod: &PodName| pod.workload.0 == app;
    let pods = seen.pods(|fact| matches!(fact, PodFact::Refused(_)));
    let reasons = pods.into_iter().filter(|(_, pod)| of(pod)).flat_map(|(_, pod)| seen.of(pod));
    reasons.filter_map(|(_, fact)| if let PodFact::Refused(reason) = fact { Some(reason) } else { None }).collect()
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
    for node in [0, 2] {
        scenario.kube.planes[0].nodes[node].template.taints.push(taint);
    }
    for seed in 0..5 {
        assert_eq!(nodes(&run(&scenario, seed), 0, 3), [1], "seed {seed}");
    }
    scenario.kube.planes[0].nodes[1].template.taints = vec![Taint { effect: Effect::NoSchedule, ..taint }];
    assert_eq!(nodes(&run(&scenario, 1), 0, 3).len(), 1, "better than nowhere");
}

#[test]
fn a_node_takes_so_many_volumes() {
    let mut set = workload("set", 0, 5);
    (set.kind, set.volume) = (Kind::StatefulSet { parallel: true }, Some(VolumeTemplate { regional: true }));
    let mut scenario = two_workloads(&[1, 1], set, workload("web", 1, 4));
    scenario.kube.planes[0].nodes.iter_mut().for_each(|node| node.template.volumes = 2);
    let seen = run(&scenario, 1);
    assert_eq!(nodes(&seen, 0, 2), [0, 0, 1, 1]);
    assert_eq!(
        (refused(&seen, 0), nodes(&seen, 1, 2).len()),
        (vec![Reason::VolumeLimit], 4),
        "pods without volumes are no matter"
    );
}
