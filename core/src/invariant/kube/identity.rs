//! One object per name: "Only one object of a given kind can have a given name at a time" (Kubernetes, "Object Names and IDs",
//! section "Names"). What is not there, nothing happens to. (A volume, and a process that runs on, may outlive their pod.)

use super::{Property, View};
use crate::kube::name::NodeName;
use crate::kube::record::{KubeRecord, MachineFact, NodeFact, PodFact};

/// Needs no memory but the objects.
#[derive(Clone, Debug, Default)]
pub(super) struct Identity;

fn one(begins: bool, is_there: bool, what: impl Fn() -> String) -> Result<(), String> {
    match (begins, is_there) {
        (true, true) => Err(format!("{} is created although one of that name exists", what())),
        (false, false) => Err(format!("a record is about {}, which does not exist", what())),
        _ => Ok(()),
    }
}

impl Property for Identity {
    const NAME: &'static str = "one object per name";

    fn check(&mut self, fact: &KubeRecord, view: &View<'_>) -> Result<(), String> {
        let objects = view.objects();
        match *fact {
            KubeRecord::Pod(
                _,
                PodFact::VolumeAttached(_)
                | PodFact::VolumeDetached { .. }
                | PodFact::VolumeDiscarded
                | PodFact::OrphanedContainer(_),
            ) => Ok(()),
            KubeRecord::Pod(name, fact) => {
                one(fact == PodFact::Created, objects.pods.contains_key(&name), || format!("pod {}", view.pod(name)))
            }
            KubeRecord::Node(name, fact) => {
                one(fact == NodeFact::Registered, objects.nodes.contains_key(&name), || format!("node {}", view.node(name)))
            }
            KubeRecord::Machine(name, fact) => {
                let text = || format!("machine {}", view.node(NodeName::Machine(name)));
                one(fact == MachineFact::Created, objects.machines.contains_key(&name), text)
            }
            _ => Ok(()),
        }
    }
}
