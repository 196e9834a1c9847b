//! etcd: raft, members with their disks, streams between them, clients' requests.
//!
//! ```text
//!   Request --> serve --> raft <--> ready (disk, apply) --> answers
//!                          ^ |
//!                          | v          lifecycle: processes, volumes     membership: who belongs
//!                       transport       snapshot: whole databases         quiescence: heartbeats without events
//! ```
//!
//! Each layer knows the layers before it:
//!
//! ```text
//!   raft (the protocol)   passive (state of an active-passive pair)
//!   codec, command_bytes (bytes of messages and commands)   record (facts)   event (timers, arrivals)   ctx (what a handler may ask for)
//!   disk, volume, backend, cost --> member
//!   availability, peer, quiescent_group, reconfiguration, restore --> cluster (its whole state)
//!   bootstrap, ready, serve, transport ... (what happens to a cluster: a file per concern)   dispatch (which of them handles an event)
//!   view, describe (what is seen of it)
//! ```

mod availability;
pub mod backend;
mod backend_commit;
pub mod backlog;
mod bootstrap;
pub mod cluster;
pub mod codec;
pub mod command_bytes;
pub mod cost;
pub mod ctx;
pub mod database;
pub mod describe;
pub mod disk;
mod dispatch;
pub mod event;
mod failover;
pub mod flow;
mod flowing;
pub mod identity;
mod lessor;
pub mod lifecycle;
pub mod member;
pub mod membership;
mod migration;
pub mod passive;
mod pause;
mod peer;
mod pipeline;
pub mod place;
mod post;
pub mod quiescence;
mod quiescent_group;
pub mod raft;
pub mod ready;
pub mod reconfiguration;
pub mod record;
pub mod restore;
pub mod serve;
pub mod service;
pub mod snapshot;
mod space;
pub mod transport;
pub mod view;
pub mod volume;
pub mod write_rate;

use zonefall_kernel::periodic::Stepping;
pub use zonefall_scenario::options;

/// How to run etcd clusters.
#[derive(Clone, Copy, Debug, Default)]
pub struct Options {
    /// How periodic work is simulated.
    pub stepping: Stepping,
    /// Emit [`record::EtcdRecord::Raft`] for the invariants.
    pub raft_records: bool,
    /// A deliberate bug in every member's raft, for tests of the tests.
    #[cfg(feature = "planted-bugs")]
    pub bug: Option<raft::PlantedBug>,
}
