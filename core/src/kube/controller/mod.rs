//! The controllers of a plane: each keeps what it holds in memory, and changes the world through the store alone.

pub mod attach;
pub mod collect;
pub mod daemon;
pub mod disruption;
pub mod drain;
pub mod endpoints;
pub mod evict;
pub mod hints;
pub mod lifecycle;
pub mod limiter;
pub mod placement;
pub mod replicas;
pub mod scheduler;
pub mod stateful;
pub mod wake;
