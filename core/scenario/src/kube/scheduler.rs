//! The Gardener scheduler: the seed that a shoot is given, and whether one may be given another (GEP-20, "Case #1: HA Shoot with no Seed Assigned"; gardener/gardener
//! `pkg/scheduler/controller/shoot/reconciler.go`).
//!
//! ```text
//!  seeds --filter: zones, capacity--> --strategy: same region--> --score: single-zonal ones first, then the fewest shoots--> seed
//! ```

use super::gardener::{FailureTolerance, SeedRejection};

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

impl Seed {
    /// Whether it suits a shoot of this region (`None`: it does not matter) and failure tolerance.
    ///
    /// # Errors
    /// Why it does not.
    pub fn admit(&self, region: Option<u16>, tolerance: FailureTolerance) -> Result<(), SeedRejection> {
        if tolerance == FailureTolerance::Zone && !self.multi_zonal {
            return Err(SeedRejection::NotMultiZonal);
        }
        if self.shoots >= self.allocatable {
            return Err(SeedRejection::Full);
        }
        if region.is_some_and(|region| region != self.region) {
            return Err(SeedRejection::OtherRegion);
        }
        Ok(())
    }
}

/// The seed (a place in the list) for a shoot of this region (`None`: it does not matter) and failure tolerance. A multi-zonal seed is chosen for a shoot that does
/// not need it only where no single-zonal one is suitable, however full these are. Of equals, the first.
///
/// # Errors
/// Why each seed does not suit it, in the order of the list.
pub fn choose(region: Option<u16>, tolerance: FailureTolerance, seeds: &[Seed]) -> Result<usize, Vec<SeedRejection>> {
    let answers: Vec<_> = seeds.iter().map(|seed| seed.admit(region, tolerance)).collect();
    let suitable = seeds.iter().enumerate().filter(|(s, _)| answers[*s].is_ok());
    let score = |seed: &Seed| (seed.multi_zonal && tolerance != FailureTolerance::Zone, seed.shoots);
    match suitable.min_by_key(|(_, seed)| score(seed)) {
        Some((s, _)) => Ok(s),
        None => Err(answers.into_iter().filter_map(Result::err).collect()),
    }
}

#[cfg(test)]
mod tests {
    use super::FailureTolerance::{Node, None, Zone};
    use super::SeedRejection::{Full, NotMultiZonal, OtherRegion};
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
            (None, vec![], Err(vec![])),
            (Node, vec![seed(false, 10), seed(true, 11)], Err(vec![Full, Full])),
            // Each for the first filter that it fails.
            (Zone, vec![seed(false, 10), seed(true, 10)], Err(vec![NotMultiZonal, Full])),
            (Zone, vec![seed(false, 0), Seed { region: 8, ..seed(true, 0) }], Err(vec![NotMultiZonal, OtherRegion])),
            (Node, vec![Seed { region: 8, ..seed(true, 10) }], Err(vec![Full])),
        ] {
            assert_eq!(choose(Some(HERE), tolerance, &seeds), chosen, "{tolerance:?}: {seeds:?}");
        }
    }

    #[test]
    fn a_region_may_not_matter() {
        let elsewhere = [Seed { region: 8, ..seed(false, 0) }];
        assert_eq!(
            (choose(Some(HERE), None, &elsewhere), choose(Option::None, None, &elsewhere)),
            (Err(vec![OtherRegion]), Ok(0))
        );
    }
}
