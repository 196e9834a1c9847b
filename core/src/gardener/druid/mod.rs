//! etcd-druid and gardenlet, as far as they change control planes that are there: members of etcd are moved out of a zone that has an
//! outage and back ([`relocation`]), and shoots are made to survive more ([`upgrade`]).
//!
//! Of the pairs of etcd members of which one stands by druid checks the one that serves ([`passive`](crate::etcd::passive)).
//!
//! Both look at everything anew whenever something has changed and remember next to nothing: what is in the API and in etcd says how far
//! they are. Druid acts as [`Component::Druid`](crate::kube::spec::Component), gardenlet as `Gardenlet`: who cannot write does nothing.

mod relocation;
#[cfg(test)]
mod tests;
mod upgrade;
pub mod words;

use std::collections::{BTreeMap, BTreeSet};

use serde::{Deserialize, Serialize};

use super::admission::Denial;
use super::outage::Outages;
use crate::ids::{ClusterId, WorkloadId, ZoneId};
use crate::kube::context::Cx;
use crate::kube::event::KubeEvent;
use crate::kube::name::{PodName, PodTag};
use crate::kube::spec::Role;
use crate::kube::spec::gardener::{FailureTolerance, Hosted, Recovery};
use crate::kube::store::Store;
use crate::network::HostId;
pub use relocation::{relaxed, required};
use upgrade::Upgrade;

/// What etcd-druid does with the pods of an etcd cluster.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum DruidFact {
    /// They need not be in zones of their own any more, they prefer it.
    Relaxed,
    /// They must be again.
    Required,
    /// The pod of this ordinal leaves a zone that has an outage: it and its volume are deleted.
    Moves(u32),
    /// The pod of this ordinal makes room for one in a zone that has recovered.
    Returns(u32),
    /// The pod of this ordinal should move, but has been as many members as a run allows for.
    Spent(u32),
    /// They start anew, to talk to their peers with TLS.
    Restarts,
    /// So many are wanted.
    Grows(u32),
}

/// What becomes of a shoot that is asked to survive more.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum ToleranceFact {
    /// It may.
    Admitted(FailureTolerance),
    /// It may not.
    Denied(FailureTolerance, Denial),
    /// etcd does; the other components follow.
    Follows(FailureTolerance),
    /// All of it does.
    Done(FailureTolerance),
}

/// The shoots of a seed whose control planes may change.
#[derive(Clone, Debug)]
pub struct Druid {
    /// By their place among all shoots.
    shoots: BTreeMap<u32, Shoot>,
    /// Etcd clusters of which one member serves and one stands by.
    pairs: Vec<ClusterId>,
    /// Where it runs, while it can act.
    host: Option<HostId>,
}

#[derive(Clone, Debug)]
struct Shoot {
    /// Its etcd clusters.
    sets: Vec<WorkloadId>,
    /// All of its components.
    workloads: Vec<WorkloadId>,
    tolerance: FailureTolerance,
    recovery: Recovery,
    multi_zonal: bool,
    upgrade: Option<Upgrade>,
    /// Clusters whose pods need not be in zones of their own.
    relaxed: BTreeSet<WorkloadId>,
    /// Pods of which it was told that they cannot move again.
    spent: BTreeSet<PodName>,
}

/// A pod of an etcd cluster, as druid sees it.
#[derive(Clone, Copy, Debug)]
struct Seen {
    name: PodName,
    ordinal: u32,
    /// The zone its volume is in.
    home: Option<ZoneId>,
    /// It stays what it is, serves and has a vote.
    settled: bool,
}

impl Druid {
    /// The shoots of this plane that may move or change, as they start; what is asked for later is queued.
    pub fn new(cx: &mut Cx<'_>) -> Self {
        let model = &cx.scenario.kube;
        let mut shoots = BTreeMap::new();
        for (key, spec) in (0..).zip(&model.shoots) {
            let Some(Hosted { seed, workloads, .. }) = &spec.hosted else { continue };
            let seed = &model.seeds[seed.0 as usize];
            let changes = || (0..).zip(&model.changes).filter(|(_, change)| u32::from(change.shoot) == key);
            if seed.plane != cx.plane || (spec.recovery != Recovery::Move && changes().next().is_none()) {
                continue;
            }
            let is_etcd = |id: &WorkloadId| matches!(cx.spec.workloads[id.0 as usize].role, Role::Etcd(_));
            let shoot = Shoot {
                sets: workloads.iter().copied().filter(is_etcd).collect(),
                workloads: workloads.clone(),
                tolerance: spec.tolerance,
                recovery: spec.recovery,
                multi_zonal: seed.multi_zonal,
                upgrade: None,
                relaxed: BTreeSet::new(),
                spent: BTreeSet::new(),
            };
            shoots.insert(key, shoot);
            for (change, asked) in changes() {
                cx.schedule(asked.at, KubeEvent::Tolerance(change));
            }
        }
        let etcd = cx.spec.workloads.iter().filter_map(|workload| match workload.role {
            Role::Etcd(cluster) => Some(cluster),
            _ => None,
        });
        let pairs = etcd.filter(|cluster| cx.scenario.etcd[cluster.0 as usize].passive.is_some()).collect();
        Self { shoots, pairs, host: None }
    }

    /// It can act from now on, on this host, or can no longer: so long it checks its pairs, and switches.
    /// (How: [`passive`](crate::etcd::passive).)
    pub fn acts_from(&mut self, host: Option<HostId>, cx: &mut Cx<'_>) {
        if std::mem::replace(&mut self.host, host) != host {
            cx.fx.checked.extend(self.pairs.iter().map(|cluster| (*cluster, host)));
        }
    }

    /// The shoots there are.
    pub fn shoots(&self) -> impl Iterator<Item = u32> {
        self.shoots.keys().copied()
    }

    /// The shoots for which something may be to do that has to do with a component, or with none.
    pub fn concerned(&self, about: Option<WorkloadId>) -> Vec<u32> {
        let concerns = |shoot: &Shoot| match about {
            _ if shoot.upgrade.is_none() && !shoot.moves() => false,
            Some(workload) => (if shoot.upgrade.is_some() { &shoot.workloads } else { &shoot.sets }).contains(&workload),
            None => true,
        };
        self.shoots.iter().filter(|(_, shoot)| concerns(shoot)).map(|(key, _)| *key).collect()
    }

    /// A shoot is asked to survive more; which.
    pub fn ask(&mut self, change: u16, cx: &mut Cx<'_>) -> u32 {
        let key = cx.scenario.kube.changes[change as usize].shoot.into();
        self.shoots.get_mut(&key).expect("changes are of shoots that are here").ask(change, cx);
        key
    }

    /// What druid does about a shoot; whether gardenlet is to go on.
    pub fn reconcile(&mut self, key: u32, outages: &Outages, store: &mut Store, cx: &mut Cx<'_>) -> bool {
        let shoot = self.shoots.get_mut(&key).expect("who is told of a shoot has it");
        if shoot.upgrade.is_some() {
            return shoot.upgrade_etcd(store, cx);
        }
        if shoot.moves() {
            shoot.relocate(outages, store, cx);
        }
        false
    }

    /// What gardenlet does about a shoot.
    pub fn follow(&mut self, key: u32, store: &mut Store, cx: &mut Cx<'_>) {
        self.shoots.get_mut(&key).expect("who is told of a shoot has it").follow(key, store, cx);
    }
}

impl Shoot {
    fn moves(&self) -> bool {
        self.recovery == Recovery::Move && self.tolerance == FailureTolerance::Zone
    }

    /// The pods that are wanted of an etcd cluster.
    fn pods(set: WorkloadId, store: &Store, cx: &Cx<'_>) -> Vec<Seen> {
        let Role::Etcd(cluster) = cx.spec.workloads[set.0 as usize].role else { unreachable!("a set is etcd's") };
        let (spec, now) = (&cx.scenario.etcd[cluster.0 as usize], &cx.etcd[cluster.0 as usize]);
        let see = |ordinal: u32| {
            let name = PodName { workload: set, tag: PodTag::Ordinal(ordinal) };
            let claim = store.claim(name).filter(|claim| !claim.deleted);
            let stays = claim.is_some() && store.named(name).is_some_and(|pod| !pod.terminating);
            let votes = spec.of_pod(ordinal, store.volumes_before(name)).is_some_and(|member| now.serves_as_voter(member));
            Seen { name, ordinal, home: claim.map(|claim| claim.home), settled: stays && votes }
        };
        (0..store.desired(set)).map(see).collect()
    }
}
