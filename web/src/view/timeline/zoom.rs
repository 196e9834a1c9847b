//! Which part of a run there is to see: more, less, all, or what belongs to one outage.
//!
//! ```text
//!   fault - outage begins ------ outage ends
//!   [ lead |                    |   tail    ]     the range: an outage of a second in a run of an hour fills the timeline
//! ```

use zonefall_core::kernel::time::Time;
use zonefall_core::report::{EtcdReport, Report};

use super::axis::Range;

/// Another part of the run is wanted.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Zoom {
    /// Less, larger.
    In,
    /// Shows more of the run.
    Out,
    /// All of it.
    All,
    /// The outage that is nearest to the playhead.
    Outage,
}

impl Zoom {
    /// The range it comes to; `at` is the playhead. Without an outage there is nothing nearer: the range stays.
    pub fn of(self, range: Range, at_s: f64, end: Time, report: Option<&Report>, cluster: &str) -> Range {
        let about = if (range.from_s..=range.to_s).contains(&at_s) { at_s } else { f64::midpoint(range.from_s, range.to_s) };
        match self {
            Self::In => range.zoomed(0.25, about, end),
            Self::Out => range.zoomed(4.0, about, end),
            Self::All => Range::whole(end),
            Self::Outage => {
                report.and_then(|report| outage(report, report.etcd.get(cluster)?, at_s, end)).map_or(range, |(found, _)| found)
            }
        }
    }
}

/// Room before an outage and after it, in parts of its length.
const LEAD: f64 = 0.25;
const TAIL: f64 = 0.6;

/// The part of the run around the outage that is nearest to a moment, from the fault that led to it; and how far off the moment is,
/// in seconds. Services that are gone together are one outage.
pub fn outage(report: &Report, cluster: &EtcdReport, at_s: f64, end: Time) -> Option<(Range, f64)> {
    let outages = || cluster.outages.iter();
    let off = |from_s: f64, to_s: f64| (from_s - at_s).max(at_s - to_s).max(0.0);
    let near = outages().min_by(|a, b| off(a.from_s, a.to_s).total_cmp(&off(b.from_s, b.to_s)))?;
    let (mut from_s, mut to_s) = (near.from_s, near.to_s);
    for other in outages().filter(|o| o.from_s <= near.to_s && o.to_s >= near.from_s) {
        (from_s, to_s) = (from_s.min(other.from_s), to_s.max(other.to_s));
    }
    let length = to_s - from_s;
    let faults = report.faults.iter().map(|fault| fault.from_s);
    let cause_s = faults.filter(|s| (from_s - length..=from_s).contains(s)).fold(from_s, f64::min);
    let length = to_s - cause_s;
    let found = Range { from_s: (cause_s - LEAD * length).max(0.0), to_s: (to_s + TAIL * length).min(end.as_secs_f64()) };
    Some((found.zoomed(1.0, from_s, end), off(from_s, to_s)))
}

/// Where the timeline goes with a moment of the verdict: to the outage it is of, or near it; `None` where it is of none.
pub fn visit(report: &Report, cluster: &str, at_s: f64, end: Time) -> Option<Range> {
    let (range, off_s) = outage(report, report.etcd.get(cluster)?, at_s, end)?;
    (off_s <= 0.5 * range.length()).then_some(range)
}

/// Real seconds that are in sight when something was done.
const IN_SIGHT_S: f64 = 15.0;

/// The part of the run in which what was just done can be watched at this speed; never more than is shown.
#[must_use]
pub fn watch(range: Range, at: Time, speed: f64, end: Time) -> Range {
    let length = IN_SIGHT_S * speed;
    if length >= range.length() {
        return range;
    }
    let from_s = at.as_secs_f64() - 0.15 * length;
    Range { from_s, to_s: from_s + length }.zoomed(1.0, from_s, end)
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::sync::Arc;
    use zonefall_core::run::{Run, lasting};
    use zonefall_core::scenario::{Scenario, default_scenario};
    use zonefall_core::sim::Options;

    const END: Time = Time::from_nanos(2_100_000_000_000);

    fn report() -> Report {
        let at = Time::from_nanos(70_000_000_000);
        let scenario = Scenario::from_json(default_scenario().json).unwrap();
        let mut run = Run::new(&Arc::new(lasting(&scenario, at.since(Time::ZERO))), 1, Options::default());
        run.advance(at, &mut |_, _| {});
        run.report()
    }

    #[test]
    fn an_outage_of_a_second_fills_the_timeline() {
        let report = report();
        let near = visit(&report, "etcd-main", 61.722, END).unwrap();
        let outage = &report.etcd["etcd-main"].outages[0];
        assert!(near.from_s < 60.0 && near.to_s > outage.to_s, "{near:?}");
        assert!(near.length() < 3.0 * (outage.to_s - outage.from_s), "{near:?}");
        assert_eq!(visit(&report, "etcd-main", 1_860.0, END), None);
        assert_eq!(visit(&report, "nobody", 61.0, END), None);
    }

    #[test]
    fn zooming_goes_near_and_back() {
        let report = report();
        let whole = Range::whole(END);
        let to = |zoom: Zoom, range| zoom.of(range, 1_000.0, END, Some(&report), "etcd-main");
        let near = to(Zoom::Outage, whole);
        assert!(near.length() < 10.0 && (near.from_s..near.to_s).contains(&60.0), "{near:?}");
        assert_eq!(to(Zoom::All, near), whole);
        assert!(to(Zoom::In, whole).length() < to(Zoom::Out, to(Zoom::In, whole)).length());
        assert_eq!(Zoom::Outage.of(near, 0.0, END, None, "etcd-main"), near);
    }

    #[test]
    fn what_was_done_is_watched_near_but_never_farther_than_before() {
        let whole = Range::whole(END);
        let at = Time::from_nanos(30_000_000_000);
        let near = watch(whole, at, 1.0, END);
        assert!((near.length() - 15.0).abs() < 1e-6 && (near.from_s..near.to_s).contains(&30.0), "{near:?}");
        assert_eq!(watch(near, at, 1_000.0, END), near);
        assert_eq!(watch(whole, at, 1_000.0, END), whole);
        let first = watch(whole, Time::ZERO, 1.0, END);
        assert!(first.from_s == 0.0, "{first:?}");
    }
}
