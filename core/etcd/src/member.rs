//! A member: its process, its disk, and the loop between raft and both (`etcdserver/raft.go`).
//!
//! ```text
//!            step                     messages at once (leader)
//!  message ------> Raft --Ready--+--------------------------------> streams
//!                    ^           +--> WAL write, fsync --> held messages (follower, candidate)
//!                    |           `--> committed entries --> apply --> answers
//!                    `--- at most one Ready at a time: what comes while the disk is busy waits for the next
//! ```

use std::collections::VecDeque;

use crate::backend::Backend;
use crate::backlog::Told;
use crate::command_bytes::revert;
use crate::cost::Cores;
use crate::ctx::EtcdCtx;
use crate::database::Database;
use crate::disk::{Disk, Persisted};
use crate::event::{EtcdEvent, PROCESS_TIMERS, ProcessTimer};
use crate::raft::clock::Clock;
use crate::raft::entry::{Command, Token};
use crate::raft::message::Message;
use crate::raft::quorum::Members;
use crate::raft::{Raft, Role};
use crate::volume::Writes;
use zonefall_kernel::time::Time;
use zonefall_kernel::timer::Timer;
use zonefall_network::HostId;
use zonefall_network::process::StopReason;
use zonefall_scenario::Op;
use zonefall_scenario::ids::{ClientId, FaultId, MemberId};

/// A member of a cluster, running or not.
#[derive(Clone, Debug)]
pub struct Member {
    /// Its identity.
    pub id: MemberId,
    /// Where its process runs.
    pub host: HostId,
    /// Its volume.
    pub disk: Disk,
    /// Whether the cluster knows it.
    pub state: MemberState,
    /// It has no vote (as far as any member has applied).
    pub learner: bool,
    /// Faults that keep its process down.
    pub held_down: u16,
    /// Its process is a container: its kubelet starts and ends it.
    pub managed: bool,
    /// Another serves in its place; its data is to be thrown away, and till then it does not start.
    pub displaced: bool,
    /// New connections are sent to it (it is among the endpoints of its Service).
    pub listed: bool,
    /// Its kubelet keeps it down.
    pub halted: bool,
    /// Its process is frozen.
    pub(super) pause: Option<Pause>,
    /// Managed, and not in the cluster from the start: its container sees to it that it joins, and gets its vote.
    pub joining: bool,
    /// Fires when its container looks how far that is.
    pub join: Timer,
    /// Its process.
    pub process: Process,
    /// What its process waits for, by [`ProcessTimer`]. They outlive the process: what was queued for it must not fire for the next.
    pub(super) timers: [Timer; PROCESS_TIMERS],
    /// Has served at least once (published its name).
    pub published: bool,
    /// Times its process has started.
    pub lives: u64,
    /// Round of linearizable reads; never repeats, however often the process starts.
    pub read_rounds: u64,
}

/// A frozen process.
#[derive(Clone, Debug)]
pub(crate) struct Pause {
    pub(super) since: Time,
    pub(super) faults: Vec<FaultId>,
    /// What was due meanwhile.
    pub(super) events: Vec<EtcdEvent>,
}

/// Whether a member belongs to its cluster.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum MemberState {
    /// Not added yet.
    Future,
    /// In it.
    Joined,
    /// Removed: never again.
    Removed,
    /// Stands by with what a backup bucket holds; no etcd runs there.
    Standby,
}

/// The process of a member.
///
/// ```text
///  Down --start--> Starting --serves--> Serving --ends--> Down
///    '--fetch--> Restoring --restored--> Down, and starts
/// ```
///
/// What keeps a process down is not part of this: faults ([`Member::held_down`]), the kubelet ([`Member::halted`]), the controller of an
/// active-passive pair ([`Member::displaced`]) and a volume that is not there hold at the same time, in any combination, whatever the
/// process does, and each ends by itself ([`Member::may_run`]). A process that was asked to stop serves on until it has handed its
/// leadership over ([`Server::stopping`]).
#[derive(Clone, Debug)]
pub enum Process {
    /// None runs.
    Down,
    /// It was started, and does not serve yet.
    Starting,
    /// Its container restores what the backup bucket holds.
    Restoring,
    /// It serves.
    Serving(Box<Server>),
}

/// A process that serves.
#[derive(Clone, Debug)]
pub struct Server {
    /// Its raft.
    pub raft: Raft,
    /// Members that it has come to know: by its log and snapshots, or because they told it before it began its log.
    pub known: Members,
    /// It has begun its log.
    pub has_wal: bool,
    /// Ticks of the process as a leader counts them: one per heartbeat interval.
    pub heartbeat_clock: Clock,
    /// The write under way.
    pub write: Option<Write>,
    /// Term and vote as last written, and as last synced.
    pub written: (u64, Option<u8>),
    /// Term and vote that survive a power loss.
    pub synced: (u64, Option<u8>),
    /// A beat or an election tick came while the disk was busy.
    pub missed_tick: bool,
    /// Election timeouts drawn when the election timer was armed.
    pub timer_draws: u64,
    /// Its volume at work.
    pub writes: Writes,
    /// Its database there.
    pub backend: Backend,
    /// What serves requests.
    pub cores: Cores,
    /// What the apply loop was given: up to this index.
    pub to_apply: u64,
    /// The apply loop is busy until then.
    pub apply_free: Time,
    /// It has published its name: it serves clients.
    pub serves_clients: bool,
    /// Requests that came before it serves clients, and until when they wait.
    pub callers: Vec<(Token, Op, Time)>,
    /// Proposals that wait for a leader, and until when, the oldest first.
    pub waiting: VecDeque<(Time, Token, Command)>,
    /// Linearizable reads.
    pub reads: Reads,
    /// Clients that watch here.
    pub watchers: Vec<ClientId>,
    /// Whom it was last seen to follow.
    pub seen: Option<u8>,
    /// What it is behind, if it is.
    pub behind: Option<Behind>,
    /// SIGTERM was received: when it stops regardless of who leads.
    pub stopping: Option<Time>,
    /// Looks at its peers that are left until it no longer moves its election clock on.
    pub peer_checks: u32,
    /// Its database.
    pub database: Database,
    /// Index of the last snapshot.
    pub snapshot_index: u64,
    /// It compacts nothing until then: it has sent somebody its database.
    pub keeps_entries_until: Time,
    /// What was told of its log, database, cores, apply loop and network card, and of requests that it turned away.
    pub(super) told: [Told; 6],
    /// Term in which it last raised the alarm.
    pub(super) alarm_raised: Option<u64>,
}

/// A member comes back, and others have what it has not.
#[derive(Clone, Copy, Debug)]
pub struct Behind {
    /// When it came back.
    pub since: Time,
    /// Last index that it lacked.
    pub until: u64,
    /// Entries that it lacked.
    pub entries: u64,
    /// Entries that it has written since, and databases that it has received, in bytes.
    pub bytes: u64,
}

/// A write to the log file and its fsync.
#[derive(Clone, Debug)]
pub struct Write {
    /// When it began.
    pub since: Time,
    /// Last index in it.
    pub last: u64,
    /// Term and vote in it.
    pub state: (u64, Option<u8>),
    /// Messages that promise what is in it.
    pub held: Vec<Message>,
    /// Index up to which is applied when it is done, if not before.
    pub to_apply: u64,
}

/// The loop that answers linearizable reads: one round at a time for all that wait (`linearizableReadLoop`).
#[derive(Clone, Debug, Default)]
pub struct Reads {
    /// For the next round.
    pub next: Vec<Token>,
    /// In the round under way.
    pub current: Vec<Token>,
    /// Its number; 0: none is under way.
    pub context: u64,
    /// When it began.
    pub since: Time,
    /// Confirmed: waits until this is applied.
    pub index: Option<u64>,
}

impl Member {
    /// Arms a timer of its process, and queues the event; one that was queued before is void.
    pub(super) fn arm(&mut self, timer: ProcessTimer, deadline: Time, ctx: &mut EtcdCtx<'_>) {
        let MemberId { cluster, index: member } = self.id;
        let generation = self.timers[timer as usize].arm(deadline);
        ctx.schedule(deadline.max(ctx.now), cluster, EtcdEvent::Process { member, timer, generation });
    }

    /// Cancels a timer of its process.
    pub(super) fn cancel(&mut self, timer: ProcessTimer) {
        self.timers[timer as usize].cancel();
    }

    /// Whether its process waits for this.
    pub(super) fn is_armed(&self, timer: ProcessTimer) -> bool {
        self.timers[timer as usize].is_armed()
    }

    /// Its database is being committed: nothing is applied or read.
    pub(super) fn is_locked(&self) -> bool {
        self.is_armed(ProcessTimer::Committed)
    }

    /// Its database is being rewritten.
    pub(super) fn is_defragmenting(&self) -> bool {
        self.process.server().is_some_and(|server| server.backend.defragmenting.is_some())
    }

    /// Begins to start or restore, until `deadline`.
    pub(super) fn begin(&mut self, process: Process, deadline: Time, ctx: &mut EtcdCtx<'_>) {
        self.process = process;
        self.arm(ProcessTimer::Start, deadline, ctx);
    }

    /// Ends a start that is under way; a process that serves goes on.
    pub(super) fn cancel_start(&mut self) {
        if !self.process.serves() {
            self.process = Process::Down;
            self.cancel(ProcessTimer::Start);
        }
    }

    /// Whether its process should run: nothing holds it down and its volume is there.
    pub fn may_run(&self) -> bool {
        self.state == MemberState::Joined && self.held_down == 0 && !self.halted && !self.displaced && self.disk.is_present()
    }

    /// Takes the process away, or its start; what it had written (or synced, after a power loss) stays on the disk.
    pub fn halt(&mut self, reason: StopReason) -> Option<Box<Server>> {
        self.timers.iter_mut().for_each(Timer::cancel);
        let Process::Serving(mut server) = std::mem::replace(&mut self.process, Process::Down) else { return None };
        let power = matches!(reason, StopReason::PowerLost | StopReason::VolumeDetached);
        let (term, vote) = if power { server.synced } else { server.written };
        let raft = &mut server.raft;
        let keep = if power { raft.log.stable } else { raft.log.written };
        let mut log = raft.log.clone();
        // What was applied from memory and is lost will be applied again, to a database that is without it.
        for entry in (keep + 1..=log.applied).rev().filter_map(|index| log.get(index)) {
            revert(&mut server.database, entry.command);
        }
        if keep < log.last() {
            log.drop_tail(keep + 1);
        }
        log.stable = log.last();
        log.written = log.last();
        self.disk.content = (reason != StopReason::VolumeLost).then(|| {
            Box::new(Persisted {
                term,
                vote,
                log,
                conf_state: raft.conf_state,
                database: server.database,
                snapshot_index: server.snapshot_index,
                timeouts_drawn: raft.timeouts_drawn(),
                has_wal: server.has_wal,
            })
        });
        Some(server)
    }
}

impl Process {
    /// What serves, if it does.
    pub fn server(&self) -> Option<&Server> {
        if let Self::Serving(server) = self { Some(server) } else { None }
    }

    /// What serves, if it does.
    pub fn server_mut(&mut self) -> Option<&mut Server> {
        if let Self::Serving(server) = self { Some(server) } else { None }
    }

    /// Whether it serves.
    pub const fn serves(&self) -> bool {
        matches!(self, Self::Serving(_))
    }

    /// Whether none runs, and none is about to.
    pub const fn is_down(&self) -> bool {
        matches!(self, Self::Down)
    }
}

impl Server {
    /// Whether it leads.
    pub fn is_leader(&self) -> bool {
        self.raft.role == Role::Leader
    }

    /// Whether raft has something for the disk that must be synced before it is told to others.
    pub fn must_sync(&self) -> bool {
        self.raft.log.written < self.raft.log.last() || self.written != (self.raft.term, self.raft.vote)
    }
}
