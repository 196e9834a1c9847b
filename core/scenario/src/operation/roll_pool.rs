//! The machines of a pool are replaced by others, in each of its machine deployments.

use super::owner::RawClusterName;
use super::prelude::*;
use crate::error::quote;
use crate::ids::{MachineDeploymentId, ZoneId};
use crate::lowering::ClusterDraft;

/// A pool and its owner.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[schemars(inline)]
pub struct Raw {
    /// Owner of the pool.
    #[serde(flatten)]
    of: RawClusterName,
    /// Name of the pool.
    pool: String,
    /// Zone whose machines are replaced.
    #[serde(default)]
    #[schemars(extend("x-target" = "zone", "x-default" = "all zones side by side", "x-source" = "gardener: a worker pool changes as a whole"))]
    zone: Option<String>,
}

impl ClusterOperation for Raw {
    fn tasks(&self, ctx: &mut OperationCtx<'_, '_>) -> Vec<(usize, Task)> {
        let Some(s) = ctx.cluster(&self.of) else { return Vec::new() };
        let site = &ctx.lowering.clusters[s];
        if !site.cluster.manages_machines() {
            let expected =
                "a cluster that has `machine_controller_manager` among its components: no other component replaces machines";
            let found = format!("the cluster {}, which does not have it", quote(&site.cluster.name));
            ctx.error("", found, expected);
        }
        if ctx.find(&site.pools, "pool", &self.pool).is_none() {
            return Vec::new();
        }
        let all: Vec<MachineDeploymentId> = deployments(site, &self.pool).collect();
        let Some(zone) = &self.zone else { return all.into_iter().map(|id| (s, Task::RollMachines(id))).collect() };
        let Some(id) = ctx.find(ctx.zones, "zone", zone).map(ZoneId::from) else { return Vec::new() };
        let in_zone = all.into_iter().find(|deployment| site.cluster.machine_deployments[*deployment].zone == id);
        if in_zone.is_none() {
            ctx.error("zone", quote(zone), format!("a zone of the pool {}", quote(&self.pool)));
        }
        in_zone.map(|id| (s, Task::RollMachines(id))).into_iter().collect()
    }
}

/// The machine deployments of a pool, one for each of its zones: `<cluster>-<pool>-z<k>`.
fn deployments<'a>(site: &'a ClusterDraft, pool: &'a str) -> impl Iterator<Item = MachineDeploymentId> + 'a {
    let is_of_pool = move |name: &str| {
        let number =
            name.strip_prefix(&site.seed.name).and_then(|rest| rest.strip_prefix('-')?.strip_prefix(pool)?.strip_prefix("-z"));
        number.is_some_and(|number| number.bytes().all(|digit| digit.is_ascii_digit()))
    };
    let all = site.cluster.machine_deployments.iter_enumerated();
    all.filter(move |(_, deployment)| is_of_pool(&deployment.name)).map(|(id, _)| id)
}

fn name(id: MachineDeploymentId, cluster: &KubeClusterSpec) -> String {
    cluster.machine_deployments[id].name.clone()
}

pub(super) fn describe(id: MachineDeploymentId, cluster: &KubeClusterSpec, _: &dyn Inventory) -> String {
    format!("replaces the machines of {}", name(id, cluster))
}

pub(super) fn subject(id: MachineDeploymentId, cluster: &KubeClusterSpec, _: &dyn Inventory) -> TaskSubject {
    TaskSubject::Machines(name(id, cluster))
}
