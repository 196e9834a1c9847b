//! Taints of nodes, and what pods tolerate (`component-helpers/scheduling/corev1`, `api/core/v1/toleration.go`,
//! `pkg/controller/tainteviction`).

use zonefall_kernel::time::Duration;
pub use zonefall_scenario::kube::taints::{Effect, Match, Taint, Toleration};

/// The first taint that keeps a pod from being placed on a node.
pub fn forbidding<'a>(taints: &'a [Taint], tolerations: &[Toleration]) -> Option<&'a Taint> {
    let forbids = |taint: &&Taint| taint.effect != Effect::PreferNoSchedule;
    taints.iter().filter(forbids).find(|taint| !tolerations.iter().any(|own| own.tolerates(taint)))
}

/// How well nodes with these taints suit a pod that would rather not be where it does not tolerate all (`PreferNoSchedule`): 100 for
/// none of those, 0 for the most (`pkg/scheduler/framework/plugins/tainttoleration`).
pub fn score<'a>(nodes: impl Iterator<Item = &'a [Taint]>, tolerations: &[Toleration]) -> Vec<i64> {
    let repels = |taint: &&Taint| taint.effect == Effect::PreferNoSchedule && !tolerations.iter().any(|own| own.tolerates(taint));
    let counts: Vec<i64> = nodes.map(|taints| taints.iter().filter(repels).count() as i64).collect();
    let most = counts.iter().max().copied().unwrap_or(0).max(1);
    counts.into_iter().map(|count| 100 - 100 * count / most).collect()
}

/// How a pod leaves a node because of its `NoExecute` taints.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Stay {
    /// It stays.
    Forever,
    /// It goes after so long: zero where a taint is not tolerated at all.
    For(Duration),
}

/// How long a pod stays on a node with these taints. Of the tolerations, the first that fits a taint counts; the most impatient of
/// these decides.
pub fn stay(taints: &[Taint], tolerations: &[Toleration]) -> Stay {
    let mut least = Stay::Forever;
    for taint in taints.iter().filter(|taint| taint.effect == Effect::NoExecute) {
        let lasts = tolerations.iter().find(|own| own.tolerates(taint)).map_or(Some(Duration::ZERO), |used| used.lasts);
        least = match (least, lasts) {
            (stay, None) => stay,
            (Stay::Forever, Some(lasts)) => Stay::For(lasts),
            (Stay::For(stay), Some(lasts)) => Stay::For(stay.min(lasts)),
        };
    }
    least
}
