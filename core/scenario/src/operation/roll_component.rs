//! The pods of a workload are replaced by others (`kubectl rollout restart`).

use super::Owner;
use super::owner::RawOwner;
use super::prelude::*;
use crate::error::{did_you_mean, quote};
use crate::ids::WorkloadId;
use crate::kube::Kind;
use crate::kube::gardener::{Hosted, Shoot};

/// A component and its owner.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[schemars(inline)]
pub struct Raw {
    /// Owner of the component.
    #[serde(flatten)]
    of: RawOwner,
    /// Name of the component.
    component: String,
}

impl ClusterOperation for Raw {
    fn tasks(&self, ctx: &mut OperationCtx<'_, '_>) -> Vec<(usize, Task)> {
        tasks(&self.of, &self.component, REPLACED, Task::RollComponent, ctx)
    }
}

/// Kinds of workloads that an operation is for, and how they are called.
pub(super) type Kinds = (fn(Kind) -> bool, &'static str);

/// Those whose pods a rollout replaces here.
pub(super) const REPLACED: Kinds = (|kind| kind != Kind::DaemonSet, "a Deployment or StatefulSet");

/// Those whose rollouts can be paused.
pub(super) const PAUSED: Kinds = (|kind| kind == Kind::Deployment, "a Deployment");

impl Task {
    /// Whether an operator may ask for it while a run goes on: it must roll out, roll back, pause or resume a workload whose revisions are
    /// recorded.
    ///
    /// # Errors
    /// Why not, in plain words.
    pub fn check_rollout(self, cluster: Option<&KubeClusterSpec>) -> Result<(), String> {
        let workloads = &cluster.ok_or("its cluster is not there")?.workloads;
        let id = self.rolls().ok_or("only rollouts can be asked for while a run goes on")?;
        let workload = workloads.get(id).ok_or("its workload is not there")?;
        let (is_meant, expected) = if matches!(self, Self::PauseRollout(_) | Self::ResumeRollout(_)) { PAUSED } else { REPLACED };
        if !is_meant(workload.kind) {
            return Err(format!("{} is not {expected}", workload.name));
        }
        if !workload.update.is_recorded() {
            return Err(format!("no revisions of {} are recorded", workload.name));
        }
        Ok(())
    }
}

/// What is asked for of a component in each cluster that may host it by then. (A shoot that no seed takes has none.)
pub(super) fn tasks(
    of: &RawOwner,
    component: &str,
    (is_meant, expected): Kinds,
    task: impl Fn(WorkloadId) -> Task,
    ctx: &mut OperationCtx<'_, '_>,
) -> Vec<(usize, Task)> {
    let Some(owner) = ctx.owner(of) else { return Vec::new() };
    let shoots = ctx.shoots;
    if let Owner::Site(site) = owner
        && !ctx.lowering.clusters[site].valid
    {
        // Its workloads are not known: what is wrong with it has been reported.
        return Vec::new();
    }
    let (site, own): (usize, Vec<WorkloadId>) = match owner {
        Owner::Site(site) => {
            let all = ctx.lowering.clusters[site].cluster.workloads.keys();
            (site, all.filter(|id| shoots.iter().flat_map(Shoot::places).all(|hosted| !hosts(hosted, site, *id))).collect())
        }
        Owner::Shoot(k) => {
            let Some(hosted) = &shoots[k].hosted else { return Vec::new() };
            (usize::from(hosted.seed), hosted.workloads.clone())
        }
    };
    let workloads = &ctx.lowering.clusters[site].cluster.workloads;
    let name = |id: &WorkloadId| workloads[*id].name.as_str();
    let Some(place) = own.iter().position(|id| name(id) == component) else {
        let hint = did_you_mean(component, own.iter().map(name));
        ctx.error("component", quote(component), format!("the name of a component{hint}"));
        return Vec::new();
    };
    let kind = workloads[own[place]].kind;
    if !is_meant(kind) {
        let kind = match kind {
            Kind::Deployment => "Deployment",
            Kind::StatefulSet { .. } => "StatefulSet",
            Kind::DaemonSet => "DaemonSet",
        };
        ctx.error("component", format!("{}, a {kind}", quote(component)), expected);
    }
    match owner {
        Owner::Site(site) => vec![(site, task(own[place]))],
        Owner::Shoot(k) => {
            let of_place = |hosted: &Hosted| Some((usize::from(hosted.seed), task(*hosted.workloads.get(place)?)));
            shoots[k].places().filter_map(of_place).collect()
        }
    }
}

fn hosts(hosted: &Hosted, site: usize, id: WorkloadId) -> bool {
    usize::from(hosted.seed) == site && hosted.workloads.contains(&id)
}

fn name(id: WorkloadId, cluster: &KubeClusterSpec) -> String {
    cluster.workloads[id].name.clone()
}

pub(super) fn describe(id: WorkloadId, cluster: &KubeClusterSpec, _: &dyn Inventory) -> String {
    format!("restarts the pods of {}", name(id, cluster))
}

pub(super) fn subject(id: WorkloadId, cluster: &KubeClusterSpec, _: &dyn Inventory) -> TaskSubject {
    TaskSubject::Pods(name(id, cluster))
}
