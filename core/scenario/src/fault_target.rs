//! What a fault hits in the end, where it aims at whatever the leader has.

use crate::ids::{EtcdId, MemberId, NodeId, VolumeId, ZoneId};
use crate::{Fault, FaultTarget};

/// What leads: resolves aims at "that of the leader".
#[derive(Clone, Copy, Debug)]
pub struct Leader {
    /// The member.
    pub member: MemberId,
    /// Its node.
    pub node: NodeId,
    /// Its zone.
    pub zone: ZoneId,
    /// Its volume.
    pub volume: VolumeId,
}

impl Fault {
    /// The fault with every aim named; `leader` finds who leads a cluster. A cluster that nobody leads is hit at its first member.
    #[must_use]
    pub fn resolved(&self, leader: impl Fn(EtcdId) -> Leader) -> Self {
        fn target<T: Copy>(target: FaultTarget<T>, of_leader: impl Fn(EtcdId) -> T) -> FaultTarget<T> {
            match target {
                FaultTarget::Named(_) => target,
                FaultTarget::OfLeader(cluster) => FaultTarget::Named(of_leader(cluster)),
            }
        }
        match *self {
            Self::NodeCrash(node) => Self::NodeCrash(target(node, |cluster| leader(cluster).node)),
            Self::ProcessKill(member) => Self::ProcessKill(target(member, |cluster| leader(cluster).member)),
            Self::GracefulStop(member) => Self::GracefulStop(target(member, |cluster| leader(cluster).member)),
            Self::ZonePower(zone) => Self::ZonePower(target(zone, |cluster| leader(cluster).zone)),
            Self::ZonePartition { zone, direction } => {
                Self::ZonePartition { zone: target(zone, |cluster| leader(cluster).zone), direction }
            }
            Self::NodePartition { node, direction } => {
                Self::NodePartition { node: target(node, |cluster| leader(cluster).node), direction }
            }
            Self::LinkDegraded { a, b, change } => Self::LinkDegraded { a, b, change },
            Self::DiskSlow { volume, add, factor } => {
                Self::DiskSlow { volume: target(volume, |cluster| leader(cluster).volume), add, factor }
            }
            Self::CloudApi { .. } => self.clone(),
            Self::VolumeLost(volume) => Self::VolumeLost(target(volume, |cluster| leader(cluster).volume)),
        }
    }
}

impl<T: Copy> FaultTarget<T> {
    /// What a resolved aim names.
    pub fn named(self) -> T {
        match self {
            Self::Named(target) => target,
            Self::OfLeader(_) => unreachable!("aims are resolved when a fault starts"),
        }
    }
}
