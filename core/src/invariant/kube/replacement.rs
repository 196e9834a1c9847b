//! One replacement per machine deployment at a time: "per MachineDeployment it will delete one machine at a time" (GEP-20,
//! section "Impact of a Zone Outage"; `canMarkMachineFailed` of the machine-controller-manager). A machine whose health is unknown is
//! given up only while all others of its deployment run or are unknown too.

use super::{Property, View};
use crate::kube::machine::Phase;
use crate::kube::name::{MachineName, NodeName};
use crate::kube::record::{KubeRecord, MachineFact};

/// Needs no memory but the objects.
#[derive(Clone, Debug, Default)]
pub(super) struct Replacement;

impl Property for Replacement {
    const NAME: &'static str = "one replacement at a time";

    fn check(&mut self, fact: &KubeRecord, view: &View<'_>) -> Result<(), String> {
        let KubeRecord::Machine(name, MachineFact::Phase(Phase::Failed)) = *fact else { return Ok(()) };
        let machines = &view.objects().machines;
        if machines.get(&name) != Some(&Phase::Unknown) {
            return Ok(());
        }
        let first = MachineName { deployment: name.deployment, template: 0, suffix: 0 };
        let siblings = machines.range(first..).take_while(|(other, _)| other.deployment == name.deployment);
        let mut in_progress = siblings.filter(|(_, phase)| !matches!(phase, Phase::Running | Phase::Unknown));
        in_progress.next().map_or(Ok(()), |(other, phase)| {
            let [name, other] = [name, *other].map(|machine| view.node(NodeName::Machine(machine)));
            Err(format!("{name} is marked as failed while {other} is {phase:?}"))
        })
    }
}
