//! Operations on Kubernetes clusters and shoots.

use super::lower::Lowering;
use super::names::Names;
use super::{CheckCtx, quoted};
use crate::error::{did_you_mean, quote};
use crate::ids::KubeClusterId;
use crate::kube::Operation;
use crate::kube::gardener::Shoot;
use crate::operation::{Of, RawClusterName, RawOwner, Task};
use crate::raw::RawScenario;
use zonefall_kernel::time::Time;

/// Operations on clusters, in order of time. (Those on members are with the etcd clusters; what comes of those on shoots is with the
/// shoots, only their names are checked here.)
pub(super) fn validate(
    ctx: &mut CheckCtx<'_>,
    raw: &RawScenario,
    seeds: &Names,
    clusters: &Names,
    lowering: &Lowering,
    shoots: &[Shoot],
) -> Vec<Operation> {
    let mut all = Vec::new();
    for (o, operation) in raw.operations.iter().enumerate() {
        let path = format!("operations[{o}].{}", operation.change.word());
        let mut found = OperationCtx { ctx, path: &path, seeds, clusters, lowering, shoots };
        let tasks: Vec<(usize, Task)> = match operation.change.of() {
            Of::Members(_) => continue,
            Of::Shoot(asked) => {
                asked.check(&mut found);
                found.owner(&RawOwner::Shoot(asked.shoot().to_owned()));
                Vec::new()
            }
            Of::Cluster(asked) => asked.tasks(&mut found),
        };
        if let Some(etcd) = &operation.etcd {
            ctx.error(&format!("operations[{o}].etcd"), quoted(etcd), "nothing: only members are of an etcd cluster");
        }
        let at = Time::ZERO + operation.at.0;
        all.extend(tasks.into_iter().map(|(site, task)| Operation { at, cluster: KubeClusterId(site as u16), task }));
    }
    all.sort_by_key(|operation| operation.at);
    all
}

/// What the operations on clusters and shoots need to know what their names mean, and where they report what is wrong.
pub(crate) struct OperationCtx<'a, 'c> {
    ctx: &'a mut CheckCtx<'c>,
    path: &'a str,
    seeds: &'a Names,
    clusters: &'a Names,
    /// All that has nodes: seeds, then clusters.
    pub(crate) lowering: &'a Lowering,
    pub(crate) shoots: &'a [Shoot],
}

/// Whose component.
#[derive(Clone, Copy)]
pub(crate) enum Owner {
    /// The seed or cluster at this place among all.
    Site(usize),
    /// The shoot at this place.
    Shoot(usize),
}

impl OperationCtx<'_, '_> {
    /// Reports what is wrong with a field, or (without one) with the operation as a whole.
    pub(crate) fn error(&mut self, field: &str, found: impl Into<String>, expected: impl Into<String>) {
        self.ctx.error(&self.place(field), found, expected);
    }

    fn place(&self, field: &str) -> String {
        if field.is_empty() { self.path.to_owned() } else { format!("{}.{field}", self.path) }
    }

    /// The number of what a field names.
    pub(crate) fn find(&mut self, names: &Names, field: &str, name: &str) -> Option<usize> {
        names.find(self.ctx, &self.place(field), name)
    }

    /// The `seed` of this name.
    pub(crate) fn seed(&mut self, name: &str) -> Option<usize> {
        self.find(self.seeds, "seed", name)
    }

    /// The place among all of a cluster that has nodes.
    pub(crate) fn cluster(&mut self, raw: &RawClusterName) -> Option<usize> {
        match raw {
            RawClusterName::Seed(name) => self.seed(name),
            RawClusterName::Cluster(name) => self.find(self.clusters, "cluster", name),
        }
    }

    /// Who is meant.
    pub(crate) fn owner(&mut self, raw: &RawOwner) -> Option<Owner> {
        match raw {
            RawOwner::Seed(name) => self.seed(name).map(Owner::Site),
            RawOwner::Cluster(name) => self.find(self.clusters, "cluster", name).map(Owner::Site),
            RawOwner::Shoot(name) => {
                let found = self.shoots.iter().position(|shoot| shoot.name == *name);
                if found.is_none() {
                    let hint = did_you_mean(name, self.shoots.iter().map(|shoot| shoot.name.as_str()));
                    self.error("shoot", quote(name), format!("the name of a shoot{hint}"));
                }
                found.map(Owner::Shoot)
            }
        }
    }
}
