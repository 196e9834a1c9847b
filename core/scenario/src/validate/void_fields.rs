//! Fields of a cluster that change nothing: what would read them is not there, or never comes to it.

use crate::error::quote;
use crate::kube::autoscaler::{NodeCount, ScaleDownOptions, Sizing, group_pattern};
use crate::kube::routing::TrafficPolicy;
use crate::lowering::{CheckCtx, ClusterDraft};
use crate::raw::{RawCluster, RawPool};

/// Warns of them.
pub(super) fn warn(ctx: &mut CheckCtx<'_>, path: &str, raw: &RawCluster, site: &ClusterDraft) {
    let cluster = &site.cluster;
    let options = cluster.controllers.cluster_autoscaler.as_ref();
    let scale_down = options.and_then(|options| options.scale_down.as_ref());
    pools(ctx, path, &raw.pools, scale_down);
    for (k, _) in raw.workloads.iter().enumerate().filter(|(_, raw)| raw.drainability.is_some() && scale_down.is_none()) {
        ctx.warn(&format!("{path}.workloads[{k}].drainability"), "it", WITH_SCALE_DOWN);
    }
    for (k, raw) in raw.services.iter().enumerate() {
        if raw.traffic_distribution.is_some() && raw.internal_traffic_policy == TrafficPolicy::Local {
            let expected = "none with `internal_traffic_policy` local: traffic stays on the client's node in any case";
            ctx.warn(&format!("{path}.services[{k}].traffic_distribution"), "one", expected);
        }
    }
    let path = format!("{path}.controllers");
    if let Some(descheduler) = &cluster.controllers.descheduler {
        let spreads = |soft: bool| {
            cluster.workloads.iter().any(|workload| !workload.spread.is_empty() || soft && !workload.prefers.is_empty())
        };
        if !spreads(descheduler.schedule_anyway) {
            let soft = spreads(true);
            let which = if soft { "that must hold, or `schedule_anyway`" } else { "(`spread`)" };
            let expected = format!("a workload with a topology spread constraint {which}: the descheduler evicts no pod");
            ctx.warn(&format!("{path}.descheduler"), "none", expected);
        }
    }
    let Some(options) = options else { return };
    let path = format!("{path}.cluster_autoscaler");
    if cluster.sizing() == Sizing::Static && options.count != NodeCount::default() {
        let expected = "none with `sizing` static, which counts no nodes";
        ctx.warn(&format!("{path}.count"), "one", expected);
    }
    if scale_down.is_some_and(|options| options.utilization_threshold.0 == 0.0) {
        let expected = "more than 0: of no node is less requested, so none is deleted";
        ctx.warn(&format!("{path}.scale_down.utilization_threshold"), "0", expected);
    }
    for (k, entry) in options.priorities.iter().enumerate() {
        for (n, pattern) in entry.groups.iter().enumerate() {
            let regex = group_pattern(pattern);
            if regex.is_some_and(|regex| cluster.machine_deployments.iter().all(|group| !regex.is_match(&group.name))) {
                let first =
                    cluster.machine_deployments.first().map_or_else(String::new, |group| format!(", like {}", group.name));
                let expected = format!("a pattern that is found in the name of a machine deployment{first}");
                ctx.warn(&format!("{path}.priorities[{k}].groups[{n}]"), quote(pattern), expected);
            }
        }
    }
}

/// Warns of pools whose nodes are said to stay where none goes.
pub(super) fn pools(ctx: &mut CheckCtx<'_>, path: &str, pools: &[RawPool], scale_down: Option<&ScaleDownOptions>) {
    for (k, _) in pools.iter().enumerate().filter(|(_, pool)| pool.scale_down_disabled && scale_down.is_none()) {
        ctx.warn(&format!("{path}.pools[{k}].scale_down_disabled"), "it", WITH_SCALE_DOWN);
    }
}

/// What reads whether nodes may be deleted.
const WITH_SCALE_DOWN: &str =
    "it with `controllers.cluster_autoscaler.scale_down`: without that no node is deleted for not being needed";
