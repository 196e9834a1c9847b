//! How a cluster starts with a run, and how a member's process starts from its disk (`etcdserver/bootstrap.go`).

use std::collections::VecDeque;
use std::sync::Arc;

use crate::Options;
use crate::availability::Services;
use crate::backend::Backend;
use crate::backlog;
use crate::cluster::EtcdCluster;
use crate::codec::upkeep;
use crate::cost::Cores;
use crate::ctx::{EtcdCtx, EtcdOutbox};
use crate::database::Database;
use crate::disk::{Disk, Persisted};
use crate::event::{EtcdEvent, PROCESS_TIMERS, ProcessTimer};
use crate::flow::Flow;
use crate::member::{Member, MemberState, Process, Reads, Server};
use crate::passive::Passive;
use crate::pipeline::Pipeline;
use crate::raft::clock::Clock;
use crate::raft::entries::Entries;
use crate::raft::log::Log;
use crate::raft::quorum::{Members, Quorum};
use crate::raft::{ConfState, Config};
use crate::record::EtcdRecord;
use crate::volume::Writes;
use zonefall_kernel::rng::{Purpose, Stream as Draws};
use zonefall_kernel::time::{Duration, Time};
use zonefall_kernel::timer::Timer;
use zonefall_network::Network;
use zonefall_network::ledger::Ledger;
use zonefall_network::meter::Meter;
use zonefall_network::stream::Stream;
use zonefall_scenario::ids::{EtcdId, MemberId};
use zonefall_scenario::{EtcdClusterSpec, Scenario};

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
                    pause: None,
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
            pipelines: vec![Pipeline::default(); n * n],
            held: vec![Vec::new(); n * n],
            least_told: backlog::least(scenario.probe.deadline),
            told: vec![Default::default(); n * n],
            meters: vec![Meter::default(); n * n],
            ledger: Ledger::default(),
            before: Vec::new(),
            of_pod: spec.members.iter().map(|member| first_of_name(spec, &member.name)).collect(),
            in_step: vec![(0, 0); n * n],
            upkeep_since: vec![Time::ZERO; n * n],
            kept_alive: upkeep::wire_per_20s(scenario.network.tls, scenario.network.certificate_bytes),
            in_flight: Vec::new(),
            free_slots: Vec::new(),
            flying: 0,
            deliveries: 0,
            transfers: Vec::new(),
            transfers_begun: 0,
            quiescence: None,
            flow: Flow::new(Draws::new(seed, Purpose::Phase, FLOW | u64::from(id.0))),
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

    /// Makes `leader` lead a settled cluster from time zero, as if elected long ago: where it is between two checks of its quorum is drawn.
    pub fn start_warm(&mut self, spec: &EtcdClusterSpec, ctx: &mut EtcdCtx<'_>) {
        let Some(leader) = spec.initial_leader else { return };
        for index in 0..self.members.len() {
            if let Some(server) = self.members[index].process.server_mut() {
                server.raft.lead = Some(leader);
                server.serves_clients = true;
            }
        }
        for (index, member) in (0u8..).zip(&spec.members) {
            if let Some((revision, _)) = member.behind {
                let until = spec.first_index();
                self.fell_behind(index, until, until - revision, ctx.now);
            }
        }
        let behind: Vec<Option<u64>> = spec.members.iter().map(|member| member.behind.map(|(revision, _)| revision)).collect();
        let phases = Draws::new(self.seed, Purpose::Phase, CHECK_QUORUM | entity(self.id, usize::from(leader), 0xFF));
        let heartbeats = phases.draw(0).below(self.config.election_heartbeats);
        let server = self.server_mut(leader);
        server.raft.start_as_leader(&behind);
        server.raft.heartbeats = heartbeats;
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
        let joined = (0u8..).zip(&self.members).filter(|(_, member)| member.state == MemberState::Joined);
        let told: Members = joined.map(|(other, _)| other).collect();
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
        let known = content.conf_state.members();
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
            known: if content.has_wal { known } else { told },
            has_wal: content.has_wal,
            heartbeat_clock,
            write: None,
            written: state,
            synced: state,
            missed_tick: false,
            writes: Writes::default(),
            backend: Backend::new(now),
            to_apply: 0,
            cores: Cores::new(self.options.cost.cores),
            apply_free: now,
            serves_clients: false,
            callers: Vec::new(),
            waiting: VecDeque::new(),
            reads: Reads::default(),
            watchers: Vec::new(),
            seen: None,
            behind: None,
            stopping: None,
            peer_checks: 0,
            database: content.database,
            snapshot_index: content.snapshot_index,
            keeps_entries_until: now,
            told: Default::default(),
            alarm_raised: None,
        }));
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
/// What flows among the random draws.
const FLOW: u64 = 1 << 50;
/// Leaders' checks of their quorum among the random draws.
const CHECK_QUORUM: u64 = 1 << 49;

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
        database: Database::new(database_bytes),
        snapshot_index: revision,
        timeouts_drawn: 0,
        has_wal: true,
    }
}
