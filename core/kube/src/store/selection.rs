//! Which workloads selectors of pods select, looked up once: a workload's namespace and labels stay as they are ([`Store::set_template`]).

use super::Store;
use crate::spec::{KubeClusterSpec, PodSelector};
use zonefall_scenario::ids::{TiVec, WorkloadId};

/// What budgets and Services select.
#[derive(Clone, Debug)]
pub(super) struct Selections {
    budgets: Selection,
    services: Selection,
}

impl Selections {
    pub(super) fn new(spec: &KubeClusterSpec) -> Self {
        Self {
            budgets: Selection::new(spec.budgets.iter().map(|budget| &budget.pods), spec),
            services: Selection::new(spec.services.iter().map(|service| &service.pods), spec),
        }
    }
}

/// What each of several selectors selects.
#[derive(Clone, Debug)]
struct Selection {
    /// Per selector: workloads, in ascending order.
    workloads: Vec<Vec<WorkloadId>>,
    /// Per workload: places of selectors, in ascending order.
    selectors: TiVec<WorkloadId, Vec<u32>>,
}

impl Selection {
    fn new<'a>(selectors: impl Iterator<Item = &'a PodSelector>, spec: &KubeClusterSpec) -> Self {
        let mut selection = Self { workloads: Vec::new(), selectors: vec![Vec::new(); spec.workloads.len()].into() };
        for (place, selector) in (0..).zip(selectors) {
            let all = spec.workloads.iter_enumerated();
            let selected: Vec<_> = all.filter(|(_, workload)| selector.selects(workload)).map(|(id, _)| id).collect();
            for id in &selected {
                selection.selectors[*id].push(place);
            }
            selection.workloads.push(selected);
        }
        selection
    }
}

impl Store {
    /// Workloads whose pods a budget selects, by its place among [`KubeClusterSpec::budgets`].
    pub fn workloads_of_budget(&self, budget: u32) -> &[WorkloadId] {
        &self.selections.budgets.workloads[budget as usize]
    }

    /// Places of the budgets that select the pods of a workload.
    pub fn named_budgets_of(&self, workload: WorkloadId) -> &[u32] {
        &self.selections.budgets.selectors[workload]
    }

    /// Workloads whose pods a Service selects, by its place among [`KubeClusterSpec::services`].
    pub fn workloads_of_service(&self, service: u32) -> &[WorkloadId] {
        &self.selections.services.workloads[service as usize]
    }

    /// Places of the Services that select the pods of a workload.
    pub fn services_of(&self, workload: WorkloadId) -> &[u32] {
        &self.selections.services.selectors[workload]
    }
}
