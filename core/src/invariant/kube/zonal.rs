//! Zonal volumes stay in their zone, and keep their pods there (Kubernetes, "Running in multiple zones", section "Storage access for
//! zones"): where a pod was first placed is where its volume was made (`WaitForFirstConsumer`), or where it is since the pod was made
//! (`Immediate`); one that is discarded is made anew. Disks that are attached by name may be others in each zone.

use std::collections::BTreeMap;

use super::{Property, View};
use crate::kube::name::PodName;
use crate::kube::record::{KubeRecord, PodFact};
use crate::kube::rule::labels::Symbol;

/// The zone that each volume was made in; `None`: its node was in none.
#[derive(Clone, Debug, Default)]
pub(super) struct Zonal {
    made_in: BTreeMap<PodName, Option<Symbol>>,
}

impl Property for Zonal {
    const NAME: &'static str = "zonal volumes stay";

    fn check(&mut self, fact: &KubeRecord, view: &View<'_>) -> Result<(), String> {
        if let KubeRecord::Pod(pod, PodFact::VolumeDiscarded) = *fact {
            self.made_in.remove(&pod);
        }
        let KubeRecord::Pod(pod, PodFact::Bound(node) | PodFact::VolumeAttached(node)) = *fact else { return Ok(()) };
        if view.workload(pod).volume.is_none_or(|volume| volume.is_anywhere()) {
            return Ok(());
        }
        let zone = view.objects().nodes.get(&node).and_then(|node| node.labels.get(Symbol::ZONE));
        let made_in = *self.made_in.entry(pod).or_insert(zone);
        if made_in.is_none() || made_in == zone {
            return Ok(());
        }
        Err(format!("{}, whose volume is in another zone, is bound to {}", view.pod(pod), view.node(node)))
    }
}
