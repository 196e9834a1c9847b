//! Which shoots a seed can host, by its worker pools (GEP-20, "Setting Up a Seed for HA" and "Recommended Number of Nodes and Zones").

use std::fmt;

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

/// Why a worker pool, or a seed, is not what it should be.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Shortfall {
    /// Too few nodes.
    Nodes(u32),
    /// Too few zones.
    Zones(u32),
    /// Zones whose number is not odd.
    EvenZones(u32),
    /// More than one zone.
    ManyZones(u32),
    /// No worker pool without taints.
    Taints,
}

impl fmt::Display for Shortfall {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Nodes(nodes) => write!(f, "a minimum of {nodes} nodes, not of three"),
            Self::Zones(zones) => write!(f, "{zones} availability zones, fewer than three"),
            Self::EvenZones(zones) => write!(f, "{zones} availability zones, not an odd number"),
            Self::ManyZones(zones) => write!(f, "{zones} availability zones, not a single one"),
            Self::Taints => f.write_str("no worker pool that does not enforce taints on its nodes"),
        }
    }
}

impl Pool {
    /// Whether it can host a control plane that survives a node: three nodes in a single zone.
    ///
    /// # Errors
    /// What it is short of.
    pub const fn check_node_tolerance(&self) -> Result<(), Shortfall> {
        match *self {
            Self { zones, .. } if zones > 1 => Err(Shortfall::ManyZones(zones)),
            Self { minimum, .. } if minimum < LEAST_NODES => Err(Shortfall::Nodes(minimum)),
            Self { .. } => Ok(()),
        }
    }

    /// Whether it can host a control plane that survives a zone: three nodes spread across an odd number of zones, at least three.
    ///
    /// # Errors
    /// What it is short of.
    pub const fn check_zone_tolerance(&self) -> Result<(), Shortfall> {
        match *self {
            Self { zones, .. } if zones < LEAST_ZONES => Err(Shortfall::Zones(zones)),
            Self { zones, .. } if zones.is_multiple_of(2) => Err(Shortfall::EvenZones(zones)),
            Self { minimum, .. } if minimum < LEAST_NODES => Err(Shortfall::Nodes(minimum)),
            Self { .. } => Ok(()),
        }
    }
}

/// Whether a seed is multi-zonal (`seed.gardener.cloud/multi-zonal`): one worker pool without taints can host control planes that
/// survive a zone. A seed is labelled so by itself; one that is by hand must be so too.
///
/// # Errors
/// What its best pool is short of: that of the most zones, the first of these.
pub fn check_multi_zonal(pools: &[Pool]) -> Result<(), Shortfall> {
    let open = || pools.iter().filter(|pool| !pool.tainted);
    if open().any(|pool| pool.check_zone_tolerance().is_ok()) {
        return Ok(());
    }
    open().rev().max_by_key(|pool| pool.zones).map_or(Err(Shortfall::Taints), Pool::check_zone_tolerance)
}

/// Whether the number of zones of a highly available seed that Gardener manages is odd, as it is to enforce.
///
/// # Errors
/// It is not.
pub const fn check_zones(zones: u32) -> Result<(), Shortfall> {
    if zones.is_multiple_of(2) { Err(Shortfall::EvenZones(zones)) } else { Ok(()) }
}

#[cfg(test)]
mod tests {
    use super::*;

    const fn pool(zones: u32, minimum: u32) -> Pool {
        Pool { zones, minimum, tainted: false }
    }

    #[test]
    fn pools() {
        for (zones, minimum, node, zone) in [
            (1, 3, Ok(()), Err(Shortfall::Zones(1))),
            (1, 2, Err(Shortfall::Nodes(2)), Err(Shortfall::Zones(1))),
            (2, 6, Err(Shortfall::ManyZones(2)), Err(Shortfall::Zones(2))),
            (3, 2, Err(Shortfall::ManyZones(3)), Err(Shortfall::Nodes(2))),
            (3, 3, Err(Shortfall::ManyZones(3)), Ok(())),
            (4, 8, Err(Shortfall::ManyZones(4)), Err(Shortfall::EvenZones(4))),
            (5, 3, Err(Shortfall::ManyZones(5)), Ok(())),
        ] {
            let pool = pool(zones, minimum);
            assert_eq!((pool.check_node_tolerance(), pool.check_zone_tolerance()), (node, zone), "{pool:?}");
        }
    }

    #[test]
    fn one_pool_without_taints_makes_a_seed_multi_zonal() {
        let tainted = Pool { tainted: true, ..pool(3, 3) };
        assert_eq!(check_multi_zonal(&[tainted, pool(1, 3), pool(3, 3)]), Ok(()));
        assert_eq!(check_multi_zonal(&[tainted]), Err(Shortfall::Taints));
        assert_eq!(check_multi_zonal(&[tainted, pool(1, 9), pool(4, 4)]), Err(Shortfall::EvenZones(4)));
        assert_eq!(check_multi_zonal(&[pool(3, 2), pool(3, 1)]), Err(Shortfall::Nodes(2)), "the first of equals");
    }

    #[test]
    fn zones_are_odd() {
        assert_eq!([1, 2, 3].map(check_zones), [Ok(()), Err(Shortfall::EvenZones(2)), Ok(())]);
    }
}
