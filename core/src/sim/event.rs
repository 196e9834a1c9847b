//! Events and effects: what waits in the queue, and what handlers ask the run loop to do.

use crate::access::event::AccessEvent;
use crate::client::event::ClientEvent;
use crate::etcd::ctx::EtcdEffects;
use crate::etcd::event::EtcdEvent;
use crate::ids::{ClientId, EtcdId, FaultId, KubeClusterId};
use crate::kernel::outbox::Outbox;
use crate::kernel::queue::Turn;
use crate::kernel::time::Time;
use crate::kube::ctx::KubeEffects;
use crate::kube::event::KubeEvent;
use crate::record::Record;

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
    /// For the API access of a Kubernetes cluster.
    Access(KubeClusterId, AccessEvent),
}

impl Event {
    /// What a group at rest does by arithmetic comes after everything else of its moment, so that rest and every event have one order.
    pub const fn turn(&self) -> Turn {
        match self {
            Self::Etcd(_, event) if event.is_arithmetic_at_rest() => Turn::Last,
            _ => Turn::First,
        }
    }
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

impl From<(KubeClusterId, AccessEvent)> for Event {
    fn from((cluster, event): (KubeClusterId, AccessEvent)) -> Self {
        Self::Access(cluster, event)
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
    /// The same of the operations on clusters.
    Maintenance(u32),
    /// The same of the operations on databases.
    Databases(u32),
}

/// Events and records of all subsystems, each in the order in which they came.
#[derive(Clone, Debug, Default)]
pub struct Buffer {
    /// To be queued.
    pub schedule: Vec<(Time, Event)>,
    /// To be told.
    pub records: Vec<Record>,
}

impl<E, R> Outbox<E, R> for Buffer
where
    Event: From<E>,
    Record: From<R>,
{
    fn schedule(&mut self, at: Time, event: E) {
        self.schedule.push((at, event.into()));
    }

    fn record(&mut self, record: R) {
        self.records.push(record.into());
    }
}

/// What handlers ask for. Only the run loop carries it out.
#[derive(Clone, Debug, Default)]
pub struct Effects {
    /// Events and records of all subsystems.
    pub out: Buffer,
    /// What etcd clusters ask for.
    pub etcd: EtcdEffects,
    /// What Kubernetes clusters ask for.
    pub kube: KubeEffects,
}

impl Effects {
    /// Nothing is left for clients or the probe.
    pub fn is_settled(&self) -> bool {
        self.etcd.is_empty() && self.kube.is_empty()
    }

    /// Nothing at all is asked for.
    pub fn is_idle(&self) -> bool {
        self.is_settled() && self.out.schedule.is_empty() && self.out.records.is_empty()
    }
}
