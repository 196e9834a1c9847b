//! Pods of nodes that are gone, and of nodes that come back.

use std::collections::BTreeSet;
use std::sync::Arc;

use super::world::{KUBE_CLUSTER, PARENT, Seen, at, broken, crash, cut, cut_zone, run, secs, with, workload, world};
use zonefall_core::ids::{NodeKey, ZoneId};
use zonefall_core::kernel::time::{Duration, Time};
use zonefall_core::kube::name::NodeName;
use zonefall_core::kube::name::PodName;
use zonefall_core::kube::record::{KubeRecord, NodeFact, PodFact, Ready};
use zonefall_core::kube::rule::taints::Effect;
use zonefall_core::kube::rule::zone_state::ZoneState;
use zonefall_core::scenario::{Fault, FaultTarget, Scenario, ZonePower};
use zonefall_core::sim::{Options, Simulation};

const LOST: NodeKey = NodeKey(1);

/// Two nodes in each of three zones, six pods: one on each.
fn six() -> Scenario {
    with(world(&[2, 2, 2]), workload("web", 0, 6))
}

fn lost_pod(seen: &Seen) -> PodName {
    let pods = seen.first_pods_on(LOST);
    assert_eq!(pods.len(), 1, "{seen:#?}");
    pods[0]
}

/// What was seen of a pod after the first second.
fn later(seen: &Seen, pod: PodName) -> Vec<(Time, PodFact)> {
    seen.of(pod).into_iter().filter(|(when, _)| *when > at(1)).collect()
}

fn facts(of: &[(Time, PodFact)]) -> Vec<PodFact> {
    of.iter().map(|(_, fact)| *fact).collect()
}

#[test]
fn pods_of_a_node_that_is_gone_are_replaced_elsewhere() {
    let scenario = six();
    let scenario = broken(scenario.clone(), 100, None, crash(&scenario, LOST));
    let seen = run(&scenario, 1);
    let old = later(&seen, lost_pod(&seen));
    // Nobody confirms that it has ended: it stays as it is.
    assert_eq!(facts(&old), [PodFact::Ready(false), PodFact::TaintEvicted, PodFact::Terminating]);
    let new: Vec<_> = seen.pods(|fact| fact == PodFact::Created).into_iter().filter(|(when, _)| *when > at(1)).collect();
    assert_eq!(new.len(), 1);
    let new = seen.of(new[0].1);
    assert!(matches!(
        facts(&new)[..],
        [PodFact::Created, PodFact::Bound(node), PodFact::Started { restarts: 0 }, PodFact::Ready(true)] if node != NodeName::Given(LOST)
    ));
    // Made at once, ready when it has started.
    assert!(new[0].0.since(old[1].0) < secs(1) && new[3].0.since(new[0].0) < secs(6), "{new:?}");
    assert_eq!(seen.nodes(Ready::Unknown).iter().map(|(_, node)| *node).collect::<Vec<_>>(), [LOST]);
}

#[test]
fn a_node_that_is_cut_off_for_less_than_its_pods_bear_keeps_them() {
    let scenario = six();
    let scenario = broken(scenario.clone(), 100, Some(200), cut(&scenario, LOST));
    let seen = run(&scenario, 1);
    let pod = later(&seen, lost_pod(&seen));
    // Its process never stopped.
    assert_eq!(facts(&pod), [PodFact::Ready(false), PodFact::Ready(true)]);
    assert!(pod[1].0 >= at(300) && pod[1].0 < at(310), "with the next renewal: {pod:?}");
    assert!(seen.pods(|fact| fact == PodFact::Terminating).is_empty());
    for effect in [Effect::NoSchedule, Effect::NoExecute] {
        let on = seen.node_facts(NodeFact::Unreachable(effect, true));
        let off = seen.node_facts(NodeFact::Unreachable(effect, false));
        assert_eq!((on.len(), off.len()), (1, 1), "{effect:?}");
    }
    // Not long enough to be noticed.
    let scenario = broken(six(), 100, Some(100), cut(&six(), LOST));
    assert!(later(&run(&scenario, 1), lost_pod(&seen)).is_empty());
}

#[test]
fn a_node_that_was_cut_off_too_long_ends_its_pods_when_it_is_back() {
    let scenario = six();
    let scenario = broken(scenario.clone(), 100, Some(1_000), cut(&scenario, LOST));
    let seen = run(&scenario, 1);
    let pod = later(&seen, lost_pod(&seen));
    assert_eq!(facts(&pod), [PodFact::Ready(false), PodFact::TaintEvicted, PodFact::Terminating, PodFact::Removed]);
    assert!(pod[3].0 >= at(1_102) && pod[3].0 < at(1_112), "{pod:?}");
}

#[test]
fn a_node_that_has_power_again_starts_its_pods_anew() {
    // Back before its lease counts as lost: only its processes were gone.
    let scenario = six();
    let back = broken(scenario.clone(), 100, Some(20), crash(&scenario, LOST));
    let seen = run(&back, 1);
    let pod = later(&seen, lost_pod(&seen));
    assert_eq!(facts(&pod), [PodFact::Ready(false), PodFact::Started { restarts: 1 }, PodFact::Ready(true)]);
    assert!(is_just_after(pod[2].0, 100 + 20 + 60 + 5), "power, boot, start");
    assert!(seen.nodes(Ready::Unknown).is_empty());
    // Back after its pods were told to end: they are not started again.
    let late = broken(scenario.clone(), 100, Some(1_000), crash(&scenario, LOST));
    let seen = run(&late, 1);
    let pod = later(&seen, lost_pod(&seen));
    assert_eq!(facts(&pod), [PodFact::Ready(false), PodFact::TaintEvicted, PodFact::Terminating, PodFact::Removed]);
    assert!(is_just_after(pod[3].0, 100 + 1_000 + 60));
}

/// Within the millisecond in which a kubelet that has booted reaches the API.
fn is_just_after(when: Time, s: u64) -> bool {
    when.since(at(s)) < Duration::from_millis(1)
}

#[test]
fn where_all_zones_are_gone_nothing_is_evicted() {
    let scenario = broken(six(), 100, Some(1_500), cut_zone(PARENT));
    let seen = run(&scenario, 1);
    let paused = |on| seen.0.iter().filter(move |(_, fact)| *fact == KubeRecord::EvictionPaused(on)).map(|(at, _)| *at);
    let (began, over) = (paused(true).collect::<Vec<_>>(), paused(false).collect::<Vec<_>>());
    assert_eq!((began.len(), over.len()), (1, 1));
    assert!(began[0] > at(210) && began[0] < at(230) && over[0] >= at(1_600) && over[0] < at(1_616), "{began:?} {over:?}");
    assert_eq!(seen.nodes(Ready::Unknown).len(), 6);
    assert_eq!(seen.nodes(Ready::True).len(), 6);
    // Tainted before the last node was missed, and freed then.
    assert!(seen.tainted().iter().all(|(when, _)| *when < began[0]));
    assert!(seen.pods(|fact| fact == PodFact::Terminating).is_empty());
    // One zone less: the others are evicted.
    let mut scenario = broken(broken(six(), 100, None, cut_zone(ZoneId(0))), 100, None, cut_zone(ZoneId(1)));
    scenario.duration = secs(1_000);
    let seen = run(&scenario, 1);
    assert_eq!(seen.tainted().len(), 4);
    assert_eq!(seen.pods(|fact| fact == PodFact::Terminating).len(), 4);
}

#[test]
fn a_small_zone_that_is_partially_disrupted_is_evicted_no_further() {
    let mut scenario = with(world(&[6, 1, 1]), workload("web", 0, 16));
    for node in 0..4 {
        scenario = broken(scenario.clone(), 100, None, crash(&scenario, NodeKey(node)));
    }
    let seen = run(&scenario, 1);
    let states = seen.0.iter().filter_map(|(_, fact)| match fact {
        KubeRecord::Zone(zone, state) => Some((*zone, *state)),
        _ => None,
    });
    assert_eq!(states.collect::<Vec<_>>(), [(ZoneId(0), ZoneState::PartialDisruption)]);
    assert_eq!(seen.nodes(Ready::Unknown).len(), 4);
    // Whoever was tainted was so before the fourth node was missed.
    let fourth = seen.nodes(Ready::Unknown)[3].0;
    assert!(seen.tainted().iter().all(|(when, _)| *when < fourth) && seen.tainted().len() <= 2, "{:?}", seen.tainted());
}

#[test]
fn what_happens_is_told_in_words() {
    let scenario = broken(six(), 100, Some(600), Fault::ZonePower(ZonePower(FaultTarget::Named(ZoneId(0)))));
    let seen = run(&scenario, 1);
    let cluster = &scenario.kube.clusters[KUBE_CLUSTER];
    let words: Vec<String> = seen.0.iter().map(|(_, fact)| fact.describe(cluster, &scenario)).collect();
    let pod = lost_pod(&seen).text(cluster);
    for expected in [
        "seed: node-0-1 is not ready: its kubelet sends no heartbeats".to_owned(),
        "seed: node-0-1 is tainted unreachable:NoExecute".to_owned(),
        "seed: node-0-1 is no longer tainted unreachable:NoSchedule".to_owned(),
        "seed: the node lifecycle controller sees zone-0 as fully disrupted".to_owned(),
        format!("seed: {pod} is created"),
        format!("seed: {pod} is bound to node-0-1"),
        format!("seed: {pod} is running"),
        format!("seed: {pod} is not ready"),
        format!("seed: {pod} is terminating"),
        format!("seed: {pod} is deleted"),
    ] {
        assert!(words.contains(&expected), "{expected} is not among {words:#?}");
    }
    let mut simulation = Simulation::new(Arc::new(scenario), 1, Options::default());
    let mut said = BTreeSet::new();
    while let Some(step) = simulation.step_described(&mut |_, _| {}) {
        said.extend(step.text);
    }
    for expected in [
        "seed: the node lifecycle controller checks all nodes",
        "seed: the taint manager observes changes of nodes and pods",
        "seed: the taint manager evicts a pod whose toleration has ended",
        "seed: the ReplicaSet controller observes changes of pods",
        "seed: the scheduler takes the next pod from its queue",
        "seed: kubelets observe changes of their pods",
        "seed: the kubelet of node-0-1 starts after a boot",
        "seed: the kubelet of node-0-1 renews its lease",
    ] {
        assert!(said.contains(expected), "{expected} is not among {said:#?}");
    }
}

#[test]
fn a_kubelet_that_waits_in_vain_renews_as_soon_as_the_api_answers() {
    let scenario = six();
    for (minutes, seed) in [(2, 1), (3, 2), (4, 3)] {
        let healed = at(100) + Duration::from_secs(60 * minutes);
        let scenario = broken(scenario.clone(), 100, Some(60 * minutes), cut(&scenario, LOST));
        let seen = run(&scenario, seed);
        let back = seen.nodes(Ready::True);
        let [(when, LOST)] = back[..] else { panic!("one node comes back: {back:?}") };
        assert!(when >= healed && when < healed + secs(1), "{minutes} min: {when:?}");
    }
}
