//! What controllers that go by workloads share: which change concerns a workload's owner, and the keys of all workloads of a kind.

use zonefall_scenario::ids::WorkloadId;

use crate::ctx::ClusterCtx;
use crate::spec::{Kind, Workload};
use crate::store::{Change, Store};

/// The workload that a change concerns, if its owner has to look at its pods: one that has fewer pods than before or is to have others.
/// Readiness matters while pods wait for the one before them, or a roll-out goes on.
pub(super) fn concerned(change: &Change, store: &Store, ctx: &ClusterCtx<'_>) -> Option<(WorkloadId, Kind)> {
    let kind = |id: WorkloadId| ctx.spec.workloads[id].kind;
    let unsettled = |id| store.revisions(id).settled() != store.revisions(id).current();
    let waits = |id| match kind(id) {
        Kind::StatefulSet { parallel } => !parallel || unsettled(id) || store.is_rolling(id),
        Kind::Deployment | Kind::DaemonSet => store.is_rolling(id),
    };
    let id = match *change {
        Change::Terminating(_, id, _) | Change::Desired(id) | Change::Template(id) => id,
        Change::Removed(_, name, _) => name.workload,
        Change::Readiness(id) if waits(id) => id,
        _ => return None,
    };
    Some((id, kind(id)))
}

/// The keys, in the first work queue, of all workloads of which `which` holds.
pub(super) fn keys(ctx: &ClusterCtx<'_>, which: impl Fn(&Workload) -> bool) -> Vec<(u8, u32)> {
    (0..).zip(&ctx.spec.workloads).filter(|(_, workload)| which(workload)).map(|(id, _)| (0, id)).collect()
}
