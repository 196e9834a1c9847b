//! An etcd cluster of a scenario: its members, its state at the start, and how operators change its membership.

use crate::ids::{EtcdId, MemberId, NodeId, VolumeId};
use crate::options::EtcdOptions;
use zonefall_kernel::time::Time;
use zonefall_kernel::traced;

/// An etcd cluster.
#[derive(Clone, Debug, PartialEq)]
pub struct EtcdClusterSpec {
    /// Its name, unique in the scenario.
    pub name: String,
    /// Timers, sizes and raft options.
    pub options: EtcdOptions,
    /// The first leader: the run starts with a settled cluster. `None`: the members start at time zero and elect one.
    pub initial_leader: Option<u8>,
    /// Log index (and revision) every member has committed and applied at the start.
    pub revision: u64,
    /// Size of the database at the start, in bytes.
    pub database_bytes: u64,
    /// Its members' processes are containers of pods (see [`Role::Etcd`](crate::kube::Role::Etcd)): they run while their pods do.
    pub managed: bool,
    /// Only one of its two members serves at a time; `None`: a majority of the voters does.
    pub passive: Option<crate::passive::ActivePassive>,
    /// Members, those of [`Operation`]s that add one included.
    pub members: Vec<Member>,
}

/// A member of an etcd cluster.
#[derive(Clone, Debug, PartialEq)]
pub struct Member {
    /// Its name; unique among the members that are in the cluster at one time.
    pub name: String,
    /// The node its process runs on; of one that is a container, at the start (and nothing but a place holder for one that joins later).
    pub node: NodeId,
    /// Where its data is.
    pub volume: VolumeId,
    /// Without a vote (from the start, or when added).
    pub learner: bool,
    /// In the cluster from the start; otherwise an operation adds it.
    pub initial: bool,
    /// Starts behind the cluster: its own revision and database size in bytes.
    pub behind: Option<(u64, u64)>,
}

/// Work of an operator on a cluster's membership.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Operation {
    /// When it is asked for.
    pub at: Time,
    /// What is asked, of whichever member leads then.
    pub change: MemberChange,
}

/// Work of an operator on the databases of a cluster.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct MaintenanceOperation {
    /// When it is asked for.
    pub at: Time,
    /// Whose databases.
    pub cluster: EtcdId,
    /// What is asked.
    pub task: Maintenance,
}

/// What an operator asks of the databases of a cluster.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Maintenance {
    /// Drop all superseded revisions (`etcdctl compact`, to the current revision).
    Compact,
    /// Rewrite the file of this member without its free pages (`etcdctl defrag`).
    Defragment(MemberId),
    /// Let members write again (`etcdctl alarm disarm`).
    DisarmAlarm,
}

traced! { enum Maintenance { Compact = 0, Defragment(member) = 1, DisarmAlarm = 2 } }

/// A change of membership, one at a time as etcd does it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum MemberChange {
    /// Add this member (its `initial` is false) and start it once the change is committed.
    Add(MemberId),
    /// Remove it.
    Remove(MemberId),
    /// Give a learner its vote.
    Promote(MemberId),
}

impl EtcdClusterSpec {
    /// Where every log ends at the start: a settled cluster has at least its leader's first, empty entry.
    pub fn first_index(&self) -> u64 {
        self.revision.max(u64::from(self.initial_leader.is_some()))
    }

    /// The member that a pod of the cluster is: it is another with each of its volumes, of which `volumes` came before. (Members of one
    /// name take turns.) `None`: there are no more.
    pub fn of_pod(&self, ordinal: u32, volumes: u8) -> Option<u8> {
        let name = &self.members.get(ordinal as usize)?.name;
        let turns = (0..).zip(&self.members).filter(|(_, member)| member.name == *name);
        turns.map(|(index, _)| index).nth(usize::from(volumes))
    }
}
