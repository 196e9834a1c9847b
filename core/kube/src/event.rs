//! What waits in the queue for a cluster. Timers carry a generation: one that has moved on makes them void.

use crate::controller::Due;
use crate::spec::Component;
use zonefall_kernel::timer::Generation;
use zonefall_scenario::ids::{NodeKey, PodId};

/// An event of one cluster. Controllers are named by their place in the table.
#[derive(Clone, Copy, Debug)]
pub enum KubeEvent {
    /// A controller reconciles the keys of a work queue.
    Work(u8, u8),
    /// A timer of a controller fires.
    Due(u8, Due),
    /// Somebody outside the cluster asks a controller for something.
    Message(u8, u32),
    /// A kubelet renews its lease.
    Renew(NodeKey, Generation),
    /// A node that has power again runs its kubelet.
    Booted(NodeKey, Generation),
    /// A step of a pod's process on a node is done.
    Process(NodeKey, PodId, Generation),
    /// The connection of an API server to etcd has been silent, or dialled, for long enough.
    Link(u32, Generation),
    /// An API server is asked whether it is ready.
    Readiness(u32, Generation),
    /// The programs of a control plane's host run again.
    ControlPlane(u32, Generation),
    /// Something is due with the lease of a component.
    Election(Component, Generation),
    /// An operator evicts the pods of a node that are left.
    Drain(NodeKey),
}

// An event of the queue must not grow by this one.
const _: () = assert!(size_of::<KubeEvent>() <= 16);
