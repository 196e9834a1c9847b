//! Pods as the API has them, from their creation to their removal.

use std::sync::Arc;

use super::{Change, Store};
use crate::ctx::ClusterCtx;
use crate::name::PodName;
use crate::reasons::Reasons;
use crate::record::{KubeRecord, PodFact};
use crate::rule::labels::Symbol;
use crate::spec::Role;
use crate::spec::update::Update;
use zonefall_kernel::time::Time;
use zonefall_scenario::ids::{NodeKey, PodId, WorkloadId};

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

impl Store {
    /// A pod, if it is (still) there.
    pub fn pod(&self, id: PodId) -> Option<&Pod> {
        self.pods.get(&id).map(Arc::as_ref)
    }

    /// All pods, oldest first.
    pub fn pods(&self) -> impl Iterator<Item = (PodId, &Pod)> {
        self.pods.iter().map(|(id, pod)| (*id, pod.as_ref()))
    }

    /// The pods of a workload, oldest first.
    pub fn pods_of(&self, workload: WorkloadId) -> impl Iterator<Item = (PodId, &Pod)> {
        self.by_workload[workload].iter().map(|id| (*id, self.pods[id].as_ref()))
    }

    /// The pods that are bound to a node, be it there or not.
    pub fn pods_on(&self, key: NodeKey) -> Vec<PodId> {
        self.pods.iter().filter(|(_, pod)| pod.node == Some(key)).map(|(id, _)| *id).collect()
    }

    /// The pod of a name, if it is there.
    pub fn named(&self, name: PodName) -> Option<&Pod> {
        self.pods_of(name.workload).map(|(_, pod)| pod).find(|pod| pod.name == name)
    }

    /// The number of the pod of a name, if it is there.
    pub fn id_of(&self, name: PodName) -> Option<PodId> {
        self.pods_of(name.workload).find(|(_, pod)| pod.name == name).map(|(id, _)| id)
    }

    /// The pods that no node suits, oldest first.
    pub fn unschedulable(&self) -> impl Iterator<Item = (PodId, &Pod)> {
        self.unschedulable.iter().map(|id| (*id, self.pods[id].as_ref()))
    }

    /// Makes a pod of a revision.
    pub fn create_pod(&mut self, name: PodName, revision: u32, ctx: &mut ClusterCtx<'_>) -> PodId {
        self.bind_immediately(name, ctx);
        self.create_placed_pod(name, revision, ctx)
    }

    /// Makes a pod whose node is known: it decides where its volume is.
    pub fn create_placed_pod(&mut self, name: PodName, revision: u32, ctx: &mut ClusterCtx<'_>) -> PodId {
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
        if ctx.spec.workloads[name.workload].update != Update::default() {
            ctx.record(KubeRecord::Pod(name, PodFact::Revision(revision)));
        }
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
        let (name, node, zone) = (pod.name, node.name, (node.zone, node.labels.get(Symbol::ZONE)));
        if let Some(volume) = workload.volume {
            self.bind_on_node(name, volume, zone);
        }
        self.changes.push(Change::Bound(name.workload, key));
        ctx.record(KubeRecord::Pod(name, PodFact::Bound(node)));
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
