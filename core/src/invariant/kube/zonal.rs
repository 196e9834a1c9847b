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
        let Some(volume) = view.workload(pod).volume.filter(|volume| !volume.regional) else { return Ok(()) };
        if let Some(mount) = volume.mount() {
            let (disks, label) =
                (&view.spec().disks, view.objects().nodes.get(&node).and_then(|node| node.labels.get(Symbol::ZONE)));
            let zone = disks.zones.iter().find(|(_, own)| Some(*own) == label).map(|(zone, _)| *zone);
            let is_labelled = mount.zone().is_none_or(|labelled| Some(labelled) == zone);
            let is_bound = matches!(fact, KubeRecord::Pod(_, PodFact::Bound(_)));
            let is_there = is_bound || zone.is_some_and(|zone| mount.is_in(zone, disks));
            let message = || format!("{}, whose disk is in another zone, is on {}", view.pod(pod), view.node(node));
            return if is_labelled && is_there { Ok(()) } else { Err(message()) };
        }
        let zone = view.objects().nodes.get(&node).and_then(|node| node.labels.get(Symbol::ZONE));
        let made_in = *self.made_in.entry(pod).or_insert(zone);
        if made_in.is_none() || made_in == zone {
            return Ok(());
        }
        Err(format!("{}, whose volume is in another zone, is bound to {}", view.pod(pod), view.node(node)))
    }
}
