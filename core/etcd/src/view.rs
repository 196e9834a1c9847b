//! A cluster at one moment, as a picture shows it.

use serde::{Deserialize, Serialize};

use crate::cluster::EtcdCluster;
use crate::member::{Member, MemberState, Process};
use crate::peer::Transfer;
use crate::raft;
use crate::raft::message::Kind;
use crate::record::Service;
use zonefall_kernel::time::Time;
use zonefall_network::Network;
use zonefall_scenario::ids::MemberId;

/// A member now.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct MemberStatus {
    /// Member of the cluster.
    pub member: MemberId,
    /// Its role.
    pub role: Role,
    /// Its term.
    pub term: u64,
    /// Why its process does not serve; `None` where it does.
    pub down: Option<Down>,
    /// Last index of its log.
    pub last_index: u64,
    /// Committed, as it knows.
    pub committed: u64,
    /// Bytes of its database.
    pub database_bytes: u64,
}

/// Role of a member.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Role {
    /// Follows (or looks for) a leader.
    Follower,
    /// Asks whether it would win.
    PreCandidate,
    /// Asks for votes.
    Candidate,
    /// Leads its term.
    Leader,
    /// Follows without a vote.
    Learner,
    /// Not in the cluster: not yet added, or removed.
    Absent,
    /// Stands by with what a backup bucket holds; no etcd runs there.
    Standby,
}

impl From<raft::Role> for Role {
    fn from(role: raft::Role) -> Self {
        match role {
            raft::Role::Follower => Self::Follower,
            raft::Role::PreCandidate => Self::PreCandidate,
            raft::Role::Candidate => Self::Candidate,
            raft::Role::Leader => Self::Leader,
        }
    }
}

/// A cluster now.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct EtcdClusterView {
    /// Its members.
    pub members: Vec<MemberView>,
    /// Who leads: of those that think so, the one of the highest term.
    pub leader: Option<u8>,
    /// Services that the probe would find now.
    pub available: Vec<Service>,
    /// Members that can be lost, whichever they are, before no majority is left; `None` where there is none.
    pub failure_tolerance: Option<u8>,
    /// Messages between members that are under way, in the order they were sent (then by sender and receiver). Heartbeats of a group at rest are not among them:
    /// [`EtcdCluster::disable_quiescence`] brings them.
    pub messages: Vec<MessageView>,
    /// Databases under way.
    pub transfers: Vec<TransferView>,
}

/// A member now.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct MemberView {
    /// Role, term and log.
    pub status: MemberStatus,
    /// Whom it follows, itself included.
    pub follows: Option<u8>,
    /// When it would call an election if it heard nothing more; `None` where it leads, has no vote or does not serve.
    pub campaigns_at: Option<Time>,
    /// A write to its disk is under way.
    pub writing: bool,
    /// Entries it is behind the largest index applied anywhere.
    pub behind: u64,
}

/// Why a process does not serve.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Down {
    /// It is not in the cluster: not yet, or no more.
    Absent,
    /// A fault holds it (or its node) down.
    HeldDown,
    /// Its volume is not there, or is empty although the cluster knows the member.
    NoData,
    /// It is starting.
    Starting,
    /// No etcd runs there: it stands by with what a backup bucket holds.
    Standby,
}

/// A message under way.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct MessageView {
    /// Member that sent the message.
    pub from: u8,
    /// Member that receives the message.
    pub to: u8,
    /// What it is.
    pub kind: Kind,
    /// Its term.
    pub term: u64,
    /// Entries in it.
    pub entries: u32,
    /// Bytes of it, its frame included.
    pub bytes: u64,
    /// When it was written.
    pub sent: Time,
    /// When it arrives; `None` while it waits for a blocked path.
    pub arrives: Option<Time>,
}

/// A database under way to a follower.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct TransferView {
    /// Member that sends its database.
    pub from: u8,
    /// Member that receives it.
    pub to: u8,
    /// Bytes of the database.
    pub bytes: u64,
    /// Bytes that are still to be sent.
    pub left: u64,
}

/// Why a member's process does not serve.
fn down(member: &Member) -> Option<Down> {
    match (&member.process, member.state) {
        (Process::Serving(_), _) => None,
        (_, MemberState::Future | MemberState::Removed) => Some(Down::Absent),
        (_, MemberState::Standby) if member.held_down == 0 => Some(Down::Standby),
        (_, MemberState::Standby) => Some(Down::HeldDown),
        (Process::Starting | Process::Restoring, MemberState::Joined) => Some(Down::Starting),
        (Process::Down, MemberState::Joined) if member.held_down > 0 || member.halted || member.displaced => Some(Down::HeldDown),
        (Process::Down, MemberState::Joined) => Some(Down::NoData),
    }
}

impl EtcdCluster {
    /// Its members, in the scenario's order.
    pub fn statuses(&self, now: Time) -> impl Iterator<Item = MemberStatus> {
        self.members.iter().map(move |member| self.status(member, now))
    }

    fn status(&self, member: &Member, now: Time) -> MemberStatus {
        let (flowed, database) = self.flowed_into(member.id.index, now).unzip();
        let flowed = flowed.unwrap_or(0);
        let server = member.process.server();
        let disk = member.disk.content.as_deref();
        let role = match (member.state, server) {
            (MemberState::Future | MemberState::Removed, _) => Role::Absent,
            (MemberState::Standby, _) => Role::Standby,
            (MemberState::Joined, Some(server)) if server.raft.conf_state.learners.contains(member.id.index) => Role::Learner,
            (MemberState::Joined, Some(server)) => server.raft.role.into(),
            (MemberState::Joined, None) => Role::Follower,
        };
        let log = server.map(|server| &server.raft.log).or(disk.map(|disk| &disk.log));
        let term = server.map(|server| server.raft.term).or(disk.map(|disk| disk.term));
        let database = database.or(server.map(|server| server.database)).or(disk.map(|disk| disk.database));
        MemberStatus {
            member: member.id,
            role,
            term: term.unwrap_or(0),
            down: down(member),
            last_index: log.map_or(0, |log| log.last() + flowed),
            committed: log.map_or(0, |log| log.committed + flowed),
            database_bytes: database.map_or(0, |database| database.file_bytes),
        }
    }

    /// The cluster now; `status` is that of its members.
    pub fn view(&self, status: Vec<MemberStatus>, net: &Network) -> EtcdClusterView {
        let transfer = |transfer: &Transfer| TransferView {
            from: transfer.from,
            to: transfer.to,
            bytes: transfer.bytes(),
            left: transfer.left,
        };
        EtcdClusterView {
            members: self.members.iter().zip(status).map(|(member, status)| self.member_view(member, status)).collect(),
            leader: self.leader(),
            available: self.services.available().collect(),
            failure_tolerance: self.failure_tolerance(net),
            messages: self.messages_under_way(),
            transfers: self.transfers.iter().map(transfer).collect(),
        }
    }

    fn member_view(&self, member: &Member, status: MemberStatus) -> MemberView {
        let server = member.process.server();
        let may_campaign = server.filter(|server| server.raft.is_promotable() && !server.is_leader());
        MemberView {
            follows: server.and_then(|server| server.raft.lead),
            campaigns_at: may_campaign.map(|server| server.raft.clock.deadline(server.raft.timeout_ticks)),
            writing: server.is_some_and(|server| server.write.is_some()),
            behind: if status.role == Role::Absent { 0 } else { self.committed.saturating_sub(status.last_index) },
            status,
        }
    }

    /// Members that can be lost before no voter reaches a majority.
    fn failure_tolerance(&self, net: &Network) -> Option<u8> {
        let runs = |index: u8| self.responsive(index).is_some();
        let reach = |index: u8| {
            let voters = self.responsive(index)?.raft.conf_state.quorum.voters();
            let heard = |other: &u8| runs(*other) && (*other == index || net.is_open(self.host(index), self.host(*other)));
            let group = voters.iter().filter(heard).count();
            voters.contains(index).then_some(group)?.checked_sub(voters.len() / 2 + 1)
        };
        (0..self.members.len() as u8)
            .filter(|&index| self.is_in_service(index))
            .filter_map(reach)
            .max()
            .map(|failure_tolerance| failure_tolerance as u8)
    }

    fn messages_under_way(&self) -> Vec<MessageView> {
        let under_way = self.in_flight.iter().filter_map(|flight| {
            let message = flight.message.as_ref()?;
            Some(MessageView {
                from: message.from,
                to: message.to,
                kind: message.kind,
                term: message.term,
                entries: message.entries.len() as u32,
                bytes: flight.writes.bytes,
                sent: flight.sent,
                arrives: flight.arrives,
            })
        });
        let mut messages: Vec<_> = under_way.collect();
        messages.sort_by_key(|m| (m.sent, m.from, m.to, m.arrives, m.bytes, m.kind as u8));
        messages
    }
}
