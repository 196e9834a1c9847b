//! How fast the nodes of a zone are tainted: a bucket of one token (`pkg/controller/nodelifecycle/scheduler/rate_limited_queue.go`).

use zonefall_kernel::time::{Duration, Time};

/// A bucket of one token that fills at a rate.
#[derive(Clone, Copy, Debug)]
pub struct RateLimiter {
    rate: f64,
    next: Time,
}

impl RateLimiter {
    /// A full bucket; `rate` in tokens per second.
    pub const fn new(rate: f64) -> Self {
        Self { rate, next: Time::ZERO }
    }

    fn interval(&self) -> Option<Duration> {
        (self.rate > 0.0).then(|| Duration::from_nanos(libm::round(1e9 / self.rate) as u64))
    }

    /// When the next token is there; `None`: never.
    pub fn next(&self) -> Option<Time> {
        self.interval().map(|_| self.next)
    }

    /// Takes the token, if it is there.
    pub fn take(&mut self, now: Time) -> bool {
        let Some(interval) = self.interval().filter(|_| now >= self.next) else { return false };
        self.next = now + interval;
        true
    }

    /// Another rate (`SwapLimiter`): whoever was waiting for a token waits anew; nothing if it is the same.
    pub fn set_rate(&mut self, rate: f64, now: Time) {
        if self.rate.to_bits() == rate.to_bits() {
            return;
        }
        let had_token = self.take(now);
        *self = Self { rate, next: now };
        if !had_token {
            self.take(now);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn s(s: u64) -> Time {
        Time::ZERO + Duration::from_secs(s)
    }

    #[test]
    fn one_at_a_time() {
        let mut limiter = RateLimiter::new(0.1);
        let taken: Vec<bool> = [100, 101, 109, 110, 150, 151].map(|at| limiter.take(s(at))).into();
        assert_eq!(taken, [true, false, false, true, true, false]);
        assert_eq!(limiter.next(), Some(s(160)));
        // The same rate changes nothing; another one starts anew, as empty as this one was.
        limiter.set_rate(0.1, s(155));
        assert_eq!(limiter.next(), Some(s(160)));
        limiter.set_rate(0.01, s(155));
        assert_eq!(limiter.next(), Some(s(255)));
        limiter.set_rate(0.0, s(300));
        assert!(limiter.next().is_none() && !limiter.take(s(400)));
        // Coming from "never" the first token has to be waited for; from a full bucket it is there.
        limiter.set_rate(0.1, s(400));
        assert_eq!(limiter.next(), Some(s(410)));
        limiter.set_rate(0.2, s(420));
        assert!(limiter.take(s(420)));
    }
}
