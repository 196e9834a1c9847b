//! Random scenarios: a number gives a scenario file, the same on every machine. The tests check invariants on them, and `cargo xtask same`
//! compares two builds by them.
//!
//! ```text
//! number -> dice -> schedules (etcd under faults) | modes (etcd, busy or idle, and pairs) | kube (seeds and shoots) -> scenario file
//! ```

mod cards;
pub mod dice;
pub mod faults;
pub mod kube;
pub mod modes;
pub mod schedules;
mod space;
