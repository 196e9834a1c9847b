//! Histograms of latencies: what they tell apart, and how they are filled and read.

use hdrhistogram::Histogram;

use crate::kernel::time::Duration;

/// Below this a latency is not told apart, in nanoseconds.
const FINEST_NS: u64 = 1_000;
/// Longer ones are counted as this (the exact maximum is kept apart), in nanoseconds: one day.
const LONGEST_NS: u64 = 86_400_000_000_000;

/// A histogram of latencies, of so many significant digits. It is as large as the longest of them needs.
pub(super) fn histogram(digits: u8) -> Histogram<u32> {
    let mut histogram = Histogram::new_with_bounds(FINEST_NS, 2 * FINEST_NS, digits).expect("bounds are constant and valid");
    histogram.auto(true);
    histogram
}

/// Counts a latency.
pub(super) fn time(histogram: &mut Histogram<u32>, latency: Duration) {
    histogram.record(latency.as_nanos().min(LONGEST_NS)).expect("it grows");
}

/// Nanoseconds as milliseconds, to a microsecond.
pub(super) fn ms(ns: u64) -> f64 {
    ((ns as f64) / 1e3).round() / 1e3
}
