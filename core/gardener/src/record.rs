//! What happens in a seed because of Gardener.

use serde::{Deserialize, Serialize};

use crate::druid::{DruidFact, MigrationFact, ToleranceFact};
use crate::outage::OutageFact;
use zonefall_kernel::traced;
use zonefall_kube::ctx::ClusterCtx;
use zonefall_scenario::ids::{WorkloadId, ZoneId};

/// A fact of one seed.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum GardenerRecord {
    /// A zone outage is told from its machines and nodes.
    ZoneOutage(ZoneId, OutageFact),
    /// What etcd-druid does with the pods of an etcd cluster.
    Druid(WorkloadId, DruidFact),
    /// Of the failure tolerance of a shoot: a place in [`KubeModel::shoots`](zonefall_kube::spec::KubeModel::shoots).
    Tolerance(u16, ToleranceFact),
    /// Of a shoot that is to move to another seed: a place in [`KubeModel::shoots`](zonefall_kube::spec::KubeModel::shoots).
    Migration(u16, MigrationFact),
}

// The trace writes records of Kubernetes and Gardener alike: their tags differ.
traced! {
    enum GardenerRecord {
        ZoneOutage(zone, fact) = 6,
        Druid(workload, fact) = 12,
        Tolerance(shoot, fact) = 13,
        Migration(shoot, fact) = 14,
    }
}

/// Tells facts of Gardener where a controller tells those of Kubernetes, in one order.
pub(crate) trait Report {
    /// Tells a fact of this seed.
    fn report(&mut self, record: GardenerRecord);
}

impl Report for ClusterCtx<'_> {
    fn report(&mut self, record: GardenerRecord) {
        let cluster = self.cluster;
        self.out.record_other(&(cluster, record));
    }
}
