//! Roll-outs of machines (`pkg/controller/deployment_rolling.go`): a new machine set grows and the old ones shrink, by the rule that
//! Deployments have. A machine is available while it is [`Phase::Running`].

use super::Phase;
use super::fleet::{Fleet, Set};
use crate::gardener::distribute::int_or_percent_over_zones;
use crate::ids::MachineDeploymentId;
use crate::kube::context::Cx;
use crate::kube::rule::rollout::{ReplicaSet, RollingUpdate};
use crate::kube::spec::PoolShare;
use crate::kube::store::Store;

/// Machines that each machine set of a machine deployment is to have now.
pub fn sizes(deployment: MachineDeploymentId, fleet: &Fleet, cx: &Cx<'_>) -> Vec<u32> {
    let PoolShare { zone: (zone, zones), maximum, rollout } = cx.spec.machine_deployments[deployment.0 as usize].pool;
    let share = |of| int_or_percent_over_zones(zone, of, zones, maximum);
    let update = RollingUpdate::new(fleet.desired(deployment), share(rollout.max_surge), share(rollout.max_unavailable));
    let set = |set: &Set| {
        let machines = fleet.of(deployment).filter(|(_, machine)| machine.name.template == set.template);
        let available = machines.filter(|(_, machine)| machine.phase == Phase::Running).count() as u32;
        ReplicaSet { wanted: set.wanted, available }
    };
    let mut sets: Vec<ReplicaSet> = fleet.sets(deployment).iter().map(set).collect();
    let current = sets.pop().expect("there is one always");
    update.sizes(current, &sets)
}

/// Pods are rather not to go to the nodes of old machines (`taintNodesBackingMachineSets`).
pub fn repel(deployment: MachineDeploymentId, fleet: &Fleet, store: &mut Store) {
    let Some((current, [_, ..])) = fleet.sets(deployment).split_last() else { return };
    let old = fleet.of(deployment).filter(|(_, machine)| machine.name.template != current.template);
    for node in old.filter_map(|(_, machine)| machine.node()) {
        store.repel(node);
    }
}
