//! One etcd cluster: its members, the streams between them, and what is under way.
//!
//! What happens to it is in files of their own, each an `impl EtcdCluster` for one concern: [`bootstrap`](super::bootstrap) (its start,
//! and that of a process), [`ready`](super::ready) (raft, disk and apply), [`backend_commit`](super::backend_commit),
//! [`serve`](super::serve) (clients' requests), [`transport`](super::transport) (streams), [`post`](super::post) (POSTs), [`lifecycle`](super::lifecycle) (processes
//! and volumes), [`place`](super::place) (hosts), [`snapshot`](super::snapshot), [`membership`](super::membership),
//! [`identity`](super::identity) (newcomers), [`quiescence`](super::quiescence) (heartbeats that need no events), [`flowing`](super::flowing) (writes that need none),
//! [`space`](super::space) (the quota, and work on databases), [`service`](super::service) (the virtual probe), [`failover`](super::failover) (active-passive pairs) and
//! [`migration`](super::migration) (to another seed). [`dispatch`](super::dispatch) says which of them handles which event.

use std::sync::Arc;

use crate::availability::Services;
use crate::backlog::Told;
use crate::ctx::EtcdCtx;
use crate::flow::Flow;
use crate::member::{Member, Server};
use crate::options::EtcdOptions;
use crate::passive::Passive;
use crate::peer::{Before, InFlight, Transfer};
use crate::pipeline::Pipeline;
use crate::quiescent_group::Quiescence;
use crate::raft::Config;
use crate::raft::entries::Entries;
use crate::reconfiguration::Pending;
use crate::record::{EtcdRecord, Part};
use crate::restore::RestorePhase;
use zonefall_kernel::periodic::Stepping;
use zonefall_kernel::time::{Duration, Time};
use zonefall_network::ledger::Ledger;
use zonefall_network::meter::Meter;
use zonefall_network::stream::Stream;
use zonefall_network::wire::Burst;
use zonefall_network::{HostId, Network};
use zonefall_scenario::ids::EtcdId;

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
    /// POSTs, like the streams.
    pub(super) pipelines: Vec<Pipeline>,
    /// Messages that wait for their path, by stream.
    pub(super) held: Vec<Vec<u32>>,
    /// The shortest wait that is told.
    pub(super) least_told: Duration,
    /// What was told of each stream's bandwidth and losses.
    pub(super) told: Vec<[Told; 2]>,
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
    /// What keeps one direction alive in 20 s, on the wire.
    pub(super) kept_alive: Burst,
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
    pub(super) flow: Flow,
    /// Last index (of what does not flow) and read round of the leader at its last beat: no rest while they move.
    pub(super) last_heartbeat: (u64, u64),
    pub(super) services: Services,
    pub(super) changes: Vec<Pending>,
    /// It is on its way to another seed.
    pub(super) restore_phase: Option<RestorePhase>,
    /// One of two members serves; `None`: a majority of the voters does.
    pub(super) passive: Option<Box<Passive>>,
    /// Largest index committed anywhere.
    pub committed: u64,
    /// The last entries that were applied anywhere, with when they first were.
    pub(super) recently_applied: Entries<(u64, Time)>,
}

impl EtcdCluster {
    /// The process of a member that is known to serve.
    pub(super) fn server_mut(&mut self, index: u8) -> &mut Server {
        self.members[index as usize].process.server_mut().expect("its process serves")
    }

    /// The process of a member, if it serves.
    pub fn server(&self, index: u8) -> Option<&Server> {
        self.members[index as usize].process.server()
    }

    /// Where a member runs.
    pub(super) fn host(&self, index: u8) -> HostId {
        self.members[index as usize].host
    }

    /// Number of the stream that carries what one member sends to another.
    pub(super) fn stream_index(&self, from: u8, to: u8) -> usize {
        from as usize * self.members.len() + to as usize
    }

    /// Sender and receiver of a stream.
    pub(super) fn ends(&self, stream: usize) -> (u8, u8) {
        ((stream / self.members.len()) as u8, (stream % self.members.len()) as u8)
    }

    /// Whether nothing passes on the path of a stream.
    pub(super) fn is_stream_blocked(&self, stream: usize, net: &Network) -> bool {
        let (from, to) = self.ends(stream);
        net.is_blocked(self.host(from), self.host(to))
    }

    /// What a part of a member's process was given now is done at `end`: tells it where that is long.
    pub(super) fn tell_backlog(&mut self, index: u8, part: Part, end: Time, ctx: &mut EtcdCtx<'_>) {
        let wait = end.max(ctx.now).since(ctx.now);
        let place = match part {
            Part::Log => 0,
            Part::Database => 1,
            Part::Cores => 2,
            Part::Apply => 3,
            Part::Card => 4,
            Part::TooFarBehind => 5,
            Part::Link(to) | Part::Loss(to) => {
                let stream = self.stream_index(index, to);
                let lost = usize::from(part == Part::Loss(to));
                if self.told[stream][lost].tells(ctx.now, wait, self.least_told) {
                    ctx.record(EtcdRecord::Backlog { member: self.members[index as usize].id, part, wait });
                }
                return;
            }
        };
        let (least, member) = (self.least_told, &mut self.members[index as usize]);
        if member.process.server_mut().is_some_and(|server| server.told[place].tells(ctx.now, wait, least)) {
            ctx.record(EtcdRecord::Backlog { member: member.id, part, wait });
        }
    }

    /// The member that leads: of those that think so, the one of the highest term.
    pub fn leader(&self) -> Option<u8> {
        let in_place = self.members.iter().filter(|member| !member.displaced);
        let leaders = in_place.filter_map(|member| member.process.server().filter(|server| server.is_leader()));
        leaders.max_by_key(|server| server.raft.term).map(|server| server.raft.me)
    }
}
