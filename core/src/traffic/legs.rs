//! What one operation sends, and between whom: from the layout of its messages alone, as the engine lays them out one by one.
//!
//! ```text
//!           write                                    linearizable read
//!  server -- request --> target                      server -- request --> target
//!           target -- proposal --> leader*                    target -- read index --> leader*
//!           leader -- entry --> each other                    leader -- heartbeat --> each other
//!           each other -- acknowledged --> leader             each other -- heartbeat --> leader
//!           leader -- committed --> each other                leader -- read index --> target*
//!           each other -- acknowledged --> leader
//!  target -- answer --> server                       target -- answer --> server         (* where the target does not lead)
//! ```

use crate::client::GRPC_OVERHEAD;
use crate::etcd::codec;
use crate::etcd::command_bytes::{WatchScope, database_growth, event_bytes, expiry_growth, logged_bytes, stored_bytes};
use crate::etcd::raft::entry::{Command, Entry, Token};
use crate::etcd::raft::message::{Kind, Message};
use crate::etcd::write_rate::Writes;
use crate::network::ledger::{Class, Volume};
use crate::network::wire::Burst;
use crate::scenario::Op;

/// A part in an operation.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Part {
    /// Who asks an API server.
    Caller,
    /// The API server that is asked, and asks etcd.
    Server,
    /// The member that it asks.
    Target,
    /// The member that leads.
    Leader,
    /// Each other member that the leader talks to.
    Other,
}

/// A message of an operation, and the pure ACKs that answer it on its way back.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Leg {
    /// Who sends it.
    pub from: Part,
    /// To whom.
    pub to: Part,
    /// What it is.
    pub class: Class,
    /// One message.
    pub volume: Volume,
    /// ACKs back.
    pub acks: Burst,
}

/// Where an operation meets a cluster.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Point {
    /// The member that is asked leads.
    pub leads: bool,
    /// The leader's term.
    pub term: u64,
    /// Last index of its log: lengths of numbers depend on it.
    pub index: u64,
    /// Whether the connection uses TLS.
    pub tls: bool,
}

impl Point {
    fn message(self, kind: Kind) -> Message {
        Message { term: self.term, commit: self.index, ..Message::new(kind, 0, 1) }
    }
}

impl Leg {
    /// A message of a client and a server, or back: `body` bytes and what HTTP/2 puts around them.
    pub const fn framed([from, to]: [Part; 2], class: Class, body: u64, tls: bool) -> Self {
        let bytes = GRPC_OVERHEAD + body;
        let wire = Burst::of(bytes, tls);
        Self { from, to, class, volume: Volume { count: 1, bytes, wire }, acks: wire.acks() }
    }

    fn between([from, to]: [Part; 2], message: &Message, tls: bool) -> Self {
        let writes = codec::writes(message, true);
        let (wire, acks) = writes.wire(tls);
        Self { from, to, class: codec::class(message), volume: Volume { count: 1, bytes: writes.bytes, wire }, acks }
    }
}

const fn entry(command: Command, term: u64) -> Entry {
    Entry { term, chain: 0, token: Token::NONE, command }
}

/// What a leader and each other member send for an entry.
pub fn replication(command: Command, at: Point) -> [Leg; 4] {
    let append = Message { index: at.index, log_term: at.term, ..at.message(Kind::Append) };
    let entries = Message { entries: entry(command, at.term).into(), ..append.clone() };
    let answer = Message { index: at.index, commit: 0, ..at.message(Kind::AppendResponse) };
    let to = |message| Leg::between([Part::Leader, Part::Other], message, at.tls);
    let from = |message| Leg::between([Part::Other, Part::Leader], message, at.tls);
    [to(&entries), from(&answer), to(&append), from(&answer)]
}

/// What an operation sends that is answered.
pub fn legs(op: Op, at: Point) -> Vec<Leg> {
    use Part::{Leader, Other, Server, Target};
    let framed = |ends, class, body| Leg::framed(ends, class, body, at.tls);
    let raft = |ends, message: &Message| Leg::between(ends, message, at.tls);
    let message = |kind| at.message(kind);
    let mut legs = vec![framed([Server, Target], Class::EtcdRequest, codec::request_body(op))];
    if let Some(command) = Command::of(op) {
        if !at.leads {
            let proposal = Message { entries: entry(command, 0).into(), ..Message::new(Kind::Propose, 0, 1) };
            legs.push(raft([Target, Leader], &proposal));
        }
        legs.extend(replication(command, at));
    } else if matches!(op, Op::Range { linearizable: true, .. }) {
        let round = |kind| Message { context: 1, ..Message::new(kind, 0, 1) };
        if !at.leads {
            legs.push(raft([Target, Leader], &round(Kind::ReadIndex)));
        }
        legs.push(raft([Leader, Other], &Message { context: 1, ..message(Kind::Heartbeat) }));
        legs.push(raft([Other, Leader], &Message { context: 1, commit: 0, ..message(Kind::HeartbeatResponse) }));
        if !at.leads {
            let answer = Message { index: at.index, term: at.term, ..round(Kind::ReadIndexResponse) };
            legs.push(raft([Leader, Target], &answer));
        }
    }
    legs.push(framed([Target, Server], Class::EtcdAnswer, codec::answer_body(op)));
    legs
}

/// What an API server that watches is told of an operation: bytes of the event; `None`: nothing.
pub fn event(op: Op) -> Option<u64> {
    Command::of(op).map(|command| event_bytes(command, WatchScope::ApiServer)).filter(|bytes| *bytes > 0)
}

/// What an operation is in the log of etcd, and what it does to the database; `None`: nothing.
pub fn logged(op: Op) -> Option<Writes> {
    Command::of(op).map(one)
}

/// What the end of a lease is in the log of etcd, and what it does to the database: a key with such a lease has no entry of its own.
pub fn expired(op: Op) -> Writes {
    let growth = Command::of(op).map(expiry_growth).unwrap_or_default();
    let entry = if matches!(op, Op::Grant(_)) { one(END_OF_LEASE) } else { Writes::default() };
    Writes { growth, ..entry }
}

/// The entry of a lease's end.
pub const END_OF_LEASE: Command = Command::Revoke { grows: 0, supersedes: 0 };

fn one(command: Command) -> Writes {
    Writes { count: 1, request_bytes: logged_bytes(command), growth: database_growth(command) }
}

/// Keys and values that an operation stores.
pub fn stored(op: Op) -> Option<u64> {
    Command::of(op).map(stored_bytes)
}
