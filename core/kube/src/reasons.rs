//! Why no node suits a pod, counted as the scheduler does in its events (`pkg/scheduler/framework/types.go`, `FitError`).

use std::fmt;

use serde::{Deserialize, Serialize};

use crate::record::Reason;
use crate::spec::Resources;

/// What a node has too little of, in the order in which kube-scheduler looks (`fitsRequest` in `noderesources/fit.go`), in its words.
const SHORT: [&str; 3] = ["Too many pods", "Insufficient cpu", "Insufficient memory"];

/// Why a node does not suit a pod.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Refusal {
    /// The first filter that it fails.
    reason: Reason,
    /// Of resources, which of [`SHORT`] it lacks.
    short: [bool; SHORT.len()],
}

impl Refusal {
    /// That of a node of which as much would be requested with the pod; `None`: the pod fits.
    pub fn of_resources(requested: &Resources, allocatable: &Resources) -> Option<Self> {
        let short = [
            requested.pods > allocatable.pods,
            requested.cpu_milli > allocatable.cpu_milli,
            requested.memory > allocatable.memory,
        ];
        short.contains(&true).then_some(Self { reason: Reason::Resources, short })
    }
}

impl Refusal {
    /// Of its one node: `Insufficient cpu, Insufficient memory`, `it is cordoned`.
    pub fn describe(&self) -> String {
        match self.reason {
            Reason::Unschedulable => "it is cordoned".to_owned(),
            Reason::VolumeLimit => "it is at its volume limit".to_owned(),
            Reason::Resources => {
                let short = SHORT.iter().zip(self.short).filter(|(_, is_short)| *is_short);
                short.map(|(words, _)| *words).collect::<Vec<_>>().join(", ")
            }
            other => other.describe().to_owned(),
        }
    }
}

impl From<Reason> for Refusal {
    fn from(reason: Reason) -> Self {
        Self { reason, short: Default::default() }
    }
}

/// How many nodes each filter refuses, each node by the first that it fails; of resources also how many lack each.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Reasons {
    counts: [u16; Reason::FILTERS.len()],
    short: [u16; SHORT.len()],
    /// No node is in the zone of the pod's volume.
    homeless: bool,
    /// The pod's claim is unbound and does not wait for a pod (`Immediate`): no node is filtered.
    unbound: bool,
}

impl Reasons {
    /// The pod's claim has no volume.
    pub const UNBOUND_CLAIM: Self =
        Self { counts: [0; Reason::FILTERS.len()], short: [0; SHORT.len()], homeless: false, unbound: true };

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

impl FromIterator<Refusal> for Reasons {
    fn from_iter<I: IntoIterator<Item = Refusal>>(refusals: I) -> Self {
        let mut all = Self::default();
        for Refusal { reason, short } in refusals {
            for (own, count) in Reason::FILTERS.iter().zip(&mut all.counts) {
                *count += u16::from(*own == reason);
            }
            for (is_short, count) in short.into_iter().zip(&mut all.short) {
                *count += u16::from(is_short);
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
        let words = |(reason, count): (Reason, u16)| match reason {
            Reason::Resources => SHORT.into_iter().zip(self.short).collect(),
            other => vec![(other.event(), count)],
        };
        for (k, (words, count)) in self.counts().flat_map(words).filter(|(_, count)| *count > 0).enumerate() {
            write!(f, "{} {count} {words}", if k == 0 { ":" } else { "," })?;
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_volume_in_a_zone_without_nodes_is_no_volume_elsewhere() {
        let reasons: Reasons = [Reason::Taints, Reason::VolumeZone].into_iter().map(Refusal::from).collect();
        assert_eq!(
            [false, true].map(|homeless| reasons.homeless(homeless).last()),
            [Reason::VolumeZone, Reason::NoNodesInVolumeZone]
        );
    }

    #[test]
    fn reasons_are_told_as_kube_scheduler_tells_them() {
        use Reason::{NoNodes, NodeAffinity, Taints, Unschedulable};
        for (refused, last, text) in [
            (&[][..], NoNodes, "no nodes available to schedule pods"),
            (&[Taints], Taints, "0/1 nodes are available: 1 node(s) had untolerated taint(s)"),
            (
                &[Taints, Unschedulable],
                Taints,
                "0/2 nodes are available: 1 node(s) were unschedulable, 1 node(s) had untolerated taint(s)",
            ),
            (
                &[NodeAffinity, Taints, NodeAffinity, Taints, NodeAffinity, Taints],
                NodeAffinity,
                "0/6 nodes are available: 3 node(s) had untolerated taint(s), 3 node(s) didn't match Pod's node affinity/selector",
            ),
        ] {
            let reasons: Reasons = refused.iter().copied().map(Refusal::from).collect();
            assert_eq!((reasons.last(), reasons.to_string()), (last, text.to_owned()));
            let homeless = reasons.homeless(true);
            assert_eq!((homeless.last(), homeless.to_string()), (last, text.to_owned()), "it says nothing of volumes");
            assert!(refused.iter().all(|reason| reasons.has(*reason)) && !reasons.has(Reason::VolumeZone));
        }
    }
    #[test]
    fn a_node_counts_for_each_resource_that_it_lacks() {
        let of = |cpu_milli, memory, pods| Resources { cpu_milli, memory, pods };
        let node = of(4_000, 100, 10);
        let lacks = |requested| Refusal::of_resources(&requested, &node);
        assert_eq!(lacks(node), None);
        let refusals =
            [of(4_001, 101, 10), of(4_001, 100, 10), of(1, 1, 11)].map(|requested| lacks(requested).expect("it is full"));
        let reasons: Reasons = refusals.into_iter().chain([Reason::Spread.into()]).collect();
        let spread = "1 node(s) didn't match pod topology spread constraints";
        let text = format!("0/4 nodes are available: 1 Too many pods, 2 Insufficient cpu, 1 Insufficient memory, {spread}");
        assert_eq!((reasons.last(), reasons.to_string()), (Reason::Spread, text));
        assert!(reasons.has(Reason::Resources));
    }
}
