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

pub mod claim;
pub mod context;
pub mod controller;
pub mod event;
pub mod kubelet;
pub mod node;
pub mod plane;
pub mod record;
pub mod rule;
pub mod store;
#[cfg(test)]
mod tests;
mod words;

pub use crate::scenario::kube as spec;
pub use crate::scenario::kube::name;

use crate::ids::{ClusterId, MemberId, PlaneId};
use crate::sim::Exact;
use crate::sim::event::MemberOrder;
use context::{Cx, ProcessState, Signal, Surroundings};
use event::KubeEvent;
use name::PodTag;
use plane::Plane;
use spec::Role;

/// All planes.
#[derive(Clone, Debug)]
pub struct Kube {
    seed: u64,
    exact: Exact,
    planes: Vec<Plane>,
}

impl Kube {
    /// Every plane settled: its pods placed and ready, where there is room.
    pub fn new(seed: u64, exact: Exact, at: &mut Surroundings<'_>) -> Self {
        let mut kube = Self { seed, exact, planes: Vec::new() };
        for plane in (0..at.scenario.kube.planes.len() as u16).map(PlaneId) {
            let mut cx = kube.cx(plane, at);
            let settled = Plane::new(&mut cx);
            pass_on(&mut cx);
            kube.planes.push(settled);
        }
        kube
    }

    /// Something is due in a plane.
    pub fn handle(&mut self, plane: PlaneId, event: KubeEvent, at: &mut Surroundings<'_>) {
        self.act(plane, |plane, cx| plane.handle(event, cx), at);
    }

    /// Something is done to a plane.
    pub fn act(&mut self, plane: PlaneId, deed: impl FnOnce(&mut Plane, &mut Cx<'_>), at: &mut Surroundings<'_>) {
        let mut cx = self.cx(plane, at);
        let plane = &mut self.planes[plane.0 as usize];
        deed(plane, &mut cx);
        plane.follow_up(&mut cx);
        pass_on(&mut cx);
    }

    /// A plane.
    pub fn plane(&self, id: PlaneId) -> &Plane {
        &self.planes[id.0 as usize]
    }

    /// Hosts or paths have changed.
    pub fn network_changed(&mut self, at: &mut Surroundings<'_>) {
        for plane in (0..self.planes.len() as u16).map(PlaneId) {
            self.act(plane, Plane::network_changed, at);
        }
    }

    /// Members of an etcd cluster have started or stopped.
    pub fn members_changed(&mut self, cluster: ClusterId, at: &mut Surroundings<'_>) {
        if at.scenario.etcd[cluster.0 as usize].managed {
            for plane in (0..self.planes.len() as u16).map(PlaneId) {
                self.act(plane, |plane, cx| plane.members_changed(cluster, cx), at);
            }
        }
    }

    fn cx<'a>(&self, plane: PlaneId, at: &'a mut Surroundings<'_>) -> Cx<'a> {
        let spec = &at.scenario.kube.planes[plane.0 as usize];
        Cx {
            now: at.now,
            plane,
            spec,
            seed: self.seed,
            exact: self.exact,
            net: at.net,
            etcd: at.etcd,
            cloud: at.cloud,
            fx: at.fx,
            signals: Vec::new(),
        }
    }
}

/// Tells those outside the plane what they want to hear of it.
fn pass_on(cx: &mut Cx<'_>) {
    for signal in std::mem::take(&mut cx.signals) {
        let Signal::Process { pod, role, host, state } = signal;
        if let (Role::Etcd(cluster), PodTag::Ordinal(ordinal)) = (role, pod.tag) {
            let member = MemberId { cluster, index: ordinal as u8 };
            cx.fx.orders.extend(match state {
                ProcessState::Starts => Some(MemberOrder::Run { member, host }),
                ProcessState::Runs => None,
                ProcessState::Stops => Some(MemberOrder::Terminate { member, host }),
                ProcessState::Gone(reason) => Some(MemberOrder::Halt { member, host, reason }),
            });
        }
    }
}
