//! The recovery point: committed data that faults destroyed.
//!
//! An entry is lost when it was committed and no remaining volume of any member holds it; the engine says so
//! ([`EtcdRecord::DataLost`]). A cluster whose majority keeps its disks never loses one: that is an
//! [invariant](crate::invariant), not a hope. An active-passive cluster does: whoever takes over goes on with what it has, and what was
//! committed beyond is gone ([`PassiveRecord::Forked`]).

use std::sync::Arc;

use super::Observer;
use crate::etcd::passive::PassiveRecord;
use crate::ids::{EtcdId, MemberId};
use crate::kernel::time::Time;
use crate::record::{EtcdRecord, Record};
use crate::report::{LossReport, RpoReport, seconds};
use crate::scenario::text;
use crate::scenario::{Fault, Scenario};

/// Collects losses.
#[derive(Clone, Debug)]
pub struct Durability {
    scenario: Arc<Scenario>,
    /// Volumes lost so far: only they destroy what was synced.
    volumes_lost: Vec<String>,
    losses: Vec<(EtcdId, LossReport)>,
}

impl Durability {
    /// Nothing is lost yet.
    pub fn new(scenario: &Arc<Scenario>) -> Self {
        Self { scenario: Arc::clone(scenario), volumes_lost: Vec::new(), losses: Vec::new() }
    }

    /// What a cluster lost.
    pub fn rpo(&self, cluster: EtcdId) -> RpoReport {
        let events: Vec<_> = self.losses.iter().filter(|(c, _)| *c == cluster).map(|(_, loss)| loss.clone()).collect();
        RpoReport { lost_entries: events.iter().map(|e| e.entries).sum(), events }
    }

    fn lost(&mut self, at: Time, cluster: EtcdId, entries: u64, cause: String) {
        self.losses.push((cluster, LossReport { at_s: seconds(at), entries, cause }));
    }

    fn name(&self, cluster: EtcdId, index: u8) -> &str {
        text::member(&self.scenario, MemberId { cluster, index })
    }
}

impl Observer for Durability {
    fn record(&mut self, at: Time, record: &Record) {
        match record {
            Record::FaultStarted(active) if matches!(active.fault, Fault::VolumeLost(_)) => {
                self.volumes_lost.push(active.fault.kind().began(&self.scenario));
            }
            Record::Etcd(EtcdRecord::DataLost { cluster, entries }) => {
                let mut faults = self.volumes_lost.clone();
                faults.dedup();
                let early = self.scenario.etcd[*cluster].options.answers_before_sync;
                let cause = match (faults.is_empty(), early) {
                    (false, _) => text::list(&faults),
                    (true, true) => "acknowledged before it was synced to disk".to_owned(),
                    (true, false) => "no volume was lost".to_owned(),
                };
                self.lost(at, *cluster, *entries, cause);
            }
            Record::Etcd(EtcdRecord::Passive(cluster, PassiveRecord::Forked { member, lost: entries, .. })) if *entries > 0 => {
                let spec = &self.scenario.etcd[*cluster];
                let how = match spec.passive.as_ref().map(|passive| passive.backup.is_some()) {
                    Some(true) => "took over with what the backup bucket held",
                    Some(false) => "took over with the entries it had received",
                    None => "started empty on another seed, because this cluster has no backup",
                };
                self.lost(at, *cluster, *entries, format!("{} {how}", self.name(*cluster, *member)));
            }
            Record::Etcd(EtcdRecord::Passive(cluster, PassiveRecord::Discarded { member, lost: entries })) if *entries > 0 => {
                let cause =
                    format!("{} had continued to accept writes after another member took over", self.name(*cluster, *member));
                self.lost(at, *cluster, *entries, cause);
            }
            _ => {}
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::ids::VolumeId;
    use crate::observe::testing::{CLUSTER, at, fault, three_zones};
    use crate::scenario::{FaultTarget, VolumeLost};

    #[test]
    fn a_loss_names_the_disks() {
        let scenario = Arc::new(three_zones());
        let mut durability = Durability::new(&scenario);
        for (id, volume) in [(0, 1), (1, 2)] {
            let (ms, record) = fault(id, 1_000, Fault::VolumeLost(VolumeLost(FaultTarget::Named(VolumeId(volume)))));
            durability.record(at(ms), &record);
        }
        durability.record(at(2_000), &Record::Etcd(EtcdRecord::DataLost { cluster: CLUSTER, entries: 12 }));
        let rpo = durability.rpo(CLUSTER);
        assert_eq!(rpo.lost_entries, 12);
        assert_eq!(rpo.events[0].cause, "disk of etcd-main-1 was lost and disk of etcd-main-2 was lost");
    }
}
