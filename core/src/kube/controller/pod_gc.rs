//! The pod garbage collector (`pkg/controller/podgc/gc_controller.go`): pods whose node is gone are removed, nobody else would.

use std::collections::BTreeMap;

use crate::ids::NodeKey;
use crate::kernel::periodic::Periodic;
use crate::kernel::rng::Purpose;
use crate::kernel::time::Time;
use crate::kube::ctx::ClusterCtx;
use crate::kube::event::KubeEvent;
use crate::kube::store::Store;
use crate::sim::Stepping;

/// The controller.
#[derive(Clone, Debug)]
pub struct PodGarbageCollector {
    checks: Periodic,
    /// Nodes that are gone: since when, and when a look missed them first.
    gone: BTreeMap<NodeKey, (Time, Option<Time>)>,
    armed: Option<Time>,
    generation: u32,
}

/// Entity of the draw of its phase, beyond all nodes.
const PHASE: u32 = u32::MAX - 2;

impl PodGarbageCollector {
    /// All nodes are there.
    pub fn new(ctx: &mut ClusterCtx<'_>) -> Self {
        let period = ctx.spec.timers.collect_period;
        let phase = ctx.draws(Purpose::Phase, PHASE).draw(0).below(period.as_nanos());
        let checks = Periodic::new(Time::from_nanos(phase), period);
        Self { checks, gone: BTreeMap::new(), armed: None, generation: 0 }
    }

    /// A node is gone.
    pub fn node_gone(&mut self, key: NodeKey, ctx: &ClusterCtx<'_>) {
        self.gone.insert(key, (ctx.now, None));
    }

    /// Its look: the pods of a node that it has missed for long enough (`quarantineTime`) go.
    pub fn check(&mut self, generation: u32, store: &mut Store, ctx: &mut ClusterCtx<'_>) {
        if generation != self.generation {
            return;
        }
        self.armed = None;
        for (key, (since, missed)) in std::mem::take(&mut self.gone) {
            // One that goes at this very moment is missed at the next look.
            let missed = missed.or((since < ctx.now).then_some(ctx.now));
            if missed.is_none_or(|missed| ctx.now < missed + ctx.spec.timers.quarantine) {
                self.gone.insert(key, (since, missed));
            } else if !store.node_exists(key) {
                for pod in store.pods_on(key) {
                    store.terminate(pod, ctx);
                    store.remove(pod, ctx);
                }
            }
        }
    }

    /// Another process takes over: it has missed no node yet.
    pub fn forget(&mut self, ctx: &ClusterCtx<'_>) {
        self.gone.values_mut().for_each(|gone| *gone = (ctx.now, None));
    }

    /// Queues its next look, if it may act.
    pub fn arm(&mut self, is_active: bool, ctx: &mut ClusterCtx<'_>) {
        let wanted = is_active && (ctx.stepping == Stepping::EveryEvent || !self.gone.is_empty());
        if wanted != self.armed.is_some() {
            let next = wanted.then(|| self.checks.after(ctx.now));
            (self.armed, self.generation) = (next, self.generation + 1);
            if let Some(at) = next {
                ctx.schedule(at, KubeEvent::PodGc(self.generation));
            }
        }
    }
}
