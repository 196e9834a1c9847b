//! The trace hash: one number that tells whether two runs did the same.
//!
//! SipHash-1-3 with zero keys over every record that [is traced](Record::is_traced). Each record is fed as: its time in nanoseconds (`u64`), a tag
//! byte, then its fields in the order of their declaration. Integers are little-endian at their declared width, a `bool` or an enum
//! is one byte, an `Option` one byte and, if there is one, the value; an `f64` is its bits; a string its length as `u32` and its
//! bytes. The form of a cluster's facts and of an active-passive cluster's facts is declared beside their types, with integers of variable
//! length ([`traced`](mod@crate::kernel::traced)). Every tag is explicit, here or there. Nothing depends on the order of variants, the width
//! of `usize`, the order of a hash map or what `Debug` prints, so the hash is the same natively and in wasm32. A new record or field
//! changes the hash of the runs that have it, on purpose.

use std::hash::Hasher;

use siphasher::sip::SipHasher13;

use super::Observer;
use crate::ids::{EtcdId, MemberId};
use crate::kernel::time::{Duration, Time};
use crate::kernel::traced::{Form, Traced};
use crate::record::{
    ClientRecord, Delay, EtcdRecord, Part, Record, RefuseReason, RequestResult, Service, StepDownReason, StopReason,
};
use crate::scenario::{MemberChange, Op};

/// Hashes the trace as it comes.
#[derive(Clone, Debug)]
pub struct TraceHash {
    hasher: SipHasher13,
    /// The form of the last record; a field so that its allocation is used for the next record.
    form: Form,
}

impl TraceHash {
    /// The hash of a trace without records.
    pub fn new() -> Self {
        Self { hasher: SipHasher13::new_with_keys(0, 0), form: Form::default() }
    }

    /// The hash of what was seen so far.
    pub fn value(&self) -> u64 {
        self.hasher.finish()
    }

    /// The same as 16 hexadecimal digits.
    pub fn hex(&self) -> String {
        format!("{:016x}", self.value())
    }
}

impl Default for TraceHash {
    fn default() -> Self {
        Self::new()
    }
}

impl Observer for TraceHash {
    fn record(&mut self, at: Time, record: &Record) {
        if !record.is_traced() {
            return;
        }
        self.form.clear();
        write(&mut self.form, at, record);
        self.hasher.write(self.form.as_bytes());
    }
}

/// Adds the byte form of a record that is traced.
fn write(form: &mut Form, at: Time, record: &Record) {
    let mut writer = Writer { form };
    writer.u64(at.as_nanos());
    writer.record(record);
}

/// Writes the parts of a record, with integers at their declared width.
struct Writer<'a> {
    form: &'a mut Form,
}

impl Writer<'_> {
    fn u8(&mut self, v: u8) {
        self.form.byte(v);
    }

    fn u16(&mut self, v: u16) {
        self.form.bytes(&v.to_le_bytes());
    }

    fn u32(&mut self, v: u32) {
        self.form.bytes(&v.to_le_bytes());
    }

    fn u64(&mut self, v: u64) {
        self.form.bytes(&v.to_le_bytes());
    }

    fn duration(&mut self, v: Duration) {
        self.u64(v.as_nanos());
    }

    fn member(&mut self, v: MemberId) {
        self.u16(v.cluster.0);
        self.u8(v.index);
    }

    fn service(&mut self, cluster: EtcdId, service: Service) {
        self.u16(cluster.0);
        self.u8(match service {
            Service::Quorum => 0,
            Service::Write => 1,
            Service::ReadLinearizable => 2,
            Service::ReadSerializable => 3,
        });
    }

    fn text(&mut self, v: &str) {
        self.u32(v.len() as u32);
        self.form.bytes(v.as_bytes());
    }

    fn option<T>(&mut self, v: Option<T>, some: impl FnOnce(&mut Self, T)) {
        self.u8(u8::from(v.is_some()));
        if let Some(v) = v {
            some(self, v);
        }
    }

    fn record(&mut self, record: &Record) {
        match record {
            Record::FaultStarted(active) => {
                self.u8(0);
                self.u32(active.id.0);
                self.form.at_declared_width(|form| active.fault.trace(form));
                self.u64(active.from.as_nanos());
            }
            Record::FaultEnded(id) => {
                self.u8(1);
                self.u32(id.0);
            }
            Record::NodePower { node, up } => {
                self.u8(2);
                self.u16(node.0);
                self.u8(u8::from(*up));
            }
            Record::Etcd(EtcdRecord::MemberStarted(member)) => {
                self.u8(3);
                self.member(*member);
            }
            Record::Etcd(EtcdRecord::MemberStopped { member, reason }) => {
                self.u8(4);
                self.member(*member);
                self.u8(match reason {
                    StopReason::Killed => 0,
                    StopReason::Stopped => 1,
                    StopReason::PowerLost => 2,
                    StopReason::VolumeLost => 3,
                    StopReason::Removed => 4,
                    StopReason::VolumeDetached => 5,
                    StopReason::Replaced => 6,
                });
            }
            Record::Etcd(EtcdRecord::MemberRefused { member, reason }) => {
                self.u8(5);
                self.member(*member);
                self.u8(match reason {
                    RefuseReason::NoVolume => 0,
                    RefuseReason::LostData => 1,
                    RefuseReason::Removed => 2,
                });
            }
            Record::Etcd(EtcdRecord::Campaign { member, term, pre_vote }) => {
                self.u8(6);
                self.member(*member);
                self.u64(*term);
                self.u8(u8::from(*pre_vote));
            }
            Record::Etcd(EtcdRecord::Elected { member, term }) => {
                self.u8(7);
                self.member(*member);
                self.u64(*term);
            }
            Record::Etcd(EtcdRecord::SteppedDown { member, term, reason }) => {
                self.u8(8);
                self.member(*member);
                self.u64(*term);
                self.u8(match reason {
                    StepDownReason::HigherTerm => 0,
                    StepDownReason::QuorumInactive => 1,
                    StepDownReason::Removed => 2,
                });
            }
            Record::Etcd(EtcdRecord::LeaderSeen { member, term, leader }) => {
                self.u8(9);
                self.member(*member);
                self.u64(*term);
                self.option(*leader, Self::u8);
            }
            Record::Etcd(EtcdRecord::PeerLost { from, to }) => self.peers(10, *from, *to),
            Record::Etcd(EtcdRecord::PeerFound { from, to }) => self.peers(11, *from, *to),
            Record::Etcd(EtcdRecord::SnapshotStarted { from, to, bytes }) => {
                self.peers(12, *from, *to);
                self.u64(*bytes);
            }
            Record::Etcd(EtcdRecord::SnapshotFinished { from, to, ok }) => {
                self.peers(13, *from, *to);
                self.u8(u8::from(*ok));
            }
            Record::Etcd(EtcdRecord::CaughtUp { member, entries, bytes, duration }) => {
                self.u8(14);
                self.member(*member);
                self.u64(*entries);
                self.u64(*bytes);
                self.duration(*duration);
            }
            Record::Etcd(EtcdRecord::Membership { change, refused }) => {
                self.u8(15);
                let (tag, member) = match change {
                    MemberChange::Add(m) => (0, m),
                    MemberChange::Remove(m) => (1, m),
                    MemberChange::Promote(m) => (2, m),
                };
                self.u8(tag);
                self.member(*member);
                self.option(*refused, Self::text);
            }
            Record::Client(ClientRecord::Request { client, from, op, member, latency, result, waited: _, expected: _ }) => {
                self.u8(16);
                self.u16(client.0);
                self.u16(from.0);
                self.op(*op);
                self.member(*member);
                self.duration(*latency);
                self.u8(match result {
                    RequestResult::Ok => 0,
                    RequestResult::TimedOut => 1,
                    RequestResult::Failed => 2,
                    RequestResult::TooLarge => 3,
                    RequestResult::Rejected => 4,
                    RequestResult::NoSpace => 5,
                    RequestResult::TooManyRequests => 6,
                    RequestResult::Lost => 7,
                });
            }
            Record::Etcd(EtcdRecord::Availability { cluster, service, up }) => {
                self.u8(17);
                self.service(*cluster, *service);
                self.u8(u8::from(*up));
            }
            Record::Etcd(EtcdRecord::AvailabilityFrom { cluster, from, service, up }) => {
                self.u8(23);
                from.trace(self.form);
                self.service(*cluster, *service);
                up.trace(self.form);
            }
            Record::Etcd(EtcdRecord::Backlog { member, part, wait }) => {
                self.u8(24);
                self.member(*member);
                let (tag, to) = match part {
                    Part::Log => (0, None),
                    Part::Database => (1, None),
                    Part::Cores => (2, None),
                    Part::Apply => (3, None),
                    Part::Link(to) => (4, Some(*to)),
                    Part::Loss(to) => (5, Some(*to)),
                    Part::Card => (6, None),
                    Part::TooFarBehind => (7, None),
                };
                self.u8(tag);
                self.option(to, Self::u8);
                self.duration(*wait);
            }
            Record::Client(ClientRecord::Connection { client, from, member, open }) => {
                self.u8(32);
                self.u16(client.0);
                self.u16(from.0);
                self.member(*member);
                self.u8(u8::from(*open));
            }
            Record::Client(ClientRecord::Delayed { client, from, member, by, wait }) => {
                self.u8(25);
                self.u16(client.0);
                self.u16(from.0);
                self.member(*member);
                self.u8(match by {
                    Delay::Client => 0,
                    Delay::Link => 1,
                    Delay::Loss => 2,
                    Delay::Down => 3,
                    Delay::Card => 4,
                    Delay::OwnCard => 5,
                    Delay::Queue => 6,
                    Delay::RetryAfter => 7,
                });
                self.duration(*wait);
            }
            Record::Etcd(EtcdRecord::SpaceExceeded { member, bytes }) => {
                self.u8(26);
                self.member(*member);
                self.u64(*bytes);
            }
            Record::Etcd(EtcdRecord::QuotaReached { member, bytes }) => {
                self.u8(30);
                self.member(*member);
                self.u64(*bytes);
            }
            Record::Etcd(EtcdRecord::AlarmDisarmed(cluster)) => {
                self.u8(27);
                self.u16(cluster.0);
            }
            Record::Etcd(EtcdRecord::Defragmented { member, before, after, duration }) => {
                self.u8(28);
                self.member(*member);
                self.u64(*before);
                self.u64(*after);
                self.duration(*duration);
            }
            Record::Etcd(EtcdRecord::Maintenance { cluster, task, refused }) => {
                self.u8(29);
                self.u16(cluster.0);
                task.trace(self.form);
                self.option(*refused, Self::text);
            }
            Record::Etcd(EtcdRecord::DataLost { cluster, entries }) => {
                self.u8(18);
                self.u16(cluster.0);
                self.u64(*entries);
            }
            Record::Kube(cluster, fact) => {
                self.u8(19);
                self.u16(cluster.0);
                fact.trace(self.form);
            }
            Record::Gardener(cluster, fact) => {
                self.u8(19);
                self.u16(cluster.0);
                fact.trace(self.form);
            }
            Record::Rollout(cluster, fact) => {
                self.u8(19);
                self.u16(cluster.0);
                fact.trace(self.form);
            }
            Record::Access(cluster, fact) => {
                self.u8(31);
                self.u16(cluster.0);
                fact.trace(self.form);
            }
            Record::Etcd(EtcdRecord::ConnectedVoters { cluster, connected, voters }) => {
                self.u8(20);
                self.u16(cluster.0);
                self.u8(*connected);
                self.u8(*voters);
            }
            Record::Etcd(EtcdRecord::MemberMoved { member, zone }) => {
                self.u8(22);
                self.member(*member);
                self.u16(zone.0);
            }
            Record::Etcd(EtcdRecord::Raft(_)) => {}
            Record::Etcd(EtcdRecord::Passive(cluster, fact)) => {
                self.u8(21);
                self.u16(cluster.0);
                fact.trace(self.form);
            }
        }
    }

    fn peers(&mut self, tag: u8, from: MemberId, to: MemberId) {
        self.u8(tag);
        self.member(from);
        self.member(to);
    }

    fn op(&mut self, op: Op) {
        match op {
            Op::Put { key_bytes, value_bytes } => {
                self.u8(0);
                self.u32(key_bytes);
                self.u32(value_bytes);
            }
            Op::Range { linearizable, keys, key_bytes, value_bytes } => {
                self.u8(1);
                self.u8(u8::from(linearizable));
                self.u32(keys);
                self.u32(key_bytes);
                self.u32(value_bytes);
            }
            Op::Delete { keys, key_bytes } => {
                self.u8(2);
                self.u32(keys);
                self.u32(key_bytes);
            }
            Op::Watch => self.u8(3),
            Op::Grant(_) => self.u8(5),
            Op::Txn { change, key_bytes, value_bytes } => {
                self.u8(4);
                self.u8(change as u8);
                self.u32(key_bytes);
                self.u32(value_bytes);
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::etcd::passive::PassiveRecord;
    use crate::gardener::admission::Denial;
    use crate::gardener::druid::{MigrationFact, ToleranceFact};
    use crate::gardener::garden::MigrationDenial;
    use crate::gardener::record::GardenerRecord;
    use crate::ids::{EtcdId, KubeClusterId, MachineDeploymentId, NodeId, NodeKey, SeedId, WorkloadId};
    use crate::kube::machine::Phase;
    use crate::kube::name::{MachineName, NodeName, PodName, PodTag};
    use crate::kube::record::{HintsFact, KubeRecord, Loss, MachineFact, NodeFact, PodFact, Reason, Replica};
    use crate::kube::rule::hints::NoHints;
    use crate::kube::rule::taints::Effect;
    use crate::kube::spec::gardener::FailureTolerance;
    use crate::kube::spec::gardener::SeedRejection;
    use crate::kube::spec::{Component, Task};
    use crate::record::RaftRecord;

    fn hash(records: &[(u64, Record)]) -> String {
        let mut trace = TraceHash::new();
        for (ns, record) in records {
            trace.record(Time::from_nanos(*ns), record);
        }
        trace.hex()
    }

    #[test]
    fn the_hash_is_pinned_sees_order_and_time_and_is_blind_to_raft() {
        let a = Record::NodePower { node: NodeId(1), up: false };
        let b = Record::Etcd(EtcdRecord::DataLost { cluster: EtcdId(0), entries: 7 });
        let member = MemberId { cluster: EtcdId(0), index: 0 };
        let raft = Record::Etcd(EtcdRecord::Raft(RaftRecord::Wiped { member }));
        let ab = hash(&[(1, a.clone()), (2, b.clone())]);
        assert_eq!(ab, hash(&[(1, a.clone()), (1, raft), (2, b.clone())]));
        assert_ne!(ab, hash(&[(1, b.clone()), (2, a.clone())]));
        assert_ne!(ab, hash(&[(1, a.clone()), (3, b.clone())]));
        // Also run in wasm32: the form must not depend on the platform.
        assert_eq!((hash(&[]).as_str(), ab.as_str()), ("d1fba762150c532c", "83426be83a75a83e"));
    }

    /// Each row: a record with nested enums, and its bytes after the time.
    #[test]
    fn forms_of_records_are_pinned() {
        let check = |record: Record, expected: &[u8]| {
            let mut form = Form::default();
            write(&mut form, Time::from_nanos(0x0102), &record);
            let (at, rest) = form.as_bytes().split_at(8);
            assert_eq!((at, rest), (&[2, 1, 0, 0, 0, 0, 0, 0][..], expected), "{record:?}");
        };
        let kube = |fact| Record::Kube(KubeClusterId(0x0201), fact);
        let gardener = |fact| Record::Gardener(KubeClusterId(0x0201), fact);
        let pod = PodName { workload: WorkloadId(5), tag: PodTag::Replica { template: 300, suffix: 9 } };
        let machine = MachineName { deployment: MachineDeploymentId(3), template: 1, suffix: 130 };
        let bound = PodFact::Bound(NodeName::Machine(machine));
        check(kube(KubeRecord::Pod(pod, bound)), &[19, 1, 2, 0, 5, 0, 0xAC, 2, 9, 1, 1, 3, 1, 0x82, 1]);
        let unsuited = PodFact::Unschedulable(Reason::ExistingAntiAffinity);
        check(kube(KubeRecord::Pod(PodName { tag: PodTag::Ordinal(2), ..pod }, unsuited)), &[19, 1, 2, 0, 5, 1, 2, 2, 8]);
        let node = NodeName::Given(NodeKey(4));
        check(kube(KubeRecord::Node(node, NodeFact::Unreachable(Effect::NoExecute, true))), &[19, 1, 2, 1, 0, 4, 1, 2, 1]);
        check(kube(KubeRecord::Node(node, NodeFact::Lost(Some(Loss::Network)))), &[19, 1, 2, 1, 0, 4, 5, 1, 1]);
        check(
            kube(KubeRecord::Machine(machine, MachineFact::Phase(Phase::CrashLoopBackOff))),
            &[19, 1, 2, 4, 3, 1, 0x82, 1, 1, 5],
        );
        let holder = Replica::Pod(KubeClusterId(1), pod);
        check(kube(KubeRecord::Lease(Component::Druid, Some(holder))), &[19, 1, 2, 9, 5, 1, 1, 1, 5, 0, 0xAC, 2, 9]);
        check(kube(KubeRecord::Operation(Task::RollMachines(MachineDeploymentId(7)))), &[19, 1, 2, 11, 2, 7]);
        let denied = MigrationFact::Denied(SeedId(1), MigrationDenial::Seed(SeedRejection::OtherRegion));
        check(gardener(GardenerRecord::Migration(0, denied)), &[19, 1, 2, 14, 0, 1, 1, 3, 2]);
        let denied = ToleranceFact::Denied(FailureTolerance::Zone, Denial::Downgrade);
        check(gardener(GardenerRecord::Tolerance(129, denied)), &[19, 1, 2, 13, 0x81, 1, 1, 2, 3]);
        check(kube(KubeRecord::Hints(WorkloadId(0), HintsFact::Off(NoHints::NoZone))), &[19, 1, 2, 15, 0, 1, 3]);
        let forked = PassiveRecord::Forked { member: 1, index: 1 << 14, lost: 0, window: Duration::from_nanos(128) };
        check(Record::Etcd(EtcdRecord::Passive(EtcdId(2), forked)), &[21, 2, 0, 6, 1, 0x80, 0x80, 1, 0, 0x80, 1]);
    }
}
