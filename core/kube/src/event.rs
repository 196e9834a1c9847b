//! What waits in the queue for a cluster. Events of timers carry a generation: those of an earlier one are void.

use crate::spec::Component;
use zonefall_kernel::timer::Generation;
use zonefall_scenario::ids::{MachineDeploymentId, NodeKey, PodId};

/// An event of one cluster. Controllers are named by their place in the table.
#[derive(Clone, Copy, Debug)]
pub enum KubeEvent {
    /// A controller reconciles the keys of a work queue.
    Work {
        /// Place of the controller in the table.
        controller: u8,
        /// Its work queue.
        queue: u8,
    },
    /// A timer of a controller fires.
    Due {
        /// Place of the controller in the table.
        controller: u8,
        /// The timer.
        due: Due,
    },
    /// Somebody outside the cluster asks a controller for something.
    Message {
        /// Place of the controller in the table.
        controller: u8,
        /// What is asked for, as the controller numbers it.
        message: u32,
    },
    /// A kubelet renews its lease.
    Renew {
        /// Node of the kubelet.
        node: NodeKey,
        /// Generation of its connection to the API.
        generation: Generation,
    },
    /// A node that has power again runs its kubelet.
    Booted {
        /// Node that has booted.
        node: NodeKey,
        /// Generation of the start.
        generation: Generation,
    },
    /// A step of a pod's process on a node is done.
    Process {
        /// Node that it runs on.
        node: NodeKey,
        /// Pod that it belongs to.
        pod: PodId,
        /// Generation of the step.
        generation: Generation,
    },
    /// The connection of an API server to etcd has been silent, or dialled, for long enough.
    Link {
        /// Key of the API server.
        server: u32,
        /// Generation of the timer.
        generation: Generation,
    },
    /// An API server is asked whether it is ready.
    Readiness {
        /// Key of the API server.
        server: u32,
        /// Generation of the timer.
        generation: Generation,
    },
    /// An API server that was asked to stop accepts no connection any more.
    Closes {
        /// Key of the API server.
        server: u32,
        /// Generation of the timer.
        generation: Generation,
    },
    /// An API server on a control plane's host that was asked to stop exits.
    ApiServerExits {
        /// Place of the host in the cluster's control plane.
        host: u32,
        /// Generation of the timer.
        generation: Generation,
    },
    /// The programs of a control plane's host run again.
    ControlPlane {
        /// Place of the host in the cluster's control plane.
        host: u32,
        /// Generation of the timer.
        generation: Generation,
    },
    /// Something is due with the lease of a component.
    Election {
        /// Component that elects its leader.
        component: Component,
        /// Generation of the timer.
        generation: Generation,
    },
    /// A request for a machine that an operator adds is retried.
    MachineRequested {
        /// Its machine deployment.
        deployment: MachineDeploymentId,
        /// Its number among those of its machine deployment.
        number: u32,
    },
    /// A machine that an operator adds is created.
    MachineCreated {
        /// Its machine deployment.
        deployment: MachineDeploymentId,
        /// Its number among those of its machine deployment.
        number: u32,
    },
    /// An operator evicts the pods of a node that are left.
    Drain(NodeKey),
    /// The zonal shift expires.
    ShiftExpires,
}

// An event of the queue must not grow by this one.
const _: () = assert!(size_of::<KubeEvent>() <= 16);

/// A timer of a controller that fires. What the numbers mean is the controller's affair.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Due {
    /// What it is about.
    pub key: (u32, u32),
    /// Generation of the timer.
    pub generation: Generation,
}

impl Due {
    /// The only timer of a controller.
    pub const fn at(generation: Generation) -> Self {
        Self { key: (0, 0), generation }
    }
}
