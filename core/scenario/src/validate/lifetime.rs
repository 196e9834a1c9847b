//! Members of etcd clusters over time, as operations add, promote and remove them.

use super::CheckCtx;
use crate::error::{did_you_mean, one_of, quote};
use crate::ids::{EtcdId, MemberId, VolumeId};
use crate::raw::RawMember;
use zonefall_kernel::time::Time;

/// Members that are in a cluster at one time.
pub(crate) const MAX_MEMBERS: usize = 9;
/// Members of a cluster, one after the other.
pub(crate) const MAX_MEMBERS_EVER: usize = 255;

/// A member over time.
pub(crate) struct MemberLifetime {
    pub(crate) id: MemberId,
    pub(super) name: String,
    pub(super) from: Time,
    pub(crate) until: Time,
    /// Without a vote at the end of the time looked at so far.
    pub(crate) learner: bool,
    /// Its volume, where that is known.
    pub(super) volume: Option<VolumeId>,
    /// Where the file says so.
    pub(super) path: String,
}

impl MemberLifetime {
    /// Member number `m` of a cluster, from some time on.
    pub(crate) fn new(cluster: EtcdId, m: usize, member: &RawMember, from: Time, path: String) -> Self {
        let (id, name) = (MemberId { cluster, index: m as u8 }, member.name.to_string());
        Self { id, name, from, until: Time::MAX, learner: member.learner, volume: None, path }
    }

    /// Its name.
    pub(crate) fn name(&self) -> &str {
        &self.name
    }

    /// Whether it is in the cluster then.
    pub(crate) fn covers(&self, at: Time) -> bool {
        self.from <= at && at < self.until
    }
}

/// What the operations on members need to know, and where they report what is wrong.
pub(crate) struct MembersCtx<'a, 'c> {
    pub(super) ctx: &'a mut CheckCtx<'c>,
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

/// The member of this name that is in the cluster then: the last added.
pub(super) fn in_cluster(
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
