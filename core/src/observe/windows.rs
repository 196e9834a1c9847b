//! Latency over time: percentiles per window.
//!
//! Requests are told in order of time, so one window is open at a time: it has a histogram, those before it are five numbers each. A
//! clone of a run (a keyframe) stays small. Windows are as long as those of the [traffic](super::traffic), for charts on one axis.

use hdrhistogram::Histogram;

use super::histogram::{histogram, ms, time};
use crate::kernel::time::{Duration, Time};
use crate::record::RequestResult;
use crate::report::LatencyWindows;

/// Requests of one kind, by the window in which they ended.
#[derive(Clone, Debug)]
pub struct Windows {
    start: Time,
    window: Duration,
    last: u64,
    closed: Vec<Window>,
    open: Window,
    latency: Histogram<u32>,
    longest: Duration,
}

#[derive(Clone, Copy, Debug, Default)]
struct Window {
    count: u64,
    failed: u64,
    /// Median, 90th and 99th percentile in nanoseconds.
    percentiles: [u64; 3],
}

impl Windows {
    /// No request yet: windows of this length from `start` on, the last of which has the moment `end`.
    pub fn new((start, end): (Time, Time), window: Duration) -> Self {
        Self {
            start,
            window,
            last: end.since(start).as_nanos().div_ceil(window.as_nanos()).max(1) - 1,
            closed: Vec::new(),
            open: Window::default(),
            latency: histogram(2),
            longest: Duration::ZERO,
        }
    }

    /// Counts a request that ended at `at`, which is not before the start. Times never decrease.
    pub fn count(&mut self, at: Time, latency: Duration, result: RequestResult) {
        let index = (at.since(self.start).as_nanos() / self.window.as_nanos()).min(self.last);
        while (self.closed.len() as u64) < index {
            let ended = self.summed_up();
            self.closed.push(ended);
            // (A histogram is long, and most windows have no request.)
            if std::mem::take(&mut self.open).count > 0 {
                self.latency.reset();
            }
            self.longest = Duration::ZERO;
        }
        if result == RequestResult::Ok {
            self.open.count += 1;
            time(&mut self.latency, latency);
            self.longest = self.longest.max(latency);
        } else {
            self.open.failed += 1;
        }
    }

    /// As columns.
    pub fn report(&self) -> LatencyWindows {
        let mut report = LatencyWindows::default();
        let open = self.summed_up();
        for window in self.closed.iter().chain([&open]) {
            let [p50, p90, p99] = window.percentiles.map(|ns| (window.count > 0).then(|| ms(ns)));
            report.count.push(window.count);
            report.failed.push(window.failed);
            report.p50_ms.push(p50);
            report.p90_ms.push(p90);
            report.p99_ms.push(p99);
        }
        report
    }

    fn summed_up(&self) -> Window {
        let at = |quantile| self.latency.value_at_quantile(quantile).min(self.longest.as_nanos());
        let percentiles = if self.open.count > 0 { [0.5, 0.9, 0.99].map(at) } else { [0; 3] };
        Window { percentiles, ..self.open }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_request_is_in_the_window_in_which_it_ended() {
        let ms = Duration::from_millis;
        let mut windows = Windows::new((Time::ZERO, Time::ZERO + ms(720_000)), ms(2_000));
        for (at_ms, latency_ms, result) in [
            (100, 5, RequestResult::Ok),
            (1_999, 7, RequestResult::Ok),
            (2_000, 100, RequestResult::TimedOut),
            (9_000, 30, RequestResult::Ok),
            (720_000, 1, RequestResult::Ok),
        ] {
            windows.count(Time::ZERO + ms(at_ms), ms(latency_ms), result);
        }
        let report = windows.report();
        assert_eq!(report.count.len(), 360, "windows of two seconds");
        assert_eq!(report.count[..6], [2, 0, 0, 0, 1, 0]);
        assert_eq!(report.failed[..3], [0, 1, 0]);
        assert_eq!((report.p99_ms[0], report.p50_ms[1], report.p90_ms[4]), (Some(7.0), None, Some(30.0)));
        let p50 = report.p50_ms[0].expect("requests ended well");
        assert!((5.0..5.05).contains(&p50), "{p50}");
        assert_eq!((report.count[359], report.p50_ms[359]), (1, Some(1.0)));
    }
}
