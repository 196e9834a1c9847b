//! One etcd cluster: its members, the streams between them, and who handles which event.
//!
//! Each concern is an `impl EtcdCluster` in a file of its own: [`ready`](super::ready) (raft, disk and apply),
//! [`serve`](super::serve) (clients' requests), [`transport`](super::transport) (streams), [`lifecycle`](super::lifecycle)
//! (processes and volumes), [`place`](super::place) (hosts), [`identity`](super::identity) (newcomers), [`restore`](super::restore) (to another seed), [`snapshot`](super::snapshot), [`membership`](super::membership), [`quiescence`](super::quiescence) (heartbeats
//! that need no events) and [`service`](super::service) (the virtual probe).

use std::collections::VecDeque;
use std::sync::Arc;

use crate::Options;
use crate::backend::Backend;
use crate::cost::Cores;
use crate::ctx::{EtcdCtx, EtcdOutbox};
use crate::disk::{Disk, Persisted};
use crate::event::{EtcdEvent, PROCESS_TIMERS, ProcessTimer};
use crate::member::{Member, MemberState, Process, Reads, Server};
use crate::membership::Pending;
use crate::options::EtcdOptions;
use crate::passive::Passive;
use crate::place::Before;
use crate::quiescence::Quiescence;
use crate::raft::clock::Clock;
use crate::raft::entries::Entries;
use crate::raft::log::Log;
use crate::raft::quorum::{Members, Quorum};
use crate::raft::{ConfState, Config};
use crate::record::EtcdRecord;
use crate::restore::RestorePhase;
use crate::service::Services;
use crate::snapshot::Transfer;
use crate::transport::InFlight;
use crate::volume::Writes;
use zonefall_kernel::periodic::Stepping;
use zonefall_kernel::rng::{Purpose, Stream as Draws};
use zonefall_kernel::time::{Duration, Time};
use zonefall_kernel::timer::Timer;
use zonefall_network::ledger::Ledger;
use zonefall_network::meter::Meter;
use zonefall_network::stream::Stream;
use zonefall_network::{HostId, Network};
use zonefall_scenario::ids::{EtcdId, MemberId};
use zonefall_scenario::{EtcdClusterSpec, Scenario};

/// A cluster.
#[derive(Clone, Debug)]
pub struct EtcdCluster {
    /// Number of the cluster.
    pub id: EtcdId,
    /// Timers and sizes.
    pub options: Arc<EtcdOptions>,
    /// Members by index, past and future ones included.
    pub members: Vec<Member>,
    pub(super) config: Config,
    pub(super) stepping: Stepping,
    pub(super) seed: u64,
    /// Stream from `a` to `b` at `a * members + b`.
    pub(super) streams: Vec<Stream>,
    /// Messages that wait for their path, by stream.
    pub(super) held: Vec<Vec<u32>>,
    /// Bytes, like the streams.
    pub(super) meters: Vec<Meter>,
    /// The same by what they are.
    pub(super) ledger: Ledger,
    /// Bytes from before a member left its zone.
    pub(super) before: Vec<Before>,
    /// The first member of each member's name: those of one name are one pod, one after the other.
    pub(super) of_pod: Vec<u8>,
    /// What the append stream carried last, like the streams: term and index.
    pub(super) in_step: Vec<(u64, u64)>,
    /// When each connected stream's upkeep was last counted.
    pub(super) upkeep_since: Vec<Time>,
    pub(super) in_flight: Vec<InFlight>,
    pub(super) free_slots: Vec<u32>,
    /// Messages whose delivery is queued.
    pub(super) flying: u32,
    /// Deliveries queued so far: each has its number.
    pub(super) deliveries: u32,
    pub(super) transfers: Vec<Transfer>,
    /// Databases sent so far: each transfer has its number.
    pub(super) transfers_begun: u32,
    pub(super) quiescence: Option<Quiescence>,
    /// Last index and read round of the leader at its last beat: no rest while they move.
    pub(super) last_heartbeat: (u64, u64),
    pub(super) services: Services,
    pub(super) changes: Vec<Pending>,
    /// It is on its way to another seed.
    pub(super) restore_phase: Option<RestorePhase>,
    /// One of two members serves; `None`: a majority of the voters does.
    pub(super) passive: Option<Box<Passive>>,
    /// Largest index applied anywhere.
    pub committed: u64,
    /// The last of them, with when that was.
    pub(super) recently_applied: Entries<(u64, Time)>,
}

/// The stream's or disk's name among the random draws: cluster, from, to.
fn entity(cluster: EtcdId, a: usize, b: usize) -> u64 {
    u64::from(cluster.0) << 16 | (a as u64) << 8 | b as u64
}

impl EtcdCluster {
    /// The cluster at time zero; its first events go to `out`.
    pub fn new(scenario: &Arc<Scenario>, id: EtcdId, seed: u64, options: Options, out: &mut EtcdOutbox<'_>) -> Self {
        let spec = &scenario.etcd[id];
        let n = spec.members.len();
        let heartbeat = spec.options.heartbeat_interval;
        let config = Config {
            election_ticks: spec.options.election_ticks(),
            spread_ticks: spec.options.election_spread_ticks(),
            election_heartbeats: (spec.options.election_timeout.as_nanos() / heartbeat.as_nanos()).max(1),
            pre_vote: spec.options.pre_vote,
            check_quorum: spec.options.check_quorum,
            max_inflight: spec.options.max_inflight,
            max_append_bytes: spec.options.max_append_bytes,
            #[cfg(feature = "planted-bugs")]
            bug: options.bug,
        };
        let settled = spec.initial_leader.is_some();
        let stands_by = |index: u8| stands_by(spec, index);
        let conf_state = initial_conf_state(spec);
        let members: Vec<Member> = (0u8..)
            .zip(&spec.members)
            .map(|(index, member)| {
                let content = member.initial.then(|| Box::new(initial_content(spec, conf_state, index)));
                let speed = scenario.volumes[member.volume].disk.clone();
                Member {
                    id: MemberId { cluster: id, index },
                    host: Network::host_of(member.node),
                    disk: Disk::new(speed, seed, u64::from(member.volume.0), content),
                    state: if stands_by(index) {
                        MemberState::Standby
                    } else if member.initial {
                        MemberState::Joined
                    } else {
                        MemberState::Future
                    },
                    learner: member.learner,
                    held_down: 0,
                    displaced: false,
                    listed: true,
                    managed: spec.managed,
                    halted: spec.managed && !member.initial,
                    joining: spec.managed && !member.initial,
                    join: Timer::new(),
                    process: Process::Down,
                    timers: [Timer::new(); PROCESS_TIMERS],
                    published: member.initial && settled && !stands_by(index),
                    read_rounds: 0,
                    lives: 0,
                }
            })
            .collect();
        let pairs = || (0..n).flat_map(|from| (0..n).map(move |to| (from, to)));
        let open = |index: usize| settled && spec.members[index].initial && !stands_by(index as u8);
        let mut cluster = Self {
            id,
            options: Arc::new(spec.options.clone()),
            config,
            stepping: options.stepping,
            seed,
            streams: pairs().map(|(a, b)| Stream::new(seed, entity(id, a, b), a != b && open(a) && open(b))).collect(),
            held: vec![Vec::new(); n * n],
            meters: vec![Meter::default(); n * n],
            ledger: Ledger::default(),
            before: Vec::new(),
            of_pod: spec.members.iter().map(|member| first_of_name(spec, &member.name)).collect(),
            in_step: vec![(0, 0); n * n],
            upkeep_since: vec![Time::ZERO; n * n],
            in_flight: Vec::new(),
            free_slots: Vec::new(),
            flying: 0,
            deliveries: 0,
            transfers: Vec::new(),
            transfers_begun: 0,
            quiescence: None,
            last_heartbeat: (0, 0),
            services: Services::default(),
            changes: Vec::new(),
            restore_phase: None,
            passive: spec.passive.as_ref().map(|p| Box::new(Passive::new(p, spec, seed, PASSIVE | u64::from(id.0)))),
            committed: spec.first_index(),
            recently_applied: Entries::default(),
            members,
        };
        for index in 0..n as u8 {
            if cluster.members[index as usize].state != MemberState::Joined {
                continue;
            }
            if settled {
                cluster.boot(index, Time::ZERO);
                out.record(EtcdRecord::MemberStarted(cluster.members[index as usize].id));
            } else {
                let (member, timer) = (&mut cluster.members[index as usize], ProcessTimer::Start);
                member.process = Process::Starting;
                let at = Time::ZERO + cluster.options.start_up;
                let generation = member.timers[timer as usize].arm(at);
                out.schedule(at, (id, EtcdEvent::Process { member: index, timer, generation }));
            }
        }
        cluster
    }

    /// Makes `leader` lead a settled cluster from time zero, as if elected long ago.
    pub fn start_warm(&mut self, spec: &EtcdClusterSpec, ctx: &mut EtcdCtx<'_>) {
        let Some(leader) = spec.initial_leader else { return };
        for index in 0..self.members.len() {
            if let Some(server) = self.members[index].process.server_mut() {
                server.raft.lead = Some(leader);
            }
        }
        for (index, member) in (0u8..).zip(&spec.members) {
            if let Some((revision, _)) = member.behind {
                let until = spec.first_index();
                self.server_mut(index).behind = Some((ctx.now, until, until - revision));
            }
        }
        let behind: Vec<Option<u64>> = spec.members.iter().map(|member| member.behind.map(|(revision, _)| revision)).collect();
        let server = self.server_mut(leader);
        server.raft.start_as_leader(&behind);
        self.after(leader, ctx);
        for index in 0..self.members.len() as u8 {
            if self.members[index as usize].process.serves() {
                self.after(index, ctx);
            }
        }
    }

    /// Starts a member's process from its disk, in memory only.
    pub(super) fn boot(&mut self, index: u8, now: Time) {
        let slots = self.members.len();
        let id = entity(self.id, index as usize, 0xFF);
        let member = &mut self.members[index as usize];
        let content = member.disk.content.take().expect("a process starts from a disk with data");
        let heartbeat = self.options.heartbeat_interval;
        // The phase of a process's clock is drawn anew at each start.
        let life = member.lives;
        member.lives += 1;
        let phase = Draws::new(self.seed, Purpose::TickPhase, id).draw(life).below(heartbeat.as_nanos());
        let heartbeat_clock = Clock::new(heartbeat, Duration::from_nanos(phase), now);
        let ticks = Clock::new(self.options.tick, Duration::from_nanos(phase % self.options.tick.as_nanos()), now);
        let timeouts = Draws::new(self.seed, Purpose::ElectionTimeout, id);
        let state = (content.term, content.vote);
        #[cfg(feature = "planted-bugs")]
        let state = if self.config.bug == Some(crate::raft::PlantedBug::ForgetVote) { (state.0, None) } else { state };
        let raft = crate::raft::Raft::new(
            index,
            slots,
            self.config,
            state,
            content.log,
            content.conf_state,
            ticks,
            timeouts,
            content.timeouts_drawn,
        );
        member.published = true;
        member.process = Process::Serving(Box::new(Server {
            timer_draws: raft.timeouts_drawn(),
            raft,
            heartbeat_clock,
            write: None,
            written: state,
            synced: state,
            missed_tick: false,
            writes: Writes::default(),
            backend: Backend::new(now),
            cores: Cores::new(self.options.cost.cores),
            apply_free: now,
            waiting: VecDeque::new(),
            reads: Reads::default(),
            watchers: Vec::new(),
            seen: None,
            behind: None,
            stopping: None,
            peer_checks: 0,
            database_bytes: content.database_bytes,
            snapshot_index: content.snapshot_index,
            keeps_entries_until: now,
        }));
    }

    /// The process of a member that is known to serve.
    pub(super) fn server_mut(&mut self, index: u8) -> &mut Server {
        self.members[index as usize].process.server_mut().expect("its process serves")
    }

    /// The process of a member, if it serves.
    pub fn server(&self, index: u8) -> Option<&Server> {
        self.members[index as usize].process.server()
    }

    pub(super) fn host(&self, index: u8) -> HostId {
        self.members[index as usize].host
    }

    /// Handles an event.
    pub fn handle(&mut self, event: EtcdEvent, ctx: &mut EtcdCtx<'_>) {
        match event {
            EtcdEvent::Deliver { slot, delivery } => self.deliver(slot, delivery, ctx),
            EtcdEvent::Process { member, timer, generation } => {
                if self.members[member as usize].timers[timer as usize].fires(generation) {
                    self.process_timer(member, timer, ctx);
                }
            }
            EtcdEvent::Stream { stream, generation } => self.stream_timer(stream as usize, generation, ctx),
            EtcdEvent::Chunk(transfer) => self.chunk(transfer, ctx),
            EtcdEvent::ChangesDue => self.changes_due(ctx),
            EtcdEvent::JoinStep { member, generation } => self.join_step(member, generation, ctx),
            EtcdEvent::Passive { timer, generation } => self.fire_timer(timer, generation, ctx),
            EtcdEvent::Request(_) | EtcdEvent::Work { .. } => unreachable!("the run loop adds the operation"),
        }
    }

    /// What a member's process has waited for has come. (Timers of a process end with it.)
    fn process_timer(&mut self, member: u8, timer: ProcessTimer, ctx: &mut EtcdCtx<'_>) {
        match timer {
            ProcessTimer::Start => match self.members[member as usize].process {
                Process::Starting => self.started(member, ctx),
                Process::Restoring => self.fetched(member, ctx),
                Process::Down | Process::Serving(_) => unreachable!("only a process that starts waits for its start"),
            },
            ProcessTimer::HeartbeatTick => self.heartbeat_tick(member, ctx),
            ProcessTimer::Election => self.election_timer(member, ctx),
            ProcessTimer::AdjustTicks => self.adjust_ticks(member, ctx),
            ProcessTimer::Synced => self.synced(member, ctx),
            ProcessTimer::Commit => self.commit(member, ctx),
            ProcessTimer::Committed => self.committed(member, ctx),
            ProcessTimer::ReadRetry => self.retry_read(member, ctx),
            ProcessTimer::Stopping => self.stopping(member, ctx),
        }
    }

    /// The member that leads: of those that think so, the one of the highest term.
    pub fn leader(&self) -> Option<u8> {
        let in_place = self.members.iter().filter(|member| !member.displaced);
        let leaders = in_place.filter_map(|member| member.process.server().filter(|server| server.is_leader()));
        leaders.max_by_key(|server| server.raft.term).map(|server| server.raft.me)
    }
}

fn first_of_name(spec: &EtcdClusterSpec, name: &str) -> u8 {
    spec.members.iter().position(|member| member.name == name).expect("it is one of them") as u8
}

/// Whether a member stands by at the start, with what a backup bucket holds.
fn stands_by(spec: &EtcdClusterSpec, index: u8) -> bool {
    spec.passive.as_ref().is_some_and(|passive| passive.backup.is_some() && index != passive.primary)
}

/// Active-passive clusters among the random draws.
const PASSIVE: u64 = 1 << 48;

fn initial_conf_state(spec: &EtcdClusterSpec) -> ConfState {
    let select = |learner: bool| -> Members {
        let members = (0u8..).zip(&spec.members).filter(|(index, _)| !stands_by(spec, *index));
        members.filter(|(_, m)| m.initial && m.learner == learner).map(|(index, _)| index).collect()
    };
    ConfState { quorum: Quorum::majority(select(false)), learners: select(true) }
}

/// What a member's disk holds at the start: everything committed, applied and (but for what slow followers may need) compacted.
fn initial_content(spec: &EtcdClusterSpec, conf_state: ConfState, index: u8) -> Persisted {
    let (revision, database_bytes) = spec.members[index as usize].behind.unwrap_or((spec.first_index(), spec.database_bytes));
    // An empty log ends at index 0 in term 0.
    let term = u64::from(revision > 0);
    Persisted {
        term: u64::from(spec.first_index() > 0),
        vote: spec.initial_leader,
        // Every history has the same hash at the same index: they are histories of one cluster.
        log: Log::compacted(revision, term, revision),
        conf_state,
        database_bytes,
        snapshot_index: revision,
        timeouts_drawn: 0,
    }
}
