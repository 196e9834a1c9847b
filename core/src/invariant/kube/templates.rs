//! Workloads as they are now: those of the scenario, until druid or gardenlet change them.

use std::collections::BTreeMap;

use crate::gardener::druid::{DruidFact, MigrationFact, ToleranceFact, relaxed, required};
use crate::gardener::record::GardenerRecord;
use crate::ids::{KubeClusterId, WorkloadId};
use crate::kube::spec::gardener::FailureTolerance;
use crate::kube::spec::{KubeClusterSpec, Workload};
use crate::scenario::Scenario;

/// Those of one cluster that have changed.
#[derive(Clone, Debug, Default)]
pub(super) struct Templates {
    changed: BTreeMap<WorkloadId, Workload>,
    /// What shoots are to survive that were made to.
    admitted: BTreeMap<u16, FailureTolerance>,
}

impl Templates {
    /// A workload now.
    pub(super) fn get<'a>(&'a self, id: WorkloadId, spec: &'a KubeClusterSpec) -> &'a Workload {
        self.changed.get(&id).unwrap_or(&spec.workloads[id])
    }

    /// Takes a fact in.
    pub(super) fn record(&mut self, fact: &GardenerRecord, cluster: KubeClusterId, scenario: &Scenario) {
        let spec = &scenario.kube.clusters[cluster];
        match *fact {
            GardenerRecord::Druid(set, DruidFact::Relaxed) => drop(self.changed.insert(set, relaxed(self.get(set, spec)))),
            GardenerRecord::Druid(set, DruidFact::Required) => drop(self.changed.insert(set, required(self.get(set, spec)))),
            GardenerRecord::Tolerance(shoot, ToleranceFact::Admitted(to)) => drop(self.admitted.insert(shoot, to)),
            GardenerRecord::Druid(set, DruidFact::Grows(_)) => self.change(cluster, scenario, |_, id| id == set),
            GardenerRecord::Tolerance(shoot, ToleranceFact::Follows(_)) => self.change(cluster, scenario, |of, _| of == shoot),
            GardenerRecord::Migration(shoot, MigrationFact::Restores(tolerance)) => {
                self.admitted.insert(shoot, tolerance);
                self.change(cluster, scenario, |of, _| of == shoot);
            }
            _ => {}
        }
    }

    /// Components of shoots become what they are to be.
    fn change(&mut self, cluster: KubeClusterId, scenario: &Scenario, which: impl Fn(u16, WorkloadId) -> bool) {
        let model = &scenario.kube;
        for (shoot, tolerance) in &self.admitted {
            let places = model.shoots[usize::from(*shoot)].places().filter(|hosted| model.seeds[hosted.seed].cluster == cluster);
            // A shoot that was asked for what it survives already has no other form.
            for hosted in places.filter(|hosted| hosted.workloads.iter().any(|id| which(*shoot, *id))) {
                let form = hosted.workloads.iter().zip(hosted.form(*tolerance)).filter(|(id, _)| which(*shoot, **id));
                self.changed.extend(form.map(|(id, workload)| (*id, workload.clone())));
            }
        }
    }
}
