//! Settings of rollouts and budgets that change nothing, or let nothing happen.

use crate::error::quote;
use crate::ids::{TiVec, WorkloadId};
use crate::kube::update::UpdateStrategy;
use crate::kube::zone_aware::{ZoneBudget, ZoneBudgetAdmission};
use crate::kube::{Budget, Operation, PodSelector, Task, Workload};
use crate::lowering::{CheckCtx, ClusterDrafts};
use crate::raw::{RawCluster, RawScenario};

/// Warns of rollouts that replace no pod.
pub(super) fn rolls(ctx: &mut CheckCtx<'_>, raw: &RawScenario, all: &[(String, Operation)], lowering: &ClusterDrafts) {
    for (path, Operation { cluster, task, .. }) in all {
        let Task::RollComponent(id) = *task else { continue };
        let spec = &lowering.clusters[usize::from(*cluster)].cluster;
        let workload = &spec.workloads[id];
        let tasks = || all.iter().filter(|(_, other)| other.cluster == *cluster).map(|(_, other)| other.task);
        let scaled = tasks().filter_map(|task| match task {
            Task::ScaleWorkload(scale) if scale.workload == id => Some(scale.replicas),
            _ => None,
        });
        let replicas = scaled.chain([workload.replicas]).max().unwrap_or(0);
        match workload.update.strategy {
            UpdateStrategy::RollingUpdate(rolling) if rolling.partition > 0 && rolling.partition >= replicas => {
                let expected = format!("an `update.partition` below its {replicas} replicas: no pod is replaced");
                ctx.warn(&format!("{path}.component"), format!("one of {}", rolling.partition), expected);
            }
            UpdateStrategy::OnDelete => {
                let ends_pods = |task: Task| match task {
                    Task::DrainNode(_) | Task::RollMachines(_) | Task::Deschedule(_) => true,
                    Task::ScaleWorkload(scale) => scale.workload == id,
                    _ => false,
                };
                let has_update = spec.zone_aware.updates.iter().any(|update| update.workload == id);
                if !has_update && raw.faults.is_empty() && !tasks().any(ends_pods) {
                    let expected = "one whose pods somebody deletes, as a ZoneAwareUpdate does: none is replaced";
                    ctx.warn(&format!("{path}.component"), "one with `update.on_delete`", expected);
                }
            }
            UpdateStrategy::RollingUpdate(_) => {}
        }
    }
}

/// Warns of budgets that select no pods, or pods of another one.
pub(super) fn budgets(
    ctx: &mut CheckCtx<'_>,
    path: &str,
    raw: &RawCluster,
    all: &[Budget],
    workloads: &TiVec<WorkloadId, Workload>,
) {
    for (k, (budget, raw)) in all.iter().zip(&raw.budgets).enumerate() {
        let path = format!("{path}.budgets[{k}].pods");
        select_something(ctx, &path, &raw.pods, &budget.pods, workloads, "the budget limits nothing");
        let other = |workload: &Workload| {
            let before = all[..k].iter().position(|other| other.pods.selects(workload));
            let own = workload.max_unavailable.map(|_| "its own `max_unavailable`".to_owned());
            own.or_else(|| before.map(|other| format!("budgets[{other}]")))
        };
        let expected = "pods of no other budget: the API evicts no pod that several select";
        overlap(ctx, &path, &raw.pods, (&budget.pods, other), workloads, expected);
    }
}

/// Warns of a selector that selects the pods of no workload, and of what comes of it.
pub(super) fn select_something(
    ctx: &mut CheckCtx<'_>,
    path: &str,
    text: &str,
    pods: &PodSelector,
    workloads: &TiVec<WorkloadId, Workload>,
    effect: &str,
) {
    if !workloads.iter().any(|workload| pods.selects(workload)) {
        ctx.warn(path, quote(text), format!("labels of the pods of a workload: {effect}"));
    }
}

/// Warns of a zone disruption budget, the last of these, of which the program never asks.
pub(super) fn zone_budget(
    ctx: &mut CheckCtx<'_>,
    path: &str,
    text: &str,
    all: &[ZoneBudget],
    workloads: &TiVec<WorkloadId, Workload>,
) {
    let is_code = |budget: &ZoneBudget| budget.admission == ZoneBudgetAdmission::Code;
    let Some((last, before)) = all.split_last().filter(|(last, _)| is_code(last)) else { return };
    let other = |workload: &Workload| {
        let first = before.iter().position(|other| is_code(other) && other.pods.selects(workload));
        first.map(|other| format!("zone_disruption_budgets[{other}]"))
    };
    let expected = "pods of no other one with `zdb: \"code\"`: the program asks the first";
    overlap(ctx, path, text, (&last.pods, other), workloads, expected);
}

/// Warns of a budget that selects pods of a workload which an`other` selects, too.
fn overlap(
    ctx: &mut CheckCtx<'_>,
    path: &str,
    text: &str,
    (pods, other): (&PodSelector, impl Fn(&Workload) -> Option<String>),
    workloads: &TiVec<WorkloadId, Workload>,
    expected: &str,
) {
    let of = |workload: &Workload| Some((workload.name.clone(), other(workload).filter(|_| pods.selects(workload))?));
    if let Some((workload, other)) = workloads.iter().find_map(of) {
        ctx.warn(path, format!("{}, which selects those of {workload}, as {other} does", quote(text)), expected);
    }
}
