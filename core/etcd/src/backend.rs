//! The database on the volume: what is applied is committed in batches (`mvcc/backend/backend.go`, `bbolt`).
//!
//! ```text
//!  apply, apply, ... --interval or limit--> commit: shares the volume with the log, then syncs --> apply what has waited
//! ```
//!
//! Each byte is written twice, to the log and to the database: a stream of large values has half the volume. And while a commit holds
//! the lock, nothing is applied and nothing read.

use crate::cluster::{EtcdCluster, EtcdCtx};
use crate::event::EtcdEvent;
use crate::raft::log::{Command, Token};
use crate::ready::database_growth;
use crate::volume::Lane;
use zonefall_kernel::periodic::Periodic;
use zonefall_kernel::time::Time;

/// What a process has applied and not committed.
#[derive(Clone, Debug)]
pub struct Backend {
    /// Bytes written since the last commit.
    dirty: u64,
    /// Writes since the last commit.
    operations: u32,
    /// The timer was last set.
    since: Time,
    /// Generation of the timer that is queued.
    timer: Option<u32>,
    /// Generation of the end of the commit under way.
    commit: Option<u32>,
    /// Reads that wait for its end.
    waiting: Vec<Token>,
}

impl Backend {
    /// Of a process that starts now.
    pub fn new(now: Time) -> Self {
        Self { dirty: 0, operations: 0, since: now, timer: None, commit: None, waiting: Vec::new() }
    }

    /// A commit is under way: nothing is applied or read.
    pub fn is_locked(&self) -> bool {
        self.commit.is_some()
    }

    /// This timer is the one that counts.
    pub fn is_due(&self, timer: u32) -> bool {
        self.timer == Some(timer)
    }

    /// This is the end of the commit under way.
    pub fn ends(&self, commit: u32) -> bool {
        self.commit == Some(commit)
    }

    /// A read comes while it is locked.
    pub fn wait(&mut self, token: Token) {
        self.waiting.push(token);
    }

    /// A command was applied.
    pub fn applied(&mut self, command: Command) {
        let bytes = database_growth(command);
        self.dirty += bytes;
        self.operations += u32::from(bytes > 0);
    }
}

impl EtcdCluster {
    /// After something was applied: commits if that is due, or sees to it that it will be.
    pub(super) fn commit_or_wait(&mut self, index: u8, ctx: &mut EtcdCtx<'_>) {
        let Some(options) = self.options.backend else { return };
        let id = self.id;
        let member = &mut self.members[index as usize];
        let Some(server) = member.process.server_mut() else { return };
        let backend = &mut server.backend;
        if backend.operations >= options.limit {
            self.commit(index, ctx);
        } else if backend.operations > 0 && backend.timer.is_none() {
            member.generation += 1;
            backend.timer = Some(member.generation);
            let rings = Periodic::new(backend.since, options.interval).after(ctx.now);
            ctx.schedule(rings, id, EtcdEvent::Commit(index, member.generation));
        }
    }

    /// The timer rings.
    pub(super) fn commit_due(&mut self, index: u8, generation: u32, ctx: &mut EtcdCtx<'_>) {
        if self.server(index).is_some_and(|server| server.backend.is_due(generation)) {
            self.commit(index, ctx);
        }
    }

    fn commit(&mut self, index: u8, ctx: &mut EtcdCtx<'_>) {
        let Some(options) = self.options.backend else { return };
        let id = self.id;
        let member = &mut self.members[index as usize];
        let generation = member.next_generation();
        let server = member.process.server_mut().expect("its process serves");
        let backend = &mut server.backend;
        backend.timer = None;
        backend.operations = 0;
        backend.commit = Some(generation);
        let (transfer, sync) = member.disk.commit(std::mem::take(&mut backend.dirty), options.syncs);
        server.writes.begin(ctx.now, Lane::Database, transfer, sync);
        ctx.schedule(server.writes.end(Lane::Database), id, EtcdEvent::Committed(index, generation));
        if server.writes.transfers(Lane::Log) {
            self.write_moves(index, ctx);
        }
    }

    /// The log has begun to be written: a commit that is still being transferred ends later.
    pub(super) fn commit_moves(&mut self, index: u8, ctx: &mut EtcdCtx<'_>) {
        let id = self.id;
        let member = &mut self.members[index as usize];
        let generation = member.next_generation();
        let server = member.process.server_mut().expect("its process serves");
        if server.backend.commit.is_some() && server.writes.transfers(Lane::Database) {
            server.backend.commit = Some(generation);
            ctx.schedule(server.writes.end(Lane::Database), id, EtcdEvent::Committed(index, generation));
        }
    }

    /// A commit is on the disk: what has waited goes on.
    pub(super) fn committed(&mut self, index: u8, generation: u32, ctx: &mut EtcdCtx<'_>) {
        let Some(server) = self.members[index as usize].process.server_mut() else { return };
        let backend = &mut server.backend;
        if backend.commit.take_if(|commit| *commit == generation).is_none() {
            return;
        }
        backend.since = ctx.now;
        let log = &server.raft.log;
        let behind = log.applied < log.committed;
        for token in std::mem::take(&mut backend.waiting) {
            self.read(token, ctx);
        }
        if behind {
            self.after(index, ctx);
        }
    }
}
