//! The taint manager (`pkg/controller/tainteviction`): pods leave nodes whose `NoExecute` taints they do not tolerate, or no longer.

use crate::controller::{Controller, Due, State};
use crate::spec::{Component, KubeClusterSpec};
use crate::store::Change;
use std::collections::{BTreeMap, BTreeSet};
use zonefall_scenario::Scenario;

use crate::controller::daemon;
use crate::ctx::ClusterCtx;
use crate::record::{KubeRecord, PodFact};
use crate::rule::taints::{Effect, Stay, stay};
use crate::store::Store;
use zonefall_kernel::time::Time;
use zonefall_kernel::timer::{Generation, Timer};
use zonefall_scenario::ids::{NodeKey, PodId};

/// The controller: whose patience ends when.
#[derive(Clone, Debug, Default)]
pub struct Evictions {
    due: BTreeSet<(Time, PodId)>,
    of: BTreeMap<PodId, Time>,
    timer: Timer,
}

impl Evictions {
    /// A node has other taints or a new pod. A pod whose time runs already keeps its time.
    fn follow_taints(&mut self, key: NodeKey, store: &Store, ctx: &ClusterCtx<'_>) {
        let Some(node) = store.get_node(key) else { return };
        if node.taints.iter().all(|taint| taint.effect != Effect::NoExecute) {
            node.pods.iter().for_each(|id| self.cancel(*id));
            return;
        }
        for id in &node.pods {
            let pod = store.pod(*id).expect("a node's pods are there");
            let workload = &ctx.spec.workloads[pod.name.workload];
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
    fn cancel(&mut self, id: PodId) {
        if let Some(at) = self.of.remove(&id) {
            self.due.remove(&(at, id));
        }
    }

    /// Asks those to end whose time has come.
    fn evict(&mut self, generation: Generation, store: &mut Store, ctx: &mut ClusterCtx<'_>) {
        if !self.timer.fires(generation) {
            return;
        }
        while let Some((_, id)) = self.due.first().copied().filter(|(at, _)| *at <= ctx.now) {
            self.cancel(id);
            let pod = store.pod(id).expect("what is due is there");
            if !pod.terminating {
                ctx.record(KubeRecord::Pod(pod.name, PodFact::TaintEvicted));
            }
            store.terminate(id, ctx);
        }
    }

    /// Queues its next eviction, if it may act.
    fn arm_evictions(&mut self, is_active: bool, ctx: &mut ClusterCtx<'_>) {
        let next = self.due.first().map(|(at, _)| (*at).max(ctx.now)).filter(|_| is_active);
        ctx.rearm(&mut self.timer, next);
    }
}

impl Evictions {
    /// Every cluster has it.
    pub fn factory(_state: &State, _ctx: &mut ClusterCtx<'_>) -> Option<Box<dyn Controller>> {
        Some(Box::<Self>::default())
    }
}

/// Key of its work queue: a node.
impl Controller for Evictions {
    fn component(&self) -> Option<Component> {
        Some(Component::ControllerManager)
    }

    fn watch(&mut self, change: &Change, _state: &mut State, ctx: &mut ClusterCtx<'_>) {
        match *change {
            Change::Bound(_, node) | Change::Taints(node) => ctx.enqueue(0, node.0),
            Change::Terminating(pod, ..) | Change::Removed(pod, ..) => self.cancel(pod),
            _ => {}
        }
    }

    fn reconcile(&mut self, _queue: u8, key: u32, state: &mut State, ctx: &mut ClusterCtx<'_>) {
        self.follow_taints(NodeKey(key), &state.store, ctx);
    }

    fn list(&self, state: &State, _ctx: &ClusterCtx<'_>) -> Vec<(u8, u32)> {
        state.store.nodes().map(|(node, _)| (0, node.0)).collect()
    }

    fn forget(&mut self, _state: &mut State, _ctx: &mut ClusterCtx<'_>) {
        self.due.clear();
        self.of.clear();
    }

    fn due(&mut self, due: Due, state: &mut State, ctx: &mut ClusterCtx<'_>) {
        self.evict(due.generation, &mut state.store, ctx);
    }

    fn arm(&mut self, is_active: bool, _state: &State, ctx: &mut ClusterCtx<'_>) {
        self.arm_evictions(is_active, ctx);
    }

    fn describe_work(&self, _queue: u8) -> &'static str {
        "the taint manager observes changes of nodes and pods"
    }

    fn describe_due(&self, _due: &Due, _spec: &KubeClusterSpec, _scenario: &Scenario) -> String {
        "the taint manager evicts a pod whose toleration has ended".to_owned()
    }

    fn boxed(&self) -> Box<dyn Controller> {
        Box::new(self.clone())
    }
}
