//! A machine as the API has it: its phase, what the cloud has made of it, and how far its deletion has come. Its tables are the
//! store's ([`MachineTables`](crate::store::MachineTables)).

use serde::{Deserialize, Serialize};

use crate::name::MachineName;
use zonefall_kernel::time::Time;
use zonefall_kernel::traced;
use zonefall_network::HostId;
use zonefall_scenario::ids::NodeKey;

/// Where a machine stands (`machinev1alpha1.MachinePhase`).
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
pub enum Phase {
    /// Asked for; its node has not joined yet. A machine that no controller has looked at has an empty phase in the API; here machines are
    /// pending from the first moment on, which counts the same (`getNumberOfMachinesInProgress`: what is neither Unknown nor Running).
    #[serde(alias = "")]
    Pending,
    /// Its node is healthy.
    Running,
    /// Its node is not healthy, not for long enough to give it up.
    Unknown,
    /// Given up: to be replaced.
    Failed,
    /// On its way out.
    Terminating,
    /// It could not be made; tried again.
    CrashLoopBackOff,
}

traced! {
    enum Phase {
        Pending = 0,
        Running = 1,
        Unknown = 2,
        Failed = 3,
        Terminating = 4,
        CrashLoopBackOff = 5,
    }
}

/// A machine of a cluster, numbered in the order they are made; a number is used once.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct MachineId(pub(crate) u32);

/// What the cloud has made of a machine.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Vm {
    /// Nothing yet.
    Absent,
    /// The cloud makes it, until then.
    Creating(Time),
    /// It is there: its host, and the node it is to be.
    Running(HostId, NodeKey),
}

/// How far the deletion of a machine has come.
#[derive(Clone, Copy, Debug)]
pub enum Deletion {
    /// The cloud is asked how it is.
    Status,
    /// Its node is drained.
    Drain,
    /// The cloud is asked to delete it.
    Delete,
    /// The cloud does so, until then.
    Deleting(Time),
}

/// A machine.
#[derive(Clone, Debug)]
pub struct Machine {
    /// Its name.
    pub name: MachineName,
    /// Where it stands, and since when.
    pub phase: Phase,
    /// Since when.
    pub since: Time,
    /// When it was made.
    pub created: Time,
    /// What there is of it.
    pub vm: Vm,
    /// Its node has not been ready since then.
    pub unready: Option<Time>,
    /// While [`Phase::Terminating`].
    pub deletion: Deletion,
    /// It goes first where there are too many.
    pub surplus: bool,
    /// The cloud was out of stock when it was last asked for it (`ResourceExhausted`).
    pub exhausted: bool,
}

impl Machine {
    /// The node it is, or is to be.
    pub const fn node(&self) -> Option<NodeKey> {
        match self.vm {
            Vm::Running(_, node) => Some(node),
            Vm::Absent | Vm::Creating(_) => None,
        }
    }
}

/// Machines of one template of a machine deployment (a `MachineSet`).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct MachineSet {
    /// The hash of its template.
    pub template: u32,
    /// Machines that it is to have.
    pub desired: u32,
}
