//! Deployments: how far the new ReplicaSet may grow and the old ones may shrink; and which of its pods a ReplicaSet deletes
//! (`pkg/controller/deployment/util/deployment_util.go`, `pkg/controller/deployment/rolling.go`, `pkg/controller/controller_utils.go`).

use std::cmp::Reverse;

use crate::spec::int_or_percent::IntOrPercent;
use zonefall_kernel::time::Duration;

/// How far a rollout may stray from the number of pods wanted.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct RollingUpdate {
    /// Pods wanted.
    pub replicas: u32,
    /// Pods more than that.
    pub surge: u32,
    /// Pods fewer than that which are available; at most `replicas`.
    pub unavailable: u32,
}

impl RollingUpdate {
    /// The numbers of `maxSurge`, rounded up, and `maxUnavailable`, rounded down. Where both are none, one may be unavailable: a rollout
    /// must be able to go on.
    pub fn new(replicas: u32, max_surge: IntOrPercent, max_unavailable: IntOrPercent) -> Self {
        let surge = max_surge.of_rounded_up(replicas);
        let unavailable = match max_unavailable.of_rounded_down(replicas) {
            0 if surge == 0 => 1,
            unavailable => unavailable,
        };
        Self { replicas, surge, unavailable: unavailable.min(replicas) }
    }

    /// Pods that are to stay available.
    const fn least(&self) -> u32 {
        self.replicas - self.unavailable
    }

    /// Pods that the old ReplicaSets (the oldest first) and the new one are to have: first the new one grows, then the old ones shrink.
    pub fn sizes(&self, new: ReplicaSet, old: &[ReplicaSet]) -> Vec<u32> {
        let new = ReplicaSet { desired: self.grown(new, old), ..new };
        let mut sizes = if old.is_empty() { Vec::new() } else { self.shrunk(new, old) };
        sizes.push(new.desired);
        sizes
    }

    /// Pods the new ReplicaSet is to have: as many as are wanted, as far as surge allows.
    pub fn grown(&self, new: ReplicaSet, old: &[ReplicaSet]) -> u32 {
        if new.desired >= self.replicas {
            return self.replicas;
        }
        let all = new.desired + old.iter().map(|set| set.desired).sum::<u32>();
        let room = (self.replicas + self.surge).saturating_sub(all);
        new.desired + room.min(self.replicas - new.desired)
    }

    /// Pods the old ReplicaSets (the oldest first) are to have: those that are not available go first, then as many as are available
    /// beyond the fewest.
    pub fn shrunk(&self, new: ReplicaSet, old: &[ReplicaSet]) -> Vec<u32> {
        let mut sizes: Vec<u32> = old.iter().map(|set| set.desired).collect();
        let all = new.desired + sizes.iter().sum::<u32>();
        let not_yet = new.desired.saturating_sub(new.available);
        let mut room = all.saturating_sub(self.least() + not_yet);
        if room == 0 {
            return sizes;
        }
        for (size, set) in sizes.iter_mut().zip(old) {
            take(size, set.desired.saturating_sub(set.available), &mut room);
        }
        let available = new.available + old.iter().map(|set| set.available).sum::<u32>();
        let mut spare = available.saturating_sub(self.least());
        for size in &mut sizes {
            take(size, u32::MAX, &mut spare);
        }
        sizes
    }
}

/// Takes at most `most` of a size, as long as there is any `room`.
fn take(size: &mut u32, most: u32, room: &mut u32) {
    let taken = most.min(*size).min(*room);
    (*size, *room) = (*size - taken, *room - taken);
}

/// A ReplicaSet as its Deployment sees it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ReplicaSet {
    /// Pods it is to have.
    pub desired: u32,
    /// Pods of it that are available.
    pub available: u32,
}

/// A pod of a ReplicaSet that has too many.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Candidate {
    /// It has a node.
    pub assigned: bool,
    /// It runs.
    pub running: bool,
    /// It has been ready for so long; `None`: it is not.
    pub ready: Option<Duration>,
    /// Pods of all ReplicaSets of its owner on its node.
    pub siblings: u32,
    /// Most restarts of a container of it.
    pub restarts: u32,
    /// It has been there for so long.
    pub age: Duration,
    /// A number of its own, drawn: pods that are alike but for this one go by chance.
    pub uid: u64,
}

impl Candidate {
    /// Pods of a lower rank are deleted first. Times are compared by their powers of two (`LogarithmicScaleDown`). (The source lets the
    /// uid decide before the restarts where two pods became ready at different times; that is no order, as three pods can show.)
    pub fn rank(&self) -> impl Ord + use<> {
        let power = |time: Duration| time.as_nanos().checked_ilog2();
        let ready = self.ready.map(power);
        (
            self.assigned,
            self.running,
            ready.is_some(),
            Reverse(self.siblings),
            ready,
            Reverse(self.restarts),
            power(self.age),
            self.uid,
        )
    }
}

#[cfg(test)]
mod tests {
    use super::IntOrPercent::{Int, Percent};
    use super::*;
    use proptest::prelude::*;

    const fn set(desired: u32, available: u32) -> ReplicaSet {
        ReplicaSet { desired, available }
    }

    #[test]
    fn surge_is_rounded_up_and_unavailable_down() {
        // The first four as in `deployment_util_test.go`, `TestResolveFenceposts` (which leaves one of none unavailable).
        for (max_surge, max_unavailable, replicas, surge, unavailable) in [
            (Percent(0), Percent(0), 0, 0, 0),
            (Percent(39), Percent(39), 10, 4, 3),
            (Percent(0), Percent(19), 10, 0, 1),
            (Percent(0), Percent(0), 10, 0, 1),
            (Int(0), Int(0), 10, 0, 1),
            (Percent(25), Percent(25), 3, 1, 0),
            (Percent(25), Percent(25), 4, 1, 1),
            (Int(1), Int(20), 10, 1, 10),
        ] {
            let found = RollingUpdate::new(replicas, max_surge, max_unavailable);
            assert_eq!(found, RollingUpdate { replicas, surge, unavailable }, "{max_surge}, {max_unavailable} of {replicas}");
        }
    }

    #[test]
    fn the_new_one_grows() {
        // `rolling_test.go`, `TestDeploymentController_reconcileNewReplicaSet`: replicas, surge, old and new size; size to have.
        for (replicas, surge, old, new, desired) in
            [(10, 0, 10, 0, 0), (10, 2, 10, 0, 2), (10, 2, 5, 0, 7), (10, 2, 10, 2, 2), (10, 2, 2, 11, 10)]
        {
            let update = RollingUpdate::new(replicas, Int(surge), Int(0));
            assert_eq!(update.grown(set(new, new), &[set(old, old)]), desired, "{update:?}");
        }
    }

    #[test]
    fn the_old_ones_shrink() {
        // The first four as in `rolling_test.go`, `TestDeploymentController_reconcileOldReplicaSets`.
        let ten = |unavailable| RollingUpdate::new(10, Int(2), Int(unavailable));
        for (unavailable, new, old, sizes) in [
            (0, set(0, 0), vec![set(10, 10)], vec![10]),
            (2, set(0, 0), vec![set(10, 10)], vec![8]),
            (2, set(0, 0), vec![set(10, 8)], vec![8]),
            (2, set(0, 0), vec![set(10, 9)], vec![8]),
            (2, set(2, 0), vec![set(8, 8)], vec![8]),
            // Room for two only, unhealthy ones of the older first.
            (2, set(0, 0), vec![set(4, 1), set(6, 6)], vec![2, 6]),
            // Available ones to spare.
            (2, set(4, 4), vec![set(3, 3), set(5, 5)], vec![0, 4]),
        ] {
            assert_eq!(ten(unavailable).shrunk(new, &old), sizes, "{unavailable}, {new:?}, {old:?}");
        }
    }

    proptest! {
        #[test]
        fn a_rollout_ends_and_keeps_within_its_bounds(replicas in 1..12_u32, surge in 0..5_u32, unavailable in 0..5_u32) {
            let update = RollingUpdate::new(replicas, Int(surge), Int(unavailable));
            let (mut new, mut old) = (set(0, 0), [set(replicas, replicas)]);
            for _ in 0..=2 * replicas {
                new.desired = update.grown(new, &old);
                prop_assert!(new.desired + old[0].desired <= replicas + update.surge);
                old = [update.shrunk(new, &old)[0]].map(|left| set(left, left));
                prop_assert!(new.available + old[0].available >= update.least());
                new.available = new.desired;
            }
            prop_assert_eq!((new.desired, old[0].desired), (replicas, 0));
        }
    }

    #[test]
    fn pods_that_would_be_missed_least_go_first() {
        let secs = Duration::from_secs;
        let pod = Candidate {
            assigned: true,
            running: true,
            ready: Some(secs(1_000)),
            siblings: 1,
            restarts: 0,
            age: secs(2_000),
            uid: 5,
        };
        // Each goes before the next.
        let ranked = [
            Candidate { assigned: false, running: false, ready: None, ..pod },
            Candidate { running: false, ready: None, ..pod },
            Candidate { ready: None, siblings: 2, ..pod },
            Candidate { ready: None, restarts: 3, ..pod },
            Candidate { ready: None, age: secs(1), ..pod },
            Candidate { ready: None, ..pod },
            Candidate { siblings: 2, restarts: 1, ..pod },
            Candidate { ready: Some(Duration::ZERO), ..pod },
            Candidate { ready: Some(secs(400)), ..pod },
            Candidate { restarts: 1, ..pod },
            Candidate { age: secs(900), ..pod },
            Candidate { uid: 4, ..pod },
            pod,
            Candidate { ready: Some(secs(1_050)), age: secs(1_900), uid: 6, ..pod },
        ];
        assert!(ranked.is_sorted_by(|a, b| a.rank() < b.rank()));
    }
}
