//! What the zone-aware controllers of a cluster do.

use serde::{Deserialize, Serialize};

use zonefall_kernel::traced;
use zonefall_kube::ctx::ClusterCtx;
use zonefall_scenario::ids::{WorkloadId, ZoneId};

use crate::rule::zone_aware_update::Verdict;

/// A fact of one cluster. Updates are named by their place among
/// [`ZoneAware::updates`](zonefall_scenario::kube::zone_aware::ZoneAware::updates).
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum RolloutRecord {
    /// A `ZoneAwareUpdate` deletes pods: those whose deletion is recorded next.
    Step {
        /// The update.
        update: u16,
        /// Zone of the pods.
        zone: ZoneId,
        /// Number of pods.
        pods: u16,
        /// Steps before it with this revision.
        step: u32,
    },
    /// A pass of a `ZoneAwareUpdate` comes to something else than the one before.
    Verdict(u16, Verdict),
    /// A pipeline rolls a workload back, because an alarm rings.
    RolledBack(WorkloadId),
    /// A `ZoneAwareUpdate` deletes pods that it would keep if its cache were not stale.
    Stale {
        /// The update.
        update: u16,
        /// Number of such pods.
        pods: u16,
    },
}

// The trace writes records of Kubernetes and of the zone-aware controllers alike: their tags differ.
traced! {
    enum RolloutRecord {
        Step { update, zone, pods, step } = 20,
        Verdict(update, verdict) = 21,
        RolledBack(workload) = 22,
        Stale { update, pods } = 23,
    }
}

/// Records a fact.
pub(crate) fn tell(record: RolloutRecord, ctx: &mut ClusterCtx<'_>) {
    ctx.out.record_other(&(ctx.cluster, record));
}
