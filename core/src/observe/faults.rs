//! What broke, from when to when.

use std::sync::Arc;

use super::Observer;
use crate::ids::{FaultId, ZoneId};
use crate::kernel::time::Time;
use crate::record::Record;
use crate::report::{FaultReport, seconds};
use crate::scenario::{ActiveFault, Hit, Impact, Scenario};

/// A time in which a zone had lost its power, or was cut off.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct RecoveredZone {
    /// The zone.
    pub zone: ZoneId,
    /// From when.
    pub from: Time,
    /// To when.
    pub to: Time,
}

/// Collects faults.
#[derive(Clone, Debug)]
pub struct Faults {
    scenario: Arc<Scenario>,
    /// In the order of their start.
    all: Vec<(ActiveFault, Option<Time>)>,
    /// Places in `all` of those under way.
    open: Vec<usize>,
}

impl Faults {
    /// No fault yet.
    pub fn new(scenario: &Arc<Scenario>) -> Self {
        Self { scenario: Arc::clone(scenario), all: Vec::new(), open: Vec::new() }
    }

    /// The fault of this number, if it is under way.
    pub fn under_way(&self, id: FaultId) -> Option<&ActiveFault> {
        self.open.iter().map(|&i| &self.all[i].0).find(|f| f.id == id)
    }

    /// The zones that had lost their power, or were cut off, and have recovered: from when to when.
    pub fn zones_recovered(&self) -> Vec<RecoveredZone> {
        let lost = || {
            let faults = self.all.iter().map(|(active, to)| (active.fault.kind(), active.from, *to));
            let lost = faults.filter(|(fault, ..)| matches!(fault.impact(), Impact::Stops | Impact::Cuts));
            let zone = |hit| if let Hit::Zone(zone) = hit { Some(zone.named()) } else { None };
            lost.flat_map(move |(fault, from, to)| fault.hits().into_iter().filter_map(zone).map(move |zone| (zone, from, to)))
        };
        let is_lost = |zone| lost().any(|(other, _, to)| other == zone && to.is_none());
        let recovered = lost().filter_map(|(zone, from, to)| Some(RecoveredZone { zone, from, to: to? }));
        recovered.filter(|recovered| !is_lost(recovered.zone)).collect()
    }

    /// All faults, `now` being the end of those under way.
    pub fn rows(&self, now: Time) -> Vec<FaultReport> {
        let row = |(fault, to): &(ActiveFault, Option<Time>)| FaultReport {
            from_s: seconds(fault.from),
            to_s: seconds(to.unwrap_or(now)),
            completed: to.is_some(),
            what: fault.fault.kind().began(&self.scenario),
        };
        self.all.iter().map(row).collect()
    }
}

impl Observer for Faults {
    fn record(&mut self, at: Time, record: &Record) {
        match record {
            Record::FaultStarted(fault) => {
                self.open.push(self.all.len());
                self.all.push((fault.clone(), None));
            }
            Record::FaultEnded(id) => {
                let all = &mut self.all;
                self.open.retain(|&i| {
                    let ends = all[i].0.id == *id;
                    if ends {
                        all[i].1 = Some(at);
                    }
                    !ends
                });
            }
            _ => {}
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::ids::ZoneId;
    use crate::observe::testing::{at, fault, three_zones};
    use crate::scenario::{Fault, FaultTarget, ZonePower};

    #[test]
    fn faults_have_their_intervals_and_words() {
        let scenario = Arc::new(three_zones());
        let mut faults = Faults::new(&scenario);
        let (_, power) = fault(0, 1_000, Fault::ZonePower(ZonePower(FaultTarget::Named(ZoneId(0)))));
        let (_, cut) = fault(1, 2_000, Fault::ZonePower(ZonePower(FaultTarget::Named(ZoneId(1)))));
        faults.record(at(1_000), &power);
        faults.record(at(2_000), &cut);
        faults.record(at(3_000), &Record::FaultEnded(FaultId(0)));
        let rows: Vec<_> = faults.rows(at(9_000)).into_iter().map(|f| (f.from_s, f.to_s, f.completed, f.what)).collect();
        assert_eq!(
            rows,
            [(1.0, 3.0, true, "zone z-a lost power".to_owned()), (2.0, 9.0, false, "zone z-b lost power".to_owned())]
        );
    }
}
