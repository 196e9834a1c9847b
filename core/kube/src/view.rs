//! The objects of a cluster at one moment, as a map shows them: numbers, not words, since it is looked at sixty times a second.

use serde::{Deserialize, Serialize};

use crate::claim::Attachment;
use crate::cluster::KubeCluster;
use crate::controller::placement::{Demand, refusals};
use crate::kubelet::loss;
use crate::machine::Machine;
use crate::machine::Phase;
use crate::name::{MachineName, NodeName, PodName};
use crate::reasons::{Reasons, Refusal};
use crate::record::{Loss, Ready, Reason};
use crate::rule::taints::Taint;
use crate::spec::KubeClusterSpec;
use crate::store::{BudgetId, BudgetKey, BudgetView, Node, Pod};
use zonefall_kernel::time::Time;
use zonefall_network::Network;
use zonefall_scenario::ids::{NodeKey, WorkloadId, ZoneId};

/// The objects of a cluster.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct KubeClusterView {
    /// Its nodes: those of the start first.
    pub nodes: Vec<NodeView>,
    /// Its machines, the oldest first.
    pub machines: Vec<MachineView>,
    /// Its pods, the oldest first.
    pub pods: Vec<PodView>,
    /// Why pods find no node.
    pub pending: Vec<PendingView>,
    /// Its workloads whose revisions are recorded.
    pub rollouts: Vec<RolloutView>,
    /// Its budgets of evictions; of those that workloads bring along, the ones of `rollouts`.
    pub budgets: Vec<BudgetView>,
}

/// Pods that ask for the same, and find no node: what the scheduler would say of each node now.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct PendingView {
    /// The pods.
    pub pods: Vec<PodName>,
    /// The first filter that each node fails, of as many nodes as are told; `None`: it fails none.
    pub nodes: Vec<(NodeKey, Option<Refusal>)>,
}

/// Demands of pods without a node, and nodes for each, that are told: a look is quick.
const MOST_DEMANDS: usize = 8;
const MOST_NODES: usize = 64;

/// How far a workload is rolled out.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct RolloutView {
    /// The workload.
    pub workload: WorkloadId,
    /// Revision that its pods are to have.
    pub revision: u32,
    /// There was another revision before.
    pub rolled: bool,
    /// None of its pods is replaced until somebody resumes its rollout.
    pub paused: bool,
}

/// A node as the API has it.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct NodeView {
    /// Number of the node.
    pub key: NodeKey,
    /// Its name.
    pub name: NodeName,
    /// Its zone.
    pub zone: ZoneId,
    /// Condition `Ready` of the node.
    pub ready: Ready,
    /// Taints of the node.
    pub taints: Vec<Taint>,
    /// In truth, whether the API knows or not: why what runs on it serves nobody.
    pub lost: Option<Loss>,
}

/// A machine as the API has it.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct MachineView {
    /// Its name.
    pub name: MachineName,
    /// Its zone.
    pub zone: ZoneId,
    /// Where it stands.
    pub phase: Phase,
    /// Since when.
    pub since: Time,
    /// When it was made.
    pub created: Time,
    /// The node it is, or is to be once that joins; `None`: the cloud has made none.
    pub node: Option<NodeKey>,
}

/// A pod as the API has it.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct PodView {
    /// Its name.
    pub name: PodName,
    /// Its workload's revision that it is of.
    pub revision: u32,
    /// Its node, which may be gone.
    pub node: Option<NodeKey>,
    /// Its process was seen running.
    pub started: bool,
    /// It serves.
    pub ready: bool,
    /// It is to end.
    pub terminating: bool,
    /// Its volume is not attached to its node.
    pub detached: bool,
    /// Why the scheduler found no node for it at its last attempt.
    pub unschedulable: Option<Reason>,
    /// Starts after the first.
    pub restarts: u32,
    /// When it was made.
    pub created: Time,
}

impl KubeCluster {
    /// Its objects now.
    pub fn view(&self, spec: &KubeClusterSpec, net: &Network) -> KubeClusterView {
        let workloads = spec.workloads.iter_enumerated();
        let recorded = workloads.filter(|(_, workload)| workload.update.is_recorded()).map(|(id, _)| id);
        KubeClusterView {
            nodes: self.store().nodes().map(|(key, node)| of_node(key, node, net)).collect(),
            machines: self.store().machines.machines().map(|(_, machine)| of_machine(machine, spec)).collect(),
            pods: self.store().pods().map(|(_, pod)| self.of_pod(pod)).collect(),
            pending: self.of_pending(spec),
            rollouts: recorded.clone().map(|id| self.of_rollout(id)).collect(),
            budgets: self.of_budgets(recorded, spec),
        }
    }

    fn of_pending(&self, spec: &KubeClusterSpec) -> Vec<PendingView> {
        let store = self.store();
        let mut demands: Vec<(Demand, Vec<PodName>)> = Vec::new();
        for (_, pod) in store.pods().filter(|(_, pod)| pod.node.is_none() && pod.unschedulable.is_some()) {
            let demand = Demand::of(pod, store);
            match demands.iter().position(|(other, _)| *other == demand) {
                Some(place) => demands[place].1.push(pod.name),
                None if demands.len() < MOST_DEMANDS => demands.push((demand, vec![pod.name])),
                None => {}
            }
        }
        let view = |(demand, pods)| PendingView { pods, nodes: refusals(demand, MOST_NODES, spec, store) };
        demands.into_iter().map(view).collect()
    }

    fn of_rollout(&self, workload: WorkloadId) -> RolloutView {
        let revisions = self.store().revisions(workload);
        RolloutView { workload, revision: revisions.current(), rolled: !revisions.is_first(), paused: revisions.is_paused() }
    }

    fn of_budgets(&self, recorded: impl Iterator<Item = WorkloadId>, spec: &KubeClusterSpec) -> Vec<BudgetView> {
        let store = self.store();
        let own = recorded.map(|id| (BudgetKey::Own(id), BudgetId::Workload(id)));
        let named = (0..spec.budgets.len() as u32).map(|k| (BudgetKey::Named(k), BudgetId::Named(k)));
        let status = |(budget, id)| Some(BudgetView { budget, allowed: store.budget(id)?.allowed.into() });
        own.chain(named).filter_map(status).chain(store.webhooks.iter().flat_map(|webhook| webhook.allows())).collect()
    }

    fn of_pod(&self, pod: &Pod) -> PodView {
        let attached = self.store().claim(pod.name).is_none_or(|claim| match claim.attachment {
            Attachment::Attached(node) => pod.node == Some(node),
            _ => false,
        });
        PodView {
            name: pod.name,
            revision: pod.revision,
            node: pod.node,
            started: pod.started,
            ready: pod.ready,
            terminating: pod.terminating,
            detached: pod.node.is_some() && !attached,
            unschedulable: pod.unschedulable.map(Reasons::last),
            restarts: pod.restarts,
            created: pod.created,
        }
    }
}

fn of_node(key: NodeKey, node: &Node, net: &Network) -> NodeView {
    let (taints, lost) = (node.taints.to_vec(), loss(node.host, net));
    NodeView { key, name: node.name, zone: node.zone, ready: node.ready, taints, lost }
}

fn of_machine(machine: &Machine, spec: &KubeClusterSpec) -> MachineView {
    MachineView {
        name: machine.name,
        zone: spec.machine_deployments[machine.name.deployment].zone,
        phase: machine.phase,
        since: machine.since,
        created: machine.created,
        node: machine.node(),
    }
}
