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
        /// Of that, until its API server let it in: zero for requests that neither waited there nor were rejected. (It is not part of the
        /// trace.)
        waited: Duration,
        /// How long the member asked would take by the state of etcd when it was made ([`Duration::MAX`]: it would not answer), if it is of
        /// an API or of a client that names a member; `None`: it is of neither, or nobody can reach its API server. (It is not part of the
        /// trace: it follows from what is.)
        expected: Option<Duration>,
        /// How it ended.
        result: RequestResult,
    },
    /// Its connection with a member is open again, or closed, and requests take others.
    Connection {
        /// Who asks.
        client: ClientId,
        /// In which zone that is.
        from: ZoneId,
        /// The member that it asks.
        member: MemberId,
        /// Requests may take it.
        open: bool,
    },
    /// A request, or its answer, waits on its way. Told where that is long, as [`EtcdRecord::Backlog`](crate::record::EtcdRecord) is.
    Delayed {
        /// Who asks.
        client: ClientId,
        /// In which zone that is.
        from: ZoneId,
        /// The member that is asked.
        member: MemberId,
        /// What it waits for.
        by: Delay,
        /// How long.
        wait: Duration,
    },
}

/// What a request, or its answer, waits for on its way.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Delay {
    /// The client's process, or its machine's link: it has many.
    Client,
    /// The bandwidth of the path.
    Link,
    /// Packets that were lost, until they were sent again.
    Loss,
    /// A member that does not run, and whose host does not say so.
    Down,
    /// The network card of the member's host, which others may share.
    Card,
    /// That of the client's.
    OwnCard,
    /// A queue of its API server (Priority and Fairness).
    Queue,
    /// The time that its API server, which rejected it, has asked for before it is made again (`Retry-After`).
    RetryAfter,
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
    /// Refused by a member: the NOSPACE alarm of its cluster is on.
    NoSpace,
    /// Refused by a member that is too far behind with what it has to apply.
    TooManyRequests,
    /// Turned away by an API server that works on as many as it may (429): it never reached etcd.
    Rejected,
    /// The process of its API server has ended first: whether etcd would have answered in time is not known.
    Lost,
}

impl From<Answer> for RequestResult {
    fn from(answer: Answer) -> Self {
        match answer {
            Answer::Ok => Self::Ok,
            Answer::Unavailable => Self::Failed,
            Answer::TooLarge => Self::TooLarge,
            Answer::NoSpace => Self::NoSpace,
            Answer::TooManyRequests => Self::TooManyRequests,
        }
    }
}
