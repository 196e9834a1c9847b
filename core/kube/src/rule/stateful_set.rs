//! StatefulSets: one pass of their controller (`pkg/controller/statefulset/stateful_set_control.go`, `updateStatefulSet`).
//!
//! ```text
//!  wanted 0 1 2 3 4 | condemned 5 6
//!    1. missing ones are created, from the bottom up
//!    2. condemned ones are deleted, from the top down
//!    3. ones of another revision are deleted, from the top down to the partition
//! ```
//!
//! `OrderedReady` takes one step at a time and waits in 1 and 2 for each pod to be available; `Parallel` does not.

use crate::spec::update::{RollingUpdate, UpdateStrategy};
use zonefall_kernel::time::Duration;

/// A StatefulSet as its controller reads it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct StatefulSet {
    /// Pods wanted: those with the ordinals below.
    pub replicas: u32,
    /// All at once (`podManagementPolicy: Parallel`), rather than one after the other.
    pub parallel: bool,
    /// How pods of older revisions go.
    pub strategy: UpdateStrategy,
    /// A pod is available when it has been ready for so long (`minReadySeconds`).
    pub min_ready: Duration,
}

/// A pod that exists.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Pod {
    /// Its number.
    pub ordinal: u32,
    /// Its revision.
    pub revision: Revision,
    /// What has become of it.
    pub state: PodState,
}

/// A revision of a StatefulSet.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Revision {
    /// The one that is being rolled out, or was last (`updateRevision`).
    Update,
    /// Another one.
    Other,
}

/// What has become of a pod.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum PodState {
    /// It is not ready.
    Unready,
    /// It has been ready for so long.
    Ready(Duration),
    /// It is terminating.
    Terminating,
}

/// A pod that the controller creates.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Created {
    /// Its number.
    pub ordinal: u32,
    /// [`Revision::Other`]: the one that all pods had last ([`is_complete`], `currentRevision`).
    pub revision: Revision,
}

/// What a pass of the controller does.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Pass {
    /// Pods created, in order.
    pub created: Vec<Created>,
    /// Ordinals of the pods deleted, in order.
    pub deleted: Vec<u32>,
}

impl StatefulSet {
    fn is_available(&self, pod: &Pod) -> bool {
        matches!(pod.state, PodState::Ready(since) if since >= self.min_ready)
    }

    /// Revision of a pod that is created: below the partition it is the one that all pods had last (`newVersionedStatefulSetPod`).
    const fn revision_of(&self, ordinal: u32) -> Revision {
        match self.strategy {
            UpdateStrategy::RollingUpdate(RollingUpdate { partition, .. }) if ordinal < partition => Revision::Other,
            UpdateStrategy::RollingUpdate(_) | UpdateStrategy::OnDelete => Revision::Update,
        }
    }

    /// One pass over the pods, in any order.
    pub fn pass(&self, pods: &[Pod]) -> Pass {
        let (mut wanted, mut condemned) = (vec![None; self.replicas as usize], Vec::new());
        for pod in pods {
            match wanted.get_mut(pod.ordinal as usize) {
                Some(slot) => *slot = Some(*pod),
                None => condemned.push(*pod),
            }
        }
        condemned.sort_unstable_by_key(|pod| pod.ordinal);
        let mut pass = Pass::default();
        if self.create(&mut wanted, &mut pass) && self.scale_down(&condemned, &mut pass) {
            self.update(&wanted, &mut pass);
        }
        pass
    }

    /// The part of a pass that replaces pods, of which none is missing and none too many.
    pub fn update_phase(&self, pods: &[Pod]) -> Pass {
        let mut wanted = vec![None; self.replicas as usize];
        for pod in pods.iter().filter(|pod| pod.ordinal < self.replicas) {
            wanted[pod.ordinal as usize] = Some(*pod);
        }
        let mut pass = Pass::default();
        self.update(&wanted, &mut pass);
        pass
    }

    /// Creates the pods that are missing; whether the pass goes on. What is created is not ready yet, and its slot stays empty.
    fn create(&self, wanted: &mut [Option<Pod>], pass: &mut Pass) -> bool {
        for (ordinal, slot) in (0..).zip(wanted) {
            if slot.is_none() {
                pass.created.push(Created { ordinal, revision: self.revision_of(ordinal) });
            }
            if !self.parallel && !slot.is_some_and(|pod| self.is_available(&pod)) {
                return false;
            }
        }
        true
    }

    /// Deletes pods that are too many; whether the pass goes on. In order: the highest goes, if it is available or the first of those
    /// that are not.
    fn scale_down(&self, condemned: &[Pod], pass: &mut Pass) -> bool {
        let is_terminating = |pod: &Pod| pod.state == PodState::Terminating;
        if self.parallel {
            let staying = condemned.iter().rev().filter(|pod| !is_terminating(pod));
            pass.deleted.extend(staying.map(|pod| pod.ordinal));
            return true;
        }
        let Some(highest) = condemned.last() else { return true };
        let first_unavailable = condemned.iter().find(|pod| !self.is_available(pod));
        let may_go = self.is_available(highest) || first_unavailable == Some(highest);
        if !is_terminating(highest) && may_go {
            pass.deleted.push(highest.ordinal);
        }
        false
    }

    /// Deletes pods of another revision.
    fn update(&self, wanted: &[Option<Pod>], pass: &mut Pass) {
        let UpdateStrategy::RollingUpdate(RollingUpdate { partition, max_unavailable }) = self.strategy else { return };
        let is_unavailable = |slot: &Option<Pod>| !slot.is_some_and(|pod| self.is_available(&pod));
        let outdated =
            |pod: &Pod| (pod.revision != Revision::Update && pod.state != PodState::Terminating).then_some(pod.ordinal);
        let above = || wanted.iter().skip(partition as usize).rev();
        let Some(max_unavailable) = max_unavailable else {
            // The first one from the top that is outdated, or not available.
            let outdated = |slot: &Option<Pod>| slot.as_ref().and_then(outdated);
            let found = above().find(|slot| outdated(slot).is_some() || is_unavailable(slot));
            return pass.deleted.extend(found.and_then(outdated));
        };
        let most = max_unavailable.of_rounded_down(self.replicas).max(1) as usize;
        let unavailable = wanted.iter().filter(|slot| is_unavailable(slot)).count();
        pass.deleted.extend(above().flatten().filter_map(outdated).take(most.saturating_sub(unavailable)));
    }
}

/// Whether all pods are of the new revision and ready, so that a rolling update is complete: pods below the partition are created of that
/// revision from now on (`completeRollingUpdate`).
pub fn is_complete(pods: &[Pod]) -> bool {
    pods.iter().all(|pod| pod.revision == Revision::Update && matches!(pod.state, PodState::Ready(_)))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::spec::int_or_percent::IntOrPercent;
    use proptest::prelude::*;

    fn pod() -> impl Strategy<Value = (Revision, PodState)> {
        let revision = prop_oneof![Just(Revision::Update), Just(Revision::Other)];
        let since = (0..60_u64).prop_map(|s| PodState::Ready(Duration::from_secs(s)));
        (revision, prop_oneof![1 => Just(PodState::Unready), 5 => since, 1 => Just(PodState::Terminating)])
    }

    fn set() -> impl Strategy<Value = (StatefulSet, Vec<Pod>)> {
        let most = prop_oneof![
            Just(None),
            (0..6_u32).prop_map(|most| Some(IntOrPercent::Int(most))),
            (0..120_u32).prop_map(|most| Some(IntOrPercent::Percent(most)))
        ];
        let rolling = (0..8_u32, most)
            .prop_map(|(partition, max_unavailable)| UpdateStrategy::RollingUpdate(RollingUpdate { partition, max_unavailable }));
        let strategy = prop_oneof![4 => rolling, 1 => Just(UpdateStrategy::OnDelete)];
        let pods = prop::collection::btree_map(0..10_u32, pod(), 0..10);
        (0..8_u32, any::<bool>(), strategy, 0..40_u64, pods).prop_map(|(replicas, parallel, strategy, min_ready, pods)| {
            let set = StatefulSet { replicas, parallel, strategy, min_ready: Duration::from_secs(min_ready) };
            let pods = pods.into_iter().map(|(ordinal, (revision, state))| Pod { ordinal, revision, state });
            (set, pods.collect())
        })
    }

    proptest! {
        #[test]
        fn a_pass_in_order_takes_one_step_and_none_past_a_pod_that_is_not_available((set, pods) in set()) {
            let set = StatefulSet { parallel: false, ..set };
            let Pass { created, deleted } = set.pass(&pods);
            let available = |ordinal: u32| pods.iter().any(|pod| pod.ordinal == ordinal && set.is_available(pod));
            let all = (0..set.replicas).all(available);
            let surplus = pods.iter().any(|pod| pod.ordinal >= set.replicas);
            prop_assert!(created.len() <= 1);
            for created in &created {
                prop_assert!((0..created.ordinal).all(available), "created before those below it are available");
            }
            prop_assert!(deleted.is_empty() || all, "deleted while a pod is not available");
            prop_assert!(!surplus || deleted.iter().all(|ordinal| *ordinal >= set.replicas), "scaling down comes first");
        }

        #[test]
        fn an_update_never_goes_below_its_partition_nor_beyond_what_may_be_unavailable((set, pods) in set()) {
            let Pass { created, deleted } = set.pass(&pods);
            let find = |ordinal: u32| pods.iter().find(|pod| pod.ordinal == ordinal);
            let updated: Vec<_> = deleted.iter().filter(|ordinal| **ordinal < set.replicas).collect();
            for ordinal in &updated {
                let pod = find(**ordinal).expect("what is deleted is there");
                prop_assert!(pod.revision == Revision::Other && pod.state != PodState::Terminating);
            }
            prop_assert!(created.iter().all(|created| find(created.ordinal).is_none()));
            match set.strategy {
                UpdateStrategy::OnDelete => prop_assert!(updated.is_empty()),
                UpdateStrategy::RollingUpdate(RollingUpdate { partition, max_unavailable }) => {
                    prop_assert!(updated.iter().all(|ordinal| **ordinal >= partition));
                    prop_assert!(updated.is_sorted_by(|a, b| a > b));
                    let up = (0..set.replicas).filter(|ordinal| find(*ordinal).is_some_and(|pod| set.is_available(pod)));
                    let down = set.replicas - up.count() as u32;
                    // At least one may be unavailable, whatever the percentage.
                    let most = max_unavailable.map_or(1, |most| most.of_rounded_down(set.replicas).max(1));
                    prop_assert!(updated.is_empty() || max_unavailable.is_none() || down + updated.len() as u32 <= most);
                    prop_assert!(updated.len() as u32 <= most);
                }
            }
        }

        /// Deleted pods are gone at once and created ones available at once.
        #[test]
        fn a_rolling_update_ends_with_new_pods_above_the_partition_and_the_others_below((set, pods) in set()) {
            let mut pods: Vec<Pod> = pods.into_iter().map(|pod| Pod { state: PodState::Ready(set.min_ready), ..pod }).collect();
            let before = pods.clone();
            for passes in 0.. {
                prop_assert!(passes < 100, "no end");
                let Pass { created, deleted } = set.pass(&pods);
                if created.is_empty() && deleted.is_empty() {
                    break;
                }
                pods.retain(|pod| !deleted.contains(&pod.ordinal));
                pods.extend(created.iter().map(|created| Pod {
                    ordinal: created.ordinal,
                    revision: created.revision,
                    state: PodState::Ready(set.min_ready),
                }));
            }
            prop_assert_eq!(pods.len(), set.replicas as usize);
            for pod in &pods {
                let was = before.iter().find(|other| other.ordinal == pod.ordinal).map(|pod| pod.revision);
                let wanted = match set.strategy {
                    UpdateStrategy::OnDelete => was.unwrap_or(Revision::Update),
                    UpdateStrategy::RollingUpdate(update) if pod.ordinal >= update.partition => Revision::Update,
                    UpdateStrategy::RollingUpdate(_) => was.unwrap_or(Revision::Other),
                };
                prop_assert_eq!(pod.revision, wanted, "pod {}", pod.ordinal);
            }
        }
    }

    #[test]
    fn a_rolling_update_is_complete_when_all_pods_are_new_and_ready() {
        let pod = |revision, state| Pod { ordinal: 0, revision, state };
        let ready = PodState::Ready(Duration::ZERO);
        assert!(is_complete(&[]));
        assert!(is_complete(&[pod(Revision::Update, ready)]));
        for other in
            [pod(Revision::Other, ready), pod(Revision::Update, PodState::Unready), pod(Revision::Update, PodState::Terminating)]
        {
            assert!(!is_complete(&[pod(Revision::Update, ready), other]), "{other:?}");
        }
    }
}
