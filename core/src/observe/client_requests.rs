//! Requests of further clients of an API: what came of them, and how long answers took.

use hdrhistogram::Histogram;

use super::histogram::{histogram, ms, time};
use crate::access::record::RequestResult;
use crate::kernel::time::{Duration, Time};
use crate::report::{ClientRequestsReport, seconds};

/// Requests of all processes of one client.
#[derive(Clone, Debug)]
pub(super) struct ClientRequests {
    answered: u64,
    errors: u64,
    connection_lost: u64,
    timed_out: u64,
    latency: Histogram<u32>,
    longest: Duration,
    done: u64,
    last_done: Time,
}

impl ClientRequests {
    /// None yet.
    pub(super) fn new() -> Self {
        Self {
            answered: 0,
            errors: 0,
            connection_lost: 0,
            timed_out: 0,
            latency: histogram(3),
            longest: Duration::ZERO,
            done: 0,
            last_done: Time::ZERO,
        }
    }

    /// A request is over.
    pub(super) fn over(&mut self, result: RequestResult, after: Duration) {
        match result {
            RequestResult::Answered => {
                self.answered += 1;
                time(&mut self.latency, after);
                self.longest = self.longest.max(after);
            }
            RequestResult::Error => self.errors += 1,
            RequestResult::ConnectionLost => self.connection_lost += 1,
            RequestResult::TimedOut => self.timed_out += 1,
        }
    }

    /// All requests of a process are over.
    pub(super) const fn done(&mut self, at: Time) {
        self.done += 1;
        self.last_done = at;
    }

    /// The figures so far. `in_flight`: requests that are not over.
    pub(super) fn report(&self, in_flight: u64) -> ClientRequestsReport {
        let Self { answered, errors, connection_lost, timed_out, done, .. } = *self;
        let failed = errors + connection_lost + timed_out;
        let over = answered + failed;
        let percentile =
            |quantile| (answered > 0).then(|| ms(self.latency.value_at_quantile(quantile).min(self.longest.as_nanos())));
        ClientRequestsReport {
            answered,
            errors,
            connection_lost,
            timed_out,
            in_flight,
            failed_percent: (over > 0).then(|| failed as f64 * 100.0 / over as f64),
            p50_ms: percentile(0.5),
            p90_ms: percentile(0.9),
            p99_ms: percentile(0.99),
            max_ms: (answered > 0).then(|| ms(self.longest.as_nanos())),
            done,
            done_s: (done > 0).then(|| seconds(self.last_done)),
        }
    }
}
