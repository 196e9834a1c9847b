//! One Kubernetes API: its objects, its controllers and the kubelets that report to it.

mod gate;
mod work_queue;

use std::collections::{BTreeMap, BTreeSet};

use crate::autoscaler::Autoscaler;
use crate::gardener::druid::{self, Druid};
use crate::gardener::machine::controller::Machines;
use crate::gardener::outage::Outages;
use crate::gardener::shoot_care::ShootCare;
use crate::ids::{EtcdId, NodeKey, PodId, WorkloadId};
use crate::kube::api::Api;
use crate::kube::control::Control;
use crate::kube::controller::attach_detach::Volumes;
use crate::kube::controller::daemon::DaemonSets;
use crate::kube::controller::disruption;
use crate::kube::controller::drain;
use crate::kube::controller::hints::Hints;
use crate::kube::controller::node_lifecycle::Lifecycle;
use crate::kube::controller::pod_gc::PodGarbageCollector;
use crate::kube::controller::replicas::ReplicaSets;
use crate::kube::controller::scheduler::Scheduler;
use crate::kube::controller::stateful;
use crate::kube::controller::taint_eviction::Evictions;
use crate::kube::ctx::{ClusterCtx, ProcessChange, ProcessStatus};
use crate::kube::event::{ControllerKind, KubeEvent, Stage};
use crate::kube::kubelet::Kubelet;
use crate::kube::name::{PodName, PodTag};
use crate::kube::record::{KubeRecord, Verb};
use crate::kube::spec::{Component, Kind, Task};
use crate::kube::store::{Change, Store};

/// A plane.
#[derive(Clone, Debug)]
pub struct KubeCluster {
    control: Control,
    store: Store,
    kubelets: BTreeMap<NodeKey, Kubelet>,
    lifecycle: Lifecycle,
    evictions: Evictions,
    replicas: ReplicaSets,
    daemons: DaemonSets,
    volumes: Volumes,
    collector: PodGarbageCollector,
    scheduler: Scheduler,
    machines: Machines,
    shoot_care: ShootCare,
    autoscaler: Autoscaler,
    outages: Outages,
    druid: Druid,
    hints: Hints,
    /// What each [`ControllerKind`] is about to hear of; its event is queued where there is something.
    queues: [BTreeSet<u32>; ControllerKind::ALL.len()],
    /// Their event has come, but their component did not lead, or could not write.
    deferred: [bool; ControllerKind::ALL.len()],
    /// Volumes whose time has come likewise.
    deferred_events: Vec<KubeEvent>,
    /// Components that lead and can write, as they were last seen.
    open: [bool; Component::ALL.len()],
    /// The leader that each component's memory is of.
    terms: [u64; Component::ALL.len()],
}

impl KubeCluster {
    /// A settled plane: its pods are placed, one after the other as the scheduler would, and have been ready for long.
    /// Not started yet.
    pub fn new(ctx: &mut ClusterCtx<'_>) -> Self {
        let spec = ctx.spec;
        let control = Control::new(ctx);
        ctx.latency = control.api.latency();
        let store = Store::new(spec, ctx.net);
        let kubelets = store.nodes().map(|(key, node)| (key, Kubelet::new(key, node.host, ctx))).collect();
        let lifecycle = Lifecycle::new(&store, ctx);
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
            collector: PodGarbageCollector::new(ctx),
            scheduler: Scheduler::new(workloads),
            machines: Machines::new(ctx),
            shoot_care: ShootCare::new(ctx),
            autoscaler: Autoscaler::new(ctx),
            outages: Outages::new(ctx),
            druid: Druid::new(ctx),
            hints: Hints::default(),
            queues: Default::default(),
            deferred: Default::default(),
            deferred_events: Vec::new(),
            open: Default::default(),
            terms: Default::default(),
        };
        cluster.place_given(ctx);
        loop {
            for workload in (0..workloads as u32).map(WorkloadId) {
                cluster.reconcile(workload, ctx);
            }
            let changes = cluster.store.take_changes();
            if changes.is_empty() {
                break;
            }
            cluster.place_all(changes, ctx);
        }
        for workload in (0..workloads as u32).map(WorkloadId) {
            disruption::reconcile(workload, &mut cluster.store, ctx);
        }
        cluster.hints.begin(&cluster.store);
        for workload in (0..workloads as u32).map(WorkloadId) {
            cluster.hints.sync(workload, &cluster.store, ctx);
        }
        cluster
    }

    /// Everybody who makes it work is there: its leaders have led for long.
    pub fn start(&mut self, ctx: &mut ClusterCtx<'_>) {
        self.control.start_warm(ctx);
        for component in Component::ALL {
            self.terms[component as usize] = self.control.term(component);
            self.open[component as usize] = self.gate(component).is_some();
        }
        self.access_changed(ctx);
        self.finish(ctx);
    }

    /// The scenario's own pods are where it says.
    fn place_given(&mut self, ctx: &mut ClusterCtx<'_>) {
        for (workload, spec) in (0..).map(WorkloadId).zip(&ctx.spec.workloads) {
            for (tag, node) in &spec.placed {
                let pod = self.store.create_pod(PodName { workload, tag: *tag }, 0, ctx);
                self.store.bind(pod, *node, ctx);
                self.start_warm(pod, *node, ctx);
            }
        }
        self.store.take_changes();
    }

    /// Pods that were made are placed and have been ready for long.
    fn place_all(&mut self, changes: Vec<Change>, ctx: &mut ClusterCtx<'_>) {
        let made = changes.into_iter().filter_map(|change| match change {
            Change::Created(pod) => Some(pod),
            _ => None,
        });
        for pod in made {
            let bound = self.store.pod(pod).expect("it was just made").node;
            match bound.map_or_else(|| self.scheduler.try_place(pod, &mut self.store, ctx), Ok) {
                Ok(node) => self.start_warm(pod, node, ctx),
                Err(_) => self.scheduler.add(pod, ctx.now),
            }
        }
        self.store.take_changes();
    }

    fn start_warm(&mut self, pod: PodId, node: NodeKey, ctx: &mut ClusterCtx<'_>) {
        self.kubelets.get_mut(&node).expect("every node of the start has a kubelet").start_warm(pod, &mut self.store, ctx);
    }

    /// The controller of a workload's pods looks after them.
    fn reconcile(&mut self, workload: WorkloadId, ctx: &mut ClusterCtx<'_>) {
        match ctx.spec.workloads[workload.0 as usize].kind {
            Kind::Deployment => self.replicas.reconcile(workload, &mut self.store, ctx),
            Kind::StatefulSet { .. } => stateful::reconcile(workload, &mut self.store, ctx),
            Kind::DaemonSet => self.daemons.reconcile(workload, &mut self.store, ctx),
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
    pub fn handle(&mut self, event: KubeEvent, ctx: &mut ClusterCtx<'_>) {
        debug_assert!(self.control.api.is_fresh(ctx), "etcd answers {} otherwise than it has told", ctx.spec.name);
        ctx.latency = self.control.api.latency();
        let manages = self.is_open(Component::ControllerManager);
        let store = &mut self.store;
        match event {
            KubeEvent::Work(controller) => self.work(controller, ctx),
            KubeEvent::Monitor(generation) => self.lifecycle.check(generation, store, &self.kubelets, ctx),
            KubeEvent::RateLimiter(..) if !manages => {}
            KubeEvent::RateLimiter(zone, generation) => self.lifecycle.token(zone, generation, store, ctx),
            KubeEvent::Evict(generation) => self.evictions.evict(generation, store, ctx),
            KubeEvent::Schedule(generation) => {
                if self.scheduler.schedule(generation, store, ctx) {
                    self.autoscaler.something_changed();
                }
            }
            KubeEvent::Renew(node, generation) => {
                if let Some(kubelet) = self.kubelets.get_mut(&node) {
                    kubelet.renew(generation, store, ctx);
                }
            }
            KubeEvent::Booted(node, generation) => {
                if let Some(kubelet) = self.kubelets.get_mut(&node) {
                    kubelet.booted(generation, &self.control.api, store, ctx);
                    self.lifecycle.reach_changed();
                }
            }
            KubeEvent::Process(node, pod, serial) => {
                if let Some(kubelet) = self.kubelets.get_mut(&node) {
                    kubelet.process(pod, serial, store, ctx);
                }
            }
            KubeEvent::PodGc(generation) => self.collector.check(generation, store, ctx),
            KubeEvent::Machines(generation) => self.machines.handle(generation, store, ctx),
            KubeEvent::Volume(..) if !manages => self.deferred_events.push(event),
            KubeEvent::Volume(workload, ordinal, generation) => {
                let name = PodName { workload, tag: PodTag::Ordinal(ordinal) };
                let lost = self.volumes.due(name, generation, store, ctx);
                if let Some(kubelet) = lost.and_then(|node| self.kubelets.get_mut(&node)) {
                    kubelet.volume_detached(name, store, ctx);
                }
            }
            KubeEvent::Unfreeze => self.machines.unfreeze(store, ctx),
            KubeEvent::Outage(generation) => self.outages.due(generation),
            KubeEvent::ShootCare(generation) => self.shoot_care.sync(generation, store, ctx),
            KubeEvent::Scan(generation) => self.autoscaler.scan(generation, store, self.machines.tables_mut(), ctx),
            KubeEvent::Link(..) | KubeEvent::Readiness(..) | KubeEvent::ControlPlane(..) => {
                self.control.handle(event, ctx);
                self.access_changed(ctx);
            }
            KubeEvent::Election(..) => self.control.handle(event, ctx),
            KubeEvent::Tolerance(change) => {
                let shoot = self.druid.request(change, ctx);
                self.enqueue(ControllerKind::Druid, shoot, ctx);
            }
            KubeEvent::Migration(migration, Stage::Requested) => druid::bind(migration, ctx),
            KubeEvent::Migration(migration, stage) => {
                let shoot = self.druid.migrate(migration, stage, ctx);
                self.enqueue(ControllerKind::Gardenlet, shoot, ctx);
            }
            KubeEvent::Drain(node) => drain::drain(node, self.control.api.is_up(Verb::Write), store, ctx),
        }
        self.finish(ctx);
    }

    /// An operator asks for something. (It is written at once, whoever answers then; what follows from it waits for those who do it.)
    pub fn operate(&mut self, task: Task, ctx: &mut ClusterCtx<'_>) {
        if let Task::RollComponent(workload) = task
            && self.store.desired(workload) == 0
        {
            // A shoot's, which another seed hosts.
            return;
        }
        ctx.latency = self.control.api.latency();
        ctx.record(KubeRecord::Operation(task));
        match task {
            Task::RollComponent(workload) => self.store.roll(workload, ctx),
            Task::DrainNode(node) => drain::drain(node, self.control.api.is_up(Verb::Write), &mut self.store, ctx),
            Task::RollMachines(deployment) => self.machines.tables_mut().roll(deployment, ctx),
        }
        self.finish(ctx);
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

    /// Its objects, to be changed in [`KubeCluster::act`].
    #[cfg(test)]
    pub(crate) fn store_mut(&mut self) -> &mut Store {
        &mut self.store
    }

    /// Something is done to it.
    #[cfg(test)]
    pub(crate) fn act(&mut self, action: impl FnOnce(&mut Self, &mut ClusterCtx<'_>), ctx: &mut ClusterCtx<'_>) {
        ctx.latency = self.control.api.latency();
        action(self, ctx);
        self.finish(ctx);
    }

    /// Hosts or paths have changed.
    pub fn network_changed(&mut self, ctx: &mut ClusterCtx<'_>) {
        ctx.latency = self.control.api.latency();
        for kubelet in self.kubelets.values_mut() {
            kubelet.network_changed(&self.store, ctx);
        }
        self.control.power_changed(ctx);
        self.control.api.refresh(ctx);
        self.access_changed(ctx);
        for shoot in self.druid.uploads() {
            self.enqueue(ControllerKind::Gardenlet, shoot, ctx);
        }
        self.finish(ctx);
    }

    /// Members of an etcd cluster that are its pods have started or stopped.
    pub fn members_changed(&mut self, cluster: EtcdId, set: WorkloadId, ctx: &mut ClusterCtx<'_>) {
        ctx.latency = self.control.api.latency();
        for node in self.store.nodes_of_members(cluster) {
            if let Some(kubelet) = self.kubelets.get_mut(&node) {
                kubelet.members_changed(cluster, &mut self.store, ctx);
            }
        }
        self.notify_druid(Some(set), ctx);
        self.finish(ctx);
    }

    /// Its etcd may offer other services than before.
    pub fn services_changed(&mut self, ctx: &mut ClusterCtx<'_>) {
        ctx.latency = self.control.api.latency();
        if self.control.api.refresh(ctx) {
            self.access_changed(ctx);
            self.finish(ctx);
        }
    }

    /// Hears of a process that serves its API or acts through it.
    pub fn process_changed(&mut self, status: &ProcessStatus, ctx: &mut ClusterCtx<'_>) {
        ctx.latency = self.control.api.latency();
        if let ProcessChange::Ready(ready) = status.process {
            for kubelet in self.kubelets.values_mut() {
                kubelet.probed(PodId(status.key), ready, &mut self.store, ctx);
            }
        } else {
            self.control.process_changed(status, ctx);
            self.access_changed(ctx);
        }
        self.finish(ctx);
    }

    /// Hears of one that was there before the start.
    pub fn is_served_by(&mut self, status: &ProcessStatus, ctx: &mut ClusterCtx<'_>) {
        self.control.process_changed(status, ctx);
    }

    /// From a write until those who watch hear of it.
    #[cfg(test)]
    pub(super) const fn latency(&self) -> crate::kernel::time::Duration {
        self.control.api.latency()
    }

    /// Others than before may get answers from the API, or later.
    fn access_changed(&mut self, ctx: &mut ClusterCtx<'_>) {
        // What was seen until now was seen as it was until now.
        if self.is_open(Component::ControllerManager) {
            self.lifecycle.catch_up(&self.kubelets, ctx);
        }
        self.control.access_changed(ctx);
        ctx.latency = self.control.api.latency();
        for kubelet in self.kubelets.values_mut() {
            kubelet.look(&self.control.api, &self.store, ctx);
        }
        self.lifecycle.reach_changed();
    }
}
