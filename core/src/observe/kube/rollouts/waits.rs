//! What rollouts that are not complete wait for.

use super::{Rollouts, names};
use crate::ids::{KubeClusterId, WorkloadId};
use crate::kernel::time::Time;
use crate::kube::name::PodName;
use crate::kube::spec::update::UpdateStrategy;
use crate::kube::spec::{Kind, Workload};

impl Rollouts {
    /// In plain words, as it stands at a moment.
    pub(super) fn waits_for(&self, at: Time, cluster: KubeClusterId, id: WorkloadId) -> Option<String> {
        let (workload, spec) = (&self.workloads[&(cluster, id)], &self.scenario.kube.clusters[cluster]);
        if let Some(verdict) = workload.verdict {
            return Some(verdict.to_owned());
        }
        if workload.paused {
            return Some("is paused".to_owned());
        }
        let Workload { update, kind, .. } = &spec.workloads[id];
        let revision = workload.revisions.1;
        if update.strategy == UpdateStrategy::OnDelete && workload.has_outdated(revision) {
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
