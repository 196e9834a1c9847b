//! The controller: health checks, switch-over, and what becomes of the member that was displaced.

use crate::cluster::EtcdCluster;
use crate::ctx::EtcdCtx;
use crate::disk::Persisted;
use crate::member::MemberState;
use crate::passive::{PassiveRecord, Switch};
use crate::raft::ConfState;
use crate::raft::entry::{Command, ConfChange, Token};
use crate::raft::quorum::{Members, Quorum};
use crate::record::{EtcdRecord, RaftRecord};
use zonefall_kernel::time::{Duration, Time};
use zonefall_network::process::StopReason;
use zonefall_scenario::MemberChange;
use zonefall_scenario::ids::MemberId;

impl EtcdCluster {
    /// Checks the member that serves, and puts the other back into its role.
    pub(super) fn check(&mut self, ctx: &mut EtcdCtx<'_>) {
        let id = self.id;
        let passive = self.passive_mut();
        if !passive.controller.before(ctx.now) {
            passive.failures = 0;
            return;
        }
        passive.failures = if passive.primary.before(ctx.now) { 0 } else { passive.failures.saturating_add(1) };
        let (failures, enough) = (passive.failures, passive.spec.switching.failures);
        let (member, other) = (passive.endpoint, passive.other());
        let reached = passive.standby.before(ctx.now);
        if failures >= enough && reached && self.could_take_over(other) {
            self.switch_over(ctx);
            return;
        }
        if failures == enough {
            ctx.record(EtcdRecord::Passive(id, PassiveRecord::Alone { member }));
        }
        if reached && self.passive_mut().switch.is_none_or(|switch| switch.forked) {
            self.put_back(other, ctx);
        }
    }

    /// Whether a member that is reached could take over: a standby with what the bucket holds, a learner with what it has.
    pub(super) fn could_take_over(&self, index: u8) -> bool {
        let member = &self.members[index as usize];
        let learner = member.process.server().filter(|server| server.raft.conf_state.learners.contains(index));
        member.state == MemberState::Standby || learner.is_some_and(|server| server.raft.log.last() > 0)
    }

    /// Sends clients to the other member, and lets it take over.
    fn switch_over(&mut self, ctx: &mut EtcdCtx<'_>) {
        self.disturb(ctx);
        let id = self.id;
        let passive = self.passive_mut();
        let (from, to, silent) = (passive.endpoint, passive.other(), passive.primary.since);
        passive.endpoint = to;
        passive.failures = 0;
        passive.switch = Some(Switch { silent, forked: false });
        self.cancel_upload();
        // Should its machine come back it asks first who it is.
        self.members[from as usize].displaced = true;
        self.members[from as usize].cancel_start();
        ctx.record(EtcdRecord::Passive(id, PassiveRecord::Detected { from, to, silent: ctx.now.since(silent) }));
        ctx.fx.service_changed.push(id);
        if self.members[to as usize].state == MemberState::Joined {
            self.force_new_cluster(to, ctx);
        }
    }

    /// A standby that has applied all the bucket holds begins a cluster with it.
    pub(super) fn begin_restored(&mut self, index: u8, ctx: &mut EtcdCtx<'_>) {
        let content = self.members[index as usize].disk.content.as_deref();
        let kept = content.expect("a standby that has applied something").log.last();
        let term = self.highest_term();
        let since = self.snapshot_taken().unwrap_or(ctx.now);
        self.fork(index, kept, since, ctx);
        let member = &mut self.members[index as usize];
        member.state = MemberState::Joined;
        let content = member.disk.content.as_deref_mut().expect("a standby that has applied something");
        content.term = term;
        content.conf_state = ConfState { quorum: Quorum::majority(std::iter::once(index).collect()), learners: Members::EMPTY };
        self.start(index, ctx);
    }

    /// Restarts a learner as the only member (`restartAsStandaloneNode`): what it does not know to be committed is dropped, and entries
    /// that give it the vote and remove the others are appended as if they were committed.
    fn force_new_cluster(&mut self, index: u8, ctx: &mut EtcdCtx<'_>) {
        let committed = self.server_mut(index).raft.log.committed;
        self.stop(index, StopReason::Stopped, ctx);
        let lost_since = self.first_applied(committed + 1, ctx.now);
        let id = self.members[index as usize].id;
        let mut content = self.members[index as usize].disk.content.take().expect("it has run");
        if content.log.last() > committed {
            content.log.drop_tail(committed + 1);
            if ctx.fx.raft_records {
                ctx.record(EtcdRecord::Raft(RaftRecord::Truncated { member: id, from: committed + 1 }));
            }
        }
        self.fork(index, committed, lost_since, ctx);
        for change in [ConfChange::AddVoter(index), ConfChange::Remove(1 - index)] {
            let Persisted { log, term, .. } = &mut *content;
            let last = log.push(*term, Token::NONE, Command::Conf(change));
            (log.committed, log.written, log.stable) = (last, last, last);
            if ctx.fx.raft_records {
                let chain = log.chain(last).expect("just pushed");
                ctx.record(EtcdRecord::Raft(RaftRecord::Appended { member: id, index: last, term: *term, chain }));
            }
        }
        content.vote = None;
        self.members[index as usize].disk.content = Some(content);
        self.start(index, ctx);
    }

    /// A member goes on alone with what it has up to `kept`; the first entry that it has not was committed at (or after) `since`.
    fn fork(&mut self, member: u8, kept: u64, since: Time, ctx: &mut EtcdCtx<'_>) {
        let committed = self.committed;
        let lost = committed.saturating_sub(kept);
        let passive = self.passive_mut();
        (passive.accounted, passive.beyond) = (committed, committed);
        let switch = passive.switch.as_mut().expect("a switch-over under way");
        switch.forked = true;
        let window = if lost > 0 { switch.silent.since(since) } else { Duration::ZERO };
        self.committed = committed.min(kept);
        self.recently_applied.truncate(self.recently_applied.partition_point(|(index, _)| *index <= kept));
        ctx.record(EtcdRecord::Passive(self.id, PassiveRecord::Forked { member, index: kept, lost, window }));
    }

    pub(crate) fn highest_term(&self) -> u64 {
        let term = |member: &crate::member::Member| {
            let server = member.process.server().map(|server| server.raft.term);
            server.or(member.disk.content.as_deref().map(|content| content.term)).unwrap_or(0)
        };
        self.members.iter().map(term).max().unwrap_or(0)
    }

    /// The member that does not serve, and is reached, becomes what it should be.
    fn put_back(&mut self, index: u8, ctx: &mut EtcdCtx<'_>) {
        if self.members[index as usize].displaced {
            self.discard(index, ctx);
        }
        let id = MemberId { cluster: self.id, index };
        let member = &mut self.members[index as usize];
        let passive = self.passive.as_deref_mut().expect("an active-passive cluster");
        if let Some(bucket) = &mut passive.bucket {
            if member.state != MemberState::Standby {
                member.state = MemberState::Standby;
                bucket.found_standby(ctx.now);
            }
            return;
        }
        if member.state == MemberState::Removed {
            // With a new identity; here it has its old number again.
            member.state = MemberState::Future;
            self.drop_posts(index);
        }
        let member = &self.members[index as usize];
        let lost_its_data = !member.process.serves() && member.disk.content.is_none();
        let change = match member.state {
            MemberState::Future => MemberChange::Add(id),
            MemberState::Joined if lost_its_data => MemberChange::Remove(id),
            MemberState::Joined | MemberState::Removed | MemberState::Standby => return,
        };
        if self.leader() == self.endpoint() && self.changes.is_empty() {
            self.change_membership(change, true, ctx);
        }
    }

    /// A displaced member's data is thrown away, its process ended.
    fn discard(&mut self, index: u8, ctx: &mut EtcdCtx<'_>) {
        self.disturb(ctx);
        let id = self.members[index as usize].id;
        self.stop(index, StopReason::Replaced, ctx);
        let member = &mut self.members[index as usize];
        member.displaced = false;
        if member.disk.content.take().is_some() && ctx.fx.raft_records {
            ctx.record(EtcdRecord::Raft(RaftRecord::Wiped { member: id }));
        }
        let lost = self.passive_mut().beyond - self.passive_mut().accounted;
        ctx.record(EtcdRecord::Passive(self.id, PassiveRecord::Discarded { member: index, lost }));
        ctx.fx.service_changed.push(self.id);
    }
}
