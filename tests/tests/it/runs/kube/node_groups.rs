//! Node groups of a pool over three zones, sized by GEP-24.

use std::collections::BTreeMap;

use proptest::prelude::*;

use super::autoscaling::{in_zone, large, scaled};
use super::machines::with_machines;
use super::maintenance::asked;
use super::world::{KUBE_CLUSTER, Seen, broken, cut_zone, run, run_as, secs, with, world};
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

/// A pool over three zones that may do without nodes ([`pool_over`]).
pub(super) fn pool(nodes: [u32; 3], maximum: u32, pods: u32, options: ClusterAutoscaler) -> Scenario {
    pool_over(&nodes, (0, maximum), pods, options)
}

/// A pool with these nodes in its zones, each in use by a pod, and a minimum and maximum; `pods` of them are wanted.
pub(super) fn pool_over(nodes: &[u32], (minimum, maximum): (u32, u32), pods: u32, options: ClusterAutoscaler) -> Scenario {
    let mut scenario = with_machines(with(world(nodes), large(0, pods)), 0);
    scenario.kube.words = WELL_KNOWN.map(str::to_owned).to_vec().into();
    let cluster = &mut scenario.kube.clusters[KUBE_CLUSTER];
    cluster.controllers.cluster_autoscaler = Some(options);
    let zones = nodes.len() as u32;
    for (zone, deployment) in (0..).zip(&mut cluster.machine_deployments) {
        let rollout = Rollout { max_surge: Int(1), max_unavailable: Int(0) };
        deployment.pool = PoolShare { zone: (zone, zones), minimum, maximum, rollout };
        (deployment.minimum, deployment.maximum) = (over_zones(zone, minimum, zones), over_zones(zone, maximum, zones));
    }
    scenario
}

pub(super) fn lax(count: NodeCount) -> ClusterAutoscaler {
    ClusterAutoscaler { sizing: Sizing::LaxGreedy, count, ..ClusterAutoscaler::default() }
}

/// The cloud creates no machines in a zone.
pub(super) fn creates_none(zone: u16, answer: CloudAnswer) -> Fault {
    let create = Some(answer);
    Fault::CloudApi(CloudApi { zone: Some(ZoneId(zone)), create, delete: None, attach: None, error_rate: 1.0 })
}

/// The cloud has no machines in a zone.
pub(super) fn out_of_stock(zone: u16) -> Fault {
    creates_none(zone, CloudAnswer::OutOfStock)
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

/// Machines that did not join in time or that the cloud is out of stock of, and nodes that are unready, stop a scan for reasons of their own.
#[test]
fn a_scan_says_why_it_does_nothing_at_all() {
    let choices = |scenario: &Scenario| {
        let choice = |(.., fact): (Time, MachineDeploymentId, NodeGroupFact)| match fact {
            NodeGroupFact::Scanned(NodeGroupScan { choice, .. }) => Some(choice),
            NodeGroupFact::BackedOff { .. } => None,
        };
        facts(&run(scenario, 1)).into_iter().filter_map(choice).collect::<Vec<_>>()
    };
    let reasons = [GroupChoice::Suspended, GroupChoice::TakesBack, GroupChoice::OutOfStock];
    let found = |scenario: &Scenario| -> Vec<GroupChoice> {
        let found = choices(scenario);
        reasons.into_iter().filter(|reason| found.contains(reason)).collect()
    };
    let power = |zone| Fault::ZonePower(ZonePower(FaultTarget::Named(ZoneId(zone))));
    let mut lost = broken(broken(pool([3, 3, 3], 12, 9, lax(NodeCount::Materialized)), 100, None, power(0)), 100, None, power(1));
    // Long before machines that were asked for are late.
    lost.duration = secs(600);
    assert_eq!(found(&lost), [GroupChoice::Suspended]);
    let alike = pool([1, 1, 1], 6, 4, lax(NodeCount::Materialized));
    let mut missing = (0..3).fold(alike, |scenario, zone| broken(scenario, 0, None, out_of_stock(zone)));
    assert_eq!(found(&missing), [GroupChoice::OutOfStock]);
    missing.duration = secs(3_600);
    missing.kube.clusters[KUBE_CLUSTER].controllers.cluster_autoscaler =
        Some(ClusterAutoscaler { exhausted_at_once: false, ..lax(NodeCount::Materialized) });
    assert_eq!(found(&missing), [GroupChoice::TakesBack]);
}

/// The group that the expander draws is chosen also where all nodes go to groups that are alike.
#[test]
fn the_chosen_group_is_told_where_a_similar_group_grows_in_its_place() {
    let mut elsewhere = 0;
    for seed in 0..8 {
        let seen = run(&pool([2, 1, 1], 6, 5, lax(NodeCount::Materialized)), seed);
        let chosen = facts(&seen).into_iter().find_map(|(_, group, fact)| match fact {
            NodeGroupFact::Scanned(NodeGroupScan { choice: GroupChoice::Chosen, .. }) => Some(group),
            _ => None,
        });
        let chosen = chosen.unwrap_or_else(|| panic!("seed {seed}: a group is chosen"));
        elsewhere += u32::from(scaled(&seen).iter().all(|(_, group, _)| *group != chosen));
    }
    assert!(elsewhere > 0, "each chosen group grew itself");
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

/// The machine-controller-manager gives each machine up and makes another, which is young whenever the autoscaler scans: what counts is how
/// long the node has been missing.
#[test]
fn a_group_whose_machines_fail_and_are_replaced_holds_pods_for_the_provision_time() {
    for (answer, creation) in [
        (CloudAnswer::Unavailable, 20 * 60),
        (CloudAnswer::Refused, 20 * 60),
        (CloudAnswer::Refused, 7 * 60),
        (CloudAnswer::OutOfStock, 7 * 60),
    ] {
        let mut tried = 0;
        for seed in 0..6 {
            let options = ClusterAutoscaler { exhausted_at_once: false, ..lax(NodeCount::Materialized) };
            let mut scenario = broken(pool([1, 1, 1], 6, 4, options), 0, None, creates_none(0, answer));
            scenario.kube.clusters[KUBE_CLUSTER].timers.machines.creation = secs(creation);
            let seen = run(&scenario, seed);
            let asked = scaled(&seen)[0];
            let in_vain = asked.1 == MachineDeploymentId(0);
            tried += u32::from(in_vain);
            // The scan that takes the machine back and the one that asks elsewhere.
            let limit = secs(if in_vain { 20 * 60 + 30 } else { 0 } + 160);
            let [bound] = bound(&seen)[..] else { panic!("{answer:?}, seed {seed}: one pod gets a new node") };
            assert!(bound.since(asked.0) < limit, "{answer:?}, seed {seed}: {:?}", bound.since(asked.0));
            let backed_off = facts(&seen).into_iter().any(|(_, group, fact)| {
                (group, fact) == (MachineDeploymentId(0), NodeGroupFact::BackedOff { seconds: 300, exhausted: false })
            });
            assert_eq!(backed_off, in_vain, "{answer:?}, seed {seed}");
        }
        assert!(tried > 0, "no seed tried the group that creates nothing");
    }
}

/// A zone without power: its machines are replaced by others that are never created, and none of them is deleted either.
#[test]
fn pods_of_a_dark_zone_get_nodes_in_another_after_the_provision_time() {
    let mut in_vain = 0;
    for seed in 0..6 {
        let dark = Fault::ZonePower(ZonePower(FaultTarget::Named(ZoneId(0))));
        let mut scenario = broken(pool([2, 2, 2], 12, 6, lax(NodeCount::Materialized)), 600, None, dark);
        let [create, delete] = [Some(CloudAnswer::Unavailable); 2];
        let calls = CloudApi { zone: Some(ZoneId(0)), create, delete, attach: None, error_rate: 1.0 };
        scenario = broken(scenario, 600, None, Fault::CloudApi(calls));
        scenario.duration = secs(4 * 3_600);
        let seen = run(&scenario, seed);
        let asked = scaled(&seen)[0].0;
        let [.., last] = bound(&seen)[..] else { panic!("seed {seed}: pods get new nodes") };
        in_vain += u32::from(last.since(asked) > secs(20 * 60));
        assert_eq!(bound(&seen).len(), 2, "seed {seed}: {:?}", scaled(&seen));
        assert!(last.since(asked) < secs(20 * 60 + 30 + 160), "seed {seed}: {:?}", last.since(asked));
    }
    assert!(in_vain > 0, "no seed tried the dark zone");
}

/// As a cloud does: a zone that has two machines left makes two of five. Those are still awaited: if they do not come, the group has failed
/// again.
#[test]
fn a_zone_with_two_machines_left_creates_two_of_five() {
    for joins in [true, false] {
        let mut scenario = pool([1, 1, 1], 9, 0, lax(NodeCount::Materialized));
        scenario.kube.stock = vec![2];
        let cluster = &mut scenario.kube.clusters[KUBE_CLUSTER];
        cluster.machine_deployments[MachineDeploymentId(0)].stock = Some(0);
        cluster.workloads[WorkloadId(0)] = in_zone(0, large(0, 6));
        cluster.timers.autoscaler.back_off.initial = secs(1_800);
        // No machine is replaced: there is no stock for another.
        cluster.timers.machines.creation = secs(3_600);
        if !joins {
            scenario = broken(scenario, 20, None, cut_zone(ZoneId(0)));
        }
        scenario.duration = secs(1_800);
        let seen = run(&scenario, 1);
        let steps: Vec<u32> = scaled(&seen).iter().map(|(.., desired)| *desired).collect();
        let asked = scaled(&seen)[0].0;
        let back_offs = facts(&seen).into_iter().filter_map(|(at, _, fact)| match fact {
            NodeGroupFact::BackedOff { seconds, exhausted } => Some((at.since(asked), seconds, exhausted)),
            NodeGroupFact::Scanned(_) => None,
        });
        let (of_stock, overdue) = ((secs(10), 1_800, true), (secs(20 * 60 + 10), 1_800, false));
        if joins {
            assert_eq!((bound(&seen).len(), &steps[..]), (2, &[6, 3][..]));
            assert_eq!(back_offs.collect::<Vec<_>>(), [of_stock]);
        } else {
            assert_eq!((bound(&seen).len(), &steps[..]), (0, &[6, 3, 1][..]));
            assert_eq!(back_offs.collect::<Vec<_>>(), [of_stock, overdue]);
        }
    }
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
pub(super) fn sizes(nodes: &[u32], seen: &Seen) -> Vec<Vec<u32>> {
    let mut all = vec![nodes.to_vec()];
    let mut last = None;
    for (at, group, desired) in scaled(seen) {
        if last.replace(at) != Some(at) {
            all.push(all[all.len() - 1].clone());
        }
        let now = all.last_mut().expect("the start is there");
        now[usize::from(group)] = desired;
    }
    all
}

pub(super) fn options() -> impl Strategy<Value = ClusterAutoscaler> {
    let sizing = prop::sample::select(vec![Sizing::Static, Sizing::LaxGreedy, Sizing::BackwardCompatible]);
    let count = prop::sample::select(vec![NodeCount::Materialized, NodeCount::Targets, NodeCount::Live]);
    (sizing, count, any::<bool>(), any::<bool>()).prop_map(|(sizing, count, balance_similar_groups, exhausted_at_once)| {
        ClusterAutoscaler { sizing, count, balance_similar_groups, exhausted_at_once, ..ClusterAutoscaler::default() }
    })
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(24))]
    #[test]
    fn pools_exceed_their_maximum_by_what_one_scan_launches_at_most_and_counted_live_never(
        seed: u64,
        nodes in prop::collection::vec(1..3_u32, 2..=5),
        minimum in 0..8_u32,
        more in 0..12_u32,
        pods in prop::array::uniform2(1..16_u32),
        options in options(),
        stock in prop::option::of((0..5_u16, 0..1_500_u64)),
    ) {
        let (zones, maximum) = (nodes.len() as u32, (minimum + more).max(1));
        let mut scenario = pool_over(&nodes, (minimum, maximum), pods[0], options.clone());
        let scale = WorkloadScale { workload: WorkloadId(0), replicas: pods[1] };
        scenario = asked(scenario, 900, Task::ScaleWorkload(scale));
        if let Some((zone, from)) = stock {
            scenario = broken(scenario, from, Some(1_800), out_of_stock(zone % zones as u16));
        }
        scenario.duration = secs(5_400);
        let seen = run(&scenario, seed);
        prop_assert_eq!(&seen, &run_as(&scenario, seed, Stepping::FastForward, 7));
        let start: u32 = nodes.iter().sum();
        // The maximum of a static group does not depend on the other groups, even if one of these starts beyond its own.
        let is_apart = options.sizing == Sizing::Static
            && (0..).zip(&nodes).any(|(zone, size)| *size > over_zones(zone, maximum, zones));
        for step in sizes(&nodes, &seen).windows(2) {
            let [before, after] = [step[0].iter().sum::<u32>(), step[1].iter().sum::<u32>()];
            let grows = after > before;
            match options.count {
                _ if is_apart => {}
                NodeCount::Live => prop_assert!(after <= maximum.max(start), "{step:?}"),
                NodeCount::Targets => prop_assert!(!grows || before < maximum, "{step:?}"),
                NodeCount::Materialized => {}
            }
            for (zone, (size, at_first)) in (0..).zip(step[1].iter().zip(&nodes)) {
                let (least, most) = match options.sizing {
                    Sizing::Static => (over_zones(zone, minimum, zones), over_zones(zone, maximum, zones)),
                    Sizing::LaxGreedy => (0, maximum),
                    Sizing::BackwardCompatible => (over_zones(zone, minimum, zones), over_zones(zone, maximum, zones).max(1)),
                };
                prop_assert!(*size <= most.max(*at_first) && *size >= least.min(*at_first), "{step:?}");
            }
        }
    }

    #[test]
    fn pods_are_placed_within_the_detection_of_each_attempt_that_failed(
        seed: u64,
        nodes in prop::collection::vec(1..3_u32, 2..=5),
        minimum in 0..4_u32,
        more in 1..4_u32,
        works in 0..5_usize,
        answer in prop::sample::select(vec![CloudAnswer::OutOfStock, CloudAnswer::Refused, CloudAnswer::Unavailable]),
        options in options(),
    ) {
        let options = ClusterAutoscaler { sizing: Sizing::LaxGreedy, ..options };
        let at_once = answer == CloudAnswer::OutOfStock && options.exhausted_at_once;
        let start: u32 = nodes.iter().sum();
        let mut scenario = pool_over(&nodes, (minimum, 60), start + more, options);
        for zone in (0..nodes.len()).filter(|zone| *zone != works % nodes.len()) {
            scenario = broken(scenario, 0, None, creates_none(zone as u16, answer));
        }
        scenario.duration = secs(3 * 3_600);
        let seen = run(&scenario, seed);
        let asked = scaled(&seen)[0].0;
        let back_offs = facts(&seen).into_iter().filter(|(.., fact)| matches!(fact, NodeGroupFact::BackedOff { .. }));
        let failed: Vec<Time> = back_offs.map(|(at, ..)| at).collect();
        let bound = bound(&seen);
        // The scan that finds the failure, the one that takes the machines back, and the one that asks elsewhere.
        let detection = if at_once { secs(30) } else { secs(20 * 60 + 30) };
        // At the end another attempt may be under way.
        let waiting = (bound.len() < more as usize).then(|| (Time::ZERO + scenario.duration, 1));
        for (until, under_way) in bound.into_iter().map(|at| (at, 0)).chain(waiting) {
            let mut attempts: Vec<Time> = failed.iter().copied().filter(|at| *at < until).collect();
            attempts.dedup();
            let limit = Duration::from_nanos(detection.as_nanos() * (attempts.len() as u64 + under_way)) + secs(10 + 160);
            prop_assert!(until.since(asked) < limit, "after {:?}, {attempts:?}", until.since(asked));
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
