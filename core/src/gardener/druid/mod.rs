//! etcd-druid and gardenlet, as far as they change control planes that are there: members of etcd are moved out of a zone that has an
//! outage and back ([`relocation`]), shoots are made to survive more ([`upgrade`]), and move to other seeds ([`migration`]).
//!
//! Of the pairs of etcd members of which one stands by druid checks the one that serves ([`passive`](crate::etcd::passive)).
//!
//! Both look at everything anew whenever something has changed and remember next to nothing: what is in the API and in etcd says how far
//! they are. Druid acts as [`Component::Druid`](crate::kube::spec::Component), gardenlet as `Gardenlet`: who cannot write does nothing.

pub mod describe;
mod migration;
mod relocation;
#[cfg(test)]
mod tests;
mod upgrade;

use std::collections::{BTreeMap, BTreeSet};

use serde::{Deserialize, Serialize};

use super::admission::Denial;
use super::outage::Outages;
use crate::ids::{EtcdId, KubeClusterId, SeedId, WorkloadId, ZoneId};
use crate::kernel::traced;
use crate::kube::ctx::ClusterCtx;
use crate::kube::event::{KubeEvent, Stage};
use crate::kube::name::{PodName, PodTag};
use crate::kube::spec::gardener::{FailureTolerance, Hosted, Recovery};
use crate::kube::spec::{Role, Workload};
use crate::kube::store::Store;
use crate::network::HostId;
pub use migration::{MigrationFact, bind};
use migration::{Residence, SourceStep};
pub use relocation::{relaxed, required};
use upgrade::Upgrade;

/// What etcd-druid does with the pods of an etcd cluster.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum DruidFact {
    /// They need not be in zones of their own any more, they prefer it.
    Relaxed,
    /// They must be again.
    Required,
    /// The pod of this ordinal leaves a zone that has an outage: it and its volume are deleted.
    Moves(u32),
    /// The pod of this ordinal makes room for one in a zone that has recovered.
    Returns(u32),
    /// The pod of this ordinal should move, but has been as many members as a run allows for.
    Spent(u32),
    /// They start anew, to talk to their peers with TLS.
    Restarts,
    /// So many are wanted.
    Grows(u32),
}

traced! {
    enum DruidFact {
        Relaxed = 0,
        Required = 1,
        Moves(ordinal) = 2,
        Returns(ordinal) = 3,
        Spent(ordinal) = 4,
        Restarts = 5,
        Grows(replicas) = 6,
    }
}

/// What becomes of a shoot that is asked to survive more.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum ToleranceFact {
    /// It may.
    Admitted(FailureTolerance),
    /// It may not.
    Denied(FailureTolerance, Denial),
    /// etcd does; the other components follow.
    Follows(FailureTolerance),
    /// All of it does.
    Done(FailureTolerance),
}

traced! { enum ToleranceFact { Admitted(to) = 0, Denied(to, why) = 1, Follows(to) = 2, Done(to) = 3 } }

/// The shoots of a seed whose control planes may change.
#[derive(Clone, Debug)]
pub struct Druid {
    /// By their place among all shoots.
    shoots: BTreeMap<u32, Shoot>,
    /// Etcd clusters of which one member serves and one stands by.
    pairs: Vec<EtcdId>,
    /// Where it runs, while it can act.
    host: Option<HostId>,
}

#[derive(Clone, Debug)]
struct Shoot {
    /// Its place among all shoots.
    key: u16,
    /// This seed.
    seed: SeedId,
    /// Its own API.
    cluster: KubeClusterId,
    place: Residence,
    /// What it is asked for on its way, for when it is there.
    later: Vec<u16>,
    /// Its etcd clusters.
    sets: Vec<WorkloadId>,
    /// All of its components.
    workloads: Vec<WorkloadId>,
    tolerance: FailureTolerance,
    recovery: Recovery,
    multi_zonal: bool,
    upgrade: Option<Upgrade>,
    /// Clusters whose pods need not be in zones of their own.
    relaxed: BTreeSet<WorkloadId>,
    /// Pods of which it was told that they cannot move again.
    spent: BTreeSet<PodName>,
}

/// A pod of an etcd cluster, as druid sees it.
#[derive(Clone, Copy, Debug)]
struct Seen {
    name: PodName,
    ordinal: u32,
    /// The zone its volume is in.
    home: Option<ZoneId>,
    /// It stays what it is, serves and has a vote.
    settled: bool,
}

impl Druid {
    /// The shoots of this plane that may move or change, as they start; what is asked for later is queued.
    pub fn new(ctx: &mut ClusterCtx<'_>) -> Self {
        let model = &ctx.scenario.kube;
        let mut shoots = BTreeMap::new();
        for (key, spec) in (0..).zip(&model.shoots) {
            let is_here = |hosted: &&Hosted| model.seeds[hosted.seed.0 as usize].cluster == ctx.cluster;
            let Some(Hosted { seed, cluster, workloads, forms, .. }) = spec.places().find(is_here) else { continue };
            if spec.recovery != Recovery::Move && forms.is_empty() {
                continue;
            }
            let begins = spec.hosted.as_ref().is_some_and(|hosted| hosted.seed == *seed);
            let is_etcd = |id: &WorkloadId| matches!(ctx.spec.workloads[id.0 as usize].role, Role::Etcd(_));
            let shoot = Shoot {
                key,
                seed: *seed,
                cluster: *cluster,
                place: if begins { Residence::Here } else { Residence::Elsewhere },
                later: Vec::new(),
                sets: workloads.iter().copied().filter(is_etcd).collect(),
                workloads: workloads.clone(),
                tolerance: spec.tolerance,
                recovery: spec.recovery,
                multi_zonal: model.seeds[seed.0 as usize].multi_zonal,
                upgrade: None,
                relaxed: BTreeSet::new(),
                spent: BTreeSet::new(),
            };
            shoots.insert(key.into(), shoot);
            // Who hosts it at the start is asked, and passes on what is another's.
            for (change, asked) in (0..).zip(&model.changes).filter(|(_, change)| begins && change.shoot == key) {
                ctx.schedule(asked.at, KubeEvent::Tolerance(change));
            }
        }
        // Whoever is asked, the garden answers.
        let cluster = ctx.cluster;
        for (id, asked) in (0..).zip(&model.migrations).filter(|(_, asked)| model.seeds[asked.to.0 as usize].cluster == cluster) {
            ctx.schedule(asked.at, KubeEvent::Migration(id, Stage::Requested));
        }
        let etcd = ctx.spec.workloads.iter().filter_map(|workload| match workload.role {
            Role::Etcd(cluster) => Some(cluster),
            _ => None,
        });
        let pairs = etcd.filter(|cluster| ctx.scenario.etcd[cluster.0 as usize].passive.is_some()).collect();
        Self { shoots, pairs, host: None }
    }

    /// It can act from now on, on this host, or can no longer: so long it checks its pairs, and switches.
    /// (How: [`passive`](crate::etcd::passive).)
    pub fn acts_from(&mut self, host: Option<HostId>, ctx: &mut ClusterCtx<'_>) {
        if std::mem::replace(&mut self.host, host) != host {
            ctx.fx.checked.extend(self.pairs.iter().map(|cluster| (*cluster, host)));
        }
    }

    /// The shoots there are.
    pub fn shoots(&self) -> impl Iterator<Item = u32> {
        self.shoots.keys().copied()
    }

    /// The shoots for which something may be to do that has to do with a component, or with none.
    pub fn concerned(&self, about: Option<WorkloadId>) -> Vec<u32> {
        let concerns = |shoot: &Shoot| match about {
            _ if !shoot.is_busy() && !shoot.moves() => false,
            Some(workload) => (if shoot.is_busy() { &shoot.workloads } else { &shoot.sets }).contains(&workload),
            None => true,
        };
        self.shoots.iter().filter(|(_, shoot)| concerns(shoot)).map(|(key, _)| *key).collect()
    }

    /// The shoots that wait for etcd to reach a backup bucket.
    pub fn uploads(&self) -> Vec<u32> {
        let waits = |shoot: &Shoot| matches!(shoot.place, Residence::Leaves(_, SourceStep::Closed));
        self.shoots.iter().filter(|(_, shoot)| waits(shoot)).map(|(key, _)| *key).collect()
    }

    /// A shoot is asked to survive more; which.
    pub fn request(&mut self, change: u16, ctx: &mut ClusterCtx<'_>) -> u32 {
        let key = ctx.scenario.kube.changes[change as usize].shoot.into();
        self.shoots.get_mut(&key).expect("changes are of shoots that are here").asked(change, ctx);
        key
    }

    /// A shoot moves to or from this seed; which.
    pub fn migrate(&mut self, migration: u16, stage: Stage, ctx: &mut ClusterCtx<'_>) -> u32 {
        let key = ctx.scenario.kube.migrations[migration as usize].shoot.into();
        self.shoots.get_mut(&key).expect("a shoot moves where it has a place").migrate(migration, stage, ctx);
        key
    }

    /// What druid does about a shoot; whether gardenlet is to go on.
    pub fn reconcile(&mut self, key: u32, outages: &Outages, store: &mut Store, ctx: &mut ClusterCtx<'_>) -> bool {
        let shoot = self.shoots.get_mut(&key).expect("who is told of a shoot has it");
        if shoot.upgrade.is_some() {
            return shoot.upgrade_etcd(store, ctx);
        }
        if shoot.moves() {
            shoot.relocate(outages, store, ctx);
        }
        false
    }

    /// What gardenlet does about a shoot; whether druid is to go on.
    pub fn follow(&mut self, key: u32, store: &mut Store, ctx: &mut ClusterCtx<'_>) -> bool {
        let shoot = self.shoots.get_mut(&key).expect("who is told of a shoot has it");
        let was_here = shoot.place == Residence::Here;
        let mut before = None;
        // What a step waits for may be there already.
        while before.replace((shoot.place, shoot.upgrade.is_some())) != Some((shoot.place, shoot.upgrade.is_some())) {
            match shoot.place {
                // One thing after the other: what is under way is brought to its end before it leaves.
                _ if shoot.upgrade.is_some() => shoot.follow(store, ctx),
                Residence::Here | Residence::Elsewhere => {}
                Residence::Leaves(migration, step) => shoot.leave(migration, step, store, ctx),
                Residence::Arrives(step) => shoot.arrive(step, store, ctx),
            }
        }
        shoot.place == Residence::Here && !was_here
    }
}

impl Shoot {
    /// Its members of etcd leave a zone that has an outage.
    fn moves(&self) -> bool {
        self.place == Residence::Here && self.recovery == Recovery::Move && self.tolerance == FailureTolerance::Zone
    }

    /// It changes, or moves to another seed.
    const fn is_busy(&self) -> bool {
        self.upgrade.is_some() || matches!(self.place, Residence::Leaves(..) | Residence::Arrives(_))
    }

    /// Its components as they are to be.
    fn form<'a>(&self, ctx: &ClusterCtx<'a>) -> impl Iterator<Item = (WorkloadId, &'a Workload)> + use<'a> {
        let mut places = ctx.scenario.kube.shoots[usize::from(self.key)].places();
        let hosted = places.find(|hosted| hosted.seed == self.seed).expect("it has a place here");
        hosted.workloads.iter().copied().zip(hosted.form(self.tolerance))
    }

    /// Whether all members of its etcd clusters that are wanted serve, as what they are to be.
    fn etcd_serves(&self, store: &Store, ctx: &ClusterCtx<'_>) -> bool {
        self.sets.iter().all(|set| {
            let ready = |pod: &Seen| pod.settled && store.named(pod.name).is_some_and(|pod| pod.ready);
            !store.is_rolling(*set) && Self::pods(*set, store, ctx).iter().all(ready)
        })
    }

    /// The pods that are wanted of an etcd cluster.
    fn pods(set: WorkloadId, store: &Store, ctx: &ClusterCtx<'_>) -> Vec<Seen> {
        let workload = &ctx.spec.workloads[set.0 as usize];
        let Role::Etcd(cluster) = workload.role else { unreachable!("a set is etcd's") };
        let (spec, now) = (&ctx.scenario.etcd[cluster.0 as usize], &ctx.etcd[cluster.0 as usize]);
        let see = |ordinal: u32| {
            let name = PodName { workload: set, tag: PodTag::Ordinal(ordinal) };
            let claim = store.claim(name).filter(|claim| !claim.deleted);
            let stays = claim.is_some() && store.named(name).is_some_and(|pod| !pod.terminating);
            let votes =
                workload.member(spec, ordinal, store.volumes_before(name)).is_some_and(|member| now.serves_as_voter(member));
            Seen { name, ordinal, home: claim.map(|claim| claim.home), settled: stays && votes }
        };
        (0..store.desired(set)).map(see).collect()
    }
}
