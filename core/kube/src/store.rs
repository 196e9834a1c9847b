//! The objects of a plane's API, and the only ways to change them: each leaves a record and a [`Change`] for those who watch.

mod budgets;
mod claims;
mod endpoints;
mod machines;
mod nodes;
mod selection;

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use smallvec::SmallVec;

use crate::claim::{Attachment, Claim};
use crate::ctx::ClusterCtx;
use crate::name::{MachineName, NodeName, PodName};
use crate::reasons::Reasons;
use crate::record::{KubeRecord, NodeFact, PodFact, Ready};
use crate::revision::Revisions;
use crate::rule::budget::Status;
use crate::rule::labels::{Labels, Symbol};
use crate::rule::taints::{Effect, Taint};
use crate::spec::{KubeClusterSpec, NodeSpec, NodeTemplate, Resources, Role, Workload};
pub use budgets::BudgetId;
pub use machines::MachineTables;
use selection::Selections;
use zonefall_kernel::time::Time;
use zonefall_network::{HostId, Network};
use zonefall_scenario::ids::{EtcdId, MachineDeploymentId, NodeKey, PodId, ServiceId, TiVec, WorkloadId, ZoneId};

/// A pod as the API has it. What runs of it is its kubelet's business.
#[derive(Clone, Debug)]
pub struct Pod {
    /// Its name.
    pub name: PodName,
    /// Its workload's revision that it is of.
    pub revision: u32,
    /// When it was made.
    pub created: Time,
    /// Its node.
    pub node: Option<NodeKey>,
    /// Its process was seen running.
    pub started: bool,
    /// Starts after the first.
    pub restarts: u32,
    /// It serves.
    pub ready: bool,
    /// Since when it does, or does not.
    pub ready_since: Time,
    /// It is to end.
    pub terminating: bool,
    /// Why the scheduler found no node for it at its last attempt.
    pub unschedulable: Option<Reasons>,
}

/// A node as the API has it.
#[derive(Clone, Debug)]
pub struct Node {
    /// Its name.
    pub name: NodeName,
    /// Where its kubelet runs.
    pub host: HostId,
    /// Its zone.
    pub zone: ZoneId,
    /// Labels of the node.
    pub labels: Labels,
    /// What its pods may request in all.
    pub allocatable: Resources,
    /// Volumes that can be attached to it.
    pub volumes: u32,
    /// Condition `Ready` of the node.
    pub ready: Ready,
    /// Taints of the node.
    pub taints: SmallVec<[Taint; 2]>,
    /// What its pods request.
    pub requested: Resources,
    /// How many of its pods have a volume.
    pub with_volume: u32,
    /// Its pods.
    pub pods: BTreeSet<PodId>,
}

/// Something has changed that others may care for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Change {
    /// A pod was made.
    Created(PodId),
    /// A pod of this workload was given this node.
    Bound(WorkloadId, NodeKey),
    /// A pod is to end.
    Terminating(PodId, WorkloadId, NodeKey),
    /// A pod is gone, and this was its node.
    Removed(PodId, PodName, Option<NodeKey>),
    /// A node's condition is another.
    Condition(NodeKey),
    /// A node's taints are others.
    Taints(NodeKey),
    /// Another number of pods is wanted.
    Desired(WorkloadId),
    /// Its pods go by other rules, and there may be another number of them.
    Template(WorkloadId),
    /// A pod of this workload has become ready, or is it no more.
    Readiness(WorkloadId),
    /// The volume of this pod is attached, mounted or unmounted.
    Volume(PodName),
    /// The volume of this pod is gone, and its claim.
    Unclaimed(PodName),
    /// A node has joined.
    Registered(NodeKey),
    /// A node is gone; its pods are not.
    Unregistered(NodeKey),
    /// A pod is marked as unschedulable, which it was not.
    Unschedulable(PodId),
    /// A machine deployment is scaled or rolled out, or one of its machines is created, deleted or in another phase.
    MachineDeployment(MachineDeploymentId),
    /// Members of etcd that are pods of this workload have started or stopped.
    Members(WorkloadId),
    /// Hosts or paths have changed.
    Network,
    /// Others than before may get answers from the API, or later.
    Access,
}

/// The objects of one plane.
#[derive(Clone, Debug)]
pub struct Store {
    nodes: BTreeMap<NodeKey, Node>,
    /// Shared with clones as long as neither changes them.
    pods: BTreeMap<PodId, Arc<Pod>>,
    /// In ascending order.
    by_workload: TiVec<WorkloadId, SmallVec<[PodId; 4]>>,
    /// Pods that no node suits.
    unschedulable: BTreeSet<PodId>,
    /// Workloads by namespace: none ever leaves it.
    by_namespace: Arc<BTreeMap<Symbol, Vec<WorkloadId>>>,
    desired: TiVec<WorkloadId, u32>,
    /// Shared like the pods.
    revisions: Arc<TiVec<WorkloadId, Revisions>>,
    claims: BTreeMap<PodName, Claim>,
    /// Claims by the node that says it uses them.
    mounted: BTreeMap<NodeKey, BTreeSet<PodName>>,
    /// Nodes that members of an etcd cluster were ever bound to: their processes run nowhere else.
    members: BTreeMap<EtcdId, BTreeSet<NodeKey>>,
    /// Volumes of pods that are gone: how many there were of each.
    discarded: BTreeMap<PodName, u8>,
    budgets: Vec<Option<Status>>,
    selections: Arc<Selections>,
    /// Pods that each Service lists.
    endpoints: TiVec<ServiceId, BTreeSet<PodName>>,
    /// Workloads that are other than at the start.
    templates: BTreeMap<WorkloadId, Workload>,
    made: u32,
    next_node: u32,
    changes: Vec<Change>,
    /// Machines and machine deployments.
    pub machines: MachineTables,
}

fn unreachable(effect: Effect) -> Taint {
    Taint { key: Symbol::UNREACHABLE, value: None, effect }
}

impl Node {
    /// A node without pods.
    pub fn new(name: NodeName, host: HostId, zone: ZoneId, template: &NodeTemplate) -> Self {
        Self {
            name,
            host,
            zone,
            labels: template.labels.clone(),
            allocatable: template.allocatable,
            volumes: template.volumes,
            ready: Ready::True,
            taints: SmallVec::from_slice(&template.taints),
            requested: Resources::default(),
            with_volume: 0,
            pods: BTreeSet::new(),
        }
    }

    /// Whether it is tainted as unreachable, with this effect.
    pub fn is_unreachable(&self, effect: Effect) -> bool {
        self.taints.contains(&unreachable(effect))
    }
}

impl Store {
    /// All nodes ready, no pods yet.
    pub fn new(ctx: &ClusterCtx<'_>) -> Self {
        let (spec, net) = (ctx.spec, &ctx.net);
        let node = |(key, spec): (NodeKey, &NodeSpec)| {
            let host = Network::host_of(spec.node);
            (key, Node::new(NodeName::Given(key), host, net.zone(host), &spec.template))
        };
        let mut by_namespace = BTreeMap::<_, Vec<_>>::new();
        for (id, workload) in spec.workloads.iter_enumerated() {
            by_namespace.entry(workload.namespace).or_default().push(id);
        }
        Self {
            nodes: spec.nodes.iter_enumerated().map(node).collect(),
            unschedulable: BTreeSet::new(),
            by_namespace: Arc::new(by_namespace),
            pods: BTreeMap::new(),
            by_workload: vec![SmallVec::new(); spec.workloads.len()].into(),
            desired: spec.workloads.iter().map(|workload| workload.replicas).collect(),
            revisions: Arc::new(spec.workloads.iter().map(|workload| Revisions::new(workload.replicas)).collect()),
            claims: BTreeMap::new(),
            mounted: BTreeMap::new(),
            members: BTreeMap::new(),
            discarded: BTreeMap::new(),
            budgets: vec![None; spec.workloads.len() + spec.budgets.len()],
            selections: Arc::new(Selections::new(spec)),
            endpoints: vec![BTreeSet::new(); spec.services.len()].into(),
            templates: BTreeMap::new(),
            made: 0,
            next_node: spec.nodes.len() as u32,
            changes: Vec::new(),
            machines: MachineTables::new(spec, ctx),
        }
    }

    /// A node, if it is (still) there.
    pub fn get_node(&self, key: NodeKey) -> Option<&Node> {
        self.nodes.get(&key)
    }

    /// The number of the next node that is to join.
    pub const fn next_node(&self) -> NodeKey {
        NodeKey(self.next_node)
    }

    /// A number for a node that is to join.
    pub fn number_node(&mut self) -> NodeKey {
        self.next_node += 1;
        NodeKey(self.next_node - 1)
    }

    /// The node of a machine joins: it is what its machine deployment says, under the name of the machine.
    pub fn add_node(&mut self, key: NodeKey, machine: MachineName, host: HostId, ctx: &mut ClusterCtx<'_>) {
        let deployment = &ctx.spec.machine_deployments[machine.deployment];
        let mut node = Node::new(NodeName::Machine(machine), host, deployment.zone, &deployment.template);
        node.labels.set(Symbol::HOSTNAME, Symbol::host(key));
        ctx.record(KubeRecord::Node(node.name, NodeFact::Registered));
        assert!(self.nodes.insert(key, node).is_none(), "{machine:?} joins twice");
        self.changes.push(Change::Registered(key));
    }

    /// A node goes. Its pods stay bound to it, until somebody removes them.
    pub fn remove_node(&mut self, key: NodeKey, ctx: &mut ClusterCtx<'_>) {
        let node = self.nodes.remove(&key).expect("who removes a node has it");
        ctx.record(KubeRecord::Node(node.name, NodeFact::Removed));
        self.changes.push(Change::Unregistered(key));
    }

    /// A node that is there.
    pub fn node(&self, key: NodeKey) -> &Node {
        &self.nodes[&key]
    }

    /// Whether there is such a node.
    pub fn node_exists(&self, key: NodeKey) -> bool {
        self.nodes.contains_key(&key)
    }

    /// All nodes.
    pub fn nodes(&self) -> impl Iterator<Item = (NodeKey, &Node)> {
        self.nodes.iter().map(|(key, node)| (*key, node))
    }

    /// A pod, if it is (still) there.
    pub fn pod(&self, id: PodId) -> Option<&Pod> {
        self.pods.get(&id).map(Arc::as_ref)
    }

    /// All pods, oldest first.
    pub fn pods(&self) -> impl Iterator<Item = (PodId, &Pod)> {
        self.pods.iter().map(|(id, pod)| (*id, pod.as_ref()))
    }

    /// The pods that are bound to a node, be it there or not.
    pub fn pods_on(&self, key: NodeKey) -> Vec<PodId> {
        self.pods.iter().filter(|(_, pod)| pod.node == Some(key)).map(|(id, _)| *id).collect()
    }

    /// The nodes on which members of an etcd cluster may run, those that are gone included.
    pub fn nodes_of_members(&self, cluster: EtcdId) -> Vec<NodeKey> {
        self.members.get(&cluster).into_iter().flatten().copied().collect()
    }

    /// The pod of a name, if it is there.
    pub fn named(&self, name: PodName) -> Option<&Pod> {
        self.pods_of(name.workload).map(|(_, pod)| pod).find(|pod| pod.name == name)
    }

    /// The number of the pod of a name, if it is there.
    pub fn id_of(&self, name: PodName) -> Option<PodId> {
        self.pods_of(name.workload).find(|(_, pod)| pod.name == name).map(|(id, _)| id)
    }

    /// Whether all pods that are wanted of a workload are ready.
    pub fn is_complete(&self, workload: WorkloadId) -> bool {
        let ready = self.pods_of(workload).filter(|(_, pod)| pod.ready && !pod.terminating).count();
        ready >= self.desired(workload) as usize
    }

    /// The pods that no node suits, oldest first.
    pub fn unschedulable(&self) -> impl Iterator<Item = (PodId, &Pod)> {
        self.unschedulable.iter().map(|id| (*id, self.pods[id].as_ref()))
    }

    /// The pods of a workload, oldest first.
    pub fn pods_of(&self, workload: WorkloadId) -> impl Iterator<Item = (PodId, &Pod)> {
        self.by_workload[workload].iter().map(|id| (*id, self.pods[id].as_ref()))
    }

    /// Pods wanted of a workload; of a `DaemonSet` it says nothing.
    pub fn desired(&self, workload: WorkloadId) -> u32 {
        self.desired[workload]
    }

    /// So many pods are wanted of a workload from now on.
    pub fn set_desired(&mut self, workload: WorkloadId, pods: u32) {
        if std::mem::replace(&mut self.desired[workload], pods) != pods {
            self.changes.push(Change::Desired(workload));
        }
    }

    /// A workload as it is now: what it demands of nodes, what may be evicted of it. (All of its pods go by that, whenever they were
    /// made: in Kubernetes those that are there keep what they were made with.)
    pub fn template<'a>(&'a self, workload: WorkloadId, spec: &'a KubeClusterSpec) -> &'a Workload {
        self.templates.get(&workload).unwrap_or(&spec.workloads[workload])
    }

    /// Workloads of a namespace, as they are now.
    pub fn templates_in<'a>(
        &'a self,
        namespace: Symbol,
        spec: &'a KubeClusterSpec,
    ) -> impl Iterator<Item = (WorkloadId, &'a Workload)> {
        self.by_namespace.get(&namespace).into_iter().flatten().map(|id| (*id, self.template(*id, spec)))
    }

    /// A workload is so from now on, pods wanted included. Its namespace and labels are those that it had before.
    pub fn set_template(&mut self, workload: WorkloadId, template: Workload, spec: &KubeClusterSpec) {
        let before = self.template(workload, spec);
        assert!(before.namespace == template.namespace && before.labels == template.labels, "{} is selected anew", before.name);
        self.desired[workload] = template.replicas;
        self.templates.insert(workload, template);
        self.changes.push(Change::Template(workload));
    }

    /// Its revisions.
    pub fn revisions(&self, workload: WorkloadId) -> &Revisions {
        &self.revisions[workload]
    }

    /// So many pods are wanted of each revision of a Deployment from now on.
    pub fn scale_revisions(&mut self, workload: WorkloadId, sizes: &[u32]) {
        Arc::make_mut(&mut self.revisions)[workload].scale(sizes);
    }

    /// The pods of a workload are to be replaced by others, of a new revision.
    pub fn roll(&mut self, workload: WorkloadId, ctx: &ClusterCtx<'_>) {
        Arc::make_mut(&mut self.revisions)[workload].add(ctx.spec.workloads[workload].kind);
        self.changes.push(Change::Desired(workload));
    }

    /// Whether pods of a workload are of an older revision than the current one.
    pub fn is_rolling(&self, workload: WorkloadId) -> bool {
        let revisions = self.revisions(workload);
        // Most have never been rolled out anew.
        revisions.current() > 0 && self.pods_of(workload).any(|(_, pod)| pod.revision != revisions.current())
    }

    /// What has changed since it was last asked for.
    pub fn take_changes(&mut self) -> Vec<Change> {
        let deployments = self.machines.take_touched().into_iter().map(Change::MachineDeployment);
        deployments.chain(std::mem::take(&mut self.changes)).collect()
    }

    /// Tells those who watch of something that is no object of the store's.
    pub fn note(&mut self, change: Change) {
        self.changes.push(change);
    }

    /// Makes a pod of a revision.
    pub fn create_pod(&mut self, name: PodName, revision: u32, ctx: &mut ClusterCtx<'_>) -> PodId {
        let taken = self.pods_of(name.workload).any(|(_, pod)| pod.name == name);
        assert!(!taken, "{name:?} names two pods");
        let id = PodId(self.made);
        self.made += 1;
        let (started, ready, terminating) = (false, false, false);
        let pod = Pod {
            name,
            revision,
            created: ctx.now,
            node: None,
            started,
            restarts: 0,
            ready,
            ready_since: ctx.now,
            terminating,
            unschedulable: None,
        };
        self.pods.insert(id, Arc::new(pod));
        self.by_workload[name.workload].push(id);
        self.changes.push(Change::Created(id));
        ctx.record(KubeRecord::Pod(name, PodFact::Created));
        id
    }

    /// Gives a pod its node.
    pub fn bind(&mut self, id: PodId, key: NodeKey, ctx: &mut ClusterCtx<'_>) {
        let pod = Arc::make_mut(self.pods.get_mut(&id).expect("who binds a pod has it"));
        assert!(pod.node.is_none(), "{:?} is bound twice", pod.name);
        (pod.node, pod.unschedulable) = (Some(key), None);
        self.unschedulable.remove(&id);
        let node = self.nodes.get_mut(&key).expect("who binds a pod to a node has it");
        let workload = &ctx.spec.workloads[pod.name.workload];
        node.requested = node.requested.plus(&workload.requests);
        node.with_volume += u32::from(workload.volume.is_some());
        node.pods.insert(id);
        if let Role::Etcd(cluster) = workload.role {
            self.members.entry(cluster).or_default().insert(key);
        }
        if let Some(volume) = workload.volume {
            let zone = node.labels.get(Symbol::ZONE).filter(|_| !volume.regional);
            let (home, attachment, deleted, mounted) = (node.zone, Attachment::Free, false, None);
            self.claims.entry(pod.name).or_insert(Claim { zone, home, attachment, deleted, mounted });
            self.changes.push(Change::Volume(pod.name));
        }
        self.changes.push(Change::Bound(pod.name.workload, key));
        ctx.record(KubeRecord::Pod(pod.name, PodFact::Bound(node.name)));
    }

    /// No node suits a pod. Told where the reason is another than before.
    pub fn mark_unschedulable(&mut self, id: PodId, reasons: Reasons, ctx: &mut ClusterCtx<'_>) {
        let pod = Arc::make_mut(self.pods.get_mut(&id).expect("who refuses a pod has it"));
        let reason = reasons.last();
        if pod.unschedulable.replace(reasons).map(Reasons::last) != Some(reason) {
            ctx.record(KubeRecord::Pod(pod.name, PodFact::Unschedulable(reason)));
        }
        if self.unschedulable.insert(id) {
            self.changes.push(Change::Unschedulable(id));
        }
    }

    /// A pod's process runs.
    pub fn start(&mut self, id: PodId, ctx: &mut ClusterCtx<'_>) {
        let pod = Arc::make_mut(self.pods.get_mut(&id).expect("a kubelet starts pods it was given"));
        pod.restarts += u32::from(pod.started);
        pod.started = true;
        ctx.record(KubeRecord::Pod(pod.name, PodFact::Started { restarts: pod.restarts }));
    }

    /// A pod serves, or not; nothing if that is known.
    pub fn set_pod_ready(&mut self, id: PodId, ready: bool, ctx: &mut ClusterCtx<'_>) {
        let pod = Arc::make_mut(self.pods.get_mut(&id).expect("who judges a pod has it"));
        if pod.ready != ready {
            (pod.ready, pod.ready_since) = (ready, ctx.now);
            self.changes.push(Change::Readiness(pod.name.workload));
            ctx.record(KubeRecord::Pod(pod.name, PodFact::Ready(ready)));
        }
    }

    /// A pod is to end; nothing if that is known. One that has no node is gone at once.
    pub fn terminate(&mut self, id: PodId, ctx: &mut ClusterCtx<'_>) {
        let pod = Arc::make_mut(self.pods.get_mut(&id).expect("who ends a pod has it"));
        if pod.terminating {
            return;
        }
        pod.terminating = true;
        ctx.record(KubeRecord::Pod(pod.name, PodFact::Terminating));
        match pod.node {
            Some(node) => self.changes.push(Change::Terminating(id, pod.name.workload, node)),
            None => self.remove(id, ctx),
        }
    }

    /// A terminating pod's object goes.
    pub fn remove(&mut self, id: PodId, ctx: &mut ClusterCtx<'_>) {
        let pod = self.pods.remove(&id).expect("who removes a pod has it");
        assert!(pod.terminating, "{:?} goes without having been asked to end", pod.name);
        if let Some(node) = pod.node.and_then(|key| self.nodes.get_mut(&key)) {
            let workload = &ctx.spec.workloads[pod.name.workload];
            node.requested = node.requested.minus(&workload.requests);
            node.with_volume -= u32::from(workload.volume.is_some());
            node.pods.remove(&id);
        }
        self.by_workload[pod.name.workload].retain(|other| *other != id);
        self.unschedulable.remove(&id);
        self.changes.push(Change::Removed(id, pod.name, pod.node));
        ctx.record(KubeRecord::Pod(pod.name, PodFact::Removed));
        self.discard(pod.name, ctx);
    }
}
