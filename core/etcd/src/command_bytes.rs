//! Bytes of a command where it is stored and where it is watched: what the database grows by, and what a watch receives.

use crate::raft::log::Command;
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

/// Bytes the database grows by when a command is applied.
pub(crate) fn database_growth(command: Command) -> u64 {
    match command {
        Command::Empty | Command::Conf(_) => 0,
        Command::Grant => DATABASE_OVERHEAD,
        Command::Delete { keys, .. } => stored_bytes(command) + u64::from(keys) * DATABASE_OVERHEAD,
        Command::Put { .. } | Command::Txn { .. } => stored_bytes(command) + DATABASE_OVERHEAD,
    }
}

/// Bytes of the keys and values that a command stores, which is what a watch of all keys receives.
pub fn stored_bytes(command: Command) -> u64 {
    match command {
        Command::Empty | Command::Conf(_) | Command::Grant => 0,
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
            Change::Own => 0,
            Change::Create => now,
            // As it was comes with it (`WithPrevKV`, `storage/etcd3/watcher.go`).
            Change::Update | Change::Delete => now + u64::from(key_bytes) + u64::from(value_bytes),
        },
        // What others write is nothing that API servers know of.
        (WatchScope::ApiServer, _) => 0,
    }
}
