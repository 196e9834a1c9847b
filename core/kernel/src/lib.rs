//! The kernel: time, the event queue, randomness. It knows nothing of clusters.
//!
//! ```text
//!             push(at, event)                 pop() -> (at, event)
//! handlers ------------------> EventQueue ----------------------> run loop
//!    ^   \                  (time, sequence)                          |
//!    |    `--- draw k of stream (purpose, entity) -> rng              |
//!    `------------------------- handle(event) <-----------------------'
//! ```

pub mod dist;
pub mod integral;
pub mod outbox;
pub mod periodic;
pub mod queue;
pub mod rng;
pub mod time;
pub mod timer;
pub mod traced;
