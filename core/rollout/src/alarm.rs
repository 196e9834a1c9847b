//! Alarms that may pause a rollout, or have it rolled back: while the scenario says so, or while too many requests fail or take long.

use std::collections::VecDeque;

use zonefall_kernel::time::{Duration, Time};
use zonefall_kube::ctx::ClusterCtx;
use zonefall_kube::spec::update::Update;
use zonefall_kube::spec::zone_aware::AlarmSpec;
use zonefall_kube::store::Store;
use zonefall_scenario::ids::WorkloadId;

use crate::rule::zone_aware_update::Alarm as State;
use crate::service::{Met, ReadyPods};

/// What the alarms of a cluster have measured.
#[derive(Clone, Debug)]
pub(crate) struct Measurements(Vec<Measured>);

/// What an alarm has measured: of requests that fail, and of their latency.
type Measured = [Option<Measurement>; 2];

impl Measurements {
    /// Nothing yet.
    pub(crate) fn new(alarms: &[AlarmSpec]) -> Self {
        let measured = |alarm: &AlarmSpec| {
            let failures = alarm.error_rate.map(|alarm| Measurement::new(alarm.workload, alarm.period));
            [failures, alarm.latency.map(|alarm| Measurement::new(alarm.workload, alarm.period))]
        };
        Self(alarms.iter().map(measured).collect())
    }

    /// Takes note of the ready pods of a workload, which may have changed.
    pub(crate) fn note(&mut self, workload: WorkloadId, store: &Store, now: Time) {
        for measurement in self.0.iter_mut().flatten().flatten().filter(|one| one.workload == workload) {
            let ready = store.pods_of(workload).filter(|(_, pod)| pod.ready && !pod.terminating);
            let pods = ready.map(|(_, pod)| (pod.revision, pod.ready_since)).collect();
            measurement.push(now, ReadyPods { wanted: store.desired(workload), pods });
        }
    }

    /// State of the alarm at a place among all now.
    pub(crate) fn state(&self, place: u16, ctx: &ClusterCtx<'_>) -> State {
        let alarm = &ctx.spec.zone_aware.alarms[usize::from(place)];
        let [failures, latencies] = &self.0[usize::from(place)];
        let update = |workload: WorkloadId| &ctx.spec.workloads[workload].update;
        let rings = alarm.rings.iter().any(|(from, to)| (*from..*to).contains(&ctx.now));
        let fails = failures.iter().zip(alarm.error_rate).any(|(measured, alarm)| {
            let met = measured.met(update(alarm.workload), ctx.now);
            met.failed / alarm.period.as_secs_f64() >= alarm.threshold
        });
        let is_slow = latencies.iter().zip(alarm.latency).any(|(measured, alarm)| {
            let met = measured.met(update(alarm.workload), ctx.now);
            let answered = measured.seconds(ctx.now) - met.failed;
            answered > 0.0 && met.added / answered >= alarm.threshold.as_secs_f64()
        });
        if rings || fails || is_slow { State::Alarm } else { State::Ok }
    }
}

/// The ready pods of a workload over a period.
#[derive(Clone, Debug)]
struct Measurement {
    workload: WorkloadId,
    period: Duration,
    /// From when on which pods were ready: oldest first, as far back as the alarm looks.
    samples: VecDeque<(Time, ReadyPods)>,
}

impl Measurement {
    const fn new(workload: WorkloadId, period: Duration) -> Self {
        Self { workload, period, samples: VecDeque::new() }
    }

    fn push(&mut self, from: Time, pods: ReadyPods) {
        let start = self.start(from);
        while self.samples.get(1).is_some_and(|(next, _)| *next <= start) {
            self.samples.pop_front();
        }
        self.samples.push_back((from, pods));
    }

    /// Start of the period that ends now: the run's, if that is later.
    fn start(&self, now: Time) -> Time {
        if now.since(Time::ZERO) > self.period { now - self.period } else { Time::ZERO }
    }

    /// Seconds of the period that are over.
    fn seconds(&self, now: Time) -> f64 {
        now.since(self.start(now)).as_secs_f64()
    }

    /// What requests met in the period until now. (They met nothing before the run.)
    fn met(&self, update: &Update, now: Time) -> Met {
        let start = self.start(now);
        let ends = self.samples.iter().skip(1).map(|(next, _)| *next).chain([now]);
        let mut met = Met::default();
        for ((from, pods), end) in self.samples.iter().zip(ends) {
            met += pods.met(start.max(*from), end, update);
        }
        met
    }
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
        let mut measured = Measurement::new(WorkloadId(0), secs(60));
        for (from, pods) in [
            (0, vec![(0, at(0)), (0, at(0))]),
            // One of two pods is new: from 110 s on it fails half of its requests, a quarter of all.
            (100, vec![(0, at(0)), (1, at(100))]),
            // Nobody serves.
            (130, vec![]),
            (136, vec![(0, at(136))]),
        ] {
            measured.push(at(from), ReadyPods { wanted: 2, pods });
        }
        for (s, failed) in [(136, 20.0 * 0.25 + 6.0), (150, 20.0 * 0.25 + 6.0), (180, 10.0 * 0.25 + 6.0), (193, 3.0), (196, 0.0)]
        {
            let found = measured.met(&update, at(s)).failed;
            assert!((found - failed).abs() < 1e-9, "{s} s: {found}");
        }
    }
}
