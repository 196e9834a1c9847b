//! Events and effects: what waits in the queue, and what handlers ask the run loop to do.

use crate::client::event::ClientEvent;
use crate::etcd::event::{EtcdEffects, EtcdEvent};
use crate::etcd::restore::RestorePhase;
use crate::ids::{ClientId, EtcdId, FaultId, KubeClusterId, MemberId};
use crate::kernel::outbox::Buffer;
use crate::kube::event::KubeEvent;
use crate::network::HostId;
use crate::record::{Record, StopReason};

/// What waits in the queue: one group per subsystem.
#[derive(Clone, Copy, Debug)]
pub enum Event {
    /// For an etcd cluster.
    Etcd(EtcdId, EtcdEvent),
    /// For a client.
    Client(ClientId, ClientEvent),
    /// For the faults and the operator.
    Fault(FaultEvent),
    /// For a Kubernetes cluster.
    Kube(KubeClusterId, KubeEvent),
}

impl From<(EtcdId, EtcdEvent)> for Event {
    fn from((cluster, event): (EtcdId, EtcdEvent)) -> Self {
        Self::Etcd(cluster, event)
    }
}

impl From<(ClientId, ClientEvent)> for Event {
    fn from((client, event): (ClientId, ClientEvent)) -> Self {
        Self::Client(client, event)
    }
}

impl From<(KubeClusterId, KubeEvent)> for Event {
    fn from((cluster, event): (KubeClusterId, KubeEvent)) -> Self {
        Self::Kube(cluster, event)
    }
}

/// Planned and random faults, and the operator.
#[derive(Clone, Copy, Debug)]
pub enum FaultEvent {
    /// The planned fault with this index starts.
    Planned(u32),
    /// The random process with this index fails.
    Random(u32),
    /// A fault ends.
    Ends(FaultId),
    /// The operation with this index is asked for.
    Operation(u32),
    /// The same of the operations on planes.
    Maintenance(u32),
}

/// What becomes of the process of an etcd member that is a container.
#[derive(Clone, Copy, Debug)]
pub enum ContainerEvent {
    /// It starts.
    Run {
        /// Which.
        member: MemberId,
        /// Where.
        host: HostId,
    },
    /// It is asked to stop.
    Terminate {
        /// Which.
        member: MemberId,
        /// Where.
        host: HostId,
    },
    /// It is no more.
    Halt {
        /// Which.
        member: MemberId,
        /// Where.
        host: HostId,
        /// Why.
        reason: StopReason,
    },
    /// New connections are sent to it, or are not.
    List {
        /// Which.
        member: MemberId,
        /// They are.
        listed: bool,
    },
}

/// What handlers ask for. Only the run loop carries it out.
#[derive(Clone, Debug, Default)]
pub struct Effects {
    /// Events and records of all subsystems.
    pub out: Buffer<Event, Record>,
    /// What etcd clusters ask for.
    pub etcd: EtcdEffects,
    /// Containers of etcd members that start or end.
    pub container_events: Vec<ContainerEvent>,
    /// Active-passive clusters that etcd-druid can check from now on, from this host, or can no longer.
    pub checked: Vec<(EtcdId, Option<HostId>)>,
    /// Clusters that are on their way to another seed, and how far.
    pub restore_phases: Vec<(EtcdId, RestorePhase)>,
    /// Machines that are no more.
    pub deleted_vms: Vec<HostId>,
}

impl Effects {
    /// Nothing is left for clients or the probe.
    pub fn is_settled(&self) -> bool {
        self.etcd.is_empty()
            && self.container_events.is_empty()
            && self.checked.is_empty()
            && self.restore_phases.is_empty()
            && self.deleted_vms.is_empty()
    }

    /// Nothing at all is asked for.
    pub fn is_idle(&self) -> bool {
        self.is_settled() && self.out.schedule.is_empty() && self.out.records.is_empty()
    }
}
