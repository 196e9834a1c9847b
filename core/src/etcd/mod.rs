//! etcd: raft, members with their disks, streams between them, clients' requests.
//!
//! ```text
//!   Request --> serve --> raft <--> ready (disk, apply) --> answers
//!                          ^ |
//!                          | v          lifecycle: processes, volumes     membership: who belongs
//!                       transport       snapshot: whole databases         rest: heartbeats without events
//! ```

pub mod backend;
pub mod cluster;
pub mod codec;
pub mod cost;
pub mod describe;
pub mod disk;
pub mod identity;
pub mod lifecycle;
pub mod member;
pub mod membership;
pub mod passive;
pub mod place;
pub mod quiescence;
pub mod raft;
pub mod ready;
pub mod restore;
pub mod serve;
pub mod service;
pub mod snapshot;
pub mod transport;
pub mod view;
pub mod volume;

pub use crate::scenario::options;
