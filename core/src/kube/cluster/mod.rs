//! One Kubernetes API: its objects, its controllers and the kubelets that report to it.

mod gate;
mod news;

use std::collections::{BTreeMap, BTreeSet};

use crate::autoscaler::Autoscaler;
use crate::gardener::care::Care;
use crate::gardener::druid::{self, Druid};
use crate::gardener::machine::controller::Machines;
use crate::gardener::outage::Outages;
use crate::ids::{EtcdId, NodeKey, PodId, WorkloadId};
use crate::kube::api::Api;
use crate::kube::context::{Cx, Process, Signal};
use crate::kube::control::Control;
use crate::kube::controller::attach::Volumes;
use crate::kube::controller::collect::Collector;
use crate::kube::controller::daemon::DaemonSets;
use crate::kube::controller::disruption;
use crate::kube::controller::drain;
use crate::kube::controller::evict::Evictions;
use crate::kube::controller::hints::Hints;
use crate::kube::controller::lifecycle::Lifecycle;
use crate::kube::controller::replicas::ReplicaSets;
use crate::kube::controller::scheduler::Scheduler;
use crate::kube::controller::stateful;
use crate::kube::event::{KubeEvent, Stage, Watcher};
use crate::kube::kubelet::Kubelet;
use crate::kube::name::{PodName, PodTag};
use crate::kube::record::{KubeRecord, Verb};
use crate::kube::spec::{Component, Kind, Task};
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
    daemons: DaemonSets,
    volumes: Volumes,
    collector: Collector,
    scheduler: Scheduler,
    machines: Machines,
    care: Care,
    autoscaler: Autoscaler,
    outages: Outages,
    druid: Druid,
    hints: Hints,
    /// What each [`Watcher`] is about to hear of; its event is queued where there is something.
    news: [BTreeSet<u32>; Watcher::ALL.len()],
    /// Their event has come, but their component did not lead, or could not write.
    parked: [bool; Watcher::ALL.len()],
    /// Volumes whose time has come likewise.
    late: Vec<KubeEvent>,
    /// Components that lead and can write, as they were last seen.
    open: [bool; Component::ALL.len()],
    /// The leader that each component's memory is of.
    terms: [u64; Component::ALL.len()],
}

impl Plane {
    /// A settled plane: its pods are placed, one after the other as the scheduler would, and have been ready for long.
    /// Not started yet.
    pub fn new(cx: &mut Cx<'_>) -> Self {
        let spec = cx.spec;
        let control = Control::new(cx);
        cx.latency = control.api.latency();
        let store = Store::new(spec, cx.net);
        let kubelets = store.nodes().map(|(key, node)| (key, Kubelet::new(key, node.host, cx))).collect();
        let lifecycle = Lifecycle::new(&store, cx);
        let workloads = spec.workloads.len();
        let mut cluster = Self {
            control,
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
            druid: Druid::new(cx),
            hints: Hints::default(),
            news: Default::default(),
            parked: Default::default(),
            late: Vec::new(),
            open: Default::default(),
            terms: Default::default(),
        };
        cluster.place_given(cx);
        loop {
            for workload in (0..workloads as u32).map(WorkloadId) {
                cluster.reconcile(workload, cx);
            }
            let changes = cluster.store.take_changes();
            if changes.is_empty() {
                break;
            }
            cluster.place_all(changes, cx);
        }
        for workload in (0..workloads as u32).map(WorkloadId) {
            disruption::reconcile(workload, &mut cluster.store, cx);
        }
        cluster.hints.begin(&cluster.store);
        for workload in (0..workloads as u32).map(WorkloadId) {
            cluster.hints.sync(workload, &cluster.store, cx);
        }
        cluster
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

    /// The scenario's own pods are where it says.
    fn place_given(&mut self, cx: &mut Cx<'_>) {
        for (workload, spec) in (0..).map(WorkloadId).zip(&cx.spec.workloads) {
            for (tag, node) in &spec.placed {
                let pod = self.store.create_pod(PodName { workload, tag: *tag }, 0, cx);
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

    /// Its API servers.
    pub const fn api(&self) -> &Api {
        &self.control.api
    }

    /// Its machines.
    pub const fn machines(&self) -> &Machines {
        &self.machines
    }

    /// Something is due.
    pub fn handle(&mut self, event: KubeEvent, cx: &mut Cx<'_>) {
        debug_assert!(self.control.api.is_fresh(cx), "etcd answers {} otherwise than it has told", cx.spec.name);
        cx.latency = self.control.api.latency();
        let manages = self.is_open(Component::ControllerManager);
        let store = &mut self.store;
        match event {
            KubeEvent::Work(watcher) => self.work(watcher, cx),
            KubeEvent::Monitor(generation) => self.lifecycle.look(generation, store, &self.kubelets, cx),
            KubeEvent::Limiter(..) if !manages => {}
            KubeEvent::Limiter(zone, generation) => self.lifecycle.token(zone, generation, store, cx),
            KubeEvent::Evict(generation) => self.evictions.evict(generation, store, cx),
            KubeEvent::Schedule(generation) => {
                if self.scheduler.schedule(generation, store, cx) {
                    self.autoscaler.something_changed();
                }
            }
            KubeEvent::Renew(node, generation) => {
                if let Some(kubelet) = self.kubelets.get_mut(&node) {
                    kubelet.renew(generation, store, cx);
                }
            }
            KubeEvent::Booted(node, generation) => {
                if let Some(kubelet) = self.kubelets.get_mut(&node) {
                    kubelet.booted(generation, &self.control.api, store, cx);
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
            KubeEvent::Volume(..) if !manages => self.late.push(event),
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
            KubeEvent::Link(..) | KubeEvent::Readiness(..) | KubeEvent::ControlPlane(..) => {
                self.control.handle(event, cx);
                self.access_changed(cx);
            }
            KubeEvent::Election(..) => self.control.handle(event, cx),
            KubeEvent::Tolerance(change) => {
                let shoot = self.druid.ask(change, cx);
                self.tell(Watcher::Druid, shoot, cx);
            }
            KubeEvent::Migration(migration, Stage::Asked) => druid::bind(migration, cx),
            KubeEvent::Migration(migration, stage) => {
                let shoot = self.druid.migrate(migration, stage, cx);
                self.tell(Watcher::Gardenlet, shoot, cx);
            }
            KubeEvent::Drain(node) => drain::drain(node, self.control.api.is_up(Verb::Write), store, cx),
        }
        self.finish(cx);
    }

    /// An operator asks for something. (It is written at once, whoever answers then; what follows from it waits for those who do it.)
    pub fn operate(&mut self, task: Task, cx: &mut Cx<'_>) {
        if let Task::RollComponent(workload) = task
            && self.store.desired(workload) == 0
        {
            // A shoot's, which another seed hosts.
            return;
        }
        cx.latency = self.control.api.latency();
        cx.record(KubeRecord::Operation(task));
        match task {
            Task::RollComponent(workload) => self.store.roll(workload, cx),
            Task::DrainNode(node) => drain::drain(node, self.control.api.is_up(Verb::Write), &mut self.store, cx),
            Task::RollMachines(deployment) => self.machines.fleet_mut().roll(deployment, cx),
        }
        self.finish(cx);
    }

    /// The nodes on which a process uses a pod's volume.
    #[cfg(test)]
    pub(crate) fn users_of_volume(&self, name: PodName) -> Vec<NodeKey> {
        self.kubelets.iter().filter(|(_, kubelet)| kubelet.uses_volume(name)).map(|(key, _)| *key).collect()
    }

    /// Its scheduler.
    #[cfg(test)]
    pub(crate) const fn scheduler(&self) -> &Scheduler {
        &self.scheduler
    }

    /// Its objects, to be changed in [`Plane::act`].
    #[cfg(test)]
    pub(crate) fn store_mut(&mut self) -> &mut Store {
        &mut self.store
    }

    /// Something is done to it.
    #[cfg(test)]
    pub(crate) fn act(&mut self, deed: impl FnOnce(&mut Self, &mut Cx<'_>), cx: &mut Cx<'_>) {
        cx.latency = self.control.api.latency();
        deed(self, cx);
        self.finish(cx);
    }

    /// Hosts or paths have changed.
    pub fn network_changed(&mut self, cx: &mut Cx<'_>) {
        cx.latency = self.control.api.latency();
        for kubelet in self.kubelets.values_mut() {
            kubelet.surroundings_changed(&self.store, cx);
        }
        self.control.power_changed(cx);
        self.control.api.refresh(cx);
        self.access_changed(cx);
        for shoot in self.druid.uploads() {
            self.tell(Watcher::Gardenlet, shoot, cx);
        }
        self.finish(cx);
    }

    /// Members of an etcd cluster that are its pods have started or stopped.
    pub fn members_changed(&mut self, cluster: EtcdId, set: WorkloadId, cx: &mut Cx<'_>) {
        cx.latency = self.control.api.latency();
        for node in self.store.nodes_of_members(cluster) {
            if let Some(kubelet) = self.kubelets.get_mut(&node) {
                kubelet.members_changed(cluster, &mut self.store, cx);
            }
        }
        self.tell_druid(Some(set), cx);
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
        if let Process::Ready(ready) = signal.process {
            for kubelet in self.kubelets.values_mut() {
                kubelet.probed(PodId(signal.key), ready, &mut self.store, cx);
            }
        } else {
            self.control.hear(signal, cx);
            self.access_changed(cx);
        }
        self.finish(cx);
    }

    /// Hears of one that was there before the start.
    pub fn is_served_by(&mut self, signal: &Signal, cx: &mut Cx<'_>) {
        self.control.hear(signal, cx);
    }

    /// From a write until those who watch hear of it.
    #[cfg(test)]
    pub(super) const fn latency(&self) -> crate::kernel::time::Duration {
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
            kubelet.look(&self.control.api, &self.store, cx);
        }
        self.lifecycle.reach_changed();
    }
}
