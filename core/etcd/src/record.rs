//! What happens in etcd clusters.

use zonefall_kernel::time::Duration;
use zonefall_network::process::StopReason;
use zonefall_scenario::ids::{EtcdId, MemberId, ZoneId};
use zonefall_scenario::{Maintenance, MemberChange, Vantage};

use crate::passive::PassiveRecord;
pub use crate::raft::StepDownReason;

/// A fact of an etcd cluster, at the time it is delivered with.
#[derive(Clone, Debug, PartialEq)]
pub enum EtcdRecord {
    /// A member's process serves.
    MemberStarted(MemberId),
    /// A member's process is gone.
    MemberStopped {
        /// Member whose process stopped.
        member: MemberId,
        /// Why it stopped.
        reason: StopReason,
    },
    /// A member's process refused to start.
    MemberRefused {
        /// Member whose process refused to start.
        member: MemberId,
        /// Why it refused.
        reason: RefuseReason,
    },
    /// A member asks for votes.
    Campaign {
        /// Member that campaigns.
        member: MemberId,
        /// The term it campaigns for.
        term: u64,
        /// Only asks whether it would win.
        pre_vote: bool,
    },
    /// A member won the election of its term.
    Elected {
        /// Member that won.
        member: MemberId,
        /// The term.
        term: u64,
    },
    /// A leader is one no more, though its process runs.
    SteppedDown {
        /// Member that led.
        member: MemberId,
        /// Its term as leader.
        term: u64,
        /// Why it stepped down.
        reason: StepDownReason,
    },
    /// A member's view of who leads has changed.
    LeaderSeen {
        /// Whose view.
        member: MemberId,
        /// Its term.
        term: u64,
        /// Whom it follows now (index in the cluster).
        leader: Option<u8>,
    },
    /// The last stream on which `to` heard `from` is gone, as `to` sees it.
    PeerLost {
        /// The silent one.
        from: MemberId,
        /// The one that noticed.
        to: MemberId,
    },
    /// `to` hears `from` again.
    PeerFound {
        /// The one heard.
        from: MemberId,
        /// The one that hears.
        to: MemberId,
    },
    /// A leader begins to send its database.
    SnapshotStarted {
        /// The leader.
        from: MemberId,
        /// The follower.
        to: MemberId,
        /// Bytes of the database.
        bytes: u64,
    },
    /// The transfer ended.
    SnapshotFinished {
        /// The leader.
        from: MemberId,
        /// The follower.
        to: MemberId,
        /// Arrived and restored.
        ok: bool,
    },
    /// A member that had fallen behind has everything again that was committed.
    CaughtUp {
        /// Member that caught up.
        member: MemberId,
        /// Entries it was behind when it came back.
        entries: u64,
        /// Entries that it has written since, and databases that it has received, in bytes.
        bytes: u64,
        /// Time since its process served again.
        duration: Duration,
    },
    /// A change of membership was applied for the first time, or refused. One that was told to have timed out may be applied yet:
    /// then both are recorded.
    Membership {
        /// What was asked.
        change: MemberChange,
        /// Refused: why (etcd's words).
        refused: Option<&'static str>,
    },
    /// A service of a cluster, as the probe judges it, came or went.
    Availability {
        /// Which cluster.
        cluster: EtcdId,
        /// Which service.
        service: Service,
        /// Whether it is there now.
        up: bool,
    },
    /// Clients at one vantage have a service otherwise than those that count.
    AvailabilityFrom {
        /// Which cluster.
        cluster: EtcdId,
        /// Where the clients are.
        from: Vantage,
        /// Which service; never [`Service::Quorum`], which is the same for all.
        service: Service,
        /// Whether they have it now; `None`: as it counts, again.
        up: Option<bool>,
    },
    /// More or fewer voters of a cluster hang together: run and reach each other in both directions.
    ConnectedVoters {
        /// Which cluster.
        cluster: EtcdId,
        /// The most that do.
        connected: u8,
        /// Voters of the cluster.
        voters: u8,
    },
    /// Work of a member waits: what a part of it was given now is done only after a time. Told where that is long
    /// ([`backlog`](crate::backlog)).
    Backlog {
        /// The member.
        member: MemberId,
        /// Which part.
        part: Part,
        /// Until all that it has is done.
        wait: Duration,
    },
    /// The NOSPACE alarm is on: the database of a member was full. No member writes what grows until it is disarmed.
    SpaceExceeded {
        /// The member.
        member: MemberId,
        /// Bytes of its file.
        bytes: u64,
    },
    /// The database of a member has no room for another put, which it refuses. No alarm is raised until one is asked for
    /// (`server/storage/quota.go`).
    QuotaReached {
        /// The member.
        member: MemberId,
        /// Bytes of its file.
        bytes: u64,
    },
    /// The NOSPACE alarm was disarmed.
    AlarmDisarmed(EtcdId),
    /// A member has rewritten its database without the free pages.
    Defragmented {
        /// The member.
        member: MemberId,
        /// Bytes of its file before.
        before: u64,
        /// Bytes of its file now.
        after: u64,
        /// How long it applied and read nothing.
        duration: Duration,
    },
    /// An operator has asked for work on databases.
    Maintenance {
        /// Which cluster.
        cluster: EtcdId,
        /// What was asked.
        task: Maintenance,
        /// Refused: why (etcd's words).
        refused: Option<&'static str>,
    },
    /// Committed entries that no remaining volume holds.
    DataLost {
        /// Which cluster.
        cluster: EtcdId,
        /// How many entries.
        entries: u64,
    },
    /// Inside raft, for the invariants; not in the trace.
    Raft(RaftRecord),
    /// Something happened in an active-passive cluster.
    Passive(EtcdId, PassiveRecord),
    /// A member that does not run is in another zone from now on.
    MemberMoved {
        /// Member that moved.
        member: MemberId,
        /// Where it will run.
        zone: ZoneId,
    },
}

/// What work waits for.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Part {
    /// The disk: its log is written. What comes meanwhile waits for the next write, and so do ticks.
    Log,
    /// The disk: its database is committed. Nothing is applied or read.
    Database,
    /// Its cores, for requests.
    Cores,
    /// The loop that applies entries.
    Apply,
    /// The same, so far behind that the member turns proposals away.
    TooFarBehind,
    /// The bandwidth of its path to this member.
    Link(u8),
    /// Packets lost on its path to this member, until they were sent again.
    Loss(u8),
    /// The network card of its host, which others may share.
    Card,
}

/// Why a process does not start.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum RefuseReason {
    /// Its volume is not there.
    NoVolume,
    /// Its volume is empty although the cluster knows the member: it must be removed and added again.
    LostData,
    /// It was removed from the cluster.
    Removed,
}

/// What availability is judged for.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, serde::Serialize, serde::Deserialize)]
pub enum Service {
    /// A majority of the voters runs and is connected.
    Quorum,
    /// A PUT is committed.
    Write,
    /// A linearizable RANGE is answered.
    ReadLinearizable,
    /// A serializable RANGE is answered.
    ReadSerializable,
}

/// Inside raft.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum RaftRecord {
    /// Term and vote are written (`raftpb.HardState`). Those that are only in memory when the process ends were never taken, for nobody
    /// was told.
    HardState {
        /// Member that writes them.
        member: MemberId,
        /// Its term.
        term: u64,
        /// Candidate it votes for in this term, if any.
        vote: Option<u8>,
        /// Synced: kept without power. Otherwise only a killed process keeps them.
        synced: bool,
    },
    /// A member tells others its vote: as a candidate its own, as a voter by its answer. Nothing may undo that vote from now on.
    Promised {
        /// By whom.
        member: MemberId,
        /// In which term.
        term: u64,
        /// For whom.
        candidate: u8,
    },
    /// A leader was made; its log then.
    Led {
        /// Member that was elected.
        member: MemberId,
        /// Term that it leads.
        term: u64,
        /// Last index of its log.
        last: u64,
    },
    /// An entry entered a log.
    Appended {
        /// Whose log.
        member: MemberId,
        /// Index of the entry.
        index: u64,
        /// Term of the entry.
        term: u64,
        /// Hash of the log up to and with this entry.
        chain: u64,
    },
    /// Entries from `from` on left a log (conflict, or lost with unsynced writes).
    Truncated {
        /// Whose log.
        member: MemberId,
        /// First index gone.
        from: u64,
    },
    /// A log was replaced by a snapshot.
    Restored {
        /// Whose log.
        member: MemberId,
        /// Last index the snapshot covers.
        index: u64,
        /// Its term.
        term: u64,
        /// Hash of the log up to it.
        chain: u64,
    },
    /// What flows has brought a log here: appended, committed and applied.
    Flowed {
        /// Whose log.
        member: MemberId,
        /// Its last index now.
        index: u64,
        /// Term of that entry.
        term: u64,
        /// Hash of the log up to it.
        chain: u64,
    },
    /// A member learned that everything up to `index` is committed.
    Committed {
        /// Member that learned it.
        member: MemberId,
        /// Its term.
        term: u64,
        /// Up to and with.
        index: u64,
    },
    /// An entry was applied to a member's database.
    Applied {
        /// Member that applied it.
        member: MemberId,
        /// Index of the entry.
        index: u64,
        /// Term of the entry.
        term: u64,
        /// Hash of the log up to and with this entry.
        chain: u64,
    },
    /// A member's volume lost everything.
    Wiped {
        /// Member whose volume lost everything.
        member: MemberId,
    },
}
