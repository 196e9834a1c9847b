//! What happens in a seed because of Gardener.

use serde::{Deserialize, Serialize};

use crate::admission::{Denial, MigrationDenial};
use zonefall_kernel::traced;
use zonefall_kube::ctx::ClusterCtx;
use zonefall_kube::spec::gardener::FailureTolerance;
use zonefall_scenario::ids::{SeedId, WorkloadId, ZoneId};

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

/// The two ways an outage looks.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum OutageSign {
    /// A machine of each deployment terminates for good.
    DeletionFails,
    /// A machine of each deployment waits for its node.
    DeletionWorks,
}

traced! { enum OutageSign { DeletionFails = 0, DeletionWorks = 1 } }

/// A fact of a zone outage.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum OutageFact {
    /// It has looked like one for long enough.
    Detected(OutageSign),
    /// A machine runs again, and so does its node.
    Ended,
}

traced! { enum OutageFact { Detected(deletion) = 0, Ended = 1 } }

/// What etcd-druid does with the pods of an etcd cluster.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum DruidFact {
    /// They need not be in zones of their own any more, they prefer it.
    Relaxed,
    /// They must be again.
    Required,
    /// The pod of this ordinal leaves a zone that has an outage: it and its volume are deleted.
    Moves(u32),
    /// The pod of this ordinal makes room for one in a zone that has recovered.
    Returns(u32),
    /// The pod of this ordinal should move, but has been as many members as a run allows for.
    Spent(u32),
    /// They start anew, to talk to their peers with TLS.
    Restarts,
    /// So many are wanted.
    Grows(u32),
}

traced! {
    enum DruidFact {
        Relaxed = 0,
        Required = 1,
        Moves(ordinal) = 2,
        Returns(ordinal) = 3,
        Spent(ordinal) = 4,
        Restarts = 5,
        Grows(replicas) = 6,
    }
}

/// What becomes of a shoot that is asked to survive more.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum ToleranceFact {
    /// It may.
    Admitted(FailureTolerance),
    /// It may not.
    Denied(FailureTolerance, Denial),
    /// etcd does; the other components follow.
    Follows(FailureTolerance),
    /// All of it does.
    Done(FailureTolerance),
}

traced! { enum ToleranceFact { Admitted(to) = 0, Denied(to, why) = 1, Follows(to) = 2, Done(to) = 3 } }

/// What becomes of a shoot that is to move to another seed.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum MigrationFact {
    /// It may, from the first seed to the second.
    Admitted(SeedId, SeedId),
    /// It may not move to that seed.
    Denied(SeedId, MigrationDenial),
    /// Its API servers and controllers are to end.
    Leaves,
    /// No API server is left, and nobody else asks etcd.
    Closed,
    /// All that etcd has is in the backup bucket; etcd is to end.
    Kept,
    /// Nothing is left of it in the old seed.
    Gone,
    /// etcd is restored in the new one; its components are to survive that.
    Restores(FailureTolerance),
    /// etcd serves there; API servers follow.
    Restored,
    /// API servers serve there; the rest follows.
    Serves,
    /// All of it is there.
    Done,
}

traced! {
    enum MigrationFact {
        Admitted(from, to) = 0,
        Denied(to, why) = 1,
        Leaves = 2,
        Closed = 3,
        Kept = 4,
        Gone = 5,
        Restores(tolerance) = 6,
        Restored = 7,
        Serves = 8,
        Done = 9,
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
