//! What etcd refuses for want of space, and how an operator makes some.
//!
//! ```text
//!  put --> room for it here? --no--> NOSPACE alarm, through raft --> every member: nothing that grows is written; reads, deletes go on
//!            '--yes--> proposed, applied: room for it now? --no--> written, answered with an error, and the alarm
//!
//!  compact (pages are free) --> defragment each member (its file is smaller) --> disarm_alarm
//! ```
//!
//! Sources: `server/storage/quota.go` (`BackendQuota`), `api/v3rpc/quota.go` (`quotaAlarmer`), `apply` (`quotaApplierV3`, `applierV3Capped`,
//! `applyEntryNormal`), `storage/backend/backend.go` (`defrag`, which holds the locks of writes and reads) at `etcd-io/etcd@c34dc7ee`. So
//! a member that rewrites its file applies and reads nothing, and its raft goes on: it may lead meanwhile.

use crate::cluster::EtcdCluster;
use crate::command_bytes::{database_growth, is_full, quota_cost};
use crate::ctx::EtcdCtx;
use crate::event::EtcdEvent;
use crate::flow::Mode;
use crate::member::Server;
use crate::raft::entry::{Command, Entry, Token};
use crate::record::EtcdRecord;
use zonefall_kernel::timer::Generation;
use zonefall_scenario::Maintenance;

/// Who asks hears nothing where nobody leads.
const TIMED_OUT: &str = "etcdserver: request timed out";

/// Who asks a member that does not answer.
const UNAVAILABLE: &str = "context deadline exceeded";

/// What became of an entry in a member's database.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Stored {
    /// It is in it.
    Yes,
    /// It is refused.
    No,
    /// It is in it, and beyond the quota: refused as soon as the alarm is on.
    BeyondQuota,
}

impl EtcdCluster {
    /// Whether a member that is asked for it has room for a command. While the alarm is on that is not asked: the command is refused when
    /// it is applied.
    pub(super) fn has_room(&self, index: u8, command: Command) -> bool {
        let cost = quota_cost(command);
        let Some(server) = self.server(index).filter(|_| cost > 0) else { return true };
        server.database.file_bytes + cost < self.options.quota_bytes
    }

    /// Whether a member refuses what is put.
    pub(super) fn refuses_writes(&self, server: &Server) -> bool {
        server.database.no_space || is_full(server.database.file_bytes, self.options.quota_bytes)
    }

    /// Whether a member with this leader would refuse what is put now. The leader knows whether the alarm is on: what changed that comes
    /// before any put from now on, also where the member has yet to apply it.
    pub(super) fn would_refuse_writes(&self, server: &Server, leader: u8) -> bool {
        let known = self.server(leader).unwrap_or(server);
        known.database.no_space || is_full(server.database.file_bytes, self.options.quota_bytes)
    }

    /// Writes what an entry does to a member's database. `first`: nobody has applied it before.
    pub(super) fn store(&mut self, index: u8, entry: Entry, first: bool, ctx: &mut EtcdCtx<'_>) -> Stored {
        let has_room = self.has_room(index, entry.command);
        let server = self.server_mut(index);
        match entry.command {
            Command::Compact => server.database.compact(),
            Command::CompactAll => server.database.compact_all(),
            Command::Alarm(by) => {
                self.set_no_space(index, true, first.then_some(by), ctx);
                return Stored::No;
            }
            Command::Disarm => self.set_no_space(index, false, first.then_some(index), ctx),
            command if server.database.no_space && quota_cost(command) > 0 => return Stored::No,
            command => {
                let refused = self.refuses_writes(self.server(index).expect("its process serves"));
                let server = self.server_mut(index);
                server.database.write(database_growth(command));
                server.backend.applied(command, 1);
                if !refused && self.refuses_writes(self.server(index).expect("its process serves")) {
                    ctx.fx.service_changed.push(self.id);
                    if has_room {
                        self.tell_quota_if_reached(index, ctx);
                    }
                }
            }
        }
        if has_room {
            return Stored::Yes;
        }
        let token = if entry.token.member == index { entry.token } else { Token::NONE };
        self.raise_alarm(index, token, ctx);
        Stored::BeyondQuota
    }

    /// Tells of a member's database that has just reached its quota without an alarm, by a put or as a snapshot that was received.
    pub(super) fn tell_quota_if_reached(&self, index: u8, ctx: &mut EtcdCtx<'_>) {
        let database = &self.server(index).expect("its process serves").database;
        if !database.no_space && is_full(database.file_bytes, self.options.quota_bytes) {
            let member = self.members[index as usize].id;
            ctx.record(EtcdRecord::QuotaReached { member, bytes: database.file_bytes });
        }
    }

    /// The alarm is on at a member, or off. `by`: who raised it, where that is told.
    fn set_no_space(&mut self, index: u8, no_space: bool, by: Option<u8>, ctx: &mut EtcdCtx<'_>) {
        let server = self.server_mut(index);
        let changed = std::mem::replace(&mut server.database.no_space, no_space) != no_space;
        server.alarm_raised = None;
        if !changed {
            return;
        }
        ctx.fx.service_changed.push(self.id);
        if let Some(by) = by {
            let bytes = self.server(by).or_else(|| self.server(index)).map_or(0, |server| server.database.file_bytes);
            let member = self.members[by as usize].id;
            ctx.record(if no_space { EtcdRecord::SpaceExceeded { member, bytes } } else { EtcdRecord::AlarmDisarmed(self.id) });
        }
    }

    /// A member's database is full: it says so to all, once in a term, or for a request that waits for that.
    pub(super) fn raise_alarm(&mut self, index: u8, token: Token, ctx: &mut EtcdCtx<'_>) {
        let server = self.server_mut(index);
        let term = server.raft.term;
        if server.alarm_raised.replace(term) != Some(term) {
            ctx.fx.service_changed.push(self.id);
        } else if token == Token::NONE {
            return;
        }
        self.server_mut(index).raft.propose(ctx.now, token, Command::Alarm(index));
    }

    /// While a group is steady what flows fills its databases without an event: rings when the first may be full. Much later than now it is
    /// asked again before, so that this need not be exact.
    pub(super) fn arm_quota(&mut self, ctx: &mut EtcdCtx<'_>) {
        let Mode::Steady { leader, followers } = self.flow.mode else { return };
        let limit = self.options.quota_bytes.saturating_sub(quota_cost(self.flow.command()));
        let full_in = |index: u8| {
            let database = self.database_of(index, ctx.now).filter(|database| !database.no_space)?;
            self.flow.time_to_write(database.headroom(limit))
        };
        let first = std::iter::once(leader).chain(followers.iter()).filter_map(full_in).min();
        let Some(full_in) = first else { return };
        let (least, full) = (self.flow.time_to_write(0).unwrap_or(full_in), ctx.now + full_in);
        if self.flow.quota.deadline().is_none_or(|armed| full < armed) {
            let at = ctx.now + (full_in / 2).max(least);
            let generation = self.flow.quota.arm(at);
            ctx.schedule(at, self.id, EtcdEvent::Quota(generation));
        }
    }

    /// What flows may have filled a database.
    pub(super) fn quota_due(&mut self, generation: Generation, ctx: &mut EtcdCtx<'_>) {
        if !self.flow.quota.fires(generation) {
            return;
        }
        let Mode::Steady { leader, followers } = self.flow.mode else { return };
        let (cost, quota) = (quota_cost(self.flow.command()), self.options.quota_bytes);
        let is_full = |index: u8| {
            let database = self.database_of(index, ctx.now).filter(|database| !database.no_space);
            database.is_some_and(|database| database.file_bytes + cost >= quota)
        };
        if let Some(full) = std::iter::once(leader).chain(followers.iter()).find(|index| is_full(*index)) {
            // The next write is refused.
            self.disturb(ctx);
            self.raise_alarm(full, Token::NONE, ctx);
            self.after(full, ctx);
        } else {
            self.arm_quota(ctx);
        }
    }

    /// An operator asks for work on the databases.
    pub fn maintain(&mut self, task: Maintenance, ctx: &mut EtcdCtx<'_>) {
        self.disturb(ctx);
        let refused = match task {
            Maintenance::Compact => self.ask_leader(Command::CompactAll, ctx),
            Maintenance::DisarmAlarm => self.ask_leader(Command::Disarm, ctx),
            Maintenance::Defragment(member) => self.defragment(member.index, ctx),
        };
        ctx.record(EtcdRecord::Maintenance { cluster: self.id, task, refused });
    }

    fn ask_leader(&mut self, command: Command, ctx: &mut EtcdCtx<'_>) -> Option<&'static str> {
        let able = |leader: &u8| !self.is_paused(*leader) && self.takes_proposals(*leader, ctx.now);
        let Some(leader) = self.leader().filter(able) else { return Some(TIMED_OUT) };
        self.server_mut(leader).raft.propose(ctx.now, Token::NONE, command);
        self.after(leader, ctx);
        None
    }

    fn defragment(&mut self, index: u8, ctx: &mut EtcdCtx<'_>) -> Option<&'static str> {
        if self.responsive(index).is_none() {
            return Some(UNAVAILABLE);
        }
        if self.members[index as usize].is_locked() {
            self.server_mut(index).backend.defragments_next = true;
        } else {
            self.begin_defragmenting(index, ctx);
        }
        None
    }

    /// Begins to rewrite a member's database.
    pub(super) fn begin_defragmenting(&mut self, index: u8, ctx: &mut EtcdCtx<'_>) {
        let server = self.server_mut(index);
        server.backend.defragmenting = Some(ctx.now);
        let bytes = server.database.in_use();
        self.write_database(index, bytes, ctx);
        ctx.fx.service_changed.push(self.id);
    }

    /// A member's database is written; where it was rewritten, its file is smaller.
    pub(super) fn defragmented(&mut self, index: u8, ctx: &mut EtcdCtx<'_>) {
        let member = &mut self.members[index as usize];
        let server = member.process.server_mut().expect("its process serves");
        let Some(since) = server.backend.defragmenting.take() else { return };
        let before = server.database.file_bytes;
        server.database.defragment();
        let (after, duration) = (server.database.file_bytes, ctx.now.since(since));
        ctx.record(EtcdRecord::Defragmented { member: member.id, before, after, duration });
        ctx.fx.service_changed.push(self.id);
    }
}
