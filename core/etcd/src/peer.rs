//! What is between two members (`rafthttp/peer.go`): messages and databases on their way, and bytes that count for a zone which one of
//! them has left.

use crate::codec::Writes;
use crate::raft::message::Message;
use zonefall_kernel::time::Time;
use zonefall_network::card::Lease;
use zonefall_network::meter::Meter;
use zonefall_scenario::ids::ZoneId;

/// A message on its way, or waiting for its path.
#[derive(Clone, Debug)]
pub(super) struct InFlight {
    /// The message; `None` in a free slot.
    pub(super) message: Option<Message>,
    /// Its stream.
    pub(super) stream: u16,
    /// The connection it was written to; `None`: it is a POST.
    pub(super) epoch: Option<u32>,
    /// Its bytes.
    pub(super) writes: Writes,
    /// When it was written.
    pub(super) sent: Time,
    /// When its connection has carried it.
    pub(super) leaves: Time,
    /// When the network card has.
    pub(super) carded: Time,
    /// When it arrives; `None` while it waits for its path.
    pub(super) arrives: Option<Time>,
    /// Cancels its delivery.
    pub(super) delivery: u32,
}

impl InFlight {
    /// A message that is written now and has not left yet.
    pub(super) const fn new(message: Message, stream: usize, epoch: Option<u32>, writes: Writes, now: Time) -> Self {
        let stream = stream as u16;
        Self { message: Some(message), stream, epoch, writes, sent: now, leaves: now, carded: now, arrives: None, delivery: 0 }
    }
}

/// A database under way.
#[derive(Clone, Debug)]
pub(super) struct Transfer {
    /// Member that sends its database.
    pub(super) from: u8,
    /// Member that receives it.
    pub(super) to: u8,
    pub(super) message: Message,
    /// Bytes still to be sent.
    pub(super) left: u64,
    /// Tells it from the others, which may move in the list.
    pub(super) number: u32,
    pub(super) stalled_since: Option<Time>,
    /// Its part of the sender's network card.
    pub(super) lease: Option<Lease>,
}

impl Transfer {
    /// Bytes of the database.
    pub(super) fn bytes(&self) -> u64 {
        self.message.snapshot.as_ref().map_or(0, |snapshot| snapshot.database.file_bytes)
    }
}

/// What a stream had carried before one of its ends left its zone.
#[derive(Clone, Copy, Debug)]
pub(super) struct Before {
    pub(super) stream: usize,
    pub(super) zones: (ZoneId, ZoneId),
    pub(super) meter: Meter,
}
