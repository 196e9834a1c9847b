//! Between raft and the disk: what leaves when, and what is applied (`etcdserver/raft.go`, `raftNode.start`).

use crate::cluster::EtcdCluster;
use crate::command_bytes::{database_growth, quota_cost, stored_bytes};
use crate::ctx::EtcdCtx;
use crate::event::{Answer, ProcessTimer, Watched};
use crate::member::{Behind, Server, Write};
use crate::raft::Note;
#[cfg(feature = "planted-bugs")]
use crate::raft::PlantedBug;
use crate::raft::encoding;
use crate::raft::entry::Command;
use crate::raft::message::{Kind, Message, Snapshot};
use crate::record::{EtcdRecord, Part, RaftRecord};
use crate::space::Stored;
use crate::volume::Lane;
use zonefall_kernel::time::{Duration, Time};
use zonefall_scenario::ids::MemberId;

/// Entries whose first appliance is remembered for the watchers' latency.
const REMEMBERED: usize = 4_096;

impl EtcdCluster {
    /// Carries on after raft has taken a step: tells what happened, answers reads, writes and sends what is due.
    pub(super) fn after(&mut self, index: u8, ctx: &mut EtcdCtx<'_>) {
        self.record_notes(index, ctx);
        let server = self.server_mut(index);
        for token in server.raft.out.dropped.drain(..).filter(|token| token.member == index) {
            ctx.fx.answers.push((ctx.now, token, Answer::Unavailable));
        }
        if server.raft.lead != server.seen {
            self.leader_changed(index, ctx);
        }
        if !self.server_mut(index).raft.out.read_states.is_empty() {
            self.reads_confirmed(index, ctx);
        }
        self.record_notes(index, ctx);
        self.pump(index, ctx);
        self.arm_timer(index, ctx);
    }

    fn record_notes(&mut self, index: u8, ctx: &mut EtcdCtx<'_>) {
        if self.server_mut(index).raft.out.notes.is_empty() {
            return;
        }
        let id = self.members[index as usize].id;
        let server = self.members[index as usize].process.server_mut().expect("its process serves");
        let mut notes = std::mem::take(&mut server.raft.out.notes);
        let raft = &server.raft;
        let log = &raft.log;
        for note in &notes {
            let inner = match *note {
                Note::Campaign { term, pre_vote } => {
                    ctx.record(EtcdRecord::Campaign { member: id, term, pre_vote });
                    continue;
                }
                Note::Elected => {
                    ctx.record(EtcdRecord::Elected { member: id, term: raft.term });
                    ctx.fx.service_changed.push(id.cluster);
                    RaftRecord::Led { member: id, term: raft.term, last: log.last() }
                }
                Note::SteppedDown { term, reason } => {
                    ctx.record(EtcdRecord::SteppedDown { member: id, term, reason });
                    ctx.fx.service_changed.push(id.cluster);
                    continue;
                }
                Note::Established => {
                    ctx.fx.service_changed.push(id.cluster);
                    continue;
                }
                Note::Appended { from, to } => {
                    if ctx.fx.raft_records {
                        for index in from..=to {
                            let entry = log.get(index).expect("just appended");
                            let (term, chain) = (entry.term, entry.chain);
                            ctx.record(EtcdRecord::Raft(RaftRecord::Appended { member: id, index, term, chain }));
                        }
                    }
                    continue;
                }
                Note::Truncated { from } => RaftRecord::Truncated { member: id, from },
                Note::Restored => {
                    let (index, term) = (log.last(), log.last_term());
                    let chain = log.chain(index).expect("a snapshot has its hash");
                    RaftRecord::Restored { member: id, index, term, chain }
                }
                Note::Committed => RaftRecord::Committed { member: id, term: raft.term, index: log.committed },
            };
            if ctx.fx.raft_records {
                ctx.record(EtcdRecord::Raft(inner));
            }
        }
        let committed = notes.contains(&Note::Committed).then_some(log.committed);
        let tick = notes.contains(&Note::Elected).then(|| server.heartbeat_clock.next_tick(ctx.now));
        notes.clear();
        server.raft.out.notes = notes;
        if let Some(tick) = tick {
            self.members[index as usize].arm(ProcessTimer::HeartbeatTick, tick, ctx);
            self.extend_leases(ctx);
        }
        if let Some(committed) = committed.filter(|committed| self.counts(index, *committed)) {
            self.committed = self.committed.max(committed);
        }
    }

    /// Takes Readies until one is being written or nothing is left.
    fn pump(&mut self, index: u8, ctx: &mut EtcdCtx<'_>) {
        while let Some(server) = self.members[index as usize].process.server_mut() {
            if self.options.answers_before_sync && server.write.is_none() {
                server.raft.acknowledge_alone();
            }
            // A change of membership that was applied may have committed more: that is a fact before anybody hears of it.
            self.record_notes(index, ctx);
            #[cfg(feature = "planted-bugs")]
            self.promise_early(PlantedBug::PromiseBeforeWrite, index, ctx);
            let answers_before_sync = self.options.answers_before_sync;
            let server = self.server_mut(index);
            let must_sync = server.must_sync();
            let leads = server.is_leader();
            let log = &server.raft.log;
            let (committed, has_committed) = (log.committed, log.applied.max(server.to_apply) < log.committed);
            // What is committed and not yet written waits for its write, and what is before it, too (`shouldWaitWALSync`).
            let applies_later = committed > log.written && !answers_before_sync;
            if server.write.is_some() || (server.raft.out.messages.is_empty() && !must_sync && !has_committed) {
                return;
            }
            let mut messages = std::mem::take(&mut server.raft.out.messages);
            keep_last_response(&mut messages);
            if leads || !must_sync {
                self.send_all(&mut messages, ctx);
            }
            if must_sync {
                self.write(index, messages, ctx);
                if let Some(write) = self.server_mut(index).write.as_mut() {
                    write.to_apply = committed;
                }
            } else if let Some(server) = self.members[index as usize].process.server_mut()
                && server.raft.out.messages.is_empty()
            {
                // Gives the buffer back.
                server.raft.out.messages = messages;
            }
            if has_committed && !applies_later {
                self.server_mut(index).to_apply = committed;
                self.apply(index, ctx);
            }
        }
    }

    /// A deliberate bug: votes are told while the disk does not have them.
    #[cfg(feature = "planted-bugs")]
    fn promise_early(&mut self, bug: PlantedBug, index: u8, ctx: &mut EtcdCtx<'_>) {
        if self.config.bug == Some(bug) {
            let server = self.server_mut(index);
            let held = server.write.as_mut().map(|write| &mut write.held);
            let waiting = if bug == PlantedBug::PromiseBeforeSync { held } else { Some(&mut server.raft.out.messages) };
            let promises = waiting.map(|messages| messages.extract_if(.., |message| message.promised_vote().is_some()).collect());
            self.send_all(&mut promises.unwrap_or_default(), ctx);
        }
    }

    fn write(&mut self, index: u8, held: Vec<Message>, ctx: &mut EtcdCtx<'_>) {
        let member = &mut self.members[index as usize];
        let server = member.process.server_mut().expect("its process serves");
        let log = &mut server.raft.log;
        let first = log.written + 1;
        let bytes = encoding::entries_bytes(first, log.alike_from(first).map(|(_, alike)| alike), |bytes| bytes + 32);
        log.written = log.last();
        if let Some(behind) = &mut server.behind {
            behind.bytes += bytes;
        }
        let state = (server.raft.term, server.raft.vote);
        if server.written != state {
            record_hard_state(member.id, state, false, ctx);
        }
        server.written = state;
        let write = Write { since: ctx.now, last: server.raft.log.last(), state: server.written, held, to_apply: 0 };
        server.write = Some(write);
        let work = member.disk.sync(bytes);
        server.writes.begin(ctx.now, Lane::Log, work, member.disk.slowdown());
        let (end, shares) = (server.writes.end(Lane::Log), server.writes.transfers(Lane::Database));
        member.arm(ProcessTimer::Synced, end, ctx);
        self.tell_backlog(index, Part::Log, end, ctx);
        if shares {
            self.commit_moves(index, ctx);
        }
        #[cfg(feature = "planted-bugs")]
        self.promise_early(PlantedBug::PromiseBeforeSync, index, ctx);
    }

    /// The end of the log's write has moved: the database has begun to be written, or the disk has another speed.
    pub(super) fn write_moves(&mut self, index: u8, ctx: &mut EtcdCtx<'_>) {
        let server = self.server_mut(index);
        if server.write.is_some() {
            let end = server.writes.end(Lane::Log);
            self.members[index as usize].arm(ProcessTimer::Synced, end, ctx);
            self.tell_backlog(index, Part::Log, end, ctx);
        }
    }

    /// The disk has what it was given: what it promises may be sent.
    pub(super) fn synced(&mut self, index: u8, ctx: &mut EtcdCtx<'_>) {
        let id = self.members[index as usize].id;
        let server = self.server_mut(index);
        let mut write = server.write.take().expect("a write was under way");
        let log = &mut server.raft.log;
        log.stable = log.stable.max(write.last.min(log.written));
        if server.synced != write.state {
            record_hard_state(id, write.state, true, ctx);
        }
        server.synced = write.state;
        self.snapshot_if_due(index, ctx.now);
        self.send_all(&mut write.held, ctx);
        let server = self.server_mut(index);
        server.to_apply = server.to_apply.max(write.to_apply);
        self.apply(index, ctx);
        let Some(server) = self.members[index as usize].process.server_mut() else { return };
        server.raft.acknowledge_own();
        if std::mem::take(&mut server.missed_tick) {
            if server.is_leader() {
                server.raft.heartbeat_tick(ctx.now);
            } else {
                server.raft.clock.lose_ticks(write.since, ctx.now);
                if server.raft.clock.elapsed(ctx.now) >= server.raft.timeout_ticks {
                    server.raft.timed_out(ctx.now);
                }
            }
        } else if ctx.now.since(write.since) > self.options.tick {
            self.server_mut(index).raft.clock.lose_ticks(write.since, ctx.now);
        }
        self.after(index, ctx);
    }

    /// Applies what it may, unless its database is locked.
    pub(super) fn apply(&mut self, index: u8, ctx: &mut EtcdCtx<'_>) {
        let member = &self.members[index as usize];
        if member.is_locked() || member.process.server().is_none_or(|server| server.raft.log.applied >= server.to_apply) {
            return;
        }
        let cost = self.options.apply;
        let id = self.members[index as usize].id;
        let mut removed = false;
        let counts = self.counts(index, 0);
        loop {
            self.apply_alike(index, counts, ctx);
            let server = self.members[index as usize].process.server_mut().expect("its process serves");
            let log = &mut server.raft.log;
            if log.applied >= server.to_apply {
                break;
            }
            log.applied += 1;
            let at = log.applied;
            let entry = log.get(at).expect("committed entries are in the log");
            server.apply_free = server.apply_free.max(ctx.now) + cost;
            let done = server.apply_free;
            let is_first = self.recently_applied.last().is_none_or(|&(applied, _)| at > applied);
            let stored = self.store(index, entry, counts && is_first, ctx);
            if counts && is_first {
                self.remember_applied(at, ctx.now);
                self.lease_applied(entry.command, ctx);
            }
            if ctx.fx.raft_records {
                let (term, chain) = (entry.term, entry.chain);
                ctx.record(EtcdRecord::Raft(RaftRecord::Applied { member: id, index: at, term, chain }));
            }
            let server = self.server_mut(index);
            if let Command::Conf(change) = entry.command {
                server.raft.apply_conf_change(change);
                removed |= self.conf_applied(index, (at, entry.term), change, ctx);
            }
            if stored != Stored::No && stored_bytes(entry.command) > 0 && !self.server_mut(index).watchers.is_empty() {
                let first_applied = self.first_applied(at, ctx.now);
                ctx.fx.watched.push(Watched { at: done, member: id, index: at, command: entry.command, first_applied });
            }
            if entry.token.member == index {
                match stored {
                    Stored::Yes => self.done(done, entry.token, ctx),
                    Stored::No => ctx.fx.answers.push((done, entry.token, Answer::NoSpace)),
                    Stored::BeyondQuota => {}
                }
            }
        }
        if let Some(server) = self.server(index) {
            let end = server.apply_free;
            self.tell_backlog(index, Part::Apply, end, ctx);
        }
        self.applied(index, ctx);
        self.commit_or_wait(index, ctx);
        if removed {
            self.depart(index, ctx);
        }
    }

    /// Applies the next run of entries that flow in one step, where nothing depends on a single one of them: another member has applied them
    /// before, nobody watches, and the database is far from its quota.
    fn apply_alike(&mut self, index: u8, counts: bool, ctx: &EtcdCtx<'_>) {
        let (cost, quota) = (self.options.apply, self.options.quota_bytes);
        let applied_first = self.recently_applied.last().map_or(0, |&(applied, _)| applied);
        let server = self.members[index as usize].process.server_mut().expect("its process serves");
        let log = &mut server.raft.log;
        let last = if counts { server.to_apply.min(applied_first) } else { server.to_apply };
        let Some((_, alike)) = log.alike_from(log.applied + 1).next().filter(|_| log.applied < last) else { return };
        let (command, count) = (alike.first.command, alike.count.min(last - log.applied));
        let growth = database_growth(command).times(count);
        let is_seen = ctx.fx.raft_records || !server.watchers.is_empty() || !matches!(command, Command::Flowing { .. });
        let full = server.database.file_bytes + growth.grows + count * quota_cost(command) >= quota;
        if is_seen || full || server.database.no_space {
            return;
        }
        log.applied += count;
        server.apply_free = server.apply_free.max(ctx.now) + cost * count;
        server.database.write(growth);
        server.backend.applied(command, count);
    }

    /// When an entry was first applied anywhere; that of the next entry still remembered, if it was too long ago.
    pub(super) fn first_applied(&self, index: u64, now: Time) -> Time {
        let place = self.recently_applied.partition_point(|&(applied, _)| applied < index);
        let Some(&(applied, at)) = self.recently_applied.get(place) else { return now };
        let before = place.checked_sub(1).and_then(|before| self.recently_applied.get(before));
        // What flowed in between came evenly.
        before.map_or(at, |&(first, since)| {
            let ns = u128::from(at.since(since).as_nanos()) * u128::from(index - first) / u128::from(applied - first);
            since + Duration::from_nanos(ns as u64)
        })
    }

    /// Up to this index entries are applied for the first time.
    pub(super) fn remember_applied(&mut self, index: u64, now: Time) {
        self.recently_applied.push((index, now));
        if self.recently_applied.len() > REMEMBERED {
            self.recently_applied.forget(1);
        }
    }

    pub(super) fn applied(&mut self, index: u8, ctx: &mut EtcdCtx<'_>) {
        let id = self.members[index as usize].id;
        self.snapshot_if_due(index, ctx.now);
        let applied = self.server_mut(index).raft.log.applied;
        let counts = self.counts(index, applied);
        if self.is_awaited(index) || self.server(index).is_some_and(|server| server.behind.is_some()) {
            ctx.fx.service_changed.push(id.cluster);
        }
        let server = self.members[index as usize].process.server_mut().expect("its process serves");
        if counts {
            self.committed = self.committed.max(applied);
        }
        let caught_up = server.behind.take_if(|behind| applied >= behind.until);
        if let Some(Behind { since, entries, bytes, .. }) = caught_up {
            ctx.record(EtcdRecord::CaughtUp { member: id, entries, bytes, duration: ctx.now.since(since) });
        }
        if server.reads.index.is_some_and(|wanted| wanted <= applied) {
            self.finish_reads(index, ctx);
        }
        self.serve_clients_if_published(index, ctx);
    }

    /// Takes a snapshot after enough entries, once the disk has them all (`triggerSnapshot` waits for it). Entries before it stay while
    /// somebody is being sent one, and a while after: who receives it needs what follows it (`EtcdServer.snapshot`).
    pub(super) fn snapshot_if_due(&mut self, index: u8, now: Time) {
        let sending = self.transfers.iter().any(|transfer| transfer.from == index);
        let (snapshot_count, catch_up) = (self.options.snapshot_count, self.options.catch_up_entries);
        let server = self.server_mut(index);
        let log = &mut server.raft.log;
        let since = log.applied - server.snapshot_index;
        if since > snapshot_count && log.applied <= log.stable {
            // What flowed has come all at once: the last of the snapshots that were due meanwhile.
            server.snapshot_index = log.applied - since % (snapshot_count + 1);
            if !sending && now >= server.keeps_entries_until {
                log.compact(server.snapshot_index.saturating_sub(catch_up));
            }
        }
    }

    /// The leader's clock beats.
    pub(super) fn heartbeat_tick(&mut self, index: u8, ctx: &mut EtcdCtx<'_>) {
        if !self.server_mut(index).is_leader() || self.try_quiesce(index, ctx) {
            return;
        }
        let tick = self.server_mut(index).heartbeat_clock.next_tick(ctx.now);
        self.members[index as usize].arm(ProcessTimer::HeartbeatTick, tick, ctx);
        let server = self.server_mut(index);
        if server.write.is_some() {
            server.missed_tick = true;
            return;
        }
        server.raft.heartbeat_tick(ctx.now);
        self.after(index, ctx);
    }

    /// A member's election timer rings: perhaps its timeout has passed, perhaps it was put off meanwhile.
    pub(super) fn election_timer(&mut self, index: u8, ctx: &mut EtcdCtx<'_>) {
        let resting = self.is_quiescent(index);
        let server = self.server_mut(index);
        if resting || server.is_leader() {
            return;
        }
        if ctx.now >= server.raft.clock.deadline(server.raft.timeout_ticks) {
            if server.write.is_some() {
                server.missed_tick = true;
                return;
            }
            server.raft.timed_out(ctx.now);
            self.after(index, ctx);
        } else {
            self.arm_timer(index, ctx);
        }
    }

    /// Queues the election timer where none is queued that rings early enough.
    pub(super) fn arm_timer(&mut self, index: u8, ctx: &mut EtcdCtx<'_>) {
        let member = &mut self.members[index as usize];
        let queued = member.timers[ProcessTimer::Election as usize].deadline();
        let Some(server) = member.process.server_mut() else { return };
        let drawn = server.raft.timeouts_drawn();
        if server.is_leader() || (queued.is_some() && server.timer_draws == drawn) || !server.raft.is_promotable() {
            return;
        }
        let at = server.raft.clock.deadline(server.raft.timeout_ticks);
        server.timer_draws = drawn;
        if queued.is_some_and(|queued| queued <= at) || (server.missed_tick && at <= ctx.now) {
            return;
        }
        member.arm(ProcessTimer::Election, at, ctx);
    }

    /// What a snapshot message carries: the database as it is now.
    pub(super) fn snapshot_of(server: &Server) -> Snapshot {
        let log = &server.raft.log;
        Snapshot {
            index: log.applied,
            term: log.term(log.applied).expect("applied entries keep their term"),
            chain: log.chain(log.applied).expect("applied entries keep their hash"),
            voters: server.raft.conf_state.quorum,
            learners: server.raft.conf_state.learners,
            database: server.database,
        }
    }

    fn send_all(&mut self, messages: &mut Vec<Message>, ctx: &mut EtcdCtx<'_>) {
        for message in messages.drain(..) {
            if ctx.fx.raft_records
                && let Some(candidate) = message.promised_vote()
            {
                let member = self.members[message.from as usize].id;
                ctx.record(EtcdRecord::Raft(RaftRecord::Promised { member, term: message.term, candidate }));
            }
            if message.kind == Kind::Snapshot {
                self.begin_transfer(message, ctx);
            } else {
                self.transmit(message, ctx);
            }
        }
    }
}

fn record_hard_state(member: MemberId, (term, vote): (u64, Option<u8>), synced: bool, ctx: &mut EtcdCtx<'_>) {
    if ctx.fx.raft_records {
        ctx.record(EtcdRecord::Raft(RaftRecord::HardState { member, term, vote, synced }));
    }
}

/// Of several acknowledgements in one Ready only the last is sent (`processMessages`).
fn keep_last_response(messages: &mut Vec<Message>) {
    if messages.len() < 2 {
        return;
    }
    let Some(last) = messages.iter().rposition(|message| message.kind == Kind::AppendResponse) else { return };
    let mut place = 0;
    messages.retain(|message| {
        place += 1;
        message.kind != Kind::AppendResponse || place > last
    });
}
