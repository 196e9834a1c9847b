//! A quiescent group: its members, what its heartbeats carry, and what a member may not be doing to belong to it.

use crate::codec::Writes;
use crate::member::Server;
use crate::raft::Role;
use crate::raft::message::Message;
use crate::raft::quorum::Members;
use zonefall_kernel::time::Time;
use zonefall_network::ledger::Volume;
use zonefall_network::wire::Burst;

/// A quiescent group.
#[derive(Clone, Copy, Debug)]
pub(super) struct Quiescence {
    /// The first beat that was not simulated.
    pub(super) since: Time,
    pub(super) leader: u8,
    pub(super) followers: Members,
}

/// A heartbeat, and its answer, as every beat sends them while the group is quiescent: to the follower, and back.
pub(super) struct HeartbeatRound {
    pub(super) streams: [usize; 2],
    pub(super) messages: [Message; 2],
    pub(super) writes: [Writes; 2],
    pub(super) bursts: [Burst; 2],
}

impl HeartbeatRound {
    /// What the stream of one way carries when so many are sent each way: its messages, and ACKs of the others.
    pub(super) fn carried(&self, way: usize, sent: [u64; 2]) -> Volume {
        let (own, other) = (sent[way], sent[1 - way]);
        let wire = self.bursts[way] * own + self.bursts[1 - way].acks() * other;
        Volume { count: own, bytes: self.writes[way].bytes * own, wire }
    }
}

/// No request of a client is under way here.
pub(super) fn is_idle(server: &Server) -> bool {
    server.waiting.is_empty() && server.reads.context == 0 && server.stopping.is_none() && server.behind.is_none()
}

/// It writes nothing, either.
pub(super) fn is_quiet(server: &Server) -> bool {
    is_idle(server) && server.write.is_none()
}

/// It follows this leader, perhaps with what flows under way.
pub(super) fn is_following(server: &Server, leader: &Server) -> bool {
    is_idle(server)
        && server.raft.role == Role::Follower
        && server.raft.lead == Some(leader.raft.me)
        && server.raft.term == leader.raft.term
}

/// It follows this leader, has all that it has, and nothing to say or to write.
pub(super) fn is_quiet_follower(server: &Server, leader: &Server) -> bool {
    let (log, last) = (&server.raft.log, leader.raft.log.last());
    is_following(server, leader)
        && is_quiet(server)
        && [log.last(), log.committed, log.applied, log.stable] == [last; 4]
        && !server.must_sync()
        && server.raft.out.messages.is_empty()
}
