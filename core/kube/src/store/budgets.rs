//! Pod disruption budgets: their status as the disruption controller last wrote it.

use super::{Change, Store};
use crate::rule::budget::Status;
use zonefall_scenario::ids::WorkloadId;

/// A `PodDisruptionBudget` of a cluster.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum BudgetId {
    /// Of one workload.
    Workload(WorkloadId),
    /// By its place among [`crate::spec::KubeClusterSpec::budgets`].
    Named(u32),
}

impl BudgetId {
    fn place(self, store: &Store) -> usize {
        match self {
            Self::Workload(workload) => workload.into(),
            Self::Named(k) => store.by_workload.len() + k as usize,
        }
    }
}

impl Store {
    /// The status of a budget, if there is one.
    pub fn budget(&self, id: BudgetId) -> Option<&Status> {
        self.budgets[id.place(self)].as_ref()
    }

    /// Sets the status of a budget.
    pub fn set_budget(&mut self, id: BudgetId, status: Status) {
        let place = id.place(self);
        if self.budgets[place].replace(status) != Some(status) {
            self.note(Change::Budget);
        }
    }
}
