//! Timings of leader elections: which are valid, the usual ones, and what follows from them (client-go `tools/leaderelection`;
//! openshift/library-go `pkg/config/leaderelection`).

use zonefall_kernel::time::Duration;

/// Timings of the processes that take part in an election.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Timings {
    /// Others wait this long since they saw the lease change (`leaseDuration`).
    pub lease_duration: Duration,
    /// A leader gives up when it has tried to renew its lease for this long (`renewDeadline`).
    pub renew_deadline: Duration,
    /// Between two attempts of a leader (`retryPeriod`); others add up to 1.2 times as much.
    pub retry_period: Duration,
}

/// Why an election cannot be configured like this.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Invalid {
    /// The lease is not longer than the renew deadline.
    Lease,
    /// The renew deadline is not longer than 1.2 retry periods.
    Renew,
    /// The retry period is zero.
    Retry,
    /// The candidate has no name.
    Identity,
}

/// Who chose the timings.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Profile {
    /// Kubernetes' own components (client-go, comments of `LeaderElectionConfig`).
    Core,
    /// Operators and components of OpenShift (`LeaderElectionDefaulting`).
    OpenShift,
    /// The same in a cluster of a single node (`LeaderElectionSNOConfig`), which ignores what is configured.
    OpenShiftSingleNode,
}

/// Timings that a component was configured with; zero counts as not given.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Given {
    /// Duration of its lease.
    pub lease_duration: Option<Duration>,
    /// Deadline of its renewals.
    pub renew_deadline: Option<Duration>,
    /// Period of its attempts.
    pub retry_period: Option<Duration>,
}

impl Timings {
    /// Timings in seconds.
    pub const fn from_secs(lease_duration: u64, renew_deadline: u64, retry_period: u64) -> Self {
        Self {
            lease_duration: Duration::from_secs(lease_duration),
            renew_deadline: Duration::from_secs(renew_deadline),
            retry_period: Duration::from_secs(retry_period),
        }
    }

    /// Whether the lease outlives the attempts to renew it.
    pub fn lease_is_long_enough(&self) -> bool {
        self.lease_duration > self.renew_deadline
    }

    /// Whether the renew deadline is longer than a retry period with the jitter of candidates (`JitterFactor`, 1.2).
    pub fn renew_deadline_is_long_enough(&self) -> bool {
        u128::from(self.renew_deadline.as_nanos()) * 10 > u128::from(self.retry_period.as_nanos()) * 12
    }

    /// Whether a candidate of this name can take part (`NewLeaderElector`).
    ///
    /// # Errors
    /// The first reason, in the order of [`Invalid`].
    pub fn check(&self, identity: &str) -> Result<(), Invalid> {
        let rules = [
            (self.lease_is_long_enough(), Invalid::Lease),
            (self.renew_deadline_is_long_enough(), Invalid::Renew),
            (self.retry_period > Duration::ZERO, Invalid::Retry),
            (!identity.is_empty(), Invalid::Identity),
        ];
        rules.into_iter().find(|(holds, _)| !holds).map_or(Ok(()), |(_, why)| Err(why))
    }

    /// Whole retry periods within the renew deadline.
    pub fn retries(&self) -> u64 {
        self.renew_deadline.as_nanos() / self.retry_period.as_nanos()
    }

    /// How far clocks may be apart.
    pub fn clock_skew(&self) -> Duration {
        self.lease_duration - self.renew_deadline
    }

    /// A request for the lease that takes this long has failed (`NewFromKubeconfig`, client-go `resourcelock/interface.go`).
    pub fn request_timeout(&self) -> Duration {
        self.renew_deadline / 2
    }

    /// From when a leader that cannot renew its lease gives up until others may take it: a retry period and a renew deadline against a
    /// lease duration after the last renewal (`renew`). Zero where others may take it sooner ([`Self::overlap`]).
    pub fn margin(&self) -> Duration {
        self.lease_duration - (self.renew_deadline + self.retry_period)
    }

    /// How long two processes may believe that they lead, because others may take the lease before the leader gives up.
    pub fn overlap(&self) -> Duration {
        self.renew_deadline + self.retry_period - self.lease_duration
    }

    /// How long the API may be unavailable without a lease being lost, as library-go counts it: the renew deadline from the last success.
    /// (client-go counts it from the first attempt after that.)
    pub fn downtime(&self) -> Duration {
        self.retry_period * self.retries().saturating_sub(1)
    }

    /// The longest until another leads after a crash, without the jitter of candidates.
    pub fn worst_takeover_after_crash(&self) -> Duration {
        self.lease_duration + self.retry_period
    }

    /// The longest until another leads after the lease was released, without the jitter of candidates.
    pub const fn worst_takeover_after_release(&self) -> Duration {
        self.retry_period
    }
}

impl Profile {
    /// Timings where nothing is configured.
    pub const fn defaults(self) -> Timings {
        match self {
            Self::Core => Timings::from_secs(15, 10, 2),
            Self::OpenShift => Timings::from_secs(137, 107, 26),
            Self::OpenShiftSingleNode => Timings::from_secs(270, 240, 60),
        }
    }

    /// Timings of a component with a configuration.
    pub fn timings(self, given: &Given) -> Timings {
        let defaults = self.defaults();
        if self == Self::OpenShiftSingleNode {
            return defaults;
        }
        let or = |given: Option<Duration>, default| given.filter(|given| *given > Duration::ZERO).unwrap_or(default);
        Timings {
            lease_duration: or(given.lease_duration, defaults.lease_duration),
            renew_deadline: or(given.renew_deadline, defaults.renew_deadline),
            retry_period: or(given.retry_period, defaults.retry_period),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn timings_are_checked_in_the_order_of_client_go() {
        for (timings, identity, expected) in [
            ((15, 10, 2), "a", Ok(())),
            ((10, 10, 9), "", Err(Invalid::Lease)),
            ((15, 12, 10), "", Err(Invalid::Renew)),
            ((15, 10, 0), "", Err(Invalid::Retry)),
            ((15, 10, 2), "", Err(Invalid::Identity)),
        ] {
            let (lease, renew, retry) = timings;
            assert_eq!(Timings::from_secs(lease, renew, retry).check(identity), expected, "{timings:?}");
        }
    }

    #[test]
    fn leader_gives_up_before_others_may_take_its_lease_but_for_long_retry_periods() {
        for ((lease, renew, retry), margin, overlap) in
            [((15, 10, 2), 3, 0), ((137, 107, 26), 4, 0), ((270, 240, 60), 0, 30), ((15, 10, 5), 0, 0)]
        {
            let timings = Timings::from_secs(lease, renew, retry);
            let [margin, overlap] = [margin, overlap].map(Duration::from_secs);
            assert_eq!((timings.margin(), timings.overlap()), (margin, overlap), "{timings:?}");
        }
    }

    #[test]
    fn defaults_of_all_profiles_are_valid_and_those_of_a_single_node_are_fixed() {
        let given = Given { retry_period: Some(Duration::from_secs(1)), ..Given::default() };
        for profile in [Profile::Core, Profile::OpenShift, Profile::OpenShiftSingleNode] {
            assert_eq!(profile.defaults().check("a"), Ok(()));
            assert_eq!(profile.timings(&Given::default()), profile.defaults());
            let is_fixed = profile == Profile::OpenShiftSingleNode;
            assert_eq!(profile.timings(&given) == profile.defaults(), is_fixed, "{profile:?}");
        }
    }
}
