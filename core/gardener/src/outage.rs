//! Zone outages, told from the states of machines and nodes (GEP-20, "Identify a Zone Outage", "Identify Zone Recovery").

use std::collections::BTreeMap;
use zonefall_kube::controller::{Controller, Due, State};
use zonefall_kube::spec::{Component, KubeClusterSpec};
use zonefall_kube::store::Change;
use zonefall_scenario::Scenario;

use crate::garden::Garden;
use crate::record::{GardenerRecord, Report};
pub use crate::record::{OutageFact, OutageSign};
use crate::shoot_controllers::notify_of_outages;
use zonefall_kernel::time::Time;
use zonefall_kernel::timer::Timer;
use zonefall_kube::ctx::ClusterCtx;
use zonefall_kube::machine::Phase;
use zonefall_kube::record::Ready;
use zonefall_kube::rule::taints::Effect;
use zonefall_kube::store::Store;
use zonefall_scenario::ids::ZoneId;

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
pub fn signs(zone: &ZoneView) -> Option<OutageSign> {
    if zone.lost < zone.nodes || is_recovered(zone) {
        return None;
    }
    let ends = |(phase, _): &(Phase, bool)| matches!(phase, Phase::Terminating | Phase::Failed);
    let waits = |(phase, node): &(Phase, bool)| *phase == Phase::CrashLoopBackOff || *phase == Phase::Pending && !node;
    let fails = zone.machines.iter().any(ends).then_some(OutageSign::DeletionFails);
    fails.or_else(|| zone.machines.iter().any(waits).then_some(OutageSign::DeletionWorks))
}

/// Whether a machine runs. (It does when its node is ready.)
pub fn is_recovered(zone: &ZoneView) -> bool {
    zone.machines.iter().any(|(phase, _)| *phase == Phase::Running)
}

/// Where the suspicion of an outage stands.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Suspicion {
    Healthy,
    Suspected(Time),
    Detected,
}

/// The zones of a cluster's machines.
#[derive(Clone, Debug)]
pub struct Outages {
    zones: BTreeMap<ZoneId, Suspicion>,
    changed: bool,
    timer: Timer,
}

impl Outages {
    /// All zones healthy.
    fn new(ctx: &ClusterCtx<'_>) -> Self {
        let zones = ctx.spec.machine_deployments.iter().map(|deployment| (deployment.zone, Suspicion::Healthy)).collect();
        Self { zones, changed: false, timer: Timer::new() }
    }

    /// Looks at the zones, where something has changed, and queues its next look. Whether an outage was told, or its end.
    fn check(&mut self, store: &Store, ctx: &mut ClusterCtx<'_>) -> bool {
        if !std::mem::take(&mut self.changed) {
            return false;
        }
        let mut told = false;
        let threshold = ctx.spec.timers.outage;
        for (id, state) in &mut self.zones {
            let zone = view(*id, store, ctx);
            // Whoever has lost nodes and not got any since is suspected on.
            let signs = signs(&zone).filter(|_| zone.lost > 0 || *state != Suspicion::Healthy);
            *state = match (*state, signs) {
                (Suspicion::Detected, _) if is_recovered(&zone) => {
                    ctx.report(GardenerRecord::ZoneOutage(*id, OutageFact::Ended));
                    told = true;
                    Suspicion::Healthy
                }
                (Suspicion::Detected, _) => Suspicion::Detected,
                (_, None) => Suspicion::Healthy,
                (Suspicion::Healthy, Some(_)) => Suspicion::Suspected(ctx.now),
                (Suspicion::Suspected(since), Some(how)) if ctx.now >= since + threshold => {
                    ctx.report(GardenerRecord::ZoneOutage(*id, OutageFact::Detected(how)));
                    told = true;
                    Suspicion::Detected
                }
                (Suspicion::Suspected(since), Some(_)) => Suspicion::Suspected(since),
            };
        }
        let out = |(id, state): (&ZoneId, &Suspicion)| (*state == Suspicion::Detected).then_some(*id);
        let outages = self.zones.iter().filter_map(out).collect();
        Garden::seed_of_mut(ctx).outages = outages;
        let ends = self.zones.values().filter_map(|state| match state {
            Suspicion::Suspected(since) => Some(*since + threshold),
            Suspicion::Healthy | Suspicion::Detected => None,
        });
        let next = ends.min();
        ctx.rearm(&mut self.timer, next);
        told
    }
}

fn view(id: ZoneId, store: &Store, ctx: &ClusterCtx<'_>) -> ZoneView {
    let nodes = || store.nodes().filter(|(_, node)| node.zone == id);
    let is_lost = |ready: Ready, tainted: bool| ready == Ready::Unknown && tainted;
    let lost = nodes().filter(|(_, node)| is_lost(node.ready, node.is_unreachable(Effect::NoSchedule)));
    let machines =
        store.machines.machines().filter(|(_, machine)| ctx.spec.machine_deployments[machine.name.deployment].zone == id);
    let has_node = |node| store.get_node(node).is_some();
    ZoneView {
        nodes: nodes().count(),
        lost: lost.count(),
        machines: machines.map(|(_, machine)| (machine.phase, machine.node().is_some_and(has_node))).collect(),
    }
}

impl Outages {
    /// Every cluster has it.
    pub fn factory(_state: &State, ctx: &mut ClusterCtx<'_>) -> Option<Box<dyn Controller>> {
        ctx.spec.components.contains(&Component::Gardenlet).then(|| Box::new(Self::new(ctx)) as Box<dyn Controller>)
    }
}

impl Controller for Outages {
    /// Key of its work queue: zero, whatever has changed.
    fn watch(&mut self, change: &Change, _state: &mut State, ctx: &mut ClusterCtx<'_>) {
        let matters = matches!(
            change,
            Change::Condition(_)
                | Change::Taints(_)
                | Change::Registered(_)
                | Change::Unregistered(_)
                | Change::MachineDeployment(_)
        );
        if matters {
            ctx.enqueue(0, 0);
        }
    }

    fn reconcile(&mut self, _queue: u8, _key: u32, _state: &mut State, _ctx: &mut ClusterCtx<'_>) {
        self.changed = true;
    }

    /// A suspicion has lasted.
    fn due(&mut self, due: Due, _state: &mut State, _ctx: &mut ClusterCtx<'_>) {
        self.changed |= self.timer.fires(due.generation);
    }

    fn arm(&mut self, _is_active: bool, state: &State, ctx: &mut ClusterCtx<'_>) {
        if self.check(&state.store, ctx) {
            notify_of_outages(ctx);
        }
    }

    fn describe_work(&self, _queue: u8) -> &'static str {
        "outage detection observes changes of nodes and machines"
    }

    fn describe_due(&self, _due: &Due, _spec: &KubeClusterSpec, _scenario: &Scenario) -> String {
        "outage detection decides whether a zone has an outage".to_owned()
    }

    fn boxed(&self) -> Box<dyn Controller> {
        Box::new(self.clone())
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
            (zone(2, &[terminating, unknown]), Some(OutageSign::DeletionFails)),
            (zone(2, &[terminating, unknown, (CrashLoopBackOff, false)]), Some(OutageSign::DeletionFails)),
            (zone(2, &[unknown, unknown, (Pending, false)]), Some(OutageSign::DeletionWorks)),
            (zone(2, &[unknown, unknown]), None),
            (zone(1, &[terminating, unknown]), None),
            (zone(2, &[terminating, unknown, (Running, true)]), None),
        ] {
            assert_eq!(signs(&zone), expected, "{zone:?}");
        }
    }
}
