//! Timers and arrivals of etcd clusters, and what members tell clients: answers, and entries to those who watch.

use zonefall_kernel::time::Time;
use zonefall_kernel::timer::Generation;
use zonefall_scenario::ids::MemberId;

use crate::passive::PassiveTimer;
use crate::raft::entry::{Command, Token};

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
    /// Something that flows is due.
    Flow(Generation),
    /// What flows may have filled a database.
    Quota(Generation),
    /// Leases are extended, or end.
    Leases(Generation),
    /// Something of an active-passive cluster is due.
    Passive {
        /// What is due.
        timer: PassiveTimer,
        /// Generation of the timer.
        generation: Generation,
    },
}

impl EtcdEvent {
    /// Heartbeats, their answers and the clocks that wait for them: a group at rest has none of them.
    pub const fn is_arithmetic_at_rest(&self) -> bool {
        matches!(self, Self::Deliver { .. } | Self::Process { timer: ProcessTimer::HeartbeatTick | ProcessTimer::Election, .. })
    }
}

/// What a member's process waits for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ProcessTimer {
    /// It has started, or restored what the backup bucket holds.
    Start,
    /// The leader's clock beats.
    HeartbeatTick,
    /// Its election timeout may have passed.
    Election,
    /// It has just started, and looks whether its peers are connected.
    AdjustTicks,
    /// An fsync is done.
    Synced,
    /// What it has applied is to be committed to its volume.
    Commit,
    /// A commit is done.
    Committed,
    /// A read index was not confirmed in time.
    ReadRetry,
    /// It was asked to stop, and looks whether its leadership is handed over.
    Stopping,
}

/// Number of timers of a process.
pub(super) const PROCESS_TIMERS: usize = ProcessTimer::Stopping as usize + 1;

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
    /// "etcdserver: mvcc: database space exceeded": the NOSPACE alarm is on.
    NoSpace,
    /// "etcdserver: too many requests": the member is too far behind with what it has to apply.
    TooManyRequests,
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
