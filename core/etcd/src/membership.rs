//! Changes of membership, one at a time: which are refused, when they are applied, and what becomes of the members
//! ([`reconfiguration`](super::reconfiguration) has the checks that keep a quorum).
//!
//! Source: `etcdserver/api/membership/cluster.go`, `etcdserver/server.go` (`mayAddMember`, `mayRemoveMember`, `mayPromoteMember`)
//! at `etcd-io/etcd@c34dc7ee`.

use crate::cluster::EtcdCluster;
use crate::ctx::EtcdCtx;
use crate::database::Database;
use crate::disk::Persisted;
use crate::event::{EtcdEvent, ProcessTimer};
use crate::member::MemberState;
use crate::raft::ConfState;
use crate::raft::entry::{Command, ConfChange, Token};
use crate::raft::log::Log;
use crate::reconfiguration::{Pending, View, is_in_sync, may_add_voter, may_promote, may_remove_voter, quorum_of};
use crate::record::EtcdRecord;
use zonefall_kernel::time::Duration;
use zonefall_network::process::StopReason;
use zonefall_scenario::MemberChange;
use zonefall_scenario::ids::MemberId;

/// A member counts as healthy when it has been connected this long (`HealthInterval`).
const HEALTH_INTERVAL: Duration = Duration::from_secs(5);

/// From the removal of a member to the end of its process (`stopWithDelay`).
const DEPARTURE: Duration = Duration::from_secs(1);

const NOT_ENOUGH_STARTED: &str = "etcdserver: re-configuration failed due to not enough started members";

/// What members panic with, then and at each start, where nothing else keeps the last voter (`raft/confchange`); here it is refused.
const REMOVED_ALL_VOTERS: &str = "removed all voters";

/// Who asks hears nothing where the change was dropped, turned into an empty entry or lost with its leader (`parseProposeCtxErr`).
const TIMED_OUT: &str = "etcdserver: request timed out";

/// Who asks for a promotion that waits for a leader in vain.
const NO_LEADER: &str = "etcdserver: no leader";

impl EtcdCluster {
    /// An operator asks for a change at whoever leads. `learner`: whether a member to be added is one.
    pub fn change_membership(&mut self, change: MemberChange, learner: bool, ctx: &mut EtcdCtx<'_>) {
        self.disturb(ctx);
        let conf_change = match change {
            MemberChange::Add(id) if learner => ConfChange::AddLearner(id.index),
            MemberChange::Add(id) | MemberChange::Promote(id) => ConfChange::AddVoter(id.index),
            MemberChange::Remove(id) => ConfChange::Remove(id.index),
        };
        if let Some(refused) = self.rejection(change, learner, ctx) {
            ctx.record(EtcdRecord::Membership { change, refused: Some(refused) });
            return;
        }
        let until = ctx.now + self.options.request_timeout;
        let Some(leader) = self.leader() else {
            self.await_change(Pending { change, entry: None, until }, ctx);
            return;
        };
        let raft = &mut self.server_mut(leader).raft;
        let before = raft.log.last();
        raft.propose(ctx.now, Token::NONE, Command::Conf(conf_change));
        let last = raft.log.last();
        // The leader takes none while it hands over, and an empty entry instead while another change is not applied.
        let taken = last > before && raft.log.get(last).is_some_and(|entry| entry.command == Command::Conf(conf_change));
        let entry = taken.then_some((last, raft.term));
        self.await_change(Pending { change, entry, until }, ctx);
        self.after(leader, ctx);
    }

    fn await_change(&mut self, pending: Pending, ctx: &mut EtcdCtx<'_>) {
        ctx.schedule(pending.until, self.id, EtcdEvent::ChangesDue);
        self.changes.push(pending);
    }

    /// Who has asked for changes that were not applied in time is told so. (They may be applied yet, if a log holds them.)
    pub(super) fn changes_due(&mut self, ctx: &mut EtcdCtx<'_>) {
        let (now, has_leader) = (ctx.now, self.leader().is_some());
        for late in self.changes.extract_if(.., |pending| pending.until <= now) {
            // A promotion waits for a leader, who alone knows what a learner has (`waitLeader`); other changes are proposed to anybody.
            let waits = matches!(late.change, MemberChange::Promote(_)) && !has_leader;
            let refused = Some(if waits { NO_LEADER } else { TIMED_OUT });
            ctx.record(EtcdRecord::Membership { change: late.change, refused });
        }
    }

    /// Whether somebody waits for a change.
    pub(super) fn is_pending(&self, change: MemberChange) -> bool {
        self.changes.iter().any(|pending| pending.change == change)
    }

    /// Why a change is refused, in etcd's words.
    pub(super) fn rejection(&self, change: MemberChange, learner: bool, ctx: &EtcdCtx<'_>) -> Option<&'static str> {
        // Without a leader the first member that answers checks the same, and proposes it to nobody.
        let leader = self.leader();
        let joined =
            |index: &u8| self.members[*index as usize].state == MemberState::Joined && !self.members[*index as usize].displaced;
        let answers = |index: &u8| joined(index) && self.responsive(*index).is_some();
        let Some(asked) = leader.or_else(|| (0..self.members.len() as u8).find(answers)) else { return Some(TIMED_OUT) };
        let Some(server) = self.responsive(asked) else { return Some(TIMED_OUT) };
        let conf_state = server.raft.conf_state;
        let members: Vec<u8> = conf_state.members().iter().collect();
        let view =
            |&index: &u8| View { started: self.members[index as usize].published, learner: conf_state.learners.contains(index) };
        let views: Vec<View> = members.iter().map(view).collect();
        let voters = conf_state.quorum.voters();
        let connected = voters.iter().filter(|&index| self.connected_for(asked, index, HEALTH_INTERVAL, ctx)).count();
        let (MemberChange::Add(id) | MemberChange::Remove(id) | MemberChange::Promote(id)) = change;
        let known = conf_state.members().contains(id.index);
        match change {
            MemberChange::Promote(_) if leader.is_none() => None,
            MemberChange::Add(_) if known => Some("membership: ID exists"),
            MemberChange::Add(_) if learner && conf_state.learners.len() >= usize::from(self.options.max_learners) => {
                Some("membership: too many learner members in cluster")
            }
            MemberChange::Remove(_) | MemberChange::Promote(_) if !known => Some("membership: ID not found"),
            MemberChange::Promote(_) if !conf_state.learners.contains(id.index) => {
                Some("membership: can only promote a learner member")
            }
            MemberChange::Promote(_) if !self.learner_is_ready(asked, id) => {
                Some("etcdserver: can only promote a learner member which is in sync with leader")
            }
            MemberChange::Remove(_) if !self.options.strict_reconfig_check && voters == std::iter::once(id.index).collect() => {
                Some(REMOVED_ALL_VOTERS)
            }
            _ if !self.options.strict_reconfig_check => None,
            MemberChange::Add(_) if !learner && !may_add_voter(&views) => Some(NOT_ENOUGH_STARTED),
            // The newcomer counts as unavailable.
            MemberChange::Add(_) if connected < quorum_of(voters.len() + 1) && voters.len() > 1 => {
                Some("etcdserver: unhealthy cluster")
            }
            MemberChange::Remove(_) if conf_state.learners.contains(id.index) => None,
            MemberChange::Remove(_) => {
                let place = members.iter().position(|&index| index == id.index)?;
                let active = self.connected_for(asked, id.index, Duration::ZERO, ctx);
                if !may_remove_voter(&views, place) {
                    Some(NOT_ENOUGH_STARTED)
                } else if (active || id.index == asked) && connected < 1 + quorum_of(voters.len() - 1) {
                    Some("etcdserver: unhealthy cluster")
                } else {
                    None
                }
            }
            MemberChange::Promote(_) if !may_promote(&views) => Some(NOT_ENOUGH_STARTED),
            MemberChange::Add(_) | MemberChange::Promote(_) => None,
        }
    }

    fn connected_for(&self, leader: u8, index: u8, at_least: Duration, ctx: &EtcdCtx<'_>) -> bool {
        let stream = &self.streams[self.stream_index(index, leader)];
        index == leader || (stream.reader_open && ctx.now.since(stream.since) >= at_least)
    }

    fn learner_is_ready(&self, leader: u8, id: MemberId) -> bool {
        self.server(leader).is_some_and(|server| {
            let matched = |index: u8| server.raft.progress[index as usize].matched;
            is_in_sync(matched(id.index), matched(leader))
        })
    }

    /// A change, the entry at `place` (index and term), was applied at a member; whether that member has removed itself.
    pub(super) fn conf_applied(&mut self, at: u8, place: (u64, u64), change: ConfChange, ctx: &mut EtcdCtx<'_>) -> bool {
        self.changes.retain(|pending| pending.entry != Some(place));
        // Each member serves and hears others by the membership that it has applied itself.
        ctx.fx.service_changed.push(self.id);
        let (ConfChange::AddVoter(index) | ConfChange::AddLearner(index) | ConfChange::Remove(index)) = change;
        self.meet(at, index, ctx);
        let member = &mut self.members[index as usize];
        // Each member is added, promoted and removed once: what it is tells whether this was applied anywhere before.
        let done = match (change, member.state) {
            (ConfChange::AddVoter(_) | ConfChange::AddLearner(_), MemberState::Future) => MemberChange::Add(member.id),
            (ConfChange::AddVoter(_), MemberState::Joined) if member.learner => MemberChange::Promote(member.id),
            (ConfChange::Remove(_), MemberState::Joined) => MemberChange::Remove(member.id),
            _ => return change == ConfChange::Remove(at),
        };
        ctx.record(EtcdRecord::Membership { change: done, refused: None });
        member.learner = matches!(change, ConfChange::AddLearner(_));
        match done {
            MemberChange::Add(_) => self.join(index, ctx),
            MemberChange::Promote(_) => {}
            MemberChange::Remove(_) => {
                member.state = MemberState::Removed;
                if index != at && !member.displaced {
                    self.depart(index, ctx);
                }
            }
        }
        self.schedule_joins(ctx);
        change == ConfChange::Remove(at)
    }

    /// A member that was added starts with an empty disk.
    fn join(&mut self, index: u8, ctx: &mut EtcdCtx<'_>) {
        let member = &mut self.members[index as usize];
        member.state = MemberState::Joined;
        member.disk.content = Some(Box::new(Persisted {
            term: 0,
            vote: None,
            log: Log::compacted(0, 0, 0),
            conf_state: ConfState::default(),
            database: Database::default(),
            snapshot_index: 0,
            timeouts_drawn: 0,
            has_wal: false,
        }));
        // Its peers dial it from now on; until it serves its host refuses them.
        for other in (0..self.members.len() as u8).filter(|&other| other != index) {
            let outward = self.stream_index(index, other);
            self.streams[outward].dialing_since = ctx.now;
            self.update_stream(outward, ctx);
        }
        self.start(index, ctx);
    }

    /// A member is removed: it stops once the others have had time to hear of it from it. (One that has not applied its own removal
    /// is told by its peers when it dials them.)
    pub(super) fn depart(&mut self, index: u8, ctx: &mut EtcdCtx<'_>) {
        let member = &mut self.members[index as usize];
        let Some(server) = member.process.server_mut() else { return self.stop(index, StopReason::Removed, ctx) };
        let until = ctx.now + DEPARTURE;
        server.stopping = Some(until);
        member.arm(ProcessTimer::Stopping, until, ctx);
    }
}
