//! Roll-outs of machines (`pkg/controller/deployment_rolling.go`): a new machine set grows and the old ones shrink, by the rule that
//! Deployments have. A machine is available while it is [`Phase::Running`].

use crate::distribute::int_or_percent_over_zones;
use zonefall_kube::ctx::ClusterCtx;
use zonefall_kube::machine::{MachineSet, Phase};
use zonefall_kube::rule::rollout::{ReplicaSet, RollingUpdate};
use zonefall_kube::spec::PoolShare;
use zonefall_kube::store::{MachineTables, Store};
use zonefall_scenario::ids::MachineDeploymentId;

/// Machines that each machine set of a machine deployment is to have now.
pub fn sizes(deployment: MachineDeploymentId, tables: &MachineTables, ctx: &ClusterCtx<'_>) -> Vec<u32> {
    let set = |set: &MachineSet| {
        let machines = tables.of(deployment).filter(|(_, machine)| machine.name.template == set.template);
        let available = machines.filter(|(_, machine)| machine.phase == Phase::Running).count() as u32;
        ReplicaSet { desired: set.desired, available }
    };
    let mut sets: Vec<ReplicaSet> = tables.sets(deployment).iter().map(set).collect();
    let current = sets.pop().expect("there is one always");
    update(deployment, tables, ctx).sizes(current, &sets)
}

/// How far the machine deployment's share of its pool may stray from the machines wanted of it.
pub fn update(deployment: MachineDeploymentId, tables: &MachineTables, ctx: &ClusterCtx<'_>) -> RollingUpdate {
    let PoolShare { zone: (zone, zones), minimum, maximum, rollout } = ctx.spec.machine_deployments[deployment].pool;
    let share = |of, total| int_or_percent_over_zones(zone, of, zones, total);
    let (surge, unavailable) = (share(rollout.max_surge, maximum), share(rollout.max_unavailable, minimum));
    RollingUpdate::new(tables.desired(deployment), surge, unavailable)
}

/// Pods are rather not to go to the nodes of old machines (`taintNodesBackingMachineSets`).
pub fn repel(deployment: MachineDeploymentId, store: &mut Store) {
    let Some((current, [_, ..])) = store.machines.sets(deployment).split_last() else { return };
    let old = store.machines.of(deployment).filter(|(_, machine)| machine.name.template != current.template);
    for node in old.filter_map(|(_, machine)| machine.node()).collect::<Vec<_>>() {
        store.repel(node);
    }
}
