//! The simulator behind the page: what runs in the worker, and the page's end of the line to it.
//!
//! ```text
//!   page: remote --Ask (bytes)--> worker: Session --> Branch --> Run (zonefall-core)
//!                <--Tell (bytes)--         |
//!                                          `--> Keyframes (clones of runs, within a budget of memory)
//! ```
//!
//! [`session`], [`branch`], [`cursor`], [`keyframes`] and [`watchdog`] know nothing of browsers and are tested without one. `worker` and
//! `remote` are glue, and exist in wasm alone.

pub mod branch;
pub mod branch_run;
mod close_up;
pub mod cursor;
pub mod keyframes;
pub mod protocol;
#[cfg(target_arch = "wasm32")]
pub mod remote;
pub mod session;
#[cfg(test)]
mod tests;
pub mod watchdog;
#[cfg(target_arch = "wasm32")]
pub mod worker;
