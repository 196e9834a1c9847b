//! Which shoots a seed can host, by its worker pools (GEP-20, "Setting Up a Seed for HA" and "Recommended Number of Nodes and Zones"), and
//! how a pool's machines are shared out over its zones.

/// Fewest nodes of a worker pool that hosts highly available control planes: as many as etcd has members.
pub const LEAST_NODES: u32 = 3;

/// Fewest zones of a worker pool that hosts control planes which survive a zone.
pub const LEAST_ZONES: u32 = 3;

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

/// Whether a seed is multi-zonal (`seed.gardener.cloud/multi-zonal`): one worker pool without taints can host control planes that
/// survive a zone, with three nodes spread across an odd number of zones, at least three. A seed is labelled so by itself; one that is by
/// hand must be so too.
pub fn is_multi_zonal(pools: &[Pool]) -> bool {
    let suits = |pool: &Pool| pool.zones >= LEAST_ZONES && is_odd(pool.zones) && pool.minimum >= LEAST_NODES;
    pools.iter().any(|pool| !pool.tainted && suits(pool))
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
    fn one_pool_without_taints_makes_a_seed_multi_zonal() {
        let pool = |zones, minimum| Pool { zones, minimum, tainted: false };
        for (zones, minimum, expected) in
            [(1, 3, false), (1, 9, false), (2, 6, false), (3, 2, false), (3, 3, true), (4, 8, false), (5, 3, true)]
        {
            assert_eq!(is_multi_zonal(&[pool(zones, minimum)]), expected, "{minimum} nodes in {zones} zones");
        }
        let tainted = Pool { tainted: true, ..pool(3, 3) };
        assert!(!is_multi_zonal(&[tainted, pool(1, 9)]) && is_multi_zonal(&[tainted, pool(1, 3), pool(3, 3)]));
        assert!(!is_multi_zonal(&[]));
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
