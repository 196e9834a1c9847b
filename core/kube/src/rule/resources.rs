//! Whether a pod fits on a node, and how well (`pkg/scheduler/framework/plugins/noderesources`: `fit.go`, `least_allocated.go`,
//! `balanced_allocation.go`).

use crate::spec::Resources;

/// Best score of a node.
const MOST: u64 = 100;

/// How empty a node is with so much requested of it (the pod in question included): 0 to 100, CPU and memory alike.
pub fn least_allocated(requested: &Resources, allocatable: &Resources) -> u64 {
    let free = |requested: u64, allocatable: u64| match allocatable {
        0 => 0,
        all => all.saturating_sub(requested) * MOST / all,
    };
    u64::midpoint(free(requested.cpu_milli, allocatable.cpu_milli), free(requested.memory, allocatable.memory))
}

/// How evenly CPU and memory of a node are requested: 100 where both are by the same share. (The standard deviation of two shares is
/// half their distance.)
pub fn balanced(requested: &Resources, allocatable: &Resources) -> u64 {
    let share = |requested: u64, allocatable: u64| (requested as f64 / allocatable.max(1) as f64).min(1.0);
    let cpu = share(requested.cpu_milli, allocatable.cpu_milli);
    let memory = share(requested.memory, allocatable.memory);
    ((1.0 - (cpu - memory).abs() / 2.0) * MOST as f64) as u64
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn scores_of_the_sources_own_tests() {
        // `least_allocated_test.go`, `balanced_allocation_test.go`: "nothing scheduled, resources requested, differently sized nodes".
        let (node1, node2) = (of(4_000, 10_000), of(6_000, 10_000));
        let pod = of(3_000, 5_000);
        for (node, least, even) in [(node1, 37, 87), (node2, 50, 100)] {
            assert_eq!((least_allocated(&pod, &node), balanced(&pod, &node)), (least, even));
        }
        assert!(pod.fits(&node1) && !node2.fits(&node1));
    }

    fn of(cpu_milli: u64, memory: u64) -> Resources {
        Resources { cpu_milli, memory, pods: 1 }
    }
}
