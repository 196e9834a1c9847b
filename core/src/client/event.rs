//! What happens at clients.

use crate::client::record::ClientRecord;
use crate::etcd::event::{Answer, EtcdEvent};
use crate::etcd::raft::entry::Token;
use crate::etcd::record::EtcdRecord;
use crate::ids::{ClientId, EtcdId};
use crate::kernel::outbox::Outbox;
use crate::kernel::time::Time;
use crate::kernel::timer::Generation;

/// What happens at a client.
#[derive(Clone, Copy, Debug)]
pub enum ClientEvent {
    /// The next request of its rate is due.
    Next,
    /// The oldest request's time is up.
    Deadline(Generation),
    /// A connection has been silent for long enough, or is to be dialled.
    Connection {
        /// With which member.
        member: u8,
        /// Of its timer.
        generation: Generation,
    },
    /// An answer arrives.
    Answer {
        /// For which request.
        token: Token,
        /// What it says.
        answer: Answer,
    },
    /// The process has read it.
    Read {
        /// For which request.
        token: Token,
        /// What it says.
        answer: Answer,
    },
    /// A watched event arrives.
    Watched {
        /// From which member.
        member: u8,
        /// When its entry was first applied anywhere.
        since: Time,
    },
    /// A request that an API server rejected is made again.
    Repeat(Token),
    /// Something is due at an API server where requests wait. The event is that of the client whose request armed the timer.
    ServerDue {
        /// Which server of the client's cluster, as [`Running::key`](crate::kube::api::Running::key) tells it from others.
        key: u32,
        /// Of its timer.
        generation: Generation,
    },
    /// A connection whose request failed carries on.
    Resume,
    /// A watch is tried again.
    Watch,
    /// Events that waited for their path are sent again.
    Retransmitted,
}

/// Where events and records of clients go, and their requests to etcd.
pub trait ClientOutbox: Outbox<(ClientId, ClientEvent), ClientRecord> + Outbox<(EtcdId, EtcdEvent), EtcdRecord> {}

impl<T: Outbox<(ClientId, ClientEvent), ClientRecord> + Outbox<(EtcdId, EtcdEvent), EtcdRecord>> ClientOutbox for T {}
