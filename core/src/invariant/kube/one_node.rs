//! A pod runs on one node: it is bound once, and while it runs on where nobody hears it, somebody knows. "Force deletions do not wait
//! for confirmation from the kubelet that the Pod has been terminated" (Kubernetes, "Force Delete StatefulSet Pods", section "Force
//! Deletion"): a pod that is removed while it runs on a node that is cut off must be told as a hazard in the same instant.

use super::{Property, View};
use crate::kernel::time::Time;
use crate::kube::name::PodName;
use crate::kube::record::{KubeRecord, PodFact};

/// Pods that are to be told as hazards, since when.
#[derive(Clone, Debug, Default)]
pub(super) struct OneNode {
    untold: Vec<(Time, PodName)>,
}

impl OneNode {
    fn pod(&mut self, name: PodName, fact: PodFact, view: &View<'_>) -> Result<(), String> {
        let Some(pod) = view.objects().pods.get(&name) else { return Ok(()) };
        match fact {
            PodFact::Bound(node) if !view.objects().nodes.contains_key(&node) => {
                Err(format!("{} is bound to {}, which does not exist", view.pod(name), view.node(node)))
            }
            PodFact::Bound(node) => match pod.node {
                None => Ok(()),
                Some(before) => {
                    Err(format!("{} is bound to {} while it is bound to {}", view.pod(name), view.node(node), view.node(before)))
                }
            },
            PodFact::Started { .. } if pod.node.is_none() => Err(format!("{} is running without a node", view.pod(name))),
            PodFact::Removed => {
                if pod.unheard && pod.runs && view.objects().node_of(pod).is_some_and(super::objects::Node::is_partitioned) {
                    self.untold.push((view.at, name));
                }
                Ok(())
            }
            _ => Ok(()),
        }
    }
}

impl Property for OneNode {
    const NAME: &'static str = "a pod runs on one node";

    fn check(&mut self, fact: &KubeRecord, view: &View<'_>) -> Result<(), String> {
        if let Some((_, name)) = self.untold.pop_if(|(since, _)| *since < view.at) {
            return Err(format!("{} is deleted, but its containers still run, and no record says so", view.pod(name)));
        }
        match *fact {
            KubeRecord::Pod(name, PodFact::OrphanedContainer(true)) => {
                self.untold.retain(|(_, untold)| *untold != name);
                Ok(())
            }
            KubeRecord::Pod(name, fact) => self.pod(name, fact, view),
            _ => Ok(()),
        }
    }
}
