//! Workloads as they are now: those of the scenario, until druid or gardenlet change them.

use std::collections::BTreeMap;

use crate::gardener::druid::{DruidFact, ToleranceFact, relaxed, required};
use crate::ids::WorkloadId;
use crate::kube::record::KubeRecord;
use crate::kube::spec::gardener::{FailureTolerance, ToleranceChange};
use crate::kube::spec::{PlaneSpec, Workload};
use crate::scenario::Scenario;

/// Those of one plane that have changed.
#[derive(Clone, Debug, Default)]
pub(super) struct Templates {
    changed: BTreeMap<WorkloadId, Workload>,
    /// What shoots are to survive that were made to.
    admitted: BTreeMap<u16, FailureTolerance>,
}

impl Templates {
    /// A workload now.
    pub(super) fn get<'a>(&'a self, id: WorkloadId, spec: &'a PlaneSpec) -> &'a Workload {
        self.changed.get(&id).unwrap_or(&spec.workloads[id.0 as usize])
    }

    /// Takes a fact in.
    pub(super) fn record(&mut self, fact: &KubeRecord, spec: &PlaneSpec, scenario: &Scenario) {
        match *fact {
            KubeRecord::Druid(set, DruidFact::Relaxed) => drop(self.changed.insert(set, relaxed(self.get(set, spec)))),
            KubeRecord::Druid(set, DruidFact::Required) => drop(self.changed.insert(set, required(self.get(set, spec)))),
            KubeRecord::Tolerance(shoot, ToleranceFact::Admitted(to)) => drop(self.admitted.insert(shoot, to)),
            KubeRecord::Druid(set, DruidFact::Grows(_)) => self.change(scenario, |_, id| id == set),
            KubeRecord::Tolerance(shoot, ToleranceFact::Follows(_)) => self.change(scenario, |of, _| of == shoot),
            _ => {}
        }
    }

    /// Components of shoots become what they are to be.
    fn change(&mut self, scenario: &Scenario, which: impl Fn(u16, WorkloadId) -> bool) {
        for ToleranceChange { shoot, to, workloads, .. } in &scenario.kube.changes {
            let hosted = scenario.kube.shoots[usize::from(*shoot)].hosted.iter().flat_map(|hosted| &hosted.workloads);
            for (id, workload) in hosted.zip(workloads).filter(|(id, _)| which(*shoot, **id)) {
                if self.admitted.get(shoot) == Some(to) {
                    self.changed.insert(*id, workload.clone());
                }
            }
        }
    }
}
