//! Node groups of a pool over three zones, sized by GEP-24.

use std::collections::BTreeMap;

use proptest::prelude::*;

use super::autoscaling::{large, scaled};
use super::machines::with_machines;
use super::maintenance::asked;
use super::world::{KUBE_CLUSTER, Seen, broken, run, run_as, secs, with, world};
use zonefall_core::ids::{MachineDeploymentId, WorkloadId, ZoneId};
use zonefall_core::kernel::time::{Duration, Time};
use zonefall_core::kube::name::NodeName;
use zonefall_core::kube::record::{GroupChoice, KubeRecord, NodeGroupFact, NodeGroupScan, PodFact};
use zonefall_core::kube::rule::labels::WELL_KNOWN;
use zonefall_core::kube::spec::autoscaler::{ClusterAutoscaler, NodeCount, Sizing};
use zonefall_core::kube::spec::int_or_percent::IntOrPercent::Int;
use zonefall_core::kube::spec::seed::over_zones;
use zonefall_core::kube::spec::{PoolShare, Rollout, Task, WorkloadScale};
use zonefall_core::scenario::{CloudAnswer, CloudApi, Fault, FaultTarget, Scenario, ZonePower};
use zonefall_core::sim::Stepping;

/// A pool with these nodes in its zones, each in use by a pod; `pods` of them are wanted.
pub(super) fn pool(nodes: [u32; 3], maximum: u32, pods: u32, options: ClusterAutoscaler) -> Scenario {
    let mut scenario = with_machines(with(world(&nodes), large(0, pods)), 0);
    scenario.kube.words = WELL_KNOWN.map(str::to_owned).to_vec().into();
    let cluster = &mut scenario.kube.clusters[KUBE_CLUSTER];
    cluster.controllers.cluster_autoscaler = Some(options);
    for (zone, deployment) in (0..).zip(&mut cluster.machine_deployments) {
        let rollout = Rollout { max_surge: Int(1), max_unavailable: Int(0) };
        deployment.pool = PoolShare { zone: (zone, 3), minimum: 0, maximum, rollout };
        (deployment.minimum, deployment.maximum) = (0, over_zones(zone, maximum, 3));
    }
    scenario
}

pub(super) fn lax(count: NodeCount) -> ClusterAutoscaler {
    ClusterAutoscaler { sizing: Sizing::LaxGreedy, count, ..ClusterAutoscaler::default() }
}

/// The cloud has no machines in a zone.
fn out_of_stock(zone: u16) -> Fault {
    let create = Some(CloudAnswer::OutOfStock);
    Fault::CloudApi(CloudApi { zone: Some(ZoneId(zone)), create, delete: None, attach: None, error_rate: 1.0 })
}

fn facts(seen: &Seen) -> Vec<(Time, MachineDeploymentId, NodeGroupFact)> {
    let fact = |(at, record): &(Time, KubeRecord)| match record {
        KubeRecord::NodeGroup(group, fact) => Some((*at, *group, *fact)),
        _ => None,
    };
    seen.0.iter().filter_map(fact).collect()
}

/// When pods were bound to new nodes.
fn bound(seen: &Seen) -> Vec<Time> {
    seen.pods(|fact| matches!(fact, PodFact::Bound(NodeName::Machine(_)))).into_iter().map(|(at, _)| at).collect()
}

#[test]
fn one_scan_shares_a_scale_up_out_over_similar_groups_with_maxima_read_before_it() {
    for (count, expected) in [(NodeCount::Materialized, [4, 4, 4]), (NodeCount::Targets, [4, 4, 4]), (NodeCount::Live, [3, 3, 3])]
    {
        let seen = run(&pool([1, 1, 1], 6, 12, lax(count)), 1);
        let steps = scaled(&seen);
        let first = steps.iter().take_while(|(at, ..)| *at == steps[0].0);
        let desired: BTreeMap<MachineDeploymentId, u32> = first.map(|(_, group, desired)| (*group, *desired)).collect();
        if count == NodeCount::Live {
            assert_eq!(desired.values().sum::<u32>(), 6, "{desired:?}");
        } else {
            assert_eq!(desired.into_values().collect::<Vec<_>>(), expected, "{count:?}");
        }
    }
}

#[test]
fn a_scan_says_why_a_group_grows_or_does_not() {
    let seen = run(&pool([2, 1, 1], 5, 6, lax(NodeCount::Materialized)), 1);
    let choices: Vec<GroupChoice> = facts(&seen)
        .into_iter()
        .filter_map(|(.., fact)| match fact {
            NodeGroupFact::Scanned(NodeGroupScan { choice, .. }) => Some(choice),
            NodeGroupFact::BackedOff { .. } => None,
        })
        .collect();
    for expected in [GroupChoice::Chosen, GroupChoice::Balanced, GroupChoice::Idle] {
        assert!(choices.contains(&expected), "{expected:?} is not among {choices:?}");
    }
}

#[test]
fn a_group_out_of_stock_is_left_alone_at_once_and_another_takes_its_node() {
    let mut tried = 0;
    for seed in 0..8 {
        let mut scenario = broken(pool([1, 1, 1], 6, 4, lax(NodeCount::Materialized)), 0, None, out_of_stock(0));
        scenario.duration = secs(3_600);
        let seen = run(&scenario, seed);
        let asked = scaled(&seen)[0].0;
        let back_offs = facts(&seen).into_iter().filter(|(.., fact)| matches!(fact, NodeGroupFact::BackedOff { .. }));
        let back_offs: Vec<_> = back_offs.collect();
        tried += back_offs.len();
        assert!(back_offs.iter().all(|(_, group, fact)| {
            (*group, *fact) == (MachineDeploymentId(0), NodeGroupFact::BackedOff { seconds: 300, exhausted: true })
        }));
        // The scan that fails, the next one, which takes the machine back, and the one that asks elsewhere; then the machine.
        let [bound] = bound(&seen)[..] else { panic!("one pod gets a new node") };
        assert!(bound.since(asked) < secs(30 + 160), "seed {seed}: {:?}", bound.since(asked));
        // Without, it takes the provision time.
        let cluster = &mut scenario.kube.clusters[KUBE_CLUSTER];
        cluster.controllers.cluster_autoscaler =
            Some(ClusterAutoscaler { exhausted_at_once: false, ..lax(NodeCount::Materialized) });
        let [late] = self::bound(&run(&scenario, seed))[..] else { panic!("one pod gets a new node") };
        let waited = if back_offs.is_empty() { secs(0) } else { secs(20 * 60) };
        assert!(late.since(asked) >= waited && late.since(asked) < waited + secs(30 + 160), "seed {seed}");
    }
    assert!(tried > 0, "no seed tried the group that has no stock");
}

#[test]
fn the_back_off_of_a_group_that_fails_again_doubles_up_to_half_an_hour() {
    let mut scenario = pool([1, 1, 1], 6, 4, lax(NodeCount::Materialized));
    for zone in 0..3 {
        scenario = broken(scenario, 0, None, out_of_stock(zone));
    }
    scenario.duration = secs(4 * 3_600);
    let seen = run(&scenario, 1);
    let lasts = facts(&seen).into_iter().filter_map(|(_, group, fact)| match fact {
        NodeGroupFact::BackedOff { seconds, .. } if group == MachineDeploymentId(0) => Some(seconds),
        _ => None,
    });
    assert_eq!(lasts.take(5).collect::<Vec<_>>(), [300, 600, 1_200, 1_800, 1_800]);
    assert!(bound(&seen).is_empty());
}

/// Nodes wanted of each group after each instant at which some number changed, the start first.
pub(super) fn sizes(nodes: [u32; 3], seen: &Seen) -> Vec<[u32; 3]> {
    let mut all = vec![nodes];
    let mut last = None;
    for (at, group, desired) in scaled(seen) {
        if last.replace(at) != Some(at) {
            all.push(all[all.len() - 1]);
        }
        let now = all.last_mut().expect("the start is there");
        now[usize::from(group)] = desired;
    }
    all
}

fn options() -> impl Strategy<Value = ClusterAutoscaler> {
    let sizing = prop::sample::select(vec![Sizing::Static, Sizing::LaxGreedy, Sizing::BackwardCompatible]);
    let count = prop::sample::select(vec![NodeCount::Materialized, NodeCount::Targets, NodeCount::Live]);
    (sizing, count, any::<bool>(), any::<bool>()).prop_map(|(sizing, count, balance_similar_groups, exhausted_at_once)| {
        ClusterAutoscaler { sizing, count, balance_similar_groups, exhausted_at_once, scale_down: None }
    })
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(24))]
    #[test]
    fn pools_exceed_their_maximum_by_what_one_scan_launches_at_most_and_counted_live_never(
        seed: u64,
        nodes in prop::array::uniform3(1..3_u32),
        maximum in 1..12_u32,
        pods in prop::array::uniform2(1..16_u32),
        options in options(),
        stock in prop::option::of((0..3_u16, 0..1_500_u64)),
    ) {
        let mut scenario = pool(nodes, maximum, pods[0], options.clone());
        let scale = WorkloadScale { workload: WorkloadId(0), replicas: pods[1] };
        scenario = asked(scenario, 900, Task::ScaleWorkload(scale));
        if let Some((zone, from)) = stock {
            scenario = broken(scenario, from, Some(1_800), out_of_stock(zone));
        }
        scenario.duration = secs(5_400);
        let seen = run(&scenario, seed);
        prop_assert_eq!(&seen, &run_as(&scenario, seed, Stepping::FastForward, 7));
        let start: u32 = nodes.iter().sum();
        // The maximum of a static group does not depend on the other groups, even if one of these starts beyond its own.
        let is_apart = options.sizing == Sizing::Static && (0..).zip(nodes).any(|(zone, size)| size > over_zones(zone, maximum, 3));
        for step in sizes(nodes, &seen).windows(2) {
            let [before, after] = [step[0].iter().sum::<u32>(), step[1].iter().sum::<u32>()];
            let grows = after > before;
            match options.count {
                _ if is_apart => {}
                NodeCount::Live => prop_assert!(after <= maximum.max(start), "{step:?}"),
                NodeCount::Targets => prop_assert!(!grows || before < maximum, "{step:?}"),
                NodeCount::Materialized => {}
            }
            for (zone, size) in (0..).zip(step[1]) {
                let most = match options.sizing {
                    Sizing::Static => over_zones(zone, maximum, 3),
                    Sizing::LaxGreedy => maximum,
                    Sizing::BackwardCompatible => over_zones(zone, maximum, 3).max(1),
                };
                prop_assert!(size <= most.max(nodes[zone as usize]), "{step:?}");
            }
        }
    }
}

/// A pod that any zone would do for is placed though other zones are out of stock: after one scan each that reports it, and those
/// that take the machines back.
#[test]
fn pods_are_placed_after_each_exhausted_group_was_tried_once() {
    for seed in 0..6 {
        let scenario = broken(pool([1, 1, 1], 6, 4, lax(NodeCount::Materialized)), 0, None, out_of_stock(0));
        let scenario = broken(scenario, 0, None, out_of_stock(1));
        let seen = run(&scenario, seed);
        let asked = scaled(&seen)[0].0;
        let [bound] = bound(&seen)[..] else { panic!("one pod gets a new node") };
        let limit: Duration = secs(2 * 30 + 10 + 160);
        assert!(bound.since(asked) < limit, "seed {seed}: {:?}", bound.since(asked));
    }
}

/// A group is healthy by the nodes that it is to have, not by its minimum: one whose nodes are all lost does not grow, one below its minimum
/// does.
#[test]
fn a_group_whose_nodes_are_lost_does_not_grow_and_one_below_its_minimum_does() {
    let dark = Fault::ZonePower(ZonePower(FaultTarget::Named(ZoneId(0))));
    let seen = run(&broken(pool([8, 8, 8], 60, 24, lax(NodeCount::Materialized)), 60, None, dark), 1);
    let scans: Vec<NodeGroupScan> = facts(&seen)
        .into_iter()
        .filter_map(|(_, group, fact)| match fact {
            NodeGroupFact::Scanned(scan) if group == MachineDeploymentId(0) => Some(scan),
            _ => None,
        })
        .collect();
    assert!(scans.iter().any(|scan| scan.choice == GroupChoice::Unhealthy), "{scans:?}");
    assert!(scans.iter().all(|scan| scan.target <= 8), "{scans:?}");
    assert!(!bound(&seen).is_empty(), "others grow");
    let mut few = pool([1, 1, 1], 60, 4, lax(NodeCount::Materialized));
    few.kube.clusters[KUBE_CLUSTER].machine_deployments.iter_mut().for_each(|deployment| deployment.minimum = 5);
    assert_eq!(bound(&run(&few, 1)).len(), 1);
}
