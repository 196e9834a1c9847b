//! Machines stay within the maximum and the surge (Kubernetes, "Deployments", section "Max Surge", which the machine-controller-manager
//! follows: `pkg/controller/deployment_rolling.go`). A machine set creates machines while fewer are active than it is to have
//! (`manageReplicas` in `pkg/controller/machineset.go`), the sets of a machine deployment are to have at most its replicas and the surge,
//! and the autoscaler asks for no more replicas than the maximum of the worker pool's zone (or of the whole pool, where GEP-24 lets it). Machines that were given up or terminate
//! are not active: the cloud may fail to delete them.

use super::{Property, View};
use crate::gardener::distribute::int_or_percent_over_zones;
use crate::ids::MachineDeploymentId;
use crate::kube::machine::Phase;
use crate::kube::name::{MachineName, NodeName};
use crate::kube::record::{KubeRecord, MachineFact};
use crate::kube::spec::PoolShare;
use crate::kube::spec::autoscaler::Sizing;

/// Needs no memory but the objects.
#[derive(Clone, Debug, Default)]
pub(super) struct MachineLimit;

/// Machines of a machine deployment at most.
fn limit(deployment: MachineDeploymentId, view: &View<'_>) -> u32 {
    let deployment = &view.spec().machine_deployments[deployment];
    let PoolShare { zone: (zone, zones), maximum, rollout, .. } = deployment.pool;
    let surge = int_or_percent_over_zones(zone, rollout.max_surge, zones, maximum);
    let sizing = view.spec().controllers.cluster_autoscaler.as_ref().map_or(Sizing::Static, |options| options.sizing);
    let most = match sizing {
        Sizing::Static => deployment.maximum,
        Sizing::LaxGreedy => maximum,
        Sizing::BackwardCompatible => deployment.maximum.max(1),
    };
    most + surge.of_rounded_up(most)
}

impl Property for MachineLimit {
    const NAME: &'static str = "machines stay within the maximum and the surge";

    fn check(&mut self, fact: &KubeRecord, view: &View<'_>) -> Result<(), String> {
        let KubeRecord::Machine(name, MachineFact::Created) = *fact else { return Ok(()) };
        let first = MachineName { deployment: name.deployment, template: 0, suffix: 0 };
        let siblings = view.objects().machines.range(first..).take_while(|(other, _)| other.deployment == name.deployment);
        let active = siblings.filter(|(_, phase)| !matches!(phase, Phase::Failed | Phase::Terminating)).count() + 1;
        let limit = limit(name.deployment, view);
        if active <= limit as usize {
            return Ok(());
        }
        let name = view.node(NodeName::Machine(name));
        Err(format!("{name} is the {active}th active machine of its machine deployment, which may have {limit} with its surge"))
    }
}
