//! Failovers of active-passive clusters: when each was noticed, when the other member had all it would have, when it served, and
//! what was lost.

use std::sync::Arc;

use super::Observer;
use crate::etcd::passive::PassiveRecord;
use crate::ids::{EtcdId, MemberId};
use crate::kernel::time::{Duration, Time};
use crate::record::{EtcdRecord, Record};
use crate::report::{FailoverReport, length, seconds};
use crate::scenario::Scenario;
use crate::scenario::text;

/// Collects failovers.
#[derive(Clone, Debug)]
pub struct Failovers {
    scenario: Arc<Scenario>,
    all: Vec<(EtcdId, Failover)>,
}

#[derive(Clone, Copy, Debug)]
struct Failover {
    from: u8,
    to: u8,
    silent: Time,
    detected: Time,
    applied: Option<Time>,
    serving: Option<Time>,
    lost: u64,
    window: Duration,
}

impl Failovers {
    /// None yet.
    pub fn new(scenario: &Arc<Scenario>) -> Self {
        Self { scenario: Arc::clone(scenario), all: Vec::new() }
    }

    /// Those of a cluster; what has not come yet is `now`.
    pub fn rows(&self, cluster: EtcdId, now: Time) -> Vec<FailoverReport> {
        let name = |index: u8| text::member(&self.scenario, MemberId { cluster, index }).to_owned();
        let row = |(_, switch): &(EtcdId, Failover)| {
            let serving = switch.serving.unwrap_or(now);
            FailoverReport {
                at_s: seconds(switch.silent),
                detected_s: seconds(switch.detected),
                applied_s: seconds(switch.applied.unwrap_or(now)),
                serving_s: seconds(serving),
                duration_s: length(serving.since(switch.silent)),
                completed: switch.serving.is_some(),
                from: name(switch.from),
                to: name(switch.to),
                lost_entries: switch.lost,
                lost_window_s: length(switch.window),
            }
        };
        self.all.iter().filter(|(id, _)| *id == cluster).map(row).collect()
    }

    fn last(&mut self, cluster: EtcdId) -> Option<&mut Failover> {
        self.all.iter_mut().rfind(|(id, _)| *id == cluster).map(|(_, switch)| switch)
    }
}

impl Observer for Failovers {
    fn record(&mut self, at: Time, record: &Record) {
        let Record::Etcd(EtcdRecord::Passive(cluster, fact)) = record else { return };
        match *fact {
            PassiveRecord::Detected { from, to, silent } => {
                let silent = Time::from_nanos(at.as_nanos() - silent.as_nanos());
                let (applied, serving, lost, window) = (None, None, 0, Duration::ZERO);
                self.all.push((*cluster, Failover { from, to, silent, detected: at, applied, serving, lost, window }));
            }
            PassiveRecord::Forked { lost, window, .. } => {
                if let Some(switch) = self.last(*cluster) {
                    (switch.applied, switch.lost, switch.window) = (Some(at), lost, window);
                }
            }
            PassiveRecord::Serving { .. } => {
                if let Some(switch) = self.last(*cluster) {
                    switch.serving = Some(at);
                }
            }
            PassiveRecord::Uploaded { .. }
            | PassiveRecord::NotUploaded { .. }
            | PassiveRecord::Applied { .. }
            | PassiveRecord::Ready { .. }
            | PassiveRecord::Alone { .. }
            | PassiveRecord::Discarded { .. } => {}
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::observe::testing::{CLUSTER, at, three_zones};

    #[test]
    fn each_switch_over_has_its_moments() {
        let mut failovers = Failovers::new(&Arc::new(three_zones()));
        let fact = |fact| Record::Etcd(EtcdRecord::Passive(CLUSTER, fact));
        let silent = Duration::from_millis(3_000);
        failovers.record(at(10_000), &fact(PassiveRecord::Detected { from: 0, to: 1, silent }));
        let row = &failovers.rows(CLUSTER, at(11_000))[0];
        assert_eq!((row.at_s, row.detected_s, row.serving_s, row.completed), (7.0, 10.0, 11.0, false));
        let window = Duration::from_millis(2_000);
        failovers.record(at(12_000), &fact(PassiveRecord::Forked { member: 1, index: 90, lost: 9, window }));
        failovers.record(at(13_500), &fact(PassiveRecord::Serving { member: 1 }));
        let row = &failovers.rows(CLUSTER, at(60_000))[0];
        assert_eq!((row.applied_s, row.serving_s, row.duration_s, row.completed), (12.0, 13.5, 6.5, true));
        assert_eq!((row.from.as_str(), row.to.as_str()), ("etcd-main-0", "etcd-main-1"));
        assert_eq!((row.lost_entries, row.lost_window_s), (9, 2.0));
    }
}
