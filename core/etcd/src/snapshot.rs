//! Databases on their way to followers whose next entry was compacted away (`rafthttp/snapshot_sender.go`).
//!
//! A transfer has a connection of its own. It moves in steps of 100 ms at the speed of the path, of the slower disk, or of what it may have
//! of the sender's network card ([`card`](zonefall_network::card)), whichever is least; transfers between the same two zones share the path
//! evenly.

use crate::cluster::EtcdCluster;
use crate::ctx::EtcdCtx;
use crate::event::EtcdEvent;
use crate::member::Behind;
use crate::peer::Transfer;
use crate::raft::message::Message;
use crate::record::EtcdRecord;
use zonefall_kernel::time::{Duration, Time};
use zonefall_network::card::STEP;
use zonefall_network::ledger::Class;
use zonefall_network::stream::READ_TIMEOUT;
use zonefall_network::wire::Burst;

/// After a database was sent, its sender compacts nothing for so long (`releaseDelayAfterSnapshot`).
const RELEASE_DELAY: Duration = Duration::from_secs(30);

impl EtcdCluster {
    /// Begins to send a database, or tells raft that it cannot be sent.
    pub(super) fn begin_transfer(&mut self, mut message: Message, ctx: &mut EtcdCtx<'_>) {
        let (from, to) = (message.from, message.to);
        let under_way = self.transfers.iter().any(|transfer| transfer.from == from && transfer.to == to);
        let open = ctx.net.is_open(self.host(from), self.host(to)) && self.server(to).is_some();
        let server = self.server_mut(from);
        if under_way || !open {
            server.raft.snapshot_sent(to, false);
            return;
        }
        let snapshot = Self::snapshot_of(server);
        let bytes = snapshot.database.file_bytes;
        message.snapshot = Some(Box::new(snapshot));
        let ids = (self.members[from as usize].id, self.members[to as usize].id);
        ctx.record(EtcdRecord::SnapshotStarted { from: ids.0, to: ids.1, bytes });
        self.transfers_begun = self.transfers_begun.wrapping_add(1);
        let number = self.transfers_begun;
        self.transfers.push(Transfer { from, to, message, left: bytes, number, stalled_since: None, lease: None });
        self.ledger.add(Class::Snapshot, 1, 0, Burst::default());
        self.step_transfer(self.transfers.len() - 1, ctx);
        ctx.fx.service_changed.push(self.id);
    }

    /// Whether a member turns away who has seen more than it has: it lacks more entries than leaders keep for such members, or is being
    /// sent the database already. (GEP-20, "Ingress/Egress Traffic Analysis": a follower that is not in sync rejects the call.)
    pub fn lags(&self, index: u8) -> bool {
        let server = self.server(index);
        let behind = server.and_then(|server| Some(server.behind?.until.saturating_sub(server.raft.log.applied)));
        let far = behind.is_some_and(|entries| entries > self.options.catch_up_entries);
        far || self.transfers.iter().any(|transfer| transfer.to == index)
    }

    /// A member lacks this many entries, the last of them at `until`.
    pub(super) fn fell_behind(&mut self, index: u8, until: u64, entries: u64, now: Time) {
        self.server_mut(index).behind = Some(Behind { since: now, until, entries, bytes: 0 });
    }

    /// A step is due.
    pub(super) fn chunk(&mut self, number: u32, ctx: &mut EtcdCtx<'_>) {
        let Some(place) = self.transfers.iter().position(|transfer| transfer.number == number) else { return };
        let Transfer { from, to, left, stalled_since, .. } = self.transfers[place];
        if left == 0 && stalled_since.is_none() && !self.is_paused(from) && !self.is_paused(to) {
            self.finish_transfer(place, true, ctx);
        } else {
            self.step_transfer(place, ctx);
        }
    }

    fn step_transfer(&mut self, place: usize, ctx: &mut EtcdCtx<'_>) {
        let Transfer { from, to, left, number, stalled_since, .. } = self.transfers[place];
        let (a, b) = (self.host(from), self.host(to));
        if !ctx.net.is_open(a, b) || self.is_paused(from) || self.is_paused(to) {
            self.transfers[place].lease.take().into_iter().for_each(|lease| ctx.cards.release(lease));
            let since = *self.transfers[place].stalled_since.get_or_insert(ctx.now);
            if ctx.now.since(since) >= READ_TIMEOUT {
                self.finish_transfer(place, false, ctx);
            } else {
                ctx.schedule(ctx.now + STEP, self.id, EtcdEvent::Chunk(number));
            }
            return;
        }
        if stalled_since.is_some() {
            self.transfers[place].stalled_since = None;
        }
        let zones = |x, y| (ctx.net.zone(x), ctx.net.zone(y));
        let sharing =
            self.transfers.iter().filter(|other| zones(self.host(other.from), self.host(other.to)) == zones(a, b)).count();
        let path = ctx.net.path(a, b);
        let disks = self.members[from as usize].disk.bytes_per_s().min(self.members[to as usize].disk.bytes_per_s());
        let wanted = (path.bytes_per_s / sharing as u64).min(disks).max(1);
        let per_s = if a == b { wanted } else { ctx.cards.lease(ctx.net, a, ctx.now, wanted, &mut self.transfers[place].lease) };
        let bytes = left.min((u128::from(per_s) * u128::from(STEP.as_nanos()) / 1_000_000_000) as u64).max(1).min(left);
        let burst = Burst::of(bytes, ctx.net.tls);
        let index = self.stream_index(from, to);
        self.ledger.add(Class::Snapshot, 0, bytes, burst + burst.bulk_acks());
        self.meter(index, ctx.now, bytes, burst, burst.bulk_acks());
        self.transfers[place].left -= bytes;
        let mut due = ctx.now + Duration::of_transfer(bytes, per_s);
        if self.transfers[place].left == 0 {
            due += ctx.net.typical(a, b);
        }
        ctx.schedule(due, self.id, EtcdEvent::Chunk(number));
    }

    fn finish_transfer(&mut self, place: usize, ok: bool, ctx: &mut EtcdCtx<'_>) {
        let Transfer { from, to, message, lease, .. } = self.transfers.remove(place);
        if let Some(lease) = lease {
            ctx.cards.release(lease);
        }
        let ids = (self.members[from as usize].id, self.members[to as usize].id);
        ctx.record(EtcdRecord::SnapshotFinished { from: ids.0, to: ids.1, ok });
        if ok {
            let snapshot = message.snapshot.clone().expect("a transfer carries a snapshot");
            let before = self.server(to).map(|server| server.raft.log.applied);
            if let Some(behind) = self.members[to as usize].process.server_mut().and_then(|server| server.behind.as_mut()) {
                behind.bytes += snapshot.database.file_bytes;
            }
            self.receive(message, ctx);
            if let Some(server) = self.members[to as usize].process.server_mut()
                && server.raft.log.first() == snapshot.index + 1
            {
                server.database = snapshot.database;
                server.snapshot_index = snapshot.index;
                let members = server.raft.conf_state.members();
                members.iter().for_each(|other| self.meet(to, other, ctx));
                self.tell_quota_if_reached(to, ctx);
                self.applied(to, ctx);
                let news = before.map_or_else(Vec::new, |before| self.events_after(to, before, ctx.now));
                ctx.fx.watched.extend(news);
            }
        }
        if let Some(server) = self.members[from as usize].process.server_mut() {
            if ok {
                server.keeps_entries_until = ctx.now + RELEASE_DELAY;
            }
            server.raft.snapshot_sent(to, ok);
            self.after(from, ctx);
        }
        ctx.fx.service_changed.push(self.id);
    }

    /// A process at one end of transfers is gone.
    pub(super) fn abort_transfers(&mut self, gone: u8, ctx: &mut EtcdCtx<'_>) {
        while let Some(place) = self.transfers.iter().position(|transfer| transfer.from == gone || transfer.to == gone) {
            self.finish_transfer(place, false, ctx);
        }
    }
}
