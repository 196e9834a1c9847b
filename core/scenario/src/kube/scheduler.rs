//! The Gardener scheduler: the seed that a shoot is given, and whether one may be given another (GEP-20, "Case #1: HA Shoot with no Seed Assigned"; gardener/gardener
//! `pkg/scheduler/controller/shoot/reconciler.go`).
//!
//! ```text
//!  seeds --filter: zones, capacity--> --strategy: same region--> --score: the least zone tolerance first, then the fewest shoots--> seed
//! ```

use super::gardener::{SeedRejection, ZoneTolerance};

/// A seed that may be asked for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Seed {
    /// Its region: a place in the scenario's.
    pub region: u16,
    /// Control planes that it can host.
    pub zone_tolerance: ZoneTolerance,
    /// Shoots it may host (`status.allocatable.shoots`).
    pub allocatable: u32,
    /// Shoots it hosts.
    pub shoots: u32,
}

impl Seed {
    /// Whether it suits a shoot of this region (`None`: it does not matter), which needs this.
    ///
    /// # Errors
    /// Why it does not.
    pub fn admit(&self, region: Option<u16>, needed: ZoneTolerance) -> Result<(), SeedRejection> {
        if self.zone_tolerance < needed {
            return Err(SeedRejection::TooFewZones { found: self.zone_tolerance, needed });
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

/// The seed (a place in the list) for a shoot of this region (`None`: it does not matter), which needs this. A seed that tolerates more is
/// chosen only where none that tolerates less is suitable, however full these are: multi-zonal seeds are for shoots that need them. Of
/// equals, the first.
///
/// # Errors
/// Why each seed does not suit it, in the order of the list.
pub fn choose(region: Option<u16>, needed: ZoneTolerance, seeds: &[Seed]) -> Result<usize, Vec<SeedRejection>> {
    let answers: Vec<_> = seeds.iter().map(|seed| seed.admit(region, needed)).collect();
    let suitable = seeds.iter().enumerate().filter(|(s, _)| answers[*s].is_ok());
    match suitable.min_by_key(|(_, seed)| (seed.zone_tolerance, seed.shoots)) {
        Some((s, _)) => Ok(s),
        None => Err(answers.into_iter().filter_map(Result::err).collect()),
    }
}

#[cfg(test)]
mod tests {
    use super::SeedRejection::{Full, OtherRegion, TooFewZones};
    use super::ZoneTolerance::{None, Pair, Quorum};
    use super::*;

    const HERE: u16 = 7;

    const fn seed(zone_tolerance: ZoneTolerance, shoots: u32) -> Seed {
        Seed { region: HERE, zone_tolerance, allocatable: 10, shoots }
    }

    const fn too_few(found: ZoneTolerance, needed: ZoneTolerance) -> SeedRejection {
        TooFewZones { found, needed }
    }

    #[test]
    fn the_least_used_seed_of_the_right_kind() {
        for (needed, seeds, chosen) in [
            (None, vec![seed(None, 3), seed(None, 1), seed(None, 1)], Ok(1)),
            // Single-zonal first, however full; then one over two zones.
            (None, vec![seed(Quorum, 0), seed(None, 9)], Ok(1)),
            (None, vec![seed(Quorum, 0), seed(Pair, 8), seed(None, 9)], Ok(2)),
            (None, vec![seed(Quorum, 0), seed(Pair, 8), seed(None, 10)], Ok(1)),
            (Pair, vec![seed(None, 0), seed(Quorum, 7), seed(Pair, 9)], Ok(2)),
            (Pair, vec![seed(None, 0), seed(Quorum, 7), seed(Pair, 10)], Ok(1)),
            (Quorum, vec![seed(None, 0), seed(Pair, 0), seed(Quorum, 9), seed(Quorum, 8)], Ok(3)),
            // Multi-zonal where nothing else is left.
            (None, vec![seed(Quorum, 5), seed(None, 10), seed(Quorum, 4)], Ok(2)),
            (None, vec![Seed { region: 8, ..seed(None, 0) }, seed(Quorum, 0)], Ok(1)),
            (None, vec![], Err(vec![])),
            (None, vec![seed(None, 10), seed(Quorum, 11)], Err(vec![Full, Full])),
            // Each for the first filter that it fails.
            (Pair, vec![seed(None, 10), seed(Pair, 10)], Err(vec![too_few(None, Pair), Full])),
            (Quorum, vec![seed(Pair, 10), seed(Quorum, 10)], Err(vec![too_few(Pair, Quorum), Full])),
            (Quorum, vec![seed(None, 0), Seed { region: 8, ..seed(Quorum, 0) }], Err(vec![too_few(None, Quorum), OtherRegion])),
            (None, vec![Seed { region: 8, ..seed(Quorum, 10) }], Err(vec![Full])),
        ] {
            assert_eq!(choose(Some(HERE), needed, &seeds), chosen, "{needed:?}: {seeds:?}");
        }
    }

    #[test]
    fn a_region_may_not_matter() {
        let elsewhere = [Seed { region: 8, ..seed(None, 0) }];
        assert_eq!(
            (choose(Some(HERE), None, &elsewhere), choose(Option::None, None, &elsewhere)),
            (Err(vec![OtherRegion]), Ok(0))
        );
    }
}
