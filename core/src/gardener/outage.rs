//! Zone outages, told from the states of machines and nodes (GEP-20, "Identify a Zone Outage", "Identify Zone Recovery").

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use super::machine::Phase;
use super::machine::machine_tables::MachineTables;
use crate::ids::ZoneId;
use crate::kernel::time::Time;
use crate::kernel::traced;
use crate::kube::ctx::ClusterCtx;
use crate::kube::event::KubeEvent;
use crate::kube::record::{KubeRecord, Ready};
use crate::kube::rule::taints::Effect;
use crate::kube::store::Store;

/// The two ways an outage looks.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum Deletion {
    /// A machine of each deployment terminates for good.
    Fails,
    /// A machine of each deployment waits for its node.
    Works,
}

traced! { enum Deletion { Fails = 0, Works = 1 } }

/// A fact of a zone outage.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum OutageFact {
    /// It has looked like one for long enough.
    Detected(Deletion),
    /// A machine runs again, and so does its node.
    Ended,
}

traced! { enum OutageFact { Detected(deletion) = 0, Ended = 1 } }

/// What is to be seen of a zone.
#[derive(Clone, Debug, Default)]
pub struct ZoneView {
    /// Nodes in all.
    pub nodes: usize,
    /// Nodes that are out of reach, and tainted so.
    pub lost: usize,
    /// Its machines, those that have a node (`true`) and those that do not.
    pub machines: Vec<(Phase, bool)>,
}

/// What speaks for an outage.
pub fn signs(zone: &ZoneView) -> Option<Deletion> {
    if zone.lost < zone.nodes || is_recovered(zone) {
        return None;
    }
    let ends = |(phase, _): &(Phase, bool)| matches!(phase, Phase::Terminating | Phase::Failed);
    let waits = |(phase, node): &(Phase, bool)| *phase == Phase::CrashLoopBackOff || *phase == Phase::Pending && !node;
    let fails = zone.machines.iter().any(ends).then_some(Deletion::Fails);
    fails.or_else(|| zone.machines.iter().any(waits).then_some(Deletion::Works))
}

/// Whether a machine runs. (It does when its node is ready.)
pub fn is_recovered(zone: &ZoneView) -> bool {
    zone.machines.iter().any(|(phase, _)| *phase == Phase::Running)
}

/// Where the suspicion of an outage stands.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum State {
    Healthy,
    Suspected(Time),
    Detected,
}

/// The zones of a plane's machines.
#[derive(Clone, Debug)]
pub struct Outages {
    zones: BTreeMap<ZoneId, State>,
    changed: bool,
    armed: Option<Time>,
    generation: u32,
}

impl Outages {
    /// All zones healthy.
    pub fn new(ctx: &ClusterCtx<'_>) -> Self {
        let zones = ctx.spec.machine_deployments.iter().map(|deployment| (deployment.zone, State::Healthy)).collect();
        Self { zones, changed: false, armed: None, generation: 0 }
    }

    /// Nodes or machines have changed.
    pub const fn something_changed(&mut self) {
        self.changed = true;
    }

    /// A suspicion has lasted.
    pub const fn due(&mut self, generation: u32) {
        if generation == self.generation {
            (self.armed, self.changed) = (None, true);
        }
    }

    /// Whether a zone has an outage, as far as can be told.
    pub fn is_out(&self, zone: ZoneId) -> bool {
        self.zones.get(&zone) == Some(&State::Detected)
    }

    /// Whether any zone has one.
    pub fn is_any_out(&self) -> bool {
        self.zones.values().any(|state| *state == State::Detected)
    }

    /// Looks at the zones, where something has changed, and queues its next look. Whether an outage was told, or its end.
    pub fn arm(&mut self, store: &Store, tables: &MachineTables, ctx: &mut ClusterCtx<'_>) -> bool {
        if !std::mem::take(&mut self.changed) {
            return false;
        }
        let mut told = false;
        let threshold = ctx.spec.timers.outage;
        for (id, state) in &mut self.zones {
            let zone = view(*id, store, tables, ctx);
            // Whoever has lost nodes and not got any since is suspected on.
            let signs = signs(&zone).filter(|_| zone.lost > 0 || *state != State::Healthy);
            *state = match (*state, signs) {
                (State::Detected, _) if is_recovered(&zone) => {
                    ctx.record(KubeRecord::ZoneOutage(*id, OutageFact::Ended));
                    told = true;
                    State::Healthy
                }
                (State::Detected, _) => State::Detected,
                (_, None) => State::Healthy,
                (State::Healthy, Some(_)) => State::Suspected(ctx.now),
                (State::Suspected(since), Some(how)) if ctx.now >= since + threshold => {
                    ctx.record(KubeRecord::ZoneOutage(*id, OutageFact::Detected(how)));
                    told = true;
                    State::Detected
                }
                (State::Suspected(since), Some(_)) => State::Suspected(since),
            };
        }
        let ends = self.zones.values().filter_map(|state| match state {
            State::Suspected(since) => Some(*since + threshold),
            State::Healthy | State::Detected => None,
        });
        let next = ends.min();
        if next != self.armed {
            (self.armed, self.generation) = (next, self.generation + 1);
            if let Some(at) = next {
                ctx.schedule(at, KubeEvent::Outage(self.generation));
            }
        }
        told
    }
}

fn view(id: ZoneId, store: &Store, tables: &MachineTables, ctx: &ClusterCtx<'_>) -> ZoneView {
    let nodes = || store.nodes().filter(|(_, node)| node.zone == id);
    let is_lost = |ready: Ready, tainted: bool| ready == Ready::Unknown && tainted;
    let lost = nodes().filter(|(_, node)| is_lost(node.ready, node.is_unreachable(Effect::NoSchedule)));
    let machines =
        tables.machines().filter(|(_, machine)| ctx.spec.machine_deployments[machine.name.deployment.0 as usize].zone == id);
    let has_node = |node| store.get_node(node).is_some();
    ZoneView {
        nodes: nodes().count(),
        lost: lost.count(),
        machines: machines.map(|(_, machine)| (machine.phase, machine.node().is_some_and(has_node))).collect(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// GEP-20's words, one by one.
    #[test]
    fn both_cases() {
        use Phase::{CrashLoopBackOff, Pending, Running, Terminating, Unknown};
        let zone = |lost, machines: &[(Phase, bool)]| ZoneView { nodes: 2, lost, machines: machines.to_vec() };
        let (unknown, terminating) = ((Unknown, true), (Terminating, true));
        for (zone, expected) in [
            (zone(2, &[terminating, unknown]), Some(Deletion::Fails)),
            (zone(2, &[terminating, unknown, (CrashLoopBackOff, false)]), Some(Deletion::Fails)),
            (zone(2, &[unknown, unknown, (Pending, false)]), Some(Deletion::Works)),
            (zone(2, &[unknown, unknown]), None),
            (zone(1, &[terminating, unknown]), None),
            (zone(2, &[terminating, unknown, (Running, true)]), None),
        ] {
            assert_eq!(signs(&zone), expected, "{zone:?}");
        }
    }
}
