//! Controllers: each watches objects, keeps a queue of keys, and brings one key after the other in line with what is wanted.
//!
//! ```text
//!  store --Change--> watch --key--> work queue --after the API's latency, gate open--> reconcile --> store
//!                      arm --Due--> due         (what it does on its own, when its gate is open)
//! ```
//!
//! A controller says what it watches and what it does; queues, the gate of its component, deferral and relisting are the framework's
//! ([`cluster`](super::cluster)). A line in [`CONTROLLERS`] registers it. The order is behaviour: at one instant controllers are notified,
//! armed and listed in it.

pub mod add_nodes;
pub mod attach_detach;
mod availability;
pub mod daemon;
pub mod descheduler;
pub mod disruption;
pub mod drain;
pub mod endpoint_slices;
pub mod endpoints;
pub mod hints;
pub mod kubelet_sync;
pub mod limiter;
pub mod node_lifecycle;
mod owner;
pub mod placement;
pub mod pod_gc;
pub mod queueing_hints;
pub mod replicas;
pub mod scheduler;
pub mod stateful;
pub mod taint_eviction;

use std::any::{Any, TypeId};
use std::collections::BTreeMap;
use std::fmt::Debug;

use crate::ctx::{ClusterCtx, Notification};
pub use crate::event::Due;
use crate::event::KubeEvent;
use crate::kubelet::Kubelet;
use crate::spec::{Component, KubeClusterSpec};
use crate::store::{Change, EvictionWebhook, Store};
use zonefall_kernel::time::Time;
use zonefall_kernel::timer::Timer;
use zonefall_network::HostId;
use zonefall_scenario::Scenario;
use zonefall_scenario::ids::NodeKey;

/// What the controllers of a cluster see and change.
#[derive(Clone, Debug)]
pub struct State {
    /// Its objects.
    pub store: Store,
    /// The kubelets of its nodes, whose leases are functions of time.
    pub kubelets: BTreeMap<NodeKey, Kubelet>,
    /// Kubelets of machines that were switched on just now.
    pub switched_on: Vec<(NodeKey, Kubelet)>,
    /// Nodes of machines that were deleted just now.
    pub switched_off: Vec<NodeKey>,
    /// Where the leader of each component runs, while it can act.
    pub leaders: [Option<HostId>; Component::ALL.len()],
}

/// Kubernetes' own controllers. What must come before what, for changes that several are notified of in one instant:
/// - a StatefulSet sees a terminating pod before its endpoint goes, a ReplicaSet a ready pod after its endpoint has come;
/// - both see a terminating pod before its kubelet can end it; the kubelet comes before the attach/detach controller.
pub const CONTROLLERS: &[Factory] = &[
    node_lifecycle::Lifecycle::factory,
    taint_eviction::Evictions::factory,
    stateful::StatefulSets::factory,
    disruption::Budgets::factory,
    endpoints::Endpoints::factory,
    endpoint_slices::EndpointSlices::factory,
    replicas::ReplicaSets::factory,
    kubelet_sync::KubeletSync::factory,
    attach_detach::Volumes::factory,
    pod_gc::PodGarbageCollector::factory,
    scheduler::Scheduler::factory,
    descheduler::Descheduler::factory,
];

/// Those that act on what nodes have become, after whatever makes nodes.
pub const PER_NODE: &[Factory] = &[daemon::DaemonSets::factory];

/// Makes a controller of a cluster as it starts; `None`: the cluster has none.
pub type Factory = fn(&State, &mut ClusterCtx<'_>) -> Option<Box<dyn Controller>>;

/// A controller of one cluster.
pub trait Controller: Any + Debug + Send + Sync {
    /// The component that it is part of: it acts while a process of that leads and can write. `None`: it always acts.
    fn component(&self) -> Option<Component> {
        None
    }

    /// The webhook that it registers with the API server, which is asked about evictions from the start.
    fn webhook(&self, _ctx: &ClusterCtx<'_>) -> Option<Box<dyn EvictionWebhook>> {
        None
    }

    /// Takes note of a change, and adds the keys that it concerns to its work queues ([`ClusterCtx::enqueue`]).
    fn watch(&mut self, _change: &Change, _state: &mut State, _ctx: &mut ClusterCtx<'_>) {}

    /// Brings the object of a key in line with what is wanted.
    fn reconcile(&mut self, _queue: u8, _key: u32, _state: &mut State, _ctx: &mut ClusterCtx<'_>) {}

    /// All keys by work queue: what a new leader lists.
    fn list(&self, _state: &State, _ctx: &ClusterCtx<'_>) -> Vec<(u8, u32)> {
        Vec::new()
    }

    /// Forgets what the leader before held in memory.
    fn forget(&mut self, _state: &mut State, _ctx: &mut ClusterCtx<'_>) {}

    /// It can act again, or no longer; the leader is the same.
    fn gate_changed(&mut self, _is_open: bool, _state: &mut State, _ctx: &mut ClusterCtx<'_>) {}

    /// Which clients the API answers, and after how long, is about to change.
    fn access_changes(&mut self, _state: &State, _ctx: &ClusterCtx<'_>) {}

    /// Does what is due. A timer that fires while the gate is closed is void, unless the controller [defers](Self::defers) it.
    fn due(&mut self, _due: Due, _state: &mut State, _ctx: &mut ClusterCtx<'_>) {}

    /// Whether timers that fire while the gate is closed fire again when it opens.
    fn defers(&self) -> bool {
        false
    }

    /// Somebody outside the cluster asks for something, whoever leads.
    fn message(&mut self, _message: u32, _state: &mut State, _ctx: &mut ClusterCtx<'_>) {}

    /// Queues its next timer ([`ClusterCtx::timer`]); called after everything that has happened.
    fn arm(&mut self, _is_active: bool, _state: &State, _ctx: &mut ClusterCtx<'_>) {}

    /// What reconciling the keys of a work queue is, in plain words.
    fn describe_work(&self, _queue: u8) -> &'static str {
        "a controller reconciles changed objects"
    }

    /// What a timer is, in plain words.
    fn describe_due(&self, _due: &Due, _spec: &KubeClusterSpec, _scenario: &Scenario) -> String {
        "a controller's timer fires".to_owned()
    }

    /// What a message asks for, in plain words.
    fn describe_message(&self, _message: u32) -> &'static str {
        "a controller receives a request"
    }

    /// A copy, for a keyframe or a fork.
    fn boxed(&self) -> Box<dyn Controller>;
}

impl Clone for Box<dyn Controller> {
    fn clone(&self) -> Self {
        (**self).boxed()
    }
}

/// What the controller that is at work asks of the framework.
impl ClusterCtx<'_> {
    /// Adds a key to a work queue of the controller that is at work.
    pub fn enqueue(&mut self, queue: u8, key: u32) {
        self.notifications.push(Notification { controller: None, queue, key });
    }

    /// Adds a key to a work queue of another controller of this cluster.
    pub fn notify<C: Controller>(&mut self, queue: u8, key: u32) {
        self.notifications.push(Notification { controller: Some(TypeId::of::<C>()), queue, key });
    }

    /// Queues a timer of the controller that is at work.
    pub fn timer(&mut self, at: Time, due: Due) {
        self.schedule(at, KubeEvent::Due { controller: self.controller, due });
    }

    /// Moves the only timer of the controller that is at work, or cancels it; a deadline that is the same keeps its event.
    pub fn rearm(&mut self, timer: &mut Timer, deadline: Option<Time>) {
        if let Some((at, generation)) = timer.rearm(deadline) {
            self.timer(at, Due::at(generation));
        }
    }
}
