//! The controllers of a plane: each keeps what it holds in memory, and changes the world through the store alone.

pub mod attach_detach;
pub mod daemon;
pub mod disruption;
pub mod drain;
pub mod endpoints;
pub mod hints;
pub mod limiter;
pub mod node_lifecycle;
pub mod placement;
pub mod pod_gc;
pub mod queueing_hints;
pub mod replicas;
pub mod scheduler;
pub mod stateful;
pub mod taint_eviction;
