//! The virtual probe: which services a cluster offers at this moment (the definition stands in `observe::availability`).
//!
//! No message is sent: the probe asks the state whether a request made now, by a client that may try every member, would be served
//! without waiting for an election, a reconnection or the end of a fault, and how long the path takes at its typical delays.

use crate::availability::{ASKED, ConnectedVoters};
use crate::cluster::EtcdCluster;
use crate::ctx::EtcdCtx;
use crate::member::{Member, MemberState, Server};
use crate::record::{EtcdRecord, Service};
use smallvec::SmallVec;
use zonefall_kernel::time::Duration;
use zonefall_network::Network;
use zonefall_network::vantage::Change;
use zonefall_scenario::{Probe, Vantage};

/// What a request asks of the member that takes it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum RequestKind {
    /// To read what this member has applied.
    SerializableRead,
    /// To read what a majority has committed.
    LinearizableRead,
    /// To write.
    Write,
}

impl RequestKind {
    /// What API servers ask: to write, or to read what is committed.
    pub const fn of_api(writes: bool) -> Self {
        if writes { Self::Write } else { Self::LinearizableRead }
    }
}

impl EtcdCluster {
    /// Looks at every service and tells what has changed.
    pub fn probe(&mut self, probe: Probe, ctx: &mut EtcdCtx<'_>) {
        let cluster = self.id;
        let connected_voters = self.connected_voters(ctx.net);
        let quorum = connected_voters.left() >= 0;
        if std::mem::replace(&mut self.services.quorum, quorum) != quorum {
            ctx.record(EtcdRecord::Availability { cluster, service: Service::Quorum, up: quorum });
        }
        let kinds = [RequestKind::Write, RequestKind::LinearizableRead, RequestKind::SerializableRead];
        let answers = kinds.map(|kind| self.answers(kind, ctx.net));
        let mut views = std::mem::take(&mut self.services.views);
        let have = |vantage: Vantage| {
            let in_time = |&(index, time): &(u8, Duration)| {
                self.is_asked_from(vantage, index, ctx.net)
                    && ctx.net.reach_from(vantage, self.host(index)).is_some_and(|way| way + time <= probe.deadline)
            };
            answers.each_ref().map(|answers| answers.iter().any(in_time))
        };
        let vantages = self.vantages(ctx.net);
        let changes = views.look(probe, vantages, ctx.net, have);
        self.services.views = views;
        for change in changes {
            ctx.record(match change {
                Change::Counted { service, has: up } => EtcdRecord::Availability { cluster, service: ASKED[service], up },
                Change::Apart { from, service, has: up } => {
                    EtcdRecord::AvailabilityFrom { cluster, from, service: ASKED[service], up }
                }
            });
        }
        if std::mem::replace(&mut self.services.connected_voters, connected_voters) != connected_voters {
            let ConnectedVoters { connected, voters } = connected_voters;
            ctx.record(EtcdRecord::ConnectedVoters { cluster: self.id, connected, voters });
        }
    }

    /// The most voters that some running voter reaches among those that run.
    fn connected_voters(&self, net: &Network) -> ConnectedVoters {
        let runs = |index: u8| self.responsive(index).is_some();
        let of = |server: &Server| {
            let (me, voters) = (server.raft.me, server.raft.conf_state.quorum.voters());
            let reached = |other: &u8| *other == me || (runs(*other) && net.is_open(self.host(me), self.host(*other)));
            let connected = voters.iter().filter(reached).count() as u8;
            voters.contains(me).then_some(ConnectedVoters { connected, voters: voters.len() as u8 })
        };
        let none = ConnectedVoters { connected: 0, voters: self.services.connected_voters.voters };
        let in_service = (0..self.members.len() as u8).filter(|&index| self.is_in_service(index));
        let servers = in_service.filter_map(|index| self.responsive(index));
        servers.filter_map(of).max_by_key(|connected_voters| connected_voters.left()).unwrap_or(none)
    }

    /// From where clients use it: its members are there.
    pub fn vantages(&self, net: &Network) -> Vec<Vantage> {
        let there = |member: &&Member| matches!(member.state, MemberState::Joined | MemberState::Standby);
        net.vantages(self.members.iter().filter(there).map(|member| member.host))
    }

    /// The members that answer those who ask them, and how long each takes over a request that has reached it.
    fn answers(&self, kind: RequestKind, net: &Network) -> Vec<(u8, Duration)> {
        let answer = |index: u8| Some((index, self.time_of(index, kind, net)?));
        (0..self.members.len() as u8).filter_map(answer).collect()
    }

    /// Whether a member has a vote and a leader.
    pub fn serves_as_voter(&self, index: u8) -> bool {
        let member = &self.members[index as usize];
        let led = |server: &Server| server.raft.lead.is_some();
        member.state == MemberState::Joined && !member.learner && self.responsive(index).is_some_and(led)
    }

    /// Whether what a member's container is there for goes on: its process serves, or it stands by.
    pub fn is_ready(&self, index: u8) -> bool {
        self.responsive(index).is_some() || self.has_restored(index)
    }

    /// How long a member that clients are sent to takes over a request that has reached it now; `None`: it does not answer.
    pub fn time_at(&self, index: u8, kind: RequestKind, net: &Network) -> Option<Duration> {
        self.time_of(index, kind, net).filter(|_| self.is_in_service(index))
    }

    /// The same of any member.
    fn time_of(&self, index: u8, kind: RequestKind, net: &Network) -> Option<Duration> {
        let server = self.responsive(index)?;
        if !server.serves_clients || self.members[index as usize].is_defragmenting() {
            return None;
        }
        if kind == RequestKind::SerializableRead {
            return Some(Duration::ZERO);
        }
        if server.raft.conf_state.learners.contains(index) {
            return None;
        }
        let leader = server.raft.lead?;
        if kind == RequestKind::Write && self.would_refuse_writes(server, leader) {
            return None;
        }
        let to_leader = if leader == index { Duration::ZERO } else { self.connected(index, leader, net)? };
        Some(to_leader + self.quorum_time(leader, kind == RequestKind::Write, net)?)
    }

    /// How long `leader` takes to hear a quorum (and, for a write, to have it on disk); `None`: it does not lead, does not know yet how
    /// far its log is committed, or hears no quorum.
    fn quorum_time(&self, leader: u8, write: bool, net: &Network) -> Option<Duration> {
        let server = self.responsive(leader).filter(|server| server.is_leader() && server.raft.has_committed_in_term())?;
        if write && !server.raft.conf_state.members().contains(leader) {
            return None; // removed: takes no proposals
        }
        let sync = |index: u8| if write { self.members[index as usize].disk.typical_sync() } else { Duration::ZERO };
        let voters = server.raft.conf_state.quorum.voters();
        let mut times: SmallVec<[Duration; 8]> = voters
            .iter()
            .filter(|&index| index != leader)
            .filter_map(|index| Some(self.connected(leader, index, net)? + sync(index)))
            .collect();
        times.sort_unstable();
        // The leader tells nobody before its own disk has the entry.
        let followers = voters.len() / 2;
        if followers == 0 { Some(sync(leader)) } else { Some(times.get(followers - 1)?.max(&sync(leader)).to_owned()) }
    }

    /// Whether a member's process has come so far that it serves clients.
    pub fn serves_clients(&self, index: u8) -> bool {
        self.server(index).is_some_and(|server| server.serves_clients)
    }

    /// Whom a member follows, itself where it leads.
    pub fn follows(&self, index: u8) -> Option<u8> {
        self.server(index)?.raft.lead
    }

    /// Whether a member of the cluster hears what `leader` sends to all.
    pub fn receives_heartbeats(&self, leader: u8, index: u8, net: &Network) -> bool {
        self.server(leader).is_some_and(|server| server.raft.conf_state.members().contains(index))
            && self.connected(leader, index, net).is_some()
    }

    /// Time there and back between two members whose streams are open both ways.
    fn connected(&self, a: u8, b: u8, net: &Network) -> Option<Duration> {
        let open = |index: usize| self.streams[index].reader_open && self.streams[index].writer_open;
        let (host_a, host_b) = (self.host(a), self.host(b));
        let both = self.responsive(b).is_some() && open(self.stream_index(a, b)) && open(self.stream_index(b, a));
        (both && net.is_open(host_a, host_b)).then(|| net.round_trip(host_a, host_b))
    }
}
