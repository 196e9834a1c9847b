//! Writes that flow: what clients write at a rate, without a request each.
//!
//! ```text
//!  steady      nothing happens; what has flowed is entered into all logs at once when somebody looks  (disturb, set_write_rate)
//!  disturbed   each write is proposed when it is due, by an event, and takes its way as any other     (flow_due)
//! ```
//!
//! A group is steady from a beat of its leader at which it might rest ([`quiescence`](crate::quiescence)), whether its heartbeats are
//! simulated or not, until [`EtcdCluster::disturb`]. At a rate at which something is always under way it would never be: so once
//! nothing but what flows is under way, what is due waits for the next beat.
//!
//! API servers also compact, every five minutes: by arithmetic or by an entry of its own, like what they write.

use crate::cluster::EtcdCluster;
use crate::ctx::EtcdCtx;
use crate::database::{Database, Growth};
use crate::event::EtcdEvent;
use crate::raft::entry::{Command, Token};
use crate::raft::quorum::Members;
use crate::record::{EtcdRecord, RaftRecord};
use zonefall_kernel::periodic::Periodic;
use zonefall_kernel::rng::Stream;
use zonefall_kernel::time::{Duration, Time};
use zonefall_kernel::timer::{Generation, Timer};

/// What flows into a cluster.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct WriteRate {
    /// Writes in a million seconds.
    pub per_million_s: u64,
    /// Bytes of one, encoded as a request: the average.
    pub request_bytes: u32,
    /// What one does to the database: the average.
    pub growth: Growth,
    /// Somebody compacts.
    pub compacts: bool,
}

/// `--etcd-compaction-interval` of kube-apiserver.
const COMPACTION_INTERVAL: Duration = Duration::from_secs(300);

/// A millionth of a write each second, in a nanosecond.
const UNIT: u128 = 1_000_000_000_000_000;

/// How far what flows has come.
#[derive(Clone, Debug)]
pub(super) struct Flow {
    rate: WriteRate,
    compactions: Periodic,
    /// Until then it is in logs, or lost.
    since: Time,
    /// What was left of a write then.
    rest: u128,
    /// Since then it goes into all logs of its group without messages.
    steady: Option<(u8, Members)>,
    /// What is due waits for the next beat.
    held: bool,
    timer: Timer,
    /// Entries that have flowed so far.
    flowed: u64,
}

impl Flow {
    /// Nothing flows yet. Where it is between two compactions, and between two writes, is drawn.
    pub(super) fn new(phases: Stream) -> Self {
        let phase = phases.draw(0).below(COMPACTION_INTERVAL.as_nanos());
        let rest = u128::from(phases.draw(1).below(UNIT as u64));
        Self {
            rate: WriteRate::default(),
            compactions: Periodic::new(Time::from_nanos(phase), COMPACTION_INTERVAL),
            since: Time::ZERO,
            rest,
            steady: None,
            held: false,
            timer: Timer::new(),
            flowed: 0,
        }
    }

    /// Entries that have flowed into its log.
    pub(super) const fn flowed(&self) -> u64 {
        self.flowed
    }

    const fn command(&self) -> Command {
        let WriteRate { request_bytes, growth, .. } = self.rate;
        let (grows, supersedes) = (growth.grows as u32, growth.supersedes as u32);
        Command::Flowing { request_bytes, grows, supersedes }
    }

    /// In parts of a write.
    fn parts(&self, until: Time) -> u128 {
        self.rest + u128::from(self.rate.per_million_s) * u128::from(until.since(self.since).as_nanos())
    }

    /// Whole writes that are due.
    fn due(&self, until: Time) -> u64 {
        (self.parts(until) / UNIT) as u64
    }

    /// They are in logs, or lost.
    fn take(&mut self, until: Time) -> u64 {
        let parts = self.parts(until);
        (self.since, self.rest) = (until, parts % UNIT);
        (parts / UNIT) as u64
    }

    /// When the next write is due, or a compaction.
    fn next(&self) -> Option<Time> {
        let rate = u128::from(self.rate.per_million_s);
        let write = (rate > 0).then(|| self.since + Duration::from_nanos(((UNIT - self.rest).div_ceil(rate)) as u64));
        let compaction = self.rate.compacts.then(|| self.compactions.after(self.since));
        write.into_iter().chain(compaction).min()
    }

    fn is_empty(&self) -> bool {
        self.rate.per_million_s == 0 && !self.rate.compacts
    }

    /// A database once what is due has been written to it, and compacted.
    fn grown(&self, mut database: Database, until: Time) -> Database {
        let mut written = 0;
        let mut write = |database: &mut Database, due: u64| {
            database.write(self.rate.growth.times(due - written));
            written = due;
        };
        let mut at = self.since;
        while self.rate.compacts {
            at = self.compactions.after(at);
            if at > until {
                break;
            }
            write(&mut database, self.due(at));
            database.compact();
        }
        write(&mut database, self.due(until));
        database
    }
}

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
        }
        if rate == self.flow.rate {
            return;
        }
        self.resume(ctx);
        self.enter_flow(ctx);
        self.flow.take(ctx.now);
        self.flow.rate = rate;
        if self.flow.steady.is_none() {
            self.arm_flow(ctx);
        } else if rate.per_million_s > 0 && self.has_slow_disk() {
            self.end_steady(ctx);
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

    /// Whether so little flows, or all disks are so fast, that it may go by arithmetic.
    pub(super) fn flows_easily(&self) -> bool {
        !self.flows() || !self.has_slow_disk()
    }

    /// Whether anything flows.
    pub(super) const fn flows(&self) -> bool {
        self.flow.rate.per_million_s > 0
    }

    /// Whether what flows costs no messages now.
    pub const fn flows_silently(&self) -> bool {
        self.flow.steady.is_some()
    }

    /// At a beat of the leader: its group might rest with these followers, or could but for what flows (`nearly`), or neither.
    pub(super) fn flow_on(&mut self, leader: u8, followers: Option<Members>, nearly: bool, ctx: &mut EtcdCtx<'_>) {
        let Some(followers) = followers else {
            let was_held = std::mem::replace(&mut self.flow.held, false);
            if self.flow.steady.is_some() {
                self.end_steady(ctx);
            } else if nearly && !was_held {
                self.flow.held = true;
                self.flow.timer.cancel();
            } else if was_held {
                self.arm_flow(ctx);
            }
            return;
        };
        if self.flow.steady == Some((leader, followers)) {
            return;
        }
        if self.flow.steady.is_some() {
            self.enter_flow(ctx);
        }
        (self.flow.steady, self.flow.held) = (Some((leader, followers)), false);
        self.flow.timer.cancel();
        self.remember_applied(self.committed, ctx.now);
        if !self.flow.is_empty() {
            // The same writes have made all databases, whoever was away while they were compacted.
            let database = self.server_mut(leader).database;
            followers.iter().for_each(|index| self.server_mut(index).database = database);
        }
        self.flow_changed(ctx);
    }

    /// Something happens to the group: from now on message by message.
    pub fn disturb(&mut self, ctx: &mut EtcdCtx<'_>) {
        self.resume(ctx);
        if self.flow.steady.is_some() {
            self.end_steady(ctx);
        }
    }

    fn end_steady(&mut self, ctx: &mut EtcdCtx<'_>) {
        self.enter_flow(ctx);
        self.flow.steady = None;
        self.arm_flow(ctx);
        self.flow_changed(ctx);
    }

    fn flow_changed(&self, ctx: &mut EtcdCtx<'_>) {
        if self.flow.rate.per_million_s > 0 {
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
        let Some((leader, followers)) = self.flow.steady else { return };
        let group = || std::iter::once(leader).chain(followers.iter());
        for index in group() {
            let server = self.members[index as usize].process.server_mut().expect("its process serves");
            server.database = self.flow.grown(server.database, ctx.now);
        }
        let count = self.flow.take(ctx.now);
        if count == 0 {
            return;
        }
        self.flow.flowed += count;
        let command = self.flow.command();
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

    /// Writes are due while the group is disturbed: somebody proposes them to the leader.
    pub(super) fn flow_due(&mut self, generation: Generation, ctx: &mut EtcdCtx<'_>) {
        if !self.flow.timer.fires(generation) {
            return;
        }
        let compacts =
            self.flow.rate.compacts && self.flow.compactions.at_or_before(ctx.now).is_some_and(|at| at > self.flow.since);
        let count = self.flow.take(ctx.now);
        if let Some(leader) = self.leader().filter(|leader| !self.is_paused(*leader) && self.takes_proposals(*leader)) {
            let flowing = std::iter::repeat_n(self.flow.command(), count as usize);
            self.flow.flowed += count;
            for command in flowing.chain(compacts.then_some(Command::Compact)) {
                self.server_mut(leader).raft.propose(ctx.now, Token::NONE, command);
            }
            self.after(leader, ctx);
        }
        self.arm_flow(ctx);
    }

    /// The database of a member now.
    pub(super) fn database_of(&self, index: u8, now: Time) -> Option<Database> {
        let flowed = self.flowed_into(index, now).map(|(_, database)| database);
        flowed.or_else(|| self.server(index).map(|server| server.database))
    }

    /// A member once what has flowed is in its log: how many entries more, and its database.
    pub(super) fn flowed_into(&self, index: u8, now: Time) -> Option<(u64, Database)> {
        let (leader, followers) = self.flow.steady?;
        let server = self.server(index).filter(|_| index == leader || followers.contains(index))?;
        Some((self.flow.due(now), self.flow.grown(server.database, now)))
    }
}
