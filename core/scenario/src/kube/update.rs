//! How the pods of a workload are replaced by those of a new revision, and what is wrong with a revision.

use super::int_or_percent::IntOrPercent;
use zonefall_kernel::time::Duration;

/// A rollout of a Deployment without progress for so long has failed, if nothing else is said.
pub const PROGRESS_DEADLINE: Duration = Duration::from_secs(600);

/// How pods are replaced, by which, and what users need of them meanwhile.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Update {
    /// Operations roll it out, roll it back, pause or resume its rollout, or a pipeline may roll it back: its revisions are recorded,
    /// whether anything else of its update is unusual or not.
    pub followed: bool,
    /// How pods of older revisions of a StatefulSet go.
    pub strategy: UpdateStrategy,
    /// A pod is available when it has been ready for so long (`minReadySeconds`).
    pub min_ready: Duration,
    /// A rollout of a Deployment that has made no progress for so long exceeds its deadline (`progressDeadlineSeconds`): the report says so,
    /// and the rollout goes on.
    pub progress_deadline: Option<Duration>,
    /// Its pods are replicas of one store: requests are answered while a majority of the pods wanted is ready.
    pub quorum: bool,
    /// What is wrong with the revisions that are rolled out, the first of them first; nothing with the one of the start.
    pub revisions: Vec<RevisionSpec>,
}

impl Update {
    /// Whether revisions of the workload are recorded.
    pub fn is_recorded(&self) -> bool {
        *self != Self::default()
    }

    /// What is wrong with a revision, by its number; nothing with number 0, and those beyond the list.
    pub fn revision(&self, number: u32) -> RevisionSpec {
        let place = (number as usize).checked_sub(1);
        place.and_then(|place| self.revisions.get(place)).copied().unwrap_or_default()
    }
}

/// How far a roll-out may stray from the number of replicas (`strategy.rollingUpdate`).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Rollout {
    /// More than that.
    pub max_surge: IntOrPercent,
    /// Fewer than that which are available.
    pub max_unavailable: IntOrPercent,
}

impl Default for Rollout {
    /// Those of Kubernetes.
    fn default() -> Self {
        Self { max_surge: IntOrPercent::Percent(25), max_unavailable: IntOrPercent::Percent(25) }
    }
}

/// How pods of older revisions go (`updateStrategy`).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum UpdateStrategy {
    /// The StatefulSet controller deletes them, from the highest ordinal down.
    RollingUpdate(RollingUpdate),
    /// Somebody else deletes them.
    OnDelete,
}

/// How far and how fast a rolling update goes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct RollingUpdate {
    /// Pods with lower ordinals keep the old revision.
    pub partition: u32,
    /// Pods that may be unavailable at a time; a percentage is rounded down, and at least one is meant. `None`: without the feature
    /// `MaxUnavailableStatefulSet`, one after the other from the top.
    pub max_unavailable: Option<IntOrPercent>,
}

impl Default for UpdateStrategy {
    /// That of Kubernetes.
    fn default() -> Self {
        Self::RollingUpdate(RollingUpdate { partition: 0, max_unavailable: None })
    }
}

/// What is wrong with the pods of a revision.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct RevisionSpec {
    /// They never become ready.
    pub never_ready: bool,
    /// Their process crashes when it has run for so long, and again after each restart.
    pub crashes_after: Option<Duration>,
    /// They fail this share of requests, from 0 to 1.
    pub error_rate: f64,
    /// From when they have been ready for so long.
    pub errors_after: Duration,
    /// They answer so much later.
    pub latency: Duration,
    /// From when they have been ready for so long.
    pub latency_after: Duration,
    /// While pods of other revisions are ready beside them, this share of all requests fails, from 0 to 1.
    pub error_rate_beside_others: f64,
    /// They do not replicate with pods of other revisions: a quorum consists of pods of this revision only, or of other revisions only.
    pub own_quorum: bool,
}

impl RevisionSpec {
    /// Whether anything is wrong.
    pub fn is_bad(&self) -> bool {
        let fails = self.error_rate > 0.0 || self.error_rate_beside_others > 0.0;
        self.never_ready || self.crashes_after.is_some() || fails || self.latency > Duration::ZERO || self.own_quorum
    }
}
