//! One writer per volume: it is attached to one node at a time (`ReadWriteOnce`: Kubernetes, "Persistent Volumes", section "Access
//! Modes"), a pod's process runs only where its volume is, and where the pod is an etcd member, whoever wrote to the volume has ended
//! before it is attached anew (GEP-20, section "Impact of a Zone Outage": what is cut off goes on running).

use std::collections::BTreeMap;

use super::{Property, View};
use crate::ids::MemberId;
use crate::kube::name::{NodeName, PodName, PodTag};
use crate::kube::record::{KubeRecord, PodFact};
use crate::kube::spec::Role;

/// Where each volume is attached; `None`: it was.
#[derive(Clone, Debug, Default)]
pub(super) struct OneWriter {
    attached: BTreeMap<PodName, Option<NodeName>>,
    /// Volumes of a pod that are gone: it is another member with each.
    before: BTreeMap<PodName, u8>,
}

impl OneWriter {
    /// Whether the etcd member that a pod is serves somewhere.
    fn is_running(&self, pod: PodName, view: &View<'_>) -> bool {
        let (Role::Etcd(cluster), PodTag::Ordinal(ordinal)) = (view.workload(pod).role, pod.tag) else { return false };
        let before = self.before.get(&pod).copied().unwrap_or(0);
        let index = view.workload(pod).member(&view.scenario.etcd[cluster], ordinal, before);
        index.is_some_and(|index| view.running.contains(&MemberId { cluster, index }))
    }
}

impl Property for OneWriter {
    const NAME: &'static str = "one writer per volume";

    fn check(&mut self, fact: &KubeRecord, view: &View<'_>) -> Result<(), String> {
        let KubeRecord::Pod(pod, fact) = *fact else { return Ok(()) };
        let text = |node: Option<NodeName>| node.map_or_else(|| "no node".to_owned(), |node| view.node(node));
        match fact {
            PodFact::VolumeAttached(node) => match self.attached.insert(pod, Some(node)) {
                Some(Some(before)) => {
                    let (pod, before, node) = (view.pod(pod), text(Some(before)), text(Some(node)));
                    Err(format!("the volume of {pod} is attached to {node} while it is attached to {before}"))
                }
                Some(None) if self.is_running(pod, view) => Err(format!(
                    "the volume of {} is attached to {} while its member is running",
                    view.pod(pod),
                    text(Some(node))
                )),
                _ => Ok(()),
            },
            PodFact::VolumeDetached { .. } => match self.attached.insert(pod, None) {
                Some(Some(_)) => Ok(()),
                _ => Err(format!("the volume of {} is detached, but was attached to no node", view.pod(pod))),
            },
            PodFact::VolumeDiscarded => {
                self.attached.remove(&pod);
                *self.before.entry(pod).or_default() += 1;
                Ok(())
            }
            PodFact::Started { .. } if view.workload(pod).volume.is_some() => {
                let attached = self.attached.get(&pod).copied().flatten();
                let runs_on = view.objects().pods.get(&pod).and_then(|pod| pod.node);
                if attached == runs_on {
                    return Ok(());
                }
                let (pod, runs_on, attached) = (view.pod(pod), text(runs_on), text(attached));
                Err(format!("{pod} runs on {runs_on} while its volume is attached to {attached}"))
            }
            _ => Ok(()),
        }
    }
}
