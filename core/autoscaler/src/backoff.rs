//! Node groups that failed to grow are left alone for a while (kubernetes/autoscaler
//! `cluster-autoscaler/utils/backoff/exponential_backoff.go`).
//!
//! ```text
//!  failure --backed off until (inclusive)--> free --failure: twice as long--> ...   --reset after the last failure--> forgotten
//! ```

use zonefall_kernel::time::{Duration, Time};
pub use zonefall_scenario::kube::machine::BackoffOptions as Options;

/// A group that failed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Backoff {
    /// How long it is left alone.
    pub lasts: Duration,
    /// Until when, this moment included.
    pub until: Time,
    /// When it failed last.
    pub failed: Time,
}

impl Backoff {
    /// A group with this past fails `now`. Several failures at a time count as one: a group that is left alone anyway is left alone no
    /// longer.
    pub fn after_failure(past: Option<Self>, now: Time, options: &Options) -> Self {
        let lasts = match past {
            None => options.initial,
            Some(past) if past.holds(now) => past.lasts,
            Some(past) => past.lasts.saturating_add(past.lasts).min(options.max),
        };
        Self { lasts, until: now + lasts, failed: now }
    }

    /// Whether the group is left alone.
    pub fn holds(&self, now: Time) -> bool {
        now <= self.until
    }

    /// Whether its failures are forgotten.
    pub fn is_stale(&self, now: Time, options: &Options) -> bool {
        self.failed + options.reset < now
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn it_doubles_up_to_the_most_and_starts_anew_once_forgotten() {
        let options = Options::default();
        let second = Duration::from_secs(1);
        let (mut now, mut past, mut lasted) = (Time::ZERO, None, Vec::new());
        for _ in 0..5 {
            let entry = Backoff::after_failure(past, now, &options);
            assert!(entry.holds(entry.until) && !entry.holds(entry.until + Duration::from_nanos(1)));
            // While it holds, another failure moves it but makes it no longer.
            let again = Backoff::after_failure(Some(entry), now + second, &options);
            assert_eq!((again.lasts, again.until), (entry.lasts, entry.until + second));
            lasted.push(entry.lasts / 60_000_000_000);
            (now, past) = (entry.until + second, Some(entry));
        }
        assert_eq!(lasted, [5, 10, 20, 30, 30].map(Duration::from_nanos));
        let last = past.expect("it failed");
        let forgotten = last.failed + options.reset;
        assert!(!last.is_stale(forgotten, &options) && last.is_stale(forgotten + Duration::from_nanos(1), &options));
    }
}
