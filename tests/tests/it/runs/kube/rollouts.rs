//! Roll-outs: pods of a new revision in the place of those before it.

use std::collections::{BTreeMap, BTreeSet};

use super::world::{Seen, act, at, over, secs, with, workload, world};
use zonefall_core::ids::{NodeKey, WorkloadId};
use zonefall_core::kernel::time::Time;
use zonefall_core::kube::name::{PodName, PodTag};
use zonefall_core::kube::record::{KubeRecord, PodFact, Reason};
use zonefall_core::kube::rule::labels::Symbol;
use zonefall_core::kube::spec::int_or_percent::IntOrPercent::{Int, Percent};
use zonefall_core::kube::spec::placement::{Affinity, PodAffinity, Term};
use zonefall_core::kube::spec::{Kind, Rollout, Workload};
use zonefall_core::scenario::Scenario;

const W: WorkloadId = WorkloadId(0);

/// What happens when the first workload is rolled out anew at 100 s.
fn rolled(scenario: &Scenario, seed: u64) -> Seen {
    act(scenario, seed, |cluster, _, ctx| cluster.store_mut().roll(W, ctx), [100].into_iter())
}

/// Pods that are to stay and, of these, those that are ready, after each record.
fn course(seen: &Seen) -> Vec<(usize, usize)> {
    let (mut active, mut ready) = (BTreeSet::new(), BTreeSet::new());
    let mut step = |(when, record): &(Time, KubeRecord)| {
        let KubeRecord::Pod(pod, fact) = record else { return None };
        match fact {
            PodFact::Created => drop(active.insert(*pod)),
            PodFact::Ready(true) => drop(ready.insert(*pod)),
            PodFact::Ready(false) => drop(ready.remove(pod)),
            PodFact::Terminating => {
                active.remove(pod);
                ready.remove(pod);
            }
            _ => {}
        }
        (*when >= at(100)).then_some((active.len(), ready.len()))
    };
    seen.0.iter().filter_map(&mut step).collect()
}

/// The hash of a pod's template.
fn template(pod: PodName) -> u32 {
    let PodTag::Replica { template, .. } = pod.tag else { panic!("{pod:?} is no Deployment's") };
    template
}

/// The same of pods that are there in the end.
fn templates(seen: &Seen) -> Vec<u32> {
    let gone: BTreeSet<PodName> = seen.pods(|fact| fact == PodFact::Removed).into_iter().map(|(_, pod)| pod).collect();
    let made = seen.pods(|fact| fact == PodFact::Created).into_iter().map(|(_, pod)| pod);
    made.filter(|pod| !gone.contains(pod)).map(template).collect()
}

#[test]
fn a_rollout_keeps_within_its_bounds_and_ends() {
    // Replicas, surge, unavailable; the most pods, the fewest ready ones.
    for (replicas, max_surge, max_unavailable, most, fewest) in [
        (4, Percent(25), Percent(25), 5, 3),
        (3, Percent(25), Percent(25), 4, 3),
        (3, Int(0), Int(1), 3, 2),
        (5, Percent(100), Int(0), 10, 5),
        (1, Percent(25), Percent(25), 2, 1),
        (3, Int(0), Int(0), 3, 2),
    ] {
        let web = Workload { rollout: Rollout { max_surge, max_unavailable }, ..workload("web", 0, replicas) };
        let seen = rolled(&with(world(&[2, 2, 2]), web), 1);
        let course = course(&seen);
        let found = (course.iter().map(|(all, _)| all).max(), course.iter().map(|(_, ready)| ready).min());
        assert_eq!(found, (Some(&most), Some(&fewest)), "{max_surge}, {max_unavailable} of {replicas}");
        assert_eq!(course.last(), Some(&(replicas as usize, replicas as usize)));
        let (first, after) = (template(seen.pods(|fact| fact == PodFact::Created)[0].1), templates(&seen));
        assert!(after[0] != first && after == vec![after[0]; replicas as usize], "{first}, {after:?}");
    }
}

/// A pod for each of three zones, none in that of another.
fn one_per_zone(rollout: Rollout) -> Scenario {
    let mut web = Workload { rollout, ..workload("web", 0, 3) };
    let term = Term { key: Symbol::ZONE, selector: web.selector.clone() };
    web.pod_affinity =
        PodAffinity { anti_affinity: Affinity { required: vec![term], preferred: Vec::new() }, ..PodAffinity::default() };
    with(world(&[2, 2, 2]), web)
}

#[test]
fn where_each_has_its_own_zone_none_can_come_before_one_has_gone() {
    let seen = rolled(&one_per_zone(Rollout::default()), 1);
    assert_eq!(course(&seen).last(), Some(&(4, 3)), "three of the old, and a fourth that waits");
    assert_eq!(seen.pods(|fact| fact == PodFact::Unschedulable(Reason::PodAntiAffinity)).len(), 1);
    let seen = rolled(&one_per_zone(Rollout { max_surge: Int(0), max_unavailable: Int(1) }), 1);
    assert_eq!(course(&seen).last(), Some(&(3, 3)));
    assert!(templates(&seen).iter().all(|own| *own == templates(&seen)[0]));
}

/// Pods per zone in the end, of two nodes in each.
fn per_zone(seen: &Seen) -> Vec<usize> {
    let gone: BTreeSet<PodName> = seen.pods(|fact| fact == PodFact::Removed).into_iter().map(|(_, pod)| pod).collect();
    let made = seen.pods(|fact| fact == PodFact::Created).into_iter().map(|(_, pod)| pod);
    let mut zones: BTreeMap<u32, usize> = (0..3).map(|zone| (zone, 0)).collect();
    for NodeKey(node) in made.filter(|pod| !gone.contains(pod)).filter_map(|pod| seen.node_of(pod)) {
        *zones.entry(node / 2).or_default() += 1;
    }
    zones.into_values().collect()
}

/// kubernetes/kubernetes#98215: a roll-out leaves pods as those before it made it place them.
#[test]
fn spread_by_rollout_is_even_after_it() {
    let uneven = |per_rollout: bool| {
        let mut web = workload("web", 0, 4);
        web.spread = vec![over(Symbol::ZONE, 1, &web)];
        web.spread[0].per_rollout = per_rollout;
        web.rollout = Rollout { max_surge: Int(2), max_unavailable: Int(0) };
        let scenario = with(world(&[2, 2, 2]), web);
        let zones = (0..8).map(|seed| per_zone(&rolled(&scenario, seed)));
        zones.filter(|zones| zones.iter().max() > zones.iter().min().map(|least| least + 1).as_ref()).count()
    };
    assert_eq!(uneven(true), 0);
    assert!(uneven(false) > 0, "those that go have pushed the others together");
}

#[test]
fn a_set_is_rolled_from_the_top_one_after_the_other() {
    for parallel in [false, true] {
        let set = Workload { kind: Kind::StatefulSet { parallel }, ..workload("set", 0, 3) };
        let seen = rolled(&with(world(&[1, 1, 1]), set), 1);
        let after =
            |fact: PodFact| seen.pods(|own| own == fact).into_iter().filter(|(when, _)| *when >= at(100)).collect::<Vec<_>>();
        let (ended, ready) = (after(PodFact::Terminating), after(PodFact::Ready(true)));
        let ordinals = |pods: &[(Time, PodName)]| pods.iter().map(|(_, pod)| pod.tag).collect::<Vec<_>>();
        assert_eq!(ordinals(&ended), [2, 1, 0].map(PodTag::Ordinal), "parallel: {parallel}");
        assert_eq!(ordinals(&ready), ordinals(&ended));
        for (next, before) in ended[1..].iter().zip(&ready) {
            assert!(next.0 > before.0 && next.0.since(before.0) < secs(1), "{next:?} after {before:?}");
        }
    }
}
