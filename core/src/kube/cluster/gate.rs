//! The gate in front of a plane's controllers: who leads and can write acts; work that came meanwhile waits, and a new leader begins
//! with everything.

use super::KubeCluster;
use crate::ids::WorkloadId;
use crate::kernel::time::Duration;
use crate::kube::ctx::ClusterCtx;
use crate::kube::event::{ControllerKind, KubeEvent};
use crate::kube::record::KubeRecord;
use crate::kube::spec::{Component, KubeClusterSpec, Role, Workload};

impl KubeCluster {
    /// The gate that all work of controllers passes: how long a write of a component takes now. `None`: none of its processes leads, or
    /// the one that does cannot write, so that it does nothing.
    pub fn gate(&self, component: Component) -> Option<Duration> {
        self.control.gate(component)
    }

    pub(super) const fn is_open(&self, component: Component) -> bool {
        self.open[component as usize]
    }

    /// What follows from anything that has happened.
    pub(super) fn finish(&mut self, ctx: &mut ClusterCtx<'_>) {
        for component in Component::ALL {
            self.follow_gate(component, ctx);
        }
        self.druid.acts_from(self.control.host(Component::Druid), ctx);
        self.notify_controllers(ctx);
        self.arm(ctx);
    }

    /// A gate may have opened: work that waited is done now. Behind it may stand somebody else, who remembers nothing.
    fn follow_gate(&mut self, component: Component, ctx: &mut ClusterCtx<'_>) {
        let (is_open, term) = (self.gate(component).is_some(), self.control.term(component));
        let was_open = std::mem::replace(&mut self.open[component as usize], is_open);
        if is_open != was_open {
            ctx.record(KubeRecord::ControllerActive(component, is_open));
        }
        if is_open && std::mem::replace(&mut self.terms[component as usize], term) != term {
            self.begin(component, ctx);
        } else if is_open && !was_open && component == Component::ControllerManager {
            self.lifecycle.go_on(&mut self.store, ctx);
        } else if was_open && !is_open && component == Component::ControllerManager {
            self.lifecycle.catch_up(&self.kubelets, ctx);
        }
        if is_open && !was_open {
            self.resume(component, ctx);
        }
    }

    /// A new leader lists all there is.
    fn begin(&mut self, component: Component, ctx: &mut ClusterCtx<'_>) {
        match component {
            Component::ControllerManager => {
                self.evictions.forget();
                self.collector.forget(ctx);
                self.hints.begin(&self.store);
                self.lifecycle.begin(&mut self.store, &self.kubelets, ctx);
            }
            Component::Scheduler => self.scheduler.begin(&self.store, ctx.now + ctx.latency),
            Component::MachineControllerManager | Component::Autoscaler | Component::Gardenlet | Component::Druid => {}
        }
        for controller in ControllerKind::ALL.into_iter().filter(|controller| controller.component() == Some(component)) {
            for key in self.keys_of(controller, ctx) {
                self.enqueue(controller, key, ctx);
            }
        }
    }

    /// Everything that a watcher looks after.
    fn keys_of(&self, controller: ControllerKind, ctx: &ClusterCtx<'_>) -> Vec<u32> {
        let workloads = |its: &dyn Fn(&Workload) -> bool| {
            (0..).zip(&ctx.spec.workloads).filter(|(_, workload)| its(workload)).map(|(key, _)| key).collect()
        };
        match controller {
            ControllerKind::Lifecycle | ControllerKind::Evict | ControllerKind::Kubelets | ControllerKind::Machines => {
                self.store.nodes().map(|(node, _)| node.0).collect()
            }
            ControllerKind::ReplicaSets | ControllerKind::StatefulSets | ControllerKind::DaemonSets => {
                workloads(&|workload| ControllerKind::of(workload.kind) == controller)
            }
            ControllerKind::Volumes => workloads(&|workload| workload.volume.is_some()),
            ControllerKind::Budgets => self.with_budgets(ctx),
            ControllerKind::Endpoints => workloads(&|workload| has_endpoints(workload, ctx.spec)),
            ControllerKind::Topology => Vec::new(),
            ControllerKind::MachineSets => (0..ctx.spec.machine_deployments.len() as u32).collect(),
            ControllerKind::Druid | ControllerKind::Gardenlet => self.druid.shoots().collect(),
        }
    }

    fn with_budgets(&self, ctx: &ClusterCtx<'_>) -> Vec<u32> {
        let has = |id: &u32| self.store.template(WorkloadId(*id), ctx.spec).max_unavailable.is_some();
        (0..ctx.spec.workloads.len() as u32).filter(has).collect()
    }

    fn resume(&mut self, component: Component, ctx: &mut ClusterCtx<'_>) {
        for controller in ControllerKind::ALL.into_iter().filter(|controller| controller.component() == Some(component)) {
            if std::mem::take(&mut self.deferred[controller as usize]) {
                ctx.schedule(ctx.now, KubeEvent::Work(controller));
            }
        }
        if component == Component::ControllerManager {
            for event in std::mem::take(&mut self.deferred_events) {
                ctx.schedule(ctx.now, event);
            }
        }
    }

    fn arm(&mut self, ctx: &mut ClusterCtx<'_>) {
        let manages = self.is_open(Component::ControllerManager);
        self.lifecycle.arm(manages, &self.store, &self.kubelets, ctx);
        self.evictions.arm(manages, ctx);
        self.collector.arm(manages, ctx);
        self.scheduler.arm(self.is_open(Component::Scheduler), ctx);
        let machines = self.is_open(Component::MachineControllerManager);
        self.machines.api_served(machines, ctx);
        self.machines.arm(machines, ctx);
        self.shoot_care.arm(self.is_open(Component::Gardenlet), ctx);
        self.autoscaler.arm(self.is_open(Component::Autoscaler), &self.store, self.machines.tables(), ctx);
        if self.outages.arm(&self.store, self.machines.tables(), ctx) {
            self.notify_druid(None, ctx);
        }
        self.control.arm(ctx);
    }
}

/// Whether its endpoints matter to anybody: to those who dial etcd, or to topology hints.
pub(super) fn has_endpoints(workload: &Workload, cluster: &KubeClusterSpec) -> bool {
    matches!(workload.role, Role::Etcd(_)) || cluster.routing.hints && matches!(workload.role, Role::ApiServer(_))
}
