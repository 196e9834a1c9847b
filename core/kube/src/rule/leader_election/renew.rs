//! Renewals of a leader (`renew`): rounds of attempts, and when it gives up.
//!
//! ```text
//!  success --retry period--> round: attempt --retry period--> attempt ... --renew deadline after the start of the round--> gives up
//!     ^                                '------------'-- the first that succeeds ends the round
//!     '--------------------------------------------'
//! ```
//!
//! A leader draws no jitter. So it bears an API that is unavailable for more than a renew deadline since its last success, and less than a
//! retry period more.

use crate::spec::leader_election::Timings;
use zonefall_kernel::time::{Duration, Time};

/// Attempts to renew a lease, until one succeeds or the leader gives up.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Round {
    /// The first attempt.
    pub start: Time,
    /// The leader gives up then. An attempt at this moment is too late.
    pub deadline: Time,
    retry_period: Duration,
}

impl Round {
    /// The round that follows a success.
    pub fn after(success: Time, timings: &Timings) -> Self {
        let start = success + timings.retry_period;
        Self { start, deadline: start + timings.renew_deadline, retry_period: timings.retry_period }
    }

    /// Times of its attempts, as long as none succeeds.
    pub fn attempts(self) -> impl Iterator<Item = Time> {
        let next = move |attempt: &Time| Some(*attempt + self.retry_period);
        std::iter::successors(Some(self.start), next).take_while(move |attempt| *attempt < self.deadline)
    }
}

/// What becomes of a lease.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Renewals {
    /// The last success.
    pub last: Time,
    /// When the leader gives up, if it does.
    pub lost: Option<Time>,
}

/// Renewals of a leader that got its lease at `acquired`, up to and including `until`. `answers`: whether an attempt at a time succeeds.
pub fn renewals(acquired: Time, timings: &Timings, answers: impl Fn(Time) -> bool, until: Time) -> Renewals {
    let mut last = acquired;
    loop {
        let round = Round::after(last, timings);
        match round.attempts().find(|attempt| *attempt > until || answers(*attempt)) {
            Some(attempt) if attempt <= until => last = attempt,
            Some(_) => return Renewals { last, lost: None },
            None => return Renewals { last, lost: Some(round.deadline).filter(|deadline| *deadline <= until) },
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::spec::leader_election::Profile;
    use proptest::prelude::*;

    proptest! {
        /// Whatever the phase of the outage: more than the deadline is borne only if the attempts lie well, two periods more never.
        #[test]
        fn leader_bears_an_outage_of_its_deadline_less_a_period_and_none_of_a_period_more(from_ms in 0_u64..60_000, down_ms in 0_u64..20_000) {
            let timings = Profile::Core.defaults();
            let [from, down] = [from_ms, down_ms].map(Duration::from_millis);
            let is_up = |at: Time| at < Time::ZERO + from || at >= Time::ZERO + from + down;
            let lost = renewals(Time::ZERO, &timings, is_up, Time::ZERO + Duration::from_secs(200)).lost.is_some();
            let (renew, retry) = (timings.renew_deadline, timings.retry_period);
            prop_assert!(!lost || down > renew - retry);
            prop_assert!(lost || down < renew + retry);
        }
    }
}
