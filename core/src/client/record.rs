//! What happens to requests of clients.

use crate::etcd::event::Answer;
use crate::ids::{ClientId, MemberId, ZoneId};
use crate::kernel::time::Duration;
use crate::scenario::Op;

/// A fact of a client.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum ClientRecord {
    /// A request ended.
    Request {
        /// Who asked.
        client: ClientId,
        /// In which zone that is: API servers come and go.
        from: ZoneId,
        /// Operation that it asked for.
        op: Op,
        /// The member that was asked last; where it was turned away, the one that would have been.
        member: MemberId,
        /// From the first sending to the last answer.
        latency: Duration,
        /// How it ended.
        result: RequestResult,
    },
}

/// How a request ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum RequestResult {
    /// The request is done.
    Ok,
    /// No answer in time, from any member tried.
    TimedOut,
    /// Every member tried refused the connection or failed the request.
    Failed,
    /// Larger than `max_request_bytes`.
    TooLarge,
    /// Turned away by an API server that works on as many as it may (429): it never reached etcd.
    Rejected,
}

impl From<Answer> for RequestResult {
    fn from(answer: Answer) -> Self {
        match answer {
            Answer::Ok => Self::Ok,
            Answer::Unavailable => Self::Failed,
            Answer::TooLarge => Self::TooLarge,
        }
    }
}
