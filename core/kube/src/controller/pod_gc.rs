//! The pod garbage collector (`pkg/controller/podgc/gc_controller.go`): pods whose node is gone are removed, nobody else would.

use crate::controller::{Controller, Due, State};
use crate::spec::{Component, KubeClusterSpec};
use crate::store::Change;
use std::collections::BTreeMap;
use zonefall_scenario::Scenario;

use crate::ctx::ClusterCtx;
use crate::record::{KubeRecord, PodFact};
use crate::store::Store;
use zonefall_kernel::periodic::Periodic;
use zonefall_kernel::periodic::Stepping;
use zonefall_kernel::rng::Purpose;
use zonefall_kernel::time::Time;
use zonefall_kernel::timer::{Generation, Timer};
use zonefall_scenario::ids::NodeKey;

/// The controller.
#[derive(Clone, Debug)]
pub struct PodGarbageCollector {
    checks: Periodic,
    /// Nodes that are gone: since when, and when a look missed them first.
    gone: BTreeMap<NodeKey, (Time, Option<Time>)>,
    timer: Timer,
}

/// Entity of the draw of its phase, beyond all nodes.
const PHASE: u32 = u32::MAX - 2;

impl PodGarbageCollector {
    /// All nodes are there.
    fn new(ctx: &mut ClusterCtx<'_>) -> Self {
        let period = ctx.spec.timers.collect_period;
        let phase = ctx.draws(Purpose::Phase, PHASE).draw(0).below(period.as_nanos());
        let checks = Periodic::new(Time::from_nanos(phase), period);
        Self { checks, gone: BTreeMap::new(), timer: Timer::new() }
    }

    /// Its look: the pods of a node that it has missed for long enough (`quarantineTime`) go.
    fn check(&mut self, generation: Generation, store: &mut Store, ctx: &mut ClusterCtx<'_>) {
        if !self.timer.fires(generation) {
            return;
        }
        for (key, (since, missed)) in std::mem::take(&mut self.gone) {
            // One that goes at this very moment is missed at the next look.
            let missed = missed.or((since < ctx.now).then_some(ctx.now));
            if missed.is_none_or(|missed| ctx.now < missed + ctx.spec.timers.quarantine) {
                self.gone.insert(key, (since, missed));
            } else if !store.node_exists(key) {
                for pod in store.pods_on(key) {
                    let of = store.pod(pod).expect("it is on the node");
                    if !of.terminating {
                        ctx.record(KubeRecord::Pod(of.name, PodFact::GarbageCollected));
                    }
                    store.terminate(pod, ctx);
                    store.remove(pod, ctx);
                }
            }
        }
    }

    /// Queues its next look, if it may act.
    fn arm_checks(&mut self, is_active: bool, ctx: &mut ClusterCtx<'_>) {
        let wanted = is_active && (ctx.stepping == Stepping::EveryEvent || !self.gone.is_empty());
        if wanted != self.timer.is_armed() {
            ctx.rearm(&mut self.timer, wanted.then(|| self.checks.after(ctx.now)));
        }
    }
}

impl PodGarbageCollector {
    /// Every cluster has it.
    pub fn factory(_state: &State, ctx: &mut ClusterCtx<'_>) -> Option<Box<dyn Controller>> {
        Some(Box::new(Self::new(ctx)))
    }
}

impl Controller for PodGarbageCollector {
    fn component(&self) -> Option<Component> {
        Some(Component::ControllerManager)
    }

    fn watch(&mut self, change: &Change, _state: &mut State, ctx: &mut ClusterCtx<'_>) {
        if let Change::Unregistered(node) = *change {
            self.gone.insert(node, (ctx.now, None));
        }
    }

    /// It has missed no node yet.
    fn forget(&mut self, _state: &mut State, ctx: &mut ClusterCtx<'_>) {
        self.gone.values_mut().for_each(|gone| *gone = (ctx.now, None));
    }

    fn due(&mut self, due: Due, state: &mut State, ctx: &mut ClusterCtx<'_>) {
        self.check(due.generation, &mut state.store, ctx);
    }

    fn arm(&mut self, is_active: bool, _state: &State, ctx: &mut ClusterCtx<'_>) {
        self.arm_checks(is_active, ctx);
    }

    fn describe_due(&self, _due: &Due, _spec: &KubeClusterSpec, _scenario: &Scenario) -> String {
        "the pod garbage collector looks for pods of deleted nodes".to_owned()
    }

    fn boxed(&self) -> Box<dyn Controller> {
        Box::new(self.clone())
    }
}
