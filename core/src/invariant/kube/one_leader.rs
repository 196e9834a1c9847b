//! One active leader per lease (Kubernetes, "Leases", section "Leader election"). Nobody takes a lease that somebody holds. A holder that
//! cannot renew it gives up a retry period and a renew deadline after its last renewal (client-go, `leaderelection.go`); others may take
//! it a lease duration after that renewal. Where that is sooner, client-go has two leaders for a while and the simulation has none: the
//! other waits until the holder gives up. Only who was asked to stop can have given it away.

use std::collections::{BTreeMap, BTreeSet};

use super::{Property, View};
use crate::ids::NodeId;
use crate::kernel::time::Time;
use crate::kube::record::{KubeRecord, Replica};
use crate::kube::spec::Component;
use crate::scenario::kube::Task;

/// Who holds what.
#[derive(Clone, Debug, Default)]
pub(super) struct OneLeader {
    leases: BTreeMap<Component, Lease>,
    /// Hosts that have left the control plane.
    left: BTreeSet<NodeId>,
}

#[derive(Clone, Copy, Debug)]
enum Lease {
    Held(Replica),
    /// Since then nobody acts; others may have it at once.
    GivenAway,
    /// Since then nobody acts; others wait.
    GivenUp(Time),
}

impl OneLeader {
    fn was_asked_to_stop(&self, holder: Replica, view: &View<'_>) -> bool {
        match holder {
            Replica::Host(node) => self.left.contains(&node),
            Replica::Pod(cluster, name) => view.clusters[cluster].pods.get(&name).is_none_or(|pod| pod.terminating),
        }
    }
}

impl Property for OneLeader {
    const NAME: &'static str = "one active leader per lease";

    fn check(&mut self, fact: &KubeRecord, view: &View<'_>) -> Result<(), String> {
        let timers = &view.spec().timers;
        match *fact {
            KubeRecord::Lease(component, Some(replica)) => match self.leases.insert(component, Lease::Held(replica)) {
                Some(Lease::Held(before)) => {
                    Err(format!("{replica:?} acquires the lease of {component:?} that {before:?} holds"))
                }
                Some(Lease::GivenUp(since)) if view.at < since + timers.leader_election().margin() => {
                    Err(format!("{replica:?} acquires the lease of {component:?} before it has expired"))
                }
                _ => Ok(()),
            },
            KubeRecord::Lease(component, None) => {
                let Some(Lease::Held(holder)) = self.leases.get(&component).copied() else {
                    return Err(format!("the lease of {component:?} is released, but has no holder"));
                };
                let free = self.was_asked_to_stop(holder, view);
                self.leases.insert(component, if free { Lease::GivenAway } else { Lease::GivenUp(view.at) });
                Ok(())
            }
            KubeRecord::Operation(Task::RemoveHost(place)) => {
                self.left.insert(view.spec().control_plane[place as usize]);
                Ok(())
            }
            KubeRecord::Operation(Task::AddHost(place)) => {
                self.left.remove(&view.spec().control_plane[place as usize]);
                Ok(())
            }
            KubeRecord::ControllerActive(component, true) if !matches!(self.leases.get(&component), Some(Lease::Held(_))) => {
                Err(format!("{component:?} is active without a leader"))
            }
            _ => Ok(()),
        }
    }
}
