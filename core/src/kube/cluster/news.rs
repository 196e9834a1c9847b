//! What changes in a plane's store, and who hears of it.

use super::Plane;
use super::gate::has_endpoints;
use crate::ids::{MachineDeploymentId, NodeKey, WorkloadId};
use crate::kube::claim::Attachment;
use crate::kube::context::Cx;
use crate::kube::controller::lifecycle::Lifecycle;
use crate::kube::controller::{disruption, endpoints};
use crate::kube::event::{KubeEvent, Watcher};
use crate::kube::record::Ready;
use crate::kube::spec::Kind;
use crate::kube::store::Change;

impl Plane {
    /// A watcher hears what is new.
    pub(super) fn work(&mut self, watcher: Watcher, cx: &mut Cx<'_>) {
        if watcher.component().is_some_and(|component| !self.is_open(component)) {
            self.parked[watcher as usize] = true;
            return;
        }
        for key in std::mem::take(&mut self.news[watcher as usize]) {
            match watcher {
                Watcher::Lifecycle => Lifecycle::reconcile(NodeKey(key), &mut self.store, cx),
                Watcher::Evict => self.evictions.reconcile(NodeKey(key), &self.store, cx),
                Watcher::ReplicaSets | Watcher::StatefulSets | Watcher::DaemonSets => self.reconcile(WorkloadId(key), cx),
                Watcher::Volumes => self.volumes.reconcile(WorkloadId(key), &mut self.store, cx),
                Watcher::Budgets => disruption::reconcile(WorkloadId(key), &mut self.store, cx),
                Watcher::Endpoints => {
                    endpoints::reconcile(WorkloadId(key), &self.store, cx);
                    self.hints.sync(WorkloadId(key), &self.store, cx);
                }
                Watcher::Topology => {
                    for service in self.hints.nodes_changed(&self.store) {
                        self.hints.sync(service, &self.store, cx);
                    }
                }
                Watcher::Kubelets => {
                    if let Some(kubelet) = self.kubelets.get_mut(&NodeKey(key)) {
                        kubelet.notice(&mut self.store, cx);
                    }
                }
                Watcher::Machines => self.machines.node_changed(NodeKey(key), &mut self.store, cx),
                Watcher::MachineSets => self.machines.sync(MachineDeploymentId(key as u16), &mut self.store, cx),
                Watcher::Druid => {
                    if self.druid.reconcile(key, &self.outages, &mut self.store, cx) {
                        self.tell(Watcher::Gardenlet, key, cx);
                    }
                }
                Watcher::Gardenlet => {
                    if self.druid.follow(key, &mut self.store, cx) {
                        self.tell(Watcher::Druid, key, cx);
                    }
                }
            }
        }
    }

    /// Tells everybody whom a change concerns.
    pub(super) fn spread_news(&mut self, cx: &mut Cx<'_>) {
        let heard = cx.now + cx.latency;
        for deployment in self.machines.take_touched(cx) {
            self.autoscaler.something_changed();
            self.outages.something_changed();
            self.tell(Watcher::MachineSets, deployment.0.into(), cx);
        }
        self.kubelets.extend(self.machines.take_switched_on());
        for node in self.machines.take_switched_off() {
            if let Some(kubelet) = self.kubelets.remove(&node) {
                kubelet.switched_off(cx);
            }
        }
        for change in self.store.take_changes() {
            if !matches!(change, Change::Readiness(_)) {
                self.autoscaler.something_changed();
            }
            self.scheduler.wake(&change, heard, &self.store, cx.spec);
            match change {
                Change::Created(pod) if self.store.pod(pod).is_some_and(|pod| pod.node.is_none()) => {
                    self.scheduler.add(pod, heard);
                }
                Change::Created(_) => {}
                Change::Bound(_, node) => {
                    self.tell(Watcher::Kubelets, node.0, cx);
                    self.tell(Watcher::Evict, node.0, cx);
                }
                Change::Terminating(pod, workload, node) => {
                    self.evictions.cancel(pod);
                    self.care.terminating(pod, workload, cx);
                    self.tell_owner(workload, cx);
                    self.tell_budget(workload, cx);
                    self.tell_endpoints(workload, cx);
                    self.tell(Watcher::Kubelets, node.0, cx);
                }
                Change::Removed(pod, name, node) => {
                    self.evictions.cancel(pod);
                    self.scheduler.forget(pod);
                    if let Some(kubelet) = node.and_then(|node| self.kubelets.get_mut(&node)) {
                        kubelet.pod_removed(&self.store, cx);
                        self.tell(Watcher::Kubelets, node.expect("it has a kubelet").0, cx);
                    }
                    if cx.spec.workloads[name.workload.0 as usize].volume.is_some() {
                        self.tell(Watcher::Volumes, name.workload.0, cx);
                    }
                    self.tell_owner(name.workload, cx);
                    self.tell_druid(Some(name.workload), cx);
                    self.tell_budget(name.workload, cx);
                    self.tell_endpoints(name.workload, cx);
                }
                Change::Volume(name) => {
                    self.tell(Watcher::Volumes, name.workload.0, cx);
                    if let Some(Attachment::Attached(node)) = self.store.claim(name).map(|claim| claim.attachment) {
                        self.tell(Watcher::Kubelets, node.0, cx);
                    }
                }
                Change::Unclaimed(name) => {
                    self.volumes.forget(name);
                    self.tell_druid(Some(name.workload), cx);
                }
                Change::Desired(workload) | Change::Template(workload) => {
                    self.tell_owner(workload, cx);
                    self.tell_budget(workload, cx);
                }
                Change::Readiness(workload) => {
                    self.tell_druid(Some(workload), cx);
                    self.tell_budget(workload, cx);
                    self.tell_endpoints(workload, cx);
                    let in_order = cx.spec.workloads[workload.0 as usize].kind == Kind::StatefulSet { parallel: false };
                    if in_order || self.store.is_rolling(workload) {
                        self.tell_owner(workload, cx);
                    }
                }
                Change::Condition(node) => {
                    self.outages.something_changed();
                    self.lifecycle.nodes_changed();
                    self.tell_topology(cx);
                    self.tell(Watcher::Lifecycle, node.0, cx);
                    for name in self.store.mounted_on(node) {
                        self.tell(Watcher::Volumes, name.workload.0, cx);
                    }
                    self.tell(Watcher::Machines, node.0, cx);
                    let unknown = self.store.get_node(node).is_some_and(|node| node.ready == Ready::Unknown);
                    if let Some(kubelet) = self.kubelets.get(&node).filter(|_| unknown) {
                        kubelet.declared_unknown(cx);
                    }
                }
                Change::Taints(node) => {
                    self.outages.something_changed();
                    self.lifecycle.nodes_changed();
                    self.tell(Watcher::Evict, node.0, cx);
                    self.tell_daemons(cx);
                }
                Change::Registered(node) => {
                    self.outages.something_changed();
                    self.lifecycle.add_node(node, self.store.node(node).zone, cx);
                    self.tell_topology(cx);
                    self.tell(Watcher::Machines, node.0, cx);
                    self.tell_daemons(cx);
                }
                Change::Unregistered(node) => {
                    self.outages.something_changed();
                    self.lifecycle.remove_node(node);
                    self.tell_topology(cx);
                    self.collector.node_gone(node, cx);
                    for name in self.store.mounted_on(node) {
                        self.tell(Watcher::Volumes, name.workload.0, cx);
                    }
                    self.tell(Watcher::Machines, node.0, cx);
                }
            }
        }
    }

    /// Tells the controller of a workload's pods.
    fn tell_owner(&mut self, workload: WorkloadId, cx: &mut Cx<'_>) {
        self.tell(Watcher::of(cx.spec.workloads[workload.0 as usize].kind), workload.0, cx);
    }

    /// Tells the endpoints controller, where anybody goes by the workload's endpoints.
    fn tell_endpoints(&mut self, workload: WorkloadId, cx: &mut Cx<'_>) {
        if has_endpoints(&cx.spec.workloads[workload.0 as usize], cx.spec) {
            self.tell(Watcher::Endpoints, workload.0, cx);
        }
    }

    /// Tells the same controller that nodes have changed, where there may be topology hints.
    fn tell_topology(&mut self, cx: &mut Cx<'_>) {
        if cx.spec.routing.hints {
            self.tell(Watcher::Topology, 0, cx);
        }
    }

    /// Tells the disruption controller, where the workload has a budget.
    fn tell_budget(&mut self, workload: WorkloadId, cx: &mut Cx<'_>) {
        if self.store.template(workload, cx.spec).max_unavailable.is_some() {
            self.tell(Watcher::Budgets, workload.0, cx);
        }
    }

    /// Tells those who look after the control plane of shoots, where they have anything to do: of the shoot whose component that is, or of
    /// all.
    pub(super) fn tell_druid(&mut self, about: Option<WorkloadId>, cx: &mut Cx<'_>) {
        for key in self.druid.concerned(about) {
            self.tell(Watcher::Druid, key, cx);
            self.tell(Watcher::Gardenlet, key, cx);
        }
    }

    /// Nodes have changed: every DaemonSet may have to.
    fn tell_daemons(&mut self, cx: &mut Cx<'_>) {
        let spec = cx.spec;
        for (workload, _) in (0..).zip(&spec.workloads).filter(|(_, workload)| workload.kind == Kind::DaemonSet) {
            self.tell(Watcher::DaemonSets, workload, cx);
        }
    }

    pub(super) fn tell(&mut self, watcher: Watcher, key: u32, cx: &mut Cx<'_>) {
        let news = &mut self.news[watcher as usize];
        if news.is_empty() {
            cx.schedule(cx.now + cx.latency, KubeEvent::Work(watcher));
        }
        news.insert(key);
    }
}
