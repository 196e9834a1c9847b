//! Topology hints of Services: while they had them, and why not.

use crate::ids::{KubeClusterId, WorkloadId};
use crate::kernel::time::Time;
use crate::kube::describe::service_name;
use crate::kube::record::{HintsFact, KubeRecord};
use crate::report::{HintsReport, seconds};
use crate::scenario::Scenario;

/// Follows the Services of all clusters that ask for hints.
#[derive(Clone, Debug, Default)]
pub struct Hints {
    /// In the order they began.
    rows: Vec<Row>,
}

#[derive(Clone, Copy, Debug)]
struct Row {
    cluster: KubeClusterId,
    service: WorkloadId,
    fact: HintsFact,
    from: Time,
    to: Option<Time>,
}

impl Hints {
    /// Takes note of a fact.
    pub fn record(&mut self, at: Time, cluster: KubeClusterId, fact: &KubeRecord) {
        let KubeRecord::Hints(service, fact) = *fact else { return };
        if let Some(before) = self.rows.iter_mut().rfind(|row| (row.cluster, row.service) == (cluster, service)) {
            before.to = Some(at);
        }
        self.rows.push(Row { cluster, service, fact, from: at, to: None });
    }

    /// All of it, Service by Service, as it stands `now`.
    pub fn rows(&self, now: Time, scenario: &Scenario) -> Vec<HintsReport> {
        let mut rows: Vec<&Row> = self.rows.iter().collect();
        rows.sort_by_key(|row| (row.cluster, row.service, row.from));
        let report = |row: &Row| {
            let cluster = &scenario.kube.clusters[row.cluster];
            let (on, why) = match row.fact {
                HintsFact::On => (true, None),
                HintsFact::Off(why) => (false, Some(why.to_string())),
            };
            HintsReport {
                seed: cluster.name.clone(),
                service: service_name(&cluster.workloads[row.service], scenario),
                active: on,
                from_s: seconds(row.from),
                to_s: seconds(row.to.unwrap_or(now)),
                why,
            }
        };
        rows.into_iter().map(report).collect()
    }
}
