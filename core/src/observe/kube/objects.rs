//! The objects of all clusters at one moment, in words.

use crate::ids::NodeKey;
use crate::kernel::time::Time;
use crate::kube::cluster::KubeCluster;
use crate::kube::describe::{effect_words, node_name};
use crate::kube::machine::Machine;
use crate::kube::record::Ready;
use crate::kube::rule::taints::Taint;
use crate::kube::spec::KubeClusterSpec;
use crate::kube::store::{Node, Pod, Store};
use crate::report::{MachineReport, NodeReport, PodPhase, PodReport, length, seconds};
use crate::scenario::Scenario;

/// All there is.
#[derive(Clone, Debug, Default)]
pub struct ObjectReports {
    /// Pods: by cluster and workload, the oldest first.
    pub pods: Vec<PodReport>,
    /// Nodes: by cluster, those of the start first.
    pub nodes: Vec<NodeReport>,
    /// Machines: by cluster, the oldest first.
    pub machines: Vec<MachineReport>,
}

impl ObjectReports {
    /// The objects of all clusters as they are `now`.
    pub fn new<'a>(clusters: impl Iterator<Item = &'a KubeCluster>, now: Time, scenario: &Scenario) -> Self {
        let mut all = Self::default();
        for (cluster, spec) in clusters.zip(&scenario.kube.clusters) {
            Reporter { store: cluster.store() }.report(spec, now, scenario, &mut all);
        }
        all
    }
}

struct Reporter<'a> {
    store: &'a Store,
}

impl Reporter<'_> {
    fn report(&self, spec: &KubeClusterSpec, now: Time, scenario: &Scenario, all: &mut ObjectReports) {
        let workloads = spec.workloads.keys();
        let pods = workloads.flat_map(|workload| self.store.pods_of(workload));
        all.pods.extend(pods.map(|(_, pod)| self.pod(pod, spec, scenario)));
        all.nodes.extend(self.store.nodes().map(|(key, node)| self.node(key, node, spec, scenario)));
        let machines = self.store.machines.machines();
        all.machines.extend(machines.map(|(_, machine)| self.machine(machine, now, spec, scenario)));
    }

    fn pod(&self, pod: &Pod, spec: &KubeClusterSpec, scenario: &Scenario) -> PodReport {
        let workload = &spec.workloads[pod.name.workload];
        let node = pod.node.and_then(|key| self.store.get_node(key));
        PodReport {
            cluster: spec.name.clone(),
            namespace: scenario.kube.word(workload.namespace).to_owned(),
            name: pod.name.text(spec),
            owner: workload.name.clone(),
            node: node.map(|node| node_name(node.name, spec, scenario)),
            zone: node.map(|node| scenario.zones[node.zone].name.clone()),
            phase: phase(pod),
            ready: pod.ready,
            reason: pod.unschedulable.map(|reasons| reasons.to_string()),
            restarts: pod.restarts,
            created_s: seconds(pod.created),
        }
    }

    fn node(&self, key: NodeKey, node: &Node, spec: &KubeClusterSpec, scenario: &Scenario) -> NodeReport {
        let tables = &self.store.machines;
        NodeReport {
            cluster: spec.name.clone(),
            name: node_name(node.name, spec, scenario),
            zone: scenario.zones[node.zone].name.clone(),
            ready: match node.ready {
                Ready::True => "True",
                Ready::Unknown => "Unknown",
            }
            .to_owned(),
            taints: node.taints.iter().map(|taint| taint_text(taint, scenario)).collect(),
            machine: tables.of_node(key).and_then(|id| tables.get(id)).map(|machine| machine.name.text(spec)),
        }
    }

    fn machine(&self, machine: &Machine, now: Time, spec: &KubeClusterSpec, scenario: &Scenario) -> MachineReport {
        let deployment = &spec.machine_deployments[machine.name.deployment];
        let node = machine.node().and_then(|key| self.store.get_node(key));
        let current = self.store.machines.sets(machine.name.deployment).last();
        MachineReport {
            cluster: spec.name.clone(),
            name: machine.name.text(spec),
            deployment: deployment.name.clone(),
            zone: scenario.zones[deployment.zone].name.clone(),
            phase: format!("{:?}", machine.phase),
            age_s: length(now.since(machine.created)),
            node: node.map(|node| node_name(node.name, spec, scenario)),
            outdated: current.is_some_and(|current| current.template != machine.name.template),
            out_of_stock: machine.exhausted,
        }
    }
}

fn phase(pod: &Pod) -> PodPhase {
    match pod {
        Pod { terminating: true, .. } => PodPhase::Terminating,
        Pod { started: true, .. } => PodPhase::Running,
        Pod { .. } => PodPhase::Pending,
    }
}

/// A taint, as `kubectl` prints it: `key=value:effect`.
pub fn taint_text(taint: &Taint, scenario: &Scenario) -> String {
    let key = scenario.kube.word(taint.key);
    let value = taint.value.map(|value| format!("={}", scenario.kube.word(value))).unwrap_or_default();
    format!("{key}{value}:{}", effect_words(taint.effect))
}
