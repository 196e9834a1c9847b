//! What keeps nodes from being deleted that are hardly used, and what scans say of them.

use std::collections::BTreeMap;

use proptest::prelude::*;

use super::autoscaling::scaled;
use super::maintenance::asked;
use super::node_groups::pool_over;
use super::scale_down::{options, quarters, scale, small};
use super::world::{KUBE_CLUSTER, Seen, at, broken, cut_zone, run, run_as, secs, workload};
use zonefall_core::ids::{MachineDeploymentId, NodeKey, WorkloadId, ZoneId};
use zonefall_core::kernel::time::Time;
use zonefall_core::kube::name::NodeName;
use zonefall_core::kube::record::{KubeRecord, MachineFact, NodeFact, PodFact, ScaleDownVerdict};
use zonefall_core::kube::spec::autoscaler::{ClusterAutoscaler, Drainability, PodOwner, ScaleDownOptions};
use zonefall_core::kube::spec::{Budget, int_or_percent::IntOrPercent};
use zonefall_core::kube::spec::{BudgetLimit, PodSelector, Resources, Task, UnhealthyPods, Workload};
use zonefall_core::scenario::Scenario;
use zonefall_core::sim::Stepping;

const UPSTREAM: ScaleDownChecks = ScaleDownChecks { local_storage: true, system_pods: true, custom_controllers: true };
const GARDENER: ScaleDownChecks = ScaleDownChecks { local_storage: false, system_pods: false, custom_controllers: true };

/// Which pods keep nodes.
#[derive(Clone, Copy, Debug)]
struct ScaleDownChecks {
    local_storage: bool,
    system_pods: bool,
    custom_controllers: bool,
}

/// The options of the autoscaler's scale-down in a scenario.
fn scale_down(scenario: &mut Scenario) -> &mut ScaleDownOptions {
    let options: &mut Option<ClusterAutoscaler> = &mut scenario.kube.clusters[KUBE_CLUSTER].controllers.cluster_autoscaler;
    options.as_mut().and_then(|options| options.scale_down.as_mut()).expect("it deletes nodes")
}

fn set(scenario: &mut Scenario, checks: ScaleDownChecks) {
    let options = scale_down(scenario);
    options.skip_nodes_with_local_storage = checks.local_storage;
    options.skip_nodes_with_system_pods = checks.system_pods;
    options.skip_nodes_with_custom_controller_pods = checks.custom_controllers;
}

/// What scans found of each node last, and since when.
fn verdicts(seen: &Seen) -> BTreeMap<NodeName, (Time, ScaleDownVerdict)> {
    let mut all = BTreeMap::new();
    for (at, record) in &seen.0 {
        match *record {
            KubeRecord::Node(node, NodeFact::ScaleDown(verdict)) => drop(all.insert(node, (*at, verdict))),
            KubeRecord::Node(node, NodeFact::Removed) => drop(all.remove(&node)),
            _ => {}
        }
    }
    all
}

/// What the last scan found of the nodes that are left.
fn found(seen: &Seen) -> Vec<ScaleDownVerdict> {
    verdicts(seen).into_values().map(|(_, verdict)| verdict).collect()
}

/// Three nodes with a pod of a quarter of a node each: two of them go, unless the pods keep theirs.
fn with_pods(drainability: Drainability, checks: ScaleDownChecks, budget: Option<u32>) -> Seen {
    let mut scenario = quarters(3, budget);
    scenario.kube.clusters[KUBE_CLUSTER].workloads[WorkloadId(0)].drainability = drainability;
    set(&mut scenario, checks);
    run(&scenario, 1)
}

#[test]
fn pods_keep_their_nodes_by_the_rules_of_upstream_and_scans_say_so() {
    use ScaleDownVerdict::{Budget, LocalStorage, NotReplicated, NotSafeToEvict, NotUnderutilized, SystemPod};
    let plain = Drainability::default();
    let local = Drainability { local_storage: true, ..plain };
    let system = Drainability { kube_system: true, ..plain };
    let kept = Drainability { safe_to_evict: Some(false), ..plain };
    let bare = Drainability { owner: PodOwner::None, ..plain };
    let custom = Drainability { owner: PodOwner::Custom, ..plain };
    let safe = Some(true);
    for (pods, checks, budget, expected) in [
        (plain, UPSTREAM, None, None),
        (local, UPSTREAM, None, Some(LocalStorage)),
        (local, GARDENER, None, None),
        (system, UPSTREAM, None, Some(SystemPod)),
        (system, UPSTREAM, Some(1), None),
        (system, GARDENER, None, None),
        (kept, GARDENER, None, Some(NotSafeToEvict)),
        (bare, GARDENER, None, Some(NotReplicated)),
        (custom, GARDENER, None, Some(NotReplicated)),
        (custom, ScaleDownChecks { custom_controllers: false, ..GARDENER }, None, None),
        (Drainability { safe_to_evict: safe, ..local }, UPSTREAM, None, None),
        (Drainability { safe_to_evict: safe, ..system }, UPSTREAM, None, None),
        (Drainability { safe_to_evict: safe, ..bare }, UPSTREAM, None, None),
        (plain, UPSTREAM, Some(0), Some(Budget)),
    ] {
        let seen = with_pods(pods, checks, budget);
        let (gone, found) = (scaled(&seen).len(), found(&seen));
        match expected {
            Some(verdict) => assert_eq!((gone, found), (0, vec![verdict; 3]), "{pods:?}, {checks:?}, {budget:?}"),
            // Three quarters of the last node are requested by then.
            None => assert_eq!((gone, found), (2, vec![NotUnderutilized]), "{pods:?}, {checks:?}, {budget:?}"),
        }
    }
}

/// The autoscaler asks no budget of such pods when it chooses a node, but the API does when it evicts them: every 10 s for 2 min.
#[test]
fn a_node_whose_pod_cannot_be_evicted_is_kept_and_has_to_be_unneeded_again() {
    let seen = with_pods(Drainability { safe_to_evict: Some(true), ..Drainability::default() }, UPSTREAM, Some(0));
    assert!(scaled(&seen).is_empty() && seen.pods(|fact| fact == PodFact::Evicted(true)).is_empty());
    let at = |which: fn(&NodeFact) -> bool| -> Vec<Time> {
        let is = |record: &KubeRecord| matches!(record, KubeRecord::Node(_, fact) if which(fact));
        seen.0.iter().filter(|(_, record)| is(record)).map(|(at, _)| *at).collect()
    };
    let chosen = at(|fact| *fact == NodeFact::ToBeDeleted);
    let kept = at(|fact| *fact == NodeFact::Kept(ScaleDownVerdict::NotEvicted));
    assert!(kept.len() >= 3, "{kept:?}");
    let attempts = |from: Time, to: Time| {
        seen.pods(|fact| fact == PodFact::Evicted(false)).iter().filter(|(at, _)| (from..to).contains(at)).count()
    };
    for (chosen, kept) in chosen.iter().zip(&kept) {
        let took = kept.since(*chosen);
        assert!(took >= secs(125) && took < secs(126), "5 s after the taint, and 2 min: {took:?}");
        assert_eq!(attempts(*chosen, *kept), 12);
    }
    assert!(chosen[2].since(kept[0]) >= secs(1_800), "two nodes may go in turn, then the first was unneeded for 30 min again");
}

#[test]
fn nodes_of_a_pool_that_is_annotated_stay_and_so_do_those_of_a_group_at_its_minimum() {
    let mut scenario = quarters(3, None);
    let cluster = &mut scenario.kube.clusters[KUBE_CLUSTER];
    cluster.machine_deployments.iter_mut().for_each(|deployment| deployment.scale_down_disabled = true);
    let seen = run(&scenario, 1);
    assert_eq!((scaled(&seen).len(), found(&seen)), (0, vec![ScaleDownVerdict::Disabled; 3]));
    let mut scenario = quarters(3, None);
    let cluster = &mut scenario.kube.clusters[KUBE_CLUSTER];
    cluster.controllers.cluster_autoscaler =
        Some(ClusterAutoscaler { sizing: zonefall_core::kube::spec::autoscaler::Sizing::Static, ..options() });
    cluster.machine_deployments.iter_mut().for_each(|deployment| deployment.minimum = 1);
    let found = found(&run(&scenario, 1));
    assert!(found.contains(&ScaleDownVerdict::GroupAtMinimum) && !found.contains(&ScaleDownVerdict::Unneeded), "{found:?}");
    // Half of each node, and more, is requested.
    let mut scenario = quarters(3, None);
    let requests = Resources { cpu_milli: 4_000, memory: 1 << 30, pods: 1 };
    scenario.kube.clusters[KUBE_CLUSTER].workloads[WorkloadId(0)].requests = requests;
    assert_eq!(self::found(&run(&scenario, 1)), [ScaleDownVerdict::NotUnderutilized; 3]);
}

/// Six nodes with one pod, which a budget keeps from being evicted: the drain of its node takes its 2 h, and the others are idle for as long.
#[test]
fn no_node_goes_while_the_machines_of_its_group_are_rolled_out() {
    let mut scenario = asked(pool_over(&[6], (0, 12), 1, options()), 300, Task::RollMachines(MachineDeploymentId(0)));
    let cluster = &mut scenario.kube.clusters[KUBE_CLUSTER];
    cluster.workloads[WorkloadId(0)] = small(1, Some(0));
    scenario.duration = secs(5 * 3_600);
    let options = scale_down(&mut scenario);
    (options.unneeded_time.0, options.delay_after_add.0) = (secs(600), secs(0));
    let seen = run(&scenario, 1);
    let old = scenario.kube.clusters[KUBE_CLUSTER].nodes[NodeKey(0)].machine.expect("all are machines").template;
    let machines = seen.machines().into_iter();
    let gone = machines.filter(|(_, machine, fact)| machine.template == old && *fact == MachineFact::Removed);
    let rolled: Vec<Time> = gone.map(|(when, ..)| when).collect();
    assert_eq!(rolled.len(), 6);
    let (last, first) = (rolled[5], scaled(&seen)[0].0);
    assert!(last > at(300 + 7_200) && first >= last + secs(600), "rolled at {last:?}, then unneeded for 10 min: {first:?}");
    let stay = |record: &KubeRecord| matches!(record, KubeRecord::Node(_, NodeFact::ScaleDown(ScaleDownVerdict::RollOut)));
    assert!(seen.0.iter().any(|(when, record)| *when < at(330) && stay(record)), "scans say why");
}

#[test]
fn as_many_nodes_are_drained_at_a_time_as_may_be_and_as_many_are_deleted() {
    for (drains, deletions, together) in [(1, 10, 1), (2, 10, 2), (2, 1, 1)] {
        let mut scenario = quarters(3, None);
        let options = scale_down(&mut scenario);
        (options.max_drain_parallelism, options.max_scale_down_parallelism) = (drains, deletions);
        let steps = scaled(&run(&scenario, 1));
        assert_eq!(steps.len(), 2);
        let first = steps.iter().filter(|(when, ..)| *when == steps[0].0).count();
        assert_eq!(first, together, "{drains} drains, {deletions} deletions: {steps:?}");
    }
}

#[test]
fn an_empty_node_goes_before_one_with_pods() {
    for seed in 1..=8 {
        let mut scenario = quarters(3, None);
        scenario.kube.clusters[KUBE_CLUSTER].workloads[WorkloadId(0)].replicas = 2;
        scale_down(&mut scenario).max_scale_down_parallelism = 1;
        let seen = run(&scenario, seed);
        let (steps, evicted) = (scaled(&seen), seen.pods(|fact| fact == PodFact::Evicted(true)));
        assert!(steps.len() == 2 && !evicted.is_empty(), "{steps:?}, {evicted:?}");
        assert!(evicted.iter().all(|(at, _)| (steps[0].0..steps[1].0).contains(at)), "{steps:?}, {evicted:?}");
    }
}

fn drainabilities() -> impl Strategy<Value = Drainability> {
    let owner = prop::sample::select(vec![PodOwner::Kubernetes, PodOwner::Custom, PodOwner::None]);
    (any::<bool>(), prop::option::of(any::<bool>()), any::<bool>(), owner).prop_map(
        |(local_storage, safe_to_evict, kube_system, owner)| Drainability { local_storage, safe_to_evict, kube_system, owner },
    )
}

/// Whether pods keep their node, as the FAQ of upstream has it ("What types of pods can prevent CA from removing a node?").
fn keeps(pods: Drainability, checks: ScaleDownChecks, has_budget: bool) -> bool {
    let blocks = pods.safe_to_evict == Some(false)
        || pods.owner == PodOwner::None
        || pods.owner == PodOwner::Custom && checks.custom_controllers
        || pods.local_storage && checks.local_storage
        || pods.kube_system && checks.system_pods && !has_budget;
    pods.safe_to_evict != Some(true) && blocks
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(24))]
    #[test]
    fn a_node_with_a_pod_that_keeps_it_is_never_scaled_down_and_scans_left_out_change_nothing(
        seed: u64,
        nodes in prop::collection::vec(1..3_u32, 2..=4),
        pods in prop::array::uniform2(0..10_u32),
        others in 0..6_u32,
        drainability in drainabilities(),
        checks in prop::array::uniform3(any::<bool>()),
        budget in prop::option::of(0..2_u32),
        parallelism in prop::array::uniform2(1..4_u32),
        cut in prop::option::of((0..4_u16, 0..3_000_u64)),
    ) {
        let checks = ScaleDownChecks { local_storage: checks[0], system_pods: checks[1], custom_controllers: checks[2] };
        let scenario = pool_over(&nodes, (0, 9), pods[0], options());
        let mut scenario = scale(scenario, 2_500, pods[1]);
        let cluster = &mut scenario.kube.clusters[KUBE_CLUSTER];
        let marked = Workload { drainability, ..small(pods[0], None) };
        if let Some(most) = budget {
            let pods = PodSelector { namespace: marked.namespace, selector: marked.selector.clone() };
            let limit = BudgetLimit::MaxUnavailable(IntOrPercent::Int(most));
            cluster.budgets = vec![Budget { name: "budget".to_owned(), pods, limit, unhealthy_pods: UnhealthyPods::default() }];
        }
        cluster.workloads[WorkloadId(0)] = marked;
        cluster.workloads.push(Workload { requests: small(0, None).requests, ..workload("others", 1, others) });
        set(&mut scenario, checks);
        let options = scale_down(&mut scenario);
        (options.unneeded_time.0, options.delay_after_add.0) = (secs(300), secs(600));
        (options.max_drain_parallelism, options.max_scale_down_parallelism) = (parallelism[0], parallelism[1]);
        if let Some((zone, from)) = cut {
            scenario = broken(scenario, from, Some(900), cut_zone(ZoneId(zone % nodes.len() as u16)));
        }
        scenario.duration = secs(5_400);
        let seen = run(&scenario, seed);
        prop_assert_eq!(&seen, &run_as(&scenario, seed, Stepping::FastForward, 7));
        if keeps(drainability, checks, budget.is_some()) && cut.is_none() {
            let evicted = seen.pods(|fact| matches!(fact, PodFact::Evicted(_)));
            prop_assert!(evicted.iter().all(|(_, pod)| pod.workload != WorkloadId(0)), "{drainability:?}, {checks:?}: {evicted:?}");
        }
    }
}
