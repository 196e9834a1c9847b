//! Databases that were full, and what was done about it.

use std::sync::Arc;

use super::Observer;
use crate::ids::EtcdId;
use crate::kernel::time::Time;
use crate::record::{EtcdRecord, Record};
use crate::report::{AlarmReport, DefragmentationReport, length, seconds};
use crate::scenario::{Scenario, text};

/// Collects alarms and defragmentations.
#[derive(Clone, Debug)]
pub struct Space {
    scenario: Arc<Scenario>,
    alarms: Vec<(EtcdId, AlarmReport)>,
    defragmentations: Vec<(EtcdId, DefragmentationReport)>,
}

impl Space {
    /// Nothing yet.
    pub fn new(scenario: &Arc<Scenario>) -> Self {
        Self { scenario: Arc::clone(scenario), alarms: Vec::new(), defragmentations: Vec::new() }
    }

    /// Alarms of a cluster, `now` being the end of one that is on.
    pub fn alarms(&self, cluster: EtcdId, now: Time) -> Vec<AlarmReport> {
        let of_cluster = self.alarms.iter().filter(|(id, _)| *id == cluster).map(|(_, row)| row.clone());
        of_cluster.map(|row| if row.completed { row } else { AlarmReport { to_s: seconds(now), ..row } }).collect()
    }

    /// Databases of a cluster that were defragmented.
    pub fn defragmentations(&self, cluster: EtcdId) -> Vec<DefragmentationReport> {
        self.defragmentations.iter().filter(|(id, _)| *id == cluster).map(|(_, row)| row.clone()).collect()
    }
}

impl Observer for Space {
    fn record(&mut self, at: Time, record: &Record) {
        let name = |member| text::member(&*self.scenario, member).to_owned();
        match record {
            Record::Etcd(EtcdRecord::SpaceExceeded { member, bytes }) => {
                let (from_s, to_s) = (seconds(at), seconds(at));
                let row = AlarmReport { member: name(*member), bytes: *bytes, from_s, to_s, completed: false };
                self.alarms.push((member.cluster, row));
            }
            Record::Etcd(EtcdRecord::AlarmDisarmed(cluster)) => {
                let open = self.alarms.iter_mut().rev().find(|(id, row)| id == cluster && !row.completed);
                if let Some((_, row)) = open {
                    (row.to_s, row.completed) = (seconds(at), true);
                }
            }
            Record::Etcd(EtcdRecord::Defragmented { member, before, after, duration }) => {
                let row = DefragmentationReport {
                    member: name(*member),
                    at_s: seconds(at),
                    duration_s: length(*duration),
                    before_bytes: *before,
                    after_bytes: *after,
                };
                self.defragmentations.push((member.cluster, row));
            }
            _ => {}
        }
    }
}
