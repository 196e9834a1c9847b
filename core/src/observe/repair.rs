//! How members come back: snapshots, catch-up, changes of membership.

use std::sync::Arc;

use super::Observer;
use crate::ids::{EtcdId, MemberId};
use crate::kernel::time::Time;
use crate::record::{EtcdRecord, Record};
use crate::report::{CatchUpReport, MembershipReport, SnapshotReport, length, seconds};
use crate::scenario::text;
use crate::scenario::{MemberChange, Scenario};

/// Collects repairs.
#[derive(Clone, Debug)]
pub struct Repair {
    scenario: Arc<Scenario>,
    snapshots: Vec<Transfer>,
    catch_up: Vec<(EtcdId, CatchUpReport)>,
    membership: Vec<(EtcdId, MembershipReport)>,
}

#[derive(Clone, Debug)]
struct Transfer {
    from: MemberId,
    to: MemberId,
    bytes: u64,
    began: Time,
    ended: Option<(Time, bool)>,
}

impl Repair {
    /// Nothing yet.
    pub fn new(scenario: &Arc<Scenario>) -> Self {
        Self { scenario: Arc::clone(scenario), snapshots: Vec::new(), catch_up: Vec::new(), membership: Vec::new() }
    }

    /// Snapshots of a cluster, `now` being the end of those under way.
    pub fn snapshots(&self, cluster: EtcdId, now: Time) -> Vec<SnapshotReport> {
        let row = |t: &Transfer| SnapshotReport {
            from: text::member(&self.scenario, t.from).to_owned(),
            to: text::member(&self.scenario, t.to).to_owned(),
            bytes: t.bytes,
            from_s: seconds(t.began),
            to_s: seconds(t.ended.map_or(now, |(at, _)| at)),
            ok: t.ended.is_some_and(|(_, ok)| ok),
        };
        self.snapshots.iter().filter(|t| t.from.cluster == cluster).map(row).collect()
    }

    /// Members of a cluster that caught up.
    pub fn catch_up(&self, cluster: EtcdId) -> Vec<CatchUpReport> {
        self.catch_up.iter().filter(|(c, _)| *c == cluster).map(|(_, row)| row.clone()).collect()
    }

    /// Changes of a cluster's membership.
    pub fn membership(&self, cluster: EtcdId) -> Vec<MembershipReport> {
        self.membership.iter().filter(|(c, _)| *c == cluster).map(|(_, row)| row.clone()).collect()
    }
}

impl Observer for Repair {
    fn record(&mut self, at: Time, record: &Record) {
        match record {
            Record::Etcd(EtcdRecord::SnapshotStarted { from, to, bytes }) => {
                self.snapshots.push(Transfer { from: *from, to: *to, bytes: *bytes, began: at, ended: None });
            }
            Record::Etcd(EtcdRecord::SnapshotFinished { from, to, ok }) => {
                let open = |t: &&mut Transfer| t.from == *from && t.to == *to && t.ended.is_none();
                if let Some(transfer) = self.snapshots.iter_mut().rev().find(open) {
                    transfer.ended = Some((at, *ok));
                }
            }
            Record::Etcd(EtcdRecord::CaughtUp { member, entries, bytes, duration }) => {
                let name = text::member(&self.scenario, *member).to_owned();
                let (at_s, duration_s) = (seconds(at), length(*duration));
                let row = CatchUpReport { member: name, at_s, entries: *entries, bytes: *bytes, duration_s };
                self.catch_up.push((member.cluster, row));
            }
            Record::Etcd(EtcdRecord::Membership { change, refused }) => {
                let (MemberChange::Add(m) | MemberChange::Remove(m) | MemberChange::Promote(m)) = *change;
                let change = text::membership_change(*change, &self.scenario);
                let row = MembershipReport { at_s: seconds(at), change, refused: refused.map(str::to_owned) };
                self.membership.push((m.cluster, row));
            }
            _ => {}
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::kernel::time::Duration;
    use crate::observe::testing::{CLUSTER, at, member, three_zones};

    #[test]
    #[expect(clippy::float_cmp, reason = "seconds of a report are exact")]
    fn transfers_end_when_they_end_and_are_open_otherwise() {
        let scenario = Arc::new(three_zones());
        let mut repair = Repair::new(&scenario);
        let (from, to) = (member(0), member(2));
        repair.record(at(1_000), &Record::Etcd(EtcdRecord::SnapshotStarted { from, to, bytes: 5 }));
        repair.record(at(3_000), &Record::Etcd(EtcdRecord::SnapshotFinished { from, to, ok: true }));
        repair.record(at(4_000), &Record::Etcd(EtcdRecord::SnapshotStarted { from, to, bytes: 6 }));
        repair.record(
            at(5_000),
            &Record::Etcd(EtcdRecord::CaughtUp { member: to, entries: 9, bytes: 900, duration: Duration::from_millis(1_500) }),
        );
        let refused = Some("etcdserver: unhealthy cluster");
        repair.record(at(6_000), &Record::Etcd(EtcdRecord::Membership { change: MemberChange::Remove(member(1)), refused }));
        let rows = repair.snapshots(CLUSTER, at(9_000));
        assert_eq!((rows[0].to_s, rows[0].ok, rows[1].to_s, rows[1].ok), (3.0, true, 9.0, false));
        assert_eq!(repair.catch_up(CLUSTER)[0].duration_s, 1.5);
        assert_eq!(repair.membership(CLUSTER)[0].change, "remove etcd-main-1");
    }
}
