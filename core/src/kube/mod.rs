//! Kubernetes: the controllers that keep pods running, each with its own timers and its own view of the world.
//!
//! ```text
//!  faults --> hosts, paths --> kubelets: leases, processes <--.
//!                                 |                           |
//!                                 v                           |
//!  lifecycle --> taints --> [store: nodes, pods] --changes--> those who watch: taint manager, ReplicaSets, scheduler, kubelets
//!                                 ^                                                   |
//!                                 '---------------------------------------------------'
//! ```
//!
//! A [`plane`] is one Kubernetes API with its store of objects and the controllers that act through it. Whoever changes an object
//! leaves a [`store::Change`]; those who watch hear of it a little later and change what they must. [`rule`] holds the decisions
//! themselves, as functions of what a controller sees: no time, no events, no store.
//!
//! An API is served while one of its control plane's hosts is within reach; its controllers always run. No scenario file can ask for a
//! plane yet.

pub mod api;
pub mod context;
pub mod control;
pub mod controller;
pub mod election;
pub mod event;
pub mod kubelet;
pub mod plane;
pub mod record;
pub mod rule;
pub mod store;
#[cfg(test)]
mod tests;
mod words;

pub use crate::scenario::kube as spec;
pub use crate::scenario::kube::name;

use std::collections::BTreeMap;

use crate::ids::{ClusterId, PlaneId};
use crate::sim::Exact;
use context::{Cx, Signal, Surroundings};
use event::KubeEvent;
use plane::Plane;

/// All planes.
#[derive(Clone, Debug)]
pub struct Kube {
    seed: u64,
    exact: Exact,
    planes: Vec<Plane>,
    /// Whose objects are in which etcd cluster.
    in_etcd: BTreeMap<ClusterId, Vec<PlaneId>>,
}

impl Kube {
    /// Every plane settled: its pods placed and ready, where there is room. A plane comes after those whose pods serve it.
    pub fn new(seed: u64, exact: Exact, at: &mut Surroundings<'_>) -> Self {
        let specs = &at.scenario.kube.planes;
        let mut in_etcd: BTreeMap<_, Vec<_>> = BTreeMap::new();
        for (id, plane) in (0..).map(PlaneId).zip(specs) {
            in_etcd.entry(plane.etcd).or_default().push(id);
        }
        let mut kube = Self { seed, exact, planes: Vec::new(), in_etcd };
        let mut signals = Vec::new();
        for id in (0..specs.len() as u16).map(PlaneId) {
            let plane = Plane::new(&mut cx(seed, exact, id, at, &mut signals));
            kube.planes.push(plane);
        }
        for signal in std::mem::take(&mut signals) {
            let mut cx = cx(seed, exact, signal.plane, at, &mut signals);
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

    /// A plane.
    pub fn plane(&self, id: PlaneId) -> &Plane {
        &self.planes[id.0 as usize]
    }

    /// Hosts or paths have changed.
    pub fn network_changed(&mut self, at: &mut Surroundings<'_>) {
        for plane in (0..self.planes.len() as u16).map(PlaneId) {
            self.with(plane, at, Plane::network_changed);
        }
    }

    /// A cluster may offer other services than before.
    pub fn services_changed(&mut self, cluster: ClusterId, at: &mut Surroundings<'_>) {
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
        act(&mut self.planes[plane.0 as usize], &mut cx(self.seed, self.exact, plane, at, &mut signals));
        while !signals.is_empty() {
            for signal in std::mem::take(&mut signals) {
                let mut cx = cx(self.seed, self.exact, signal.plane, at, &mut signals);
                self.planes[signal.plane.0 as usize].hear(&signal, &mut cx);
            }
        }
    }
}

fn cx<'a>(seed: u64, exact: Exact, plane: PlaneId, at: &'a mut Surroundings<'_>, signals: &'a mut Vec<Signal>) -> Cx<'a> {
    let spec = &at.scenario.kube.planes[plane.0 as usize];
    let (scenario, latency) = (at.scenario, spec.timers.api_overhead);
    Cx { now: at.now, plane, spec, scenario, latency, seed, exact, net: at.net, etcd: at.etcd, fx: at.fx, signals }
}
