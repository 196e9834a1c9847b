//! The gate in front of a plane's controllers: who leads and can write acts; work that came meanwhile waits, and a new leader begins
//! with everything.

use super::Plane;
use crate::ids::WorkloadId;
use crate::kernel::time::Duration;
use crate::kube::context::Cx;
use crate::kube::event::{KubeEvent, Watcher};
use crate::kube::record::KubeRecord;
use crate::kube::spec::{Component, KubeClusterSpec, Role, Workload};

impl Plane {
    /// The gate that all work of controllers passes: how long a write of a component takes now. `None`: none of its processes leads, or
    /// the one that does cannot write, so that it does nothing.
    pub fn gate(&self, component: Component) -> Option<Duration> {
        self.control.gate(component)
    }

    pub(super) const fn is_open(&self, component: Component) -> bool {
        self.open[component as usize]
    }

    /// What follows from anything that has happened.
    pub(super) fn finish(&mut self, cx: &mut Cx<'_>) {
        for component in Component::ALL {
            self.follow_gate(component, cx);
        }
        self.druid.acts_from(self.control.host(Component::Druid), cx);
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
                self.collector.forget(cx);
                self.hints.begin(&self.store);
                self.lifecycle.begin(&mut self.store, &self.kubelets, cx);
            }
            Component::Scheduler => self.scheduler.begin(&self.store, cx.now + cx.latency),
            Component::MachineControllerManager | Component::Autoscaler | Component::Gardenlet | Component::Druid => {}
        }
        for watcher in Watcher::ALL.into_iter().filter(|watcher| watcher.component() == Some(component)) {
            for key in self.keys_of(watcher, cx) {
                self.tell(watcher, key, cx);
            }
        }
    }

    /// Everything that a watcher looks after.
    fn keys_of(&self, watcher: Watcher, cx: &Cx<'_>) -> Vec<u32> {
        let workloads = |its: &dyn Fn(&Workload) -> bool| {
            (0..).zip(&cx.spec.workloads).filter(|(_, workload)| its(workload)).map(|(key, _)| key).collect()
        };
        match watcher {
            Watcher::Lifecycle | Watcher::Evict | Watcher::Kubelets | Watcher::Machines => {
                self.store.nodes().map(|(node, _)| node.0).collect()
            }
            Watcher::ReplicaSets | Watcher::StatefulSets | Watcher::DaemonSets => {
                workloads(&|workload| Watcher::of(workload.kind) == watcher)
            }
            Watcher::Volumes => workloads(&|workload| workload.volume.is_some()),
            Watcher::Budgets => self.with_budgets(cx),
            Watcher::Endpoints => workloads(&|workload| has_endpoints(workload, cx.spec)),
            Watcher::Topology => Vec::new(),
            Watcher::MachineSets => (0..cx.spec.machine_deployments.len() as u32).collect(),
            Watcher::Druid | Watcher::Gardenlet => self.druid.shoots().collect(),
        }
    }

    fn with_budgets(&self, cx: &Cx<'_>) -> Vec<u32> {
        let has = |id: &u32| self.store.template(WorkloadId(*id), cx.spec).max_unavailable.is_some();
        (0..cx.spec.workloads.len() as u32).filter(has).collect()
    }

    fn resume(&mut self, component: Component, cx: &mut Cx<'_>) {
        for watcher in Watcher::ALL.into_iter().filter(|watcher| watcher.component() == Some(component)) {
            if std::mem::take(&mut self.parked[watcher as usize]) {
                cx.schedule(cx.now, KubeEvent::Work(watcher));
            }
        }
        if component == Component::ControllerManager {
            for event in std::mem::take(&mut self.late) {
                cx.schedule(cx.now, event);
            }
        }
    }

    fn arm(&mut self, cx: &mut Cx<'_>) {
        let manages = self.is_open(Component::ControllerManager);
        self.lifecycle.arm(manages, &self.store, &self.kubelets, cx);
        self.evictions.arm(manages, cx);
        self.collector.arm(manages, cx);
        self.scheduler.arm(self.is_open(Component::Scheduler), cx);
        let machines = self.is_open(Component::MachineControllerManager);
        self.machines.api_served(machines, cx);
        self.machines.arm(machines, cx);
        self.care.arm(self.is_open(Component::Gardenlet), cx);
        self.autoscaler.arm(self.is_open(Component::Autoscaler), &self.store, self.machines.fleet(), cx);
        if self.outages.arm(&self.store, self.machines.fleet(), cx) {
            self.tell_druid(None, cx);
        }
        self.control.arm(cx);
    }
}

/// Whether its endpoints matter to anybody: to those who dial etcd, or to topology hints.
pub(super) fn has_endpoints(workload: &Workload, cluster: &KubeClusterSpec) -> bool {
    matches!(workload.role, Role::Etcd(_)) || cluster.routing.hints && matches!(workload.role, Role::ApiServer(_))
}
