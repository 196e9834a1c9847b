//! Whose the time of machines is. That of each machine goes to the pods that are bound to its node, each in proportion to the larger of
//! its shares of CPU and memory; what is left, to nobody. Where such shares are more than the whole (one pod takes the CPU, another the
//! memory), they are of the time in proportion to each other.
//!
//! Fractions of a nanosecond are nobody's: the time that is left is what the machine's own meter says less what is given here.

use std::collections::BTreeMap;
use std::sync::Arc;

use crate::ids::{KubeClusterId, WorkloadId};
use crate::kernel::time::Time;
use crate::kube::name::{NodeName, PodName};
use crate::kube::record::{KubeRecord, NodeFact, PodFact};
use crate::kube::spec::{KubeClusterSpec, MachineDeployment, Resources};
use crate::scenario::Scenario;
use crate::scenario::prices::Shape;

/// Follows which pods are bound to which nodes.
#[derive(Clone, Debug)]
pub(super) struct Split {
    scenario: Arc<Scenario>,
    nodes: BTreeMap<(KubeClusterId, NodeName), NodePods>,
    homes: BTreeMap<(KubeClusterId, PodName), NodeName>,
    used: BTreeMap<(KubeClusterId, WorkloadId, Shape), u128>,
}

/// The pods of a node.
#[derive(Clone, Debug, Default)]
struct NodePods {
    since: Time,
    pods: BTreeMap<WorkloadId, u32>,
}

impl Split {
    pub(super) fn new(scenario: &Arc<Scenario>) -> Self {
        let (nodes, homes, used) = Default::default();
        Self { scenario: Arc::clone(scenario), nodes, homes, used }
    }

    /// Takes note of a fact.
    pub(super) fn record(&mut self, at: Time, cluster: KubeClusterId, fact: &KubeRecord) {
        match *fact {
            KubeRecord::Pod(pod, PodFact::Bound(node)) if deployment(self.spec(cluster), node).is_some() => {
                self.advance(at, cluster, node);
                let room = self.nodes.entry((cluster, node)).or_default();
                room.since = at;
                *room.pods.entry(pod.workload).or_default() += 1;
                self.homes.insert((cluster, pod), node);
            }
            KubeRecord::Pod(pod, PodFact::Removed) => {
                let Some(node) = self.homes.remove(&(cluster, pod)) else { return };
                self.advance(at, cluster, node);
                // Of a node that is gone nothing is counted any more.
                if let Some(room) = self.nodes.get_mut(&(cluster, node)) {
                    let pods = room.pods.get_mut(&pod.workload).expect("it is bound there");
                    *pods -= 1;
                    room.pods.retain(|_, pods| *pods > 0);
                }
            }
            // Its machine is there no more, or nothing that runs on it is anybody's.
            KubeRecord::Node(node, NodeFact::Removed) => {
                self.advance(at, cluster, node);
                self.nodes.remove(&(cluster, node));
                self.homes.retain(|(own, _), home| (*own, *home) != (cluster, node));
            }
            _ => {}
        }
    }

    fn spec(&self, cluster: KubeClusterId) -> &KubeClusterSpec {
        &self.scenario.kube.clusters[cluster]
    }

    /// Gives the time since the last change on a node to its pods.
    fn advance(&mut self, at: Time, cluster: KubeClusterId, node: NodeName) {
        let Some(room) = self.nodes.get_mut(&(cluster, node)) else { return };
        let ns = u128::from(at.since(std::mem::replace(&mut room.since, at)).as_nanos());
        let spec = &self.scenario.kube.clusters[cluster];
        let Some(deployment) = deployment(spec, node).filter(|_| ns > 0) else { return };
        let shape = self.scenario.prices.shape(&deployment.template.allocatable);
        let allocatable = &deployment.template.allocatable;
        let weight = |(workload, pods): (&WorkloadId, &u32)| {
            let requests = &spec.workloads[*workload].requests;
            (*workload, u128::from(*pods) * share(requests, allocatable))
        };
        let weights: Vec<(WorkloadId, u128)> = room.pods.iter().map(weight).collect();
        let all = weights.iter().map(|(_, weight)| *weight).sum::<u128>().max(whole(allocatable));
        for (workload, weight) in weights {
            *self.used.entry((cluster, workload, shape)).or_default() += ns * weight / all;
        }
    }

    /// The time of machines that workloads have used until `now`, in nanoseconds.
    pub(super) fn used(&self, now: Time) -> BTreeMap<(KubeClusterId, WorkloadId, Shape), u128> {
        let mut all = self.clone();
        for (cluster, node) in self.nodes.keys() {
            all.advance(now, *cluster, *node);
        }
        all.used
    }
}

/// The machine deployment that a node is of, if it is.
fn deployment(cluster: &KubeClusterSpec, node: NodeName) -> Option<&MachineDeployment> {
    let machine = match node {
        NodeName::Given(key) => cluster.nodes[key].machine?,
        NodeName::Machine(name) => name,
    };
    Some(&cluster.machine_deployments[machine.deployment])
}

/// Memory in KiB: fine enough, and products stay within their bounds.
const fn kib(resources: &Resources) -> u128 {
    (resources.memory >> 10) as u128
}

/// All of a node, in the unit of [`share`].
fn whole(allocatable: &Resources) -> u128 {
    (u128::from(allocatable.cpu_milli) * kib(allocatable)).max(1)
}

/// The larger of a pod's shares of a node.
fn share(requests: &Resources, allocatable: &Resources) -> u128 {
    let cpu = u128::from(requests.cpu_milli) * kib(allocatable);
    cpu.max(kib(requests) * u128::from(allocatable.cpu_milli))
}
