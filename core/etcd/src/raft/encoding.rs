//! Bytes of entries and messages in raft's own encoding, with etcd's requests in them.
//!
//! Source: `raftpb/raft.proto` and `etcdserverpb/raft_internal.proto` of etcd 3.4 and 3.5. Proto fields that are not pointers there
//! are always encoded, even when zero. Raft limits an append by these bytes, the disk writes them, and peer streams frame them.

use super::batch::Alike;
use super::entry::{Command, Entry};
use super::message::{Kind, Message};
use zonefall_scenario::Change;

/// Length of a varint.
const fn varint(value: u64) -> u64 {
    (70 - (value | 1).leading_zeros() as u64) / 7
}

/// A length-delimited field of one tag byte.
const fn field(bytes: u64) -> u64 {
    1 + varint(bytes) + bytes
}

/// Two random 64-bit member ids with their tags: nine or ten bytes each with equal chance.
const FROM_AND_TO: u64 = 21;

/// Bytes of an encoded request (`InternalRaftRequest`) for `command`: header with its random id, then the operation.
pub(crate) fn request_bytes(command: Command) -> u64 {
    const HEADER: u64 = 12;
    match command {
        Command::Empty => 0,
        Command::Put { key_bytes, value_bytes } => HEADER + field(field(u64::from(key_bytes)) + field(u64::from(value_bytes))),
        Command::Txn { change, key_bytes, value_bytes } => HEADER + field(transaction_bytes(change, key_bytes, value_bytes)),
        Command::Grant(_) => HEADER + field(GRANT),
        Command::Revoke { .. } => HEADER + field(REVOCATION),
        // The key, or the range's first and last, whatever lies between.
        Command::Delete { keys, key_bytes } => HEADER + field(u64::from(keys.min(2)) * field(u64::from(key_bytes))),
        Command::Flowing { request_bytes, .. } => request_bytes.into(),
        Command::Compact | Command::CompactAll => HEADER + field(COMPACTION),
        Command::Alarm(_) | Command::Disarm => HEADER + field(ALARM),
        // Id, type, member id and the member as JSON with its URLs.
        Command::Conf(_) => 200,
    }
}

/// Bytes of `etcdserverpb.LeaseGrantRequest`: a time to live, and an id of 64 bits.
pub(crate) const GRANT: u64 = 12;

/// Bytes of `etcdserverpb.LeaseRevokeRequest`: an id of 64 bits.
const REVOCATION: u64 = 10;

/// Bytes of `etcdserverpb.CompactionRequest`: a revision.
const COMPACTION: u64 = 6;

/// Bytes of `etcdserverpb.AlarmRequest`: an action, a member's id of 64 bits, and which alarm.
const ALARM: u64 = 14;

/// Bytes of `etcdserverpb.TxnRequest` as API servers write (apiserver `storage/etcd3/store.go`): key and revision are compared, the object
/// is put or deleted, and where the comparison fails the key is read (not of a new object); 9 B of tags and lengths each.
pub(crate) fn transaction_bytes(change: Change, key_bytes: u32, value_bytes: u32) -> u64 {
    let part = u64::from(key_bytes) + 9;
    match change {
        Change::Create | Change::Event => 2 * part + u64::from(value_bytes),
        Change::Update | Change::Own => 3 * part + u64::from(value_bytes),
        Change::Delete => 3 * part,
    }
}

/// Bytes of `raftpb.Entry`: type, term, index and data.
pub(crate) fn entry_bytes(entry: &Entry, index: u64) -> u64 {
    let data = request_bytes(entry.command);
    let data = if data == 0 { 0 } else { field(data) };
    2 + 1 + varint(entry.term) + 1 + varint(index) + data
}

/// Parts of a run whose entries have the same size: number of entries, and bytes of each. The first entry has this `index`; a larger index
/// takes more bytes.
pub(crate) fn entry_sizes(alike: Alike, index: u64) -> impl Iterator<Item = (u64, u64)> {
    let (mut next, end) = (index, index + alike.count);
    std::iter::from_fn(move || {
        let of_this_length = 1_u64.checked_shl(7 * varint(next) as u32).unwrap_or(u64::MAX);
        let count = of_this_length.min(end).checked_sub(next).filter(|count| *count > 0)?;
        let each = entry_bytes(&alike.first, next);
        next += count;
        Some((count, each))
    })
}

/// Bytes of entries with their framing. The first entry has this `index`; `around` adds the framing to the bytes of an entry.
pub(crate) fn entries_bytes(mut index: u64, entries: impl Iterator<Item = Alike>, around: impl Fn(u64) -> u64) -> u64 {
    let bytes = entries.map(|alike| {
        let sizes = entry_sizes(alike, index).map(|(count, each)| count * around(each));
        index += alike.count;
        sizes.sum::<u64>()
    });
    bytes.sum()
}

/// Bytes of `raftpb.Message`.
pub(crate) fn proto_bytes(message: &Message) -> u64 {
    let entries = entries_bytes(message.index + 1, message.entries.alike(0), field);
    let context = match message.kind {
        // Carried as the only entry of the message.
        Kind::ReadIndex | Kind::ReadIndexResponse => field(6 + field(8)),
        _ if message.context != 0 => field(8),
        _ => 0,
    };
    let numbers = [message.term, message.log_term, message.index, message.commit, message.hint];
    let numbers: u64 = numbers.iter().map(|&number| 1 + varint(number)).sum();
    const TYPE_REJECT_AND_EMPTY_SNAPSHOT: u64 = 2 + 2 + 12;
    TYPE_REJECT_AND_EMPTY_SNAPSHOT + FROM_AND_TO + numbers + entries + context
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::raft::entry::Token;

    #[test]
    fn varints_have_seven_bits_a_byte() {
        assert_eq!([0, 127, 128, 16_383, 16_384, u64::MAX].map(varint), [1, 1, 2, 2, 3, 10]);
    }

    #[test]
    fn a_run_has_the_bytes_of_its_entries() {
        let command = Command::Flowing { request_bytes: 300, grows: 400, supersedes: 400 };
        let first = Entry { term: 200, chain: 7, token: Token::NONE, command };
        for (index, count) in [(1, 1), (100, 27), (100, 28), (120, 20_000), (16_383, 2), (2_097_000, 1_000), (u64::MAX - 5, 5)] {
            let alike = Alike { first, count };
            let one_by_one: u64 = (index..index + count).map(|index| field(entry_bytes(&first, index))).sum();
            assert_eq!(entries_bytes(index, std::iter::once(alike), field), one_by_one, "{count} from {index} on");
            assert_eq!(entry_sizes(alike, index).map(|(count, _)| count).sum::<u64>(), count);
        }
    }
}
