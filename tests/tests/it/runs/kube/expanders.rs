//! Which node group grows, and how far the whole cluster may.

use proptest::prelude::*;

use super::autoscaling::scaled;
use super::maintenance::asked;
use super::node_groups::{creates_none, lax, options, out_of_stock, pool, pool_over, sizes};
use super::world::{KUBE_CLUSTER, Seen, broken, run, run_as, secs};
use zonefall_core::ids::{MachineDeploymentId, WorkloadId};
use zonefall_core::kube::record::{GroupChoice, KubeRecord, NodeGroupFact};
use zonefall_core::kube::spec::autoscaler::{ClusterAutoscaler, Expander, GroupPriority, NodeCount};
use zonefall_core::kube::spec::{Task, WorkloadScale};
use zonefall_core::scenario::units::Size;
use zonefall_core::scenario::{CloudAnswer, Scenario};
use zonefall_core::sim::Stepping;

/// Groups grow one by one, by these expanders.
fn alone(expander: &[Expander]) -> ClusterAutoscaler {
    ClusterAutoscaler { expander: expander.to_vec(), balance_similar_groups: false, ..lax(NodeCount::Materialized) }
}

/// Groups of these priorities, by the numbers of their zones.
fn by_priority(priorities: &[(u32, &str)]) -> ClusterAutoscaler {
    let entry = |(priority, pattern): &(u32, &str)| GroupPriority { priority: *priority, groups: vec![(*pattern).to_owned()] };
    ClusterAutoscaler { priorities: priorities.iter().map(entry).collect(), ..alone(&[Expander::Priority]) }
}

/// A node in each of three zones, and pods of which `more` find none. The nodes of the last zone are twice as large.
fn uneven(more: u32, options: ClusterAutoscaler) -> Scenario {
    let mut scenario = pool([1, 1, 1], 60, 3, options);
    let cluster = &mut scenario.kube.clusters[KUBE_CLUSTER];
    let size = &mut cluster.machine_deployments[MachineDeploymentId(2)].template.allocatable;
    (size.cpu_milli, size.memory) = (2 * size.cpu_milli, 2 * size.memory);
    scenario.duration = secs(120);
    asked(scenario, 30, Task::ScaleWorkload(WorkloadScale { workload: WorkloadId(0), replicas: 3 + more }))
}

/// The group that grows first.
fn first(scenario: &Scenario, seed: u64) -> usize {
    usize::from(scaled(&run(scenario, seed)).first().expect("some group grows").1)
}

/// How often each group grows first.
fn frequencies(scenario: &Scenario, runs: u64) -> [u64; 3] {
    let mut counts = [0; 3];
    for seed in 0..runs {
        counts[first(scenario, seed)] += 1;
    }
    counts
}

/// Three groups that do for the pod: each has a third of the draws, within the 99 % interval of a binomial distribution.
#[test]
fn the_random_expander_draws_each_group_as_often_as_another() {
    let runs = 270;
    let counts = frequencies(&uneven(1, alone(&[Expander::Random])), runs);
    let (mean, deviation) = (90.0, (270.0_f64 * (1.0 / 3.0) * (2.0 / 3.0)).sqrt());
    for count in counts {
        assert!((count as f64 - mean).abs() <= 2.576 * deviation, "{counts:?}");
    }
    // A pod of 6 CPUs wastes less of a node of 8 CPUs than of one of 16.
    let counts = frequencies(&uneven(1, alone(&[Expander::LeastWaste])), 40);
    assert!(counts[0] > 0 && counts[1] > 0 && counts[2] == 0, "{counts:?}");
}

#[test]
fn a_chain_of_expanders_takes_the_best_of_what_the_one_before_leaves() {
    use Expander::{LeastNodes, LeastWaste, MostPods, Random};
    // Four pods: four small nodes, or two large ones, in all of which 2 of 8 CPUs stay free.
    let of = |expanders: &[Expander]| frequencies(&uneven(4, alone(expanders)), 24);
    assert_eq!(of(&[LeastNodes]), [0, 0, 24]);
    let counts = of(&[MostPods, Random]);
    assert!(counts.iter().all(|count| *count > 0), "each group takes all four pods: {counts:?}");
    assert_eq!(of(&[MostPods, LeastNodes]), [0, 0, 24]);
    let counts = of(&[MostPods, LeastWaste]);
    assert!(counts.iter().all(|count| *count > 0), "all waste the same: {counts:?}");
    // One pod: a node of any group, but a small one wastes less.
    let counts = frequencies(&uneven(1, alone(&[LeastNodes])), 24);
    assert!(counts.iter().all(|count| *count > 0), "{counts:?}");
    let counts = frequencies(&uneven(1, alone(&[LeastNodes, LeastWaste])), 24);
    assert!(counts[0] > 0 && counts[1] > 0 && counts[2] == 0, "{counts:?}");
}

#[test]
fn the_highest_priority_that_has_an_option_grows_and_the_next_while_it_is_left_alone() {
    for seed in 0..6 {
        assert_eq!(first(&uneven(1, by_priority(&[(10, ".*"), (50, "z2$")])), seed), 2, "seed {seed}");
        assert_eq!(first(&uneven(1, by_priority(&[(10, "z[01]"), (50, "z1"), (20, "z2")])), seed), 1, "seed {seed}");
        // The others have no priority; where none of them has one, all count.
        assert_eq!(first(&uneven(1, by_priority(&[(0, "^pool-z1$")])), seed), 1, "seed {seed}");
        let mut scenario = broken(uneven(1, by_priority(&[(10, "z2"), (50, "z0")])), 0, None, out_of_stock(0));
        scenario.duration = secs(300);
        let seen = run(&scenario, seed);
        let groups: Vec<usize> = scaled(&seen).iter().map(|(_, group, _)| usize::from(*group)).collect();
        assert_eq!(groups, [0, 0, 2], "seed {seed}: asked for, taken back, asked for elsewhere");
    }
    let counts = frequencies(&uneven(1, by_priority(&[(7, "another-pool")])), 60);
    assert!(counts.iter().all(|count| *count > 0), "{counts:?}");
    let counts = frequencies(&uneven(1, by_priority(&[(7, "z0"), (7, "z2")])), 60);
    assert!(counts[0] > 0 && counts[1] == 0 && counts[2] > 0, "{counts:?}");
}

fn choices(seen: &Seen) -> Vec<GroupChoice> {
    let choice = |(_, record): &(_, KubeRecord)| match record {
        KubeRecord::NodeGroup(_, NodeGroupFact::Scanned(scan)) => Some(scan.choice),
        _ => None,
    };
    seen.0.iter().filter_map(choice).collect()
}

#[test]
fn a_scale_up_is_capped_to_what_the_cluster_has_left_and_groups_say_so() {
    for (options, nodes, why) in [
        (ClusterAutoscaler { max_nodes_total: 7, ..lax(NodeCount::Live) }, 7, GroupChoice::NodesTotal),
        // Nodes of 8 CPUs and 32 GiB.
        (ClusterAutoscaler { cores_total: 47, ..lax(NodeCount::Live) }, 5, GroupChoice::ResourcesTotal),
        (ClusterAutoscaler { cores_total: 48, ..lax(NodeCount::Live) }, 6, GroupChoice::ResourcesTotal),
        (ClusterAutoscaler { memory_total: gib(191), ..lax(NodeCount::Live) }, 5, GroupChoice::ResourcesTotal),
        (ClusterAutoscaler { memory_total: gib(192), ..lax(NodeCount::Live) }, 6, GroupChoice::ResourcesTotal),
    ] {
        let mut scenario = pool([1, 1, 1], 60, 12, options);
        scenario.duration = secs(1_200);
        let seen = run(&scenario, 1);
        let last: u32 = sizes(&[1, 1, 1], &seen).last().expect("the start is there").iter().sum();
        assert_eq!(last, nodes, "{why:?}");
        let choices = choices(&seen);
        assert!(
            choices.contains(&GroupChoice::Chosen) && choices[choices.len() - 3..].iter().all(|choice| *choice == why),
            "{choices:?}"
        );
    }
}

const fn gib(gib: u64) -> Size {
    Size(gib << 30)
}

#[test]
fn totals_are_used_up_by_nodes_of_each_size() {
    // Two groups have nodes of 8 CPUs and 32 GiB, and one has nodes twice as large; a node of each is there, and many pods wait.
    for left in 0..=5 {
        for nodes in [4, 5, 7] {
            let options = lax(NodeCount::Live);
            let by_cores = ClusterAutoscaler { cores_total: nodes * 8 + left, ..options.clone() };
            let by_memory = ClusterAutoscaler { memory_total: gib(u64::from(nodes * 32 + left)), ..options };
            for options in [by_cores, by_memory] {
                let mut scenario = uneven(30, options.clone());
                scenario.duration = secs(900);
                let seen = run(&scenario, u64::from(left));
                let last = sizes(&[1, 1, 1], &seen).pop().expect("the start is there");
                assert_eq!(last[0] + last[1] + 2 * last[2], nodes, "{last:?} of {options:?}");
            }
        }
    }
}

fn expanders() -> impl Strategy<Value = Vec<Expander>> {
    let all = vec![Expander::MostPods, Expander::LeastWaste, Expander::LeastNodes, Expander::Priority];
    (prop::sample::subsequence(all, 0..=4).prop_shuffle(), any::<bool>()).prop_map(|(mut chain, draws)| {
        if draws || chain.is_empty() {
            chain.push(Expander::Random);
        }
        chain
    })
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(24))]
    #[test]
    fn no_cluster_without_outages_exceeds_its_total_and_scans_left_out_change_nothing(
        seed: u64,
        nodes in prop::collection::vec(1..3_u32, 2..=5),
        maximum in 1..30_u32,
        pods in prop::array::uniform2(1..24_u32),
        options in options(),
        expander in expanders(),
        priorities in prop::collection::vec((0..3_u32, 0..5_u32), 1..5),
        total in 1..20_u32,
        cores in 1..200_u32,
        stock in prop::option::of((0..5_u16, 0..1_500_u64)),
        refuses: bool,
    ) {
        let entry = |(priority, zone)| GroupPriority { priority, groups: vec![format!("z{zone}$")] };
        let priorities = priorities.into_iter().map(entry).collect();
        let options = ClusterAutoscaler { expander, priorities, max_nodes_total: total, cores_total: cores, ..options };
        let mut scenario = pool_over(&nodes, (0, maximum), pods[0], options);
        let scale = WorkloadScale { workload: WorkloadId(0), replicas: pods[1] };
        scenario = asked(scenario, 900, Task::ScaleWorkload(scale));
        if let Some((zone, from)) = stock {
            let answer = if refuses { CloudAnswer::Refused } else { CloudAnswer::OutOfStock };
            scenario = broken(scenario, from, Some(1_800), creates_none(zone % nodes.len() as u16, answer));
        }
        scenario.duration = secs(5_400);
        let seen = run(&scenario, seed);
        prop_assert_eq!(&seen, &run_as(&scenario, seed, Stepping::FastForward, 7));
        let cluster = &scenario.kube.clusters[KUBE_CLUSTER];
        let each = cluster.machine_deployments[MachineDeploymentId(0)].template.allocatable.cpu_milli;
        let others = cluster.nodes.iter().filter(|node| node.machine.is_none());
        let (other_nodes, other_cpu) = others.fold((0, 0), |(n, cpu), node| (n + 1, cpu + node.template.allocatable.cpu_milli));
        let all: Vec<u32> = sizes(&nodes, &seen).iter().map(|groups| groups.iter().sum()).collect();
        for step in all.windows(2).filter(|step| step[1] > step[0]) {
            prop_assert!(step[1] + other_nodes <= total, "{step:?} of {total}");
            prop_assert!(u64::from(step[1]) * each + other_cpu <= u64::from(cores) * 1_000, "{step:?} of {cores} cores");
        }
    }
}
