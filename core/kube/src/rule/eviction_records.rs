//! Evictions that the API has granted and whose pods have not gone yet: the status of a budget lists them (`disruptedPods`), so that its
//! controller does not count on them (`buildDisruptedPodMap` and `countHealthyPods` in `pkg/controller/disruption/disruption.go`).

use std::collections::BTreeMap;

use zonefall_kernel::time::{Duration, Time};

/// A pod that was to go and has not gone after so long is counted on again (`DeletionTimeout`).
pub const TIMEOUT: Duration = Duration::from_secs(120);

/// When each pod's eviction was granted, by the pods' names.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct EvictionRecords<Name: Ord>(BTreeMap<Name, Time>);

impl<Name: Ord + Clone> Default for EvictionRecords<Name> {
    fn default() -> Self {
        Self::new()
    }
}

impl<Name: Ord + Clone> EvictionRecords<Name> {
    /// No eviction was granted.
    pub const fn new() -> Self {
        Self(BTreeMap::new())
    }

    /// Notes that a pod's eviction was granted.
    pub fn add(&mut self, pod: Name, at: Time) {
        self.0.insert(pod, at);
    }

    /// How many there are.
    pub fn len(&self) -> usize {
        self.0.len()
    }

    /// There are none.
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// Whether the eviction of a pod is recorded, however long ago it was granted.
    pub fn contains(&self, pod: &Name) -> bool {
        self.0.contains_key(pod)
    }

    /// Whether a pod is to go any moment.
    pub fn is_disrupted(&self, pod: &Name, now: Time) -> bool {
        self.0.get(pod).is_some_and(|at| *at + TIMEOUT > now)
    }

    /// The records that stay: of pods that exist, are not terminating yet, and were to go by now or later. `pods`: the name of each that
    /// exists, and whether it is terminating.
    #[must_use]
    pub fn kept(&self, pods: impl IntoIterator<Item = (Name, bool)>, now: Time) -> Self {
        let stay = pods.into_iter().filter(|(_, is_terminating)| !is_terminating);
        let stay = stay.filter_map(|(pod, _)| self.0.get(&pod).map(|at| (pod, *at)));
        Self(stay.filter(|(_, at)| *at + TIMEOUT >= now).collect())
    }

    /// When the first of them is counted on again.
    pub fn first_timeout(&self) -> Option<Time> {
        self.0.values().min().map(|at| *at + TIMEOUT)
    }

    /// Each with its time, in the order of the names.
    pub fn iter(&self) -> impl Iterator<Item = (&Name, Time)> {
        self.0.iter().map(|(pod, at)| (pod, *at))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_record_stays_while_its_pod_is_to_go() {
        let at = |s| Time::ZERO + Duration::from_secs(s);
        let mut records = EvictionRecords::new();
        for (pod, s) in [("a", 880), ("b", 879), ("c", 900), ("d", 901), ("e", 999)] {
            records.add(pod, at(s));
        }
        let now = at(1_000);
        // `d` is terminating, `e` is gone, and `f` was never evicted.
        let kept = records.kept([("f", false), ("d", true), ("c", false), ("b", false), ("a", false)], now);
        assert_eq!(kept.iter().collect::<Vec<_>>(), [(&"a", at(880)), (&"c", at(900))]);
        assert_eq!(kept.first_timeout(), Some(now));
        // At the very moment of its time-out a pod is counted on again, and still recorded.
        assert_eq!(["a", "b", "c"].map(|pod| records.is_disrupted(&pod, now)), [false, false, true]);
    }
}
