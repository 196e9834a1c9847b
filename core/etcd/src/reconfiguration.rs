//! Runtime reconfiguration: the checks that keep a quorum (`--strict-reconfig-check`), as pure functions, and a change that waits.
//!
//! Source: `etcdserver/api/membership/cluster.go`, `etcdserver/server.go` at `etcd-io/etcd@c34dc7ee`.

use zonefall_kernel::time::Time;
use zonefall_scenario::MemberChange;

/// A learner may be promoted when it has this share of what the leader's disk has (`readyPercent`).
const PROMOTION_THRESHOLD: f64 = 0.9;

/// A member as the checks see it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct View {
    /// It has published its name.
    pub started: bool,
    /// It has no vote.
    pub learner: bool,
}

/// Voters of `members`, and how many of them have started.
fn count<'a>(members: impl Iterator<Item = &'a View>) -> (usize, usize) {
    members.filter(|view| !view.learner).fold((0, 0), |(all, started), view| (all + 1, started + usize::from(view.started)))
}

/// Whether a voter may be added: those started are a quorum with it (`IsReadyToAddVotingMember`).
pub fn may_add_voter(members: &[View]) -> bool {
    let (voters, started) = count(members.iter());
    // One member may always get a second, to restore a cluster from it.
    (started == 1 && voters == 1) || started >= quorum_of(voters + 1)
}

/// Whether the voter at `place` may be removed: those started are a quorum without it (`IsReadyToRemoveVotingMember`).
pub fn may_remove_voter(members: &[View], place: usize) -> bool {
    let (voters, started) = count(members.iter().enumerate().filter(|(index, _)| *index != place).map(|(_, view)| view));
    started >= quorum_of(voters)
}

/// Whether a learner may get its vote, itself counted as started (`IsReadyToPromoteMember`).
pub fn may_promote(members: &[View]) -> bool {
    let (voters, started) = count(members.iter());
    started + 1 >= quorum_of(voters + 1)
}

/// Whether a learner that is known to have `matched` entries has caught up with its leader, whose own disk has `of` (`isLearnerReady`).
pub fn is_in_sync(matched: u64, of: u64) -> bool {
    matched as f64 >= of as f64 * PROMOTION_THRESHOLD
}

/// The smallest majority of so many voters.
pub(super) const fn quorum_of(voters: usize) -> usize {
    voters / 2 + 1
}

/// A change that was proposed; who asked for it waits until it is applied (`EtcdServer.configure`).
#[derive(Clone, Copy, Debug)]
pub(super) struct Pending {
    pub(super) change: MemberChange,
    /// Index and term of its entry; `None` where the leader took no such entry.
    pub(super) entry: Option<(u64, u64)>,
    /// Nobody waits for it any longer.
    pub(super) until: Time,
}
