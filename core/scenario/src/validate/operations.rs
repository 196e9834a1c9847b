//! What operators ask of seeds and clusters: roll-outs and drains.

use super::lower::{Lowering, SeedState};
use super::names::Names;
use super::{CheckCtx, quoted};
use crate::error::{did_you_mean, quote};
use crate::ids::{KubeClusterId, MachineDeploymentId, NodeKey, WorkloadId};
use crate::kube::gardener::{Hosted, Shoot};
use crate::kube::{Component, Kind, Operation, Task};
use crate::raw::{RawChange, RawClusterName, RawOwner, RawScenario};
use zonefall_kernel::time::Time;

/// Operations on clusters, in order of time.
pub(super) fn validate(
    ctx: &mut CheckCtx<'_>,
    raw: &RawScenario,
    seeds: &Names,
    clusters: &Names,
    lowering: &Lowering,
    shoots: &[Shoot],
) -> Vec<Operation> {
    let mut all = Vec::new();
    for (o, operation) in raw.operations.iter().enumerate() {
        let path = format!("operations[{o}]");
        let found: Vec<(usize, Task)> = match &operation.change {
            RawChange::AddMember(_) | RawChange::RemoveMember(_) | RawChange::PromoteMember(_) => continue,
            // What comes of it is with its shoot; here it need but be one.
            RawChange::SetFailureTolerance { shoot, .. } => {
                let of = RawOwner::Shoot(shoot.clone());
                owner(ctx, &format!("{path}.set_failure_tolerance"), &of, seeds, clusters, shoots);
                Vec::new()
            }
            RawChange::MigrateShoot { shoot, seed } => {
                let path = format!("{path}.migrate_shoot");
                seeds.find(ctx, &format!("{path}.seed"), seed);
                owner(ctx, &path, &RawOwner::Shoot(shoot.clone()), seeds, clusters, shoots);
                Vec::new()
            }
            RawChange::RollComponent { of, component } => {
                let path = format!("{path}.roll_component");
                let owner = owner(ctx, &path, of, seeds, clusters, shoots);
                owner.map(|owner| owner.component(ctx, &path, component, lowering, shoots)).unwrap_or_default()
            }
            RawChange::DrainNode { of, node } => {
                let path = format!("{path}.drain_node");
                let s = cluster(ctx, &path, of, seeds, clusters);
                let node = s.and_then(|s| lowering.sites[s].nodes.find(ctx, &format!("{path}.node"), node));
                s.zip(node).map(|(s, node)| (s, Task::DrainNode(NodeKey(node as u32)))).into_iter().collect()
            }
            RawChange::RollPool { of, pool } => {
                let path = format!("{path}.roll_pool");
                let s = cluster(ctx, &path, of, seeds, clusters);
                if s.is_some_and(|s| !lowering.sites[s].cluster.components.contains(&Component::MachineControllerManager)) {
                    let expected =
                        "a cluster with `machine_controller_manager` among its components: nothing else replaces machines";
                    ctx.error(&path, "a cluster that manages no machines", expected);
                }
                let found = s.and_then(|s| lowering.sites[s].pools.find(ctx, &format!("{path}.pool"), pool));
                let all = |s: usize| machines(&lowering.sites[s], pool).into_iter().map(move |task| (s, task)).collect();
                s.filter(|_| found.is_some()).map(all).unwrap_or_default()
            }
        };
        if let Some(etcd) = &operation.etcd {
            ctx.error(&format!("{path}.etcd"), quoted(etcd), "nothing: only members are of an etcd cluster");
        }
        let at = Time::ZERO + operation.at.0;
        all.extend(found.into_iter().map(|(s, task)| Operation { at, cluster: KubeClusterId(s as u16), task }));
    }
    all.sort_by_key(|operation| operation.at);
    all
}

/// Each machine deployment of a pool.
fn machines(site: &SeedState, pool: &str) -> Vec<Task> {
    let is_of_pool = |name: &str| {
        let number =
            name.strip_prefix(&site.seed.name).and_then(|rest| rest.strip_prefix('-')?.strip_prefix(pool)?.strip_prefix("-z"));
        number.is_some_and(|number| number.bytes().all(|digit| digit.is_ascii_digit()))
    };
    let machine_deployments = (0..)
        .map(MachineDeploymentId)
        .zip(&site.cluster.machine_deployments)
        .filter(|(_, deployment)| is_of_pool(&deployment.name));
    machine_deployments.map(|(id, _)| Task::RollMachines(id)).collect()
}

/// Whose component it is.
#[derive(Clone, Copy)]
enum Owner {
    Seed(usize),
    Shoot(usize),
}

/// The cluster that has nodes: its place among all.
fn cluster(ctx: &mut CheckCtx<'_>, path: &str, raw: &RawClusterName, seeds: &Names, clusters: &Names) -> Option<usize> {
    match raw {
        RawClusterName::Seed(seed) => seeds.find(ctx, &format!("{path}.seed"), seed),
        RawClusterName::Cluster(cluster) => clusters.find(ctx, &format!("{path}.cluster"), cluster),
    }
}

fn owner(ctx: &mut CheckCtx<'_>, path: &str, raw: &RawOwner, seeds: &Names, clusters: &Names, shoots: &[Shoot]) -> Option<Owner> {
    match raw {
        RawOwner::Cluster(name) => clusters.find(ctx, &format!("{path}.cluster"), name).map(Owner::Seed),
        RawOwner::Seed(seed) => seeds.find(ctx, &format!("{path}.seed"), seed).map(Owner::Seed),
        RawOwner::Shoot(shoot) => {
            let found = shoots.iter().position(|own| own.name == *shoot);
            if found.is_none() {
                let hint = did_you_mean(shoot, shoots.iter().map(|own| own.name.as_str()));
                ctx.error(&format!("{path}.shoot"), quote(shoot), format!("the name of a shoot{hint}"));
            }
            found.map(Owner::Shoot)
        }
    }
}

impl Owner {
    /// What is to be done about its component, and in which seed: in each that may host it by then. (A shoot that no seed takes has none.)
    fn component(
        self,
        ctx: &mut CheckCtx<'_>,
        path: &str,
        name: &str,
        lowering: &Lowering,
        shoots: &[Shoot],
    ) -> Vec<(usize, Task)> {
        let (s, own): (usize, Vec<WorkloadId>) = match self {
            Self::Seed(s) => {
                let all = (0..lowering.sites[s].cluster.workloads.len() as u32).map(WorkloadId);
                (s, all.filter(|id| shoots.iter().flat_map(Shoot::places).all(|hosted| !hosts(hosted, s, *id))).collect())
            }
            Self::Shoot(k) => {
                let Some(hosted) = &shoots[k].hosted else { return Vec::new() };
                (usize::from(hosted.seed.0), hosted.workloads.clone())
            }
        };
        let workloads = &lowering.sites[s].cluster.workloads;
        let path = format!("{path}.component");
        let Some(place) = own.iter().position(|id| workloads[id.0 as usize].name == name) else {
            let hint = did_you_mean(name, own.iter().map(|id| workloads[id.0 as usize].name.as_str()));
            ctx.error(&path, quote(name), format!("the name of a component{hint}"));
            return Vec::new();
        };
        if workloads[own[place].0 as usize].kind == Kind::DaemonSet {
            ctx.error(&path, format!("{}, a DaemonSet", quote(name)), "a Deployment or StatefulSet");
        }
        match self {
            Self::Seed(_) => vec![(s, Task::RollComponent(own[place]))],
            Self::Shoot(k) => {
                let there =
                    |hosted: &Hosted| Some((usize::from(hosted.seed.0), Task::RollComponent(*hosted.workloads.get(place)?)));
                shoots[k].places().filter_map(there).collect()
            }
        }
    }
}

fn hosts(hosted: &Hosted, s: usize, id: WorkloadId) -> bool {
    usize::from(hosted.seed.0) == s && hosted.workloads.contains(&id)
}
