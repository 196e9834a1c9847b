//! One Kubernetes cluster: its objects, its controllers and the kubelets that report to its API.

mod gate;
mod work_queue;

use std::any::{Any, TypeId};

use crate::api::Api;
use crate::control::{ApiServerHold, Control};
use crate::controller::daemon::DaemonSets;
use crate::controller::disruption::Budgets;
use crate::controller::endpoint_slices::EndpointSlices;
use crate::controller::endpoints::Endpoints;
use crate::controller::replicas::ReplicaSets;
use crate::controller::scheduler::Scheduler;
use crate::controller::stateful::StatefulSets;
use crate::controller::{Controller, Factory, State};
use crate::controller::{add_nodes, descheduler, drain};
use crate::ctx::{ApiClient, ClusterCtx, ProcessChange, ProcessStatus};
use crate::event::KubeEvent;
use crate::kubelet::Kubelet;
use crate::name::PodName;
use crate::record::{KubeRecord, Verb};
use crate::spec::taints::Effect;
use crate::spec::{Component, Kind, NodesAdded, Task, Workload, ZonalShift};
use crate::store::{Change, Store};
use work_queue::Slot;
use zonefall_network::HostId;
use zonefall_scenario::ids::{EtcdId, NodeKey, PodId, WorkloadId, ZoneId};

/// A Kubernetes cluster.
#[derive(Clone, Debug)]
pub struct KubeCluster {
    control: Control,
    state: State,
    /// Its controllers by their place in the table.
    slots: Vec<Option<Slot>>,
    /// Timers that have fired while the gate of their controller was closed, and fire again when it opens.
    deferred_events: Vec<KubeEvent>,
    /// Components that lead and can write, as they were last seen.
    open: [bool; Component::ALL.len()],
    /// The leader that each component's memory is of.
    terms: [u64; Component::ALL.len()],
}

impl KubeCluster {
    /// A cluster that has been running for long: its pods are placed, one after the other as the scheduler would, and ready.
    /// Not started yet.
    pub fn new(table: &[Factory], ctx: &mut ClusterCtx<'_>) -> Self {
        let spec = ctx.spec;
        let control = Control::new(ctx);
        ctx.latency = control.api.latency();
        let store = Store::new(ctx);
        let kubelets = store.nodes().map(|(key, node)| (key, Kubelet::new(key, node.host, ctx))).collect();
        let (switched_on, switched_off) = (Vec::new(), Vec::new());
        let state = State { store, kubelets, switched_on, switched_off, leaders: Default::default() };
        let slots = (0..).zip(table).map(|(place, factory)| {
            ctx.controller = place;
            let has = |component| spec.components.contains(&component);
            factory(&state, ctx).filter(|controller| controller.component().is_none_or(has)).map(Slot::new)
        });
        let slots: Vec<Option<Slot>> = slots.collect();
        let mut state = state;
        state.store.webhooks = slots.iter().flatten().filter_map(|slot| slot.controller.webhook(ctx)).collect();
        let mut cluster =
            Self { control, state, slots, deferred_events: Vec::new(), open: Default::default(), terms: Default::default() };
        cluster.place_given(ctx);
        cluster.place_desired(ctx);
        let workloads = || spec.workloads.keys();
        for workload in workloads() {
            cluster.with::<Budgets>(|budgets, state| budgets.reconcile(0, workload.0, state, ctx));
        }
        for k in 0..spec.budgets.len() as u32 {
            cluster.with::<Budgets>(|budgets, state| budgets.reconcile(1, k, state, ctx));
        }
        for k in 0..spec.services.len() as u32 {
            cluster.with::<EndpointSlices>(|slices, state| slices.reconcile(0, k, state, ctx));
        }
        cluster.with::<Endpoints>(|endpoints, state| {
            endpoints.forget(state, ctx);
            workloads().for_each(|workload| endpoints.hints.sync(workload, &state.store, ctx));
        });
        cluster
    }

    /// All that makes it work is there: its leaders have led for long.
    pub fn start(&mut self, ctx: &mut ClusterCtx<'_>) {
        self.control.start_warm(ctx);
        for component in Component::ALL {
            self.terms[component as usize] = self.control.term(component);
            self.open[component as usize] = self.gate(component).is_some();
        }
        self.access_changed(ctx);
        // Of these some are where no node can attach them.
        for (workload, _) in ctx.spec.workloads.iter_enumerated().filter(|(_, workload)| workload.uses_disk()) {
            for name in self.state.store.claims_of(workload) {
                self.state.store.note(Change::Volume(name));
            }
        }
        self.finish(ctx);
    }

    /// The scenario's own pods are where it says.
    fn place_given(&mut self, ctx: &mut ClusterCtx<'_>) {
        for (workload, spec) in ctx.spec.workloads.iter_enumerated() {
            for (tag, node) in &spec.placed {
                let pod = self.state.store.create_placed_pod(PodName { workload, tag: *tag }, 0, ctx);
                self.state.store.bind(pod, *node, ctx);
                self.state.start_warm(pod, *node, ctx);
            }
        }
        self.state.store.take_changes();
    }

    /// Workloads have the pods that they are to have: placed, one after the other, where there is a node for them.
    fn place_desired(&mut self, ctx: &mut ClusterCtx<'_>) {
        loop {
            for workload in ctx.spec.workloads.keys() {
                self.reconcile(workload, ctx);
            }
            let changes = self.state.store.take_changes();
            if changes.is_empty() {
                return;
            }
            self.place_all(changes, ctx);
        }
    }

    /// A zone is lost, and all that follows from it has happened: its nodes take no more pods, those that were there are deleted, and what
    /// replaces them is placed. StatefulSets that are listed with a template have it from now on, and their volumes in the zone are deleted.
    pub fn lose_zone(&mut self, zone: ZoneId, moves: Vec<(WorkloadId, Workload)>, ctx: &mut ClusterCtx<'_>) {
        let store = &mut self.state.store;
        for (set, template) in moves {
            for name in store.claims_of(set) {
                if store.claim(name).is_some_and(|claim| claim.home == zone) {
                    store.delete_claim(name, ctx);
                }
            }
            store.set_template(set, template, ctx.spec);
        }
        let lost: Vec<NodeKey> = store.nodes().filter(|(_, node)| node.zone == zone).map(|(key, _)| key).collect();
        for node in lost {
            store.set_unreachable(node, Effect::NoSchedule, true, ctx);
            for pod in store.node(node).pods.clone() {
                store.terminate(pod, ctx);
                store.remove(pod, ctx);
            }
        }
        self.place_desired(ctx);
    }

    /// Pods that were created are placed and have been ready for long.
    fn place_all(&mut self, changes: Vec<Change>, ctx: &mut ClusterCtx<'_>) {
        let created = changes.into_iter().filter_map(|change| match change {
            Change::Created(pod) => Some(pod),
            _ => None,
        });
        for pod in created {
            self.with::<Scheduler>(|scheduler, state| scheduler.place_warm(pod, state, ctx));
        }
        self.state.store.take_changes();
    }

    /// The controller of a workload's pods looks after them.
    fn reconcile(&mut self, workload: WorkloadId, ctx: &mut ClusterCtx<'_>) {
        let key = workload.0;
        match ctx.spec.workloads[workload].kind {
            Kind::Deployment => self.with::<ReplicaSets>(|sets, state| sets.reconcile(0, key, state, ctx)),
            Kind::StatefulSet { .. } => self.with::<StatefulSets>(|sets, state| sets.reconcile(0, key, state, ctx)),
            Kind::DaemonSet => self.with::<DaemonSets>(|sets, state| sets.reconcile(0, key, state, ctx)),
        }
    }

    /// Does something with the controller of a type, where there is one.
    fn with<C: Controller>(&mut self, act: impl FnOnce(&mut C, &mut State)) {
        let mut controllers = self.slots.iter_mut().flatten().map(|slot| &mut *slot.controller as &mut dyn Any);
        if let Some(controller) = controllers.find_map(|controller| controller.downcast_mut::<C>()) {
            act(controller, &mut self.state);
        }
    }

    /// Its objects.
    pub fn store(&self) -> &Store {
        &self.state.store
    }

    /// Hosts with a kubelet that its API answers.
    pub fn kubelet_hosts(&self) -> impl Iterator<Item = HostId> {
        self.state.kubelets.values().filter_map(Kubelet::connected_from)
    }

    /// Its API servers.
    pub const fn api(&self) -> &Api {
        &self.control.api
    }

    /// The controller at a place in the table.
    pub fn controller(&self, place: u8) -> Option<&dyn Controller> {
        self.slots.get(usize::from(place))?.as_ref().map(|slot| &*slot.controller)
    }

    /// Does what is due.
    pub fn handle(&mut self, event: KubeEvent, ctx: &mut ClusterCtx<'_>) {
        debug_assert!(self.control.api.is_fresh(ctx), "etcd answers {} otherwise than it has told", ctx.spec.name);
        ctx.latency = self.control.api.latency();
        let State { store, kubelets, .. } = &mut self.state;
        match event {
            KubeEvent::Work { controller, queue } => self.work(controller, queue, ctx),
            KubeEvent::Due { controller, due } => self.due(controller, due, ctx),
            KubeEvent::Message { controller: place, message } => {
                self.at(place, ctx, |controller, state, ctx| controller.message(message, state, ctx));
            }
            KubeEvent::Renew { node, generation } => {
                if let Some(kubelet) = kubelets.get_mut(&node) {
                    kubelet.renew(generation, store, ctx);
                }
            }
            KubeEvent::Booted { node, generation } => {
                if let Some(kubelet) = kubelets.get_mut(&node) {
                    kubelet.booted(generation, &self.control.api, store, ctx);
                    store.note(Change::Access);
                }
            }
            KubeEvent::Process { node, pod, generation } => {
                if let Some(kubelet) = kubelets.get_mut(&node) {
                    kubelet.process(pod, generation, store, ctx);
                }
            }
            KubeEvent::Link { .. }
            | KubeEvent::Readiness { .. }
            | KubeEvent::Closes { .. }
            | KubeEvent::ApiServerExits { .. }
            | KubeEvent::ControlPlane { .. } => {
                self.control.handle(event, ctx);
                self.access_changed(ctx);
            }
            KubeEvent::Election { .. } => self.control.handle(event, ctx),
            KubeEvent::MachineRequested { deployment, number } => add_nodes::request_machine(deployment, number, ctx),
            KubeEvent::MachineCreated { deployment, number } => add_nodes::boot(deployment, number, &mut self.state, ctx),
            KubeEvent::Drain(node) => drain::drain(node, self.control.api.is_up(Verb::Write), store, ctx),
            KubeEvent::ShiftExpires => store.end_shift(ctx),
        }
        self.finish(ctx);
    }

    /// An operator asks for something. (It is written at once, whoever answers then; what follows from it waits for those who do it.)
    pub fn operate(&mut self, task: Task, ctx: &mut ClusterCtx<'_>) {
        let store = &mut self.state.store;
        if task.rolls().is_some_and(|workload| store.desired(workload) == 0) {
            // A shoot's, which another seed hosts.
            return;
        }
        ctx.latency = self.control.api.latency();
        let is_refused = match task {
            Task::RollBackComponent(workload) | Task::PauseRollout(workload) => store.revisions(workload).is_paused(),
            Task::ResumeRollout(workload) => !store.revisions(workload).is_paused(),
            // Nothing can be read, or nothing evicted.
            Task::Deschedule(_) => !self.control.api.is_up(Verb::Write),
            Task::ShiftZone(_) => store.shifted().is_some(),
            _ => false,
        };
        if is_refused {
            ctx.record(KubeRecord::OperationRefused(task));
            return;
        }
        ctx.record(KubeRecord::Operation(task));
        match task {
            Task::RollComponent(workload) => store.roll(workload, ctx),
            Task::RollBackComponent(workload) => store.roll_back(workload, ctx),
            Task::PauseRollout(workload) => store.pause_rollout(workload, true),
            Task::ResumeRollout(workload) => store.pause_rollout(workload, false),
            Task::DrainNode(node) => drain::drain(node, self.control.api.is_up(Verb::Write), store, ctx),
            Task::RollMachines(deployment) => store.machines.roll(deployment, ctx),
            Task::AddHost(place) => self.control.add_host(place, ctx),
            Task::RemoveHost(place) => {
                self.control.remove_host(place, ctx);
                self.access_changed(ctx);
            }
            Task::ScaleWorkload(scale) => store.set_desired(scale.workload, scale.replicas),
            Task::AddNodes(NodesAdded { deployment, count }) => {
                (0..count).for_each(|number| add_nodes::request_machine(deployment, number, ctx));
            }
            Task::Deschedule(schedule_anyway) => drop(descheduler::run(schedule_anyway, store, ctx)),
            Task::ShiftZone(ZonalShift { zone, lasts }) => {
                store.start_shift(zone, ctx);
                ctx.schedule(ctx.now + lasts, KubeEvent::ShiftExpires);
            }
        }
        self.finish(ctx);
    }

    /// Its controller of a type.
    #[cfg(feature = "testing")]
    pub fn get<C: Controller>(&self) -> &C {
        let mut controllers = self.slots.iter().flatten().map(|slot| &*slot.controller as &dyn Any);
        controllers.find_map(|controller| controller.downcast_ref::<C>()).expect("the table has it")
    }

    /// Its objects and kubelets.
    #[cfg(feature = "testing")]
    pub const fn state(&self) -> &State {
        &self.state
    }

    /// Its objects, to be changed in [`KubeCluster::act`].
    #[cfg(feature = "testing")]
    pub fn store_mut(&mut self) -> &mut Store {
        &mut self.state.store
    }

    /// Something is done to it.
    #[cfg(feature = "testing")]
    pub fn act(&mut self, action: impl FnOnce(&mut Self, &mut ClusterCtx<'_>), ctx: &mut ClusterCtx<'_>) {
        ctx.latency = self.control.api.latency();
        action(self, ctx);
        self.finish(ctx);
    }

    /// Hosts or paths have changed.
    pub fn network_changed(&mut self, ctx: &mut ClusterCtx<'_>) {
        ctx.latency = self.control.api.latency();
        for kubelet in self.state.kubelets.values_mut() {
            kubelet.network_changed(&self.state.store, ctx);
        }
        self.control.power_changed(ctx);
        self.control.api.refresh(ctx);
        self.access_changed(ctx);
        self.state.store.note(Change::Network);
        self.finish(ctx);
    }

    /// Clients of its API may have another route.
    pub fn routes_changed(&mut self, ctx: &mut ClusterCtx<'_>) {
        ctx.latency = self.control.api.latency();
        self.access_changed(ctx);
        self.finish(ctx);
    }

    /// Delivers a message to a controller, whichever replica leads.
    pub fn send_message<C: Controller>(&mut self, message: u32, ctx: &mut ClusterCtx<'_>) {
        ctx.latency = self.control.api.latency();
        if let Some(place) = self.place_of(TypeId::of::<C>()) {
            self.at(place as u8, ctx, |controller, state, ctx| controller.message(message, state, ctx));
        }
        self.finish(ctx);
    }

    /// A fault of the API server on a control-plane host begins or ends.
    pub fn hold_api_server(&mut self, host: u32, hold: ApiServerHold, ctx: &mut ClusterCtx<'_>) {
        ctx.latency = self.control.api.latency();
        self.control.hold_api_server(host, hold, ctx);
        self.access_changed(ctx);
        self.finish(ctx);
    }

    /// Places of the hosts that are part of its control plane.
    pub fn hosts(&self) -> impl Iterator<Item = u32> {
        self.control.hosts()
    }

    /// Clients of its API that run, and their hosts.
    pub fn api_clients(&self) -> impl Iterator<Item = (ApiClient, HostId)> {
        let kubelets =
            self.state.kubelets.iter().filter_map(|(key, kubelet)| Some((ApiClient::Kubelet(*key), kubelet.runs_on()?)));
        kubelets.chain(self.control.candidates())
    }

    /// Members of an etcd cluster that are its pods have started or stopped.
    pub fn members_changed(&mut self, cluster: EtcdId, set: WorkloadId, ctx: &mut ClusterCtx<'_>) {
        ctx.latency = self.control.api.latency();
        let State { store, kubelets, .. } = &mut self.state;
        store.note(Change::Members(set));
        for node in store.nodes_of_members(cluster) {
            if let Some(kubelet) = kubelets.get_mut(&node) {
                kubelet.members_changed(cluster, store, ctx);
            }
        }
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

    /// Something has become of a process that serves its API or acts through it.
    pub fn process_changed(&mut self, status: &ProcessStatus, ctx: &mut ClusterCtx<'_>) {
        ctx.latency = self.control.api.latency();
        if let ProcessChange::Ready(ready) = status.process {
            for kubelet in self.state.kubelets.values_mut() {
                kubelet.probed(PodId(status.key), ready, &mut self.state.store, ctx);
            }
        } else {
            self.control.process_changed(status, ctx);
            self.access_changed(ctx);
        }
        self.finish(ctx);
    }

    /// A process was there before the start.
    pub fn is_served_by(&mut self, status: &ProcessStatus, ctx: &mut ClusterCtx<'_>) {
        self.control.process_changed(status, ctx);
    }

    /// From a write until those who watch are notified.
    #[cfg(feature = "testing")]
    pub const fn latency(&self) -> zonefall_kernel::time::Duration {
        self.control.api.latency()
    }

    /// Others than before may get answers from the API, or later.
    fn access_changed(&mut self, ctx: &mut ClusterCtx<'_>) {
        // What was seen until now was seen as it was until now.
        for place in 0..self.slots.len() as u8 {
            if self.acts(place) {
                self.at(place, ctx, |controller, state, ctx| controller.access_changes(state, ctx));
            }
        }
        self.control.access_changed(ctx);
        ctx.latency = self.control.api.latency();
        for kubelet in self.state.kubelets.values_mut() {
            kubelet.look(&self.control.api, &self.state.store, ctx);
        }
        self.state.store.note(Change::Access);
    }
}

impl State {
    /// A pod has been running on a node for long.
    pub(super) fn start_warm(&mut self, pod: PodId, node: zonefall_scenario::ids::NodeKey, ctx: &mut ClusterCtx<'_>) {
        let kubelet = self.kubelets.get_mut(&node).expect("every node of the start has a kubelet");
        kubelet.start_warm(pod, &mut self.store, ctx);
    }
}
