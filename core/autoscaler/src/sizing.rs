//! Sizes of a pool's node groups, one in each zone (GEP-24, sections 3.1 and 3.2).
//!
//! ```text
//!  static                minimum and maximum of the pool, distributed over its zones
//!  lax_greedy            0, and the maximum of the pool less the nodes of all other groups
//!  backward_compatible   as static, but a group without share of the maximum gets 1 until the pool has its maximum
//! ```
//!
//! The document leaves two things open. "Pool-size" of the backward-compatible strategy is taken as the pool's maximum, and the minimum of
//! lax-greedy groups is 0 also when nodes exist: all printed examples agree.

use zonefall_scenario::kube::autoscaler::Sizing;
use zonefall_scenario::kube::seed::over_zones;

/// Sizes that a group, or a pool of groups, may have.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Limits {
    /// Nodes at least.
    pub minimum: u32,
    /// Nodes at most.
    pub maximum: u32,
}

/// Limits of each group of a pool at a scan, in the order of the pool's zones. `launched`: nodes that each of them has.
pub fn limits(sizing: Sizing, pool: Limits, launched: &[u32]) -> Vec<Limits> {
    let zones = launched.len() as u32;
    let all = launched.iter().fold(0_u32, |all, own| all.saturating_add(*own));
    let share = |zone, size| over_zones(zone, size, zones);
    let group = |(zone, own): (u32, &u32)| {
        let (minimum, maximum) = (share(zone, pool.minimum), share(zone, pool.maximum));
        match sizing {
            Sizing::Static => Limits { minimum, maximum },
            Sizing::LaxGreedy => Limits { minimum: 0, maximum: pool.maximum.saturating_sub(all - own) },
            Sizing::BackwardCompatible if all < pool.maximum => Limits { minimum, maximum: maximum.max(1) },
            Sizing::BackwardCompatible => Limits { minimum, maximum },
        }
    };
    (0..).zip(launched).map(group).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    /// Maxima of the groups.
    fn maxima(sizing: Sizing, maximum: u32, launched: &[u32]) -> Vec<u32> {
        limits(sizing, Limits { minimum: 0, maximum }, launched).iter().map(|group| group.maximum).collect()
    }

    /// GEP-24, section 3.1: `Pool-3:4:2:2:3`, scan by scan.
    #[test]
    fn lax_greedy_leaves_each_group_what_the_others_have_not_launched() {
        let scans = [([0, 0, 0], [4, 4, 4]), ([1, 0, 0], [4, 3, 3]), ([2, 1, 0], [3, 2, 1]), ([2, 1, 1], [2, 1, 1])];
        for (launched, expected) in scans {
            assert_eq!(maxima(Sizing::LaxGreedy, 4, &launched), expected);
        }
    }

    #[test]
    fn a_group_of_a_full_backward_compatible_pool_loses_the_node_that_it_was_lent() {
        assert_eq!(maxima(Sizing::BackwardCompatible, 2, &[0, 0, 1]), [1, 1, 1]);
        assert_eq!(maxima(Sizing::BackwardCompatible, 2, &[1, 0, 1]), [1, 1, 0]);
        assert_eq!(maxima(Sizing::BackwardCompatible, 0, &[0, 0]), [0, 0], "a pool without nodes is full");
    }

    proptest! {
        #[test]
        fn static_groups_share_the_pool_out_and_no_two_of_them_differ_by_more_than_one(
            minimum in 0..40_u32,
            more in 0..40_u32,
            launched in prop::collection::vec(0..9_u32, 1..7),
        ) {
            let pool = Limits { minimum, maximum: minimum + more };
            let groups = limits(Sizing::Static, pool, &launched);
            prop_assert_eq!(groups.iter().map(|group| group.minimum).sum::<u32>(), pool.minimum);
            prop_assert_eq!(groups.iter().map(|group| group.maximum).sum::<u32>(), pool.maximum);
            prop_assert!(groups.is_sorted_by_key(|group| std::cmp::Reverse(group.maximum)), "earlier zones get more");
            prop_assert!(groups[0].maximum - groups[groups.len() - 1].maximum <= 1);
        }

        #[test]
        fn a_lax_greedy_pool_that_grows_in_one_group_never_exceeds_its_maximum(
            maximum in 0..40_u32,
            launched in prop::collection::vec(0..9_u32, 1..7),
        ) {
            let all: u32 = launched.iter().sum();
            for (own, group) in launched.iter().zip(limits(Sizing::LaxGreedy, Limits { minimum: 0, maximum }, &launched)) {
                let grown = all - own + group.maximum.max(*own);
                prop_assert!(grown <= maximum.max(all));
                prop_assert!(group.minimum == 0 && group.maximum <= maximum);
            }
        }

        #[test]
        fn a_backward_compatible_pool_differs_from_a_static_one_in_groups_without_share_alone(
            maximum in 0..12_u32,
            launched in prop::collection::vec(0..4_u32, 1..7),
        ) {
            let is_full = launched.iter().sum::<u32>() >= maximum;
            let pairs = maxima(Sizing::Static, maximum, &launched).into_iter().zip(maxima(Sizing::BackwardCompatible, maximum, &launched));
            for (before, now) in pairs {
                prop_assert_eq!(now, if before == 0 && !is_full { 1 } else { before });
            }
        }
    }
}
