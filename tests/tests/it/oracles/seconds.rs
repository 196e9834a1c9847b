//! Seconds of oracles as simulated time.

use zonefall_core::kernel::time::{Duration, Time};

/// A number of seconds that is whole in nanoseconds.
pub(super) fn seconds(s: f64) -> Result<Duration, String> {
    let ns = (s * 1e9).round();
    if (0.0..1e18).contains(&ns) { Ok(Duration::from_nanos(ns as u64)) } else { Err(format!("{s} s")) }
}

/// The moment so many seconds after the start.
pub(super) fn at(s: f64) -> Result<Time, String> {
    Ok(Time::ZERO + seconds(s)?)
}
