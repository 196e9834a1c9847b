//! A member whose volume is new: etcd-backup-restore, in the container beside it, sees to it that the cluster takes it in.
//!
//! ```text
//!  its container runs --> the member that the pod was before: removed --> added as a learner --> starts --> in sync --> gets its vote
//! ```
//!
//! With an empty data directory a process cannot go on as the member it was: that one may have voted, and would not know. So it comes
//! back under a new identity ("single member restoration" of `gardener/etcd-backup-restore`), and a pod of a set that grows the same way.

use crate::cluster::EtcdCluster;
use crate::ctx::EtcdCtx;
use crate::event::EtcdEvent;
use crate::member::MemberState;
use zonefall_kernel::time::Duration;
use zonefall_kernel::timer::Generation;
use zonefall_scenario::MemberChange;
use zonefall_scenario::ids::MemberId;

/// What was not granted is asked for again after so long (assumed).
const AGAIN: Duration = Duration::from_secs(5);

impl EtcdCluster {
    /// The container of a newcomer runs: the next step is taken now.
    pub(super) fn seek_membership(&mut self, index: u8, ctx: &mut EtcdCtx<'_>) {
        let member = &mut self.members[index as usize];
        if member.joining && !member.halted {
            let generation = member.join.arm(ctx.now);
            ctx.schedule(ctx.now, self.id, EtcdEvent::JoinStep { member: index, generation });
        }
    }

    /// Something about the members has changed: who waits for that looks.
    pub(super) fn schedule_joins(&mut self, ctx: &mut EtcdCtx<'_>) {
        for index in 0..self.members.len() as u8 {
            self.seek_membership(index, ctx);
        }
    }

    /// Asks for the next step, if it would be granted, and looks again later.
    pub(super) fn join_step(&mut self, index: u8, generation: Generation, ctx: &mut EtcdCtx<'_>) {
        let is_due = self.members[index as usize].join.fires(generation);
        let member = &self.members[index as usize];
        if !is_due || member.halted {
            return;
        }
        let change = match member.state {
            MemberState::Future => self.predecessor(index).map_or(MemberChange::Add(member.id), MemberChange::Remove),
            MemberState::Joined if member.learner => MemberChange::Promote(member.id),
            MemberState::Joined | MemberState::Removed | MemberState::Standby => return,
        };
        let hears = |leader: u8| ctx.net.is_open(self.host(index), self.host(leader));
        let asks = self.leader().is_some_and(hears) && !self.is_pending(change) && self.rejection(change, true, ctx).is_none();
        if asks {
            self.change_membership(change, true, ctx);
        }
        let at = ctx.now + AGAIN;
        let generation = self.members[index as usize].join.arm(at);
        ctx.schedule(at, self.id, EtcdEvent::JoinStep { member: index, generation });
    }

    /// The member that its pod is as far as the cluster knows.
    fn predecessor(&self, index: u8) -> Option<MemberId> {
        let same = |other: u8| self.of_pod[other as usize] == self.of_pod[index as usize];
        let known = |other: &u8| same(*other) && self.members[*other as usize].state == MemberState::Joined;
        (0..self.members.len() as u8).find(known).map(|other| self.members[other as usize].id)
    }
}
