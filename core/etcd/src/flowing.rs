//! Writes that flow: what clients write at a rate, without a request each.
//!
//! ```text
//!  steady      nothing happens; what has flowed is entered into all logs at once when something else comes (enter_flow)
//!  waiting     a request is under way: what is due waits until it is done                               (touch)
//!  disturbed   each write is proposed when it is due, by an event, and takes its way as any other        (disturb, flow_due)
//! ```
//!
//! A group is steady from a beat of its leader at which it might rest ([`quiescence`](crate::quiescence)), whether its heartbeats are
//! simulated or not. Where requests come so fast that they are never done, each write is proposed as well. At a rate at which something
//! that flows is always under way a group would never be steady again: so once nothing else is, what is due waits for the next beat.
//!
//! API servers also compact, every five minutes: by arithmetic or by an entry of its own, like what they write.

use smallvec::SmallVec;

use crate::cluster::EtcdCluster;
use crate::ctx::EtcdCtx;
use crate::database::{Database, Growth};
use crate::event::EtcdEvent;
use crate::flow::{Mode, PATIENCE};
use crate::raft::entry::{Command, Token};
use crate::raft::quorum::Members;
use crate::record::{EtcdRecord, RaftRecord};
use crate::service::RequestKind;
use crate::write_rate::{UNIT, WriteRate};
use zonefall_kernel::time::Time;
use zonefall_kernel::timer::Generation;
use zonefall_scenario::Change;
use zonefall_scenario::kube::usage::COMPACTION_INTERVAL;

impl EtcdCluster {
    /// What flows.
    pub const fn write_rate(&self) -> WriteRate {
        self.flow.rate
    }

    /// Something else flows from now on. `whole`: what all writes together do to a database in a million seconds, also those with a
    /// request each.
    pub fn set_write_rate(&mut self, rate: WriteRate, whole: Growth, ctx: &mut EtcdCtx<'_>) {
        if ctx.now == Time::ZERO {
            self.settle_in(rate.compacts, whole);
            self.flow.lessor.settle_in(rate.single);
            self.arm_leases(self.flow.lessor.next(), ctx);
        }
        if rate != self.flow.rate {
            self.flow_anew(rate, ctx);
        }
    }

    /// This flows from now on, but for leases that do not end yet.
    pub(super) fn flow_anew(&mut self, rate: WriteRate, ctx: &mut EtcdCtx<'_>) {
        self.resume(ctx);
        self.enter_flow(ctx);
        self.flow.carry(ctx.now);
        self.flow.rate = rate;
        self.flow.update();
        match self.flow.mode {
            Mode::Disturbed => self.arm_flow(ctx),
            Mode::Steady { .. } if !self.flows_easily() => self.disturb(ctx),
            Mode::Steady { .. } => self.arm_quota(ctx),
            Mode::Waiting { .. } => {}
        }
    }

    /// Before the run began it went on like that for ever.
    fn settle_in(&mut self, compacts: bool, whole: Growth) {
        if !compacts {
            return;
        }
        let within = |ns: u64| (u128::from(whole.supersedes) * u128::from(ns) / UNIT) as u64;
        let interval = COMPACTION_INTERVAL.as_nanos();
        let since = interval - self.flow.compactions.after(Time::ZERO).as_nanos();
        for server in self.members.iter_mut().filter_map(|member| member.process.server_mut()) {
            server.database.settle_in(within(interval), within(since));
        }
    }

    /// A volume of one of its members is slower than usual: what is written there has to be simulated.
    pub(super) fn has_slow_disk(&self) -> bool {
        self.members.iter().any(|member| member.process.serves() && member.disk.is_slow())
    }

    /// Whether what is written may go by arithmetic: nothing is, or all disks are as fast as usual.
    pub(super) fn flows_easily(&self) -> bool {
        self.flow.is_empty() || !self.has_slow_disk()
    }

    /// Whether anything flows.
    pub(super) const fn flows(&self) -> bool {
        self.flow.rate.writes.count > 0
    }

    /// Whether what flows costs no messages now.
    pub const fn flows_silently(&self) -> bool {
        matches!(self.flow.mode, Mode::Steady { .. } | Mode::Waiting { was_steady: true, .. })
    }

    /// At a beat of the leader: its group might rest with these followers, or could but for what flows (`nearly`), or neither.
    pub(super) fn flow_on(&mut self, leader: u8, followers: Option<Members>, nearly: bool, ctx: &mut EtcdCtx<'_>) {
        let Some(followers) = followers else {
            match &mut self.flow.mode {
                Mode::Waiting { beats: beats @ 1.., .. } => *beats -= 1,
                Mode::Steady { .. } | Mode::Waiting { .. } => self.disturb(ctx),
                mode @ Mode::Disturbed if nearly => {
                    *mode = Mode::Waiting { beats: 0, was_steady: false };
                    self.flow.gather(ctx.now);
                    self.flow.timer.cancel();
                }
                Mode::Disturbed => {}
            }
            return;
        };
        let steady = Mode::Steady { leader, followers };
        if self.flow.mode == steady {
            return;
        }
        self.enter_flow(ctx);
        if self.flow.mode == Mode::Disturbed {
            self.flow.gather(ctx.now);
        }
        let was_silent = self.flows_silently();
        self.flow.mode = steady;
        self.flow.timer.cancel();
        self.remember_applied(self.committed, ctx.now);
        if !self.flow.is_empty() {
            // The same writes have made all databases, whoever was away while they were compacted.
            let database = self.server_mut(leader).database;
            followers.iter().for_each(|index| self.server_mut(index).database.adopt(database));
        }
        self.arm_quota(ctx);
        if !was_silent {
            ctx.fx.flow_changed.push(self.id);
        }
    }

    /// A request comes: message by message until it is done.
    pub(super) fn touch(&mut self, ctx: &mut EtcdCtx<'_>) {
        self.resume(ctx);
        self.enter_flow(ctx);
        if matches!(self.flow.mode, Mode::Steady { .. }) {
            self.flow.mode = Mode::Waiting { beats: PATIENCE, was_steady: true };
        }
    }

    /// Something happens to the group: from now on message by message.
    pub fn disturb(&mut self, ctx: &mut EtcdCtx<'_>) {
        self.resume(ctx);
        self.enter_flow(ctx);
        if self.flow.mode == Mode::Disturbed {
            return;
        }
        let was_silent = self.flows_silently();
        self.flow.mode = Mode::Disturbed;
        self.flow.scatter(ctx.now);
        self.arm_flow(ctx);
        if was_silent {
            ctx.fx.flow_changed.push(self.id);
        }
    }

    fn arm_flow(&mut self, ctx: &mut EtcdCtx<'_>) {
        let next = self.flow.next().map(|at| at.max(ctx.now));
        if let Some((at, generation)) = self.flow.timer.rearm(next) {
            ctx.schedule(at, self.id, EtcdEvent::Flow(generation));
        }
    }

    /// Enters what has flowed into the logs of a steady group: replicated, on all disks, applied.
    pub(super) fn enter_flow(&mut self, ctx: &mut EtcdCtx<'_>) {
        let Mode::Steady { leader, followers } = self.flow.mode else { return };
        let group = || std::iter::once(leader).chain(followers.iter());
        for index in group() {
            let server = self.members[index as usize].process.server_mut().expect("its process serves");
            server.database = self.flow.grown(server.database, ctx.now);
        }
        let command = self.flow.command();
        let refused = self.server_mut(leader).database.no_space && !self.has_room(leader, command);
        let count = self.flow.take(ctx.now);
        if count == 0 || refused {
            return;
        }
        self.flow.flowed += count;
        let term = self.server_mut(leader).raft.term;
        for index in group() {
            let server = self.server_mut(index);
            server.raft.flow(command, count, followers);
            server.to_apply = server.raft.log.applied;
            self.snapshot_if_due(index, ctx.now);
            self.record_flow(index, ctx);
        }
        let last = self.server_mut(leader).raft.log.last();
        for follower in followers.iter() {
            let stream = self.stream_index(leader, follower);
            self.in_step[stream] = (term, last);
        }
        if self.counts(leader, last) {
            self.committed = last;
            self.remember_applied(last, ctx.now);
        }
        if ctx.fx.raft_records {
            for index in group() {
                let member = self.members[index as usize].id;
                ctx.record(EtcdRecord::Raft(RaftRecord::Committed { member, term, index: last }));
            }
        }
    }

    fn record_flow(&mut self, index: u8, ctx: &mut EtcdCtx<'_>) {
        if ctx.fx.raft_records {
            let (member, log) = (self.members[index as usize].id, &self.server_mut(index).raft.log);
            let (index, term) = (log.last(), log.last_term());
            let chain = log.chain(index).expect("the last entry has its hash");
            ctx.record(EtcdRecord::Raft(RaftRecord::Flowed { member, index, term, chain }));
        }
    }

    /// Whether an event that is about to be handled is still due.
    pub(super) fn flow_is_due(&self, generation: Generation) -> bool {
        self.flow.timer.is_due(generation)
    }

    /// Writes are due while the group is disturbed: somebody proposes them, to each member in turn that would answer.
    pub(super) fn flow_due(&mut self, generation: Generation, ctx: &mut EtcdCtx<'_>) {
        if !self.flow.timer.fires(generation) {
            return;
        }
        let compacts = self.flow.compacts(ctx.now);
        let count = self.flow.take_scattered(ctx.now);
        if let Some(leader) = self.leader().filter(|leader| !self.is_paused(*leader) && self.takes_proposals(*leader, ctx.now)) {
            if self.has_room(leader, self.flow.command()) {
                let compacts = compacts && !self.server_mut(leader).database.no_space;
                let flowing = std::iter::repeat_n(self.flow.command(), count as usize);
                self.flow.flowed += count;
                let asked = |index: &u8| {
                    let answers = || self.time_at(*index, RequestKind::of_api(true), ctx.net).is_some();
                    *index == leader || self.follows(*index) == Some(leader) && answers()
                };
                let proposers: SmallVec<[u8; 8]> = (0..self.members.len() as u8).filter(asked).collect();
                for (k, command) in (self.flow.flowed as usize..).zip(flowing.chain(compacts.then_some(Command::Compact))) {
                    let proposer = proposers[k % proposers.len()];
                    self.server_mut(proposer).raft.propose(ctx.now, Token::NONE, command);
                    self.after(proposer, ctx);
                }
            } else {
                self.raise_alarm(leader, Token::NONE, ctx);
                self.after(leader, ctx);
            }
        }
        self.arm_flow(ctx);
    }

    /// A member was elected: leases are extended, after what is happening now.
    pub(super) fn extend_leases(&mut self, ctx: &mut EtcdCtx<'_>) {
        if self.flow.lessor.has_leases() {
            self.flow.lessor.has_new_leader = true;
            self.arm_leases(Some(ctx.now), ctx);
        }
    }

    /// A command was applied for the first time: it may grant a lease.
    pub(super) fn lease_applied(&mut self, command: Command, ctx: &mut EtcdCtx<'_>) {
        if matches!(command, Command::Grant(_) | Command::Txn { change: Change::Event, .. }) {
            self.flow.lessor.applied(command, ctx.now);
            if !self.flow.lessor.timer.is_armed() {
                self.arm_leases(self.flow.lessor.next().map(|at| at.max(ctx.now)), ctx);
            }
        }
    }

    fn arm_leases(&mut self, at: Option<Time>, ctx: &mut EtcdCtx<'_>) {
        if let Some((at, generation)) = self.flow.lessor.timer.rearm(at) {
            ctx.schedule(at, self.id, EtcdEvent::Leases(generation));
        }
    }

    /// Leases are extended, or those that were end.
    pub(super) fn leases_due(&mut self, generation: Generation, ctx: &mut EtcdCtx<'_>) {
        if !self.flow.lessor.timer.fires(generation) {
            return;
        }
        let rate = self.flow.rate;
        if std::mem::take(&mut self.flow.lessor.has_new_leader) {
            self.flow.lessor.promote(self.options.election_timeout, ctx.now);
            self.flow_anew(rate, ctx);
        }
        // Without a leader none ends: the next one extends them.
        if let Some(leader) = self.leader().filter(|leader| !self.is_paused(*leader)) {
            let ended = self.flow.lessor.end(ctx.now);
            if !ended.is_empty() {
                if !self.flow.is_of(&rate) {
                    self.flow_anew(rate, ctx);
                }
                self.touch(ctx);
                for revoke in ended.into_iter().flat_map(|(count, revoke)| std::iter::repeat_n(revoke, count as usize)) {
                    self.server_mut(leader).raft.propose(ctx.now, Token::NONE, revoke);
                }
                self.after(leader, ctx);
            }
        }
        self.arm_leases(self.flow.lessor.next().filter(|at| *at > ctx.now), ctx);
    }

    /// The database of a member now.
    pub(super) fn database_of(&self, index: u8, now: Time) -> Option<Database> {
        let flowed = self.flowed_into(index, now).map(|(_, database)| database);
        flowed.or_else(|| self.server(index).map(|server| server.database))
    }

    /// A member once what has flowed is in its log: how many entries more, and its database.
    pub(super) fn flowed_into(&self, index: u8, now: Time) -> Option<(u64, Database)> {
        let Mode::Steady { leader, followers } = self.flow.mode else { return None };
        let server = self.server(index).filter(|_| index == leader || followers.contains(index))?;
        Some((self.flow.due(now), self.flow.grown(server.database, now)))
    }
}
