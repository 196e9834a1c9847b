//! Bytes of a command where it is stored and where it is watched: what the database grows by, and what a watch receives.

use crate::database::{Database, Growth};
use crate::raft::encoding;
use crate::raft::entry::Command;
use zonefall_scenario::Change;

/// What a watch covers.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum WatchScope {
    /// All keys.
    All,
    /// An API server: of objects, with what they were.
    ApiServer,
}

/// Bytes a key and its value take in the database besides themselves: revision key, numbers, page overhead (assumed).
const DATABASE_OVERHEAD: u64 = 64;

/// What a command does to the database when it is applied. What supersedes nothing is what creates.
pub fn database_growth(command: Command) -> Growth {
    let own = stored_bytes(command) + DATABASE_OVERHEAD;
    let (grows, supersedes) = match command {
        Command::Empty | Command::Conf(_) | Command::Compact | Command::CompactAll | Command::Alarm(_) | Command::Disarm => {
            (0, 0)
        }
        Command::Grant(_) => (DATABASE_OVERHEAD, 0),
        Command::Revoke { grows, supersedes } => (grows.into(), supersedes.into()),
        Command::Delete { keys, .. } => {
            let tombstones = stored_bytes(command) + u64::from(keys) * DATABASE_OVERHEAD;
            (tombstones, tombstones)
        }
        Command::Put { .. } | Command::Txn { change: Change::Update | Change::Own, .. } => (own, own),
        Command::Txn { change: Change::Create | Change::Event, .. } => (own, 0),
        // Its tombstone goes, too.
        Command::Txn { change: Change::Delete, value_bytes, .. } => (own, 2 * own + u64::from(value_bytes)),
        Command::Flowing { grows, supersedes, .. } => (grows.into(), supersedes.into()),
    };
    Growth { grows, supersedes }
}

/// What the end of a lease does to the database that such a command granted, or a key of which it wrote; nothing for what has no lease.
/// (The lease's own record is deleted without a revision.)
pub fn expiry_growth(command: Command) -> Growth {
    let own = stored_bytes(command) + DATABASE_OVERHEAD;
    match command {
        Command::Grant(_) => Growth { grows: 0, supersedes: DATABASE_OVERHEAD },
        Command::Txn { change: Change::Event, key_bytes, .. } => {
            let tombstone = u64::from(key_bytes) + DATABASE_OVERHEAD;
            Growth { grows: tombstone, supersedes: own + tombstone }
        }
        _ => Growth::default(),
    }
}

/// What a command counts for when there is room for it or not (`storage/quota.go`, `Cost`): more than it takes. Deletes, compactions and
/// what ends leases count for nothing.
pub const fn quota_cost(command: Command) -> u64 {
    // `kvOverhead` and `leaseOverhead`.
    const KEY: u64 = 256;
    const LEASE: u64 = 64;
    match command {
        Command::Put { key_bytes, value_bytes }
        | Command::Txn { change: Change::Create | Change::Event | Change::Update | Change::Own, key_bytes, value_bytes } => {
            KEY + key_bytes as u64 + value_bytes as u64
        }
        Command::Flowing { request_bytes, .. } => KEY + request_bytes as u64,
        Command::Grant(_) => LEASE,
        Command::Empty
        | Command::Txn { change: Change::Delete, .. }
        | Command::Delete { .. }
        | Command::Revoke { .. }
        | Command::Conf(_)
        | Command::Compact
        | Command::CompactAll
        | Command::Alarm(_)
        | Command::Disarm => 0,
    }
}

/// Whether a file is so large that there is no room for any key.
pub const fn is_full(file_bytes: u64, quota_bytes: u64) -> bool {
    file_bytes + quota_cost(Command::Put { key_bytes: 0, value_bytes: 0 }) >= quota_bytes
}

/// Takes back what a command, the last that was applied, has done to a database and what never reached the file.
pub fn revert(database: &mut Database, command: Command) {
    match command {
        Command::Alarm(_) => database.no_space = false,
        Command::Disarm => database.no_space = true,
        _ if database.no_space && quota_cost(command) > 0 => {}
        _ => database.take_back(database_growth(command)),
    }
}

/// Bytes of a command in the log, encoded as a request.
pub fn logged_bytes(command: Command) -> u64 {
    encoding::request_bytes(command)
}

/// Bytes of the keys and values that a command stores, which is what a watch of all keys receives.
pub fn stored_bytes(command: Command) -> u64 {
    match command {
        // What flows is told at a rate, too.
        Command::Empty
        | Command::Conf(_)
        | Command::Grant(_)
        | Command::Revoke { .. }
        | Command::Compact
        | Command::CompactAll
        | Command::Alarm(_)
        | Command::Disarm
        | Command::Flowing { .. } => 0,
        Command::Delete { keys, key_bytes } => u64::from(keys) * u64::from(key_bytes),
        Command::Txn { change: Change::Delete, key_bytes, .. } => key_bytes.into(),
        Command::Put { key_bytes, value_bytes } | Command::Txn { key_bytes, value_bytes, .. } => {
            u64::from(key_bytes) + u64::from(value_bytes)
        }
    }
}

/// Bytes of what a command tells a watch.
pub fn event_bytes(command: Command, by: WatchScope) -> u64 {
    let now = stored_bytes(command);
    match (by, command) {
        (WatchScope::All, _) => now,
        (WatchScope::ApiServer, Command::Txn { change, key_bytes, value_bytes }) => match change {
            Change::Own | Change::Event => 0,
            Change::Create => now,
            // As it was comes with it (`WithPrevKV`, `storage/etcd3/watcher.go`).
            Change::Update | Change::Delete => now + u64::from(key_bytes) + u64::from(value_bytes),
        },
        // What others write is nothing that API servers know of.
        (WatchScope::ApiServer, _) => 0,
    }
}
