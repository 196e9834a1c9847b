//! Resolves the names in an operation to ids, and reports errors at the operation's path.

use super::owner::{RawClusterName, RawOwner};
use crate::error::{did_you_mean, quote};
use crate::ids::EtcdId;
use crate::kube::gardener::Shoot;
use crate::lowering::{CheckCtx, ClusterDrafts, MemberLifetime, Names, in_cluster};
use zonefall_kernel::time::Time;

/// What operations on members read, and where they report errors.
pub(crate) struct MembersCtx<'a, 'c> {
    pub(crate) ctx: &'a mut CheckCtx<'c>,
    /// Path of the operation.
    pub(crate) path: &'a str,
    pub(crate) cluster: EtcdId,
    /// Time of the operation.
    pub(crate) at: Time,
    /// The members of the cluster until then, in the order in which they were added.
    pub(crate) lifetimes: &'a mut Vec<MemberLifetime>,
}

impl MembersCtx<'_, '_> {
    /// Reports what is wrong with a `.field`, or (without one) with the operation as a whole.
    pub(crate) fn error(&mut self, field: &str, found: impl Into<String>, expected: impl Into<String>) {
        self.ctx.error(&format!("{}{field}", self.path), found, expected);
    }

    /// The members that are in the cluster at that time.
    pub(crate) fn now(&self) -> impl Iterator<Item = &MemberLifetime> {
        self.lifetimes.iter().filter(|life| life.covers(self.at))
    }

    /// The place of the member of this name that is in the cluster then.
    pub(crate) fn member(&mut self, name: &str) -> Option<usize> {
        in_cluster(self.ctx, self.path, name, self.at, self.lifetimes)
    }
}

/// What the operations on clusters and shoots need to know what their names mean, and where they report what is wrong.
pub(crate) struct OperationCtx<'a, 'c> {
    pub(crate) ctx: &'a mut CheckCtx<'c>,
    pub(crate) path: &'a str,
    pub(crate) seeds: &'a Names,
    pub(crate) clusters: &'a Names,
    /// Names of zones; numbers are those of [`ZoneId`](crate::ids::ZoneId).
    pub(crate) zones: &'a Names,
    /// All that has nodes: seeds, then clusters.
    pub(crate) lowering: &'a ClusterDrafts,
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

    /// The place among all of a cluster without Gardener, and that of a host in its control plane.
    pub(crate) fn host(&mut self, cluster: &str, node: &str) -> Option<(usize, u32)> {
        let site = self.find(self.clusters, "cluster", cluster);
        let host = site.and_then(|site| self.find(&self.lowering.clusters[site].hosts, "node", node));
        site.zip(host.map(|host| host as u32))
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
