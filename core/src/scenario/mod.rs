//! Scenarios: what to run, as people write it and as the engine takes it.

pub mod expect;
mod model;

pub use model::*;
