//! Why no node suits a pod, counted as the scheduler does in its events (`pkg/scheduler/framework/types.go`, `FitError`).

use std::fmt;

use crate::record::Reason;

/// How many nodes each filter refuses, each node by the first that it fails.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Reasons {
    counts: [u16; Reason::FILTERS.len()],
    /// No node is in the zone of the pod's volume.
    homeless: bool,
    /// The pod's claim is unbound and does not wait for a pod (`Immediate`): no node is filtered.
    unbound: bool,
}

impl Reasons {
    /// The pod's claim has no volume.
    pub const UNBOUND_CLAIM: Self = Self { counts: [0; Reason::FILTERS.len()], homeless: false, unbound: true };

    /// Whether some node fails this filter first.
    pub fn has(self, reason: Reason) -> bool {
        self.counts().any(|(own, count)| own == reason && count > 0)
    }

    /// The last of the filters that a node fails; there may be no node at all, or none where the pod's volume is.
    pub fn last(self) -> Reason {
        match self.counts().filter(|(_, count)| *count > 0).last() {
            Some((Reason::VolumeZone, _)) if self.homeless => Reason::NoNodesInVolumeZone,
            Some((reason, _)) => reason,
            None if self.unbound => Reason::UnboundClaim,
            None => Reason::NoNodes,
        }
    }

    /// The same where no node is in the zone of the pod's volume.
    #[must_use]
    pub const fn homeless(self, homeless: bool) -> Self {
        Self { homeless, ..self }
    }

    fn counts(self) -> impl Iterator<Item = (Reason, u16)> {
        Reason::FILTERS.into_iter().zip(self.counts)
    }
}

impl FromIterator<Reason> for Reasons {
    fn from_iter<I: IntoIterator<Item = Reason>>(reasons: I) -> Self {
        let mut all = Self::default();
        for reason in reasons {
            for (own, count) in Reason::FILTERS.iter().zip(&mut all.counts) {
                *count += u16::from(*own == reason);
            }
        }
        all
    }
}

/// In the form of kube-scheduler's event `FailedScheduling`, but in the order of the filters (upstream sorts the reasons by their words): `0/3 nodes are available: 2 node(s) ..., 1 ...`.
impl fmt::Display for Reasons {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let all: u32 = self.counts.iter().map(|count| u32::from(*count)).sum();
        if all == 0 {
            return f.write_str(self.last().event());
        }
        write!(f, "0/{all} nodes are available")?;
        for (k, (reason, count)) in self.counts().filter(|(_, count)| *count > 0).enumerate() {
            write!(f, "{} {count} {}", if k == 0 { ":" } else { "," }, reason.event())?;
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_volume_in_a_zone_without_nodes_is_no_volume_elsewhere() {
        let reasons: Reasons = [Reason::Taints, Reason::VolumeZone].into_iter().collect();
        assert_eq!(
            [false, true].map(|homeless| reasons.homeless(homeless).last()),
            [Reason::VolumeZone, Reason::NoNodesInVolumeZone]
        );
    }

    #[test]
    fn reasons_are_told_as_kube_scheduler_tells_them() {
        use Reason::{NoNodes, NodeAffinity, Resources, Spread, Taints};
        for (refused, last, text) in [
            (&[][..], NoNodes, "no nodes available to schedule pods"),
            (&[Taints], Taints, "0/1 nodes are available: 1 node(s) had untolerated taint(s)"),
            (
                &[NodeAffinity, Taints, NodeAffinity, Taints, NodeAffinity, Taints],
                NodeAffinity,
                "0/6 nodes are available: 3 node(s) had untolerated taint(s), 3 node(s) didn't match Pod's node affinity/selector",
            ),
            (
                &[Spread, Resources],
                Spread,
                "0/2 nodes are available: 1 Insufficient cpu, memory or pods, 1 node(s) didn't match pod topology spread constraints",
            ),
        ] {
            let reasons: Reasons = refused.iter().copied().collect();
            assert_eq!((reasons.last(), reasons.to_string()), (last, text.to_owned()));
            let homeless = reasons.homeless(true);
            assert_eq!((homeless.last(), homeless.to_string()), (last, text.to_owned()), "it says nothing of volumes");
            assert!(refused.iter().all(|reason| reasons.has(*reason)) && !reasons.has(Reason::VolumeZone));
        }
    }
}
