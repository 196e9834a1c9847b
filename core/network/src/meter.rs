//! Meters: what one endpoint has sent to another, in total and in the busiest window.

use crate::wire::Burst;
use zonefall_kernel::time::{Duration, Time};

/// Windows of the peak, laid end to end from the start of the run.
pub const PEAK_WINDOW: Duration = Duration::from_secs(10);

/// Bytes in one direction between two endpoints.
#[derive(Clone, Copy, Debug, Default)]
pub struct Meter {
    /// Application bytes.
    pub bytes: u64,
    /// On the wire.
    pub wire: Burst,
    window: u64,
    in_window: u64,
    peak: u64,
    even: u64,
}

impl Meter {
    /// Counts a message sent at `at`.
    pub fn add(&mut self, at: Time, bytes: u64, wire: Burst) {
        self.bytes += bytes;
        self.wire += wire;
        self.in_window(at.as_nanos() / PEAK_WINDOW.as_nanos(), wire.bytes);
    }

    /// Counts bytes that are spread evenly over time, heartbeats and what keeps connections alive: no window need look at them.
    pub fn add_evenly(&mut self, bytes: u64, wire: Burst) {
        self.bytes += bytes;
        self.wire += wire;
        self.even += wire.bytes;
    }

    fn in_window(&mut self, window: u64, bytes: u64) {
        if window != self.window {
            self.window = window;
            self.in_window = 0;
        }
        self.in_window += bytes;
        self.peak = self.peak.max(self.in_window);
    }

    /// Wire bytes per second in the busiest window, what is spread evenly over `time` included.
    pub fn peak_per_s(&self, time: Duration) -> f64 {
        let even = if time == Duration::ZERO { 0.0 } else { self.even as f64 / time.as_secs_f64() };
        self.peak as f64 / PEAK_WINDOW.as_secs_f64() + even
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_peak_is_the_busiest_window_on_top_of_what_is_even() {
        let wire = Burst { packets: 1, bytes: 100 };
        let mut meter = Meter::default();
        for s in [1, 9, 11, 12, 19, 25] {
            meter.add(Time::ZERO + Duration::from_secs(s), 50, wire);
        }
        meter.add_evenly(600, wire * 6);
        assert_eq!((meter.bytes, meter.wire), (900, wire * 12));
        assert!((meter.peak_per_s(Duration::from_secs(30)) - 50.0).abs() < 1e-9);
    }
}
