//! Who has a vote: the scenario's first members, then every change of membership as the leader applies it.

use crate::etcd::passive::PassiveRecord;
use crate::ids::{EtcdId, MemberId};
use crate::record::{ClientRecord, EtcdRecord, RaftRecord, Record};
use crate::scenario::{EtcdClusterSpec, MemberChange};

/// The voters of one cluster.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Voters {
    votes: Vec<bool>,
    learners: Vec<bool>,
}

impl Voters {
    /// The voters at the start.
    pub fn new(cluster: &EtcdClusterSpec) -> Self {
        let passive = cluster.passive.as_ref();
        let stands_by = |index: usize| passive.is_some_and(|passive| usize::from(passive.primary) != index);
        let votes = (0..).zip(&cluster.members).map(|(k, m)| m.initial && !m.learner && !stands_by(k)).collect();
        // In an active-passive cluster whoever comes (back) stands by.
        Self { votes, learners: cluster.members.iter().map(|m| m.learner || passive.is_some()).collect() }
    }

    /// Takes note of a change that was applied. Only records of this voter's cluster may be given.
    pub fn record(&mut self, record: &Record) {
        if let Record::Etcd(EtcdRecord::Membership { change, refused: None }) = record {
            match change {
                MemberChange::Add(m) => self.votes[m.index as usize] = !self.learners[m.index as usize],
                MemberChange::Promote(m) => self.votes[m.index as usize] = true,
                MemberChange::Remove(m) => self.votes[m.index as usize] = false,
            }
        } else if let Record::Etcd(EtcdRecord::Passive(_, PassiveRecord::Forked { member, .. })) = record {
            self.votes.fill(false);
            self.votes[*member as usize] = true;
        }
    }

    /// Whether this member has a vote.
    pub fn has(&self, member: MemberId) -> bool {
        self.votes[member.index as usize]
    }

    /// Number of voters.
    pub fn count(&self) -> usize {
        self.votes.iter().filter(|v| **v).count()
    }

    /// Voters that make a majority.
    pub fn majority(&self) -> usize {
        self.count() / 2 + 1
    }

    /// Indices of the voters in the cluster's list of members.
    pub fn iter(&self) -> impl Iterator<Item = usize> + '_ {
        (0..self.votes.len()).filter(|&i| self.votes[i])
    }
}

/// The cluster a record is about, if it is about one.
pub fn cluster_of(record: &Record) -> Option<EtcdId> {
    match record {
        Record::Etcd(
            EtcdRecord::Availability { cluster, .. }
            | EtcdRecord::AvailabilityFrom { cluster, .. }
            | EtcdRecord::ConnectedVoters { cluster, .. }
            | EtcdRecord::DataLost { cluster, .. }
            | EtcdRecord::AlarmDisarmed(cluster)
            | EtcdRecord::Maintenance { cluster, .. }
            | EtcdRecord::Passive(cluster, _),
        ) => Some(*cluster),
        _ => member_of(record).map(|member| member.cluster),
    }
}

/// The member a record is about, if it is about one.
pub fn member_of(record: &Record) -> Option<MemberId> {
    Some(*match record {
        Record::Etcd(
            EtcdRecord::MemberStarted(member)
            | EtcdRecord::MemberStopped { member, .. }
            | EtcdRecord::MemberRefused { member, .. }
            | EtcdRecord::Campaign { member, .. }
            | EtcdRecord::Elected { member, .. }
            | EtcdRecord::SteppedDown { member, .. }
            | EtcdRecord::LeaderSeen { member, .. }
            | EtcdRecord::CaughtUp { member, .. }
            | EtcdRecord::PeerLost { from: member, .. }
            | EtcdRecord::PeerFound { from: member, .. }
            | EtcdRecord::SnapshotStarted { from: member, .. }
            | EtcdRecord::SnapshotFinished { from: member, .. }
            | EtcdRecord::MemberMoved { member, .. }
            | EtcdRecord::Backlog { member, .. }
            | EtcdRecord::SpaceExceeded { member, .. }
            | EtcdRecord::QuotaReached { member, .. }
            | EtcdRecord::Defragmented { member, .. }
            | EtcdRecord::Membership {
                change: MemberChange::Add(member) | MemberChange::Remove(member) | MemberChange::Promote(member),
                ..
            },
        )
        | Record::Client(
            ClientRecord::Request { member, .. } | ClientRecord::Connection { member, .. } | ClientRecord::Delayed { member, .. },
        ) => member,
        Record::Etcd(EtcdRecord::Raft(raft)) => return Some(member_in(raft)),
        Record::Etcd(
            EtcdRecord::Availability { .. }
            | EtcdRecord::AvailabilityFrom { .. }
            | EtcdRecord::ConnectedVoters { .. }
            | EtcdRecord::DataLost { .. }
            | EtcdRecord::AlarmDisarmed(_)
            | EtcdRecord::Maintenance { .. }
            | EtcdRecord::Passive(..),
        )
        | Record::FaultStarted(_)
        | Record::FaultEnded(_)
        | Record::NodePower { .. }
        | Record::Kube(..)
        | Record::Access(..)
        | Record::Gardener(..)
        | Record::Rollout(..) => return None,
    })
}

fn member_in(raft: &RaftRecord) -> MemberId {
    match raft {
        RaftRecord::HardState { member, .. }
        | RaftRecord::Promised { member, .. }
        | RaftRecord::Led { member, .. }
        | RaftRecord::Appended { member, .. }
        | RaftRecord::Truncated { member, .. }
        | RaftRecord::Restored { member, .. }
        | RaftRecord::Flowed { member, .. }
        | RaftRecord::Committed { member, .. }
        | RaftRecord::Applied { member, .. }
        | RaftRecord::Wiped { member } => *member,
    }
}
