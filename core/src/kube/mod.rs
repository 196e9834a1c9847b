//! Kubernetes: what its controllers decide.
//!
//! [`rule`] holds the decisions themselves, as functions of what a controller sees: no time, no events, no store.

pub mod rule;
