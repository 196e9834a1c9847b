//! Facts of zone-aware controllers in plain words.

use crate::record::RolloutRecord;
use crate::rule::zone_aware_update::Verdict;
use zonefall_kube::spec::KubeClusterSpec;
use zonefall_scenario::Scenario;

impl RolloutRecord {
    /// The name of the workload that it is about.
    pub fn workload<'a>(&self, cluster: &'a KubeClusterSpec) -> &'a str {
        let workload = match *self {
            Self::Step { update, .. } | Self::Verdict(update, _) | Self::Stale { update, .. } => {
                cluster.zone_aware.updates[usize::from(update)].workload
            }
            Self::RolledBack(workload) => workload,
        };
        &cluster.workloads[workload].name
    }

    /// The fact in plain words, names resolved.
    pub fn describe(&self, cluster: &KubeClusterSpec, scenario: &Scenario) -> String {
        let workload = self.workload(cluster);
        let text = match self {
            Self::Step { zone, pods, .. } => {
                format!("deletes {} of {workload} in {}", count(*pods), scenario.zones[*zone].name)
            }
            Self::Verdict(_, verdict) => format!("of {workload} {}", verdict.describe()),
            Self::Stale { pods, .. } => {
                format!("of {workload} deletes {} that it would keep if its cache were not stale", count(*pods))
            }
            Self::RolledBack(_) => return format!("{}: the pipeline of {workload} rolls it back: its alarm rings", cluster.name),
        };
        format!("{}: the ZoneAwareUpdate {text}", cluster.name)
    }
}

impl Verdict {
    /// What the update does, in words that follow its name.
    pub const fn describe(self) -> &'static str {
        match self {
            Self::NotOnDelete => "leaves pods to the StatefulSet controller",
            Self::Terminating => "waits for pods that are terminating",
            Self::NewPodNotReady => "waits for pods of the new revision to be ready",
            Self::Done => "is done",
            Self::SeveralZonesNotReady => "waits: old pods of several zones are not ready",
            Self::OtherZoneNotReady => "waits: pods are not ready outside the next zone",
            Self::Paused => "is paused by its alarm",
            Self::AlarmUnreadable => "cannot read its alarm",
            Self::NoZone => "knows the zone of no old pod",
            Self::Deletes => "goes on",
            Self::DryRun => "would delete pods, but for its dry run",
            Self::Bakes => "waits for its bake time before it begins the next zone",
            Self::NothingAllowed => "may delete no pod: maxUnavailable or exponentialFactor allows none",
        }
    }
}

fn count(pods: u16) -> String {
    format!("{pods} pod{}", if pods == 1 { "" } else { "s" })
}
