//! One Kubernetes API: its objects, its controllers and the kubelets that report to it.

use std::collections::{BTreeMap, BTreeSet};

use crate::ids::{NodeKey, WorkloadId};
use crate::kernel::time::Duration;
use crate::kube::context::{Cx, Signal};
use crate::kube::control::Control;
use crate::kube::controller::evict::Evictions;
use crate::kube::controller::lifecycle::Lifecycle;
use crate::kube::controller::replicas::ReplicaSets;
use crate::kube::controller::scheduler::Scheduler;
use crate::kube::event::{KubeEvent, Watcher};
use crate::kube::kubelet::Kubelet;
use crate::kube::record::{KubeRecord, Ready};
use crate::kube::spec::Component;
use crate::kube::store::{Change, Store};

/// A plane.
#[derive(Clone, Debug)]
pub struct Plane {
    control: Control,
    store: Store,
    kubelets: BTreeMap<NodeKey, Kubelet>,
    lifecycle: Lifecycle,
    evictions: Evictions,
    replicas: ReplicaSets,
    scheduler: Scheduler,
    /// What each [`Watcher`] is about to hear of; its event is queued where there is something.
    news: [BTreeSet<u32>; Watcher::ALL.len()],
    /// Their event has come, but their component did not lead, or could not write.
    parked: [bool; Watcher::ALL.len()],
    /// Components that lead and can write, as they were last seen.
    open: [bool; Component::ALL.len()],
    /// The leader that each component's memory is of.
    terms: [u64; Component::ALL.len()],
}

impl Plane {
    /// A settled plane: its pods are placed, one after the other as the scheduler would, and have been ready for long. Not started yet.
    pub fn new(cx: &mut Cx<'_>) -> Self {
        let spec = cx.spec;
        let control = Control::new(cx);
        cx.latency = control.api.latency();
        let mut store = Store::new(spec, cx.net);
        let kubelets = store.nodes().map(|(key, node)| (key, Kubelet::new(key, node.host, cx))).collect();
        let lifecycle = Lifecycle::new(&store, cx);
        let mut replicas = ReplicaSets::new(spec.workloads.len());
        for workload in (0..spec.workloads.len() as u32).map(WorkloadId) {
            replicas.reconcile(workload, &mut store, cx);
        }
        let scheduler = Scheduler::new(spec.workloads.len());
        let (evictions, news, parked) = (Evictions::default(), Default::default(), Default::default());
        let (open, terms) = (Default::default(), Default::default());
        let mut plane = Self { control, store, kubelets, lifecycle, evictions, replicas, scheduler, news, parked, open, terms };
        plane.place_all(cx);
        plane
    }

    /// Everybody who makes it work is there: its leaders have led for long.
    pub fn start(&mut self, cx: &mut Cx<'_>) {
        self.control.settle(cx);
        for component in Component::ALL {
            self.terms[component as usize] = self.control.term(component);
            self.open[component as usize] = self.gate(component).is_some();
        }
        self.access_changed(cx);
        self.finish(cx);
    }

    fn place_all(&mut self, cx: &mut Cx<'_>) {
        for change in self.store.take_changes() {
            let Change::Created(pod) = change else { unreachable!("only pods were made: {change:?}") };
            match self.scheduler.try_place(pod, &mut self.store, cx) {
                Ok(node) => kubelet(&mut self.kubelets, node).settle(pod, &mut self.store, cx),
                Err(_) => self.scheduler.add(pod, cx.now),
            }
        }
        self.store.take_changes();
    }

    /// Its objects.
    pub fn store(&self) -> &Store {
        &self.store
    }

    /// Something is due.
    pub fn handle(&mut self, event: KubeEvent, cx: &mut Cx<'_>) {
        debug_assert!(self.control.api.is_fresh(cx), "etcd answers {} otherwise than it has told", cx.spec.name);
        cx.latency = self.control.api.latency();
        let store = &mut self.store;
        match event {
            KubeEvent::Work(watcher) => self.work(watcher, cx),
            KubeEvent::Monitor(generation) => self.lifecycle.look(generation, store, &self.kubelets, cx),
            KubeEvent::Limiter(zone, generation) => {
                if self.is_open(Component::ControllerManager) {
                    self.lifecycle.token(zone, generation, &mut self.store, cx);
                }
            }
            KubeEvent::Evict(generation) => self.evictions.evict(generation, store, cx),
            KubeEvent::Schedule(generation) => self.scheduler.schedule(generation, store, cx),
            KubeEvent::Renew(node, generation) => kubelet(&mut self.kubelets, node).renew(generation, store, cx),
            KubeEvent::Booted(node, generation) => {
                kubelet(&mut self.kubelets, node).booted(generation, &self.control.api, cx);
                self.lifecycle.reach_changed();
            }
            KubeEvent::Process(node, pod, serial) => kubelet(&mut self.kubelets, node).process(pod, serial, store, cx),
            KubeEvent::Link(..) | KubeEvent::Readiness(..) | KubeEvent::ControlPlane(..) => {
                self.control.handle(event, cx);
                self.access_changed(cx);
            }
            KubeEvent::Election(..) => self.control.handle(event, cx),
        }
        self.finish(cx);
    }

    /// Hosts or paths have changed.
    pub fn network_changed(&mut self, cx: &mut Cx<'_>) {
        cx.latency = self.control.api.latency();
        for kubelet in self.kubelets.values_mut() {
            kubelet.power_changed(cx);
        }
        self.control.power_changed(cx);
        self.control.api.refresh(cx);
        self.access_changed(cx);
        self.finish(cx);
    }

    /// Its etcd may offer other services than before.
    pub fn services_changed(&mut self, cx: &mut Cx<'_>) {
        cx.latency = self.control.api.latency();
        if self.control.api.refresh(cx) {
            self.access_changed(cx);
            self.finish(cx);
        }
    }

    /// Hears of a process that serves its API or acts through it.
    pub fn hear(&mut self, signal: &Signal, cx: &mut Cx<'_>) {
        cx.latency = self.control.api.latency();
        self.control.hear(signal, cx);
        self.access_changed(cx);
        self.finish(cx);
    }

    /// Hears of one that was there before the start.
    pub fn is_served_by(&mut self, signal: &Signal, cx: &mut Cx<'_>) {
        self.control.hear(signal, cx);
    }

    /// The gate that all work of controllers passes: how long a write of a component takes now. `None`: none of its processes leads, or
    /// the one that does cannot write, so that it does nothing.
    pub fn gate(&self, component: Component) -> Option<Duration> {
        self.control.gate(component)
    }

    /// From a write until those who watch hear of it.
    #[cfg(test)]
    pub(super) const fn latency(&self) -> Duration {
        self.control.api.latency()
    }

    /// Others than before may get answers from the API, or later.
    fn access_changed(&mut self, cx: &mut Cx<'_>) {
        // What was seen until now was seen as it was until now.
        if self.is_open(Component::ControllerManager) {
            self.lifecycle.catch_up(&self.kubelets, cx);
        }
        self.control.access_changed(cx);
        cx.latency = self.control.api.latency();
        for kubelet in self.kubelets.values_mut() {
            kubelet.look(&self.control.api, cx);
        }
        self.lifecycle.reach_changed();
    }

    const fn is_open(&self, component: Component) -> bool {
        self.open[component as usize]
    }

    /// What follows from anything that has happened.
    fn finish(&mut self, cx: &mut Cx<'_>) {
        for component in Component::ALL {
            self.follow_gate(component, cx);
        }
        self.spread_news(cx);
        self.arm(cx);
    }

    /// A gate may have opened: work that waited is done now. Behind it may stand somebody else, who remembers nothing.
    fn follow_gate(&mut self, component: Component, cx: &mut Cx<'_>) {
        let (is_open, term) = (self.gate(component).is_some(), self.control.term(component));
        let was_open = std::mem::replace(&mut self.open[component as usize], is_open);
        if is_open != was_open {
            cx.record(KubeRecord::Acts(component, is_open));
        }
        if is_open && std::mem::replace(&mut self.terms[component as usize], term) != term {
            self.begin(component, cx);
        } else if is_open && !was_open && component == Component::ControllerManager {
            self.lifecycle.go_on(&mut self.store, cx);
        } else if was_open && !is_open && component == Component::ControllerManager {
            self.lifecycle.catch_up(&self.kubelets, cx);
        }
        if is_open && !was_open {
            self.resume(component, cx);
        }
    }

    /// A new leader lists all there is.
    fn begin(&mut self, component: Component, cx: &mut Cx<'_>) {
        match component {
            Component::ControllerManager => {
                self.evictions.forget();
                self.lifecycle.begin(&mut self.store, &self.kubelets, cx);
            }
            Component::Scheduler => self.scheduler.begin(&self.store, cx.now + cx.latency),
            Component::MachineControllerManager | Component::Autoscaler | Component::Gardenlet | Component::Druid => {}
        }
        for watcher in Watcher::ALL.into_iter().filter(|watcher| watcher.component() == Some(component)) {
            let keys: Vec<u32> = match watcher {
                Watcher::Lifecycle | Watcher::Evict | Watcher::Kubelets => self.kubelets.keys().map(|node| node.0).collect(),
                Watcher::ReplicaSets => (0..cx.spec.workloads.len() as u32).collect(),
            };
            for key in keys {
                self.tell(watcher, key, cx);
            }
        }
    }

    fn resume(&mut self, component: Component, cx: &mut Cx<'_>) {
        for watcher in Watcher::ALL.into_iter().filter(|watcher| watcher.component() == Some(component)) {
            if std::mem::take(&mut self.parked[watcher as usize]) {
                cx.schedule(cx.now, KubeEvent::Work(watcher));
            }
        }
    }

    fn arm(&mut self, cx: &mut Cx<'_>) {
        let manages = self.is_open(Component::ControllerManager);
        self.lifecycle.arm(manages, &self.store, &self.kubelets, cx);
        self.evictions.arm(manages, cx);
        self.scheduler.arm(self.is_open(Component::Scheduler), cx);
        self.control.arm(cx);
    }

    /// A watcher hears what is new.
    fn work(&mut self, watcher: Watcher, cx: &mut Cx<'_>) {
        if watcher.component().is_some_and(|component| !self.is_open(component)) {
            self.parked[watcher as usize] = true;
            return;
        }
        for key in std::mem::take(&mut self.news[watcher as usize]) {
            match watcher {
                Watcher::Lifecycle => Lifecycle::reconcile(NodeKey(key), &mut self.store, cx),
                Watcher::Evict => self.evictions.reconcile(NodeKey(key), &self.store, cx),
                Watcher::ReplicaSets => self.replicas.reconcile(WorkloadId(key), &mut self.store, cx),
                Watcher::Kubelets => kubelet(&mut self.kubelets, NodeKey(key)).notice(&mut self.store, cx),
            }
        }
    }

    /// Tells everybody whom a change concerns.
    fn spread_news(&mut self, cx: &mut Cx<'_>) {
        let heard = cx.now + cx.latency;
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
                    match self.store.node(node).ready {
                        Ready::True => {}
                        Ready::Unknown => kubelet(&mut self.kubelets, node).declared_unknown(cx),
                    }
                }
                Change::Taints(node) => {
                    self.lifecycle.nodes_changed();
                    self.tell(Watcher::Evict, node.0, cx);
                    self.scheduler.wake(heard);
                }
            }
        }
    }

    fn tell(&mut self, watcher: Watcher, key: u32, cx: &mut Cx<'_>) {
        let news = &mut self.news[watcher as usize];
        if news.is_empty() {
            cx.schedule(cx.now + cx.latency, KubeEvent::Work(watcher));
        }
        news.insert(key);
    }
}

fn kubelet(kubelets: &mut BTreeMap<NodeKey, Kubelet>, node: NodeKey) -> &mut Kubelet {
    kubelets.get_mut(&node).expect("every node has a kubelet")
}
