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
pub struct Revisions(SmallVec<[Revision; 2]>);

/// Draws for the hashes of templates, beyond those for names.
const TEMPLATES: u64 = 1 << 32;

impl Revisions {
    /// The first one.
    pub fn new(replicas: u32) -> Self {
        Self(smallvec![Revision { number: 0, desired: replicas }])
    }

    /// All of them.
    pub fn all(&self) -> &[Revision] {
        &self.0
    }

    /// The number of the current one.
    pub fn current(&self) -> u32 {
        self.0.last().expect("there is one always").number
    }

    /// Another one.
    pub fn add(&mut self, kind: Kind) {
        let number = self.current() + 1;
        if kind != Kind::Deployment {
            self.0.clear();
        }
        self.0.push(Revision { number, desired: 0 });
    }

    /// Pods that each is to have. Old ones that are to have none are forgotten: their last pods are on their way out.
    pub fn scale(&mut self, sizes: &[u32]) {
        self.0.iter_mut().zip(sizes).for_each(|(revision, size)| revision.desired = *size);
        let current = self.current();
        self.0.retain(|revision| revision.desired > 0 || revision.number == current);
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
