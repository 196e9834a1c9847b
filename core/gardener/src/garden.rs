//! The garden: which seed each shoot is bound to, and whether it may be bound to another (`shoots/binding`; GEP-20, "Case #2: HA Shoot
//! with Assigned Seed and Updated Failure Tolerance": control-plane migration brings a shoot to a seed that suits it).

use std::collections::{BTreeMap, BTreeSet};

pub use crate::admission::MigrationDenial;
use crate::shoot::Shoot;
use zonefall_etcd::restore::RestorePhase;
use zonefall_kube::ctx::ClusterCtx;
use zonefall_kube::spec::KubeModel;
use zonefall_kube::spec::gardener::{FailureTolerance, Migration, ZoneTolerance};
use zonefall_kube::spec::scheduler::Seed;
use zonefall_network::HostId;
use zonefall_scenario::Scenario;
use zonefall_scenario::ids::{EtcdId, KubeClusterId, SeedId, WorkloadId, ZoneId};

/// All shoots, as the garden has them, and what the controllers of each seed share.
#[derive(Clone, Debug)]
pub struct Garden {
    shoots: Vec<Binding>,
    seeds: BTreeMap<KubeClusterId, SeedState>,
    /// What is asked of etcd.
    pub effects: GardenEffects,
}

/// What the controllers of a seed share: the state of control planes, and which zones have an outage.
#[derive(Clone, Debug, Default)]
pub struct SeedState {
    /// Shoots that may move or change, by their place among all shoots.
    pub(super) shoots: BTreeMap<u32, Shoot>,
    /// Zones that have an outage, as far as can be told.
    pub(super) outages: BTreeSet<ZoneId>,
}

/// What Gardener asks of etcd clusters.
#[derive(Clone, Debug, Default)]
pub struct GardenEffects {
    /// Active-passive clusters that etcd-druid can check from now on, from this host, or can no longer.
    pub checked: Vec<(EtcdId, Option<HostId>)>,
    /// Clusters that are on their way to another seed, and how far.
    pub restore_phases: Vec<(EtcdId, RestorePhase)>,
}

impl GardenEffects {
    /// Nothing is asked for.
    pub fn is_empty(&self) -> bool {
        self.checked.is_empty() && self.restore_phases.is_empty()
    }
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

impl Garden {
    /// As the run starts.
    pub fn new(model: &KubeModel) -> Self {
        let binding = |shoot: &zonefall_kube::spec::gardener::Shoot| Binding {
            seed: shoot.hosted.as_ref().map(|hosted| hosted.seed),
            moves: false,
            tolerance: shoot.tolerance,
        };
        let effects = GardenEffects::default();
        Self { shoots: model.shoots.iter().map(binding).collect(), seeds: BTreeMap::new(), effects }
    }

    /// The garden of a run: what its controllers share ([`ClusterCtx::shared`]).
    pub(super) fn of<'a>(ctx: &'a ClusterCtx<'_>) -> &'a Self {
        (*ctx.shared).downcast_ref().expect("the run loop shares the garden")
    }

    /// The same, to be changed.
    pub(super) fn of_mut<'a>(ctx: &'a mut ClusterCtx<'_>) -> &'a mut Self {
        (*ctx.shared).downcast_mut().expect("the run loop shares the garden")
    }

    /// The state of the seed whose controller is at work.
    pub(super) fn seed_of<'a>(ctx: &'a ClusterCtx<'_>) -> &'a SeedState {
        &Self::of(ctx).seeds[&ctx.cluster]
    }

    /// The same, to be changed.
    pub(super) fn seed_of_mut<'a>(ctx: &'a mut ClusterCtx<'_>) -> &'a mut SeedState {
        let cluster = ctx.cluster;
        Self::of_mut(ctx).seeds.entry(cluster).or_default()
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
        let region = Some(self.seed(from, scenario).region);
        // A shoot whose etcd clusters are pairs is never asked to move.
        let needed = ZoneTolerance::needed(tolerance, false);
        self.seed(migration.to, scenario).admit(region, needed).map_err(MigrationDenial::Seed)?;
        Ok(from)
    }

    /// A seed as the scheduler sees it.
    fn seed(&self, id: SeedId, scenario: &Scenario) -> Seed {
        let seed = &scenario.kube.seeds[id];
        let region = scenario.zones[seed.zones[0]].region;
        let shoots = self.shoots.iter().filter(|shoot| shoot.seed == Some(id)).count() as u32;
        Seed { region, zone_tolerance: seed.zone_tolerance, allocatable: seed.allocatable_shoots, shoots }
    }
}

impl SeedState {
    /// The shoots for which something may be to do that has to do with a component, or with none.
    pub(super) fn concerned(&self, about: Option<WorkloadId>) -> Vec<u32> {
        self.shoots.iter().filter(|(_, shoot)| shoot.is_concerned(about)).map(|(key, _)| *key).collect()
    }

    /// The shoots that wait for etcd to reach a backup bucket.
    pub(super) fn uploads(&self) -> Vec<u32> {
        self.shoots.iter().filter(|(_, shoot)| shoot.waits_for_bucket()).map(|(key, _)| *key).collect()
    }
}

/// Does something with a shoot of the seed whose controller is at work.
pub(super) fn with_shoot<T>(key: u32, ctx: &mut ClusterCtx<'_>, act: impl FnOnce(&mut Shoot, &mut ClusterCtx<'_>) -> T) -> T {
    let mut shoot = Garden::seed_of_mut(ctx).shoots.remove(&key).expect("the seed has a place for the shoot");
    let result = act(&mut shoot, ctx);
    Garden::seed_of_mut(ctx).shoots.insert(key, shoot);
    result
}
