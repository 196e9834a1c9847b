//! What changes in a plane's store, and who hears of it.

use super::KubeCluster;
use super::gate::has_endpoints;
use crate::ids::{MachineDeploymentId, NodeKey, WorkloadId};
use crate::kube::claim::Attachment;
use crate::kube::controller::node_lifecycle::Lifecycle;
use crate::kube::controller::{disruption, endpoints};
use crate::kube::ctx::ClusterCtx;
use crate::kube::event::{ControllerKind, KubeEvent};
use crate::kube::record::Ready;
use crate::kube::spec::Kind;
use crate::kube::store::Change;

impl KubeCluster {
    /// A watcher hears what is new.
    pub(super) fn work(&mut self, controller: ControllerKind, ctx: &mut ClusterCtx<'_>) {
        if controller.component().is_some_and(|component| !self.is_open(component)) {
            self.deferred[controller as usize] = true;
            return;
        }
        for key in std::mem::take(&mut self.queues[controller as usize]) {
            match controller {
                ControllerKind::Lifecycle => Lifecycle::reconcile(NodeKey(key), &mut self.store, ctx),
                ControllerKind::Evict => self.evictions.reconcile(NodeKey(key), &self.store, ctx),
                ControllerKind::ReplicaSets | ControllerKind::StatefulSets | ControllerKind::DaemonSets => {
                    self.reconcile(WorkloadId(key), ctx);
                }
                ControllerKind::Volumes => self.volumes.reconcile(WorkloadId(key), &mut self.store, ctx),
                ControllerKind::Budgets => disruption::reconcile(WorkloadId(key), &mut self.store, ctx),
                ControllerKind::Endpoints => {
                    endpoints::reconcile(WorkloadId(key), &self.store, ctx);
                    self.hints.sync(WorkloadId(key), &self.store, ctx);
                }
                ControllerKind::Topology => {
                    for service in self.hints.nodes_changed(&self.store) {
                        self.hints.sync(service, &self.store, ctx);
                    }
                }
                ControllerKind::Kubelets => {
                    if let Some(kubelet) = self.kubelets.get_mut(&NodeKey(key)) {
                        kubelet.notice(&mut self.store, ctx);
                    }
                }
                ControllerKind::Machines => self.machines.node_changed(NodeKey(key), &mut self.store, ctx),
                ControllerKind::MachineSets => self.machines.sync(MachineDeploymentId(key as u16), &mut self.store, ctx),
                ControllerKind::Druid => {
                    if self.druid.reconcile(key, &self.outages, &mut self.store, ctx) {
                        self.enqueue(ControllerKind::Gardenlet, key, ctx);
                    }
                }
                ControllerKind::Gardenlet => {
                    if self.druid.follow(key, &mut self.store, ctx) {
                        self.enqueue(ControllerKind::Druid, key, ctx);
                    }
                }
            }
        }
    }

    /// Tells everybody whom a change concerns.
    pub(super) fn notify_controllers(&mut self, ctx: &mut ClusterCtx<'_>) {
        let heard = ctx.now + ctx.latency;
        for deployment in self.machines.take_touched(ctx) {
            self.autoscaler.something_changed();
            self.outages.something_changed();
            self.enqueue(ControllerKind::MachineSets, deployment.0.into(), ctx);
        }
        self.kubelets.extend(self.machines.take_switched_on());
        for node in self.machines.take_switched_off() {
            if let Some(kubelet) = self.kubelets.remove(&node) {
                kubelet.switched_off(ctx);
            }
        }
        for change in self.store.take_changes() {
            if !matches!(change, Change::Readiness(_)) {
                self.autoscaler.something_changed();
            }
            self.scheduler.activate(&change, heard, &self.store, ctx.spec);
            match change {
                Change::Created(pod) if self.store.pod(pod).is_some_and(|pod| pod.node.is_none()) => {
                    self.scheduler.add(pod, heard);
                }
                Change::Created(_) => {}
                Change::Bound(_, node) => {
                    self.enqueue(ControllerKind::Kubelets, node.0, ctx);
                    self.enqueue(ControllerKind::Evict, node.0, ctx);
                }
                Change::Terminating(pod, workload, node) => {
                    self.evictions.cancel(pod);
                    self.shoot_care.terminating(pod, workload, ctx);
                    self.notify_owner(workload, ctx);
                    self.notify_budget(workload, ctx);
                    self.notify_endpoints(workload, ctx);
                    self.enqueue(ControllerKind::Kubelets, node.0, ctx);
                }
                Change::Removed(pod, name, node) => {
                    self.evictions.cancel(pod);
                    self.scheduler.forget(pod);
                    if let Some(kubelet) = node.and_then(|node| self.kubelets.get_mut(&node)) {
                        kubelet.pod_removed(&self.store, ctx);
                        self.enqueue(ControllerKind::Kubelets, node.expect("it has a kubelet").0, ctx);
                    }
                    if ctx.spec.workloads[name.workload.0 as usize].volume.is_some() {
                        self.enqueue(ControllerKind::Volumes, name.workload.0, ctx);
                    }
                    self.notify_owner(name.workload, ctx);
                    self.notify_druid(Some(name.workload), ctx);
                    self.notify_budget(name.workload, ctx);
                    self.notify_endpoints(name.workload, ctx);
                }
                Change::Volume(name) => {
                    self.enqueue(ControllerKind::Volumes, name.workload.0, ctx);
                    if let Some(Attachment::Attached(node)) = self.store.claim(name).map(|claim| claim.attachment) {
                        self.enqueue(ControllerKind::Kubelets, node.0, ctx);
                    }
                }
                Change::Unclaimed(name) => {
                    self.volumes.forget(name);
                    self.notify_druid(Some(name.workload), ctx);
                }
                Change::Desired(workload) | Change::Template(workload) => {
                    self.notify_owner(workload, ctx);
                    self.notify_budget(workload, ctx);
                }
                Change::Readiness(workload) => {
                    self.notify_druid(Some(workload), ctx);
                    self.notify_budget(workload, ctx);
                    self.notify_endpoints(workload, ctx);
                    let in_order = ctx.spec.workloads[workload.0 as usize].kind == Kind::StatefulSet { parallel: false };
                    if in_order || self.store.is_rolling(workload) {
                        self.notify_owner(workload, ctx);
                    }
                }
                Change::Condition(node) => {
                    self.outages.something_changed();
                    self.lifecycle.nodes_changed();
                    self.notify_topology(ctx);
                    self.enqueue(ControllerKind::Lifecycle, node.0, ctx);
                    for name in self.store.mounted_on(node) {
                        self.enqueue(ControllerKind::Volumes, name.workload.0, ctx);
                    }
                    self.enqueue(ControllerKind::Machines, node.0, ctx);
                    let unknown = self.store.get_node(node).is_some_and(|node| node.ready == Ready::Unknown);
                    if let Some(kubelet) = self.kubelets.get(&node).filter(|_| unknown) {
                        kubelet.declared_unknown(ctx);
                    }
                }
                Change::Taints(node) => {
                    self.outages.something_changed();
                    self.lifecycle.nodes_changed();
                    self.enqueue(ControllerKind::Evict, node.0, ctx);
                    self.notify_daemons(ctx);
                }
                Change::Registered(node) => {
                    self.outages.something_changed();
                    self.lifecycle.add_node(node, self.store.node(node).zone, ctx);
                    self.notify_topology(ctx);
                    self.enqueue(ControllerKind::Machines, node.0, ctx);
                    self.notify_daemons(ctx);
                }
                Change::Unregistered(node) => {
                    self.outages.something_changed();
                    self.lifecycle.remove_node(node);
                    self.notify_topology(ctx);
                    self.collector.node_gone(node, ctx);
                    for name in self.store.mounted_on(node) {
                        self.enqueue(ControllerKind::Volumes, name.workload.0, ctx);
                    }
                    self.enqueue(ControllerKind::Machines, node.0, ctx);
                }
            }
        }
    }

    /// Tells the controller of a workload's pods.
    fn notify_owner(&mut self, workload: WorkloadId, ctx: &mut ClusterCtx<'_>) {
        self.enqueue(ControllerKind::of(ctx.spec.workloads[workload.0 as usize].kind), workload.0, ctx);
    }

    /// Tells the endpoints controller, where anybody goes by the workload's endpoints.
    fn notify_endpoints(&mut self, workload: WorkloadId, ctx: &mut ClusterCtx<'_>) {
        if has_endpoints(&ctx.spec.workloads[workload.0 as usize], ctx.spec) {
            self.enqueue(ControllerKind::Endpoints, workload.0, ctx);
        }
    }

    /// Tells the same controller that nodes have changed, where there may be topology hints.
    fn notify_topology(&mut self, ctx: &mut ClusterCtx<'_>) {
        if ctx.spec.routing.hints {
            self.enqueue(ControllerKind::Topology, 0, ctx);
        }
    }

    /// Tells the disruption controller, where the workload has a budget.
    fn notify_budget(&mut self, workload: WorkloadId, ctx: &mut ClusterCtx<'_>) {
        if self.store.template(workload, ctx.spec).max_unavailable.is_some() {
            self.enqueue(ControllerKind::Budgets, workload.0, ctx);
        }
    }

    /// Tells those who look after the control plane of shoots, where they have anything to do: of the shoot whose component that is, or of
    /// all.
    pub(super) fn notify_druid(&mut self, about: Option<WorkloadId>, ctx: &mut ClusterCtx<'_>) {
        for key in self.druid.concerned(about) {
            self.enqueue(ControllerKind::Druid, key, ctx);
            self.enqueue(ControllerKind::Gardenlet, key, ctx);
        }
    }

    /// Nodes have changed: every DaemonSet may have to.
    fn notify_daemons(&mut self, ctx: &mut ClusterCtx<'_>) {
        let spec = ctx.spec;
        for (workload, _) in (0..).zip(&spec.workloads).filter(|(_, workload)| workload.kind == Kind::DaemonSet) {
            self.enqueue(ControllerKind::DaemonSets, workload, ctx);
        }
    }

    pub(super) fn enqueue(&mut self, controller: ControllerKind, key: u32, ctx: &mut ClusterCtx<'_>) {
        let queues = &mut self.queues[controller as usize];
        if queues.is_empty() {
            ctx.schedule(ctx.now + ctx.latency, KubeEvent::Work(controller));
        }
        queues.insert(key);
    }
}
