//! The part of a report that is about one etcd cluster.

use serde::{Deserialize, Serialize};

use crate::etcd::view::Down;
use crate::scenario::text;
use crate::sim::Role;

/// What happened to one etcd cluster.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct EtcdReport {
    /// Members as they are at the end, in the order of the scenario.
    pub members: Vec<MemberReport>,
    /// How often a member other than the leader before it was elected; the first leader is no change.
    pub leader_changes: u64,
    /// Elections that made a leader. See [`crate::observe::leaders`] for when one begins.
    pub elections: Vec<ElectionReport>,
    /// Who led when, in order of their election; two may overlap while one does not yet know that it was deposed.
    pub leaders: Vec<LeaderReport>,
    /// The highest term that any member had campaigned for, won or followed, at each of its changes.
    pub terms: Vec<TermReport>,
    /// Total time without write service, in seconds.
    pub write_unavailable_s: f64,
    /// Total time without read service.
    pub read_unavailable_s: ReadUnavailable,
    /// Total time in which no majority of the voters ran and was connected, in seconds.
    pub quorum_lost_s: f64,
    /// Total time in which one more member's failure would have lost the quorum (of an active-passive cluster: left nobody to take
    /// over), or it was lost, in seconds.
    pub no_fault_tolerance_s: f64,
    /// How many members may yet be lost: at each change, at most 2,000. See [`crate::observe::tolerance`].
    pub tolerance: Vec<ToleranceReport>,
    /// Services of which only the members' state is known: no requests tell of these, and others were late.
    pub unobserved: Vec<OutageKind>,
    /// What clients at each vantage were without: the zones of its regions, then `outside`.
    #[serde(default)]
    pub vantages: Vec<VantageReport>,
    /// Intervals without a service, in order of their start (then of kind). See [`crate::observe::availability`].
    pub outages: Vec<OutageReport>,
    /// `--quota-backend-bytes` of its members.
    #[serde(default)]
    pub quota_bytes: u64,
    /// Times in which the NOSPACE alarm was on, in order.
    #[serde(default)]
    pub alarms: Vec<AlarmReport>,
    /// Databases that were rewritten without their free pages.
    #[serde(default)]
    pub defragmentations: Vec<DefragmentationReport>,
    /// How requests ended.
    pub requests: RequestCounts,
    /// Latency of requests, ordered by operation, target, consistency.
    pub latency: Vec<LatencyReport>,
    /// Committed data that faults destroyed (the recovery point).
    pub rpo: RpoReport,
    /// Failovers of an active-passive cluster, in order; none where a quorum serves. See [`crate::etcd::passive`].
    #[serde(default)]
    pub failovers: Vec<FailoverReport>,
    /// Databases sent to members that were too far behind for the log.
    pub snapshots: Vec<SnapshotReport>,
    /// Members that fell behind and have everything again.
    pub catch_up: Vec<CatchUpReport>,
    /// Changes of membership asked for.
    pub membership: Vec<MembershipReport>,
}

/// Times in which clients at one vantage had no service of an etcd cluster.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct VantageReport {
    /// A zone, or `outside` the region.
    pub from: String,
    /// Time without write service, in seconds.
    pub write_unavailable_s: f64,
    /// Time without read service.
    pub read_unavailable_s: ReadUnavailable,
    /// Services of which only the state is known there: requests elsewhere were late, and nobody here asked.
    #[serde(default)]
    pub unobserved: Vec<OutageKind>,
}

impl EtcdReport {
    /// How long clients were without something that they ask for, as it counts and at one of its vantages; `None`: too little is known
    /// of that vantage to compare them. In seconds.
    pub(super) fn compared(&self, row: &VantageReport, kind: OutageKind) -> Option<(f64, f64)> {
        let of = |write_s: f64, read: &ReadUnavailable| match kind {
            OutageKind::Quorum => 0.0,
            OutageKind::Write => write_s,
            OutageKind::ReadLinearizable => read.linearizable,
            OutageKind::ReadSerializable => read.serializable,
        };
        let (counted_s, own_s) =
            (of(self.write_unavailable_s, &self.read_unavailable_s), of(row.write_unavailable_s, &row.read_unavailable_s));
        (own_s >= counted_s || !row.unobserved.contains(&kind)).then_some((counted_s, own_s))
    }

    /// Vantages whose clients were hit otherwise than those that count.
    pub fn vantages_apart(&self) -> impl Iterator<Item = &VantageReport> {
        let asked = [OutageKind::Write, OutageKind::ReadLinearizable, OutageKind::ReadSerializable];
        let apart = |(counted_s, own_s): (f64, f64)| text::seconds(counted_s) != text::seconds(own_s);
        let is_apart = move |row: &&VantageReport| asked.iter().any(|kind| self.compared(row, *kind).is_some_and(apart));
        self.vantages.iter().filter(is_apart)
    }
}

/// How many members a cluster may yet lose, from one change to the next.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct ToleranceReport {
    /// Since when, in seconds.
    pub from_s: f64,
    /// Voters that run and reach each other in both directions.
    pub connected: u8,
    /// Voters of the cluster.
    pub voters: u8,
    /// Members that stand by and could take over, with an interruption and with the loss of what they have not got (active-passive
    /// clusters).
    #[serde(default)]
    pub standbys: u8,
    /// Members that may fail with a majority of the voters, or one who takes over, left; negative where nobody is: so many are missing.
    pub failure_tolerance: i64,
}

/// One member of an active-passive cluster took over from the other.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct FailoverReport {
    /// Since when the one that served did not answer its controller, in seconds.
    pub at_s: f64,
    /// When enough checks had failed, and clients were sent to the other, in seconds.
    pub detected_s: f64,
    /// When the other had applied all the backup bucket held (a learner: was restarted alone), in seconds.
    pub applied_s: f64,
    /// When it served, in seconds.
    pub serving_s: f64,
    /// From `at_s` to `serving_s`, in seconds.
    pub duration_s: f64,
    /// Whether it served before the end of the run.
    pub completed: bool,
    /// Name of the one that served.
    pub from: String,
    /// Name of the one that took over.
    pub to: String,
    /// Entries that were committed then and that the other had not got. What a member that was cut off committed after that is in
    /// [`RpoReport`] only.
    pub lost_entries: u64,
    /// How old its data was: from the newest it had (the taking of the last snapshot that arrived) to `at_s`, in seconds; 0 where nothing
    /// was lost. Of a learner that was more than 4,096 entries behind: at least.
    pub lost_window_s: f64,
}

/// A member at the end of the run.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct MemberReport {
    /// Its name.
    pub name: String,
    /// Zone of its node.
    pub zone: String,
    /// Its node.
    pub node: String,
    /// Its role.
    pub role: Role,
    /// Its term.
    pub term: u64,
    /// Whether its process serves.
    pub up: bool,
    /// Why it does not.
    pub down: Option<Down>,
    /// Last index of its log.
    pub last_index: u64,
    /// Committed index, as it knows.
    pub committed: u64,
    /// Size of its database in bytes.
    pub database_bytes: u64,
}

/// An election.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct ElectionReport {
    /// Since when the cluster had no acknowledged leader (or when the winner first asked for votes, if earlier), in seconds.
    pub from_s: f64,
    /// When the winner knew that it had won, in seconds.
    pub to_s: f64,
    /// The term it won.
    pub term: u64,
    /// Name of the winner.
    pub leader: String,
}

/// One reign.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct LeaderReport {
    /// When it was elected, in seconds; 0 for the first leader of a cluster that starts settled.
    pub from_s: f64,
    /// When it stopped or stepped down, or the end of the run, in seconds.
    pub to_s: f64,
    /// Whether it ended before the run did.
    pub completed: bool,
    /// Its term.
    pub term: u64,
    /// Name of the leader.
    pub leader: String,
    /// Zone of the leader.
    pub zone: String,
}

/// A new highest term.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct TermReport {
    /// Since when, in seconds.
    pub at_s: f64,
    /// The term.
    pub term: u64,
}

/// Total time without each kind of read, in seconds.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct ReadUnavailable {
    /// Reads that see every write finished before them.
    pub linearizable: f64,
    /// Reads of one member's own data, however old.
    pub serializable: f64,
}

/// What an outage is of.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum OutageKind {
    /// No majority of the voters runs and is connected.
    Quorum,
    /// No PUT would be committed in time.
    Write,
    /// No linearizable RANGE would be answered in time.
    ReadLinearizable,
    /// No serializable RANGE would be answered in time.
    ReadSerializable,
}

/// An interval without a service.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct OutageReport {
    /// Which service.
    pub kind: OutageKind,
    /// When it went, in seconds.
    pub from_s: f64,
    /// When it came back, or the end of the run, in seconds.
    pub to_s: f64,
    /// Whether it came back before the run ended.
    pub completed: bool,
    /// How much of that, in seconds: less than all of it where only some requests were answered too late.
    #[serde(default)]
    pub unavailable_s: f64,
    /// Why, in plain words: `zone eu-west-1a lost power; leader etcd-main-0 gone; etcd-main-2 elected after 1.3 s`.
    pub root_cause: String,
}

impl OutageReport {
    /// Whether the service was unavailable all the time.
    pub fn is_whole(&self) -> bool {
        lasts_all_of(self.unavailable_s, self.to_s - self.from_s)
    }

    /// For how long, in words, and of what if only in a part of it.
    pub fn length(&self) -> String {
        text::part(self.unavailable_s, self.to_s - self.from_s)
    }
}

/// Whether a length of time is all of an interval, in seconds: their differences are not exact to the last bit.
pub(super) fn lasts_all_of(part_s: f64, interval_s: f64) -> bool {
    part_s > interval_s - 1e-6
}

/// How requests ended.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct RequestCounts {
    /// Requests that were done.
    pub ok: u64,
    /// No answer in time from any member tried.
    pub timed_out: u64,
    /// Refused, or failed by every member tried; or the API server that sent the request stopped before the response.
    pub failed: u64,
    /// Larger than `max_request_bytes`.
    pub too_large: u64,
    /// Refused by members because the NOSPACE alarm was on ("mvcc: database space exceeded").
    #[serde(default)]
    pub no_space: u64,
    /// Refused by members that had more than 5,000 committed entries to apply ("too many requests").
    #[serde(default)]
    pub too_many_requests: u64,
    /// Turned away by API servers that worked on as many as they may (429): they never reached etcd.
    pub rejected: u64,
}

/// Operation of a request.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum OpKind {
    /// Write one key.
    Put,
    /// Read keys.
    Range,
    /// Delete keys.
    Delete,
    /// Be told of events.
    Watch,
    /// Write one key if it has not changed.
    Txn,
    /// Grant a lease.
    Grant,
}

/// What a request may see.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Consistency {
    /// Everything that was finished before it. Writes are always of this kind.
    Linearizable,
    /// The member's own data, however old. Watches are counted here.
    Serializable,
}

/// Latency of the requests of one kind: from the first sending to the last answer, retries included, of requests that ended well.
///
/// Percentiles are of a histogram with three significant digits; each says that so many percent took at most this long. All in
/// milliseconds; null where no request ended well.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct LatencyReport {
    /// What was asked.
    pub op: OpKind,
    /// Zone of the clients: where the path of the requests begins.
    pub from_zone: String,
    /// Whom the clients aimed at: `leader`, `follower`, `nearest`, `all`, or the name of a member.
    pub target: String,
    /// What the answer may see.
    pub consistency: Consistency,
    /// Requests that ended well; the percentiles are theirs.
    pub count: u64,
    /// Requests without an answer in time.
    pub timed_out: u64,
    /// Requests refused or failed.
    pub failed: u64,
    /// Requests that an API server turned away (429).
    pub rejected: u64,
    /// Median latency, in milliseconds.
    pub p50_ms: Option<f64>,
    /// 90th percentile.
    pub p90_ms: Option<f64>,
    /// 99th percentile.
    pub p99_ms: Option<f64>,
    /// The longest, exact.
    pub max_ms: Option<f64>,
    /// The same over time.
    pub windows: LatencyWindows,
}

/// Latency over time, one place per window of [`Report::latency_window_s`](super::Report::latency_window_s) from the start to the last
/// window in which a request of this kind ended. A request belongs to the window in which it ended (a window begins with its first
/// moment; what ends at the very end of the run is in the last).
///
/// Percentiles are of a histogram with two significant digits; in milliseconds, null where no request ended well.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct LatencyWindows {
    /// Requests that ended well.
    pub count: Vec<u64>,
    /// Requests that timed out, were refused, failed or were turned away.
    pub failed: Vec<u64>,
    /// Median latency of each window, in milliseconds.
    pub p50_ms: Vec<Option<f64>>,
    /// 90th percentile.
    pub p90_ms: Vec<Option<f64>>,
    /// 99th percentile.
    pub p99_ms: Vec<Option<f64>>,
}

/// Committed data that is gone.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct RpoReport {
    /// Committed entries that no remaining volume held.
    pub lost_entries: u64,
    /// When it happened.
    pub events: Vec<LossReport>,
}

/// One loss of committed data.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct LossReport {
    /// When, in seconds.
    pub at_s: f64,
    /// Committed entries that no remaining volume holds.
    pub entries: u64,
    /// Faults under way, in plain words.
    pub cause: String,
}

/// A time in which no member wrote what grows.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct AlarmReport {
    /// Name of the member whose database was full.
    pub member: String,
    /// Bytes of its file then.
    pub bytes: u64,
    /// Since when the alarm was on, in seconds.
    pub from_s: f64,
    /// When it was disarmed, or the end of the run, in seconds.
    pub to_s: f64,
    /// Whether it was disarmed.
    pub completed: bool,
}

/// A database that was rewritten without its free pages.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct DefragmentationReport {
    /// Name of the member.
    pub member: String,
    /// When it was done, in seconds.
    pub at_s: f64,
    /// How long the member applied and read nothing, in seconds.
    pub duration_s: f64,
    /// Bytes of the file before.
    pub before_bytes: u64,
    /// Bytes of the file after.
    pub after_bytes: u64,
}

/// A database sent whole.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct SnapshotReport {
    /// Name of the leader that sent it.
    pub from: String,
    /// Name of the follower.
    pub to: String,
    /// Size of the database in bytes.
    pub bytes: u64,
    /// When the transfer began, in seconds.
    pub from_s: f64,
    /// When it ended, or the end of the run, in seconds.
    pub to_s: f64,
    /// Arrived and restored.
    pub ok: bool,
}

/// A member that has everything again.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct CatchUpReport {
    /// Name of the member.
    pub member: String,
    /// When it had everything that was committed, in seconds.
    pub at_s: f64,
    /// Entries it was behind when it came back.
    pub entries: u64,
    /// Entries that it wrote meanwhile, and databases that it received, in bytes.
    pub bytes: u64,
    /// Time since its process served again, in seconds.
    pub duration_s: f64,
}

/// A change of membership.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct MembershipReport {
    /// When it was applied or refused, in seconds.
    pub at_s: f64,
    /// What was asked, in plain words: `add etcd-main-3`.
    pub change: String,
    /// Why it was refused, in etcd's words; null: it was applied.
    pub refused: Option<String>,
}
