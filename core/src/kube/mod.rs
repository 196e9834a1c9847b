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
//! A [`cluster`] is one Kubernetes API with its store of objects and the controllers that act through it. Whoever changes an object
//! leaves a [`store::Change`]; those who watch hear of it as much later as the API takes to write ([`context::Cx::latency`]), and change
//! what they must. [`rule`] holds the decisions themselves, as functions of what a controller sees: no time, no events, no store.
//!
//! The programs of a plane run on the hosts of its control plane, or are pods of another plane, which tells of them
//! ([`context::Signal`], by [`spec::Role`]). No request is simulated: [`api`] asks the state of etcd and of the paths what a request
//! made now would meet, whenever one of them has changed.
//!
//! # The gate
//!
//! Every controller is part of a [`spec::Component`], of which one process leads ([`election`]). [`cluster::Plane::gate`] is all that
//! anybody asks: how long a write of that component takes now, or `None`: it does nothing. A new controller is gated so:
//!
//! - what it hears of: a [`event::Watcher`] that names its component ([`event::Watcher::component`]). While the gate is closed its keys
//!   wait, and are worked on when it opens; under another leader all keys are (`Plane::begin`);
//! - what it does on its own: its `arm` is told whether it acts, and queues nothing while it does not (`Plane::arm`);
//! - what it holds in memory: it forgets that in `Plane::begin`. What is in the store stays.

pub mod api;
pub mod claim;
pub mod cluster;
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
use crate::ids::{EtcdId, KubeClusterId, SeedId, WorkloadId, ZoneId};
use crate::kernel::time::Time;
use crate::network::HostId;
use crate::network::Network;
use crate::report::FailbackReport;
use crate::scenario::Scenario;
use crate::sim::Exact;
use cluster::Plane;
use context::{Cx, Signal, Surroundings};
use event::KubeEvent;
use glance::PlanePicture;
use picture::Objects;
use services::Services;
use spec::{Operation, Role};

/// All planes.
#[derive(Clone, Debug)]
pub struct Kube {
    seed: u64,
    exact: Exact,
    clusters: Vec<Plane>,
    /// Whose objects are in which etcd cluster.
    in_etcd: BTreeMap<EtcdId, Vec<KubeClusterId>>,
    /// Where the members of an etcd cluster are pods, or may be.
    hosts: BTreeMap<EtcdId, Vec<(KubeClusterId, WorkloadId)>>,
    garden: Garden,
    services: Services,
}

impl Kube {
    /// Every plane settled: its pods placed and ready, where there is room. A plane comes after those whose pods serve it.
    pub fn new(seed: u64, exact: Exact, at: &mut Surroundings<'_>) -> Self {
        let specs = &at.scenario.kube.clusters;
        let mut in_etcd: BTreeMap<_, Vec<_>> = BTreeMap::new();
        let mut hosts: BTreeMap<_, Vec<_>> = BTreeMap::new();
        for (id, cluster) in (0..).map(KubeClusterId).zip(specs) {
            in_etcd.entry(cluster.etcd).or_default().push(id);
            for (workload, spec) in (0..).map(WorkloadId).zip(&cluster.workloads) {
                if let Role::Etcd(etcd) = spec.role {
                    hosts.entry(etcd).or_default().push((id, workload));
                }
            }
        }
        let garden = Garden::new(&at.scenario.kube);
        let mut kube = Self { seed, exact, clusters: Vec::new(), in_etcd, hosts, garden, services: Services::default() };
        let mut signals = Vec::new();
        for id in (0..specs.len() as u16).map(KubeClusterId) {
            let cluster = Plane::new(&mut cx(seed, exact, id, at, (&mut kube.garden, &mut kube.services), &mut signals));
            kube.clusters.push(cluster);
        }
        for signal in std::mem::take(&mut signals) {
            let mut cx = cx(seed, exact, signal.cluster, at, (&mut kube.garden, &mut kube.services), &mut signals);
            kube.clusters[signal.cluster.0 as usize].is_served_by(&signal, &mut cx);
        }
        for id in (0..specs.len() as u16).map(KubeClusterId) {
            kube.with(id, at, Plane::start);
        }
        kube
    }

    /// Something is due in a plane.
    pub fn handle(&mut self, cluster: KubeClusterId, event: KubeEvent, at: &mut Surroundings<'_>) {
        self.with(cluster, at, |cluster, cx| cluster.handle(event, cx));
    }

    /// An operator asks for something.
    pub fn operate(&mut self, operation: &Operation, at: &mut Surroundings<'_>) {
        self.with(operation.cluster, at, |cluster, cx| cluster.operate(operation.task, cx));
    }

    /// A plane.
    pub fn cluster(&self, id: KubeClusterId) -> &Plane {
        &self.clusters[id.0 as usize]
    }

    /// The seed that is to host a shoot (its place in [`KubeModel::shoots`](spec::KubeModel::shoots)).
    pub fn seed_of(&self, shoot: u16) -> Option<SeedId> {
        self.garden.shoot(shoot).seed
    }

    /// The name of the node that stands for a host.
    pub fn node_name(&self, host: HostId, scenario: &Scenario) -> Option<String> {
        let mut nodes = self
            .clusters
            .iter()
            .zip(&scenario.kube.clusters)
            .flat_map(|(cluster, spec)| cluster.store().nodes().map(move |(_, node)| (node.host, node.name, spec)));
        nodes.find(|(on, ..)| *on == host).map(|(_, name, spec)| words::node_name(name, spec, scenario))
    }

    /// The objects of all planes.
    pub fn objects(&self, now: Time, scenario: &Scenario) -> Objects {
        let mut all = Objects::default();
        for (id, cluster) in (0..).map(KubeClusterId).zip(&self.clusters) {
            cluster.picture(id, now, scenario, &mut all);
        }
        all
    }

    /// What is skewed now that some zones are back.
    pub fn failback(&self, back: &[ZoneId], scenario: &Scenario) -> Vec<FailbackReport> {
        let mut all = Vec::new();
        for (cluster, spec) in self.clusters.iter().zip(&scenario.kube.clusters).filter(|_| !back.is_empty()) {
            cluster.failback(spec, scenario, back, &mut all);
        }
        all
    }

    /// The objects of all planes, for a map.
    pub fn glance(&self, scenario: &Scenario, net: &Network) -> Vec<PlanePicture> {
        self.clusters.iter().zip(&scenario.kube.clusters).map(|(cluster, spec)| cluster.glance(spec, net)).collect()
    }

    /// Hosts or paths have changed.
    pub fn network_changed(&mut self, at: &mut Surroundings<'_>) {
        for cluster in (0..self.clusters.len() as u16).map(KubeClusterId) {
            self.with(cluster, at, Plane::network_changed);
        }
    }

    /// Does something to a plane.
    #[cfg(test)]
    pub(crate) fn act(&mut self, cluster: KubeClusterId, deed: impl FnOnce(&mut Plane, &mut Cx<'_>), at: &mut Surroundings<'_>) {
        self.with(cluster, at, |cluster, cx| cluster.act(deed, cx));
    }

    /// A cluster may offer other services than before, or its members' processes may have started or ended.
    pub fn services_changed(&mut self, etcd: EtcdId, at: &mut Surroundings<'_>) {
        for (host, set) in self.hosts.get(&etcd).cloned().unwrap_or_default() {
            self.with(host, at, |cluster, cx| cluster.members_changed(etcd, set, cx));
        }
        for cluster in self.in_etcd.get(&etcd).cloned().unwrap_or_default() {
            self.with(cluster, at, Plane::services_changed);
        }
    }

    /// A plane hears of a process.
    #[cfg(test)]
    pub(crate) fn hear(&mut self, signal: &Signal, at: &mut Surroundings<'_>) {
        self.with(signal.cluster, at, |cluster, cx| cluster.hear(signal, cx));
    }

    /// Does something in a plane, and in those that hear of it.
    fn with(&mut self, cluster: KubeClusterId, at: &mut Surroundings<'_>, act: impl FnOnce(&mut Plane, &mut Cx<'_>)) {
        let mut signals = Vec::new();
        let (seed, exact, garden, services) = (self.seed, self.exact, &mut self.garden, &mut self.services);
        act(&mut self.clusters[cluster.0 as usize], &mut cx(seed, exact, cluster, at, (garden, services), &mut signals));
        while !signals.is_empty() {
            for signal in std::mem::take(&mut signals) {
                let mut cx = cx(seed, exact, signal.cluster, at, (garden, services), &mut signals);
                self.clusters[signal.cluster.0 as usize].hear(&signal, &mut cx);
            }
        }
    }
}

fn cx<'a>(
    seed: u64,
    exact: Exact,
    cluster: KubeClusterId,
    at: &'a mut Surroundings<'_>,
    (garden, services): (&'a mut Garden, &'a mut Services),
    signals: &'a mut Vec<Signal>,
) -> Cx<'a> {
    let spec = &at.scenario.kube.clusters[cluster.0 as usize];
    let (scenario, latency) = (at.scenario, spec.timers.api_overhead);
    Cx {
        now: at.now,
        cluster,
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
