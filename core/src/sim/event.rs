//! Events and effects: what waits in the queue, and what handlers ask the run loop to do.

use crate::etcd::passive::PassiveTimer;
use crate::etcd::raft::log::{Command, Token};
use crate::etcd::restore::RestorePhase;
use crate::ids::{ClientId, EtcdId, FaultId, KubeClusterId, MemberId};
use crate::kernel::time::Time;
use crate::kube::event::KubeEvent;
use crate::network::HostId;
use crate::record::{Record, RequestResult, StopReason};

/// What waits in the queue: one group per subsystem.
#[derive(Clone, Copy, Debug)]
pub enum Event {
    /// For a cluster.
    Etcd(EtcdId, EtcdEvent),
    /// For a client.
    Client(ClientId, ClientEvent),
    /// For the faults and the operator.
    Fault(FaultEvent),
    /// For a plane.
    Kube(KubeClusterId, KubeEvent),
}

/// Timers and arrivals of a cluster. Timers carry a generation: one that has moved on makes them void.
#[derive(Clone, Copy, Debug)]
pub enum EtcdEvent {
    /// A message (in this slot) arrives; the number of its delivery.
    Deliver(u32, u32),
    /// The leader's clock beats.
    HeartbeatTick(u8, u32),
    /// A member's election timeout may have passed.
    Election(u8, u32),
    /// A process that has just started looks whether its peers are connected.
    AdjustTicks(u8, u32),
    /// An fsync is done.
    Synced(u8, u32),
    /// What a member has applied is to be committed to its volume.
    Commit(u8, u32),
    /// A commit is done.
    Committed(u8, u32),
    /// A process has started.
    Started(u8, u32),
    /// A read index was not confirmed in time.
    ReadRetry(u8, u32),
    /// A process that was asked to stop looks whether its leadership is handed over.
    Stopping(u8, u32),
    /// A stream connects, gives up or sends again.
    Stream(u16, u32),
    /// The next part of a database under way.
    Chunk(u16, u32),
    /// Who asked for a change of membership waits no longer.
    ChangesDue,
    /// The container of a member that is to join asks for the next step.
    JoinStep(u8, u32),
    /// A request arrives at the member of its token.
    Request(Token),
    /// The next step of a request at a member, where requests cost something; the life of its process.
    Work(Token, Step, u32),
    /// A member has restored what the backup bucket holds.
    Fetched(u8, u32),
    /// Something of an active-passive cluster is due.
    Passive(PassiveTimer, u32),
}

/// Where a request at a member is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Step {
    /// It has been read.
    Read,
    /// What it asks for has been done.
    Done,
    /// Its answer has been written.
    Written,
}

/// What happens at a client.
#[derive(Clone, Copy, Debug)]
pub enum ClientEvent {
    /// The next request of its rate is due.
    Next,
    /// The oldest request's time is up.
    Deadline(u32),
    /// An answer arrives.
    Answer {
        /// For which request.
        token: Token,
        /// What it says.
        answer: Answer,
    },
    /// The process has read it.
    Read {
        /// For which request.
        token: Token,
        /// What it says.
        answer: Answer,
    },
    /// A watched event arrives.
    Watched {
        /// From which member.
        member: u8,
        /// When its entry was first applied anywhere.
        since: Time,
    },
    /// A connection whose request failed carries on.
    Resume,
    /// A watch is tried again.
    Watch,
    /// Events that waited for their path are sent again.
    Retransmitted,
}

/// What a member answers.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Answer {
    /// Done.
    Ok,
    /// Not done here (no leader in time, leader changed, process gone): try another member.
    Unavailable,
    /// Never.
    TooLarge,
}

impl Answer {
    /// As a result of the request.
    pub const fn result(self) -> RequestResult {
        match self {
            Self::Ok => RequestResult::Ok,
            Self::Unavailable => RequestResult::Failed,
            Self::TooLarge => RequestResult::TooLarge,
        }
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

/// An entry applied at a member that has watchers.
#[derive(Clone, Copy, Debug)]
pub struct Watched {
    /// When it is applied there.
    pub at: Time,
    /// Where.
    pub member: MemberId,
    /// The entry.
    pub index: u64,
    /// What it does.
    pub command: Command,
    /// When it was first applied anywhere.
    pub first_applied: Time,
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

/// What a handler asks for. Only the run loop carries it out.
#[derive(Clone, Debug, Default)]
pub struct Effects {
    /// To be queued, in this order.
    pub schedule: Vec<(Time, Event)>,
    /// To be told.
    pub records: Vec<Record>,
    /// Answers that leave a member at a time.
    pub answers: Vec<(Time, Token, Answer)>,
    /// Members whose process is gone; `true`: their connections are reset.
    pub stopped: Vec<(MemberId, bool)>,
    /// Entries applied at members that have watchers.
    pub watched: Vec<Watched>,
    /// Something the virtual probe would notice has changed in this cluster.
    pub service_changed: Vec<EtcdId>,
    /// Containers of etcd members that start or end.
    pub container_events: Vec<ContainerEvent>,
    /// Active-passive clusters that etcd-druid can check from now on, from this host, or can no longer.
    pub checked: Vec<(EtcdId, Option<HostId>)>,
    /// Clusters that are on their way to another seed, and how far.
    pub restore_phases: Vec<(EtcdId, RestorePhase)>,
    /// Machines that are no more.
    pub deleted_vms: Vec<HostId>,
    /// Whether anybody wants [`Record::Raft`].
    pub raft_records: bool,
}

impl Effects {
    /// Nothing is left for clients or the probe.
    pub fn is_settled(&self) -> bool {
        self.answers.is_empty()
            && self.stopped.is_empty()
            && self.watched.is_empty()
            && self.service_changed.is_empty()
            && self.container_events.is_empty()
            && self.checked.is_empty()
            && self.restore_phases.is_empty()
            && self.deleted_vms.is_empty()
    }

    /// Nothing at all is asked for.
    pub fn is_idle(&self) -> bool {
        self.is_settled() && self.schedule.is_empty() && self.records.is_empty()
    }

    /// Queues an event of a cluster.
    pub fn etcd(&mut self, at: Time, cluster: EtcdId, event: EtcdEvent) {
        self.schedule.push((at, Event::Etcd(cluster, event)));
    }

    /// Tells something.
    pub fn record(&mut self, record: Record) {
        self.records.push(record);
    }
}
