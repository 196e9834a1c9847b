//! One Kubernetes API: its objects, its controllers and the kubelets that report to it.

use std::collections::{BTreeMap, BTreeSet};

use crate::autoscaler::Autoscaler;
use crate::gardener::care::Care;
use crate::gardener::machine::controller::Machines;
use crate::gardener::outage::Outages;
use crate::ids::{ClusterId, GroupId, NodeKey, PodId, WorkloadId};
use crate::kube::claim::Attachment;
use crate::kube::context::Cx;
use crate::kube::controller::attach::Volumes;
use crate::kube::controller::collect::Collector;
use crate::kube::controller::daemon::DaemonSets;
use crate::kube::controller::disruption;
use crate::kube::controller::evict::Evictions;
use crate::kube::controller::lifecycle::Lifecycle;
use crate::kube::controller::replicas::ReplicaSets;
use crate::kube::controller::scheduler::Scheduler;
use crate::kube::controller::stateful;
use crate::kube::event::{KubeEvent, Watcher};
use crate::kube::kubelet::Kubelet;
use crate::kube::name::{PodName, PodTag};
use crate::kube::record::Ready;
use crate::kube::spec::Kind;
use crate::kube::store::{Change, Store};
use crate::network::Network;

/// A plane.
#[derive(Clone, Debug)]
pub struct Plane {
    store: Store,
    kubelets: BTreeMap<NodeKey, Kubelet>,
    lifecycle: Lifecycle,
    evictions: Evictions,
    replicas: ReplicaSets,
    daemons: DaemonSets,
    volumes: Volumes,
    collector: Collector,
    scheduler: Scheduler,
    machines: Machines,
    care: Care,
    autoscaler: Autoscaler,
    outages: Outages,
    /// What each [`Watcher`] is about to hear of; its event is queued where there is something.
    news: [BTreeSet<u32>; Watcher::ALL.len()],
}

impl Plane {
    /// A settled plane: its pods are placed, one after the other as the scheduler would, and have been ready for long.
    pub fn new(cx: &mut Cx<'_>) -> Self {
        let spec = cx.spec;
        let store = Store::new(spec, cx.net);
        let kubelets = store.nodes().map(|(key, node)| (key, Kubelet::new(key, node.host, cx))).collect();
        let lifecycle = Lifecycle::new(&store, cx);
        let workloads = spec.workloads.len();
        let mut plane = Self {
            store,
            kubelets,
            lifecycle,
            evictions: Evictions::default(),
            replicas: ReplicaSets::new(workloads),
            daemons: DaemonSets::new(workloads),
            volumes: Volumes::default(),
            collector: Collector::new(cx),
            scheduler: Scheduler::new(workloads),
            machines: Machines::new(cx),
            care: Care::new(cx),
            autoscaler: Autoscaler::new(cx),
            outages: Outages::new(cx),
            news: Default::default(),
        };
        plane.place_given(cx);
        loop {
            for workload in (0..workloads as u32).map(WorkloadId) {
                plane.reconcile(workload, cx);
            }
            let changes = plane.store.take_changes();
            if changes.is_empty() {
                break;
            }
            plane.place_all(changes, cx);
        }
        for workload in (0..workloads as u32).map(WorkloadId) {
            disruption::reconcile(workload, &mut plane.store, cx);
        }
        plane.arm(cx);
        plane
    }

    /// The scenario's own pods are where it says.
    fn place_given(&mut self, cx: &mut Cx<'_>) {
        for (workload, spec) in (0..).map(WorkloadId).zip(&cx.spec.workloads) {
            for (tag, node) in &spec.placed {
                let pod = self.store.create_pod(PodName { workload, tag: *tag }, cx);
                self.store.bind(pod, *node, cx);
                self.settle(pod, *node, cx);
            }
        }
        self.store.take_changes();
    }

    /// Pods that were made are placed and have been ready for long.
    fn place_all(&mut self, changes: Vec<Change>, cx: &mut Cx<'_>) {
        let made = changes.into_iter().filter_map(|change| match change {
            Change::Created(pod) => Some(pod),
            _ => None,
        });
        for pod in made {
            let bound = self.store.pod(pod).expect("it was just made").node;
            match bound.map_or_else(|| self.scheduler.try_place(pod, &mut self.store, cx), Ok) {
                Ok(node) => self.settle(pod, node, cx),
                Err(_) => self.scheduler.add(pod, cx.now),
            }
        }
        self.store.take_changes();
    }

    fn settle(&mut self, pod: PodId, node: NodeKey, cx: &mut Cx<'_>) {
        self.kubelets.get_mut(&node).expect("every node of the start has a kubelet").settle(pod, &mut self.store, cx);
    }

    /// The controller of a workload's pods looks after them.
    fn reconcile(&mut self, workload: WorkloadId, cx: &mut Cx<'_>) {
        match cx.spec.workloads[workload.0 as usize].kind {
            Kind::Deployment => self.replicas.reconcile(workload, &mut self.store, cx),
            Kind::StatefulSet { .. } => stateful::reconcile(workload, &mut self.store, cx),
            Kind::DaemonSet => self.daemons.reconcile(workload, &mut self.store, cx),
        }
    }

    /// Its objects.
    pub fn store(&self) -> &Store {
        &self.store
    }

    /// Its machines.
    pub const fn machines(&self) -> &Machines {
        &self.machines
    }

    /// Something is due; [`Plane::follow_up`] comes next.
    pub fn handle(&mut self, event: KubeEvent, cx: &mut Cx<'_>) {
        let store = &mut self.store;
        match event {
            KubeEvent::Work(watcher) => self.work(watcher, cx),
            KubeEvent::Monitor(generation) => self.lifecycle.look(generation, store, &self.kubelets, cx),
            KubeEvent::Limiter(zone, generation) => self.lifecycle.token(zone, generation, store, cx),
            KubeEvent::Evict(generation) => self.evictions.evict(generation, store, cx),
            KubeEvent::Schedule(generation) => {
                self.scheduler.schedule(generation, store, cx);
                self.autoscaler.something_changed();
            }
            KubeEvent::Renew(node, generation) => {
                if let Some(kubelet) = self.kubelets.get_mut(&node) {
                    kubelet.renew(generation, store, cx);
                }
            }
            KubeEvent::Booted(node, generation) => {
                if let Some(kubelet) = self.kubelets.get_mut(&node) {
                    kubelet.booted(generation, cx);
                    self.lifecycle.reach_changed();
                }
            }
            KubeEvent::Process(node, pod, serial) => {
                if let Some(kubelet) = self.kubelets.get_mut(&node) {
                    kubelet.process(pod, serial, store, cx);
                }
            }
            KubeEvent::Collect(generation) => self.collector.look(generation, store, cx),
            KubeEvent::Machines(generation) => self.machines.handle(generation, store, cx),
            KubeEvent::Volume(workload, ordinal, generation) => {
                let name = PodName { workload, tag: PodTag::Ordinal(ordinal) };
                let lost = self.volumes.due(name, generation, store, cx);
                if let Some(kubelet) = lost.and_then(|node| self.kubelets.get_mut(&node)) {
                    kubelet.volume_detached(name, store, cx);
                }
            }
            KubeEvent::Thaw => self.machines.thaw(store, cx),
            KubeEvent::Outage(generation) => self.outages.due(generation),
            KubeEvent::Care(generation) => self.care.sync(generation, store, cx),
            KubeEvent::Scan(generation) => self.autoscaler.scan(generation, store, self.machines.fleet_mut(), cx),
        }
    }

    /// The nodes on which a process uses a pod's volume.
    #[cfg(test)]
    pub(crate) fn users_of_volume(&self, name: PodName) -> Vec<NodeKey> {
        self.kubelets.iter().filter(|(_, kubelet)| kubelet.uses_volume(name)).map(|(key, _)| *key).collect()
    }

    /// Its objects, to be changed; [`Plane::follow_up`] comes next.
    pub fn store_mut(&mut self) -> &mut Store {
        &mut self.store
    }

    /// Its objects may have changed: those who watch are told.
    pub fn follow_up(&mut self, cx: &mut Cx<'_>) {
        self.spread_news(cx);
        self.arm(cx);
    }

    /// Hosts or paths have changed; [`Plane::follow_up`] comes next.
    pub fn network_changed(&mut self, cx: &mut Cx<'_>) {
        for kubelet in self.kubelets.values_mut() {
            kubelet.surroundings_changed(&self.store, cx);
        }
        self.lifecycle.reach_changed();
        // The machine controller runs elsewhere.
        let is_served = cx.spec.control_plane.iter().any(|node| cx.net.is_powered(Network::host_of(*node)));
        self.machines.api_served(is_served || cx.spec.control_plane.is_empty(), cx);
    }

    /// Members of an etcd cluster have started or stopped.
    pub fn members_changed(&mut self, cluster: ClusterId, cx: &mut Cx<'_>) {
        for kubelet in self.kubelets.values_mut() {
            kubelet.members_changed(cluster, &mut self.store, cx);
        }
    }

    fn arm(&mut self, cx: &mut Cx<'_>) {
        self.lifecycle.arm(&self.store, &self.kubelets, cx);
        self.evictions.arm(cx);
        self.scheduler.arm(cx);
        self.machines.arm(cx);
        self.collector.arm(cx);
        self.care.arm(cx);
        self.autoscaler.arm(&self.store, self.machines.fleet(), cx);
        self.outages.arm(&self.store, self.machines.fleet(), cx);
    }

    /// A watcher hears what is new.
    fn work(&mut self, watcher: Watcher, cx: &mut Cx<'_>) {
        for key in std::mem::take(&mut self.news[watcher as usize]) {
            match watcher {
                Watcher::Lifecycle => Lifecycle::reconcile(NodeKey(key), &mut self.store, cx),
                Watcher::Evict => self.evictions.reconcile(NodeKey(key), &self.store, cx),
                Watcher::ReplicaSets | Watcher::StatefulSets | Watcher::DaemonSets => self.reconcile(WorkloadId(key), cx),
                Watcher::Volumes => self.volumes.reconcile(WorkloadId(key), &mut self.store, cx),
                Watcher::Budgets => disruption::reconcile(WorkloadId(key), &mut self.store, cx),
                Watcher::Kubelets => {
                    if let Some(kubelet) = self.kubelets.get_mut(&NodeKey(key)) {
                        kubelet.notice(&mut self.store, cx);
                    }
                }
                Watcher::Machines => self.machines.node_changed(NodeKey(key), &mut self.store, cx),
                Watcher::MachineSets => self.machines.sync(GroupId(key as u16), cx),
            }
        }
    }

    /// Tells everybody whom a change concerns.
    fn spread_news(&mut self, cx: &mut Cx<'_>) {
        let heard = cx.now + cx.spec.timers.watch_latency;
        for group in self.machines.take_touched(cx) {
            self.autoscaler.something_changed();
            self.outages.something_changed();
            self.tell(Watcher::MachineSets, group.0.into(), cx);
        }
        self.kubelets.extend(self.machines.take_switched_on());
        for node in self.machines.take_switched_off() {
            if let Some(kubelet) = self.kubelets.remove(&node) {
                kubelet.switched_off(cx);
            }
        }
        for change in self.store.take_changes() {
            self.autoscaler.something_changed();
            match change {
                Change::Created(pod) if self.store.pod(pod).is_some_and(|pod| pod.node.is_none()) => {
                    self.scheduler.add(pod, heard);
                }
                Change::Created(_) => {}
                Change::Bound(node) => {
                    self.tell(Watcher::Kubelets, node.0, cx);
                    self.tell(Watcher::Evict, node.0, cx);
                    self.scheduler.wake(heard);
                }
                Change::Terminating(pod, workload, node) => {
                    self.evictions.cancel(pod);
                    self.care.terminating(pod, workload, cx);
                    self.tell_owner(workload, cx);
                    self.tell_budget(workload, cx);
                    self.tell(Watcher::Kubelets, node.0, cx);
                    self.scheduler.wake(heard);
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
                    self.tell_budget(name.workload, cx);
                    self.scheduler.wake(heard);
                }
                Change::Volume(name) => {
                    self.tell(Watcher::Volumes, name.workload.0, cx);
                    if let Some(Attachment::Attached(node)) = self.store.claim(name).map(|claim| claim.attachment) {
                        self.tell(Watcher::Kubelets, node.0, cx);
                    }
                }
                Change::Desired(workload) => {
                    self.tell_owner(workload, cx);
                    self.tell_budget(workload, cx);
                }
                Change::Readiness(workload) => {
                    self.tell_budget(workload, cx);
                    if cx.spec.workloads[workload.0 as usize].kind == (Kind::StatefulSet { parallel: false }) {
                        self.tell_owner(workload, cx);
                    }
                }
                Change::Condition(node) => {
                    self.outages.something_changed();
                    self.lifecycle.nodes_changed();
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
                    self.scheduler.wake(heard);
                }
                Change::Registered(node) => {
                    self.outages.something_changed();
                    self.lifecycle.add_node(node, self.store.node(node).zone, cx);
                    self.tell(Watcher::Machines, node.0, cx);
                    self.tell_daemons(cx);
                    self.scheduler.wake(heard);
                }
                Change::Unregistered(node) => {
                    self.outages.something_changed();
                    self.lifecycle.remove_node(node);
                    self.collector.node_gone(node, cx);
                    for name in self.store.mounted_on(node) {
                        self.tell(Watcher::Volumes, name.workload.0, cx);
                    }
                    self.tell(Watcher::Machines, node.0, cx);
                    self.scheduler.wake(heard);
                }
            }
        }
    }

    /// Tells the controller of a workload's pods.
    fn tell_owner(&mut self, workload: WorkloadId, cx: &mut Cx<'_>) {
        self.tell(Watcher::of(cx.spec.workloads[workload.0 as usize].kind), workload.0, cx);
    }

    /// Tells the disruption controller, where the workload has a budget.
    fn tell_budget(&mut self, workload: WorkloadId, cx: &mut Cx<'_>) {
        if cx.spec.workloads[workload.0 as usize].max_unavailable.is_some() {
            self.tell(Watcher::Budgets, workload.0, cx);
        }
    }

    /// Nodes have changed: every DaemonSet may have to.
    fn tell_daemons(&mut self, cx: &mut Cx<'_>) {
        let spec = cx.spec;
        for (workload, _) in (0..).zip(&spec.workloads).filter(|(_, workload)| workload.kind == Kind::DaemonSet) {
            self.tell(Watcher::DaemonSets, workload, cx);
        }
    }

    fn tell(&mut self, watcher: Watcher, key: u32, cx: &mut Cx<'_>) {
        let news = &mut self.news[watcher as usize];
        if news.is_empty() {
            cx.schedule(cx.now + cx.spec.timers.watch_latency, KubeEvent::Work(watcher));
        }
        news.insert(key);
    }
}
