//! Records in plain words, for the trace file and the event list.

use std::sync::Arc;

use super::faults::Faults;
use super::{Observer, passive};
use crate::ids::FaultId;
use crate::kernel::time::Time;
use crate::record::{
    ClientRecord, Delay, EtcdRecord, Part, RaftRecord, Record, RefuseReason, RequestResult, Service, StepDownReason, StopReason,
};
use crate::report::{Consistency, OpKind};
use crate::scenario::text;
use crate::scenario::{Fault, Op, Scenario};

/// Describes the records of a run in order, and so knows which fault ends.
#[derive(Clone, Debug)]
pub struct RecordDescriber {
    scenario: Arc<Scenario>,
    faults: Faults,
}

impl RecordDescriber {
    /// A describer that has seen no record yet.
    pub fn new(scenario: &Arc<Scenario>) -> Self {
        Self { scenario: Arc::clone(scenario), faults: Faults::new(scenario) }
    }

    /// The record in plain words. Each record of a run must be described or [skipped](Self::observe), in order.
    pub fn describe(&mut self, at: Time, record: &Record) -> String {
        let text = match record {
            Record::FaultEnded(id) => self.under_way(*id).map(|ended| ended.kind().ended(&self.scenario)),
            _ => None,
        };
        self.observe(at, record);
        text.unwrap_or_else(|| describe(record, &self.scenario))
    }

    /// The fault of this number, if it is under way.
    pub fn under_way(&self, id: FaultId) -> Option<&Fault> {
        self.faults.under_way(id).map(|active| &active.fault)
    }

    /// Takes note of a record that is not described.
    pub fn observe(&mut self, at: Time, record: &Record) {
        self.faults.record(at, record);
    }

    /// One line of a trace: time in seconds (nine decimals), a tab, the record in words. `None` for records that are not traced.
    pub fn line(&mut self, at: Time, record: &Record) -> Option<String> {
        if !record.is_traced() {
            return None;
        }
        let ns = at.as_nanos();
        Some(format!("{}.{:09}\t{}", ns / 1_000_000_000, ns % 1_000_000_000, self.describe(at, record)))
    }
}

/// The record in plain words, names resolved. The end of a fault is only known by its number here; a [`RecordDescriber`] says what ended.
pub fn describe(record: &Record, scenario: &Scenario) -> String {
    let name = |m| text::member(scenario, m);
    match record {
        Record::FaultStarted(active) => active.fault.kind().began(scenario),
        Record::FaultEnded(id) => format!("fault {} has ended", id.0),
        Record::NodePower { node, up } => {
            let node = &scenario.nodes[*node].name;
            if *up { format!("node {node} is powered on") } else { format!("node {node} is powered off") }
        }
        Record::Etcd(EtcdRecord::MemberStarted(member)) => format!("{} is running", name(*member)),
        Record::Etcd(EtcdRecord::MemberStopped { member, reason }) => format!("{} stops: {}", name(*member), stopped(*reason)),
        Record::Etcd(EtcdRecord::MemberRefused { member, reason }) => {
            format!("{} does not start: {}", name(*member), refused(*reason))
        }
        Record::Etcd(EtcdRecord::Campaign { member, term, pre_vote: true }) => {
            format!("{} starts a pre-vote for term {term}", name(*member))
        }
        Record::Etcd(EtcdRecord::Campaign { member, term, pre_vote: false }) => {
            format!("{} campaigns for term {term}", name(*member))
        }
        Record::Etcd(EtcdRecord::Elected { member, term }) => format!("{} is elected in term {term}", name(*member)),
        Record::Etcd(EtcdRecord::SteppedDown { member, term, reason }) => {
            let why = match reason {
                StepDownReason::HigherTerm => "it received a message of a higher term",
                StepDownReason::QuorumInactive => "no majority of the voters answers",
                StepDownReason::Removed => "it was removed",
            };
            format!("{} steps down as leader of term {term}: {why}", name(*member))
        }
        Record::Etcd(EtcdRecord::LeaderSeen { member, term, leader: None }) => {
            format!("{} knows no leader (term {term})", name(*member))
        }
        Record::Etcd(EtcdRecord::LeaderSeen { member, term, leader: Some(leader) }) => {
            let leader = crate::ids::MemberId { cluster: member.cluster, index: *leader };
            format!("{} follows {} (term {term})", name(*member), name(leader))
        }
        Record::Etcd(EtcdRecord::PeerLost { from, to }) => format!("{} receives no data from {}", name(*to), name(*from)),
        Record::Etcd(EtcdRecord::PeerFound { from, to }) => format!("{} receives data from {} again", name(*to), name(*from)),
        Record::Etcd(EtcdRecord::SnapshotStarted { from, to, bytes }) => {
            format!("{} sends a snapshot to {} ({})", name(*from), name(*to), text::bytes(*bytes))
        }
        Record::Etcd(EtcdRecord::SnapshotFinished { from, to, ok }) => {
            let how = if *ok { "has restored" } else { "did not receive" };
            format!("{} {how} the snapshot from {}", name(*to), name(*from))
        }
        Record::Etcd(EtcdRecord::CaughtUp { member, entries, bytes, duration }) => {
            let took = text::duration(*duration);
            format!("{} has caught up ({entries} entries, {}) {took} after its start", name(*member), text::bytes(*bytes))
        }
        Record::Etcd(EtcdRecord::Membership { change, refused: None }) => {
            format!("membership change done: {}", text::membership_change(*change, scenario))
        }
        Record::Etcd(EtcdRecord::Membership { change, refused: Some(why) }) => {
            format!("membership change refused: {} ({why})", text::membership_change(*change, scenario))
        }
        Record::Etcd(EtcdRecord::SpaceExceeded { member, bytes }) => {
            format!("NOSPACE alarm: the database of {} has {}, its quota", name(*member), text::bytes(*bytes))
        }
        Record::Etcd(EtcdRecord::QuotaReached { member, bytes }) => {
            format!("the database of {} reached its quota ({}): puts are refused there", name(*member), text::bytes(*bytes))
        }
        Record::Etcd(EtcdRecord::AlarmDisarmed(cluster)) => {
            format!("{}: the NOSPACE alarm is disarmed", scenario.etcd[*cluster].name)
        }
        Record::Etcd(EtcdRecord::Defragmented { member, before, after, duration }) => {
            let [before, after] = [before, after].map(|bytes| text::bytes(*bytes));
            format!("{} has defragmented its database in {}: {before}, now {after}", name(*member), text::duration(*duration))
        }
        Record::Etcd(EtcdRecord::Maintenance { cluster, task, refused }) => {
            let (cluster, task) = (&scenario.etcd[*cluster].name, text::maintenance(*task, scenario));
            match refused {
                None => format!("{cluster}: an operator asks for: {task}"),
                Some(why) => format!("{cluster}: refused: {task} ({why})"),
            }
        }
        Record::Client(ClientRecord::Request { client, op, member, latency, result, .. }) => {
            let client = &scenario.client(*client).name;
            let (op, took) = (text::op(*op), text::duration(*latency));
            let result = match result {
                RequestResult::Ok => "ok",
                RequestResult::TimedOut => "timed out",
                RequestResult::Failed => "failed",
                RequestResult::TooLarge => "too large",
                RequestResult::NoSpace => "refused (database space exceeded)",
                RequestResult::TooManyRequests => "refused (too many requests)",
                RequestResult::Rejected => return format!("{client}: {op} rejected (429): too many requests in flight"),
                RequestResult::Lost => return format!("{client}: {op} lost: its API server has stopped"),
            };
            format!("{client}: {op} at {}: {result} after {took}", name(*member))
        }
        Record::Client(ClientRecord::Connection { client, member, open, .. }) => {
            let (client, member) = (&scenario.client(*client).name, name(*member));
            let what = if *open { "open again" } else { "closed" };
            format!("the connection of {client} with {member} is {what}")
        }
        Record::Client(ClientRecord::Delayed { client, member, by, wait, .. }) => {
            let (client, member, wait) = (&scenario.client(*client).name, name(*member), text::duration(*wait));
            match by {
                Delay::Client => format!("{client} has {wait} of requests queued"),
                Delay::Link => format!("a request of {client} to {member} takes {wait} to transfer"),
                Delay::Down => format!("a request of {client} has waited {wait} for {member}, which does not run"),
                Delay::Card => format!("the network card of {member}'s node has {wait} of data queued"),
                Delay::OwnCard => format!("the network card of {client}'s machine has {wait} of data queued"),
                Delay::Queue => format!("a request of {client} has waited {wait} in a queue of its API server"),
                Delay::RetryAfter => format!("{client}: a request is rejected (429) and will be repeated in {wait}"),
                Delay::Loss => format!("lost packets delay a request of {client} to {member} by {wait}"),
            }
        }
        Record::Etcd(EtcdRecord::Backlog { member, part, wait }) => {
            let (own, wait) = (name(*member), text::duration(*wait));
            let peer = |index: u8| name(crate::ids::MemberId { index, ..*member });
            match *part {
                Part::Log => format!("the disk of {own} has {wait} of writes queued"),
                Part::Database => format!("a commit of the database of {own} takes {wait}"),
                Part::Cores => format!("the cores of {own} have {wait} of requests queued"),
                Part::Apply => format!("{own} has {wait} of entries to apply"),
                Part::Card => format!("the network card of {own}'s node has {wait} of data queued"),
                Part::TooFarBehind => format!("{own} has {wait} of entries to apply and refuses requests"),
                Part::Link(to) => format!("the path from {own} to {} has {wait} of messages queued", peer(to)),
                Part::Loss(to) => format!("lost packets delay a message from {own} to {} by {wait}", peer(to)),
            }
        }
        Record::Etcd(EtcdRecord::ConnectedVoters { cluster, connected, voters }) => {
            let cluster = &scenario.etcd[*cluster].name;
            format!("{cluster}: {connected} of {voters} voters reach each other")
        }
        Record::Etcd(EtcdRecord::Availability { cluster, service, up }) => {
            let cluster = &scenario.etcd[*cluster].name;
            format!("{cluster}: {} {}", describe_service(*service), if *up { "available" } else { "unavailable" })
        }
        Record::Etcd(EtcdRecord::AvailabilityFrom { cluster, from, service, up }) => {
            let (cluster, from, service) = (&scenario.etcd[*cluster].name, from.name(scenario), describe_service(*service));
            match up {
                Some(true) => format!("{cluster}: {service} available from {from}"),
                Some(false) => format!("{cluster}: {service} unavailable from {from}"),
                None => format!("{cluster}: {service} from {from} as elsewhere"),
            }
        }
        Record::Etcd(EtcdRecord::DataLost { cluster, entries }) => {
            format!("{}: {} committed entries are lost", scenario.etcd[*cluster].name, text::count(*entries))
        }
        Record::Kube(cluster, fact) => fact.describe(&scenario.kube.clusters[*cluster], scenario),
        Record::Access(cluster, fact) => super::access::describe(*fact, *cluster, scenario),
        Record::Gardener(cluster, fact) => fact.describe(&scenario.kube.clusters[*cluster], scenario),
        Record::Rollout(cluster, fact) => fact.describe(&scenario.kube.clusters[*cluster], scenario),
        Record::Etcd(EtcdRecord::MemberMoved { member, zone }) => {
            format!("{} moves to {}", name(*member), scenario.zones[*zone].name)
        }
        Record::Etcd(EtcdRecord::Raft(raft)) => describe_raft(*raft, scenario),
        Record::Etcd(EtcdRecord::Passive(cluster, fact)) => passive::describe(*fact, *cluster, scenario),
    }
}

/// The kind of an operation and what its answer may see.
pub fn kind(op: Op) -> (OpKind, Consistency) {
    match op {
        Op::Put { .. } => (OpKind::Put, Consistency::Linearizable),
        Op::Txn { .. } => (OpKind::Txn, Consistency::Linearizable),
        Op::Grant(_) => (OpKind::Grant, Consistency::Linearizable),
        Op::Delete { .. } => (OpKind::Delete, Consistency::Linearizable),
        Op::Range { linearizable: true, .. } => (OpKind::Range, Consistency::Linearizable),
        Op::Range { linearizable: false, .. } => (OpKind::Range, Consistency::Serializable),
        Op::Watch => (OpKind::Watch, Consistency::Serializable),
    }
}

fn describe_service(service: Service) -> &'static str {
    match service {
        Service::Quorum => "quorum",
        Service::Write => "write",
        Service::ReadLinearizable => "linearizable read",
        Service::ReadSerializable => "serializable read",
    }
}

fn stopped(reason: StopReason) -> &'static str {
    match reason {
        StopReason::Killed => "killed",
        StopReason::Stopped => "stopped",
        StopReason::PowerLost => "its node has no power",
        StopReason::VolumeLost => "its volume is lost",
        StopReason::Removed => "it was removed from the cluster",
        StopReason::VolumeDetached => "its volume was detached",
        StopReason::Replaced => "another member took over",
    }
}

fn refused(reason: RefuseReason) -> &'static str {
    match reason {
        RefuseReason::NoVolume => "its volume is missing",
        RefuseReason::LostData => "its volume is empty: it must be removed and added again",
        RefuseReason::Removed => "it was removed from the cluster",
    }
}

fn describe_raft(raft: RaftRecord, scenario: &Scenario) -> String {
    let name = |m| text::member(scenario, m);
    let peer = |m: crate::ids::MemberId, index| name(crate::ids::MemberId { index, ..m });
    match raft {
        RaftRecord::HardState { member, term, vote, synced } => {
            let vote = vote.map_or_else(String::new, |candidate| format!(" and its vote for {}", peer(member, candidate)));
            format!("{} {} term {term}{vote}", name(member), if synced { "has on disk" } else { "writes" })
        }
        RaftRecord::Promised { member, term, candidate } => {
            format!("{} tells its vote for {} in term {term}", name(member), peer(member, candidate))
        }
        RaftRecord::Led { member, term, last } => format!("{} leads term {term} from index {last}", name(member)),
        RaftRecord::Appended { member, index, term, .. } => format!("{} appends {index} (term {term})", name(member)),
        RaftRecord::Truncated { member, from } => format!("{} truncates its log from {from}", name(member)),
        RaftRecord::Restored { member, index, term, .. } => format!("{} restores up to {index} (term {term})", name(member)),
        RaftRecord::Flowed { member, index, term, .. } => format!("{} has all up to {index} (term {term})", name(member)),
        RaftRecord::Committed { member, index, .. } => format!("{} commits up to {index}", name(member)),
        RaftRecord::Applied { member, index, .. } => format!("{} applies {index}", name(member)),
        RaftRecord::Wiped { member } => format!("{} has lost its volume", name(member)),
    }
}
