//! What the tests of Zonefall share.

pub mod laboratory;
pub mod portable;
