//! What the users of a workload meet while its pods change. No request is simulated: ready pods get equal shares of the requests, so what
//! users meet over a time is an integral of straight pieces.

use zonefall_kernel::time::{Duration, Time};
use zonefall_kube::spec::update::Update;

/// Pods of a workload that are ready over some time.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct ReadyPods {
    /// Pods wanted.
    pub wanted: u32,
    /// The revision of each, and since when it is ready.
    pub pods: Vec<(u32, Time)>,
}

/// What became of requests over a time, as the time in which all of them would have: in seconds.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Met {
    /// They failed.
    pub failed: f64,
    /// They were answered, but later than by other revisions.
    pub slow: f64,
    /// Time that revisions added to answers, in seconds, times the time of the requests.
    pub added: f64,
}

/// A majority of a replicated store.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Majority {
    /// Of this revision, which replicates with no other.
    Of(u32),
    /// Of those that replicate with each other.
    OfOthers,
}

impl ReadyPods {
    /// Whether requests can be answered at all: a pod is ready, and of a replicated store a majority.
    pub fn answer(&self, update: &Update) -> bool {
        !self.pods.is_empty() && (!update.quorum || self.majority(update).is_some())
    }

    fn majority(&self, update: &Update) -> Option<Majority> {
        let of = |number: u32| if update.revision(number).own_quorum { Majority::Of(number) } else { Majority::OfOthers };
        let count = |majority| self.pods.iter().filter(|(number, _)| of(*number) == majority).count() as u32;
        self.pods.iter().map(|(number, _)| of(*number)).find(|majority| count(*majority) * 2 > self.wanted)
    }

    /// What requests meet from a moment to another, while these pods are ready.
    pub fn met(&self, from: Time, to: Time, update: &Update) -> Met {
        let seconds = |from: Time| if to > from { to.since(from).as_secs_f64() } else { 0.0 };
        let all = seconds(from);
        let majority = self.majority(update);
        if self.pods.is_empty() || (update.quorum && majority.is_none()) {
            return Met { failed: all, ..Met::default() };
        }
        let replicates = |number: u32| match majority {
            Some(Majority::Of(one)) if update.quorum => number == one,
            Some(Majority::OfOthers) if update.quorum => !update.revision(number).own_quorum,
            _ => true,
        };
        let beside = self.beside_others(update);
        let mut met = Met::default();
        for (number, ready) in &self.pods {
            if !replicates(*number) {
                met.failed += all;
                continue;
            }
            let revision = update.revision(*number);
            let (errs, slows) = (*ready + revision.errors_after, *ready + revision.latency_after);
            met.failed += beside * all + (1.0 - beside) * revision.error_rate * seconds(from.max(errs));
            if revision.latency > Duration::ZERO {
                let answered = seconds(from.max(slows)) - revision.error_rate * seconds(from.max(slows).max(errs));
                met.slow += (1.0 - beside) * answered;
                met.added += (1.0 - beside) * answered * revision.latency.as_secs_f64();
            }
        }
        let pods = self.pods.len() as f64;
        Met { failed: met.failed / pods, slow: met.slow / pods, added: met.added / pods }
    }

    /// Share of requests that fail because pods of several revisions are ready.
    fn beside_others(&self, update: &Update) -> f64 {
        let of_one = |(number, _): &(u32, Time)| {
            let others = self.pods.iter().any(|(other, _)| other != number);
            if others { update.revision(*number).error_rate_beside_others } else { 0.0 }
        };
        self.pods.iter().map(of_one).fold(0.0, f64::max)
    }
}

impl std::ops::AddAssign for Met {
    fn add_assign(&mut self, more: Self) {
        self.failed += more.failed;
        self.slow += more.slow;
        self.added += more.added;
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;
    use zonefall_kube::spec::update::RevisionSpec;

    const fn at(s: u64) -> Time {
        Time::from_nanos(s * 1_000_000_000)
    }

    fn of(wanted: u32, pods: &[(u32, u64)]) -> ReadyPods {
        ReadyPods { wanted, pods: pods.iter().map(|(number, s)| (*number, at(*s))).collect() }
    }

    fn met(pods: &ReadyPods, update: &Update) -> Met {
        pods.met(at(100), at(200), update)
    }

    fn is(found: f64, expected: f64) {
        assert!((found - expected).abs() < 1e-9, "{found} instead of {expected}");
    }

    fn with(quorum: bool, first: RevisionSpec) -> Update {
        Update { quorum, revisions: vec![first], ..Update::default() }
    }

    #[test]
    fn without_a_ready_pod_all_requests_fail() {
        is(met(&of(3, &[]), &Update::default()).failed, 100.0);
        is(met(&of(3, &[(0, 0)]), &Update::default()).failed, 0.0);
    }

    #[test]
    fn a_revision_that_is_slow_after_a_time_slows_its_share() {
        let (latency, latency_after) = (Duration::from_millis(500), Duration::from_secs(40));
        let slow = RevisionSpec {
            latency,
            latency_after,
            error_rate: 0.5,
            errors_after: Duration::from_secs(90),
            ..RevisionSpec::default()
        };
        // Ready at 110 s: slow from 150 s on, half of its requests fail from 200 s on.
        let found = met(&of(2, &[(0, 0), (1, 110)]), &with(false, slow));
        is(found.slow, 50.0 / 2.0);
        is(found.added, 0.5 * 50.0 / 2.0);
        is(found.failed, 0.0);
        // Ready at 60 s: slow throughout, and from 150 s on half of what is slow fails.
        let found = met(&of(1, &[(1, 60)]), &with(false, slow));
        is(found.failed, 25.0);
        is(found.slow, 75.0);
    }

    #[test]
    fn a_revision_that_breaks_beside_others_serves_without_errors_alone() {
        let update = with(false, RevisionSpec { error_rate_beside_others: 0.4, ..RevisionSpec::default() });
        for (pods, failed) in [(&[(0, 0), (0, 0)][..], 0.0), (&[(0, 0), (1, 0), (1, 0)], 40.0), (&[(1, 0), (1, 0)], 0.0)] {
            is(met(&of(3, pods), &update).failed, failed);
        }
    }

    #[test]
    fn a_store_answers_while_more_than_half_of_the_pods_wanted_are_ready() {
        let update = with(true, RevisionSpec::default());
        for (wanted, ready, answers) in [(3, 2, true), (3, 1, false), (4, 2, false), (4, 3, true), (5, 3, true), (1, 1, true)] {
            let pods = of(wanted, &vec![(0, 0); ready]);
            assert_eq!(pods.answer(&update), answers, "{ready} of {wanted}");
            is(met(&pods, &update).failed, if answers { 0.0 } else { 100.0 });
        }
    }

    #[test]
    fn a_revision_that_does_not_replicate_with_others_splits_the_store() {
        let update = with(true, RevisionSpec { own_quorum: true, ..RevisionSpec::default() });
        for (old, new, failed) in [(5, 0, 0.0), (4, 1, 20.0), (3, 2, 40.0), (2, 2, 100.0), (2, 3, 40.0), (0, 5, 0.0)] {
            let pods = [vec![(0, 0); old], vec![(1, 0); new]].concat();
            is(met(&of(5, &pods), &update).failed, failed);
        }
    }

    proptest! {
        #[test]
        fn outcome_of_a_period_is_the_sum_of_its_parts(
            ready in proptest::collection::vec((0..3_u32, 0..300_u64), 0..6), cut in 0..=300_u64, quorum: bool, own_quorum: bool,
            rates in [0.0..1.0, 0.0..1.0], after in [0..100_u64, 0..100_u64],
        ) {
            let [error_rate, error_rate_beside_others] = rates;
            let [errors_after, latency_after] = after.map(Duration::from_secs);
            let latency = Duration::from_millis(300);
            let bad = RevisionSpec {
                error_rate, errors_after, latency, latency_after, error_rate_beside_others, own_quorum, ..RevisionSpec::default()
            };
            let (pods, update) = (of(5, &ready), with(quorum, bad));
            let mut parts = pods.met(at(0), at(cut), &update);
            parts += pods.met(at(cut), at(300), &update);
            let whole = pods.met(at(0), at(300), &update);
            for (part, whole) in [(parts.failed, whole.failed), (parts.slow, whole.slow), (parts.added, whole.added)] {
                prop_assert!((part - whole).abs() < 1e-6, "{part} and {whole}");
            }
            prop_assert!(whole.failed + whole.slow <= 300.0 + 1e-6);
        }
    }
}
