//! Which member a request asks.

use crate::client::{Client, ClientCtx};
use crate::etcd::cluster::EtcdCluster;
use crate::etcd::member::MemberState;
use crate::etcd::raft::quorum::Members;
use crate::scenario::{Op, Target};

impl Client {
    /// Whether a member is in the cluster and serves what this client asks: learners answer serializable ranges only.
    fn may_send(&self, cluster: &EtcdCluster, index: u8) -> bool {
        let member = &cluster.members[index as usize];
        let of_learners = matches!(self.spec.op, Op::Range { linearizable: false, .. });
        self.endpoint.is_none_or(|endpoint| endpoint == index)
            && member.state == MemberState::Joined
            && (of_learners || !member.learner)
    }

    /// Members that a request may ask: those whose connections are open, or all where none is.
    fn usable(&self, cluster: &EtcdCluster) -> Members {
        let all: Members = (0..cluster.members.len() as u8).filter(|&index| self.may_send(cluster, index)).collect();
        let open: Members = all.iter().filter(|&index| !self.is_closed(index)).collect();
        if open.is_empty() { all } else { open }
    }

    /// Hears who serves, if whoever says so reaches it. API servers always do: a Kubernetes cluster has one store here.
    pub(super) fn look_up(&mut self, ctx: &ClientCtx<'_>) {
        if self.spec.server.is_some() || ctx.cluster.announces_switchover(self.host, ctx.net) {
            self.endpoint = ctx.cluster.endpoint();
        }
    }

    /// The member it asks first: its target, or, where that connection is closed, the others in turn.
    pub(super) fn first_member(&mut self, ctx: &ClientCtx<'_>) -> u8 {
        self.look_up(ctx);
        let cluster = &ctx.cluster;
        if let Some(endpoint) = self.endpoint
            && !matches!(self.spec.target, Target::Member(_))
        {
            return endpoint;
        }
        let members = self.usable(cluster);
        let wanted = match self.spec.target {
            Target::Leader => cluster.leader(),
            Target::Follower => members.iter().find(|&index| Some(index) != cluster.leader()),
            Target::Member(index) => Some(index),
            Target::Nearest => {
                let delay = |index: &u8| ctx.net.round_trip(self.host, cluster.members[*index as usize].host);
                members.iter().min_by_key(delay)
            }
            Target::All => None,
        };
        // One that names a member and tries no other has no other endpoint.
        let is_bound = self.spec.retries == 0 && matches!(self.spec.target, Target::Member(_));
        wanted.filter(|&index| is_bound || !self.is_closed(index)).unwrap_or_else(|| self.in_turn(members))
    }

    fn in_turn(&mut self, members: Members) -> u8 {
        let count = members.len().max(1);
        let member = members.iter().nth(self.turn as usize % count).unwrap_or(0);
        self.turn = self.turn.wrapping_add(1) % (count as u8);
        member
    }

    /// The next member that a request asks, after one that did not answer.
    pub(super) fn next_member(&self, after: u8, ctx: &ClientCtx<'_>) -> u8 {
        let (usable, count) = (self.usable(ctx.cluster), ctx.cluster.members.len() as u8);
        (1..=count).map(|step| (after + step) % count).find(|&index| usable.contains(index)).unwrap_or(after)
    }
}
