//! Pods of etcd that are evicted or deleted, API servers that are evicted, and the work of an operator that does it.

use std::collections::{BTreeMap, BTreeSet};

use super::pod_end::{Ending, Leaving, PodEnd};
use super::{Causes, Incident, Outage};
use crate::ids::{EtcdId, FaultId, KubeClusterId, MemberId, NodeId};
use crate::kernel::time::Time;
use crate::kube::describe::node_name;
use crate::kube::machine::Phase;
use crate::kube::name::{MachineName, NodeName, PodName};
use crate::kube::record::{KubeRecord, Loss, MachineFact, NodeFact, PodFact, Reason, Replica};
use crate::kube::spec::{Role, Task};
use crate::observe::placements::Placements;
use crate::scenario::{ActiveFault, FaultTarget, Hit, Scenario, text};

/// Work under way, and the pods of etcd that it may concern.
#[derive(Clone, Debug, Default)]
pub(super) struct Work {
    /// What operators asked for, in order.
    tasks: Vec<(KubeClusterId, Task)>,
    /// Where pods run that have not been deleted.
    nodes: Placements,
    /// Since when the eviction of a pod has been refused for its budget.
    refused: BTreeMap<(KubeClusterId, PodName), Time>,
    /// Faults of nodes, and the etcd clusters that had pods there then.
    struck: Vec<(FaultId, EtcdId)>,
    /// Pods that are ready, as the API has it.
    ready: BTreeSet<(KubeClusterId, PodName)>,
    /// Pods that find no node: since when, and why.
    unschedulable: BTreeMap<(KubeClusterId, PodName), (Time, Reason)>,
    /// Nodes on which nothing serves, known or not.
    lost: BTreeMap<(KubeClusterId, NodeName), Loss>,
    /// Nodes that are to go, which no operator asked for.
    leaving: BTreeMap<(KubeClusterId, NodeName), Leaving>,
    /// Pods that are terminating.
    ends: BTreeMap<(KubeClusterId, PodName), PodEnd>,
    /// Ends of pods that are API servers, as the drains of their nodes asked for them.
    server_ends: BTreeMap<(KubeClusterId, PodName), (Time, PodEnd)>,
    /// Where pods ran that were deleted.
    deleted_from: Placements,
    /// Processes without a pod that are terminating.
    orphans: Vec<OrphanStop>,
    /// Hosts that were removed from a control plane.
    left: BTreeMap<(KubeClusterId, NodeId), Time>,
}

/// A process whose pod was deleted while its node was out of reach, and that the kubelet stopped when it saw that.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct OrphanStop {
    cluster: KubeClusterId,
    pod: PodName,
    node: NodeName,
}

/// A node whose object was deleted, and its machine with it.
#[derive(Clone, Copy, Debug)]
pub(super) struct NodeDeletion {
    cluster: KubeClusterId,
    node: NodeName,
    why: Option<Leaving>,
}

impl Work {
    /// Whether a fault hit the node of a pod of an etcd cluster.
    pub(super) fn is_struck(&self, fault: FaultId, etcd: EtcdId) -> bool {
        self.struck.contains(&(fault, etcd))
    }

    /// Another pod of a workload that is ready, as the API has it, though its node is lost.
    fn counted(&self, cluster: KubeClusterId, pod: PodName) -> Option<(PodName, NodeName, Loss)> {
        let all = self.nodes.of(cluster, pod.workload);
        let mut others = all.filter(|(other, _)| *other != pod && self.ready.contains(&(cluster, *other)));
        others.find_map(|(other, node)| Some((other, node, *self.lost.get(&(cluster, node))?)))
    }

    /// How a pod was asked to end, of a fact that tells it.
    fn ending(&self, (cluster, pod): (KubeClusterId, PodName), fact: PodFact) -> Option<Ending> {
        let node = self.nodes.get(&(cluster, pod));
        let leaving = node.and_then(|node| Some((node, *self.leaving.get(&(cluster, node))?)));
        match fact {
            PodFact::Evicted(true) => Some(leaving.map_or(Ending::Evicted, |(node, why)| Ending::Drained(node, why))),
            PodFact::ForceDeleted => node.map(Ending::Forced),
            PodFact::TaintEvicted => node.map(Ending::Tainted),
            PodFact::GarbageCollected => node.map(Ending::Collected),
            _ => None,
        }
    }

    /// Whether a host is no part of a control plane any more.
    pub(super) fn has_left(&self, cluster: KubeClusterId, host: NodeId) -> bool {
        self.left.contains_key(&(cluster, host))
    }

    /// Hosts that have left a control plane between two times.
    pub(super) fn left(&self, cluster: KubeClusterId, from: Time, to: Time) -> impl Iterator<Item = NodeId> {
        let left = self.left.iter().filter(move |((of, _), at)| *of == cluster && (from..=to).contains(at));
        left.map(|((_, host), _)| *host)
    }

    /// Drops ends of API servers before these times.
    pub(super) fn forget_servers(&mut self, is_old: impl Fn(KubeClusterId, Time) -> bool, scenario: &Scenario) {
        let api = |(cluster, pod): &(KubeClusterId, PodName)| match scenario.kube.clusters[*cluster].workloads[pod.workload].role
        {
            Role::ApiServer(api) => Some(api),
            _ => None,
        };
        self.server_ends.retain(|key, (at, _)| api(key).is_some_and(|api| !is_old(api, *at)));
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
            for ((cluster, pod), node) in self.work.nodes.iter() {
                let spec = &self.scenario.kube.clusters[cluster];
                let is_there = matches!(node, NodeName::Given(key) if spec.nodes[key].node == struck);
                if let (true, Role::Etcd(etcd)) = (is_there, spec.workloads[pod.workload].role) {
                    self.work.struck.push((fault.id, etcd));
                }
            }
        }
    }

    /// Takes note of a record of Kubernetes.
    pub(super) fn of_kube(&mut self, at: Time, cluster: KubeClusterId, record: &KubeRecord) {
        match *record {
            KubeRecord::ApiServer(replica, fact) => self.of_server(at, cluster, replica, fact),
            KubeRecord::ApiShare { share, .. } if share.is_part() => self.of_share(at, cluster),
            KubeRecord::Operation(task @ (Task::AddHost(place) | Task::RemoveHost(place))) => {
                let spec = &self.scenario.kube.clusters[cluster];
                let (host, joins) = (spec.control_plane[place as usize], matches!(task, Task::AddHost(_)));
                if joins {
                    self.work.left.remove(&(cluster, host));
                } else {
                    self.work.left.insert((cluster, host), at);
                }
                self.happened(at, spec.etcd, Incident::Host(host, joins));
            }
            KubeRecord::Operation(task) => self.work.tasks.push((cluster, task)),
            KubeRecord::Pod(pod, fact) => {
                let role = self.scenario.kube.clusters[cluster].workloads[pod.workload].role;
                if let Role::Etcd(etcd) = role {
                    self.of_pod(at, etcd, (cluster, pod), fact);
                } else if let Role::ApiServer(_) = role {
                    self.of_server_pod(at, (cluster, pod), fact);
                }
            }
            KubeRecord::Machine(machine, MachineFact::Phase(Phase::Failed)) => {
                self.work.leaving.insert((cluster, self.node_of(cluster, machine)), Leaving::GivenUp);
            }
            KubeRecord::Node(node, NodeFact::ToBeDeleted) => {
                self.work.leaving.entry((cluster, node)).or_insert(Leaving::ScaledDown);
            }
            KubeRecord::Node(node, NodeFact::Kept(_)) => drop(self.work.leaving.remove(&(cluster, node))),
            KubeRecord::Node(node, NodeFact::Removed) => {
                let why = self.work.leaving.remove(&(cluster, node));
                let here = |pod: PodName| {
                    let role = self.scenario.kube.clusters[cluster].workloads[pod.workload].role;
                    if let Role::Etcd(etcd) = role { Some(etcd) } else { None }
                };
                // Processes whose pods were deleted while it was cut off end with its machine.
                let orphans = self.work.deleted_from.remove_on(cluster, node);
                let etcds: BTreeSet<EtcdId> = self.work.nodes.on(cluster, node).chain(orphans).filter_map(here).collect();
                for etcd in etcds {
                    self.happened(at, etcd, Incident::NodeDeleted(NodeDeletion { cluster, node, why }));
                }
            }
            KubeRecord::Node(node, NodeFact::Lost(Some(loss))) => drop(self.work.lost.insert((cluster, node), loss)),
            KubeRecord::Node(node, NodeFact::Lost(None)) => drop(self.work.lost.remove(&(cluster, node))),
            _ => {}
        }
    }

    /// The node that a machine brought.
    fn node_of(&self, cluster: KubeClusterId, machine: MachineName) -> NodeName {
        let mut given = self.scenario.kube.clusters[cluster].nodes.iter_enumerated();
        let is_its = given.find(|(_, node)| node.machine == Some(machine));
        is_its.map_or(NodeName::Machine(machine), |(key, _)| NodeName::Given(key))
    }

    fn of_pod(&mut self, at: Time, etcd: EtcdId, key: (KubeClusterId, PodName), fact: PodFact) {
        match fact {
            PodFact::Bound(node) => {
                self.work.unschedulable.remove(&key);
                self.work.nodes.insert(key, node);
            }
            PodFact::Unschedulable(reason) => {
                let since = self.work.unschedulable.get(&key).map_or(at, |(since, _)| *since);
                self.work.unschedulable.insert(key, (since, reason));
            }

            PodFact::Removed => {
                if let Some(node) = self.work.nodes.remove(&key) {
                    self.work.deleted_from.insert(key, node);
                }
                self.work.ready.remove(&key);
                self.work.unschedulable.remove(&key);
                // It may have served till now, or serve on: what is deleted by force goes before its process has stopped.
                if let Some(end) = self.work.ends.get(&key).copied() {
                    self.ends(at, etcd, end);
                    if !matches!(end.how, Ending::Forced(_)) {
                        self.work.ends.remove(&key);
                    }
                }
            }
            PodFact::Evicted(false) | PodFact::Denied | PodFact::SeveralBudgets => {
                self.work.refused.entry(key).or_insert(at);
            }
            PodFact::OrphanedContainer(false) => {
                let ((cluster, pod), node) = (key, self.work.deleted_from.remove(&key));
                if let Some(node) = node.filter(|node| !self.work.lost.contains_key(&(cluster, *node))) {
                    let orphan = OrphanStop { cluster, pod, node };
                    self.work.orphans.push(orphan);
                    self.happened(at, etcd, Incident::OrphanStops(orphan));
                }
            }
            PodFact::Ready(true) => {
                self.work.ready.insert(key);
                // The pod before it, of the same name, has ended.
                self.work.ends.retain(|of, end| *of != key || !matches!(end.how, Ending::Forced(_)));
            }
            PodFact::Ready(false) => drop(self.work.ready.remove(&key)),
            PodFact::Terminating if !self.is_ending(at, etcd, key) => self.pod_ends(at, etcd, key, Ending::Deleted),
            _ => {
                if let Some(how) = self.work.ending(key, fact) {
                    self.pod_ends(at, etcd, key, how);
                }
            }
        }
    }

    /// A member has stopped, or has stepped down and may be about to stop: its pod, or the process that is left of it, may have been
    /// terminating for long. `stopped`: its process has ended.
    pub(super) fn stops_with_pod(&mut self, at: Time, member: MemberId, stopped: bool) {
        let name = text::member(&*self.scenario, member);
        let is_its = |cluster: KubeClusterId, pod: PodName| {
            let spec = &self.scenario.kube.clusters[cluster];
            spec.workloads[pod.workload].role == Role::Etcd(member.cluster) && pod.text(spec) == name
        };
        let orphan = self.work.orphans.iter().position(|orphan| is_its(orphan.cluster, orphan.pod));
        let end = self.work.ends.iter().find(|((cluster, pod), _)| is_its(*cluster, *pod)).map(|(_, end)| *end);
        if let Some(place) = orphan {
            self.happened(at, member.cluster, Incident::OrphanStops(self.work.orphans[place]));
        } else if let Some(end) = end {
            self.ends(at, member.cluster, end);
        }
        if let Some(place) = orphan.filter(|_| stopped) {
            self.work.orphans.swap_remove(place);
        }
    }

    fn of_server_pod(&mut self, at: Time, key: (KubeClusterId, PodName), fact: PodFact) {
        // One whose node is lost served nobody.
        let is_lost = self.work.nodes.get(&key).is_some_and(|node| self.work.lost.contains_key(&(key.0, node)));
        if let Some(how) = self.work.ending(key, fact).filter(|_| !is_lost) {
            let end = self.pod_end(at, key, how);
            self.work.server_ends.insert(key, (at, end));
        }
        match fact {
            PodFact::Bound(node) => {
                self.work.nodes.insert(key, node);
            }
            PodFact::Evicted(false) | PodFact::Denied | PodFact::SeveralBudgets => {
                self.work.refused.entry(key).or_insert(at);
            }
            PodFact::Removed => {
                self.work.refused.remove(&key);
                self.work.nodes.remove(&key);
            }
            _ => {}
        }
    }

    /// `the drain of worker-c2 evicted kube-apiserver-x`, of an API server that a drain has ended.
    pub(super) fn drained(&self, server: Replica) -> Option<String> {
        let Replica::Pod(cluster, pod) = server else { return None };
        self.work.server_ends.get(&(cluster, pod)).map(|(_, end)| self.describe_end(*end))
    }

    fn pod_ends(&mut self, at: Time, etcd: EtcdId, key: (KubeClusterId, PodName), how: Ending) {
        let end = self.pod_end(at, key, how);
        self.work.ends.insert(key, end);
        self.ends(at, etcd, end);
    }

    fn pod_end(&mut self, at: Time, (cluster, pod): (KubeClusterId, PodName), how: Ending) -> PodEnd {
        let refused = self.work.refused.remove(&(cluster, pod)).map(|since| at.since(since));
        let task = self.task(cluster, pod);
        let by_budget = matches!(how, Ending::Evicted | Ending::Drained(..));
        let counted = self.work.counted(cluster, pod).filter(|_| by_budget);
        PodEnd { cluster, pod, how, task, refused, counted }
    }

    /// The end of a pod, once at a time.
    fn ends(&mut self, at: Time, etcd: EtcdId, end: PodEnd) {
        if !self.is_ending(at, etcd, (end.cluster, end.pod)) {
            self.happened(at, etcd, Incident::PodEnds(end));
        }
    }

    /// Whether the end of a pod is known to have happened at a time.
    fn is_ending(&self, at: Time, etcd: EtcdId, pod: (KubeClusterId, PodName)) -> bool {
        let now = self.clusters[etcd].incidents.iter().rev().take_while(|(when, _)| *when == at);
        now.into_iter().any(|(_, incident)| matches!(incident, Incident::PodEnds(end) if (end.cluster, end.pod) == pod))
    }

    /// The latest work that concerns a pod.
    fn task(&self, cluster: KubeClusterId, pod: PodName) -> Option<Task> {
        let spec = &self.scenario.kube.clusters[cluster];
        let node = self.work.nodes.get(&(cluster, pod));
        let deployment = match node {
            Some(NodeName::Given(key)) => spec.nodes[key].machine.map(|machine| machine.deployment),
            Some(NodeName::Machine(machine)) => Some(machine.deployment),
            None => None,
        };
        let concerns = |task: &Task| match *task {
            Task::RollComponent(workload) | Task::RollBackComponent(workload) | Task::ResumeRollout(workload) => {
                workload == pod.workload
            }
            Task::DrainNode(key) => node == Some(NodeName::Given(key)),
            Task::RollMachines(of) => deployment == Some(of),
            Task::ScaleWorkload(scale) => scale.workload == pod.workload,
            Task::Deschedule(_) => true,
            // No pod's.
            Task::AddHost(_) | Task::RemoveHost(_) | Task::PauseRollout(_) | Task::AddNodes(_) | Task::ShiftZone(_) => false,
        };
        self.work.tasks.iter().rev().filter(|(of, _)| *of == cluster).map(|(_, task)| *task).find(concerns)
    }

    /// `the kubelet of worker-c2 stopped etcd-main-1, whose pod was deleted while the node was cut off`.
    pub(super) fn describe_orphan(&self, OrphanStop { cluster, pod, node }: OrphanStop) -> String {
        let spec = &self.scenario.kube.clusters[cluster];
        let (node, pod) = (node_name(node, spec, &self.scenario), pod.text(spec));
        format!("the kubelet of {node} stopped {pod}, whose pod was deleted while the node was cut off")
    }

    /// `node worker-c2, whose machine had failed, was deleted`.
    pub(super) fn describe_deletion(&self, deletion: NodeDeletion) -> String {
        let spec = &self.scenario.kube.clusters[deletion.cluster];
        let why = match deletion.why {
            Some(Leaving::GivenUp) => ", whose machine had failed,",
            Some(Leaving::ScaledDown) => ", which the autoscaler had no need of,",
            None => "",
        };
        format!("node {}{why} was deleted", node_name(deletion.node, spec, &self.scenario))
    }

    /// `etcd-main-0 has no node (pod affinity is not satisfied)`, of pods of etcd that the scheduler has found none for.
    pub(super) fn without_node(&self, outage: &Outage) -> Option<String> {
        let ends = outage.to.unwrap_or(Time::MAX);
        let is_of = |(cluster, pod): &(KubeClusterId, PodName)| {
            self.scenario.kube.clusters[*cluster].workloads[pod.workload].role == Role::Etcd(outage.cluster)
        };
        let pods = self.work.unschedulable.iter().filter(|(key, (since, _))| is_of(key) && *since < ends);
        let mut all: Vec<(Reason, String)> =
            pods.map(|((cluster, pod), (_, reason))| (*reason, pod.text(&self.scenario.kube.clusters[*cluster]))).collect();
        let reason = all.first()?.0;
        all.retain(|(other, _)| *other == reason);
        let names: Vec<String> = all.into_iter().map(|(_, name)| name).collect();
        let have = if names.len() == 1 { "has" } else { "have" };
        Some(format!("{} {have} no node ({})", text::list(&names), reason.describe()))
    }
}
