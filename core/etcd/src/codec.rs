//! Bytes of messages as etcd writes them on a peer stream.
//!
//! Source: `rafthttp/message_codec.go`, `rafthttp/msgappv2_codec.go` of etcd 3.4 and 3.5; what they frame is raft's own encoding
//! ([`encoding`](super::raft::encoding)). Each flush is one HTTP chunk.

use crate::raft::encoding::{GRANT, entries_bytes, proto_bytes, transaction_bytes};
use crate::raft::message::{Kind, Message};
use zonefall_network::ledger::Class;
use zonefall_network::wire::Burst;
use zonefall_scenario::Op;

/// The two streams to a peer.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Lane {
    /// Everything but appends.
    Message,
    /// Appends (`msgappv2`).
    Append,
}

/// Which stream carries a message.
pub const fn lane(kind: Kind) -> Lane {
    match kind {
        Kind::Append => Lane::Append,
        _ => Lane::Message,
    }
}

/// What a message is.
pub fn class(message: &Message) -> Class {
    match message.kind {
        Kind::Heartbeat | Kind::HeartbeatResponse if message.context == 0 => Class::Heartbeat,
        // Those that confirm reads come with the reads.
        Kind::Heartbeat | Kind::HeartbeatResponse | Kind::ReadIndex | Kind::ReadIndexResponse => Class::ReadIndex,
        Kind::Append | Kind::AppendResponse => Class::Append,
        Kind::Propose => Class::Proposal,
        Kind::Snapshot => Class::Snapshot,
        Kind::PreVote | Kind::PreVoteResponse | Kind::Vote | Kind::VoteResponse | Kind::TimeoutNow => Class::Vote,
    }
}

/// Bytes of what a client asks: keys and values.
pub fn request_body(op: Op) -> u64 {
    match op {
        Op::Put { key_bytes, value_bytes } => u64::from(key_bytes) + u64::from(value_bytes),
        Op::Txn { change, key_bytes, value_bytes } => transaction_bytes(change, key_bytes, value_bytes),
        Op::Grant(_) => GRANT,
        Op::Range { key_bytes, .. } | Op::Delete { key_bytes, .. } => 2 * u64::from(key_bytes),
        Op::Watch => 0,
    }
}

/// Bytes of an answer's body: header (30), and for a range each key and value with their revisions (20).
pub fn answer_body(op: Op) -> u64 {
    match op {
        Op::Range { keys, key_bytes, value_bytes, .. } => {
            30 + u64::from(keys) * (20 + u64::from(key_bytes) + u64::from(value_bytes))
        }
        Op::Put { .. } | Op::Txn { .. } | Op::Grant(_) | Op::Delete { .. } | Op::Watch => 30,
    }
}

/// Bytes of a message on its stream, without the chunk around it. `in_step` says that an append follows what the stream carried
/// last, as it does in a pipeline: then only what cannot be guessed is sent.
pub fn message_bytes(message: &Message, in_step: bool) -> u64 {
    match lane(message.kind) {
        Lane::Append if in_step => 1 + 8 + 8 + entries_bytes(message.index + 1, message.entries.alike(0), |bytes| 8 + bytes),
        Lane::Append => 1 + 8 + proto_bytes(message),
        Lane::Message => 8 + proto_bytes(message),
    }
}

/// How a message is written to its connection: most at once, what is over the server's buffer in two writes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Writes {
    /// Application bytes, chunks included.
    pub bytes: u64,
    /// How many of them a write of their own sends last; 0: none.
    pub last: u64,
}

impl Writes {
    /// The packets that carry it, and the pure ACKs that answer them.
    pub const fn wire(self, tls: bool) -> (Burst, Burst) {
        let front = Burst::of(self.bytes - self.last, tls);
        let tail = Burst::of(self.last, tls);
        if self.last == 0 { (front, front.acks()) } else { (front.and(tail), front.acks().and(tail.acks())) }
    }
}

/// The writes of a message. Go's `net/http` cuts a chunk when its buffer of 2,048 bytes is full; after a large entry the commit index
/// (8 bytes) is flushed by itself.
pub fn writes(message: &Message, in_step: bool) -> Writes {
    const BUFFER: u64 = 2_048;
    const COMMIT: u64 = 8;
    let bytes = message_bytes(message, in_step);
    if bytes <= BUFFER + COMMIT {
        Writes { bytes: chunked(bytes), last: 0 }
    } else if in_step && lane(message.kind) == Lane::Append {
        let last = chunked(COMMIT);
        Writes { bytes: chunked(BUFFER) + chunked(bytes - BUFFER - COMMIT) + last, last }
    } else {
        Writes { bytes: chunked(BUFFER) + chunked(bytes - BUFFER), last: 0 }
    }
}

/// An HTTP chunk around `bytes`: its length in hex and two line ends.
pub const fn chunked(bytes: u64) -> u64 {
    let hex_digits = (67 - (bytes | 1).leading_zeros() as u64) / 4;
    bytes + hex_digits + 4
}

/// POSTs to `/raft`, for which a peer has no stream. Their headers as Go and `rafthttp` write them (`createPostRequest`, `setPeerURLsHeader`).
pub mod post {
    use super::upkeep::{ANSWER as ANSWERED, QUESTION, fresh};
    use super::{Burst, Message, Writes, proto_bytes};

    /// `POST /raft`, host, agent, length and type, cluster, two versions, sender and its URLs.
    const HEADERS: u64 = 390;

    /// `204 No Content`, cluster and date.
    pub const ANSWER: u64 = 99;

    /// A request with a message.
    pub fn request(message: &Message) -> Writes {
        Writes { bytes: HEADERS + proto_bytes(message), last: 0 }
    }

    /// What either side sends to make a connection, and to end it: a fresh probe but for what it asks.
    pub fn handshake(tls: bool, certificate: u32) -> Burst {
        let Burst { packets, bytes } = fresh(tls, certificate);
        let asked = Burst::of(QUESTION, tls) + Burst::of(ANSWERED, tls);
        Burst { packets: (packets - asked.packets) / 2, bytes: (bytes - asked.bytes) / 2 }
    }
}

/// What a connected pair exchanges besides raft, per direction: each stream says every 5/3 s that it lives, and two probers ask for
/// `/raft/probing` every 4 s, one of them over a connection that it dials anew each time.
///
/// Sizes as captured from etcd 3.4.23 (`tests/measurements/README.md`).
pub mod upkeep {
    use zonefall_network::wire::{Burst, HEADERS, SEGMENT};

    /// One keep-alive of the message stream (an empty heartbeat in its chunk).
    const KEEP_ALIVE_MESSAGE: u64 = super::chunked(8 + 30);
    /// One keep-alive of the append stream.
    const KEEP_ALIVE_APPEND: u64 = super::chunked(1);
    /// `GET /raft/probing` with Go's headers.
    pub(super) const QUESTION: u64 = 107;
    /// Its answer: status, three headers and `{"OK":true,"Now":"..."}`.
    pub(super) const ANSWER: u64 = 168;
    /// A probe on a new connection, both sides' packets together: handshakes, question, answer, end.
    const FRESH: Burst = Burst { packets: 10, bytes: 952 };
    /// The same with TLS 1.3, but for the two flights that hold certificates. (As captured with certificates of 2,048 bits on both sides,
    /// some 850 B each: 15 packets, 4,640 B in all.)
    const FRESH_TLS: Burst = Burst { packets: 12, bytes: 1_706 };
    /// What else is in the server's flight: hello, extensions, request of a certificate, proof, end.
    const SERVER_FLIGHT: u64 = 643;
    /// And in the client's: proof, end.
    const CLIENT_FLIGHT: u64 = 393;

    /// Application bytes in 20 s (the least common multiple of the periods): 12 keep-alives of each kind, 10 questions and answers.
    pub const BYTES_PER_20S: u64 = 12 * (KEEP_ALIVE_MESSAGE + KEEP_ALIVE_APPEND) + 10 * (QUESTION + ANSWER);

    /// Messages in 20 s.
    pub const MESSAGES_PER_20S: u64 = 12 * 2 + 10 * 2;

    /// A probe on a new connection with TLS, both sides' packets together.
    pub(super) fn fresh_tls(certificate: u32) -> Burst {
        let flight = |rest: u64| {
            let payload = rest + u64::from(certificate);
            let packets = payload.div_ceil(SEGMENT);
            Burst { packets, bytes: payload + packets * HEADERS }
        };
        FRESH_TLS + flight(SERVER_FLIGHT) + flight(CLIENT_FLIGHT)
    }

    /// A probe on a new connection, both sides' packets together.
    pub(super) fn fresh(tls: bool, certificate: u32) -> Burst {
        if tls { fresh_tls(certificate) } else { FRESH }
    }

    /// The same on the wire, in one direction, with the ACKs of the other's; `certificate`: its bytes.
    pub fn wire_per_20s(tls: bool, certificate: u32) -> Burst {
        let kept = [(12, KEEP_ALIVE_MESSAGE), (12, KEEP_ALIVE_APPEND), (5, QUESTION), (5, ANSWER)];
        // Each side dials five times: together the two directions carry ten such connections, each direction half of every one.
        let fresh = fresh(tls, certificate) * 5;
        kept.iter().fold(fresh, |sum, &(count, bytes)| sum + (Burst::of(bytes, tls) + Burst::of(bytes, tls).acks()) * count)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use zonefall_network::wire::{Burst, HEADERS};

    #[test]
    fn a_chunk_has_its_length_in_hex() {
        assert_eq!([1, 15, 16, 255, 256].map(|bytes| chunked(bytes) - bytes), [5, 5, 6, 6, 7]);
    }

    #[test]
    fn a_fresh_probe_is_as_captured_and_grows_with_certificates() {
        let probe = |certificate| {
            let Burst { packets, bytes } = upkeep::fresh_tls(certificate);
            (packets, bytes)
        };
        assert_eq!(probe(850), (15, 4_640));
        // 500 B more on both sides need a packet more: the client's flight no longer fits one.
        assert_eq!(probe(1_350), (16, 4_640 + 2 * 500 + HEADERS));
    }
}
