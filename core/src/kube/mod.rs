//! Kubernetes: the controllers that keep pods running, each with its own timers and its own view of the world.
//!
//! ```text
//!  etcd, hosts, paths --> API servers --> leases --> gate      (control: api, election)
//!                             |                       |
//!                             v                       v only who leads and can write acts
//!  faults --> kubelets: leases, processes <--.    controllers
//!                             |              |        |
//!                             v              |        v
//!             [store: nodes, pods] --changes-'----> those who watch: lifecycle, taint manager, ReplicaSets, scheduler
//!                             ^                       |
//!                             '-----------------------'
//! ```
//!
//! A [`plane`] is one Kubernetes API with its store of objects and the controllers that act through it. Whoever changes an object
//! leaves a [`store::Change`]; those who watch hear of it as much later as the API takes to write ([`context::Cx::latency`]), and change
//! what they must. [`rule`] holds the decisions themselves, as functions of what a controller sees: no time, no events, no store.
//!
//! The programs of a plane run on the hosts of its control plane, or are pods of another plane, which tells of them
//! ([`context::Signal`], by [`spec::Role`]). No request is simulated: [`api`] asks the state of etcd and of the paths what a request
//! made now would meet, whenever one of them has changed.
//!
//! # The gate
//!
//! Every controller is part of a [`spec::Component`], of which one process leads ([`election`]). [`plane::Plane::gate`] is all that
//! anybody asks: how long a write of that component takes now, or `None`: it does nothing. A new controller is gated so:
//!
//! - what it hears of: a [`event::Watcher`] that names its component ([`event::Watcher::component`]). While the gate is closed its keys
//!   wait, and are worked on when it opens; under another leader all keys are (`Plane::begin`);
//! - what it does on its own: its `arm` is told whether it acts, and queues nothing while it does not (`Plane::arm`);
//! - what it holds in memory: it forgets that in `Plane::begin`. What is in the store stays.

pub mod api;
pub mod claim;
pub mod context;
pub mod control;
pub mod controller;
pub mod election;
pub mod event;
pub mod failback;
pub mod glance;
pub mod kubelet;
pub mod node;
pub mod picture;
pub mod plane;
pub mod record;
pub mod revision;
pub mod rule;
pub mod services;
pub mod store;
#[cfg(test)]
mod tests;
pub mod words;

pub use crate::scenario::kube as spec;
pub use crate::scenario::kube::name;

use std::collections::BTreeMap;

use crate::gardener::garden::Garden;
use crate::ids::{ClusterId, PlaneId, SeedId, WorkloadId, ZoneId};
use crate::kernel::time::Time;
use crate::network::HostId;
use crate::network::Network;
use crate::report::FailbackReport;
use crate::scenario::Scenario;
use crate::sim::Exact;
use context::{Cx, Signal, Surroundings};
use event::KubeEvent;
use glance::PlanePicture;
use picture::Objects;
use plane::Plane;
use services::Services;
use spec::{Operation, Role};

/// All planes.
#[derive(Clone, Debug)]
pub struct Kube {
    seed: u64,
    exact: Exact,
    planes: Vec<Plane>,
    /// Whose objects are in which etcd cluster.
    in_etcd: BTreeMap<ClusterId, Vec<PlaneId>>,
    /// Where the members of an etcd cluster are pods, or may be.
    hosts: BTreeMap<ClusterId, Vec<(PlaneId, WorkloadId)>>,
    garden: Garden,
    services: Services,
}

impl Kube {
    /// Every plane settled: its pods placed and ready, where there is room. A plane comes after those whose pods serve it.
    pub fn new(seed: u64, exact: Exact, at: &mut Surroundings<'_>) -> Self {
        let specs = &at.scenario.kube.planes;
        let mut in_etcd: BTreeMap<_, Vec<_>> = BTreeMap::new();
        let mut hosts: BTreeMap<_, Vec<_>> = BTreeMap::new();
        for (id, plane) in (0..).map(PlaneId).zip(specs) {
            in_etcd.entry(plane.etcd).or_default().push(id);
            for (workload, spec) in (0..).map(WorkloadId).zip(&plane.workloads) {
                if let Role::Etcd(cluster) = spec.role {
                    hosts.entry(cluster).or_default().push((id, workload));
                }
            }
        }
        let garden = Garden::new(&at.scenario.kube);
        let mut kube = Self { seed, exact, planes: Vec::new(), in_etcd, hosts, garden, services: Services::default() };
        let mut signals = Vec::new();
        for id in (0..specs.len() as u16).map(PlaneId) {
            let plane = Plane::new(&mut cx(seed, exact, id, at, (&mut kube.garden, &mut kube.services), &mut signals));
            kube.planes.push(plane);
        }
        for signal in std::mem::take(&mut signals) {
            let mut cx = cx(seed, exact, signal.plane, at, (&mut kube.garden, &mut kube.services), &mut signals);
            kube.planes[signal.plane.0 as usize].is_served_by(&signal, &mut cx);
        }
        for id in (0..specs.len() as u16).map(PlaneId) {
            kube.with(id, at, Plane::start);
        }
        kube
    }

    /// Something is due in a plane.
    pub fn handle(&mut self, plane: PlaneId, event: KubeEvent, at: &mut Surroundings<'_>) {
        self.with(plane, at, |plane, cx| plane.handle(event, cx));
    }

    /// An operator asks for something.
    pub fn operate(&mut self, operation: &Operation, at: &mut Surroundings<'_>) {
        self.with(operation.plane, at, |plane, cx| plane.operate(operation.task, cx));
    }

    /// A plane.
    pub fn plane(&self, id: PlaneId) -> &Plane {
        &self.planes[id.0 as usize]
    }

    /// The seed that is to host a shoot (its place in [`KubeModel::shoots`](spec::KubeModel::shoots)).
    pub fn seed_of(&self, shoot: u16) -> Option<SeedId> {
        self.garden.shoot(shoot).seed
    }

    /// The name of the node that stands for a host.
    pub fn node_name(&self, host: HostId, scenario: &Scenario) -> Option<String> {
        let mut nodes = self
            .planes
            .iter()
            .zip(&scenario.kube.planes)
            .flat_map(|(plane, spec)| plane.store().nodes().map(move |(_, node)| (node.host, node.name, spec)));
        nodes.find(|(on, ..)| *on == host).map(|(_, name, spec)| words::node_name(name, spec, scenario))
    }

    /// The objects of all planes.
    pub fn objects(&self, now: Time, scenario: &Scenario) -> Objects {
        let mut all = Objects::default();
        for (id, plane) in (0..).map(PlaneId).zip(&self.planes) {
            plane.picture(id, now, scenario, &mut all);
        }
        all
    }

    /// What is skewed now that some zones are back.
    pub fn failback(&self, back: &[ZoneId], scenario: &Scenario) -> Vec<FailbackReport> {
        let mut all = Vec::new();
        for (plane, spec) in self.planes.iter().zip(&scenario.kube.planes).filter(|_| !back.is_empty()) {
            plane.failback(spec, scenario, back, &mut all);
        }
        all
    }

    /// The objects of all planes, for a map.
    pub fn glance(&self, scenario: &Scenario, net: &Network) -> Vec<PlanePicture> {
        self.planes.iter().zip(&scenario.kube.planes).map(|(plane, spec)| plane.glance(spec, net)).collect()
    }

    /// Hosts or paths have changed.
    pub fn network_changed(&mut self, at: &mut Surroundings<'_>) {
        for plane in (0..self.planes.len() as u16).map(PlaneId) {
            self.with(plane, at, Plane::network_changed);
        }
    }

    /// Does something to a plane.
    #[cfg(test)]
    pub(crate) fn act(&mut self, plane: PlaneId, deed: impl FnOnce(&mut Plane, &mut Cx<'_>), at: &mut Surroundings<'_>) {
        self.with(plane, at, |plane, cx| plane.act(deed, cx));
    }

    /// A cluster may offer other services than before, or its members' processes may have started or ended.
    pub fn services_changed(&mut self, cluster: ClusterId, at: &mut Surroundings<'_>) {
        for (host, set) in self.hosts.get(&cluster).cloned().unwrap_or_default() {
            self.with(host, at, |plane, cx| plane.members_changed(cluster, set, cx));
        }
        for plane in self.in_etcd.get(&cluster).cloned().unwrap_or_default() {
            self.with(plane, at, Plane::services_changed);
        }
    }

    /// A plane hears of a process.
    #[cfg(test)]
    pub(crate) fn hear(&mut self, signal: &Signal, at: &mut Surroundings<'_>) {
        self.with(signal.plane, at, |plane, cx| plane.hear(signal, cx));
    }

    /// Does something in a plane, and in those that hear of it.
    fn with(&mut self, plane: PlaneId, at: &mut Surroundings<'_>, act: impl FnOnce(&mut Plane, &mut Cx<'_>)) {
        let mut signals = Vec::new();
        let (seed, exact, garden, services) = (self.seed, self.exact, &mut self.garden, &mut self.services);
        act(&mut self.planes[plane.0 as usize], &mut cx(seed, exact, plane, at, (garden, services), &mut signals));
        while !signals.is_empty() {
            for signal in std::mem::take(&mut signals) {
                let mut cx = cx(seed, exact, signal.plane, at, (garden, services), &mut signals);
                self.planes[signal.plane.0 as usize].hear(&signal, &mut cx);
            }
        }
    }
}

fn cx<'a>(
    seed: u64,
    exact: Exact,
    plane: PlaneId,
    at: &'a mut Surroundings<'_>,
    (garden, services): (&'a mut Garden, &'a mut Services),
    signals: &'a mut Vec<Signal>,
) -> Cx<'a> {
    let spec = &at.scenario.kube.planes[plane.0 as usize];
    let (scenario, latency) = (at.scenario, spec.timers.api_overhead);
    Cx {
        now: at.now,
        plane,
        spec,
        scenario,
        latency,
        seed,
        exact,
        net: at.net,
        etcd: at.etcd,
        cloud: at.cloud,
        garden,
        services,
        fx: at.fx,
        signals,
    }
}
