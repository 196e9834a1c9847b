//! The DaemonSet controller (`pkg/controller/daemon/daemon_controller.go`): a pod on every node that suits it.
//!
//! Its pods have one node to go to and displace what is in their way there (`system-node-critical`): they are bound as they are made.

use crate::controller::owner::{concerned, keys};
use crate::controller::{Controller, State};
use crate::store::Change;
use std::borrow::Cow;

use crate::ctx::ClusterCtx;
use crate::name::{PodName, PodTag, draw_suffix};
use crate::rule::labels::Symbol;
use crate::rule::taints::{Effect, Match, Toleration, forbidding};
use crate::spec::{Component, Kind, Workload};
use crate::store::{Node, Store};
use zonefall_kernel::rng::Purpose;
use zonefall_scenario::ids::{NodeKey, PodId, TiVec, WorkloadId};

/// What the controller has its pods tolerate for ever (`AddOrUpdateDaemonPodTolerations`, of those taints that nodes have here).
const ADDED: [Toleration; 2] =
    [tolerates(Symbol::UNREACHABLE, Effect::NoExecute), tolerates(Symbol::UNSCHEDULABLE, Effect::NoSchedule)];

const fn tolerates(key: Symbol, effect: Effect) -> Toleration {
    Toleration { key: Some(key), value: Match::Exists, effect: Some(effect), lasts: None }
}

/// What the pods of a workload tolerate. The first that fits counts, so those that are added go before its own.
pub fn tolerations(workload: &Workload) -> Cow<'_, [Toleration]> {
    match workload.kind {
        Kind::DaemonSet => Cow::Owned(ADDED.iter().chain(&workload.tolerations).copied().collect()),
        Kind::Deployment | Kind::StatefulSet { .. } => Cow::Borrowed(&workload.tolerations),
    }
}

/// The controller: names drawn so far, per workload.
#[derive(Clone, Debug)]
pub struct DaemonSets {
    names: TiVec<WorkloadId, u64>,
}

impl DaemonSets {
    /// No pod was made yet.
    fn new(workloads: usize) -> Self {
        Self { names: vec![0; workloads].into() }
    }

    /// Makes the pods that are missing and ends those whose node suits them no more (`podsShouldBeOnNode`).
    fn sync(&mut self, id: WorkloadId, store: &mut Store, ctx: &mut ClusterCtx<'_>) {
        let workload = &ctx.spec.workloads[id];
        let tolerations = tolerations(workload);
        let here = |key: NodeKey| store.pods_of(id).filter(move |(_, pod)| pod.node == Some(key));
        let (mut missing, mut surplus): (Vec<NodeKey>, Vec<PodId>) = Default::default();
        for (key, node) in store.nodes() {
            let suits = |node: &Node| workload.affinity.admits(&node.labels);
            let forbids = forbidding(&node.taints, &tolerations);
            let drives_out = |node: &Node| {
                let executing: Vec<_> = node.taints.iter().filter(|taint| taint.effect == Effect::NoExecute).copied().collect();
                forbidding(&executing, &tolerations).is_some()
            };
            if !suits(node) || drives_out(node) {
                surplus.extend(here(key).map(|(id, _)| id));
            } else if forbids.is_none() && here(key).next().is_none() {
                missing.push(key);
            }
        }
        for key in missing {
            let name = self.name(id, store, ctx);
            let pod = store.create_pod(name, 0, ctx);
            store.bind(pod, key, ctx);
        }
        for pod in surplus {
            store.terminate(pod, ctx);
        }
    }

    /// A name that no pod has.
    fn name(&mut self, id: WorkloadId, store: &Store, ctx: &ClusterCtx<'_>) -> PodName {
        let draws = ctx.draws(Purpose::Suffix, id.0);
        let drawn = &mut self.names[id];
        loop {
            *drawn += 1;
            let name = PodName { workload: id, tag: PodTag::Agent(draw_suffix(&mut draws.draw(*drawn))) };
            if store.pods_of(id).all(|(_, pod)| pod.name != name) {
                return name;
            }
        }
    }
}

impl DaemonSets {
    /// Every cluster has it.
    pub fn factory(_state: &State, ctx: &mut ClusterCtx<'_>) -> Option<Box<dyn Controller>> {
        Some(Box::new(Self::new(ctx.spec.workloads.len())))
    }
}

/// Key of its work queue: a workload.
impl Controller for DaemonSets {
    fn component(&self) -> Option<Component> {
        Some(Component::ControllerManager)
    }

    fn watch(&mut self, change: &Change, state: &mut State, ctx: &mut ClusterCtx<'_>) {
        if let Some((id, Kind::DaemonSet)) = concerned(change, &state.store, ctx) {
            ctx.enqueue(0, id.0);
        }
        if matches!(change, Change::Taints(_) | Change::Registered(_)) {
            for (_, id) in self.list(state, ctx) {
                ctx.enqueue(0, id);
            }
        }
    }

    fn reconcile(&mut self, _queue: u8, key: u32, state: &mut State, ctx: &mut ClusterCtx<'_>) {
        self.sync(WorkloadId(key), &mut state.store, ctx);
    }

    fn list(&self, _state: &State, ctx: &ClusterCtx<'_>) -> Vec<(u8, u32)> {
        keys(ctx, |workload| matches!(workload.kind, Kind::DaemonSet))
    }

    fn describe_work(&self, _queue: u8) -> &'static str {
        "the DaemonSet controller observes changes of nodes and pods"
    }

    fn boxed(&self) -> Box<dyn Controller> {
        Box::new(self.clone())
    }
}
