//! What the tests of Zonefall share.

pub mod portable;
