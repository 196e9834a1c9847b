//! A shoot whose control plane moves to another seed (gardener, `docs/operations/control_plane_migration.md`; the order of steps is that
//! of `pkg/gardenlet/controller/shoot`, `runMigrateShootFlow` and `runReconcileShootFlow`).
//!
//! ```text
//!  old seed:  asked --admission--> API servers and controllers go --> no API server: final snapshot of etcd --> it is in the bucket:
//!             etcd goes --> nothing is left
//!  new seed:  one member of etcd is restored from the bucket --> API servers --> they serve: the other members, all that is left
//! ```
//!
//! Both gardenlets act for themselves: where the old seed's API is gone its gardenlet cannot hand over, and the shoot stays where it is.

use std::collections::BTreeSet;

use crate::garden::Garden;
use crate::record::{GardenerRecord, MigrationFact, Report};
use crate::shoot::{Residence, Shoot, SourceStep, TargetStep};
use zonefall_etcd::restore::{FullSnapshot, RestorePhase};
use zonefall_kernel::time::Duration;
use zonefall_kube::ctx::ClusterCtx;
use zonefall_kube::event::KubeEvent;
use zonefall_kube::spec::gardener::Migration;
use zonefall_kube::spec::{Role, Workload};
use zonefall_kube::store::Store;
use zonefall_scenario::ids::{EtcdId, SeedId, WorkloadId};

/// How far a shoot is that moves to another seed: what gardenlets are asked.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Stage {
    /// A user asks for it.
    Requested,
    /// The old seed is asked to hand over.
    Leaves,
    /// A snapshot of its etcd is in the backup bucket.
    Uploaded,
    /// The new seed is asked to take over.
    Arrives,
}

impl Stage {
    /// As a message to a gardenlet, about a place in [`KubeModel::migrations`](zonefall_kube::spec::KubeModel::migrations).
    pub(super) const fn message(self, migration: u16) -> u32 {
        (self as u32) << 16 | migration as u32
    }
}

/// What a message to a gardenlet says.
pub(super) const fn migration_of(message: u32) -> (Stage, u16) {
    let stage = match message >> 16 {
        0 => Stage::Requested,
        1 => Stage::Leaves,
        2 => Stage::Uploaded,
        _ => Stage::Arrives,
    };
    (stage, message as u16)
}

/// A shoot is asked to move to another seed.
pub(super) fn bind(id: u16, ctx: &mut ClusterCtx<'_>) {
    let migration = ctx.scenario.kube.migrations[usize::from(id)];
    let Migration { shoot, to, .. } = migration;
    match Garden::of(ctx).admit(&migration, ctx.scenario) {
        Err(denial) => ctx.report(GardenerRecord::Migration(shoot, MigrationFact::Denied(to, denial))),
        Ok(from) => {
            ctx.report(GardenerRecord::Migration(shoot, MigrationFact::Admitted(from, to)));
            let binding = Garden::of_mut(ctx).shoot_mut(shoot);
            (binding.seed, binding.moves) = (Some(to), true);
            send_stage(from, id, Stage::Leaves, ctx);
        }
    }
}

/// The gardenlet of a seed hears of a migration.
fn send_stage(seed: SeedId, id: u16, stage: Stage, ctx: &mut ClusterCtx<'_>) {
    let cluster = ctx.scenario.kube.seeds[seed].cluster;
    let message = KubeEvent::Message { controller: ctx.controller, message: stage.message(id) };
    ctx.out.schedule(ctx.now + ctx.latency, (cluster, message));
}

impl Shoot {
    /// Something about a migration has come to this seed.
    pub(super) fn migrate(&mut self, id: u16, stage: Stage, ctx: &mut ClusterCtx<'_>) {
        match (stage, self.place) {
            (Stage::Leaves, _) => self.place = Residence::Leaves(id, SourceStep::Requested),
            (Stage::Uploaded, Residence::Leaves(id, SourceStep::Uploads)) => self.uploaded(id, ctx),
            (Stage::Arrives, _) => {
                self.tolerance = Garden::of(ctx).shoot(self.key).tolerance;
                self.place = Residence::Arrives(TargetStep::Requested);
            }
            (Stage::Requested | Stage::Uploaded, _) => unreachable!("{stage:?} is not this seed's"),
        }
    }

    /// What the old seed's gardenlet does.
    pub(super) fn leave(&mut self, id: u16, step: SourceStep, store: &mut Store, ctx: &mut ClusterCtx<'_>) {
        let gone = |store: &Store, workload: &WorkloadId| store.pods_of(*workload).next().is_none();
        let next = match step {
            SourceStep::Requested => {
                for workload in self.workloads.iter().filter(|id| !self.sets.contains(id)) {
                    store.set_desired(*workload, 0);
                }
                self.record(MigrationFact::Leaves, ctx);
                SourceStep::Stops
            }
            SourceStep::Stops if self.api_servers(ctx).all(|workload| gone(store, &workload)) => {
                let closed: Vec<_> = self.clusters(ctx).map(|cluster| (cluster, RestorePhase::Closed)).collect();
                Garden::of_mut(ctx).effects.restore_phases.extend(closed);
                self.record(MigrationFact::Closed, ctx);
                return self.upload(id, ctx);
            }
            SourceStep::Closed => return self.upload(id, ctx),
            SourceStep::Kept => {
                for workload in &self.workloads {
                    store.set_desired(*workload, 0);
                    for claim in store.claims_of(*workload) {
                        store.delete_claim(claim, ctx);
                    }
                }
                SourceStep::Ends
            }
            SourceStep::Ends if self.workloads.iter().all(|workload| gone(store, workload)) => {
                self.record(MigrationFact::Gone, ctx);
                send_stage(ctx.scenario.kube.migrations[usize::from(id)].to, id, Stage::Arrives, ctx);
                (self.place, self.relaxed) = (Residence::Elsewhere, BTreeSet::new());
                return;
            }
            SourceStep::Stops | SourceStep::Uploads | SourceStep::Ends => return,
        };
        self.place = Residence::Leaves(id, next);
    }

    /// A snapshot of the etcd cluster that has a backup begins, if that can be.
    fn upload(&mut self, id: u16, ctx: &mut ClusterCtx<'_>) {
        let bytes = ctx.storage.snapshot_bytes(self.main(ctx), ctx.now, ctx.net);
        self.place = Residence::Leaves(id, if bytes.is_some() { SourceStep::Uploads } else { SourceStep::Closed });
        if let Some(bytes) = bytes {
            let takes = Duration::of_transfer(bytes, ctx.spec.timers.upload_bytes_per_s);
            ctx.schedule(
                ctx.now + takes,
                KubeEvent::Message { controller: ctx.controller, message: Stage::Uploaded.message(id) },
            );
        }
    }

    /// It is in the bucket, if etcd still serves and reaches that; else another is taken.
    fn uploaded(&mut self, id: u16, ctx: &mut ClusterCtx<'_>) {
        let main = self.main(ctx);
        let Some(bytes) = ctx.storage.snapshot_bytes(main, ctx.now, ctx.net) else { return self.upload(id, ctx) };
        let to = ctx.scenario.kube.migrations[usize::from(id)].to;
        let there = &ctx.scenario.kube.clusters[ctx.scenario.kube.seeds[to].cluster];
        let takes = Duration::of_transfer(bytes, there.timers.restore_bytes_per_s);
        let kept = |cluster| (cluster, RestorePhase::BackedUp((cluster == main).then_some(FullSnapshot { bytes, takes })));
        let kept: Vec<_> = self.clusters(ctx).map(kept).collect();
        Garden::of_mut(ctx).effects.restore_phases.extend(kept);
        self.record(MigrationFact::Kept, ctx);
        self.place = Residence::Leaves(id, SourceStep::Kept);
    }

    /// What the new seed's gardenlet does.
    pub(super) fn arrive(&mut self, step: TargetStep, store: &mut Store, ctx: &mut ClusterCtx<'_>) {
        let next = match step {
            TargetStep::Requested => {
                for (id, template) in self.form(ctx).filter(|(id, _)| self.sets.contains(id)) {
                    store.set_template(id, Workload { replicas: 1, ..template.clone() }, ctx.spec);
                }
                self.record(MigrationFact::Restores(self.tolerance), ctx);
                TargetStep::Restores
            }
            TargetStep::Restores if self.etcd_serves(store, ctx) => {
                let api_servers: Vec<WorkloadId> = self.api_servers(ctx).collect();
                for (id, template) in self.form(ctx).filter(|(id, _)| api_servers.contains(id)) {
                    store.set_template(id, template.clone(), ctx.spec);
                }
                self.record(MigrationFact::Restored, ctx);
                TargetStep::Restored
            }
            TargetStep::Restored if self.api_servers(ctx).all(|id| store.is_complete(id)) => {
                for (id, template) in self.form(ctx) {
                    store.set_template(id, template.clone(), ctx.spec);
                }
                self.record(MigrationFact::Serves, ctx);
                TargetStep::Serves
            }
            TargetStep::Serves if self.etcd_serves(store, ctx) && self.workloads.iter().all(|id| store.is_complete(*id)) => {
                self.record(MigrationFact::Done, ctx);
                Garden::of_mut(ctx).shoot_mut(self.key).moves = false;
                self.place = Residence::Here;
                for change in std::mem::take(&mut self.later) {
                    self.request(change, ctx);
                }
                return;
            }
            TargetStep::Restores | TargetStep::Restored | TargetStep::Serves => return,
        };
        self.place = Residence::Arrives(next);
    }

    fn record(&self, fact: MigrationFact, ctx: &mut ClusterCtx<'_>) {
        ctx.report(GardenerRecord::Migration(self.key, fact));
    }

    fn api_servers<'a>(&'a self, ctx: &ClusterCtx<'a>) -> impl Iterator<Item = WorkloadId> + 'a {
        let workloads = &ctx.spec.workloads;
        self.workloads.iter().copied().filter(|id| matches!(workloads[*id].role, Role::ApiServer(_)))
    }

    fn clusters<'a>(&'a self, ctx: &ClusterCtx<'a>) -> impl Iterator<Item = EtcdId> + 'a {
        let workloads = &ctx.spec.workloads;
        self.sets.iter().map(|set| match workloads[*set].role {
            Role::Etcd(cluster) => cluster,
            _ => unreachable!("a set is etcd's"),
        })
    }

    /// The etcd cluster that has a backup: the one that its objects are in.
    fn main(&self, ctx: &ClusterCtx<'_>) -> EtcdId {
        ctx.scenario.kube.clusters[self.cluster].etcd
    }
}
