//! What rollouts that are not complete wait for.

use super::{Rollouts, names};
use crate::ids::{KubeClusterId, WorkloadId};
use crate::kernel::time::{Duration, Time};
use crate::kube::name::PodName;
use crate::kube::spec::update::UpdateStrategy;
use crate::kube::spec::{Kind, Workload};
use crate::rollout::rule::zone_aware_update::Verdict;

/// So soon after a rollout was asked for its controllers may not have looked yet.
const LOOK: Duration = Duration::from_secs(1);

impl Rollouts {
    /// Whether the last rollout of a workload was asked for just now, and nobody has done anything about it yet.
    pub(super) fn is_unseen(&self, at: Time, cluster: KubeClusterId, id: WorkloadId) -> bool {
        let workload = &self.workloads[&(cluster, id)];
        !workload.seen && workload.row.is_some_and(|row| at < self.rows[row].asked + LOOK)
    }

    /// In plain words, as it stands at a moment.
    pub(super) fn waits_for(&self, at: Time, cluster: KubeClusterId, id: WorkloadId) -> Option<String> {
        let (workload, spec) = (&self.workloads[&(cluster, id)], &self.scenario.kube.clusters[cluster]);
        // It is done with the revision before until it looks again.
        if let Some(verdict) = workload.verdict.filter(|verdict| *verdict != Verdict::Done) {
            return Some(verdict.describe().to_owned());
        }
        if workload.paused {
            return Some("is paused".to_owned());
        }
        let Workload { update, kind, .. } = &spec.workloads[id];
        let revision = workload.revisions.1;
        let deletes = spec.zone_aware.updates.iter().any(|update| update.workload == id);
        if update.strategy == UpdateStrategy::OnDelete && !deletes && workload.has_outdated(revision) {
            return Some("waits for somebody to delete its pods (`update.on_delete`)".to_owned());
        }
        // Pods of a Deployment have names that nobody knows.
        let is_deployment = *kind == Kind::Deployment;
        let words = |pods: &[PodName], to_be: &str| match pods {
            [] => None,
            [_] if is_deployment => Some(format!("waits for a new pod to be {to_be}")),
            pods if is_deployment => Some(format!("waits for {} new pods to be {to_be}", pods.len())),
            pods => Some(format!("waits for {} to be {to_be}", names(pods, spec))),
        };
        let down = if is_deployment { workload.not_up(revision) } else { workload.down(id) };
        words(&down, "ready").or_else(|| words(&workload.not_available(revision, update, at), "available (`min_ready`)"))
    }
}
