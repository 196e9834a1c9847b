//! The Gardener scheduler: the seed that a shoot is given, and whether one may be given another (GEP-20, "Case #1: HA Shoot with no Seed Assigned"; gardener/gardener
//! `pkg/scheduler/controller/shoot/reconciler.go`).
//!
//! ```text
//!  seeds --filter: room, zones--> --strategy: same region--> --score: single-zonal ones first, then the fewest shoots--> seed
//! ```

use serde::{Deserialize, Serialize};

use super::gardener::FailureTolerance;

/// A seed that may be asked for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Seed {
    /// Its region: a place in the scenario's.
    pub region: u16,
    /// It can host control planes that survive a zone.
    pub multi_zonal: bool,
    /// Shoots it may host (`status.allocatable.shoots`).
    pub allocatable: u32,
    /// Shoots it hosts.
    pub shoots: u32,
}

/// Why there is no seed for a shoot: what the last seeds lacked.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum SeedRejection {
    /// None has room.
    Full,
    /// None that has room spans zones.
    NotMultiZonal,
    /// None that would do is in the shoot's region.
    OtherRegion,
}

/// The seed (a place in the list) for a shoot of this region (`None`: it does not matter) and failure tolerance. A multi-zonal seed is chosen for a shoot that does
/// not need it only where no single-zonal one is suitable, however full these are. Of equals, the first.
///
/// # Errors
/// Why there is none.
pub fn choose(region: Option<u16>, tolerance: FailureTolerance, seeds: &[Seed]) -> Result<usize, SeedRejection> {
    let needs_zones = tolerance == FailureTolerance::Zone;
    let left: Vec<(usize, &Seed)> = seeds.iter().enumerate().collect();
    let left = keep(left, |seed| seed.shoots < seed.allocatable, SeedRejection::Full)?;
    let left = keep(left, |seed| seed.multi_zonal || !needs_zones, SeedRejection::NotMultiZonal)?;
    let left = keep(left, |seed| region.is_none_or(|region| seed.region == region), SeedRejection::OtherRegion)?;
    let best = left.into_iter().min_by_key(|(_, seed)| (seed.multi_zonal && !needs_zones, seed.shoots));
    Ok(best.expect("some are left").0)
}

/// Those that fit, at least one.
fn keep(
    mut seeds: Vec<(usize, &Seed)>,
    fits: impl Fn(&Seed) -> bool,
    otherwise: SeedRejection,
) -> Result<Vec<(usize, &Seed)>, SeedRejection> {
    seeds.retain(|(_, seed)| fits(seed));
    if seeds.is_empty() { Err(otherwise) } else { Ok(seeds) }
}

#[cfg(test)]
mod tests {
    use super::FailureTolerance::{Node, None, Zone};
    use super::*;

    const HERE: u16 = 7;

    const fn seed(multi_zonal: bool, shoots: u32) -> Seed {
        Seed { region: HERE, multi_zonal, allocatable: 10, shoots }
    }

    #[test]
    fn the_least_used_seed_of_the_right_kind() {
        for (tolerance, seeds, chosen) in [
            (None, vec![seed(false, 3), seed(false, 1), seed(false, 1)], Ok(1)),
            // Single-zonal first, however full.
            (None, vec![seed(true, 0), seed(false, 9)], Ok(1)),
            (Node, vec![seed(true, 0), seed(false, 9)], Ok(1)),
            (Zone, vec![seed(false, 0), seed(true, 9), seed(true, 8)], Ok(2)),
            // Multi-zonal where nothing else is left.
            (Node, vec![seed(true, 5), seed(false, 10), seed(true, 4)], Ok(2)),
            (None, vec![Seed { region: 8, ..seed(false, 0) }, seed(true, 0)], Ok(1)),
            (None, vec![], Err(SeedRejection::Full)),
            (Node, vec![seed(false, 10), seed(true, 11)], Err(SeedRejection::Full)),
            (Zone, vec![seed(false, 0), seed(true, 10)], Err(SeedRejection::NotMultiZonal)),
            (Zone, vec![seed(false, 0), Seed { region: 8, ..seed(true, 0) }], Err(SeedRejection::OtherRegion)),
        ] {
            assert_eq!(choose(Some(HERE), tolerance, &seeds), chosen, "{tolerance:?}: {seeds:?}");
        }
    }

    #[test]
    fn a_region_may_not_matter() {
        let elsewhere = [Seed { region: 8, ..seed(false, 0) }];
        assert_eq!(
            (choose(Some(HERE), None, &elsewhere), choose(Option::None, None, &elsewhere)),
            (Err(SeedRejection::OtherRegion), Ok(0))
        );
    }
}
