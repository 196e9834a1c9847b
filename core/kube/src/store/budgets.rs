//! Pod disruption budgets: their status as the disruption controller last wrote it.

use super::{Change, Store};
use crate::rule::budget::Status;
use serde::{Deserialize, Serialize};
use zonefall_scenario::ids::{WorkloadId, ZoneId};

/// A `PodDisruptionBudget` of a cluster.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum BudgetId {
    /// Of one workload.
    Workload(WorkloadId),
    /// By its place among [`crate::spec::KubeClusterSpec::budgets`].
    Named(u32),
}

/// What a budget allows.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct BudgetView {
    /// Which budget.
    pub budget: BudgetKey,
    /// Evictions that its status allows.
    pub allowed: i64,
}

/// A budget of a cluster.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum BudgetKey {
    /// The `PodDisruptionBudget` that a workload brings along.
    Own(WorkloadId),
    /// By its place among [`crate::spec::KubeClusterSpec::budgets`].
    Named(u32),
    /// By its place among the `ZoneDisruptionBudget`s ([`ZoneAware::budgets`](zonefall_scenario::kube::zone_aware::ZoneAware::budgets)):
    /// what it allows in a zone.
    Zone(u32, ZoneId),
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
