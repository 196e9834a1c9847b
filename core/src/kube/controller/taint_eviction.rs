//! The taint manager (`pkg/controller/tainteviction`): pods leave nodes whose `NoExecute` taints they do not tolerate, or no longer.

use std::collections::{BTreeMap, BTreeSet};

use crate::ids::{NodeKey, PodId};
use crate::kernel::time::Time;
use crate::kube::controller::daemon;
use crate::kube::ctx::ClusterCtx;
use crate::kube::event::KubeEvent;
use crate::kube::rule::taints::{Stay, stay};
use crate::kube::store::Store;

/// The controller: whose patience ends when.
#[derive(Clone, Debug, Default)]
pub struct Evictions {
    due: BTreeSet<(Time, PodId)>,
    of: BTreeMap<PodId, Time>,
    armed: Option<Time>,
    generation: u32,
}

impl Evictions {
    /// Hears of a node's taints or of a new pod on it. Who is impatient already stays so from when it began.
    pub fn reconcile(&mut self, key: NodeKey, store: &Store, ctx: &ClusterCtx<'_>) {
        let Some(node) = store.get_node(key) else { return };
        for id in &node.pods {
            let pod = store.pod(*id).expect("a node's pods are there");
            let workload = &ctx.spec.workloads[pod.name.workload.0 as usize];
            match stay(&node.taints, &daemon::tolerations(workload)) {
                Stay::Forever => self.cancel(*id),
                Stay::For(_) if pod.terminating || self.of.contains_key(id) => {}
                Stay::For(patience) => {
                    self.of.insert(*id, ctx.now + patience);
                    self.due.insert((ctx.now + patience, *id));
                }
            }
        }
    }

    /// A pod need not leave any more, or is leaving already.
    pub fn cancel(&mut self, id: PodId) {
        if let Some(at) = self.of.remove(&id) {
            self.due.remove(&(at, id));
        }
    }

    /// Asks those to end whose time has come.
    pub fn evict(&mut self, generation: u32, store: &mut Store, ctx: &mut ClusterCtx<'_>) {
        if generation != self.generation {
            return;
        }
        self.armed = None;
        while let Some((_, id)) = self.due.first().copied().filter(|(at, _)| *at <= ctx.now) {
            self.cancel(id);
            store.terminate(id, ctx);
        }
    }

    /// Another process takes over: it knows nothing.
    pub fn forget(&mut self) {
        self.due.clear();
        self.of.clear();
    }

    /// Queues its next deed, if it may act.
    pub fn arm(&mut self, is_active: bool, ctx: &mut ClusterCtx<'_>) {
        let next = self.due.first().map(|(at, _)| (*at).max(ctx.now)).filter(|_| is_active);
        if next != self.armed {
            (self.armed, self.generation) = (next, self.generation + 1);
            if let Some(at) = next {
                ctx.schedule(at, KubeEvent::Evict(self.generation));
            }
        }
    }
}
