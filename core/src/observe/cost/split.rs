//! Whose the time of machines is. That of each machine goes to the pods that are bound to its node, each in proportion to the larger of
//! its shares of CPU and memory; what is left, to nobody. Where such shares are more than the whole (one pod takes the CPU, another the
//! memory), they are of the time in proportion to each other.
//!
//! Fractions of a nanosecond are nobody's: the time that is left is what the machine's own meter says less what is given here.

use std::collections::BTreeMap;
use std::sync::Arc;

use crate::ids::{KubeClusterId, WorkloadId};
use crate::kernel::time::Time;
use crate::kube::name::NodeName;
use crate::kube::record::{KubeRecord, NodeFact, PodFact};
use crate::kube::spec::{KubeClusterSpec, MachineDeployment, Resources};
use crate::observe::placements::Placements;
use crate::scenario::Scenario;
use crate::scenario::prices::Shape;

/// Follows which pods are bound to which nodes.
#[derive(Clone, Debug)]
pub(super) struct Split {
    scenario: Arc<Scenario>,
    nodes: BTreeMap<(KubeClusterId, NodeName), NodePods>,
    homes: Placements,
    used: UsedTime,
}

/// The pods of a node.
#[derive(Clone, Debug)]
struct NodePods {
    since: Time,
    shape: Shape,
    /// All of the node, in the unit of [`share`].
    whole: u128,
    pods: BTreeMap<WorkloadId, Used>,
}

/// The pods of a workload on a node.
#[derive(Clone, Copy, Debug)]
struct Used {
    pods: u32,
    /// The share of each.
    share: u128,
    /// Time of the machine while there are any, in nanoseconds.
    ns: u128,
}

impl Used {
    /// The share of all of them.
    fn all(&self) -> u128 {
        u128::from(self.pods) * self.share
    }

    fn add_to(&self, used: &mut UsedTime, whose: (KubeClusterId, WorkloadId, Shape)) {
        if self.ns > 0 {
            *used.entry(whose).or_default() += self.ns;
        }
    }
}

/// Time of machines that workloads have used, in nanoseconds.
type UsedTime = BTreeMap<(KubeClusterId, WorkloadId, Shape), u128>;

impl Split {
    pub(super) fn new(scenario: &Arc<Scenario>) -> Self {
        let (nodes, homes, used) = Default::default();
        Self { scenario: Arc::clone(scenario), nodes, homes, used }
    }

    /// Takes note of a fact.
    pub(super) fn record(&mut self, at: Time, cluster: KubeClusterId, fact: &KubeRecord) {
        match *fact {
            KubeRecord::Pod(pod, PodFact::Bound(node)) => {
                self.advance(at, cluster, node);
                let spec = &self.scenario.kube.clusters[cluster];
                let Some(deployment) = deployment(spec, node) else { return };
                let allocatable = &deployment.template.allocatable;
                let room = self.nodes.entry((cluster, node)).or_insert_with(|| NodePods {
                    since: at,
                    shape: self.scenario.prices.shape(allocatable),
                    whole: whole(allocatable),
                    pods: BTreeMap::new(),
                });
                let share = || share(&spec.workloads[pod.workload].requests, allocatable);
                room.pods.entry(pod.workload).or_insert_with(|| Used { pods: 0, share: share(), ns: 0 }).pods += 1;
                self.homes.insert((cluster, pod), node);
            }
            KubeRecord::Pod(pod, PodFact::Removed) => {
                let Some(node) = self.homes.remove(&(cluster, pod)) else { return };
                self.advance(at, cluster, node);
                // Of a node that is gone nothing is counted any more.
                if let Some(room) = self.nodes.get_mut(&(cluster, node)) {
                    let used = room.pods.get_mut(&pod.workload).expect("it is bound there");
                    used.pods -= 1;
                    if used.pods == 0 {
                        used.add_to(&mut self.used, (cluster, pod.workload, room.shape));
                        room.pods.remove(&pod.workload);
                    }
                }
            }
            // Its machine is there no more, or nothing that runs on it is anybody's.
            KubeRecord::Node(node, NodeFact::Removed) => {
                self.advance(at, cluster, node);
                if let Some(room) = self.nodes.remove(&(cluster, node)) {
                    room.add_to(&mut self.used, cluster);
                }
                self.homes.remove_on(cluster, node);
            }
            _ => {}
        }
    }

    /// Gives the time since the last change on a node to its pods.
    fn advance(&mut self, at: Time, cluster: KubeClusterId, node: NodeName) {
        if let Some(room) = self.nodes.get_mut(&(cluster, node)) {
            room.advance(at);
        }
    }

    /// The time of machines that workloads have used until `now`, in nanoseconds.
    pub(super) fn used(&self, now: Time) -> UsedTime {
        let mut all = self.used.clone();
        for ((cluster, _), room) in &self.nodes {
            let mut room = room.clone();
            room.advance(now);
            room.add_to(&mut all, *cluster);
        }
        all
    }
}

impl NodePods {
    /// Gives the time since the last change to its pods.
    fn advance(&mut self, at: Time) {
        let ns = u128::from(at.since(std::mem::replace(&mut self.since, at)).as_nanos());
        if ns == 0 {
            return;
        }
        let all = self.pods.values().map(Used::all).sum::<u128>().max(self.whole);
        for used in self.pods.values_mut() {
            used.ns += ns * used.all() / all;
        }
    }

    /// Adds what its pods have used.
    fn add_to(&self, used: &mut UsedTime, cluster: KubeClusterId) {
        for (workload, own) in &self.pods {
            own.add_to(used, (cluster, *workload, self.shape));
        }
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
