//! Which shoots a seed can host, by its worker pools (GEP-20, "Setting Up a Seed for HA", "Recommended Number of Nodes and Zones" and
//! "etcd Active-Passive Options"), and how a pool's machines are shared out over its zones.

use super::gardener::ZoneTolerance;

/// Fewest nodes, and zones, of a worker pool that hosts control planes which survive a zone: as many as etcd has members.
const QUORUM: u32 = 3;

/// The same where etcd is active-passive.
const PAIR: u32 = 2;

/// A worker pool of a seed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Pool {
    /// Zones it spans.
    pub zones: u32,
    /// Nodes it has at least.
    pub minimum: u32,
    /// Its nodes have taints, so not every pod may run here.
    pub tainted: bool,
}

/// Control planes that survive the loss of a zone and that a seed can host: one worker pool without taints must have room for them. A
/// quorum needs three nodes at least, spread across an odd number of zones, at least three; a pair needs two nodes in two zones at least.
pub fn zone_tolerance(pools: &[Pool]) -> ZoneTolerance {
    let of_pool = |pool: &Pool| match pool.zones.min(pool.minimum) {
        QUORUM.. if is_odd(pool.zones) => ZoneTolerance::Quorum,
        PAIR.. => ZoneTolerance::Pair,
        _ => ZoneTolerance::None,
    };
    pools.iter().filter(|pool| !pool.tainted).map(of_pool).max().unwrap_or_default()
}

/// Whether the number of zones of a highly available seed that Gardener manages is odd, as it is to enforce.
pub const fn is_odd(zones: u32) -> bool {
    !zones.is_multiple_of(2)
}

/// The share of zone `index` of `zones` (at least one) in `size`: alike for all, the first zones taking what is left over
/// (gardener/gardener, `extensions/pkg/controller/worker`, `DistributeOverZones`; the source's comment gives it to the last zone, its code
/// and tests to the first ones).
pub const fn over_zones(index: u32, size: u32, zones: u32) -> u32 {
    size / zones + (index < size % zones) as u32
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn one_pool_without_taints_makes_a_seed_tolerate_the_loss_of_a_zone() {
        use ZoneTolerance::{None, Pair, Quorum};
        let pool = |zones, minimum| Pool { zones, minimum, tainted: false };
        for (zones, minimum, expected) in [
            (1, 3, None),
            (1, 9, None),
            (2, 1, None),
            (2, 2, Pair),
            (2, 6, Pair),
            (3, 2, Pair),
            (3, 3, Quorum),
            (4, 8, Pair),
            (5, 3, Quorum),
        ] {
            assert_eq!(zone_tolerance(&[pool(zones, minimum)]), expected, "{minimum} nodes in {zones} zones");
        }
        let tainted = Pool { tainted: true, ..pool(3, 3) };
        for (pools, expected) in [
            (&[][..], None),
            (&[tainted, pool(1, 9)], None),
            (&[tainted, pool(2, 2)], Pair),
            (&[tainted, pool(1, 3), pool(3, 3)], Quorum),
            (&[pool(1, 2), pool(2, 1)], None),
        ] {
            assert_eq!(zone_tolerance(pools), expected, "{pools:?}");
        }
    }

    #[test]
    fn shares_add_up_and_differ_by_one() {
        for (size, zones) in (0..40).flat_map(|size| (1..8).map(move |zones| (size, zones))) {
            let shares: Vec<u32> = (0..zones).map(|index| over_zones(index, size, zones)).collect();
            assert_eq!(shares.iter().sum::<u32>(), size);
            assert!(
                shares.is_sorted_by(|a, b| a >= b) && shares[0] - shares[shares.len() - 1] <= 1,
                "{size} over {zones}: {shares:?}"
            );
        }
    }
}
