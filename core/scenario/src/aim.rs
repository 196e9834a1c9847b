//! What a fault hits in the end, where it aims at whatever the leader has.

use crate::ids::{ClusterId, MemberId, NodeId, VolumeId, ZoneId};
use crate::{Aim, Fault};

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
    pub fn resolved(&self, leader: impl Fn(ClusterId) -> Leader) -> Self {
        fn aim<T: Copy>(aim: Aim<T>, of_leader: impl Fn(ClusterId) -> T) -> Aim<T> {
            match aim {
                Aim::Named(_) => aim,
                Aim::OfLeader(cluster) => Aim::Named(of_leader(cluster)),
            }
        }
        match *self {
            Self::NodeCrash(node) => Self::NodeCrash(aim(node, |cluster| leader(cluster).node)),
            Self::ProcessKill(member) => Self::ProcessKill(aim(member, |cluster| leader(cluster).member)),
            Self::GracefulStop(member) => Self::GracefulStop(aim(member, |cluster| leader(cluster).member)),
            Self::ZonePower(zone) => Self::ZonePower(aim(zone, |cluster| leader(cluster).zone)),
            Self::ZoneCut { zone, direction } => Self::ZoneCut { zone: aim(zone, |cluster| leader(cluster).zone), direction },
            Self::NodeCut { node, direction } => Self::NodeCut { node: aim(node, |cluster| leader(cluster).node), direction },
            Self::LinkDegraded { a, b, change } => Self::LinkDegraded { a, b, change },
            Self::DiskSlow { volume, add, factor } => {
                Self::DiskSlow { volume: aim(volume, |cluster| leader(cluster).volume), add, factor }
            }
            Self::CloudApi { .. } => self.clone(),
            Self::VolumeLost(volume) => Self::VolumeLost(aim(volume, |cluster| leader(cluster).volume)),
        }
    }
}

impl<T: Copy> Aim<T> {
    /// What a resolved aim names.
    pub fn named(self) -> T {
        match self {
            Self::Named(target) => target,
            Self::OfLeader(_) => unreachable!("aims are resolved when a fault starts"),
        }
    }
}
