//! Which of several node groups grows (`expander/factory/chain.go`, `expander/{mostpods,waste,leastnodes,priority}`).
//!
//! ```text
//!  options --first expander--> the best by it --second expander--> the best of these ... --draw--> one
//! ```

use zonefall_scenario::ids::{MachineDeploymentId, TiVec};
use zonefall_scenario::kube::autoscaler::Expander;

use crate::estimate::ScaleUpOption;

/// What all of these expanders leave, one after the other.
pub fn best(
    options: Vec<ScaleUpOption>,
    expanders: &[Expander],
    priorities: &TiVec<MachineDeploymentId, Option<u32>>,
) -> Vec<ScaleUpOption> {
    expanders.iter().fold(options, |options, expander| filter(options, *expander, priorities))
}

fn filter(
    mut options: Vec<ScaleUpOption>,
    expander: Expander,
    priorities: &TiVec<MachineDeploymentId, Option<u32>>,
) -> Vec<ScaleUpOption> {
    match expander {
        // It is the last one, and one of what is left is drawn anyway.
        Expander::Random => {}
        Expander::MostPods => {
            let most = options.iter().map(|option| option.pods).max();
            options.retain(|option| Some(option.pods) == most);
        }
        Expander::LeastNodes => {
            let fewest = options.iter().map(|option| option.nodes).min();
            options.retain(|option| Some(option.nodes) == fewest);
        }
        Expander::LeastWaste => {
            let least = options.iter().map(|option| option.waste).min_by(f64::total_cmp);
            options.retain(|option| least.is_some_and(|least| option.waste <= least));
        }
        Expander::Priority => {
            let highest = options.iter().filter_map(|option| priorities[option.group]).max();
            options.retain(|option| highest.is_none() || priorities[option.group] == highest);
        }
    }
    options
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;
    use zonefall_scenario::kube::autoscaler::{ClusterAutoscaler, GroupPriority};

    fn option(group: usize, nodes: u32, pods: u32, waste: f64) -> ScaleUpOption {
        ScaleUpOption { group: MachineDeploymentId::from(group), nodes, pods, waste }
    }

    fn left(expanders: &[Expander], priorities: &[Option<u32>]) -> Vec<usize> {
        let options = vec![option(0, 4, 8, 0.5), option(1, 2, 8, 0.9), option(2, 1, 3, 0.2), option(3, 2, 8, 0.9)];
        let all = best(options, expanders, &priorities.to_vec().into());
        all.into_iter().map(|option| usize::from(option.group)).collect()
    }

    #[test]
    fn each_expander_leaves_the_best_of_what_the_one_before_left() {
        use Expander::{LeastNodes, LeastWaste, MostPods, Priority, Random};
        let (none, some) = ([None; 4], [Some(1), Some(7), Some(7), None]);
        for (expanders, priorities, expected) in [
            (&[Random][..], none, &[0, 1, 2, 3][..]),
            (&[MostPods], none, &[0, 1, 3]),
            (&[LeastWaste], none, &[2]),
            (&[LeastNodes], none, &[2]),
            (&[MostPods, LeastNodes], none, &[1, 3]),
            (&[MostPods, LeastWaste], none, &[0]),
            (&[LeastWaste, MostPods], none, &[2]),
            (&[Priority], some, &[1, 2]),
            (&[Priority, MostPods], some, &[1]),
            (&[MostPods, Priority, Random], some, &[1]),
            (&[Priority], none, &[0, 1, 2, 3]),
        ] {
            assert_eq!(left(expanders, &priorities), expected, "{expanders:?} {priorities:?}");
        }
    }

    #[test]
    fn a_group_has_the_highest_priority_whose_pattern_is_found_in_its_name() {
        let entry =
            |priority, groups: &[&str]| GroupPriority { priority, groups: groups.iter().map(ToString::to_string).collect() };
        let priorities = vec![entry(10, &[".*"]), entry(50, &["spot", "^c-gpu-z[12]$"]), entry(20, &["c-(gpu|cpu)"])];
        let options = ClusterAutoscaler { priorities, ..ClusterAutoscaler::default() };
        let groups = ["c-spot-z1", "c-gpu-z1", "c-gpu-z3", "c-gpu-z10", "xc-gpu-z1", "c-cpu-z1", "other"];
        let expected = [50, 50, 20, 20, 20, 20, 10].map(Some);
        assert_eq!(options.priorities_of(groups.into_iter()), expected);
        assert_eq!(ClusterAutoscaler::default().priorities_of(["c-gpu-z1"].into_iter()), [None]);
    }

    proptest! {
        #[test]
        fn what_expanders_leave_is_some_of_what_they_get_and_nothing_is_better(
            options in prop::collection::vec((1..5_u32, 1..9_u32, 0..20_u32, prop::option::of(0..3_u32)), 1..7),
            expanders in prop::sample::subsequence(
                vec![Expander::Priority, Expander::MostPods, Expander::LeastWaste, Expander::LeastNodes], 1..=4,
            ).prop_shuffle(),
        ) {
            let priorities: TiVec<_, _> = options.iter().map(|(.., priority)| *priority).collect();
            let options: Vec<_> =
                options.iter().enumerate().map(|(k, (nodes, pods, waste, _))| option(k, *nodes, *pods, f64::from(*waste) / 20.0)).collect();
            let left = best(options.clone(), &expanders, &priorities);
            prop_assert!(!left.is_empty() && left.iter().all(|one| options.contains(one)));
            // A chain is the lexicographic order of its expanders; without a priority in the whole list all are alike.
            let value = |one: &ScaleUpOption| -> Vec<i64> {
                let by = |expander: &Expander| match expander {
                    Expander::Random => 0,
                    Expander::MostPods => i64::from(one.pods),
                    Expander::LeastNodes => -i64::from(one.nodes),
                    Expander::LeastWaste => -(one.waste * 20.0).round() as i64,
                    Expander::Priority => priorities[one.group].map_or(-1, i64::from),
                };
                expanders.iter().map(by).collect()
            };
            let most = options.iter().map(value).max();
            let expected: Vec<_> = options.iter().filter(|one| Some(value(one)) == most).copied().collect();
            prop_assert_eq!(left, expected);
        }
    }
}
