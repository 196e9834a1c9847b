//! Nodes that were asked for and have not joined, and since when each is missing (`clusterstate/clusterstate.go`:
//! `updateUnregisteredNodes`, `updateIncorrectNodeGroupSizes`).
//!
//! ```text
//!  machine asked for --node registers--> registered
//!      '--fails, is replaced--> another machine that inherits the time --...--> given up after the provision time
//! ```
//!
//! Upstream has two clocks: by instance, from when it was first seen, and by the size of the group, which is first found wrong once the
//! request for more nodes is overdue. The machine-controller-manager gives a machine up after its creation time-out, which is no longer than
//! the provision time, and makes another one: by instance none would ever be late. A simplification: here the time belongs to the node that
//! is missing, whichever machine is to bring it, so that a target falls after one provision time. Upstream's second clock takes up to two,
//! and since kubernetes/autoscaler#5894 it does not run while there is an instance for each node.

use std::collections::BTreeMap;

use zonefall_kernel::time::{Duration, Time};
use zonefall_kube::machine::{Machine, MachineId, Phase};
use zonefall_kube::store::Store;
use zonefall_scenario::ids::{MachineDeploymentId, TiVec};

use crate::estimate::missing;

/// Nodes of each group that are missing, as of the last scan.
#[derive(Clone, Debug)]
pub struct Unregistered(TiVec<MachineDeploymentId, Missing>);

#[derive(Clone, Debug, Default)]
struct Missing {
    /// Since when the node of each machine has been missing.
    machines: BTreeMap<MachineId, Time>,
    /// The same of nodes that have no machine yet, the oldest first.
    others: Vec<Time>,
}

impl Unregistered {
    /// No node is missing.
    pub fn new(groups: usize) -> Self {
        Self(vec![Missing::default(); groups].into())
    }

    /// Another process leads, which has not seen a node missing.
    pub fn forget(&mut self) {
        self.0.iter_mut().for_each(|missing| *missing = Missing::default());
    }

    /// A scan looks at all machines.
    pub fn observe(&mut self, store: &Store, now: Time) {
        for (group, missing) in self.0.iter_mut_enumerated() {
            missing.observe(group, store, now);
        }
    }

    /// Nodes of a group that have been missing since a time that `is_late`, or whose machines `has_failed`: how many without a machine, and
    /// the machines of the others.
    pub fn late(
        &self,
        group: MachineDeploymentId,
        is_late: impl Fn(Time) -> bool,
        has_failed: impl Fn(MachineId) -> bool,
    ) -> (u32, Vec<MachineId>) {
        let Missing { machines, others } = &self.0[group];
        let late = machines.iter().filter(|(id, since)| is_late(**since) || has_failed(**id));
        (others.iter().filter(|since| is_late(**since)).count() as u32, late.map(|(id, _)| *id).collect())
    }

    /// The oldest `others` nodes without a machine, and those of these machines, are given up.
    pub fn give_up(&mut self, group: MachineDeploymentId, others: u32, machines: &[MachineId]) {
        let missing = &mut self.0[group];
        missing.others.drain(..others as usize);
        missing.machines.retain(|id, _| !machines.contains(id));
    }

    /// When each node will have been missing for this time.
    pub fn deadlines(&self, time_out: Duration) -> impl Iterator<Item = Time> + Clone {
        self.0.iter().flat_map(|missing| missing.machines.values().chain(&missing.others)).map(move |since| *since + time_out)
    }
}

impl Missing {
    fn observe(&mut self, group: MachineDeploymentId, store: &Store, now: Time) {
        let before = std::mem::take(&mut self.machines);
        let wait: Vec<(MachineId, &Machine)> = unregistered(group, store).collect();
        let has_joined = |id: MachineId| store.machines.get(id).is_some_and(|machine| is_registered(machine, store));
        for (id, since) in &before {
            if !has_joined(*id) && wait.iter().all(|(other, _)| other != id) {
                self.others.push(*since);
            }
        }
        self.others.sort_unstable();
        for (id, _) in &wait {
            let since =
                before.get(id).copied().unwrap_or_else(|| if self.others.is_empty() { now } else { self.others.remove(0) });
            self.machines.insert(*id, since);
        }
        self.others.resize(missing(group, store).saturating_sub(wait.len() as u32) as usize, now);
    }
}

/// Machines of a group whose nodes are missing and that nobody has given up.
pub fn unregistered(group: MachineDeploymentId, store: &Store) -> impl Iterator<Item = (MachineId, &Machine)> {
    let waits = |machine: &Machine| machine.phase != Phase::Terminating && !machine.surplus && !is_registered(machine, store);
    store.machines.of(group).filter(move |(_, machine)| waits(machine))
}

fn is_registered(machine: &Machine, store: &Store) -> bool {
    machine.node().is_some_and(|node| store.get_node(node).is_some())
}
