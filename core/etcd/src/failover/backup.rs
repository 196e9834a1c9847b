//! Snapshots on their way to the backup bucket and from it: the member that serves uploads them, a hot standby applies them
//! (etcd-backup-restore).
//!
//! A member reaches the bucket while its machine runs and is not cut off. An upload or a restoration that is interrupted begins again
//! at the next occasion.

use crate::cluster::EtcdCluster;
use crate::ctx::EtcdCtx;
use crate::member::MemberState;
use crate::passive::bucket::{Applying, Bucket, Snapshot};
use crate::passive::{PassiveRecord, PassiveTimer};
use crate::record::EtcdRecord;
use crate::restore::restored;
use zonefall_kernel::periodic::Stepping;
use zonefall_kernel::time::{Duration, Time};

impl EtcdCluster {
    fn bucket_mut(&mut self) -> &mut Bucket {
        self.passive_mut().bucket.as_mut().expect("a hot standby has a bucket")
    }

    /// When the newest snapshot in the bucket was taken.
    pub(super) fn snapshot_taken(&self) -> Option<Time> {
        Some(self.passive.as_deref()?.bucket.as_ref()?.newest().taken)
    }

    /// The last index on a standby's disk.
    fn restored_to(&self, index: u8) -> Option<u64> {
        self.members[index as usize].disk.content.as_deref().map(|content| content.log.last())
    }

    /// Queues what is due next.
    pub(super) fn arm_backup(&mut self, ctx: &mut EtcdCtx<'_>) {
        let stepping = self.stepping;
        let other = self.passive_mut().other();
        let behind = self.restored_to(other);
        let Some(bucket) = &self.passive_mut().bucket else { return };
        let (delta, full, poll) = (bucket.deltas.after(ctx.now), bucket.fulls.after(ctx.now), bucket.polls.after(ctx.now));
        let news = behind != Some(bucket.newest().index) && bucket.applying.is_none() && bucket.ways[other as usize].now;
        self.arm(PassiveTimer::Delta, delta, ctx);
        self.arm(PassiveTimer::Full, full, ctx);
        if stepping == Stepping::EveryEvent || news {
            self.arm(PassiveTimer::Poll, poll, ctx);
        }
    }

    /// The member that serves takes a snapshot and begins to upload it. One that finds another under way waits for it, if it is a full
    /// one; what a delta would have held goes with the next.
    pub(super) fn snapshot_due(&mut self, full: bool, ctx: &mut EtcdCtx<'_>) {
        self.resume(ctx);
        self.enter_flow(ctx);
        let by = self.passive_mut().endpoint;
        if let Some((_, _, until)) = self.bucket_mut().uploading {
            if full {
                self.arm(PassiveTimer::Full, until.max(ctx.now + Duration::from_nanos(1)), ctx);
            }
            return;
        }
        let Some(server) = self.server(by).filter(|server| server.is_leader()) else { return };
        let (log, database) = (&server.raft.log, server.database);
        let index = log.applied;
        let (Some(term), Some(chain)) = (log.term(index), log.chain(index)) else { return };
        let lives = self.members[by as usize].lives;
        let bucket = self.bucket_mut();
        let last = bucket.newest();
        // A full snapshot is worth its while where only deltas hold what it would.
        if index < last.index || (index == last.index && (last.full || !full)) {
            return;
        }
        if !bucket.ways[by as usize].before(ctx.now) {
            ctx.record(EtcdRecord::Passive(self.id, PassiveRecord::NotUploaded { by, full }));
            return;
        }
        let bytes = if full { database.file_bytes } else { database.written.saturating_sub(last.database.written) };
        let snapshot = Snapshot { taken: ctx.now, arrived: ctx.now, full, index, term, chain, bytes, database };
        let until = ctx.now + Duration::of_transfer(bytes, bucket.spec.upload_bytes_per_s);
        bucket.uploading = Some((snapshot, lives, until));
        self.arm(PassiveTimer::Uploaded, until, ctx);
    }

    /// The process that uploads is no more the one that serves.
    pub(super) fn cancel_upload(&mut self) {
        if let Some(bucket) = &mut self.passive_mut().bucket {
            bucket.uploading = None;
            self.disarm(PassiveTimer::Uploaded);
        }
    }

    /// An upload ends: well, if its process ran and reached the bucket all the time.
    pub(super) fn uploaded(&mut self, ctx: &mut EtcdCtx<'_>) {
        let by = self.passive_mut().endpoint;
        let id = self.id;
        let lives = self.server(by).map(|_| self.members[by as usize].lives);
        let bucket = self.bucket_mut();
        let Some((snapshot, process, _)) = bucket.uploading.take() else { return };
        let Snapshot { full, index, bytes, taken, .. } = snapshot;
        let way = bucket.ways[by as usize];
        let unbroken = way.before(ctx.now) && (way.since <= taken || way.since == ctx.now);
        let fact = if lives == Some(process) && unbroken {
            bucket.put(Snapshot { arrived: ctx.now, ..snapshot });
            PassiveRecord::Uploaded { by, full, index, bytes }
        } else {
            PassiveRecord::NotUploaded { by, full }
        };
        ctx.record(EtcdRecord::Passive(id, fact));
    }

    /// The standby looks into the bucket, and applies what is new to it.
    pub(super) fn poll(&mut self, ctx: &mut EtcdCtx<'_>) {
        let other = self.passive_mut().other();
        let bucket = self.bucket_mut();
        // What arrives, or ends, at this very moment is seen the next time.
        let idle = bucket.ways[other as usize].before(ctx.now) && bucket.newest().arrived.max(bucket.busy_until) < ctx.now;
        if idle && self.members[other as usize].state == MemberState::Standby {
            self.begin_applying(other, ctx);
        }
    }

    /// Who takes over applies all the bucket holds before it serves.
    pub(super) fn restore(&mut self, ctx: &mut EtcdCtx<'_>) {
        let passive = self.passive_mut();
        let by = passive.endpoint;
        let waits = passive.switch.is_some_and(|switch| !switch.forked);
        let Some(bucket) = passive.bucket.as_ref().filter(|bucket| waits && bucket.ways[by as usize].now) else { return };
        if bucket.applying.is_some() {
            return;
        }
        let newest = bucket.newest().index;
        if self.restored_to(by) == Some(newest) {
            self.begin_restored(by, ctx);
        } else {
            self.begin_applying(by, ctx);
        }
    }

    fn begin_applying(&mut self, by: u8, ctx: &mut EtcdCtx<'_>) {
        let has = self.restored_to(by);
        let bucket = self.bucket_mut();
        let last = bucket.newest();
        if bucket.applying.is_some() || has == Some(last.index) {
            return;
        }
        let bytes = bucket.bytes_after(has);
        bucket.applying = Some(Applying { by, since: ctx.now, bytes, last });
        // A delta snapshot may hold no bytes. If it took no time, one that begins at the moment at which the bucket is reached again would
        // not count, and begin again at that moment, for ever.
        let takes = Duration::of_transfer(bytes, bucket.spec.restore_bytes_per_s).max(Duration::from_nanos(1));
        let due = ctx.now + takes;
        self.arm(PassiveTimer::Applied, due, ctx);
    }

    /// A standby has applied what it fetched, unless it, its disk or its way to the bucket was gone meanwhile.
    pub(super) fn snapshots_applied(&mut self, ctx: &mut EtcdCtx<'_>) {
        let id = self.id;
        let bucket = self.bucket_mut();
        let Some(Applying { by, since, bytes, last }) = bucket.applying.take() else { return };
        bucket.busy_until = ctx.now;
        let way = bucket.ways[by as usize];
        if !way.before(ctx.now) || (way.since > since && way.since != ctx.now) {
            return;
        }
        let Snapshot { index, term, chain, database, .. } = last;
        self.members[by as usize].disk.content = Some(Box::new(restored(index, term, chain, database)));
        ctx.record(EtcdRecord::Passive(id, PassiveRecord::Applied { by, index, bytes }));
        ctx.fx.service_changed.push(id);
    }
}
