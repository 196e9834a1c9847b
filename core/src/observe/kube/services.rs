//! Services: which pods they list, and whether any of those serves.

use std::collections::{BTreeMap, BTreeSet};

use super::serving::Serving;
use crate::ids::{KubeClusterId, ServiceId};
use crate::kernel::time::{Duration, Time};
use crate::kube::name::PodName;
use crate::kube::record::{KubeRecord, NodeFact};
use crate::report::{ServiceReport, length};
use crate::scenario::Scenario;

/// Follows the Services of all clusters.
#[derive(Clone, Debug, Default)]
pub struct Services {
    services: BTreeMap<(KubeClusterId, ServiceId), Service>,
}

#[derive(Clone, Debug)]
struct Service {
    listed: BTreeSet<PodName>,
    /// Listed pods that do not serve: clients are sent there in vain.
    stale: u64,
    /// None that is listed serves.
    is_down: bool,
    since: Time,
    /// Times up to `since`.
    empty: Duration,
    down: Duration,
    /// A listed pod did not serve.
    with_stale: Duration,
    /// Time summed over the listed pods that did not serve.
    stale_time: Duration,
}

impl Service {
    /// Nothing is listed yet.
    fn empty() -> Self {
        let (listed, stale, since) = Default::default();
        let (empty, down, with_stale, stale_time) = Default::default();
        Self { listed, stale, is_down: true, since, empty, down, with_stale, stale_time }
    }

    /// Takes account of the time up to `now`.
    fn advance(&mut self, now: Time) {
        let passed = now.since(std::mem::replace(&mut self.since, now));
        if self.listed.is_empty() {
            self.empty = self.empty + passed;
        }
        if self.is_down {
            self.down = self.down + passed;
        }
        if self.stale > 0 {
            self.with_stale = self.with_stale + passed;
        }
        self.stale_time = self.stale_time + passed * self.stale;
    }
}

impl Services {
    /// All Services, of which none has been looked at yet.
    pub fn new(scenario: &Scenario) -> Self {
        let clusters = scenario.kube.clusters.iter_enumerated();
        let of = |(id, spec): (KubeClusterId, &crate::kube::spec::KubeClusterSpec)| {
            spec.services.keys().map(move |service| ((id, service), Service::empty()))
        };
        Self { services: clusters.flat_map(of).collect() }
    }

    /// Takes note of a record, after `serving` has.
    pub fn record(&mut self, at: Time, cluster: KubeClusterId, record: &KubeRecord, serving: &Serving) {
        let changes = |id: ServiceId, listed: &BTreeSet<PodName>| match record {
            KubeRecord::Pod(pod, _) => listed.contains(pod),
            KubeRecord::Node(_, fact) => matches!(fact, NodeFact::Lost(_)),
            KubeRecord::Endpoint { service, .. } => *service == id,
            _ => false,
        };
        for ((_, id), service) in self.services.range_mut((cluster, ServiceId(0))..=(cluster, ServiceId(u16::MAX))) {
            if !changes(*id, &service.listed) {
                continue;
            }
            service.advance(at);
            match *record {
                KubeRecord::Endpoint { pod, listed: true, .. } => drop(service.listed.insert(pod)),
                KubeRecord::Endpoint { pod, listed: false, .. } => drop(service.listed.remove(&pod)),
                _ => {}
            }
            service.stale = service.listed.iter().filter(|pod| !serving.serves(cluster, **pod)).count() as u64;
            service.is_down = service.stale == service.listed.len() as u64;
        }
    }

    /// All of it as it stands `now`, in the order of the scenario.
    pub fn rows(&self, now: Time, scenario: &Scenario) -> Vec<ServiceReport> {
        let row = |((cluster, id), service): (&(KubeClusterId, ServiceId), &Service)| {
            let mut service = service.clone();
            service.advance(now);
            let cluster = &scenario.kube.clusters[*cluster];
            ServiceReport {
                cluster: cluster.name.clone(),
                service: cluster.services[*id].name.clone(),
                endpoints: service.listed.len() as u64,
                unavailable_s: length(service.down),
                no_endpoints_s: length(service.empty),
                stale_s: length(service.with_stale),
                stale_endpoints_s: length(service.stale_time),
            }
        };
        self.services.iter().map(row).collect()
    }
}
