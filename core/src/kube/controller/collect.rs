//! The pod garbage collector (`pkg/controller/podgc/gc_controller.go`): pods whose node is gone are removed, nobody else would.

use std::collections::BTreeMap;

use crate::ids::NodeKey;
use crate::kernel::periodic::Periodic;
use crate::kernel::rng::Purpose;
use crate::kernel::time::Time;
use crate::kube::context::Cx;
use crate::kube::event::KubeEvent;
use crate::kube::store::Store;
use crate::sim::Exact;

/// The controller.
#[derive(Clone, Debug)]
pub struct Collector {
    looks: Periodic,
    /// Nodes that are gone: since when, and when a look missed them first.
    gone: BTreeMap<NodeKey, (Time, Option<Time>)>,
    armed: Option<Time>,
    generation: u32,
}

/// Entity of the draw of its phase, beyond all nodes.
const PHASE: u32 = u32::MAX - 1;

impl Collector {
    /// All nodes are there.
    pub fn new(cx: &mut Cx<'_>) -> Self {
        let period = cx.spec.timers.collect_period;
        let phase = cx.draws(Purpose::Phase, PHASE).draw(0).below(period.as_nanos());
        let looks = Periodic::new(Time::from_nanos(phase), period);
        Self { looks, gone: BTreeMap::new(), armed: None, generation: 0 }
    }

    /// A node is gone.
    pub fn node_gone(&mut self, key: NodeKey, cx: &Cx<'_>) {
        self.gone.insert(key, (cx.now, None));
    }

    /// Its look: the pods of a node that it has missed for long enough (`quarantineTime`) go.
    pub fn look(&mut self, generation: u32, store: &mut Store, cx: &mut Cx<'_>) {
        if generation != self.generation {
            return;
        }
        self.armed = None;
        for (key, (since, missed)) in std::mem::take(&mut self.gone) {
            // One that goes at this very moment is missed at the next look.
            let missed = missed.or((since < cx.now).then_some(cx.now));
            if missed.is_none_or(|missed| cx.now < missed + cx.spec.timers.quarantine) {
                self.gone.insert(key, (since, missed));
            } else if !store.node_exists(key) {
                for pod in store.pods_on(key) {
                    store.terminate(pod, cx);
                    store.remove(pod, cx);
                }
            }
        }
    }

    /// Queues its next look.
    pub fn arm(&mut self, cx: &mut Cx<'_>) {
        let next = (cx.exact == Exact::Full || !self.gone.is_empty()).then(|| self.looks.after(cx.now));
        if next.is_some() && self.armed.is_none() {
            (self.armed, self.generation) = (next, self.generation + 1);
            cx.schedule(self.looks.after(cx.now), KubeEvent::Collect(self.generation));
        }
    }
}
