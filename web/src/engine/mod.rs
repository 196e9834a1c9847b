//! The simulator behind the page: what runs in the worker, and the page's end of the line to it.
//!
//! ```text
//!   page: remote --Ask (JSON)--> worker: Session --> Branch --> Run (zonefall-core)
//!                <--Tell (JSON)--          |
//!                                          `--> Keyframes (clones of runs, within a budget of memory)
//! ```
//!
//! [`session`], [`branch`], [`cursor`] and [`keyframes`] know nothing of browsers and are tested without one.

pub mod branch;
pub mod cursor;
pub mod keyframes;
pub mod protocol;
pub mod session;
#[cfg(test)]
mod tests;
