//! Alarms that may pause a rollout: while the scenario says so, or while too many requests fail.
//!
//! Ready pods of a workload get equal shares of its requests, and each fails the share that its revision says; without a ready pod all
//! requests fail. So the share that failed over a period is an integral of straight pieces, and no request is simulated.

use std::collections::VecDeque;

use zonefall_kernel::time::{Duration, Time};
use zonefall_kube::ctx::ClusterCtx;
use zonefall_kube::spec::update::Update;
use zonefall_kube::spec::zone_aware::{AlarmSpec, ErrorRateAlarm};
use zonefall_kube::store::Store;

use crate::rule::zone_aware_update::Alarm as State;

/// Ready pods from a moment on: the revision of each, and since when it is ready.
#[derive(Clone, Debug, PartialEq)]
struct Sample {
    from: Time,
    pods: Vec<(u32, Time)>,
}

/// What an alarm has measured.
#[derive(Clone, Debug, Default)]
pub struct Measurement {
    /// Oldest first; as far back as the alarm looks.
    samples: VecDeque<Sample>,
}

impl Measurement {
    /// Takes note of the ready pods of the workload.
    pub fn note(&mut self, alarm: &ErrorRateAlarm, store: &Store, now: Time) {
        let ready = store.pods_of(alarm.workload).filter(|(_, pod)| pod.ready && !pod.terminating);
        self.push(alarm.period, Sample { from: now, pods: ready.map(|(_, pod)| (pod.revision, pod.ready_since)).collect() });
    }

    fn push(&mut self, period: Duration, sample: Sample) {
        let start = before(sample.from, period);
        while self.samples.get(1).is_some_and(|next| next.from <= start) {
            self.samples.pop_front();
        }
        self.samples.push_back(sample);
    }

    /// Share of requests that failed in the period until now, from 0 to 1. (Nothing failed before the run.)
    pub fn error_rate(&self, period: Duration, update: &Update, now: Time) -> f64 {
        let start = before(now, period);
        let ends = self.samples.iter().skip(1).map(|next| next.from).chain([now]);
        let failed = self.samples.iter().zip(ends).map(|(sample, end)| failed(&sample.pods, start.max(sample.from), end, update));
        failed.sum::<f64>() / period.as_secs_f64()
    }
}

/// The moment so long before another one, or the start of the run.
fn before(at: Time, period: Duration) -> Time {
    if at.since(Time::ZERO) > period { at - period } else { Time::ZERO }
}

/// Seconds' worth of requests that failed from `from` to `to`, while these pods were ready: the revision of each, and since when it is ready.
pub fn failed(pods: &[(u32, Time)], from: Time, to: Time, update: &Update) -> f64 {
    let seconds = |from: Time| if to > from { to.since(from).as_secs_f64() } else { 0.0 };
    if pods.is_empty() {
        return seconds(from);
    }
    let of_pod = |(number, ready): &(u32, Time)| {
        let revision = update.revision(*number);
        revision.error_rate * seconds(from.max(*ready + revision.errors_after))
    };
    pods.iter().map(of_pod).sum::<f64>() / pods.len() as f64
}

/// State of an alarm now.
pub fn state(alarm: &AlarmSpec, measured: &Measurement, ctx: &ClusterCtx<'_>) -> State {
    let rings = alarm.rings.iter().any(|(from, to)| (*from..*to).contains(&ctx.now));
    let fails = alarm.error_rate.is_some_and(|alarm| {
        let update = &ctx.spec.workloads[alarm.workload].update;
        measured.error_rate(alarm.period, update, ctx.now) >= alarm.threshold
    });
    if rings || fails { State::Alarm } else { State::Ok }
}

#[cfg(test)]
mod tests {
    use super::*;
    use zonefall_kube::spec::update::RevisionSpec;

    #[test]
    fn the_share_of_failed_requests_is_that_of_the_ready_pods_over_the_period() {
        let (secs, at) = (Duration::from_secs, |s| Time::ZERO + Duration::from_secs(s));
        let bad = RevisionSpec { error_rate: 0.5, errors_after: secs(10), ..RevisionSpec::default() };
        let update = Update { revisions: vec![bad], ..Update::default() };
        let mut measured = Measurement::default();
        let rate = |measured: &Measurement, s| measured.error_rate(secs(60), &update, at(s));
        for (from, pods) in [
            (0, vec![(0, at(0)), (0, at(0))]),
            // One of two pods is new: from 110 s on it fails half of its requests, a quarter of all.
            (100, vec![(0, at(0)), (1, at(100))]),
            // Nobody serves.
            (130, vec![]),
            (136, vec![(0, at(136))]),
        ] {
            measured.push(secs(60), Sample { from: at(from), pods });
        }
        for (s, failed) in [(136, 20.0 * 0.25 + 6.0), (150, 20.0 * 0.25 + 6.0), (180, 10.0 * 0.25 + 6.0), (193, 3.0), (196, 0.0)]
        {
            assert!((rate(&measured, s) * 60.0 - failed).abs() < 1e-9, "{s} s: {}", rate(&measured, s) * 60.0);
        }
    }
}
