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

use serde::{Deserialize, Serialize};

use super::Shoot;
use crate::etcd::passage::{Passage, Snapshot};
use crate::gardener::garden::Obstacle;
use crate::ids::{EtcdId, SeedId, WorkloadId};
use crate::kernel::time::Duration;
use crate::kernel::traced;
use crate::kube::context::Cx;
use crate::kube::event::{KubeEvent, Stage};
use crate::kube::record::KubeRecord;
use crate::kube::spec::gardener::{FailureTolerance, Migration};
use crate::kube::spec::{Role, Workload};
use crate::kube::store::Store;
use crate::sim::event::Event;

/// What becomes of a shoot that is to move to another seed.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum MigrationFact {
    /// It may, from the first seed to the second.
    Admitted(SeedId, SeedId),
    /// It may not move to that seed.
    Denied(SeedId, Obstacle),
    /// Its API servers and controllers are to end.
    Leaves,
    /// No API server is left, and nobody else asks etcd.
    Closed,
    /// All that etcd has is in the backup bucket; etcd is to end.
    Kept,
    /// Nothing is left of it in the old seed.
    Gone,
    /// etcd is restored in the new one; its components are to survive that.
    Restores(FailureTolerance),
    /// etcd serves there; API servers follow.
    Restored,
    /// API servers serve there; the rest follows.
    Serves,
    /// All of it is there.
    Done,
}

traced! {
    enum MigrationFact {
        Admitted(from, to) = 0,
        Denied(to, why) = 1,
        Leaves = 2,
        Closed = 3,
        Kept = 4,
        Gone = 5,
        Restores(tolerance) = 6,
        Restored = 7,
        Serves = 8,
        Done = 9,
    }
}

/// Where a shoot's control plane is, as one seed sees it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Place {
    Here,
    Elsewhere,
    /// A place in [`KubeModel::migrations`](crate::kube::spec::KubeModel::migrations), and how far that is.
    Leaves(u16, Leave),
    Arrives(Arrive),
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Leave {
    Asked,
    /// API servers and controllers are to end.
    Stops,
    /// Nobody asks etcd any more.
    Closed,
    /// A snapshot is under way.
    Uploads,
    /// It is in the bucket.
    Kept,
    /// etcd is to end.
    Ends,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Arrive {
    Asked,
    /// One member of each etcd cluster is wanted.
    Restores,
    /// API servers are.
    Restored,
    /// All are.
    Serves,
}

/// A shoot is asked to move to another seed.
pub fn bind(id: u16, cx: &mut Cx<'_>) {
    let migration = cx.scenario.kube.migrations[usize::from(id)];
    let Migration { shoot, to, .. } = migration;
    match cx.garden.admit(&migration, cx.scenario) {
        Err(obstacle) => cx.record(KubeRecord::Migration(shoot, MigrationFact::Denied(to, obstacle))),
        Ok(from) => {
            cx.record(KubeRecord::Migration(shoot, MigrationFact::Admitted(from, to)));
            let binding = cx.garden.shoot_mut(shoot);
            (binding.seed, binding.moves) = (Some(to), true);
            tell(from, id, Stage::Leaves, cx);
        }
    }
}

/// The gardenlet of a seed hears of a migration.
fn tell(seed: SeedId, id: u16, stage: Stage, cx: &mut Cx<'_>) {
    let cluster = cx.scenario.kube.seeds[usize::from(seed.0)].cluster;
    cx.fx.schedule.push((cx.now + cx.latency, Event::Kube(cluster, KubeEvent::Migration(id, stage))));
}

impl Shoot {
    /// Something about a migration has come to this seed.
    pub(super) fn migrate(&mut self, id: u16, stage: Stage, cx: &mut Cx<'_>) {
        match (stage, self.place) {
            (Stage::Leaves, _) => self.place = Place::Leaves(id, Leave::Asked),
            (Stage::Uploaded, Place::Leaves(id, Leave::Uploads)) => self.uploaded(id, cx),
            (Stage::Arrives, _) => {
                self.tolerance = cx.garden.shoot(self.key).tolerance;
                self.place = Place::Arrives(Arrive::Asked);
            }
            (Stage::Asked | Stage::Uploaded, _) => unreachable!("{stage:?} is not this seed's"),
        }
    }

    /// What the old seed's gardenlet does.
    pub(super) fn leave(&mut self, id: u16, step: Leave, store: &mut Store, cx: &mut Cx<'_>) {
        let gone = |store: &Store, workload: &WorkloadId| store.pods_of(*workload).next().is_none();
        let next = match step {
            Leave::Asked => {
                for workload in self.workloads.iter().filter(|id| !self.sets.contains(id)) {
                    store.set_desired(*workload, 0);
                }
                self.tell(MigrationFact::Leaves, cx);
                Leave::Stops
            }
            Leave::Stops if self.api_servers(cx).all(|workload| gone(store, &workload)) => {
                let closed = self.clusters(cx).map(|cluster| (cluster, Passage::Closed));
                cx.fx.passages.extend(closed);
                self.tell(MigrationFact::Closed, cx);
                return self.upload(id, cx);
            }
            Leave::Closed => return self.upload(id, cx),
            Leave::Kept => {
                for workload in &self.workloads {
                    store.set_desired(*workload, 0);
                    for claim in store.claims_of(*workload) {
                        store.delete_claim(claim, cx);
                    }
                }
                Leave::Ends
            }
            Leave::Ends if self.workloads.iter().all(|workload| gone(store, workload)) => {
                self.tell(MigrationFact::Gone, cx);
                tell(cx.scenario.kube.migrations[usize::from(id)].to, id, Stage::Arrives, cx);
                (self.place, self.relaxed) = (Place::Elsewhere, BTreeSet::new());
                return;
            }
            Leave::Stops | Leave::Uploads | Leave::Ends => return,
        };
        self.place = Place::Leaves(id, next);
    }

    /// A snapshot of the etcd cluster that has a backup begins, if that can be.
    fn upload(&mut self, id: u16, cx: &mut Cx<'_>) {
        let bytes = cx.etcd[self.main(cx).0 as usize].snapshot_bytes(cx.net);
        self.place = Place::Leaves(id, if bytes.is_some() { Leave::Uploads } else { Leave::Closed });
        if let Some(bytes) = bytes {
            let takes = Duration::of_transfer(bytes, cx.spec.timers.upload_bytes_per_s);
            cx.schedule(cx.now + takes, KubeEvent::Migration(id, Stage::Uploaded));
        }
    }

    /// It is in the bucket, if etcd still serves and reaches that; else another is taken.
    fn uploaded(&mut self, id: u16, cx: &mut Cx<'_>) {
        let main = self.main(cx);
        let Some(bytes) = cx.etcd[main.0 as usize].snapshot_bytes(cx.net) else { return self.upload(id, cx) };
        let to = cx.scenario.kube.migrations[usize::from(id)].to;
        let there = &cx.scenario.kube.clusters[cx.scenario.kube.seeds[usize::from(to.0)].cluster.0 as usize];
        let takes = Duration::of_transfer(bytes, there.timers.restore_bytes_per_s);
        let kept = |cluster| (cluster, Passage::Kept((cluster == main).then_some(Snapshot { bytes, takes })));
        let kept: Vec<_> = self.clusters(cx).map(kept).collect();
        cx.fx.passages.extend(kept);
        self.tell(MigrationFact::Kept, cx);
        self.place = Place::Leaves(id, Leave::Kept);
    }

    /// What the new seed's gardenlet does.
    pub(super) fn arrive(&mut self, step: Arrive, store: &mut Store, cx: &mut Cx<'_>) {
        let next = match step {
            Arrive::Asked => {
                for (id, template) in self.form(cx).filter(|(id, _)| self.sets.contains(id)) {
                    store.set_template(id, Workload { replicas: 1, ..template.clone() });
                }
                self.tell(MigrationFact::Restores(self.tolerance), cx);
                Arrive::Restores
            }
            Arrive::Restores if self.etcd_serves(store, cx) => {
                let api_servers: Vec<WorkloadId> = self.api_servers(cx).collect();
                for (id, template) in self.form(cx).filter(|(id, _)| api_servers.contains(id)) {
                    store.set_template(id, template.clone());
                }
                self.tell(MigrationFact::Restored, cx);
                Arrive::Restored
            }
            Arrive::Restored if self.api_servers(cx).all(|id| store.is_complete(id)) => {
                for (id, template) in self.form(cx) {
                    store.set_template(id, template.clone());
                }
                self.tell(MigrationFact::Serves, cx);
                Arrive::Serves
            }
            Arrive::Serves if self.etcd_serves(store, cx) && self.workloads.iter().all(|id| store.is_complete(*id)) => {
                self.tell(MigrationFact::Done, cx);
                cx.garden.shoot_mut(self.key).moves = false;
                self.place = Place::Here;
                for change in std::mem::take(&mut self.later) {
                    self.ask(change, cx);
                }
                return;
            }
            Arrive::Restores | Arrive::Restored | Arrive::Serves => return,
        };
        self.place = Place::Arrives(next);
    }

    fn tell(&self, fact: MigrationFact, cx: &mut Cx<'_>) {
        cx.record(KubeRecord::Migration(self.key, fact));
    }

    fn api_servers<'a>(&'a self, cx: &Cx<'a>) -> impl Iterator<Item = WorkloadId> + 'a {
        let workloads = &cx.spec.workloads;
        self.workloads.iter().copied().filter(|id| matches!(workloads[id.0 as usize].role, Role::ApiServer(_)))
    }

    fn clusters<'a>(&'a self, cx: &Cx<'a>) -> impl Iterator<Item = EtcdId> + 'a {
        let workloads = &cx.spec.workloads;
        self.sets.iter().map(|set| match workloads[set.0 as usize].role {
            Role::Etcd(cluster) => cluster,
            _ => unreachable!("a set is etcd's"),
        })
    }

    /// The etcd cluster that has a backup: the one that its objects are in.
    fn main(&self, cx: &Cx<'_>) -> EtcdId {
        cx.scenario.kube.clusters[self.cluster.0 as usize].etcd
    }
}
