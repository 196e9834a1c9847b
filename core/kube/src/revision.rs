//! Revisions of workloads: a roll-out makes a new one, and pods of those before it are replaced.

use smallvec::{SmallVec, smallvec};

use crate::ctx::ClusterCtx;
use crate::name::PodTag;
use crate::spec::{Kind, Workload};
use zonefall_kernel::rng::Purpose;
use zonefall_scenario::ids::WorkloadId;

/// A revision of a workload; of a Deployment its ReplicaSet.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Revision {
    /// How many there were before it (`gardener.cloud/rolloutVersion`).
    pub number: u32,
    /// Pods that a ReplicaSet is to have.
    pub desired: u32,
}

/// The revisions of a workload that have, or are to have, pods: the oldest first, the last is the current one. (Pods of a `StatefulSet`
/// know their own; only the current one is kept.)
#[derive(Clone, Debug)]
pub struct Revisions {
    all: SmallVec<[Revision; 2]>,
    /// Revisions made so far, but for the first one.
    made: u32,
    /// The one that was current before.
    previous: u32,
    /// The last that all pods of a StatefulSet had (`status.currentRevision`).
    settled: u32,
    /// No pod of a Deployment is replaced (`spec.paused`).
    paused: bool,
}

/// Draws for the hashes of templates, beyond those for names.
const TEMPLATES: u64 = 1 << 32;

impl Revisions {
    /// The first one.
    pub fn new(replicas: u32) -> Self {
        Self { all: smallvec![Revision { number: 0, desired: replicas }], made: 0, previous: 0, settled: 0, paused: false }
    }

    /// All of them.
    pub fn all(&self) -> &[Revision] {
        &self.all
    }

    /// The number of the current one.
    pub fn current(&self) -> u32 {
        self.all.last().expect("there is one always").number
    }

    /// Whether there was ever another one than the first.
    pub const fn is_first(&self) -> bool {
        self.made == 0
    }

    /// The number of the last one that all pods of a StatefulSet had.
    pub const fn settled(&self) -> u32 {
        self.settled
    }

    /// Whether no pod of a Deployment is replaced.
    pub const fn is_paused(&self) -> bool {
        self.paused
    }

    /// From now on pods of a Deployment are replaced, or not.
    pub const fn set_paused(&mut self, paused: bool) {
        self.paused = paused;
    }

    /// All pods of a StatefulSet have the current one.
    pub fn settle(&mut self) {
        self.settled = self.current();
    }

    /// Another one.
    pub fn add(&mut self, kind: Kind) {
        self.made += 1;
        self.make_current(self.made, kind);
    }

    /// The one that was current before is so again (`kubectl rollout undo`); nothing where there was none.
    pub fn undo(&mut self, kind: Kind) {
        if self.made > 0 {
            self.make_current(self.previous, kind);
        }
    }

    fn make_current(&mut self, number: u32, kind: Kind) {
        self.previous = self.current();
        let known = self.all.iter().find(|revision| revision.number == number).copied();
        if kind == Kind::Deployment {
            self.all.retain(|revision| revision.number != number);
        } else {
            self.all.clear();
        }
        self.all.push(known.unwrap_or(Revision { number, desired: 0 }));
    }

    /// Pods that each is to have. Old ones that are to have none are forgotten: their last pods are on their way out.
    pub fn scale(&mut self, sizes: &[u32]) {
        self.all.iter_mut().zip(sizes).for_each(|(revision, size)| revision.desired = *size);
        let current = self.current();
        self.all.retain(|revision| revision.desired > 0 || revision.number == current);
    }
}

/// The hash of the template of a Deployment's revision, which its pods have in their names: drawn, unless the scenario's own pods have one.
pub fn template(id: WorkloadId, revision: u32, ctx: &ClusterCtx<'_>) -> u32 {
    let drawn = |k| ctx.draws(Purpose::Suffix, id.0).draw(k).word() as u32;
    match revision {
        0 => given_template(&ctx.spec.workloads[id]).unwrap_or_else(|| drawn(0)),
        later => drawn(TEMPLATES + u64::from(later)),
    }
}

fn given_template(workload: &Workload) -> Option<u32> {
    workload.placed.iter().find_map(|(tag, _)| match tag {
        PodTag::Replica { template, .. } => Some(*template),
        PodTag::Ordinal(_) | PodTag::Agent(_) => None,
    })
}
