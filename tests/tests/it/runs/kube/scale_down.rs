//! Nodes that the autoscaler takes away.

use std::collections::{BTreeMap, BTreeSet};

use proptest::prelude::*;

use super::autoscaling::{large, scaled};
use super::maintenance::asked;
use super::node_groups::{lax, pool, pool_over, sizes};
use super::world::{KUBE_CLUSTER, Seen, at, broken, cut_zone, run, run_as, secs, workload};
use zonefall_core::ids::{WorkloadId, ZoneId};
use zonefall_core::kernel::time::Time;
use zonefall_core::kube::record::{KubeRecord, NodeFact, PodFact};
use zonefall_core::kube::spec::autoscaler::{ClusterAutoscaler, NodeCount, ScaleDownOptions};
use zonefall_core::kube::spec::int_or_percent::IntOrPercent;
use zonefall_core::kube::spec::{Budget, BudgetLimit, PodSelector, Resources, Task, UnhealthyPods, Workload, WorkloadScale};
use zonefall_core::scenario::Scenario;
use zonefall_core::sim::Stepping;

pub(super) fn options() -> ClusterAutoscaler {
    ClusterAutoscaler { scale_down: Some(ScaleDownOptions::default()), ..lax(NodeCount::Materialized) }
}

pub(super) fn scale(scenario: Scenario, second: u64, replicas: u32) -> Scenario {
    asked(scenario, second, Task::ScaleWorkload(WorkloadScale { workload: WorkloadId(0), replicas }))
}

/// Pods of a quarter of a node.
pub(super) fn small(replicas: u32, max_unavailable: Option<u32>) -> Workload {
    let requests = Resources { cpu_milli: 2_000, memory: 1 << 30, pods: 1 };
    Workload { requests, max_unavailable, ..workload("small", 0, replicas) }
}

/// A node in each zone, with small pods.
pub(super) fn quarters(replicas: u32, max_unavailable: Option<u32>) -> Scenario {
    let mut scenario = pool([1, 1, 1], 6, 1, options());
    let cluster = &mut scenario.kube.clusters[KUBE_CLUSTER];
    cluster.workloads[WorkloadId(0)] = small(replicas, max_unavailable);
    scenario.duration = secs(2 * 3_600);
    scenario
}

#[test]
fn empty_nodes_go_together_once_they_were_not_needed_for_long_enough() {
    let mut scenario = scale(scale(pool([2, 1, 1], 8, 4, options()), 600, 8), 3_000, 4);
    scenario.duration = secs(3 * 3_600);
    let seen = run(&scenario, 1);
    let all: Vec<u32> = sizes(&[2, 1, 1], &seen).iter().map(|groups| groups.iter().sum()).collect();
    assert_eq!((all[0], all.iter().max(), all[all.len() - 1]), (4, Some(&8), 4), "{all:?}");
    let steps = scaled(&seen);
    let [.., (last, ..)] = steps[..] else { panic!("the pool is scaled") };
    let together = steps.iter().filter(|(when, ..)| *when == last).count();
    // 50 min until pods go, 30 min unneeded; the scale-up was more than an hour before.
    assert!(last >= at(3_000 + 1_800) && last < at(3_000 + 1_800 + 30), "{last:?}");
    assert!(together >= 2, "empty nodes of several groups go in one scan: {steps:?}");
}

#[test]
fn nothing_goes_within_an_hour_of_a_scale_up() {
    let mut scenario = scale(scale(pool([2, 1, 1], 8, 4, options()), 600, 8), 700, 4);
    scenario.duration = secs(3 * 3_600);
    let seen = run(&scenario, 1);
    let first = scaled(&seen)[0].0;
    let grown = scaled(&seen).iter().take_while(|(when, ..)| *when == first).count();
    let gone: Time = scaled(&seen)[grown].0;
    assert!(gone.since(first) >= secs(3_600) && gone.since(first) < secs(3_620), "{:?}", gone.since(first));
}

#[test]
fn a_node_whose_pods_fit_elsewhere_goes_with_a_drain_and_its_pods_run_on_another() {
    let seen = run(&quarters(3, None), 1);
    assert_eq!(sizes(&[1, 1, 1], &seen).last().map(|groups| groups.iter().sum()), Some(1));
    assert_eq!(seen.pods(|fact| fact == PodFact::Evicted(true)).len(), 2, "one pod on each of two nodes");
}

#[test]
fn a_budget_that_allows_nothing_keeps_a_node() {
    let seen = run(&quarters(3, Some(0)), 1);
    assert!(scaled(&seen).is_empty() && seen.pods(|fact| matches!(fact, PodFact::Evicted(_))).is_empty());
}

#[test]
fn the_minimum_of_a_group_keeps_its_nodes() {
    let mut scenario = quarters(3, None);
    scenario.kube.clusters[KUBE_CLUSTER].controllers.cluster_autoscaler =
        Some(ClusterAutoscaler { sizing: zonefall_core::kube::spec::autoscaler::Sizing::Static, ..options() });
    for deployment in &mut scenario.kube.clusters[KUBE_CLUSTER].machine_deployments {
        deployment.minimum = 1;
    }
    assert!(scaled(&run(&scenario, 1)).is_empty());
}

/// A budget of the pods.
#[derive(Clone, Copy, Debug)]
enum Limit {
    /// Of their workload.
    Workload(u32),
    /// An object of its own.
    Named(BudgetLimit),
}

impl Limit {
    /// Pods that may be evicted, of those that are wanted and healthy.
    fn allows(self, wanted: u32, healthy: u32) -> u32 {
        let share = |part: IntOrPercent| match part {
            IntOrPercent::Int(pods) => pods,
            IntOrPercent::Percent(percent) => (wanted * percent).div_ceil(100),
        };
        let least = match self {
            Self::Workload(most) => wanted.saturating_sub(most),
            Self::Named(BudgetLimit::MaxUnavailable(most)) => wanted.saturating_sub(share(most)),
            Self::Named(BudgetLimit::MinAvailable(least)) => share(least),
        };
        healthy.saturating_sub(least)
    }
}

fn limits() -> impl Strategy<Value = Limit> {
    let part = prop_oneof![(0..3_u32).prop_map(IntOrPercent::Int), (0..=100_u32).prop_map(IntOrPercent::Percent)];
    let named = (part, any::<bool>()).prop_map(|(part, maximum)| {
        Limit::Named(if maximum { BudgetLimit::MaxUnavailable(part) } else { BudgetLimit::MinAvailable(part) })
    });
    prop_oneof![(0..3_u32).prop_map(Limit::Workload), named]
}

/// At each instant at which nodes were chosen: pods on them, and pods that were healthy at any time of the second before.
fn decisions(seen: &Seen) -> Vec<(Time, u32, u32)> {
    let (mut nodes, mut ready) = (BTreeMap::new(), BTreeSet::new());
    let mut all: Vec<(Time, u32, u32)> = Vec::new();
    let mut healthy = vec![(Time::ZERO, 0_u32)];
    for (when, record) in &seen.0 {
        match *record {
            KubeRecord::Pod(pod, PodFact::Bound(node)) => drop(nodes.insert(pod, node)),
            KubeRecord::Pod(pod, PodFact::Ready(true)) => drop(ready.insert(pod)),
            KubeRecord::Pod(pod, PodFact::Ready(false) | PodFact::Terminating) => drop(ready.remove(&pod)),
            KubeRecord::Pod(pod, PodFact::Removed) => {
                nodes.remove(&pod);
                ready.remove(&pod);
            }
            KubeRecord::Node(node, NodeFact::ToBeDeleted) => {
                let pods = nodes.values().filter(|other| **other == node).count() as u32;
                let recent = healthy.iter().rev().take_while(|(until, _)| when.since(*until) < secs(1)).map(|(_, pods)| *pods);
                let most = recent.chain([ready.len() as u32]).max().unwrap_or(0);
                match all.last_mut() {
                    Some((last, all, _)) if last == when => *all += pods,
                    _ => all.push((*when, pods, most)),
                }
            }
            _ => {}
        }
        // What was until now.
        healthy.push((*when, ready.len() as u32));
    }
    all
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(24))]
    #[test]
    fn scale_down_breaks_no_budget_at_its_decision_and_scans_left_out_change_nothing(
        seed: u64,
        nodes in prop::collection::vec(1..3_u32, 2..=5),
        minimum in 0..3_u32,
        pods in prop::array::uniform3(0..14_u32),
        limit in prop::option::of(limits()),
        cut in prop::option::of((0..5_u16, 0..3_000_u64)),
        large_pods: bool,
    ) {
        let scenario = pool_over(&nodes, (minimum, 9), pods[0], options());
        let mut scenario = scale(scale(scenario, 900, pods[1]), 4_000, pods[2]);
        let template = if large_pods { large(0, pods[0]) } else { small(pods[0], None) };
        let cluster = &mut scenario.kube.clusters[KUBE_CLUSTER];
        let max_unavailable = limit.and_then(|limit| if let Limit::Workload(most) = limit { Some(most) } else { None });
        let workload = Workload { max_unavailable, ..template };
        if let Some(Limit::Named(limit)) = limit {
            let pods = PodSelector { namespace: workload.namespace, selector: workload.selector.clone() };
            cluster.budgets = vec![Budget { name: "budget".to_owned(), pods, limit, unhealthy_pods: UnhealthyPods::default() }];
        }
        cluster.workloads[WorkloadId(0)] = workload;
        if let Some(ClusterAutoscaler { scale_down: Some(options), .. }) = &mut cluster.controllers.cluster_autoscaler {
            (options.unneeded_time.0, options.delay_after_add.0) = (secs(300), secs(600));
        }
        if let Some((zone, from)) = cut {
            scenario = broken(scenario, from, Some(900), cut_zone(ZoneId(zone % nodes.len() as u16)));
        }
        scenario.duration = secs(7_200);
        let seen = run(&scenario, seed);
        prop_assert_eq!(&seen, &run_as(&scenario, seed, Stepping::FastForward, 7));
        let Some(limit) = limit else { return Ok(()) };
        if let Limit::Workload(0) = limit {
            prop_assert!(seen.pods(|fact| fact == PodFact::Evicted(true)).is_empty());
        }
        for (when, evicted, healthy) in decisions(&seen) {
            let wanted = pods[[at(900), at(4_000)].iter().filter(|scaled| when >= **scaled).count()];
            let allowed = limit.allows(wanted, healthy);
            prop_assert!(evicted <= allowed, "{when:?}: {evicted} pods on nodes that go, {healthy} of {wanted} healthy");
        }
    }
}
