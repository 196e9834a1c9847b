//! The first scenario plays by itself to just after its first outage, and pauses there: the verdict says what happened.
//!
//! ```text
//!   0 ---------- fast ---------- lead - slow - fault - outage - stop        about eight seconds in all
//! ```

use zonefall_core::kernel::time::{Duration, Time};
use zonefall_core::report::Report;

use super::playback::{Playback, SPEEDS, moment};

/// Where the two legs end.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Plan {
    /// Fast up to here.
    lead: Time,
    /// And pause here.
    stop: Time,
}

/// Real seconds of each leg.
const FAST_S: f64 = 3.0;
const SLOW_S: f64 = 5.0;
/// What is played of an outage that does not end.
const ENDLESS_S: f64 = 10.0;

impl Plan {
    /// The plan, as soon as the report knows the first outage whole; `done`: the report is final.
    pub(super) fn of(report: &Report, done: bool) -> Option<Self> {
        let outages = || report.etcd.values().flat_map(|cluster| &cluster.outages);
        let first = outages().min_by(|a, b| a.from_s.total_cmp(&b.from_s))?;
        // Services that go together are one outage to whoever watches.
        let together = outages().filter(|outage| outage.from_s <= first.to_s);
        let (mut end, mut over) = (first.to_s, true);
        for outage in together {
            end = end.max(outage.to_s);
            over &= outage.completed;
        }
        if !over && !done {
            return None;
        }
        let end = if over { end } else { end.min(first.from_s + ENDLESS_S) };
        let faults = report.faults.iter().map(|fault| fault.from_s);
        let cause = faults.filter(|from| *from <= first.from_s).fold(f64::NEG_INFINITY, f64::max);
        let from = if cause >= first.from_s - (end - first.from_s) { cause } else { first.from_s };
        let around = end - from;
        let stop = (end + (0.2 * around).max(0.3)).min(report.simulated_s);
        Some(Self { lead: moment((from - 0.5 * around).max(0.0)), stop: moment(stop) })
    }

    /// Sets the speed for the leg the playhead is on.
    pub(super) fn drive(self, playback: &mut Playback) {
        playback.pause_at = Some(self.stop);
        let fast = playback.at < self.lead;
        let (from, to, seconds) = if fast { (Time::ZERO, self.lead, FAST_S) } else { (self.lead, self.stop, SLOW_S) };
        playback.speed = round(to.since(from), seconds);
    }

    /// A tick must not carry the playhead past the end of the fast leg.
    pub(super) fn brake(self, before: Time, playback: &mut Playback) {
        if before < self.lead && playback.at > self.lead {
            playback.at = self.lead;
        }
    }

    /// Straight to the end of it.
    pub(super) fn skip(self, playback: &mut Playback) {
        *playback = Playback { at: self.stop, playing: false, arrived: Some(self.stop), ..Playback::default() };
    }
}

/// Speed that takes about so many seconds, one significant digit.
fn round(length: Duration, seconds: f64) -> f64 {
    let speed = (length.as_secs_f64() / seconds).clamp(SPEEDS[0], SPEEDS[1]);
    let digit = libm::pow(10.0, libm::log10(speed).floor());
    (speed / digit).round() * digit
}
