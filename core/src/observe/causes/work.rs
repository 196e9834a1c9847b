//! Pods of etcd that are evicted or deleted, and the work of an operator that does it.

use std::collections::BTreeMap;

use super::{Causes, Incident};
use crate::ids::{EtcdId, FaultId, KubeClusterId};
use crate::kernel::time::{Duration, Time};
use crate::kube::describe::node_name;
use crate::kube::name::{NodeName, PodName};
use crate::kube::record::{KubeRecord, NodeFact, PodFact};
use crate::kube::spec::{Role, Task};
use crate::scenario::{ActiveFault, FaultTarget, Hit, text};

/// Work under way, and the pods of etcd that it may concern.
#[derive(Clone, Debug, Default)]
pub(super) struct Work {
    /// What operators asked for, in order.
    tasks: Vec<(KubeClusterId, Task)>,
    nodes: BTreeMap<(KubeClusterId, PodName), NodeName>,
    /// Since when the eviction of a pod has been refused for its budget.
    refused: BTreeMap<(KubeClusterId, PodName), Time>,
    /// Faults of nodes, and the etcd clusters that had pods there then.
    struck: Vec<(FaultId, EtcdId)>,
    /// Pods that are terminating.
    ends: BTreeMap<(KubeClusterId, PodName), PodEnd>,
}

/// The end of a pod of etcd that somebody asked for.
#[derive(Clone, Copy, Debug)]
pub(super) struct PodEnd {
    cluster: KubeClusterId,
    pod: PodName,
    /// Evicted, as its budget allows; otherwise deleted.
    evicted: bool,
    /// What an operator had asked for.
    task: Option<Task>,
    /// How long its budget had refused its eviction.
    refused: Option<Duration>,
}

impl PodEnd {
    /// Whether it is of the same pod.
    pub(super) fn is_of(self, other: Self) -> bool {
        (self.cluster, self.pod) == (other.cluster, other.pod)
    }
}

impl Work {
    /// Whether a fault hit the node of a pod of an etcd cluster.
    pub(super) fn is_struck(&self, fault: FaultId, etcd: EtcdId) -> bool {
        self.struck.contains(&(fault, etcd))
    }

    /// Keeps what concerns these faults.
    pub(super) fn forget_strikes(&mut self, faults: &[(ActiveFault, Option<Time>)]) {
        self.struck.retain(|(id, _)| faults.iter().any(|(fault, _)| fault.id == *id));
    }
}

impl Causes {
    /// A fault begins: pods may have moved to the node that it hits.
    pub(super) fn strikes(&mut self, fault: &ActiveFault) {
        for hit in fault.fault.kind().hits() {
            let Hit::Node(FaultTarget::Named(struck)) = hit else { continue };
            for ((cluster, pod), node) in &self.work.nodes {
                let spec = &self.scenario.kube.clusters[*cluster];
                let is_there = matches!(node, NodeName::Given(key) if spec.nodes[*key].node == struck);
                if let (true, Role::Etcd(etcd)) = (is_there, spec.workloads[pod.workload].role) {
                    self.work.struck.push((fault.id, etcd));
                }
            }
        }
    }

    /// Takes note of a record of Kubernetes.
    pub(super) fn of_kube(&mut self, at: Time, cluster: KubeClusterId, record: &KubeRecord) {
        match *record {
            KubeRecord::ApiServer(replica, fact) => self.servers.push_back((at, cluster, replica, fact)),
            KubeRecord::Operation(task) => self.work.tasks.push((cluster, task)),
            KubeRecord::Pod(pod, fact) => {
                let workload = &self.scenario.kube.clusters[cluster].workloads[pod.workload];
                if let Role::Etcd(etcd) = workload.role {
                    self.of_pod(at, etcd, (cluster, pod), fact);
                }
            }
            KubeRecord::Node(node, NodeFact::Removed) => {
                let here = |(of, pod): &(KubeClusterId, PodName)| {
                    let role = self.scenario.kube.clusters[*of].workloads[pod.workload].role;
                    if let Role::Etcd(etcd) = role { Some(etcd) } else { None }
                };
                let pods = self.work.nodes.iter().filter(|((of, _), on)| *of == cluster && **on == node);
                let clusters: Vec<EtcdId> = pods.filter_map(|(key, _)| here(key)).collect();
                for etcd in clusters {
                    self.happened(at, etcd, Incident::NodeDeleted(cluster, node));
                }
            }
            _ => {}
        }
    }

    fn of_pod(&mut self, at: Time, etcd: EtcdId, key: (KubeClusterId, PodName), fact: PodFact) {
        match fact {
            PodFact::Bound(node) => drop(self.work.nodes.insert(key, node)),
            PodFact::Removed => {
                self.work.nodes.remove(&key);
                // It may have served till now.
                if let Some(end) = self.work.ends.remove(&key) {
                    self.happened(at, etcd, Incident::PodEnds(end));
                }
            }
            PodFact::Evicted(false) | PodFact::SeveralBudgets => {
                self.work.refused.entry(key).or_insert(at);
            }
            PodFact::Evicted(true) => self.pod_ends(at, etcd, key, true),
            PodFact::Terminating => {
                let evicted = |&(when, _, incident): &(Time, EtcdId, Incident)| {
                    when == at && matches!(incident, Incident::PodEnds(end) if (end.cluster, end.pod) == key)
                };
                if !self.incidents.iter().rev().any(evicted) {
                    self.pod_ends(at, etcd, key, false);
                }
            }
            _ => {}
        }
    }

    fn pod_ends(&mut self, at: Time, etcd: EtcdId, (cluster, pod): (KubeClusterId, PodName), evicted: bool) {
        let refused = self.work.refused.remove(&(cluster, pod)).map(|since| at.since(since));
        let task = self.task(cluster, pod);
        let end = PodEnd { cluster, pod, evicted, task, refused };
        self.work.ends.insert((cluster, pod), end);
        self.happened(at, etcd, Incident::PodEnds(end));
    }

    /// The latest work that concerns a pod.
    fn task(&self, cluster: KubeClusterId, pod: PodName) -> Option<Task> {
        let spec = &self.scenario.kube.clusters[cluster];
        let node = self.work.nodes.get(&(cluster, pod)).copied();
        let deployment = match node {
            Some(NodeName::Given(key)) => spec.nodes[key].machine.map(|machine| machine.deployment),
            Some(NodeName::Machine(machine)) => Some(machine.deployment),
            None => None,
        };
        let concerns = |task: &Task| match *task {
            Task::RollComponent(workload) => workload == pod.workload,
            Task::DrainNode(key) => node == Some(NodeName::Given(key)),
            Task::RollMachines(of) => deployment == Some(of),
        };
        self.work.tasks.iter().rev().filter(|(of, _)| *of == cluster).map(|(_, task)| *task).find(concerns)
    }

    /// `the drain of worker-c2 evicted etcd-main-1`.
    pub(super) fn describe_end(&self, end: PodEnd) -> String {
        let spec = &self.scenario.kube.clusters[end.cluster];
        let pod = end.pod.text(spec);
        let done = if end.evicted { "evicted" } else { "deleted" };
        let told = match end.task {
            None => format!("{pod} was {done}"),
            Some(Task::RollComponent(workload)) => format!("the rollout of {} {done} {pod}", spec.workloads[workload].name),
            Some(Task::DrainNode(node)) => {
                format!("the drain of {} {done} {pod}", self.scenario.nodes[spec.nodes[node].node].name)
            }
            Some(Task::RollMachines(of)) => format!("the roll of {} {done} {pod}", spec.machine_deployments[of].name),
        };
        match end.refused.filter(|_| !end.evicted) {
            Some(time) => format!("{told}, whose budget had refused its eviction for {}", text::duration(time)),
            None => told,
        }
    }

    /// `node worker-c2 was deleted`.
    pub(super) fn describe_deletion(&self, cluster: KubeClusterId, node: NodeName) -> String {
        format!("node {} was deleted", node_name(node, &self.scenario.kube.clusters[cluster], &self.scenario))
    }

    /// Whether this is the end of the pod of this name.
    pub(super) fn is_end_of(&self, end: PodEnd, name: &str) -> bool {
        end.pod.text(&self.scenario.kube.clusters[end.cluster]) == name
    }
}
