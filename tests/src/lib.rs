//! What the tests of Zonefall share.

pub mod bare;
pub mod inputs;
pub mod laboratory;
pub mod latency;
pub mod portable;
pub mod traffic;
