//! Members of etcd clusters over time, as operations add, promote and remove them.

use super::CheckCtx;
use crate::error::{did_you_mean, one_of, quote};
use crate::etcd::{EtcdClusterSpec, MaintenanceOperation, Operation};
use crate::etcd_member::RawMember;
use crate::ids::{EtcdId, MemberId, TiVec, VolumeId};
use crate::topology::Disk;
use zonefall_kernel::time::Time;

/// Members that are in a cluster at one time.
pub(crate) const MAX_MEMBERS: usize = 9;
/// Members of a cluster, one after the other.
pub(crate) const MAX_MEMBERS_EVER: usize = 255;

/// A member over time.
pub(crate) struct MemberLifetime {
    pub(crate) id: MemberId,
    pub(crate) name: String,
    pub(crate) from: Time,
    pub(crate) until: Time,
    /// It came without a vote.
    pub(crate) joined_as_learner: bool,
    /// Without a vote at the end of the time looked at so far, if all that was asked for was granted.
    pub(crate) learner: bool,
    /// Its volume, where that is known.
    pub(crate) volume: Option<VolumeId>,
    /// Where the file says so.
    pub(crate) path: String,
}

impl MemberLifetime {
    /// Member number `m` of a cluster, from some time on.
    pub(crate) fn new(cluster: EtcdId, m: usize, member: &RawMember, from: Time, path: String) -> Self {
        let (id, name) = (MemberId { cluster, index: m as u8 }, member.name.to_string());
        let learner = member.learner;
        Self { id, name, from, until: Time::MAX, joined_as_learner: learner, learner, volume: None, path }
    }

    /// Whether it is in the cluster then.
    pub(crate) fn covers(&self, at: Time) -> bool {
        self.from <= at && at < self.until
    }
}

/// All clusters with all their members over time.
pub(crate) struct Members {
    pub(crate) clusters: TiVec<EtcdId, EtcdClusterSpec>,
    pub(crate) operations: Vec<Operation>,
    pub(crate) maintenance: Vec<MaintenanceOperation>,
    /// Per cluster, in the order of [`EtcdClusterSpec::members`].
    pub(crate) lifetimes: TiVec<EtcdId, Vec<MemberLifetime>>,
    /// The disk of each cluster's own volumes, and where the file says so.
    pub(crate) disks: TiVec<EtcdId, (String, Disk)>,
}

/// The member of this name that is in the cluster then: the last added.
pub(crate) fn in_cluster(
    ctx: &mut CheckCtx<'_>,
    path: &str,
    name: &str,
    at: Time,
    lifetimes: &[MemberLifetime],
) -> Option<usize> {
    let found = lifetimes.iter().rposition(|life| life.covers(at) && life.name == name);
    let named_well = |life: &MemberLifetime| ctx.replaced.is_empty() || ctx.trusts(&format!("{}.name", life.path));
    if found.is_none() && lifetimes.iter().all(named_well) {
        let there = || lifetimes.iter().filter(|life| life.covers(at)).map(|life| life.name.as_str());
        let hint = if ctx.errors.suggests() { did_you_mean(name, there()) } else { String::new() };
        ctx.error(path, quote(name), format!("a member of the cluster at that time: {}{hint}", one_of(there())));
    }
    found
}
