//! etcd-druid and gardenlet, as far as they change control planes that are there: members of etcd are moved out of a zone that has an
//! outage and back ([`relocation`]), shoots are made to survive more ([`upgrade`]), and move to other seeds ([`migration`]).
//!
//! Of the pairs of etcd members of which one stands by druid checks the one that serves ([`passive`](zonefall_etcd::passive)).
//!
//! Both look at everything anew whenever something has changed and remember next to nothing: what is in the API and in etcd says how far
//! they are. Druid acts as [`Component::Druid`](zonefall_kube::spec::Component), gardenlet as `Gardenlet`: who cannot write does nothing.

pub mod describe;
mod migration;
mod relocation;
mod upgrade;

use std::collections::{BTreeMap, BTreeSet};

use serde::{Deserialize, Serialize};

use super::admission::Denial;
use crate::garden::{Garden, with_shoot};
use crate::gardenlet::Gardenlet;
pub use migration::MigrationFact;
use migration::{Residence, SourceStep};
pub(super) use migration::{Stage, bind, migration_of};
pub use relocation::{relaxed, required};
use upgrade::Upgrade;
use zonefall_kernel::traced;
use zonefall_kube::controller::{Controller, State};
use zonefall_kube::ctx::ClusterCtx;
use zonefall_kube::event::KubeEvent;
use zonefall_kube::name::{PodName, PodTag};
use zonefall_kube::spec::gardener::{FailureTolerance, Hosted, Recovery};
use zonefall_kube::spec::{Component, Role, Workload};
use zonefall_kube::store::{Change, Store};
use zonefall_network::HostId;
use zonefall_scenario::ids::{EtcdId, KubeClusterId, MemberId, SeedId, WorkloadId, ZoneId};

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

/// etcd-druid. Key of its work queue: a shoot.
#[derive(Clone, Debug)]
pub struct Druid {
    /// Etcd clusters of which one member serves and one stands by.
    pairs: Vec<EtcdId>,
    /// Where it runs, while it can act.
    host: Option<HostId>,
}

/// A shoot whose control plane may change, as one seed has it.
#[derive(Clone, Debug)]
pub(super) struct Shoot {
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
    /// The shoots of this seed that may move or change, as they start; what is asked for later is queued.
    pub fn factory(_state: &State, ctx: &mut ClusterCtx<'_>) -> Option<Box<dyn Controller>> {
        let model = &ctx.scenario.kube;
        let mut shoots = BTreeMap::new();
        for (key, spec) in (0..).zip(&model.shoots) {
            let is_here = |hosted: &&Hosted| model.seeds[hosted.seed].cluster == ctx.cluster;
            let Some(Hosted { seed, cluster, workloads, forms, .. }) = spec.places().find(is_here) else { continue };
            if spec.recovery != Recovery::Move && forms.is_empty() {
                continue;
            }
            let begins = spec.hosted.as_ref().is_some_and(|hosted| hosted.seed == *seed);
            let is_etcd = |id: &WorkloadId| matches!(ctx.spec.workloads[*id].role, Role::Etcd(_));
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
                multi_zonal: model.seeds[*seed].multi_zonal,
                upgrade: None,
                relaxed: BTreeSet::new(),
                spent: BTreeSet::new(),
            };
            shoots.insert(key.into(), shoot);
            // Who hosts it at the start is asked, and passes on what is another's.
            for (change, asked) in (0..).zip(&model.changes).filter(|(_, change)| begins && change.shoot == key) {
                ctx.schedule(asked.at, KubeEvent::Message { controller: ctx.controller, message: change });
            }
        }
        Garden::seed_of_mut(ctx).shoots = shoots;
        let etcd = ctx.spec.workloads.iter().filter_map(|workload| match workload.role {
            Role::Etcd(cluster) => Some(cluster),
            _ => None,
        });
        let pairs = etcd.filter(|cluster| ctx.scenario.etcd[*cluster].passive.is_some()).collect();
        Some(Box::new(Self { pairs, host: None }))
    }
}

impl Controller for Druid {
    fn component(&self) -> Option<Component> {
        Some(Component::Druid)
    }

    fn watch(&mut self, change: &Change, _state: &mut State, ctx: &mut ClusterCtx<'_>) {
        for key in about(change).map(|about| Garden::seed_of(ctx).concerned(Some(about))).unwrap_or_default() {
            ctx.enqueue(0, key);
        }
    }

    fn reconcile(&mut self, _queue: u8, key: u32, state: &mut State, ctx: &mut ClusterCtx<'_>) {
        let store = &mut state.store;
        let is_grown = with_shoot(key, ctx, |shoot, ctx| {
            if shoot.upgrade.is_some() {
                return shoot.upgrade_etcd(store, ctx);
            }
            if shoot.moves() {
                shoot.relocate(store, ctx);
            }
            false
        });
        if is_grown {
            ctx.notify::<Gardenlet>(0, key);
        }
    }

    fn list(&self, _state: &State, ctx: &ClusterCtx<'_>) -> Vec<(u8, u32)> {
        Garden::seed_of(ctx).shoots.keys().map(|key| (0, *key)).collect()
    }

    /// Another process takes over: it has not told yet of pods that cannot move. (How far it is with a shoot stands in the API.)
    fn forget(&mut self, _state: &mut State, ctx: &mut ClusterCtx<'_>) {
        Garden::seed_of_mut(ctx).shoots.values_mut().for_each(|shoot| shoot.spent.clear());
    }

    /// A shoot is asked to survive more: a place in [`KubeModel::changes`](zonefall_kube::spec::KubeModel::changes).
    fn message(&mut self, change: u32, _state: &mut State, ctx: &mut ClusterCtx<'_>) {
        let key = ctx.scenario.kube.changes[change as usize].shoot.into();
        with_shoot(key, ctx, |shoot, ctx| shoot.asked(change as u16, ctx));
        ctx.enqueue(0, key);
    }

    /// While it can act, on this host, it checks its pairs, and switches. (How: [`passive`](zonefall_etcd::passive).)
    fn arm(&mut self, _is_active: bool, state: &State, ctx: &mut ClusterCtx<'_>) {
        let host = state.leaders[Component::Druid as usize];
        if std::mem::replace(&mut self.host, host) != host {
            Garden::of_mut(ctx).effects.checked.extend(self.pairs.iter().map(|cluster| (*cluster, host)));
        }
    }

    fn describe_work(&self, _queue: u8) -> &'static str {
        "etcd-druid reconciles the etcd clusters of a shoot"
    }

    fn describe_message(&self, _message: u32) -> &'static str {
        "etcd-druid receives a request for a higher failure tolerance"
    }

    fn boxed(&self) -> Box<dyn Controller> {
        Box::new(self.clone())
    }
}

/// The component that a change is about, where that may matter to the control planes of shoots.
pub(super) const fn about(change: &Change) -> Option<WorkloadId> {
    match *change {
        Change::Removed(_, name, _) | Change::Unclaimed(name) => Some(name.workload),
        Change::Readiness(workload) | Change::Members(workload) => Some(workload),
        _ => None,
    }
}

impl Shoot {
    /// Whether something may be to do for it that has to do with a component, or with none.
    pub(super) fn is_concerned(&self, about: Option<WorkloadId>) -> bool {
        match about {
            _ if !self.is_busy() && !self.moves() => false,
            Some(workload) => (if self.is_busy() { &self.workloads } else { &self.sets }).contains(&workload),
            None => true,
        }
    }

    /// Whether it waits for etcd to reach a backup bucket.
    pub(super) fn waits_for_bucket(&self) -> bool {
        matches!(self.place, Residence::Leaves(_, SourceStep::Closed))
    }

    /// What gardenlet does about it; whether druid is to go on.
    pub(super) fn follow_all(&mut self, store: &mut Store, ctx: &mut ClusterCtx<'_>) -> bool {
        let was_here = self.place == Residence::Here;
        let mut before = None;
        // What a step waits for may be there already.
        while before.replace((self.place, self.upgrade.is_some())) != Some((self.place, self.upgrade.is_some())) {
            match self.place {
                // One thing after the other: what is under way is brought to its end before it leaves.
                _ if self.upgrade.is_some() => self.follow(store, ctx),
                Residence::Here | Residence::Elsewhere => {}
                Residence::Leaves(migration, step) => self.leave(migration, step, store, ctx),
                Residence::Arrives(step) => self.arrive(step, store, ctx),
            }
        }
        self.place == Residence::Here && !was_here
    }

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
        let workload = &ctx.spec.workloads[set];
        let Role::Etcd(cluster) = workload.role else { unreachable!("a set is etcd's") };
        let spec = &ctx.scenario.etcd[cluster];
        let see = |ordinal: u32| {
            let name = PodName { workload: set, tag: PodTag::Ordinal(ordinal) };
            let claim = store.claim(name).filter(|claim| !claim.deleted);
            let stays = claim.is_some() && store.named(name).is_some_and(|pod| !pod.terminating);
            let votes = workload
                .member(spec, ordinal, store.volumes_before(name))
                .is_some_and(|member| ctx.storage.serves_as_voter(MemberId { cluster, index: member }));
            Seen { name, ordinal, home: claim.map(|claim| claim.home), settled: stays && votes }
        };
        (0..store.desired(set)).map(see).collect()
    }
}
