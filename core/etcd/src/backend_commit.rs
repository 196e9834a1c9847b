//! When a member commits its backend: after a number of writes or an interval, beside the log on the same volume.

use crate::cluster::EtcdCluster;
use crate::ctx::EtcdCtx;
use crate::event::ProcessTimer;
use crate::member::Server;
use crate::record::Part;
use crate::volume::Lane;
use zonefall_kernel::periodic::Periodic;
use zonefall_kernel::time::Time;

impl EtcdCluster {
    /// After something was applied: commits if that is due, or sees to it that it will be.
    pub(super) fn commit_or_wait(&mut self, index: u8, ctx: &mut EtcdCtx<'_>) {
        let Some(options) = self.options.backend else { return };
        let member = &mut self.members[index as usize];
        let Some(Server { backend, .. }) = member.process.server() else { return };
        if backend.operations >= options.limit {
            self.commit(index, ctx);
        } else if backend.operations > 0 && !member.is_armed(ProcessTimer::Commit) {
            let rings = Periodic::new(backend.since, options.interval).after(ctx.now);
            member.arm(ProcessTimer::Commit, rings, ctx);
        }
    }

    /// Begins to commit what is applied.
    pub(super) fn commit(&mut self, index: u8, ctx: &mut EtcdCtx<'_>) {
        let member = &self.members[index as usize];
        if member.is_locked() {
            // It is being rewritten, and what was applied with it.
            return;
        }
        let dirty = member.process.server().expect("its process serves").backend.dirty;
        let end = self.write_database(index, dirty, ctx);
        self.tell_backlog(index, Part::Database, end, ctx);
    }

    /// Begins to write so much to the file of a database, which is locked until then; what was applied and not committed is in it.
    pub(super) fn write_database(&mut self, index: u8, bytes: u64, ctx: &mut EtcdCtx<'_>) -> Time {
        let syncs = self.options.backend.map_or(1, |options| options.syncs);
        let member = &mut self.members[index as usize];
        member.cancel(ProcessTimer::Commit);
        let server = member.process.server_mut().expect("its process serves");
        (server.backend.operations, server.backend.dirty) = (0, 0);
        let work = member.disk.commit(bytes, syncs);
        server.writes.begin(ctx.now, Lane::Database, work, member.disk.slowdown());
        let (end, shares) = (server.writes.end(Lane::Database), server.writes.transfers(Lane::Log));
        member.arm(ProcessTimer::Committed, end, ctx);
        if shares {
            self.write_moves(index, ctx);
        }
        end
    }

    /// The end of a commit has moved: the log has begun to be written, or the disk has another speed.
    pub(super) fn commit_moves(&mut self, index: u8, ctx: &mut EtcdCtx<'_>) {
        let member = &mut self.members[index as usize];
        if member.is_locked() {
            let end = member.process.server().expect("its process serves").writes.end(Lane::Database);
            member.arm(ProcessTimer::Committed, end, ctx);
            if !self.members[index as usize].is_defragmenting() {
                self.tell_backlog(index, Part::Database, end, ctx);
            }
        }
    }

    /// A commit is on the disk: what has waited goes on.
    pub(super) fn committed(&mut self, index: u8, ctx: &mut EtcdCtx<'_>) {
        self.defragmented(index, ctx);
        if std::mem::take(&mut self.server_mut(index).backend.defragments_next) {
            self.begin_defragmenting(index, ctx);
            return;
        }
        let server = self.server_mut(index);
        let backend = &mut server.backend;
        backend.since = ctx.now;
        let log = &server.raft.log;
        let behind = log.applied < log.committed;
        for token in std::mem::take(&mut backend.waiting) {
            self.read(token, ctx);
        }
        if behind {
            self.apply(index, ctx);
            if self.server(index).is_some() {
                self.after(index, ctx);
            }
        }
    }
}
