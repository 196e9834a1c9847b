//! Who makes pods and ends them: StatefulSets, DaemonSets, the scenario's own pods, fewer pods than before.

use std::collections::BTreeSet;

use super::world::{KUBE_CLUSTER, Seen, act, at, broken, crash, cut, run, run_with, secs, with, workload, world};
use zonefall_core::ids::{NodeKey, WorkloadId};
use zonefall_core::kernel::time::Time;
use zonefall_core::kube::cluster::KubeCluster;
use zonefall_core::kube::controller::disruption::evict;
use zonefall_core::kube::ctx::ClusterCtx;
use zonefall_core::kube::name::{PodName, PodTag};
use zonefall_core::kube::record::PodFact;
use zonefall_core::kube::rule::labels::{Condition, NodeAffinity, Requirement, Symbol};
use zonefall_core::kube::rule::taints::{Effect, Taint};
use zonefall_core::kube::spec::{Kind, Workload};
use zonefall_core::scenario::Scenario;

const W: WorkloadId = WorkloadId(0);
const LOST: NodeKey = NodeKey(1);

fn set(name: &str, replicas: u32, parallel: bool) -> Workload {
    let mut set = workload(name, 0, replicas);
    set.kind = Kind::StatefulSet { parallel };
    set
}

fn agents(name: &str) -> Workload {
    let mut agents = workload(name, 7, 0);
    agents.kind = Kind::DaemonSet;
    agents
}

fn pod(ordinal: u32) -> PodName {
    PodName { workload: W, tag: PodTag::Ordinal(ordinal) }
}

fn later(seen: &Seen, pod: PodName) -> Vec<(Time, PodFact)> {
    seen.of(pod).into_iter().filter(|(when, _)| *when > at(1)).collect()
}

fn facts(of: &[(Time, PodFact)]) -> Vec<PodFact> {
    of.iter().map(|(_, fact)| *fact).collect()
}

/// A set of three, one in each of three zones of two nodes; the second on the node that is lost.
fn three(parallel: bool) -> Scenario {
    let mut etcd = set("etcd", 3, parallel);
    etcd.placed = (0..3).map(|k| (PodTag::Ordinal(k), NodeKey(2 * k + u32::from(k == 0)))).collect();
    with(world(&[2, 2, 2]), etcd)
}

#[test]
fn given_pods_are_where_the_scenario_says_and_others_join_their_template() {
    let mut web = workload("kube-apiserver", 0, 3);
    let template = 1_976_390_699;
    web.placed = vec![(PodTag::Replica { template, suffix: 8_650_373 }, LOST)];
    let seen = run(&with(world(&[2, 2, 2]), web.clone()), 1);
    let scenario = with(world(&[2, 2, 2]), web);
    let made = seen.pods(|fact| fact == PodFact::Created);
    assert_eq!(made.len(), 3);
    let names: Vec<String> = made.iter().map(|(_, pod)| pod.text(&scenario.kube.clusters[KUBE_CLUSTER])).collect();
    assert_eq!(names[0], "kube-apiserver-5fcb7f4bff-vkrdh");
    assert!(names.iter().all(|name| name.starts_with("kube-apiserver-5fcb7f4bff-")), "{names:?}");
    assert_eq!(seen.node_of(made[0].1), Some(LOST));
    assert!(seen.of(made[0].1).contains(&(at(0), PodFact::Ready(true))));
}

#[test]
fn a_pod_of_a_set_on_a_vanished_node_holds_its_name_until_its_node_is_back() {
    for parallel in [false, true] {
        let scenario = three(parallel);
        let seen = run(&broken(scenario.clone(), 100, None, crash(&scenario, LOST)), 1);
        assert_eq!(facts(&later(&seen, pod(0))), [PodFact::Ready(false), PodFact::TaintEvicted, PodFact::Terminating]);
        // Nobody else is touched.
        assert!(later(&seen, pod(1)).is_empty() && later(&seen, pod(2)).is_empty());
        // Its node back: it has ended, and a successor of the same name is made.
        let seen = run(&broken(scenario.clone(), 100, Some(1_000), crash(&scenario, LOST)), 1);
        let pod = facts(&later(&seen, pod(0)));
        use PodFact::{Bound, Created, Ready, Removed, Started, TaintEvicted, Terminating};
        assert!(
            matches!(
                pod[..],
                [Ready(false), TaintEvicted, Terminating, Removed, Created, Bound(_), Started { restarts: 0 }, Ready(true)]
            ),
            "{pod:?}"
        );
    }
}

#[test]
fn a_set_in_order_starts_one_after_the_other() {
    for (parallel, apart) in [(false, 5), (true, 0)] {
        let mut scenario = three(parallel);
        let set = &mut scenario.kube.clusters[KUBE_CLUSTER].workloads[WorkloadId(0)];
        (set.replicas, set.placed) = (0, Vec::new());
        let seen = run_with(&scenario, 1, &[(100, 3)]);
        let ready = seen.pods(|fact| fact == PodFact::Ready(true));
        assert_eq!(ready.iter().map(|(_, pod)| *pod).collect::<Vec<_>>(), [pod(0), pod(1), pod(2)], "{seen:?}");
        for pair in ready.windows(2) {
            let gap = pair[1].0.since(pair[0].0);
            assert!(gap >= secs(apart) && gap < secs(apart + 1), "{gap:?}");
        }
    }
}

#[test]
fn sets_shrink_from_the_top() {
    for (parallel, apart) in [(false, 2), (true, 0)] {
        let seen = run_with(&three(parallel), 1, &[(100, 1)]);
        let gone = seen.pods(|fact| fact == PodFact::Removed);
        assert_eq!(gone.iter().map(|(_, pod)| *pod).collect::<BTreeSet<_>>(), BTreeSet::from([pod(1), pod(2)]));
        let ended: Vec<_> = [pod(2), pod(1)].map(|pod| later(&seen, pod)[0]).to_vec();
        let gap = ended[1].0.since(ended[0].0);
        assert!(gap >= secs(apart) && gap < secs(apart + 1), "{gap:?}");
    }
    // In order, nothing goes while one of those that stay is not ready.
    let scenario = three(false);
    let seen = run_with(&broken(scenario.clone(), 50, None, crash(&scenario, LOST)), 1, &[(200, 1)]);
    assert!(seen.pods(|fact| fact == PodFact::Removed).is_empty());
}

#[test]
fn agents_run_on_every_node_that_suits_them_and_stay() {
    let mut scenario = with(world(&[2, 2]), agents("node-exporter"));
    let mut zonal = agents("zonal");
    zonal.affinity =
        NodeAffinity(vec![vec![Requirement { key: Symbol::ZONE, is: Condition::In(vec![super::world::zone_label(0)]) }]]);
    scenario = with(scenario, zonal);
    let taints = &mut scenario.kube.clusters[KUBE_CLUSTER].nodes[NodeKey(3)].template.taints;
    taints.push(Taint { key: Symbol(77), value: None, effect: Effect::NoSchedule });
    for fault in [crash(&scenario, LOST), cut(&scenario, LOST)] {
        let seen = run(&broken(scenario.clone(), 100, Some(2_000), fault), 1);
        let made = seen.pods(|fact| fact == PodFact::Created);
        let on: Vec<_> = made.iter().map(|(_, pod)| (pod.workload.0, seen.node_of(*pod).expect("it is bound").0)).collect();
        assert_eq!(on, [(0, 0), (0, 1), (0, 2), (1, 0), (1, 1)]);
        assert!(seen.tainted().iter().any(|(_, node)| *node == LOST));
        assert!(seen.pods(|fact| fact == PodFact::Terminating).is_empty());
    }
}

#[test]
fn fewer_replicas_cost_those_that_run_worst() {
    // Nodes of room for two: the last of seven has no place.
    let mut web = workload("web", 0, 7);
    web.requests.cpu_milli = 4_000;
    let seen = run_with(&with(world(&[1, 1, 1]), web.clone()), 1, &[(100, 6)]);
    let gone = seen.pods(|fact| fact == PodFact::Removed);
    assert_eq!(gone.len(), 1);
    assert!(matches!(
        facts(&seen.of(gone[0].1))[..],
        [PodFact::Created, PodFact::Unschedulable(_), PodFact::Terminating, PodFact::Removed]
    ));
    // One that is not ready goes before those that are; then one where two stand.
    web.replicas = 4;
    let scenario = with(world(&[1, 1, 1]), web);
    let seen = run_with(&broken(scenario.clone(), 100, None, crash(&scenario, LOST)), 1, &[(300, 3)]);
    let ended = seen.pods(|fact| fact == PodFact::Terminating);
    assert_eq!(seen.node_of(ended[0].1), Some(LOST), "{ended:?}");
    let seen = run_with(&scenario, 1, &[(300, 3)]);
    let ended = seen.pods(|fact| fact == PodFact::Terminating);
    assert_eq!(ended.len(), 1);
    let crowded = seen.node_of(ended[0].1).expect("it has a node");
    assert_eq!(seen.first_pods_on(crowded).len(), 2);
}

#[test]
fn a_budget_is_spent_by_evictions_and_by_pods_that_are_not_ready() {
    let mut web = workload("web", 0, 3);
    (web.max_unavailable, web.start) = (Some(1), secs(30));
    let scenario = with(world(&[1, 1, 1]), web.clone());
    let answers = |scenario: &Scenario, budget: bool| {
        let ask = |cluster: &mut KubeCluster, k: usize, ctx: &mut ClusterCtx<'_>| {
            // Twice at once, then while the successor starts, then when it is ready.
            for _ in 0..if k == 0 { 2 } else { 1 } {
                let ready = cluster.store().pods_of(W).filter(|(_, pod)| pod.ready && !pod.terminating).map(|(id, _)| id).next();
                let granted = evict(ready.expect("one is"), cluster.store_mut(), ctx);
                assert!(budget || granted == Ok(()));
            }
        };
        let seen = act(scenario, 1, ask, [100, 120, 140].into_iter());
        let answer = |(when, pod): (Time, PodName)| {
            seen.of(pod).into_iter().filter_map(move |(at, fact)| match fact {
                PodFact::Evicted(granted) if at == when => Some(granted),
                _ => None,
            })
        };
        seen.pods(|fact| matches!(fact, PodFact::Evicted(_))).into_iter().flat_map(answer).collect::<Vec<_>>()
    };
    assert_eq!(answers(&scenario, true), [true, false, false, true]);
    let mut free = scenario.clone();
    free.kube.clusters[KUBE_CLUSTER].workloads[WorkloadId(0)].max_unavailable = None;
    assert_eq!(answers(&free, false), [true; 4]);
    // A node that is gone spends it; its own pod, not ready, may go all the same.
    let scenario = broken(scenario.clone(), 50, None, crash(&scenario, LOST));
    let ask = |cluster: &mut KubeCluster, _: usize, ctx: &mut ClusterCtx<'_>| {
        let pods: Vec<_> = cluster.store().pods_of(W).map(|(id, pod)| (id, pod.ready)).collect();
        for (id, ready) in pods {
            assert_eq!(evict(id, cluster.store_mut(), ctx).is_ok(), !ready);
        }
    };
    act(&scenario, 1, ask, [300].into_iter());
}
