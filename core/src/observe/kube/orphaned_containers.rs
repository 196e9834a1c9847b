//! Pods that ran on, cut off, though their object was gone: a second one of the same name may run elsewhere.

use std::collections::BTreeMap;

use crate::ids::KubeClusterId;
use crate::kernel::time::Time;
use crate::kube::name::PodName;
use crate::kube::record::{KubeRecord, PodFact};
use crate::report::{OrphanedContainerReport, seconds};
use crate::scenario::Scenario;

/// Follows all clusters.
#[derive(Clone, Debug, Default)]
pub struct OrphanedContainers {
    closed: Vec<(KubeClusterId, PodName, Time, Time)>,
    open: BTreeMap<(KubeClusterId, PodName), Time>,
}

impl OrphanedContainers {
    /// Takes note of a fact.
    pub fn record(&mut self, at: Time, cluster: KubeClusterId, record: &KubeRecord) {
        match *record {
            KubeRecord::Pod(pod, PodFact::OrphanedContainer(true)) => drop(self.open.insert((cluster, pod), at)),
            KubeRecord::Pod(pod, PodFact::OrphanedContainer(false)) => {
                self.closed.extend(self.open.remove(&(cluster, pod)).map(|from| (cluster, pod, from, at)));
            }
            _ => {}
        }
    }

    /// All of them by when they began, those under way with `now` as their end.
    pub fn rows(&self, now: Time, scenario: &Scenario) -> Vec<OrphanedContainerReport> {
        let row = |cluster: KubeClusterId, pod: PodName, from, to, closed| {
            let spec = &scenario.kube.clusters[cluster];
            OrphanedContainerReport {
                cluster: spec.name.clone(),
                namespace: scenario.kube.word(spec.workloads[pod.workload].namespace).to_owned(),
                pod: pod.text(spec),
                from_s: seconds(from),
                to_s: seconds(to),
                completed: closed,
            }
        };
        let closed = self.closed.iter().map(|(cluster, pod, from, to)| row(*cluster, *pod, *from, *to, true));
        let open = self.open.iter().map(|((cluster, pod), from)| row(*cluster, *pod, *from, now, false));
        let mut rows: Vec<_> = closed.chain(open).collect();
        rows.sort_by(|a, b| a.from_s.total_cmp(&b.from_s));
        rows
    }
}
