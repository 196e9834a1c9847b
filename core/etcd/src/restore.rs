//! Restoration from the backup bucket: how far a cluster that moves is on its way, and what a disk holds once it is restored.
//! [`migration`](super::migration) moves the cluster.

use crate::database::Database;
use crate::disk::Persisted;
use crate::raft::ConfState;
use crate::raft::log::Log;
use zonefall_kernel::time::Duration;

/// How far a cluster is on its way.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum RestorePhase {
    /// Its clients, the API servers, are gone: nobody writes to it any more.
    Closed,
    /// All it has is in the backup bucket. `None`: it has no backup, and begins with nothing.
    BackedUp(Option<FullSnapshot>),
}

/// A full snapshot in the backup bucket.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct FullSnapshot {
    /// Bytes of the database.
    pub bytes: u64,
    /// How long it takes to restore it.
    pub takes: Duration,
}

/// What a disk holds that was restored from snapshots up to an entry of this term and hash.
pub(super) fn restored(index: u64, term: u64, chain: u64, database: Database) -> Persisted {
    Persisted {
        term,
        vote: None,
        log: Log::compacted(index, term, chain),
        conf_state: ConfState::default(),
        database,
        snapshot_index: index,
        timeouts_drawn: 0,
        has_wal: true,
    }
}
