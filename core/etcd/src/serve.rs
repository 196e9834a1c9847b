//! Clients' requests at a member (`etcdserver/v3_server.go`).
//!
//! ```text
//!  arrives --core--> Read --raft, disk, apply (a write also waits between threads)--> Done --core--> Written --> leaves
//! ```
//!
//! Where nothing costs anything a request is read when it arrives and its answer leaves when it is done, without further events.
//!
//! A write becomes a proposal and is answered when this member applies it. A linearizable read waits for a read index that a
//! majority confirmed after it was asked; all reads that wait share one round. A serializable read is answered from what is here.

use crate::backlog::LONG;
use crate::cluster::EtcdCluster;
use crate::codec;
use crate::command_bytes::stored_bytes;
use crate::cost::{answering, reading};
use crate::ctx::EtcdCtx;
use crate::event::{Answer, EtcdEvent, ProcessTimer, Step, Watched};
use crate::raft::entry::{Command, Token};
use crate::record::{EtcdRecord, Part};
use zonefall_kernel::time::{Duration, Time};
use zonefall_scenario::Op;
use zonefall_scenario::ids::ClientId;

/// Entries that may be committed and not applied before requests are turned away (`maxGapBetweenApplyAndCommitIndex`).
const MAX_APPLY_GAP: u64 = 5_000;

impl EtcdCluster {
    /// A request arrives at the member of its token; its client waits until `until`. Whether a process is there to take it.
    pub fn request(&mut self, token: Token, op: Op, until: Time, ctx: &mut EtcdCtx<'_>) -> bool {
        if self.is_closed() {
            return false;
        }
        if self.put_aside(EtcdEvent::Request(token)) {
            return true;
        }
        let Some(server) = self.members[token.member as usize].process.server_mut() else { return false };
        if server.serves_clients {
            self.take(token, op, until, ctx);
        } else {
            server.callers.push((token, op, until));
        }
        true
    }

    /// A process that has started serves clients once it has published its name through raft: it has a leader then, and all that was
    /// committed when it started (`server/embed/serve.go`, `ReadyNotify`).
    pub(super) fn serve_clients_if_published(&mut self, index: u8, ctx: &mut EtcdCtx<'_>) {
        let server = self.server_mut(index);
        if server.serves_clients || server.raft.lead.is_none() || server.behind.is_some() {
            return;
        }
        server.serves_clients = true;
        ctx.fx.service_changed.push(self.id);
        for (token, op, until) in std::mem::take(&mut self.server_mut(index).callers) {
            if ctx.now < until {
                self.take(token, op, until, ctx);
            }
        }
    }

    /// Takes a request from its client.
    fn take(&mut self, token: Token, op: Op, until: Time, ctx: &mut EtcdCtx<'_>) {
        let (id, cost) = (self.id, self.options.cost);
        let member = &mut self.members[token.member as usize];
        if cost.is_none() {
            self.serve(token, op, until, ctx);
        } else {
            let server = member.process.server_mut().expect("its process serves");
            let read = server.cores.take(ctx.now, reading(&cost, op));
            let writes = Command::of(op).is_some();
            let wait = if writes { cost.write } else { Duration::ZERO };
            ctx.schedule(read + wait, id, EtcdEvent::Work { token, step: Step::Read, life: member.lives as u32 });
            self.tell_backlog(token.member, Part::Cores, read, ctx);
        }
    }

    /// A request has come to this step, unless its process is gone.
    pub fn work(&mut self, (token, step, life): (Token, Step, u32), op: Op, until: Time, ctx: &mut EtcdCtx<'_>) {
        if self.put_aside(EtcdEvent::Work { token, step, life }) {
            return;
        }
        let (id, cost) = (self.id, self.options.cost);
        let member = &mut self.members[token.member as usize];
        let Some(server) = member.process.server_mut().filter(|_| member.lives as u32 == life) else { return };
        match step {
            Step::Read => self.serve(token, op, until, ctx),
            Step::Done => {
                let written = server.cores.take(ctx.now, answering(&cost, op));
                ctx.schedule(written, id, EtcdEvent::Work { token, step: Step::Written, life });
                self.tell_backlog(token.member, Part::Cores, written, ctx);
            }
            Step::Written => ctx.fx.answers.push((ctx.now, token, Answer::Ok)),
        }
    }

    /// What was asked for is done at `at`.
    pub(super) fn done(&self, at: Time, token: Token, ctx: &mut EtcdCtx<'_>) {
        if self.options.cost.is_none() {
            ctx.fx.answers.push((at, token, Answer::Ok));
        } else {
            let life = self.members[token.member as usize].lives as u32;
            ctx.schedule(at, self.id, EtcdEvent::Work { token, step: Step::Done, life });
        }
    }

    /// Does what a request asks, or begins to; its client waits until `until`.
    pub(super) fn serve(&mut self, token: Token, op: Op, until: Time, ctx: &mut EtcdCtx<'_>) {
        let index = token.member;
        let max_bytes = self.options.max_request_bytes;
        let server = self.server_mut(index);
        if server.raft.conf_state.learners.contains(index) && !matches!(op, Op::Range { linearizable: false, .. }) {
            // "rpc not supported for learner" (`api/v3rpc/interceptor.go`).
            ctx.fx.answers.push((ctx.now, token, Answer::Unavailable));
            return;
        }
        match op {
            Op::Range { linearizable: false, .. } => self.read(token, ctx),
            Op::Range { linearizable: true, .. } => {
                server.reads.next.push(token);
                self.begin_read(index, ctx);
            }
            Op::Put { .. } | Op::Txn { .. } if codec::request_body(op) > max_bytes => {
                ctx.fx.answers.push((ctx.now, token, Answer::TooLarge));
            }
            _ => {
                let command = Command::of(op).expect("a write: a watch is attached, not asked");
                self.propose(token, command, until, ctx);
            }
        }
    }

    /// Reads from what this member has: in the line of what it applies, unless its cores are accounted for.
    pub(super) fn read(&mut self, token: Token, ctx: &mut EtcdCtx<'_>) {
        if self.members[token.member as usize].is_locked() {
            self.server_mut(token.member).backend.wait(token);
            return;
        }
        let at = if self.options.cost.is_none() {
            let apply = self.options.apply;
            let server = self.server_mut(token.member);
            server.apply_free = server.apply_free.max(ctx.now) + apply;
            let free = server.apply_free;
            self.tell_backlog(token.member, Part::Apply, free, ctx);
            free
        } else {
            ctx.now
        };
        self.done(at, token, ctx);
    }

    /// Attaches a watcher; whether a process is there that takes one (a learner does not).
    pub fn watch(&mut self, index: u8, client: ClientId) -> bool {
        let Some(server) = self.members[index as usize].process.server_mut() else { return false };
        if !server.serves_clients || server.raft.conf_state.learners.contains(index) {
            return false;
        }
        server.watchers.push(client);
        true
    }

    /// Takes a watcher away, if the process is still there.
    pub fn unwatch(&mut self, index: u8, client: ClientId) {
        if let Some(server) = self.members[index as usize].process.server_mut() {
            server.watchers.retain(|watcher| *watcher != client);
        }
    }

    /// Index of the last entry that a member, whose process serves, has applied.
    pub fn applied_at(&self, index: u8) -> u64 {
        self.server(index).expect("its process serves").raft.log.applied
    }

    /// What a member tells a watcher that knows everything up to the entry `seen`. Revisions are taken to be compacted when no member's
    /// log holds their entries any more.
    pub fn events_after(&self, index: u8, seen: u64, now: Time) -> Vec<Watched> {
        let Some(server) = self.server(index) else { return Vec::new() };
        let (member, at) = (self.members[index as usize].id, server.apply_free.max(now));
        let command = |entry: u64| {
            let in_place = self.members.iter().filter(|member| !member.displaced);
            let mut logs = in_place.filter_map(|member| member.process.server()).map(|server| &server.raft.log);
            let log = logs.find(|log| entry <= log.applied && log.get(entry).is_some())?;
            log.get(entry).map(|entry| entry.command)
        };
        let event = |entry: u64| {
            let command = command(entry).filter(|command| stored_bytes(*command) > 0)?;
            Some(Watched { at, member, index: entry, command, first_applied: self.first_applied(entry, now) })
        };
        let kept = self.members.iter().filter_map(|member| member.process.server()).map(|server| server.raft.log.first()).min();
        (kept.map_or(seen, |first| seen.max(first - 1)) + 1..=server.raft.log.applied).filter_map(event).collect()
    }

    /// Proposes a command at the member of the token.
    fn propose(&mut self, token: Token, command: Command, until: Time, ctx: &mut EtcdCtx<'_>) {
        let index = token.member;
        self.touch(ctx);
        let takes = self.takes_proposals(index, ctx.now);
        let command = if self.has_room(index, command) { command } else { Command::Alarm(index) };
        let server = self.server_mut(index);
        if !takes {
            ctx.fx.answers.push((ctx.now, token, Answer::TooManyRequests));
            let end = ctx.now + (self.options.apply * self.entries_behind(index, ctx.now)).max(LONG);
            self.tell_backlog(index, Part::TooFarBehind, end, ctx);
        } else if server.raft.lead.is_none() {
            // Who knows that there is no leader waits for one, as long as its client does.
            while server.waiting.front().is_some_and(|(until, ..)| *until <= ctx.now) {
                server.waiting.pop_front();
            }
            server.waiting.push_back((until, token, command));
        } else {
            server.raft.propose(ctx.now, token, command);
            self.after(index, ctx);
        }
    }

    /// Whether a member keeps up with what it has to apply: else it turns proposals away.
    pub(super) fn takes_proposals(&self, index: u8, now: Time) -> bool {
        self.entries_behind(index, now) <= MAX_APPLY_GAP
    }

    /// Entries that are committed, as a member knows, and that its apply loop has not come to.
    fn entries_behind(&self, index: u8, now: Time) -> u64 {
        let Some(server) = self.server(index) else { return 0 };
        let log = &server.raft.log;
        let at_work = server.apply_free.max(now).since(now).as_nanos().checked_div(self.options.apply.as_nanos());
        log.committed - log.applied + at_work.unwrap_or(0)
    }

    fn begin_read(&mut self, index: u8, ctx: &mut EtcdCtx<'_>) {
        if self.server_mut(index).reads.context != 0 {
            return;
        }
        self.touch(ctx);
        let member = &mut self.members[index as usize];
        member.read_rounds += 1;
        let context = (u64::from(index) + 1) << 48 | member.read_rounds;
        let server = member.process.server_mut().expect("its process serves");
        server.reads.current = std::mem::take(&mut server.reads.next);
        server.reads.context = context;
        server.reads.since = ctx.now;
        server.reads.index = None;
        self.ask_read_index(index, ctx);
    }

    fn ask_read_index(&mut self, index: u8, ctx: &mut EtcdCtx<'_>) {
        self.members[index as usize].cancel(ProcessTimer::ReadRetry);
        let server = self.server_mut(index);
        let context = server.reads.context;
        server.raft.read_index(ctx.now, context);
        self.after(index, ctx);
        // Most rounds are confirmed long before; their timers would fill the queue.
        if self.server(index).is_some_and(|server| server.reads.context == context) {
            self.members[index as usize].arm(ProcessTimer::ReadRetry, ctx.now + self.options.read_index_retry, ctx);
        }
    }

    /// Nobody confirmed the round in time: asks again, under the same number, until its requests have no time left.
    pub(super) fn retry_read(&mut self, index: u8, ctx: &mut EtcdCtx<'_>) {
        let reads = &self.server_mut(index).reads;
        if reads.context == 0 || reads.index.is_some() {
            return;
        }
        self.touch(ctx);
        let timeout = self.options.request_timeout;
        let server = self.server_mut(index);
        if ctx.now.since(server.reads.since) < timeout {
            self.ask_read_index(index, ctx);
            return;
        }
        for token in std::mem::take(&mut server.reads.current) {
            ctx.fx.answers.push((ctx.now, token, Answer::Unavailable));
        }
        self.next_read(index, ctx);
    }

    /// Raft has confirmed rounds: answers once what they saw is applied here.
    pub(super) fn reads_confirmed(&mut self, index: u8, ctx: &mut EtcdCtx<'_>) {
        let server = self.server_mut(index);
        for state in std::mem::take(&mut server.raft.out.read_states) {
            if state.context == server.reads.context {
                server.reads.index = Some(state.index);
            }
        }
        if server.reads.index.is_some_and(|wanted| wanted <= server.raft.log.applied) {
            self.finish_reads(index, ctx);
        }
    }

    /// Answers the round under way and begins the next.
    pub(super) fn finish_reads(&mut self, index: u8, ctx: &mut EtcdCtx<'_>) {
        for token in std::mem::take(&mut self.server_mut(index).reads.current) {
            self.read(token, ctx);
        }
        self.next_read(index, ctx);
    }

    fn next_read(&mut self, index: u8, ctx: &mut EtcdCtx<'_>) {
        let server = self.server_mut(index);
        server.reads.context = 0;
        server.reads.index = None;
        if !server.reads.next.is_empty() {
            self.begin_read(index, ctx);
        }
    }

    /// A member follows somebody else than before (or nobody).
    pub(super) fn leader_changed(&mut self, index: u8, ctx: &mut EtcdCtx<'_>) {
        let id = self.members[index as usize].id;
        let server = self.server_mut(index);
        let lead = server.raft.lead;
        server.seen = lead;
        let term = server.raft.term;
        ctx.record(EtcdRecord::LeaderSeen { member: id, term, leader: lead });
        ctx.fx.service_changed.push(id.cluster);
        if lead.is_none() {
            return;
        }
        // Reads in a round that the old leader may never answer fail; their clients ask again.
        let server = self.server_mut(index);
        if server.reads.context != 0 && server.reads.index.is_none() {
            for token in std::mem::take(&mut server.reads.current) {
                ctx.fx.answers.push((ctx.now, token, Answer::Unavailable));
            }
            self.next_read(index, ctx);
        }
        for (until, token, command) in std::mem::take(&mut self.server_mut(index).waiting) {
            if ctx.now < until {
                self.server_mut(index).raft.propose(ctx.now, token, command);
            }
        }
        self.serve_clients_if_published(index, ctx);
    }
}
