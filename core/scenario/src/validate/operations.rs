//! Operations on Kubernetes clusters and shoots.

use crate::ids::KubeClusterId;
use crate::kube::gardener::Shoot;
use crate::kube::{Operation, Task};
use crate::lowering::{CheckCtx, ClusterDrafts, Names, quoted};
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
    lowering: &ClusterDrafts,
    shoots: &[Shoot],
) -> Vec<Operation> {
    let mut all = Vec::new();
    for (o, operation) in raw.operations.iter().enumerate() {
        let path = format!("operations[{o}].{}", operation.change.word());
        let mut found = OperationCtx { ctx, path: &path, seeds, clusters, lowering, shoots };
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
        all.extend(tasks.into_iter().map(|(site, task)| Operation { at, cluster: KubeClusterId(site as u16), task }));
    }
    all.sort_by_key(|operation| operation.at);
    all
}
