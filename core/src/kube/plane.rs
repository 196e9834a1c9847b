//! One Kubernetes API: its objects, its controllers and the kubelets that report to it.

use std::collections::{BTreeMap, BTreeSet};

use crate::gardener::machine::controller::Machines;
use crate::ids::{GroupId, NodeKey, WorkloadId};
use crate::kube::context::Cx;
use crate::kube::controller::evict::Evictions;
use crate::kube::controller::lifecycle::Lifecycle;
use crate::kube::controller::replicas::ReplicaSets;
use crate::kube::controller::scheduler::Scheduler;
use crate::kube::event::{KubeEvent, Watcher};
use crate::kube::kubelet::Kubelet;
use crate::kube::record::Ready;
use crate::kube::store::{Change, Store};

/// A plane.
#[derive(Clone, Debug)]
pub struct Plane {
    store: Store,
    kubelets: BTreeMap<NodeKey, Kubelet>,
    lifecycle: Lifecycle,
    evictions: Evictions,
    replicas: ReplicaSets,
    scheduler: Scheduler,
    machines: Machines,
    /// What each [`Watcher`] is about to hear of; its event is queued where there is something.
    news: [BTreeSet<u32>; Watcher::ALL.len()],
}

impl Plane {
    /// A settled plane: its pods are placed, one after the other as the scheduler would, and have been ready for long.
    pub fn new(cx: &mut Cx<'_>) -> Self {
        let spec = cx.spec;
        let mut store = Store::new(spec, cx.net);
        let kubelets = store.nodes().map(|(key, node)| (key, Kubelet::new(key, node.host, cx))).collect();
        let lifecycle = Lifecycle::new(&store, cx);
        let mut replicas = ReplicaSets::new(spec.workloads.len());
        for workload in (0..spec.workloads.len() as u32).map(WorkloadId) {
            replicas.reconcile(workload, &mut store, cx);
        }
        let scheduler = Scheduler::new(spec.workloads.len());
        let (evictions, news) = (Evictions::default(), Default::default());
        let machines = Machines::new(cx);
        let mut plane = Self { store, kubelets, lifecycle, evictions, replicas, scheduler, machines, news };
        plane.place_all(cx);
        plane.arm(cx);
        plane
    }

    fn place_all(&mut self, cx: &mut Cx<'_>) {
        for change in self.store.take_changes() {
            let Change::Created(pod) = change else { unreachable!("only pods were made: {change:?}") };
            match self.scheduler.try_place(pod, &mut self.store, cx) {
                Ok(node) => {
                    let kubelet = self.kubelets.get_mut(&node).expect("every node has a kubelet");
                    kubelet.settle(pod, &mut self.store, cx);
                }
                Err(_) => self.scheduler.add(pod, cx.now),
            }
        }
        self.store.take_changes();
    }

    /// Its objects.
    pub fn store(&self) -> &Store {
        &self.store
    }

    /// Its machines.
    pub const fn machines(&self) -> &Machines {
        &self.machines
    }

    /// Something is due.
    pub fn handle(&mut self, event: KubeEvent, cx: &mut Cx<'_>) {
        let store = &mut self.store;
        match event {
            KubeEvent::Work(watcher) => self.work(watcher, cx),
            KubeEvent::Monitor(generation) => self.lifecycle.look(generation, store, &self.kubelets, cx),
            KubeEvent::Limiter(zone, generation) => self.lifecycle.token(zone, generation, store, cx),
            KubeEvent::Evict(generation) => self.evictions.evict(generation, store, cx),
            KubeEvent::Schedule(generation) => self.scheduler.schedule(generation, store, cx),
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
            KubeEvent::Machines(generation) => self.machines.handle(generation, store, cx),
        }
        self.spread_news(cx);
        self.arm(cx);
    }

    /// Hosts or paths have changed.
    pub fn network_changed(&mut self, cx: &mut Cx<'_>) {
        for kubelet in self.kubelets.values_mut() {
            kubelet.surroundings_changed(cx);
        }
        self.lifecycle.reach_changed();
        self.arm(cx);
    }

    fn arm(&mut self, cx: &mut Cx<'_>) {
        self.lifecycle.arm(&self.store, &self.kubelets, cx);
        self.evictions.arm(cx);
        self.scheduler.arm(cx);
        self.machines.arm(cx);
    }

    /// A watcher hears what is new.
    fn work(&mut self, watcher: Watcher, cx: &mut Cx<'_>) {
        for key in std::mem::take(&mut self.news[watcher as usize]) {
            match watcher {
                Watcher::Lifecycle => Lifecycle::reconcile(NodeKey(key), &mut self.store, cx),
                Watcher::Evict => self.evictions.reconcile(NodeKey(key), &self.store, cx),
                Watcher::ReplicaSets => self.replicas.reconcile(WorkloadId(key), &mut self.store, cx),
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
            self.tell(Watcher::MachineSets, group.0.into(), cx);
        }
        self.kubelets.extend(self.machines.take_switched_on());
        for node in self.machines.take_switched_off() {
            self.kubelets.remove(&node);
        }
        for change in self.store.take_changes() {
            match change {
                Change::Created(pod) => self.scheduler.add(pod, heard),
                Change::Bound(node) => {
                    self.tell(Watcher::Kubelets, node.0, cx);
                    self.tell(Watcher::Evict, node.0, cx);
                    self.scheduler.wake(heard);
                }
                Change::Terminating(pod, workload, node) => {
                    self.evictions.cancel(pod);
                    self.tell(Watcher::ReplicaSets, workload.0, cx);
                    self.tell(Watcher::Kubelets, node.0, cx);
                    self.scheduler.wake(heard);
                }
                Change::Removed(_) => self.scheduler.wake(heard),
                Change::Condition(node) => {
                    self.lifecycle.nodes_changed();
                    self.tell(Watcher::Lifecycle, node.0, cx);
                    self.tell(Watcher::Machines, node.0, cx);
                    let unknown = self.store.get_node(node).is_some_and(|node| node.ready == Ready::Unknown);
                    if let Some(kubelet) = self.kubelets.get(&node).filter(|_| unknown) {
                        kubelet.declared_unknown(cx);
                    }
                }
                Change::Taints(node) => {
                    self.lifecycle.nodes_changed();
                    self.tell(Watcher::Evict, node.0, cx);
                    self.scheduler.wake(heard);
                }
                Change::Registered(node) => {
                    self.lifecycle.add_node(node, self.store.node(node).zone, cx);
                    self.tell(Watcher::Machines, node.0, cx);
                    self.scheduler.wake(heard);
                }
                Change::Unregistered(node) => {
                    self.lifecycle.remove_node(node);
                    self.tell(Watcher::Machines, node.0, cx);
                    self.scheduler.wake(heard);
                }
            }
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
