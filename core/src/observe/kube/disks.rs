//! Disks that pods use by name: what a name was found to mean, and in which zones disks of it were used.

use std::collections::BTreeMap;
use std::sync::Arc;

use super::rollouts::zone_of;
use crate::ids::{KubeClusterId, WorkloadId, ZoneId};
use crate::kube::record::{KubeRecord, PodFact};
use crate::kube::spec::volume::{DiskMount, ZoneLookup};
use crate::report::DiskReport;
use crate::scenario::Scenario;

/// Follows the disks of all clusters.
#[derive(Clone, Debug)]
pub struct Disks {
    scenario: Arc<Scenario>,
    of: BTreeMap<(KubeClusterId, WorkloadId), Used>,
}

#[derive(Clone, Debug, Default)]
struct Used {
    /// Zones in which a disk was attached, in order; the last is the current one.
    zones: Vec<ZoneId>,
    failed: u32,
}

impl Disks {
    /// None was attached yet.
    pub fn new(scenario: &Arc<Scenario>) -> Self {
        let mut of = BTreeMap::new();
        for (cluster, spec) in scenario.kube.clusters.iter_enumerated() {
            for (id, workload) in spec.workloads.iter_enumerated() {
                if workload.uses_disk() {
                    of.insert((cluster, id), Used::default());
                }
            }
        }
        Self { scenario: Arc::clone(scenario), of }
    }

    /// Something has happened.
    pub fn record(&mut self, cluster: KubeClusterId, record: &KubeRecord) {
        let KubeRecord::Pod(pod, fact @ (PodFact::VolumeAttached(node) | PodFact::AttachFailed(node))) = *record else { return };
        let Some(used) = self.of.get_mut(&(cluster, pod.workload)) else { return };
        let zone = zone_of(node, &self.scenario.kube.clusters[cluster], &self.scenario);
        match fact {
            PodFact::AttachFailed(_) => used.failed += 1,
            _ if used.zones.last() != Some(&zone) => used.zones.push(zone),
            _ => {}
        }
    }

    /// One row for each workload that uses one.
    pub fn rows(&self) -> Vec<DiskReport> {
        let names = |zones: &[ZoneId]| zones.iter().map(|zone| self.scenario.zones[*zone].name.clone()).collect::<Vec<_>>();
        let row = |((cluster, workload), used): (&(KubeClusterId, WorkloadId), &Used)| {
            let cluster = &self.scenario.kube.clusters[*cluster];
            let workload = &cluster.workloads[*workload];
            let mount = workload.volume?.mount()?;
            let disk = &cluster.disks.named[usize::from(mount.disk)];
            let zone = mount.zone().map(|zone| self.scenario.zones[zone].name.clone());
            Some(DiskReport {
                cluster: cluster.name.clone(),
                component: workload.name.clone(),
                disk: disk.name.clone(),
                zones: names(&disk.zones),
                lookup_calls: mount.calls.into(),
                lookup: lookup(mount).to_owned(),
                label_zone: zone,
                attached_zones: names(&used.zones),
                failed_attachments: used.failed,
            })
        };
        self.of.iter().filter_map(row).collect()
    }
}

/// What became of the lookup.
const fn lookup(mount: DiskMount) -> &'static str {
    match mount.lookup {
        ZoneLookup::DirectMount => "direct_mount",
        ZoneLookup::Disabled => "disabled",
        ZoneLookup::Found(_) => "found",
        ZoneLookup::NotFound => "not_found",
        ZoneLookup::Ambiguous => "ambiguous",
    }
}
