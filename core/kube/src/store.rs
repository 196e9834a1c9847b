//! The objects of a cluster's API, and the only ways to change them: each leaves a record and a [`Change`] for those who watch. Each kind
//! of object has a file; how many pods of which revision a workload is to have stands here.

mod admission;
mod budgets;
mod claims;
mod endpoints;
mod machines;
pub(crate) mod minding;
mod nodes;
mod pods;
mod selection;
mod shift;

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use smallvec::SmallVec;

use crate::claim::Claim;
use crate::ctx::ClusterCtx;
use crate::name::{NodeName, PodName};
use crate::revision::Revisions;
use crate::rule::budget::Status;
use crate::rule::labels::Symbol;
use crate::spec::{KubeClusterSpec, NodeSpec, Workload};
pub use admission::EvictionWebhook;
pub use budgets::{BudgetId, BudgetKey, BudgetView};
pub use machines::MachineTables;
use minding::Minding;
pub use nodes::{CORDONED, Node, TO_BE_DELETED};
pub use pods::Pod;
use selection::Selections;
use zonefall_network::Network;
use zonefall_scenario::ids::{EtcdId, MachineDeploymentId, NodeKey, PodId, ServiceId, TiVec, WorkloadId};

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
    /// The status of a PodDisruptionBudget is another.
    Budget,
    /// Members of etcd that are pods of this workload have started or stopped.
    Members(WorkloadId),
    /// Traffic is shifted away from a zone, or returns to it.
    Shift,
    /// Hosts or paths have changed.
    Network,
    /// Others than before may get answers from the API, or later.
    Access,
}

/// The objects of one cluster.
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
    /// Workloads whose pods count for each other's places, by what they like and dislike. Shared like the pods.
    minding: Arc<Minding>,
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
    shifted: Option<shift::Shifted>,
    /// Workloads that are other than at the start.
    templates: BTreeMap<WorkloadId, Workload>,
    made: u32,
    next_node: u32,
    changes: Vec<Change>,
    /// Webhooks that are asked about evictions before any budget is.
    pub(crate) webhooks: Vec<Box<dyn EvictionWebhook>>,
    /// Machines and machine deployments.
    pub machines: MachineTables,
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
        let mut store = Self {
            nodes: spec.nodes.iter_enumerated().map(node).collect(),
            unschedulable: BTreeSet::new(),
            by_namespace: Arc::new(by_namespace),
            minding: Arc::new(vec![Vec::new(); spec.workloads.len()].into()),
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
            shifted: None,
            templates: BTreeMap::new(),
            made: 0,
            next_node: spec.nodes.len() as u32,
            changes: Vec::new(),
            webhooks: Vec::new(),
            machines: MachineTables::new(spec, ctx),
        };
        let first_of_each: Vec<WorkloadId> = store.by_namespace.values().filter_map(|all| all.first().copied()).collect();
        for workload in first_of_each {
            store.find_minding(workload, spec);
        }
        store
    }

    /// Whether all pods that are wanted of a workload are ready.
    pub fn is_complete(&self, workload: WorkloadId) -> bool {
        let ready = self.pods_of(workload).filter(|(_, pod)| pod.ready && !pod.terminating).count();
        ready >= self.desired(workload) as usize
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
        self.find_minding(workload, spec);
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

    /// The pods of a workload are to be replaced by others, of the revision before.
    pub fn roll_back(&mut self, workload: WorkloadId, ctx: &ClusterCtx<'_>) {
        Arc::make_mut(&mut self.revisions)[workload].undo(ctx.spec.workloads[workload].kind);
        self.changes.push(Change::Desired(workload));
    }

    /// The pods of a Deployment are replaced from now on, or not.
    pub fn pause_rollout(&mut self, workload: WorkloadId, paused: bool) {
        Arc::make_mut(&mut self.revisions)[workload].set_paused(paused);
        self.changes.push(Change::Desired(workload));
    }

    /// All pods of a StatefulSet have its current revision.
    pub fn settle_revision(&mut self, workload: WorkloadId) {
        let revisions = self.revisions(workload);
        if revisions.settled() != revisions.current() {
            Arc::make_mut(&mut self.revisions)[workload].settle();
        }
    }

    /// Whether pods of a workload are of an older revision than the current one.
    pub fn is_rolling(&self, workload: WorkloadId) -> bool {
        let revisions = self.revisions(workload);
        // Most have never been rolled out anew.
        !revisions.is_first() && self.pods_of(workload).any(|(_, pod)| pod.revision != revisions.current())
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
}
