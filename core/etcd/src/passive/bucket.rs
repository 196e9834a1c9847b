//! The backup bucket of a hot standby: the snapshots in it, and what is under way to it and from it (etcd-backup-restore).
//!
//! The bucket outlives every zone. It holds the last full snapshot and the delta snapshots since.

use super::Seen;
use crate::database::Database;
use zonefall_kernel::periodic::Periodic;
use zonefall_kernel::time::{Duration, Time};
use zonefall_scenario::{Backup, EtcdClusterSpec};

/// The bucket, and what is under way to it and from it.
#[derive(Clone, Debug)]
pub(crate) struct Bucket {
    pub(crate) spec: Backup,
    pub(crate) deltas: Periodic,
    pub(crate) fulls: Periodic,
    pub(crate) polls: Periodic,
    /// A full snapshot and the deltas since, in order.
    snapshots: Vec<Snapshot>,
    /// By the process (its member's number of lives), until then.
    pub(crate) uploading: Option<(Snapshot, u64, Time)>,
    pub(crate) applying: Option<Applying>,
    /// The standby has been busy, or none, until then.
    pub(crate) busy_until: Time,
    /// Whether each member reaches the bucket.
    pub(crate) ways: [Seen; 2],
}

/// A snapshot: what the database held at an index.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Snapshot {
    pub(crate) taken: Time,
    pub(crate) arrived: Time,
    pub(crate) full: bool,
    pub(crate) index: u64,
    pub(crate) term: u64,
    pub(crate) chain: u64,
    pub(crate) bytes: u64,
    pub(crate) database: Database,
}

/// A standby applies the snapshots up to this one.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Applying {
    pub(crate) by: u8,
    pub(crate) since: Time,
    pub(crate) bytes: u64,
    pub(crate) last: Snapshot,
}

impl Bucket {
    /// With a full snapshot of what the cluster holds at the start.
    pub(super) fn new(spec: Backup, cluster: &EtcdClusterSpec, phase: impl Fn(u64, Duration) -> Periodic) -> Self {
        let (index, bytes) = (cluster.first_index(), cluster.database_bytes);
        let (taken, arrived, full) = (Time::ZERO, Time::ZERO, true);
        let first = Snapshot {
            taken,
            arrived,
            full,
            index,
            term: u64::from(index > 0),
            // As in `initial_content`: what everybody has at the start.
            chain: index,
            bytes,
            database: Database::new(bytes),
        };
        Self {
            spec,
            deltas: phase(1, spec.delta_period),
            fulls: phase(2, spec.full_period),
            polls: phase(3, spec.poll_period),
            snapshots: vec![first],
            uploading: None,
            applying: None,
            busy_until: Time::ZERO,
            ways: [Seen::new(true); 2],
        }
    }

    /// Whether each member reaches the bucket now.
    pub(crate) fn see(&mut self, ways: [bool; 2], at: Time) {
        for (way, now) in self.ways.iter_mut().zip(ways) {
            way.update(now, at);
        }
    }

    /// A standby begins to stand by.
    pub(crate) const fn found_standby(&mut self, at: Time) {
        self.busy_until = at;
    }

    /// Everything up to the newest.
    pub(crate) fn newest(&self) -> Snapshot {
        *self.snapshots.last().expect("a bucket holds a full snapshot")
    }

    /// Bytes of what is newer than `index`: of all, where a full snapshot is.
    pub(crate) fn bytes_after(&self, index: Option<u64>) -> u64 {
        let newer = |snapshot: &&Snapshot| index.is_none_or(|index| snapshot.index > index);
        self.snapshots.iter().filter(newer).map(|snapshot| snapshot.bytes).sum()
    }

    pub(crate) fn put(&mut self, snapshot: Snapshot) {
        if snapshot.full {
            self.snapshots.clear();
        }
        self.snapshots.push(snapshot);
    }
}
