//! Timers and arrivals of etcd clusters, and what their handlers ask the run loop for.

use zonefall_kernel::outbox::Outbox;
use zonefall_kernel::time::Time;
use zonefall_kernel::timer::Generation;
use zonefall_scenario::ids::{EtcdId, MemberId};

use crate::member::ProcessTimer;
use crate::passive::PassiveTimer;
use crate::raft::log::{Command, Token};
use crate::record::EtcdRecord;

/// Timers and arrivals of a cluster.
#[derive(Clone, Copy, Debug)]
pub enum EtcdEvent {
    /// A message arrives.
    Deliver {
        /// Slot that holds the message.
        slot: u32,
        /// Number of the delivery.
        delivery: u32,
    },
    /// Something that a member's process waits for.
    Process {
        /// Index of the member.
        member: u8,
        /// What it waits for.
        timer: ProcessTimer,
        /// Generation of the timer.
        generation: Generation,
    },
    /// A stream connects, gives up or sends again.
    Stream {
        /// Number of the stream.
        stream: u16,
        /// Generation of the timer.
        generation: Generation,
    },
    /// The next part of a database under way: the transfer of this number.
    Chunk(u32),
    /// Who asked for a change of membership waits no longer.
    ChangesDue,
    /// The container of a member that is to join asks for the next step.
    JoinStep {
        /// Index of the member.
        member: u8,
        /// Generation of the timer.
        generation: Generation,
    },
    /// A request arrives at the member of its token.
    Request(Token),
    /// The next step of a request at a member, where requests cost something.
    Work {
        /// The request.
        token: Token,
        /// What has been done.
        step: Step,
        /// Number of the life of the member's process: the request ends with it.
        life: u32,
    },
    /// Something of an active-passive cluster is due.
    Passive {
        /// What is due.
        timer: PassiveTimer,
        /// Generation of the timer.
        generation: Generation,
    },
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

/// What a member answers.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Answer {
    /// The request is done.
    Ok,
    /// Not done here (no leader in time, leader changed, process gone): try another member.
    Unavailable,
    /// The request is larger than the limit: no member will ever do it.
    TooLarge,
}

/// An entry applied at a member that has watchers.
#[derive(Clone, Copy, Debug)]
pub struct Watched {
    /// When it is applied there.
    pub at: Time,
    /// Member that applies it.
    pub member: MemberId,
    /// The entry.
    pub index: u64,
    /// What it does.
    pub command: Command,
    /// When it was first applied anywhere.
    pub first_applied: Time,
}

/// Where events and records of etcd clusters go.
pub type EtcdOutbox<'a> = dyn Outbox<(EtcdId, EtcdEvent), EtcdRecord> + 'a;

/// What handlers of etcd clusters ask for besides events and records.
#[derive(Clone, Debug, Default)]
pub struct EtcdEffects {
    /// Answers that leave a member at a time.
    pub answers: Vec<(Time, Token, Answer)>,
    /// Members whose process is gone; `true`: their connections are reset.
    pub stopped: Vec<(MemberId, bool)>,
    /// Entries applied at members that have watchers.
    pub watched: Vec<Watched>,
    /// Clusters in which something has changed that a client would notice.
    pub service_changed: Vec<EtcdId>,
    /// Whether anybody wants [`EtcdRecord::Raft`].
    pub raft_records: bool,
}

impl EtcdEffects {
    /// Nothing is asked for.
    pub fn is_empty(&self) -> bool {
        self.answers.is_empty() && self.stopped.is_empty() && self.watched.is_empty() && self.service_changed.is_empty()
    }
}
