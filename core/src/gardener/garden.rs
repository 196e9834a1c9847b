//! The garden: which seed each shoot is bound to, and whether it may be bound to another (`shoots/binding`; GEP-20, "Case #2: HA Shoot
//! with Assigned Seed and Updated Failure Tolerance": control-plane migration brings a shoot to a seed that suits it).

use std::fmt;

use serde::{Deserialize, Serialize};

use crate::ids::SeedId;
use crate::kernel::traced;
use crate::kube::spec::KubeModel;
use crate::kube::spec::gardener::{FailureTolerance, Migration};
use crate::kube::spec::scheduler::{Seed, SeedRejection, choose};
use crate::scenario::Scenario;

/// All shoots, as the garden has them.
#[derive(Clone, Debug)]
pub struct Garden {
    shoots: Vec<Binding>,
}

/// A shoot.
#[derive(Clone, Copy, Debug)]
pub struct Binding {
    /// The seed that is to host it (`spec.seedName`); `None`: no seed takes it.
    pub seed: Option<SeedId>,
    /// It is on its way there.
    pub moves: bool,
    /// Which failure it is to survive.
    pub tolerance: FailureTolerance,
}

/// Why a shoot is not bound to another seed.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum MigrationDenial {
    /// It has no control plane yet.
    Unscheduled,
    /// It is on its way already.
    Moves,
    /// It is there.
    Same,
    /// What the scheduler would say of that seed.
    Seed(SeedRejection),
}

traced! { enum MigrationDenial { Unscheduled = 0, Moves = 1, Same = 2, Seed(reason) = 3 } }

impl fmt::Display for MigrationDenial {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Unscheduled => "no seed hosts it yet",
            Self::Moves => "it is on its way to another seed already",
            Self::Same => "it is there already",
            Self::Seed(SeedRejection::Full) => "that seed has no capacity for another shoot",
            Self::Seed(SeedRejection::NotMultiZonal) => "that seed is not multi-zonal, and the shoot is to survive a zone",
            Self::Seed(SeedRejection::OtherRegion) => "that seed is in another region",
        })
    }
}

impl Garden {
    /// As the run starts.
    pub fn new(model: &KubeModel) -> Self {
        let binding = |shoot: &crate::kube::spec::gardener::Shoot| Binding {
            seed: shoot.hosted.as_ref().map(|hosted| hosted.seed),
            moves: false,
            tolerance: shoot.tolerance,
        };
        Self { shoots: model.shoots.iter().map(binding).collect() }
    }

    /// A shoot.
    pub fn shoot(&self, shoot: u16) -> &Binding {
        &self.shoots[usize::from(shoot)]
    }

    /// A shoot, to be changed.
    pub fn shoot_mut(&mut self, shoot: u16) -> &mut Binding {
        &mut self.shoots[usize::from(shoot)]
    }

    /// Whether a shoot may be bound to another seed: to one that the scheduler might choose. Which seed hosts it so far.
    ///
    /// # Errors
    /// Why it may not.
    pub fn admit(&self, migration: &Migration, scenario: &Scenario) -> Result<SeedId, MigrationDenial> {
        let Binding { seed, moves, tolerance } = *self.shoot(migration.shoot);
        let from = seed.ok_or(MigrationDenial::Unscheduled)?;
        if moves {
            return Err(MigrationDenial::Moves);
        }
        if from == migration.to {
            return Err(MigrationDenial::Same);
        }
        let seeds = [self.seed(migration.to, scenario)];
        choose(Some(self.seed(from, scenario).region), tolerance, &seeds).map_err(MigrationDenial::Seed)?;
        Ok(from)
    }

    /// A seed as the scheduler sees it.
    fn seed(&self, id: SeedId, scenario: &Scenario) -> Seed {
        let seed = &scenario.kube.seeds[usize::from(id.0)];
        let region = scenario.zones[seed.zones[0].0 as usize].region;
        let shoots = self.shoots.iter().filter(|shoot| shoot.seed == Some(id)).count() as u32;
        let (multi_zonal, allocatable) = (seed.multi_zonal, seed.allocatable_shoots);
        Seed { region, multi_zonal, allocatable, shoots }
    }
}
