//! API Priority and Fairness: which requests an API server executes, which wait, and which it rejects (kubernetes/apiserver@24a394e5
//! `pkg/util/flowcontrol`; KEP-1040). What is configured: [`crate::spec::fairness`].
//!
//! ```text
//!                 schema              shuffle                    queue_set
//!  request --> flow schema, flow --> a hand of queues --> shortest of them --least virtual finish--> seats --> executes
//!                    |                                        |      |
//!                    v                                      full   quarter of its time is over
//!              priority level <--every 10 s: seats--.         v      v
//!                    '----------seats wanted--------'      rejected: 429, Retry-After (retry_after)
//! ```
//!
//! - [`schema`]: which flow schema matches, and which flow a request is of.
//! - [`shuffle`]: which few queues a flow may use, whatever others do.
//! - [`queue_set`]: one level's queues and seats. [`queue`]: virtual time of one queue. [`work`]: what a request costs.
//! - [`seats`]: how many seats a level has. [`allocation`]: how levels share them. [`demand`]: how many they want.
//! - [`server`]: all of it for one server, which is what an API server asks.
//!
//! Every function gets the time, and whoever keeps a [`server::Fairness`] calls it again when something is due: no clock, no event, no
//! randomness. Seats, work and virtual time are integers, as in the original; demand and shares are floats there, too.
//!
//! Long-running requests other than watches (`exec`, `logs -f`) never come here, and a watch holds its seats until it has sent what there
//! was at its start (apiserver `server/filters/priority-and-fairness.go`). Left out: changes of schemas, levels and numbers of queues while
//! a server runs.

pub mod allocation;
pub mod demand;
pub mod queue;
pub mod queue_set;
pub mod retry_after;
pub mod schema;
pub mod seats;
pub mod server;
pub mod shuffle;
pub mod work;

#[cfg(test)]
mod tests;

/// A request, by a number that no other request has while this one waits, executes, or holds seats.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct RequestId(pub u64);

/// Why a request is rejected (`reason` of the metric `apiserver_flowcontrol_rejected_requests_total`).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Reason {
    /// All seats are taken, and its level has no queues.
    ConcurrencyLimit,
    /// All seats are taken, and the shortest queue of its hand is full.
    QueueFull,
    /// It has waited for as long as it may.
    TimeOut,
}

/// What happens to a request that arrives.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Admission<Rejection = Reason> {
    /// It executes from now on.
    Executes,
    /// It waits in a queue.
    Waits,
    /// It is rejected.
    Rejected(Rejection),
}
