//! Operations on Kubernetes clusters and shoots.

use std::collections::BTreeSet;

use super::void_rollouts;
use crate::ids::KubeClusterId;
use crate::kube::gardener::Shoot;
use crate::kube::{Operation, Task};
use crate::lowering::{CheckCtx, ClusterDraft, ClusterDrafts, Names, quoted};
use crate::operation::{Of, OperationCtx, RawOwner};
use crate::raw::RawScenario;
use zonefall_kernel::time::Time;

/// Operations on clusters, in order of time. (Those on members are with the etcd clusters; what comes of those on shoots is with the
/// shoots, only their names are checked here.)
pub(super) fn validate(
    ctx: &mut CheckCtx<'_>,
    raw: &RawScenario,
    seeds: &Names,
    clusters: &Names,
    zones: &Names,
    lowering: &ClusterDrafts,
    shoots: &[Shoot],
) -> Vec<Operation> {
    let mut all = Vec::new();
    for (o, operation) in raw.operations.iter().enumerate() {
        let path = format!("operations[{o}].{}", operation.change.word());
        let mut found = OperationCtx { ctx, path: &path, seeds, clusters, zones, lowering, shoots };
        let tasks: Vec<(usize, Task)> = match operation.change.of() {
            Of::Members(_) | Of::Databases(_) => continue,
            Of::Shoot(asked) => {
                asked.check(&mut found);
                found.owner(&RawOwner::Shoot(asked.shoot().to_owned()));
                Vec::new()
            }
            Of::Cluster(asked) => asked.tasks(&mut found),
        };
        if let Some(etcd) = &operation.etcd {
            ctx.error(&format!("operations[{o}].etcd"), quoted(etcd), "nothing: only members are of an etcd cluster");
        }
        let at = Time::ZERO + operation.at.0;
        let of = |(site, task)| (path.clone(), Operation { at, cluster: KubeClusterId(site as u16), task });
        all.extend(tasks.into_iter().map(of));
    }
    all.sort_by_key(|(_, operation)| operation.at);
    check_hosts(ctx, &all, lowering);
    check_rollbacks(ctx, &all);
    void_rollouts::rolls(ctx, raw, &all, lowering);
    all.into_iter().map(|(_, operation)| operation).collect()
}

/// Warns of rollbacks of what no operation has rolled out.
fn check_rollbacks(ctx: &mut CheckCtx<'_>, all: &[(String, Operation)]) {
    let mut rolled = BTreeSet::new();
    for (path, Operation { cluster, task, .. }) in all {
        match *task {
            Task::RollComponent(workload) => drop(rolled.insert((*cluster, workload))),
            Task::RollBackComponent(workload) if !rolled.contains(&(*cluster, workload)) => {
                let expected = "a component that was rolled out before: there is no revision to return to, and nothing happens";
                ctx.warn(&format!("{path}.component"), "one that was not", expected);
            }
            _ => {}
        }
    }
}

/// Hosts that are added to a control plane are not in it then, those that are removed are, and others stay.
fn check_hosts(ctx: &mut CheckCtx<'_>, all: &[(String, Operation)], lowering: &ClusterDrafts) {
    let at_start = |site: &ClusterDraft| (0..site.cluster.hosts_at_start().len() as u32).collect();
    let mut present: Vec<BTreeSet<u32>> = lowering.clusters.iter().map(at_start).collect();
    for (path, Operation { cluster, task, .. }) in all {
        let present = &mut present[usize::from(*cluster)];
        let path = format!("{path}.node");
        match *task {
            Task::AddHost(place) if !present.insert(place) => {
                ctx.error(&path, "a host of the control plane", "a node that is not in it at that time");
            }
            Task::RemoveHost(place) if !present.remove(&place) => {
                ctx.error(&path, "a host that is not in the control plane", "one that is in it at that time");
            }
            Task::RemoveHost(_) if present.is_empty() => {
                ctx.error(&path, "the last host of the control plane", "one of several");
            }
            _ => {}
        }
    }
}
