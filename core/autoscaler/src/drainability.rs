//! Whether a pod keeps its node from being deleted (`simulator/drainability/rules`, in the order of `rules.Default`).

use zonefall_kube::controller::disruption::{RemainingBudgets, has_budget};
use zonefall_kube::ctx::ClusterCtx;
use zonefall_kube::record::ScaleDownVerdict;
use zonefall_kube::store::Store;
use zonefall_scenario::ids::PodId;
use zonefall_scenario::kube::autoscaler::{Drainability, PodOwner, ScaleDownOptions};

/// Why a pod that is to leave its node keeps it; `None`: it does not.
pub fn blocker(
    id: PodId,
    options: &ScaleDownOptions,
    budgets: &RemainingBudgets,
    store: &Store,
    ctx: &ClusterCtx<'_>,
) -> Option<ScaleDownVerdict> {
    let workload = store.pod(id).filter(|pod| !pod.terminating)?.name.workload;
    let drainability = ctx.spec.workloads[workload].drainability;
    let by_pod = verdict(drainability, has_budget(workload, store, ctx), options);
    by_pod.or_else(|| spent(id, budgets, store, ctx).then_some(ScaleDownVerdict::Budget))
}

/// Whether a budget keeps a pod. One that is safe to evict is asked nothing more (`rules/safetoevict`); whether it can be evicted shows
/// when its node is drained.
pub fn spent(id: PodId, budgets: &RemainingBudgets, store: &Store, ctx: &ClusterCtx<'_>) -> bool {
    let drainability = store.pod(id).map(|pod| ctx.spec.workloads[pod.name.workload].drainability);
    drainability.is_some_and(|drainability| drainability.safe_to_evict != Some(true)) && !budgets.allow(id, store, ctx)
}

fn verdict(pods: Drainability, has_budget: bool, options: &ScaleDownOptions) -> Option<ScaleDownVerdict> {
    let Drainability { local_storage, safe_to_evict, kube_system, owner } = pods;
    let is_replicated = match owner {
        PodOwner::Kubernetes => true,
        PodOwner::Custom => !options.skip_nodes_with_custom_controller_pods,
        PodOwner::None => false,
    };
    if safe_to_evict == Some(true) {
        None
    } else if !is_replicated {
        Some(ScaleDownVerdict::NotReplicated)
    } else if options.skip_nodes_with_system_pods && kube_system && !has_budget {
        Some(ScaleDownVerdict::SystemPod)
    } else if safe_to_evict == Some(false) {
        Some(ScaleDownVerdict::NotSafeToEvict)
    } else if options.skip_nodes_with_local_storage && local_storage {
        Some(ScaleDownVerdict::LocalStorage)
    } else {
        None
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const UPSTREAM: [bool; 3] = [true, true, true];
    const GARDENER: [bool; 3] = [false, false, true];

    fn check([local, system, custom]: [bool; 3], pods: Drainability, has_budget: bool, expected: Option<ScaleDownVerdict>) {
        let options = ScaleDownOptions {
            skip_nodes_with_local_storage: local,
            skip_nodes_with_system_pods: system,
            skip_nodes_with_custom_controller_pods: custom,
            ..ScaleDownOptions::default()
        };
        assert_eq!(verdict(pods, has_budget, &options), expected, "{pods:?}, budget: {has_budget}, {options:?}");
    }

    #[test]
    fn rules_are_asked_in_the_order_of_upstream() {
        use ScaleDownVerdict::{LocalStorage, NotReplicated, NotSafeToEvict, SystemPod};
        let plain = Drainability::default();
        let local = Drainability { local_storage: true, ..plain };
        let system = Drainability { kube_system: true, ..plain };
        let unsafe_ = Drainability { safe_to_evict: Some(false), ..plain };
        let bare = Drainability { owner: PodOwner::None, ..plain };
        let custom = Drainability { owner: PodOwner::Custom, ..plain };
        for has_budget in [false, true] {
            check(UPSTREAM, plain, has_budget, None);
            check(UPSTREAM, local, has_budget, Some(LocalStorage));
            check(GARDENER, local, has_budget, None);
            check(UPSTREAM, system, has_budget, (!has_budget).then_some(SystemPod));
            check(GARDENER, system, has_budget, None);
            check(GARDENER, unsafe_, has_budget, Some(NotSafeToEvict));
            check(GARDENER, bare, has_budget, Some(NotReplicated));
            check([false, false, false], bare, has_budget, Some(NotReplicated));
            check(GARDENER, custom, has_budget, Some(NotReplicated));
            check([true, true, false], custom, has_budget, None);
            check(UPSTREAM, Drainability { local_storage: true, ..unsafe_ }, has_budget, Some(NotSafeToEvict));
        }
        // The annotation lifts all of them.
        let safe = Drainability { local_storage: true, safe_to_evict: Some(true), kube_system: true, owner: PodOwner::None };
        check(UPSTREAM, safe, false, None);
        check(UPSTREAM, Drainability { owner: PodOwner::Kubernetes, safe_to_evict: None, ..safe }, false, Some(SystemPod));
    }
}
