//! A scenario that was opened or edited plays by itself to its first event of interest, and pauses there: the verdict says what happened.
//! "Play on" goes to the next one.
//!
//! ```text
//!   from ---------- fast ---------- lead - slow - event (- outage) - stop        about eight seconds in all
//! ```
//!
//! An event of interest is whatever the report's story tells of: a fault, an election, a roll-out, a machine that is made.

use zonefall_core::kernel::time::{Duration, Time};
use zonefall_core::report::Report;

use super::playback::{Playback, SPEEDS, moment};

/// Where the two legs begin and end.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Plan {
    /// The playhead was here.
    from: Time,
    /// Fast up to here.
    lead: Time,
    /// And pause here.
    stop: Time,
}

/// Real seconds of each leg.
const FAST_S: f64 = 3.0;
const SLOW_S: f64 = 5.0;
/// What is seen of an event before it and after it, in simulated seconds.
const BEFORE_S: f64 = 1.5;
const AFTER_S: f64 = 2.0;
/// What is played of an outage that does not end ...
const ENDLESS_S: f64 = 10.0;
/// ... or of which no end is known after this time, in simulated seconds.
const PATIENCE_S: f64 = 1_800.0;

impl Plan {
    /// The way from a moment to the next event of interest, as soon as the report knows it whole; `done`: the report is final. Where nothing
    /// happens any more, the way leads to the end.
    pub(super) fn of(report: &Report, from: Time, done: bool) -> Option<Self> {
        let next = report.story.iter().map(|line| line.at_s).find(|at_s| moment(*at_s) > from);
        let (lead_s, stop_s) = match next {
            Some(at_s) => legs(report, at_s, done)?,
            None if done => (0.0, report.simulated_s),
            None => return None,
        };
        Some(Self { from, lead: moment(lead_s).max(from), stop: moment(stop_s.min(report.simulated_s)) })
    }

    /// Sets the speed for the leg the playhead is on.
    pub(super) fn drive(self, playback: &mut Playback) {
        let fast = playback.at < self.lead;
        // One tick of the fast leg may be longer than all of the slow one.
        playback.pause_at = (!fast).then_some(self.stop);
        let (from, to, seconds) = if fast { (self.from, self.lead, FAST_S) } else { (self.lead, self.stop, SLOW_S) };
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

/// Where the slow leg to an event begins and ends, in seconds: it has all of an outage that comes with the event. `None`: not known yet.
fn legs(report: &Report, at_s: f64, done: bool) -> Option<(f64, f64)> {
    let known = |until_s: f64| done || report.simulated_s >= until_s;
    let outages = || report.etcd.values().flat_map(|cluster| &cluster.outages).filter(|outage| outage.to_s > at_s);
    let first = outages().min_by(|a, b| a.from_s.total_cmp(&b.from_s)).filter(|outage| outage.from_s <= at_s + AFTER_S);
    let Some(first) = first else {
        return known(at_s + AFTER_S).then_some(((at_s - BEFORE_S).max(0.0), at_s + AFTER_S));
    };
    // Services that go together are one outage to whoever watches.
    let together = outages().filter(|outage| outage.from_s <= first.to_s);
    let (mut end_s, mut over) = (first.to_s, true);
    for outage in together {
        end_s = end_s.max(outage.to_s);
        over &= outage.completed;
    }
    if !over && !known(at_s + PATIENCE_S) {
        return None;
    }
    let end_s = if over { end_s } else { end_s.min(first.from_s + ENDLESS_S) };
    let length_s = end_s - at_s;
    Some(((at_s - 0.5 * length_s).max(0.0), end_s + (0.2 * length_s).max(0.3)))
}

/// Speed that takes about so many seconds, one significant digit.
fn round(length: Duration, seconds: f64) -> f64 {
    let speed = (length.as_secs_f64() / seconds).clamp(SPEEDS[0], SPEEDS[1]);
    let digit = libm::pow(10.0, libm::log10(speed).floor());
    (speed / digit).round() * digit
}
